//! `manual:operator`: a person plays the model (ENG-5).

use crate::content::CallIds;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use host_ports::model::{
    AssistantPart, FinishReason, Model, ModelError, ModelEvent, ModelInfo, ModelRequest,
};
use host_ports::operator::{OperatorDesk, OperatorMove};
use host_turn::{FailureKind, Usage};
use std::sync::Arc;

/// The reference of this model.
pub(crate) const REFERENCE: &str = "manual:operator";

/// A model whose answers a person gives. No time-out, no price, no network.
pub struct Manual {
    desk: Arc<dyn OperatorDesk>,
}

impl Manual {
    /// A model played at that desk.
    pub fn new(desk: Arc<dyn OperatorDesk>) -> Self {
        Manual { desk }
    }
}

impl Model for Manual {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            reference: REFERENCE.to_owned(),
            provider: "manual".to_owned(),
            context_window: 1_000_000,
            images: false,
            operator: true,
            tool_calling: "native",
        }
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let desk = self.desk.clone();
        stream::once(async move { stream::iter(events(desk.next_move(&request).await)) }).flatten().boxed()
    }
}

fn events(chosen: OperatorMove) -> Vec<Result<ModelEvent, ModelError>> {
    let finished = |reason| ModelEvent::Finished { reason, usage: Usage::default() };
    match chosen {
        OperatorMove::Say(text) => vec![
            Ok(ModelEvent::Text(text.clone())),
            Ok(ModelEvent::Part(AssistantPart::Text { text })),
            Ok(finished(FinishReason::Stop)),
        ],
        OperatorMove::Call(calls) => {
            let mut ids = CallIds::default();
            let mut out = Vec::new();
            for mut call in calls {
                call.id = ids.unique(Some(&call.id));
                out.push(Ok(ModelEvent::CallStarted { name: call.name.clone() }));
                out.push(Ok(ModelEvent::Part(AssistantPart::Call(call))));
            }
            out.push(Ok(finished(FinishReason::ToolCalls)));
            out
        }
        OperatorMove::Leave => {
            // The run sees that the desk was left and ends as cancelled; for others it is an error.
            vec![Err(ModelError::new(FailureKind::RuntimeError, "the operator left the desk"))]
        }
    }
}
