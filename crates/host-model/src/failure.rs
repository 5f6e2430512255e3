//! From a provider's refusal to one of the closed failure kinds (ENG-3).

mod retry_after;
mod said;
mod window;

use host_ports::http::HttpError;
use host_ports::model::ModelError;
use host_turn::FailureKind;
use http::{HeaderMap, StatusCode};
use said::Said;
use serde_json::Value;

/// A request that got no answer.
pub(crate) fn of_http(error: &HttpError) -> ModelError {
    let kind = match error {
        HttpError::Timeout { .. } => FailureKind::Timeout,
        HttpError::Connect { .. } | HttpError::Broken { .. } => FailureKind::Network,
        HttpError::RedirectRefused { .. } | HttpError::Denied { .. } => FailureKind::ProviderUnavailable,
    };
    ModelError::new(kind, error.to_string())
}

/// An answer whose body broke.
pub(crate) fn of_broken_body(error: &HttpError) -> ModelError {
    match error {
        HttpError::Timeout { after, .. } => {
            let why = format!("the answer broke off: nothing came for {after:?}");
            ModelError::new(FailureKind::Timeout, why)
        }
        other => ModelError::new(
            FailureKind::StreamTerminated,
            format!("the answer broke off before its end: {other}"),
        ),
    }
}

/// The provider's id of a request.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "x-goog-request-id"]
        .iter()
        .find_map(|name| headers.get(*name))
        .and_then(|value| value.to_str().ok())
        .map(|id| host_vocab::text::one_line(id, 128))
}

/// A response with a status that is no success.
pub(crate) fn of_status(status: StatusCode, headers: &HeaderMap, body: &[u8], now_ms: i64) -> ModelError {
    let text = String::from_utf8_lossy(body);
    let said = match serde_json::from_str::<Value>(&text) {
        Ok(json) => Said::read(&json),
        Err(_) => Said::plain(&text),
    };
    let retry_after = retry_after::of_headers(headers, now_ms).or(said.retry_after);
    let kind = kind(Some(status.as_u16()), &said, retry_after.is_some());
    let mut error = ModelError::new(kind, sentence(status, &said, kind));
    error.retry_after = retry_after;
    error.status = Some(status.as_u16());
    error.request_id = request_id(headers);
    if kind == FailureKind::ContextLimit {
        error.context_window = window::named(&said.message);
    }
    error
}

/// An error object that came inside a stream whose status was a success (T12-07 e).
pub(crate) fn of_object(object: &Value) -> ModelError {
    let said = Said::read(object);
    let kind = kind(said.status, &said, said.retry_after.is_some());
    let message = if said.message.is_empty() { "no message" } else { &said.message };
    let code = if said.code.is_empty() { String::new() } else { format!(" ({})", said.code) };
    let mut error =
        ModelError::new(kind, format!("the provider reports an error in its answer: {message}{code}"));
    error.retry_after = said.retry_after;
    error.status = said.status;
    if kind == FailureKind::ContextLimit {
        error.context_window = window::named(&said.message);
    }
    error
}

/// Whether a request carries a key in one of the headers that providers know.
pub(crate) fn is_keyed(headers: &HeaderMap) -> bool {
    ["authorization", "x-api-key", "x-goog-api-key", "api-key"].iter().any(|name| headers.contains_key(*name))
}

/// What to do where a provider wants a key and none was sent.
pub(crate) fn without_key(mut error: ModelError) -> ModelError {
    if error.kind == FailureKind::ProviderAuth {
        error.message = error.message.replace(
            CHECK_KEY,
            "; no key was sent: name the variable that holds it in the provider's apiKeyEnv",
        );
    }
    error
}

fn sentence(status: StatusCode, said: &Said, kind: FailureKind) -> String {
    let hint = match kind {
        FailureKind::ProviderAuth => CHECK_KEY,
        FailureKind::ModelNotFound => "; check the model's name",
        FailureKind::ProviderUnavailable => "; check the base URL",
        FailureKind::UsageLimit => "; the account's allowance is used up",
        _ => "",
    };
    let message = if said.message.is_empty() { "no message" } else { &said.message };
    format!("HTTP {}: {message}{hint}", status.as_u16())
}

/// The way out where a key was refused.
const CHECK_KEY: &str = "; check the key and its rights";

fn kind(status: Option<u16>, said: &Said, waits: bool) -> FailureKind {
    by_code(said, waits).or_else(|| by_message(status, said)).unwrap_or_else(|| by_status(status, said))
}

/// The codes and types that providers document.
fn by_code(said: &Said, waits: bool) -> Option<FailureKind> {
    let quota_message = said.lower.contains("current quota") && said.lower.contains("billing");
    said.codes().find_map(|code| {
        Some(match code {
            "context_length_exceeded"
            | "exceed_context_size_error"
            | "string_above_max_length"
            | "context_window_exceeded" => FailureKind::ContextLimit,
            "insufficient_quota"
            | "billing_hard_limit_reached"
            | "billing_error"
            | "usage_limit_reached"
            | "quota_exceeded"
            | "insufficient_balance"
            | "credits_exhausted"
            | "servicequotaexceededexception" => FailureKind::UsageLimit,
            "resource_exhausted" if quota_message && !waits => FailureKind::UsageLimit,
            "rate_limit_exceeded"
            | "rate_limit_error"
            | "resource_exhausted"
            | "throttlingexception"
            | "too_many_requests"
            | "rate_limited" => FailureKind::RateLimited,
            "overloaded_error"
            | "overloaded"
            | "engine_overloaded"
            | "serviceunavailableexception"
            | "unavailable"
            | "modelnotreadyexception"
            | "service_unavailable"
            | "unavailable_error" => FailureKind::Overloaded,
            "authentication_error"
            | "invalid_api_key"
            | "permission_error"
            | "unauthenticated"
            | "permission_denied"
            | "accessdeniedexception"
            | "unrecognizedclientexception"
            | "invalidsignatureexception"
            | "expiredtokenexception"
            | "incompletesignatureexception"
            | "account_deactivated" => FailureKind::ProviderAuth,
            "model_not_found" | "model_not_available" | "unknown_model" => FailureKind::ModelNotFound,
            "content_filter"
            | "content_policy_violation"
            | "moderation_blocked"
            | "responsibleaipolicyviolation"
            | "cyber_policy_violation" => FailureKind::ContentFilter,
            "timeout_error" | "modeltimeoutexception" | "deadline_exceeded" => FailureKind::Timeout,
            "server_error"
            | "api_error"
            | "internal_error"
            | "internalserverexception"
            | "internal"
            | "modelstreamerrorexception"
            | "modelerrorexception"
            | "internal_server_error" => FailureKind::ServerError,
            _ => return None,
        })
    })
}

/// What only the words tell. Statuses that mean something else for sure are left alone.
fn by_message(status: Option<u16>, said: &Said) -> Option<FailureKind> {
    let words = |list: &[&str]| list.iter().any(|word| said.lower.contains(word));
    let may_be_size = matches!(status, None | Some(400 | 404 | 413 | 422 | 500));
    if may_be_size && window::is_context_message(&said.lower) {
        return Some(FailureKind::ContextLimit);
    }
    if words(&["credit balance is too low", "insufficient balance", "insufficient credits", "out of credits"])
    {
        return Some(FailureKind::UsageLimit);
    }
    if matches!(status, None | Some(400 | 404))
        && said.lower.contains("model")
        && words(&[
            "not found",
            "does not exist",
            "unknown model",
            "not supported for generatecontent",
            "identifier is invalid",
            "no such model",
        ])
    {
        return Some(FailureKind::ModelNotFound);
    }
    if matches!(status, None | Some(400))
        && words(&["api key not valid", "invalid api key", "api key expired"])
    {
        return Some(FailureKind::ProviderAuth);
    }
    if matches!(status, None | Some(400))
        && words(&["content management policy", "content policy", "safety system"])
    {
        return Some(FailureKind::ContentFilter);
    }
    if status.is_none() && words(&["overloaded", "at capacity"]) {
        return Some(FailureKind::Overloaded);
    }
    if status.is_none() && words(&["rate limit"]) {
        return Some(FailureKind::RateLimited);
    }
    None
}

fn by_status(status: Option<u16>, said: &Said) -> FailureKind {
    match status {
        None => FailureKind::ServerError,
        Some(401 | 403) => FailureKind::ProviderAuth,
        Some(402) => FailureKind::UsageLimit,
        Some(404) if said.lower.contains("model") => FailureKind::ModelNotFound,
        Some(404 | 405 | 410) => FailureKind::ProviderUnavailable,
        Some(408 | 504 | 524) => FailureKind::Timeout,
        Some(413) => FailureKind::ContextLimit,
        Some(429) => FailureKind::RateLimited,
        Some(503 | 529) => FailureKind::Overloaded,
        Some(500..) => FailureKind::ServerError,
        Some(..=399) => FailureKind::ProviderUnavailable,
        Some(400..=499) => FailureKind::InvalidRequest,
    }
}

#[cfg(test)]
mod tests;
