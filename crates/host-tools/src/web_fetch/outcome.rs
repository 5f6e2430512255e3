//! Codes and the outcome record (host-core facts 5.39, 5.40). The record holds no address, header or argument.

use super::FetchError;
use super::document::{Document, DocumentError};
use super::transfer::{Tally, TransferError};
use host_surface::{ToolError, ToolOutput};
use host_vocab::Code;
use serde_json::{Value, json};
use std::time::Duration;

/// All codes.
pub(super) const CODES: &[&str] = &[
    "invalid_url",
    "unsupported_protocol",
    "url_credentials_rejected",
    "header_rejected",
    "invalid_format",
    "invalid_range",
    "invalid_render_mode",
    "invalid_render_format",
    "network_denied",
    "redirect_network_denied",
    "unsupported_content_type",
    "extraction_failed",
    "request_failed",
    "aborted",
    "deadline_exceeded",
    "browser_render_failed",
    "access_challenge",
    "authentication_required",
    "http_300",
    "http_301",
    "http_302",
    "http_303",
    "http_304",
    "http_305",
    "http_307",
    "http_308",
    "http_400",
    "http_401",
    "http_402",
    "http_403",
    "http_404",
    "http_405",
    "http_406",
    "http_407",
    "http_408",
    "http_409",
    "http_410",
    "http_411",
    "http_412",
    "http_413",
    "http_414",
    "http_415",
    "http_416",
    "http_417",
    "http_418",
    "http_421",
    "http_422",
    "http_423",
    "http_424",
    "http_425",
    "http_426",
    "http_428",
    "http_429",
    "http_431",
    "http_451",
    "http_499",
    "http_500",
    "http_501",
    "http_502",
    "http_503",
    "http_504",
    "http_505",
    "http_506",
    "http_507",
    "http_508",
    "http_510",
    "http_511",
    "http_520",
    "http_521",
    "http_522",
    "http_523",
    "http_524",
    "http_525",
    "http_526",
    "http_527",
    "http_530",
    "http_999",
    "http_other",
];

/// The code of a status; `http_other` for one that nobody registered or is known to use.
pub(super) fn status_code(status: u16) -> Code {
    let wanted = format!("http_{status}");
    Code::new(CODES.iter().find(|it| **it == wanted).copied().unwrap_or("http_other"))
}

/// What a call took.
pub(super) struct Facts {
    pub(super) tally: Tally,
    pub(super) cached: bool,
    pub(super) took: Duration,
}

impl Facts {
    fn record(&self, code: &str, is_ok: bool, retryable: bool) -> Value {
        let ms = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        json!({
            "status": if is_ok { "ok" } else { "error" },
            "code": code,
            "retryable": retryable,
            "attempts": self.tally.attempts,
            "backend": "http",
            "cacheHit": self.cached,
            "durationMs": ms,
            "queueWaitMs": 0,
            "backendDurationMs": if self.cached { 0 } else { ms },
            "redirectCount": self.tally.redirects,
            "rendered": false,
            "renderFailed": false,
            "browserRecommended": false,
            "parserFailureCount": 0,
        })
    }
}

/// The record of a document.
pub(super) fn of(document: &Document, code: &Code, retryable: bool, truncated: bool, facts: &Facts) -> Value {
    let mut record = facts.record(code.as_str(), code.as_str() == "ok", retryable);
    record["bytes"] = json!(document.bytes);
    record["truncated"] = json!(truncated || document.cut);
    record["redirectCount"] = json!(document.redirects);
    record["contentKind"] = json!(document.kind);
    record["extractionStage"] = json!(document.stage);
    if document.is_app {
        record["browserRecommended"] = json!(true);
        record["renderReason"] = json!("sparse_app_html");
    }
    record
}

/// The error of a call without a document.
pub(super) fn failure(error: &FetchError, facts: &Facts) -> ToolError {
    let tool_error = match error {
        FetchError::Transfer(error) => of_transfer(error),
        FetchError::Document(DocumentError::Unsupported(what)) => ToolError::new(
            "unsupported_content_type",
            format!("The address leads to {what}, not to text that can be shown."),
        ),
        FetchError::Document(DocumentError::Extraction(why)) => {
            ToolError::new("extraction_failed", format!("No text could be taken out: {why}. Try format raw."))
        }
    };
    let retryable = tool_error.retry == host_surface::Retry::Later;
    let mut record = facts.record(tool_error.code.as_str(), false, retryable);
    if let FetchError::Document(_) = error {
        record["parserFailureCount"] = json!(1);
    }
    tool_error.with_partial(ToolOutput { outcome: Some(record), ..ToolOutput::default() })
}

fn of_transfer(error: &TransferError) -> ToolError {
    match error {
        TransferError::Denied { why, redirected } => {
            let code = if *redirected { "redirect_network_denied" } else { "network_denied" };
            ToolError::new(code, format!("{why}. Only the operator can change that."))
        }
        TransferError::BadRedirect(error) => error.clone(),
        TransferError::Redirects(why) => ToolError::new("request_failed", format!("{why}.")),
        TransferError::TooLarge(bytes) => ToolError::new(
            "request_failed",
            format!(
                "The body is larger than {bytes} bytes (decoded). Ask for a part with a Range header, or for another page."
            ),
        ),
        TransferError::Unreachable(why) => ToolError::new("request_failed", format!("{why}.")).retry_later(),
        TransferError::Deadline(after) => {
            ToolError::new("deadline_exceeded", format!("The page was not there within {after:?}."))
                .retry_later()
        }
    }
}
