//! Turns on screen.

use super::kit::*;
use host_console::*;
use host_run::RunEvent;
use http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

fn started(id: &str, name: &str) -> HostFrame {
    HostFrame::Event(RunEvent::CallStarted { id: id.into(), name: name.into(), arguments: json!({"a": 1}) })
}

fn settled(id: &str, how: &str) -> HostFrame {
    HostFrame::Event(RunEvent::CallSettled {
        id: id.into(),
        settled: how.into(),
        code: "ok".into(),
        duration_ms: 3,
        preview: "result".into(),
        rule: Some("tools.approvals.default".into()),
        result_bytes: Some(9_000),
    })
}

fn text(text: &str) -> HostFrame {
    HostFrame::Event(RunEvent::TextDelta { text: text.into() })
}

// WEB-1, WEB-2
#[tokio::test]
async fn a_turn_streams_folds_its_narration_and_settles() {
    let mut kit = Kit::new().await;
    let thread = kit.thread().await;
    assert!(kit.get("/threads").await["threads"].as_array().unwrap().is_empty(), "not listed while empty");
    kit.say(&thread, "What is\nthe word?").await;
    let agent = kit.turn().await;
    assert_eq!(
        (agent.order.conversation.as_str(), agent.order.text.as_str()),
        (&*format!("web:{thread}"), "What is\nthe word?")
    );
    for frame in [
        text("Let me "),
        text("look."),
        started("c1", "mcp__shop__find"),
        settled("c1", "done"),
        text("Heron."),
    ] {
        agent.say.send(frame).await.unwrap();
    }
    let seen = kit.until(&thread, |it| it["messages"][1]["text"] == "Heron.").await;
    let answer = &seen["messages"][1];
    assert_eq!(answer["status"], "running");
    assert_eq!(answer["activity"][0], json!({"kind": "text", "id": "s1", "text": "Let me look."}));
    let call = &answer["activity"][1];
    assert_eq!(
        (&call["tool"], &call["server"], &call["state"]),
        (&json!("find"), &json!("shop"), &json!("done"))
    );
    assert_eq!(call["allowed"], json!({"how": "server", "rule": "tools.approvals.default"}));
    assert_eq!((&call["resultBytes"], &call["resultCut"]), (&json!(9_000), &json!(true)));
    agent.say.send(done("Heron.")).await.unwrap();
    let seen = kit.until(&thread, |it| it["messages"][1]["status"] == "succeeded").await;
    assert_eq!(seen["thread"]["title"], "What is");
    assert_eq!(seen["thread"]["runState"]["status"], "succeeded");
    assert_eq!(kit.get("/threads").await["threads"].as_array().unwrap().len(), 1);
}

// REP-6
#[tokio::test]
async fn text_before_a_presentation_call_stays_in_the_answer() {
    let mut kit = Kit::new().await;
    let thread = kit.thread().await;
    kit.say(&thread, "x").await;
    let agent = kit.turn().await;
    for frame in [
        text("Here is the report."),
        started("c1", "PublishReplyFile"),
        settled("c1", "done"),
        text("Anything else?"),
    ] {
        agent.say.send(frame).await.unwrap();
    }
    let seen = kit.until(&thread, |it| it["messages"][1]["text"].as_str().unwrap().ends_with("else?")).await;
    let answer = &seen["messages"][1];
    assert_eq!(answer["text"], "Here is the report.\n\nAnything else?");
    assert_eq!(answer["activity"].as_array().unwrap().len(), 1, "and not in the activity: {answer}");
}

// WEB-2: what is sent twice is done once.
#[tokio::test]
async fn a_submission_is_done_once() {
    let mut kit = Kit::new().await;
    let thread = kit.thread().await;
    let path = format!("/threads/{thread}/submissions");
    let body = submission("hello");
    let first = kit.post(&path, body.clone()).await;
    let second = kit.post(&path, body.clone()).await;
    assert_eq!((second.status, first.json()), (202, second.json()));
    let _agent = kit.turn().await;
    assert!(kit.is_quiet().await);
    let mut other = body;
    other["text"] = "other".into();
    let got = kit.post(&path, other).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (409, &json!("submission_conflict")));
}

// TOO-9
#[tokio::test]
async fn a_question_is_answered_by_the_first_and_closed_for_the_second() {
    let mut kit = Kit::new().await;
    let thread = kit.thread().await;
    kit.say(&thread, "x").await;
    let mut agent = kit.turn().await;
    // The question may overtake the call's own event.
    let ask = HostFrame::Approval {
        id: 7,
        tool: "Bash".into(),
        arguments: json!({"command": "ls"}),
        rule: "r".into(),
        run: "run-1".into(),
        call: "c1".into(),
        always: None,
        wait_ms: Some(60_000),
    };
    agent.say.send(ask).await.unwrap();
    agent.say.send(started("c1", "Bash")).await.unwrap();
    let seen = kit.until(&thread, |it| !it["messages"][1]["activity"].as_array().unwrap().is_empty()).await;
    assert_eq!(seen["messages"][1]["activity"][0]["state"], "waiting");
    assert_eq!(seen["thread"]["runState"]["status"], "waiting");
    let id = seen["asks"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/threads/{thread}/asks/{id}/answer");
    assert_eq!(kit.post(&path, json!({"decision": "always"})).await.status, 400, "there is no rule to add");
    assert_eq!(kit.post(&path, json!({"decision": "once"})).await.json()["state"], "answered");
    assert_eq!(agent.told.recv().await, Some(HostAnswer::Approval { id: 7, approval: HostApproval::Once }));
    let late = kit.post(&path, json!({"decision": "deny"})).await;
    assert_eq!((late.status, &late.json()["error"]["ask"]["answer"]), (409, &json!({"decision": "once"})));
    let seen = kit.until(&thread, |it| it["asks"].as_array().unwrap().is_empty()).await;
    assert_eq!(seen["messages"][1]["activity"][0]["state"], "working");
}

// ENG-8
#[tokio::test]
async fn what_is_said_to_a_running_turn_waits_visibly_and_starts_the_next() {
    let mut kit = Kit::new().await;
    let thread = kit.thread().await;
    kit.say(&thread, "first").await;
    let agent = kit.turn().await;
    let receipt = kit.say(&thread, "second").await;
    assert_eq!((&receipt["kind"], &receipt["followUp"]["state"]), (&json!("followUp"), &json!("queued")));
    let taken_back = kit.say(&thread, "third").await;
    let id = taken_back["id"].as_str().unwrap();
    assert_eq!(kit.post(&format!("/threads/{thread}/follow-ups/{id}/cancel"), json!({})).await.status, 200);
    let mut file = submission("x");
    file["attachments"] = json!(["u"]);
    let refused = kit.post(&format!("/threads/{thread}/submissions"), file).await;
    assert_eq!(refused.json()["error"]["code"], "active_attachments_unsupported");
    agent.say.send(done("one")).await.unwrap();
    let next = kit.turn().await;
    assert_eq!(next.order.text, "second");
    next.say.send(done("two")).await.unwrap();
    let seen = kit.until(&thread, |it| it["messages"][3]["status"] == "succeeded").await;
    assert_eq!(seen["followUps"], json!([]));
    assert!(kit.is_quiet().await, "the one that was taken back is not sent");
}

// ENG-8: an agent that takes follow-ups says what became of each; one of which nothing is known is never sent again.
#[tokio::test]
async fn a_follow_up_is_read_given_back_or_uncertain() {
    let mut kit = Kit::with(Access::Loopback, Arc::default(), vec!["liveInput"]).await;
    let thread = kit.thread().await;
    kit.say(&thread, "first").await;
    let mut agent = kit.turn().await;
    let read = kit.say(&thread, "read").await["id"].as_str().unwrap().to_owned();
    let unknown = kit.say(&thread, "unknown").await["id"].as_str().unwrap().to_owned();
    assert!(matches!(agent.told.recv().await, Some(HostAnswer::Steer { id, .. }) if id == read));
    agent.say.send(HostFrame::Steered { id: read, applied: true }).await.unwrap();
    let seen = kit.until(&thread, |it| it["messages"].as_array().unwrap().len() == 3).await;
    assert_eq!(
        (&seen["messages"][2]["steered"], &seen["messages"][2]["text"]),
        (&json!(true), &json!("read"))
    );
    agent.say.send(done("done")).await.unwrap();
    let seen = kit.until(&thread, |it| it["messages"][1]["status"] == "succeeded").await;
    assert_eq!(seen["followUps"][0]["id"], unknown.as_str());
    assert_eq!(seen["followUps"][0]["state"], "uncertain");
    assert!(kit.is_quiet().await);
}

// WEB-5: the agent goes away, the console goes away: interrupted, never lost, never sent again.
#[tokio::test]
async fn a_turn_that_lost_its_agent_or_its_console_is_interrupted() {
    let mut kit = Kit::new().await;
    let thread = kit.thread().await;
    kit.say(&thread, "x").await;
    let agent = kit.turn().await;
    agent.say.send(text("half an ans")).await.unwrap();
    agent.say.send(started("c1", "Write")).await.unwrap();
    drop(agent);
    let seen = kit.until(&thread, |it| it["messages"][1]["status"] == "interrupted").await;
    let activity = &seen["messages"][1]["activity"];
    assert_eq!((&activity[0]["text"], &activity[1]["state"]), (&json!("half an ans"), &json!("unknown")));
    kit.say(&thread, "y").await;
    let agent = kit.turn().await;
    agent.say.send(text("again half")).await.unwrap();
    kit.until(&thread, |it| it["messages"][3]["text"] == "again half").await;
    kit.console.close();
    let mut kit = Kit::with(Access::Loopback, Arc::clone(&kit.rows), vec![]).await;
    let seen = kit.get(&format!("/threads/{thread}")).await;
    let answer = &seen["messages"][3];
    assert_eq!((&answer["status"], &answer["text"]), (&json!("interrupted"), &json!("again half")));
    assert_eq!(seen["thread"]["runState"]["status"], "interrupted");
    assert!(kit.is_quiet().await);
}

// TIT-1, WEB-3
#[tokio::test]
async fn a_title_of_the_agents_counts_once_its_call_is_done_and_never_over_a_persons() {
    let mut kit = Kit::new().await;
    let thread = kit.thread().await;
    kit.say(&thread, "plan a trip").await;
    let agent = kit.turn().await;
    let title = |call: &str, title: &str| {
        HostFrame::Event(RunEvent::Title { call: call.into(), title: title.into() })
    };
    for frame in [started("c1", "SetConversationTitle"), title("c1", "Lost"), settled("c1", "failed")] {
        agent.say.send(frame).await.unwrap();
    }
    for frame in [started("c2", "SetConversationTitle"), title("c2", "A trip to Oslo"), settled("c2", "done")]
    {
        agent.say.send(frame).await.unwrap();
    }
    kit.until(&thread, |it| it["thread"]["title"] == "A trip to Oslo").await;
    // A person's rename, and then a result that was on its way.
    let own =
        kit.call(Method::PATCH, &format!("/threads/{thread}"), json!({"title": " My trip "})).await.json();
    assert_eq!((&own["title"], &own["titleLocked"]), (&json!("My trip"), &json!(true)));
    for frame in
        [started("c3", "SetConversationTitle"), title("c3", "Too late"), settled("c3", "done"), done("ok")]
    {
        agent.say.send(frame).await.unwrap();
    }
    let seen = kit.until(&thread, |it| it["messages"][1]["status"] == "succeeded").await;
    assert_eq!(seen["thread"]["title"], "My trip");
}

// WEB-3
#[tokio::test]
async fn archive_restore_delete() {
    let mut kit = Kit::new().await;
    let thread = kit.thread().await;
    let path = format!("/threads/{thread}");
    kit.say(&thread, "x").await;
    let agent = kit.turn().await;
    let busy = kit.call(Method::PATCH, &path, json!({"archived": true})).await;
    assert_eq!(busy.json()["error"]["code"], "busy");
    agent.say.send(done("y")).await.unwrap();
    kit.until(&thread, |it| it["messages"][1]["status"] == "succeeded").await;
    assert_eq!(kit.call(Method::DELETE, &path, Value::Null).await.json()["error"]["code"], "not_archived");
    assert_eq!(
        kit.call(Method::PATCH, &path, json!({"archived": true, "pinned": true})).await.json()["pinned"],
        false
    );
    let refused = kit.post(&format!("{path}/submissions"), submission("z")).await;
    assert_eq!(refused.status, 409);
    assert_eq!(kit.call(Method::DELETE, &path, Value::Null).await.status, 204);
    assert_eq!(kit.call(Method::GET, &path, Value::Null).await.status, 404);
}
