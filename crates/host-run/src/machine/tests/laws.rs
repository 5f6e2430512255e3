//! Laws over every sequence of inputs.

use super::*;
use proptest::prelude::*;

fn any_event() -> impl Strategy<Value = Input> {
    let reason = prop_oneof![
        3 => Just(FinishReason::Stop),
        3 => Just(FinishReason::ToolCalls),
        1 => Just(FinishReason::Length),
        1 => Just(FinishReason::Refusal),
    ];
    let name = prop_oneof![Just("Read"), Just("Grep"), Just("Write"), Just("a b"), Just("")];
    let id = prop_oneof![Just(""), Just("x"), Just("y"), Just("call-0-0"), Just("\n")];
    let kind = (0..FailureKind::ALL.len()).prop_map(|n| FailureKind::ALL[n]);
    prop_oneof![
        3 => "[a-z ]{0,6}".prop_map(|text| said(&text)),
        2 => "[a-z ]{0,6}".prop_map(|text| part(AssistantPart::Text { text })),
        6 => (id, name).prop_map(|(id, name)| call(id, name)),
        5 => reason.prop_map(done),
        1 => kind.prop_map(fails),
        1 => Just(Input::StreamEnded),
        1 => Just(Input::Streamed(ModelEvent::Reasoning("hm".into()))),
    ]
}

#[derive(Debug, Clone)]
enum Weather {
    Fine,
    Cancel,
    Lost,
    NotRecorded,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // ENG-1, ENG-7, T12-07
    #[test]
    fn whatever_a_model_sends_the_stored_prompt_is_whole(
        events in proptest::collection::vec(any_event(), 0..60),
        at in 0usize..70,
        weather in prop_oneof![
            4 => Just(Weather::Fine), 2 => Just(Weather::Cancel), 1 => Just(Weather::Lost), 1 => Just(Weather::NotRecorded)
        ],
        pick in proptest::collection::vec(0usize..8, 70),
        how in proptest::collection::vec(0usize..4, 70),
    ) {
        let mut spec = spec(&["a:m", "b:m"]);
        spec.config.limits.steps_max = 12;
        spec.config.limits.calls_together_max = 3;
        let mut machine = Machine::new(spec);
        let mut running: Vec<usize> = Vec::new();
        let mut answer_is_whole = false;
        let mut order: Vec<usize> = Vec::new();
        let mut finished = None;
        let mut queue = std::collections::VecDeque::from([Input::Begin]);
        let mut events = events.into_iter();
        let hows = [How::Done, How::Refused, How::Failed, How::Unknown];
        for tick in 0..10_000usize {
            let Some(input) = queue.pop_front() else { break };
            if let Input::Streamed(ModelEvent::Finished { .. }) = input {
                answer_is_whole = true;
            }
            let mut waits = false;
            for command in machine.handle(input) {
                match command {
                    Command::Call(orders) => {
                        prop_assert!(answer_is_whole, "a call of an unfinished answer");
                        if orders.len() > 1 {
                            prop_assert!(orders.iter().all(|o| o.name == "Read" || o.name == "Grep"));
                        }
                        prop_assert!(running.is_empty() && orders.len() <= 3);
                        if orders[0].index == 0 { order.clear(); }
                        order.extend(orders.iter().map(|o| o.index));
                        prop_assert!(order.is_sorted());
                        running.extend(orders.iter().map(|o| o.index));
                    }
                    Command::Wait(_) => waits = true,
                    Command::Ask(_) => answer_is_whole = false,
                    Command::Finish(it) => finished = Some(it),
                    _ => {}
                }
            }
            if finished.is_some() { break; }
            if !queue.is_empty() { continue; }
            let storm = tick == at;
            let next = match weather {
                Weather::Cancel if storm => Input::Cancel,
                Weather::Lost if storm => { running.clear(); queue.push_back(Input::Cancel); Input::CallsLost }
                Weather::NotRecorded if storm => Input::NotRecorded("full".into()),
                _ if !running.is_empty() => {
                    let n = running.len();
                    let index = running.remove(pick[tick % 70] % n);
                    settled(index, hows[how[tick % 70]])
                }
                _ if waits => Input::Waited,
                _ => events.next().unwrap_or(Input::Cancel),
            };
            queue.push_back(next);
        }
        let finished = finished.expect("a run comes to its end");
        assert_paired(&finished.history);
        assert_paired(&finished.turn);
        let asks = matches!(&finished.turn[0], Message::User { .. });
        prop_assert!(asks);
        let stored = crate::sessions::account(finished.turn, &finished.ending);
        assert_paired(&stored);
        prop_assert!(machine.handle(Input::Cancel).is_empty());
    }
}
