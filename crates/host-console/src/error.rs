//! What is answered where something can't be done.

use crate::agents::HostFault;
use crate::store::StoreError;
use http::StatusCode;
use serde_json::{Value, json};

/// A refusal in the contract's form: a code, words for people, and the field at fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The HTTP status.
    pub status: StatusCode,
    /// The code.
    pub code: String,
    /// What, and the way out.
    pub message: String,
    /// The field at fault.
    pub field: Option<&'static str>,
    /// More of the error object.
    pub more: Option<(&'static str, Value)>,
}

/// What a route gives back where it gives no answer.
pub type Fault = Box<Refused>;

impl Refused {
    /// A refusal.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Fault {
        Box::new(Refused { status, code: code.to_owned(), message: message.into(), field: None, more: None })
    }

    /// The request is wrong.
    pub fn invalid(message: impl Into<String>) -> Fault {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// One field of the request is wrong.
    pub fn field(field: &'static str, message: impl Into<String>) -> Fault {
        let mut fault = Self::invalid(message);
        fault.field = Some(field);
        fault
    }

    /// There is no such thing.
    pub fn not_found() -> Fault {
        Self::new(StatusCode::NOT_FOUND, "not_found", "This isn't here. It may have been deleted.")
    }

    /// It is at odds with how things are.
    pub fn conflict(code: &str, message: impl Into<String>) -> Fault {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// The agent or host can't.
    pub fn not_supported(message: impl Into<String>) -> Fault {
        Self::new(StatusCode::NOT_IMPLEMENTED, "not_supported", message)
    }

    /// The agent isn't there.
    pub fn offline() -> Fault {
        let message =
            "The agent isn't running. Nothing was sent. `mono-agent start` in its folder starts it.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "agent_offline", message)
    }

    /// The body.
    pub fn body(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(field) = self.field {
            error["field"] = field.into();
        }
        if let Some((name, value)) = &self.more {
            error[*name] = value.clone();
        }
        json!({"error": error})
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "the console's store failed");
        let message = format!("The console's own store failed: {error}. Nothing was changed.");
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "store_failed", message)
    }
}

impl From<HostFault> for Fault {
    fn from(fault: HostFault) -> Self {
        match fault {
            HostFault::Offline => Refused::offline(),
            HostFault::Unsupported => Refused::not_supported(
                "This agent runs an older program. `mono-agent restart` brings it up to date.",
            ),
            HostFault::Refused { code, message } => {
                let status = match code.as_str() {
                    "not_found" => StatusCode::NOT_FOUND,
                    "invalid_input" | "invalid_cursor" | "invalid_query" | "invalid_arguments" => {
                        StatusCode::BAD_REQUEST
                    }
                    "memory_not_configured" | "memory_remote" | "no_folder" | "not_supervised" => {
                        StatusCode::NOT_IMPLEMENTED
                    }
                    "artifact_missing" | "artifact_expired" | "artifact_integrity_failed" => StatusCode::GONE,
                    "plan_stale" | "agent_running" => StatusCode::CONFLICT,
                    _ => StatusCode::BAD_GATEWAY,
                };
                Refused::new(status, &code, message)
            }
            HostFault::Broken(message) => Refused::new(StatusCode::BAD_GATEWAY, "agent_failed", message),
        }
    }
}
