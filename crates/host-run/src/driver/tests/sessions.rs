//! Sessions over several runs and restarts.

use super::kit::{Kit, script, text};
use crate::{Rollover, SessionConfig, SessionMode};
use host_event::Fact;
use host_ports::model::{AssistantPart, FinishReason, ModelEvent};
use host_testkit::{Script, Step};
use host_turn::{Channel, Ending, FailureKind, Trigger, Usage};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn boundaries(kit: &Kit) -> Vec<String> {
    kit.log
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::SessionBoundary { boundary, .. } => Some(boundary),
            _ => None,
        })
        .collect()
}

// ENG-7, HIS-9
#[tokio::test]
async fn a_session_that_cannot_be_opened_is_rebuilt_and_both_are_told() {
    let kit = Kit::new(&[script(vec![Step::Say("blue".into())])], vec![]);
    kit.say("my colour?").await;
    kit.sessions.spoil(Some("the key is lost"));
    let model = script(vec![Step::Say("ok".into())]);
    let kit = kit.restarted(&[Arc::clone(&model)], SessionConfig::default());
    let outcome = kit.say("and now?").await;
    let prompt = text(&model.requests()[0].messages);
    assert!(prompt.contains("the key is lost") && prompt.contains("my colour?") && prompt.contains("blue"));
    assert!(outcome.reply.notices.iter().any(|notice| notice.contains("rebuilt from the redacted history")));
    assert_eq!(boundaries(&kit), ["reseeded"]);
}

// ENG-7
#[tokio::test]
async fn a_lost_session_is_rebuilt_and_a_cleared_one_is_not() {
    let kit = Kit::new(&[script(vec![Step::Say("blue".into()), Step::Say("x".into())])], vec![]);
    kit.say("my colour?").await;
    kit.engine.hub().reset(&kit.turn("")).await.unwrap();
    let outcome = kit.say("fresh").await;
    assert!(outcome.reply.notices.is_empty());
    assert!(kit.sessions.stored("terminal:t").unwrap().messages.len() == 2);
    // Lost: the file is gone, the log is not.
    host_ports::sessions::Sessions::clear(kit.sessions.as_ref()).await.unwrap();
    let model = script(vec![Step::Say("ok".into())]);
    let kit = kit.restarted(&[Arc::clone(&model)], SessionConfig::default());
    let outcome = kit.say("next").await;
    let prompt = text(&model.requests()[0].messages);
    assert!(prompt.contains("fresh") && !prompt.contains("my colour?"), "{prompt}");
    assert_eq!(outcome.reply.notices.len(), 1);
    // All of them cleared on purpose.
    kit.engine.hub().clear().await.unwrap();
    let model = script(vec![Step::Say("ok".into())]);
    let kit = kit.restarted(&[Arc::clone(&model)], SessionConfig::default());
    assert!(kit.say("anew").await.reply.notices.is_empty());
    assert_eq!(model.requests()[0].messages.len(), 1);
}

// ENG-7
#[tokio::test]
async fn turns_that_were_recorded_but_not_stored_are_caught_up_with() {
    let kit = Kit::new(&[script(vec![Step::Say("one".into()), Step::Say("two".into())])], vec![]);
    kit.say("first").await;
    kit.sessions.fail_saves(true);
    let outcome = kit.say("second").await;
    assert!(outcome.reply.notices.iter().any(|notice| notice.contains("could not be stored")));
    kit.sessions.fail_saves(false);
    let model = script(vec![Step::Say("three".into())]);
    let kit = kit.restarted(&[Arc::clone(&model)], SessionConfig::default());
    kit.say("third").await;
    let prompt = text(&model.requests()[0].messages);
    let place = |what: &str| prompt.find(what).unwrap_or_else(|| panic!("{what} is missing: {prompt}"));
    assert!(place("\"first\"") < place("not stored in their exact form"));
    assert!(place("\"second\"") < place("\"two\"") && place("\"two\"") < place("\"third\""));
    assert_eq!(prompt.matches("\"first\"").count(), 1);
}

// ENG-4
#[tokio::test]
async fn isolated_and_proactive_turns_stand_alone() {
    let steps = (0..4).map(|n| Step::Say(format!("a{n}"))).collect();
    let model = script(steps);
    let config = SessionConfig { isolate_proactive: true, ..SessionConfig::default() };
    let kit = Kit::with(&[Arc::clone(&model)], vec![], config);
    kit.say("one").await;
    let mut input = kit.input("alone");
    input.turn.isolated = true;
    kit.engine.run(input).await;
    let mut input = kit.input("by the clock");
    input.turn.trigger = Trigger::Proactive;
    kit.engine.run(input).await;
    kit.say("two").await;
    let sizes: Vec<usize> = model.requests().iter().map(|request| request.messages.len()).collect();
    assert_eq!(sizes, [1, 1, 1, 3]);
    assert!(!text(&model.requests()[3].messages).contains("alone"));
    assert_eq!(boundaries(&kit), ["isolated", "isolated"]);
}

// ENG-4
#[tokio::test]
async fn a_new_day_begins_a_new_bucket() {
    let model = script((0..3).map(|n| Step::Say(format!("a{n}"))).collect());
    let config = SessionConfig {
        rollover: Rollover::daily("UTC").unwrap(),
        rollover_notice: true,
        ..SessionConfig::default()
    };
    let kit = Kit::with(&[Arc::clone(&model)], vec![], config);
    let input = |text: &str| {
        let mut input = kit.input(text);
        input.turn.channel = Channel::new("slack");
        input
    };
    let first = kit.engine.run(input("one")).await;
    kit.clock.advance(Duration::from_secs(24 * 3600));
    let second = kit.engine.run(input("two")).await;
    let third = kit.engine.run(input("three")).await;
    assert_ne!(first.conversation, second.conversation);
    assert_eq!(second.conversation, third.conversation);
    assert_eq!(first.conversation.without_bucket(), "terminal:t");
    let sizes: Vec<usize> = model.requests().iter().map(|request| request.messages.len()).collect();
    assert_eq!(sizes, [1, 1, 3]);
    assert_eq!(boundaries(&kit), ["rollover"]);
    assert!(second.reply.notices[0].contains("new day") && third.reply.notices.is_empty());
}

// ENG-4
#[tokio::test]
async fn per_message_turns_begin_cold_from_the_history() {
    let model = script(vec![Step::Say("one".into()), Step::Say("two".into())]);
    let config = SessionConfig { mode: SessionMode::PerMessage, ..SessionConfig::default() };
    let kit = Kit::with(&[Arc::clone(&model)], vec![], config);
    kit.say("first").await;
    let outcome = kit.say("second").await;
    assert!(kit.sessions.stored("terminal:t").is_none() && outcome.reply.notices.is_empty());
    let prompt = text(&model.requests()[1].messages);
    assert!(prompt.contains("\"first\"") && prompt.contains("each turn of this agent begins cold"));
}

#[tokio::test]
async fn another_model_gets_no_foreign_reasoning() {
    let thought =
        AssistantPart::Reasoning { provider: "a".into(), text: "hm".into(), raw: json!({"sig": "s"}) };
    let events = vec![
        Ok(ModelEvent::Part(thought)),
        Ok(ModelEvent::Part(AssistantPart::Text { text: "one".into() })),
        Ok(ModelEvent::Finished { reason: FinishReason::Stop, usage: Usage::default() }),
    ];
    let first = script(vec![Step::Events(events), Step::Say("two".into())]);
    let kit = Kit::new(&[Arc::clone(&first)], vec![]);
    kit.say("a").await;
    kit.say("b").await;
    assert!(text(&first.requests()[1].messages).contains("Reasoning"));
    let other = Arc::new(Script::new("a:other", vec![Step::Say("three".into())]));
    let kit = kit.restarted(&[Arc::clone(&other)], SessionConfig::default());
    kit.say("c").await;
    let prompt = text(&other.requests()[0].messages);
    assert!(!prompt.contains("Reasoning") && prompt.contains("\"one\""));
}

// ENG-4
#[tokio::test]
async fn turns_of_a_conversation_wait_for_each_other_in_order() {
    let model = script(vec![Step::Hang, Step::Say("one".into()), Step::Say("two".into())]);
    let config = SessionConfig { pending_max: 2, ..SessionConfig::default() };
    let kit = Arc::new(Kit::with(&[Arc::clone(&model)], vec![], config));
    let cancel = host_ports::CancellationToken::new();
    let run = |name: &'static str, cancel: Option<&host_ports::CancellationToken>| {
        let kit = Arc::clone(&kit);
        let mut input = kit.input(name);
        if let Some(cancel) = cancel {
            input.cancel = cancel.clone();
        }
        tokio::spawn(async move { kit.engine.run(input).await })
    };
    let first = run("hangs", Some(&cancel));
    while model.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let second = run("second", None);
    tokio::time::sleep(Duration::from_millis(30)).await;
    let third = run("third", None);
    tokio::time::sleep(Duration::from_millis(30)).await;
    // Two wait; a third one is one too many, and it is told so.
    let busy = run("too many", None).await.unwrap();
    let Ending::Failed { kind: FailureKind::SessionBusy, error } = busy.ending else { panic!("{busy:?}") };
    assert!(error.contains("maxPendingRuns"));
    cancel.cancel();
    assert_eq!(first.await.unwrap().ending, Ending::Cancelled);
    assert_eq!(second.await.unwrap().reply.text, "one");
    assert_eq!(third.await.unwrap().reply.text, "two");
    let prompt = text(&model.requests()[2].messages);
    assert!(prompt.contains("was cancelled before it came to its end"));
    assert!(prompt.find("second").unwrap() < prompt.find("third").unwrap());
}

// ENG-4
#[tokio::test]
async fn only_so_many_runs_at_a_time() {
    let model = script(vec![Step::Hang, Step::Say("other".into())]);
    let config = SessionConfig { concurrent_max: 1, pending_max: 0, ..SessionConfig::default() };
    let kit = Arc::new(Kit::with(&[Arc::clone(&model)], vec![], config));
    let cancel = host_ports::CancellationToken::new();
    let mut input = kit.input("hangs");
    input.cancel = cancel.clone();
    let hanging = {
        let kit = Arc::clone(&kit);
        tokio::spawn(async move { kit.engine.run(input).await })
    };
    while model.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let mut other = kit.input("other");
    other.turn.conversation = host_vocab::ConversationId::parse("terminal:other").unwrap();
    let busy = kit.engine.run(other).await;
    assert!(matches!(busy.ending, Ending::Failed { kind: FailureKind::SessionBusy, .. }));
    cancel.cancel();
    hanging.await.unwrap();
    let mut other = kit.input("other");
    other.turn.conversation = host_vocab::ConversationId::parse("terminal:other").unwrap();
    assert_eq!(kit.engine.run(other).await.reply.text, "other");
}
