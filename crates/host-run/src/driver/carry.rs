//! Carrying commands out: one thing is underway at a time, a stream, a wait, or some calls.

use crate::driver::EngineParts;
use crate::event::{EventSink, RunEvent};
use crate::machine::{CallOrder, Command, Finished, Input, Machine, ModelOrder, SettledCall};
use crate::steering::Said;
use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::{BoxStream, FuturesUnordered};
use host_event::{Fact, Scope};
use host_ports::CancellationToken;
use host_ports::clock::Clock;
use host_ports::log::Recorder;
use host_ports::model::{AssistantPart, ModelError, ModelEvent};
use host_surface::{Arguments, CallRequest, How, Progress, ProgressSink, Settled, Surface};
use host_turn::FailureKind;
use host_vocab::text::{one_line, whole_prefix};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The most of a result that listeners are shown, in bytes.
const PREVIEW_BYTES_MAX: usize = 4_000;

/// One run on its way.
pub(super) struct Carrier {
    pub(super) parts: Arc<EngineParts>,
    pub(super) surface: Arc<Surface>,
    pub(super) scope: Scope,
    pub(super) events: EventSink,
    pub(super) cancel: CancellationToken,
    /// Whether everything so far is on record.
    pub(super) recorded: bool,
    /// What people say to the run.
    pub(super) steering: Option<mpsc::Receiver<Said>>,
}

/// What is underway.
enum Active {
    Nothing,
    Stream { stream: BoxStream<'static, Result<ModelEvent, ModelError>>, idle: Option<Duration> },
    Wait(BoxFuture<'static, ()>),
    Calls(Calls),
}

struct Calls {
    running: FuturesUnordered<BoxFuture<'static, (usize, String, Settled)>>,
    stop: CancellationToken,
    /// When those that were told to stop are dropped.
    grace: Option<BoxFuture<'static, ()>>,
}

impl Carrier {
    /// Takes a machine from its beginning to its end.
    pub(super) async fn carry(&mut self, mut machine: Machine) -> Finished {
        let mut inputs = VecDeque::from([Input::Begin]);
        let mut active = Active::Nothing;
        let mut cancelled = self.cancel.is_cancelled();
        if cancelled {
            // Nothing is asked for a run that was stopped before it began.
            inputs.push_front(Input::Cancel);
        }
        loop {
            while let Some(input) = inputs.pop_front() {
                for command in machine.handle(input) {
                    if let Command::Finish(finished) = command {
                        return *finished;
                    }
                    if let Err(why) = self.obey(command, &mut active).await {
                        inputs.clear();
                        inputs.push_back(Input::NotRecorded(why));
                        break;
                    }
                }
            }
            tokio::select! {
                biased;
                () = self.cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    inputs.push_back(Input::Cancel);
                }
                Some(said) = heard(&mut self.steering) => inputs.push_back(Input::Said(said)),
                input = next(&mut active, self.parts.hub.recorder.clock().as_ref()) => {
                    inputs.extend(self.noted(input).await);
                }
            }
        }
    }

    /// Carries one command out.
    ///
    /// # Errors
    /// The fact had to be on record and isn't; in words.
    async fn obey(&mut self, command: Command, active: &mut Active) -> Result<(), String> {
        match command {
            Command::Record { fact, must } => return self.record(fact, must).await,
            Command::Tell(event) => self.events.send(self.shown(event)),
            Command::Ask(order) => *active = self.ask(*order),
            Command::Wait(duration) => *active = Active::Wait(self.clock().sleep(duration)),
            Command::Call(orders) => *active = self.call(orders),
            Command::Stop => self.stop(active),
            Command::Finish(_) => {}
        }
        Ok(())
    }

    async fn record(&mut self, fact: Fact, must: bool) -> Result<(), String> {
        match self.recorder().record(self.scope.clone(), fact.clone()).await {
            Ok(_) => Ok(()),
            Err(error) if must => Err(error.to_string()),
            Err(error) => {
                self.record_later(self.scope.clone(), fact, &error.to_string());
                Ok(())
            }
        }
    }

    /// Keeps a fact for later, and says at once that the run is not durably recorded (T9-05).
    fn record_later(&mut self, scope: Scope, fact: Fact, why: &str) {
        self.parts.hub.backlog.later(scope, fact);
        if std::mem::replace(&mut self.recorded, false) {
            let text = format!("This run is not durably recorded ({why}); the host keeps trying.");
            self.events.send(RunEvent::Notice { text });
        }
    }

    fn ask(&self, order: ModelOrder) -> Active {
        let model = &self.parts.chain[order.route].model;
        let idle = (!model.info().operator).then_some(self.parts.config.limits.stream_idle);
        let mut request = order.request;
        // What `ToolSearch` found since the last request is on the list now.
        if !request.tools.is_empty()
            && let Some(tools) = self.surface.grown_specs()
        {
            request.tools = tools;
        }
        Active::Stream { stream: model.stream(request), idle }
    }

    fn call(&self, orders: Vec<CallOrder>) -> Active {
        let stop = CancellationToken::new();
        let running = orders
            .into_iter()
            .map(|order| {
                let surface = Arc::clone(&self.surface);
                let request = CallRequest {
                    id: order.id.clone(),
                    name: order.name.clone(),
                    arguments: Arguments::Raw(order.arguments),
                    cancel: stop.clone(),
                    progress: self.progress(order.id.to_string()),
                };
                let call: BoxFuture<'static, _> =
                    Box::pin(async move { (order.index, order.name, surface.call(request).await) });
                call
            })
            .collect();
        Active::Calls(Calls { running, stop, grace: None })
    }

    fn progress(&self, id: String) -> ProgressSink {
        let (events, recorder) = (self.events.clone(), self.recorder().clone());
        ProgressSink::new(move |progress: Progress| {
            let message = recorder.redactor().text(&one_line(&progress.message, 300)).into_inner();
            let (done, total) = (progress.done, progress.total);
            events.send(RunEvent::CallProgress { id: id.clone(), message, done, total });
        })
    }

    fn stop(&self, active: &mut Active) {
        match active {
            Active::Calls(calls) => {
                calls.stop.cancel();
                calls.grace = Some(self.clock().sleep(self.parts.config.limits.stop_grace));
            }
            other => *other = Active::Nothing,
        }
    }

    /// Makes an input of what came, and keeps the end of a call that the log did not take.
    async fn noted(&mut self, came: Came) -> Option<Input> {
        let (index, name, settled) = match came {
            Came::Input(input) => return Some(self.without_telltale_id(*input)),
            Came::Settled(it) => *it,
        };
        if !settled.recorded {
            let fact = late_fact(&name, &settled);
            self.record_later(self.scope.clone(), fact, "the end of a call could not be written");
        }
        let text = settled.text();
        let preview = whole_prefix(&text, PREVIEW_BYTES_MAX);
        let settled = SettledCall {
            how: settled.how,
            code: settled.code.to_string(),
            content: settled.for_model(),
            duration_ms: u64::try_from(settled.duration.as_millis()).unwrap_or(u64::MAX),
            preview: self.recorder().redactor().text(preview).into_inner(),
            recorded: settled.recorded,
            rule: settled.rule.clone(),
            result_bytes: settled.original_bytes,
        };
        Some(Input::CallSettled { index, settled })
    }

    /// An id of a call stands in the log as it is; one that holds a secret is taken away, and the machine makes one.
    fn without_telltale_id(&self, mut input: Input) -> Input {
        if let Input::Streamed(ModelEvent::Part(AssistantPart::Call(call))) = &mut input
            && self.recorder().redactor().finds(&call.id)
        {
            call.id.clear();
        }
        input
    }

    /// An event as listeners may see it: arguments without known secrets.
    fn shown(&self, event: RunEvent) -> RunEvent {
        match event {
            RunEvent::CallStarted { id, name, arguments } => {
                let arguments = self.recorder().redactor().value(arguments).into_inner();
                RunEvent::CallStarted { id, name, arguments }
            }
            other => other,
        }
    }

    fn recorder(&self) -> &Recorder {
        &self.parts.hub.recorder
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        self.parts.hub.recorder.clock()
    }
}

/// What is said next; nothing for ever where nobody can say anything.
async fn heard(steering: &mut Option<mpsc::Receiver<Said>>) -> Option<Said> {
    match steering {
        Some(saying) => {
            let said = saying.recv().await;
            if said.is_none() {
                *steering = None;
            }
            said
        }
        None => std::future::pending().await,
    }
}

/// The end of a call for the log, when the gate could not write it.
fn late_fact(name: &str, settled: &Settled) -> Fact {
    match settled.how {
        How::Refused => Fact::Warning {
            code: "refusal_not_recorded".into(),
            message: format!(
                "a call to {} was refused ({}) while the log failed",
                one_line(name, 80),
                settled.code
            ),
        },
        _ => settled.to_fact(name),
    }
}

/// What came of the thing underway.
enum Came {
    Input(Box<Input>),
    Settled(Box<(usize, String, Settled)>),
}

/// Waits for the thing underway. With nothing underway it waits for ever: only a cancellation can come then.
async fn next(active: &mut Active, clock: &dyn Clock) -> Came {
    let input = match active {
        Active::Nothing => std::future::pending().await,
        Active::Wait(wait) => {
            wait.await;
            *active = Active::Nothing;
            Input::Waited
        }
        Active::Stream { stream, idle } => {
            let patience: OptionFuture<_> = idle.map(|idle| clock.sleep(idle)).into();
            tokio::select! {
                biased;
                item = stream.next() => streamed(item, active),
                Some(()) = patience => {
                    *active = Active::Nothing;
                    Input::StreamFailed(ModelError::new(FailureKind::Timeout, "the provider fell silent"))
                }
            }
        }
        Active::Calls(calls) => {
            let grace: OptionFuture<_> = calls.grace.as_mut().into();
            tokio::select! {
                biased;
                Some(settled) = calls.running.next() => return Came::Settled(Box::new(settled)),
                Some(()) = grace => {
                    *active = Active::Nothing;
                    Input::CallsLost
                }
                else => std::future::pending().await,
            }
        }
    };
    Came::Input(Box::new(input))
}

/// A stream is over with its finish, its first error, or its end.
fn streamed(item: Option<Result<ModelEvent, ModelError>>, active: &mut Active) -> Input {
    let (input, over) = match item {
        Some(Ok(event)) => {
            let over = matches!(event, ModelEvent::Finished { .. });
            (Input::Streamed(event), over)
        }
        Some(Err(error)) => (Input::StreamFailed(error), true),
        None => (Input::StreamEnded, true),
    };
    if over {
        *active = Active::Nothing;
    }
    input
}
