use super::*;
use serde_json::json;
use std::time::Duration;

fn of(status: u16, body: &str) -> ModelError {
    of_status(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes(), 0)
}

// ENG-3
#[test]
fn providers_own_words_become_kinds() {
    use FailureKind as K;
    let table: &[(u16, &str, K)] = &[
        (
            401,
            r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            K::ProviderAuth,
        ),
        (401, "", K::ProviderAuth),
        (403, r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#, K::ProviderAuth),
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
            K::ProviderAuth,
        ),
        (403, r#"{"message":"The security token included in the request is invalid."}"#, K::ProviderAuth),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#, K::UsageLimit),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            K::UsageLimit,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            K::UsageLimit,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-4o. Please try again in 2s.","code":"rate_limit_exceeded"}}"#,
            K::RateLimited,
        ),
        (
            429,
            r#"{"__type":"com.amazon.coral#ThrottlingException:http://x","message":"Too many tokens, please wait"}"#,
            K::RateLimited,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            K::Overloaded,
        ),
        (
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            K::Overloaded,
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
            K::ModelNotFound,
        ),
        (
            404,
            r#"{"error":{"message":"The model `gpt-9` does not exist","code":"model_not_found"}}"#,
            K::ModelNotFound,
        ),
        (404, "<html><head><title>404 Not Found</title></head></html>", K::ProviderUnavailable),
        (400, r#"{"message":"The provided model identifier is invalid."}"#, K::ModelNotFound),
        (400, r#"{"error":{"code":"content_filter","message":"x"}}"#, K::ContentFilter),
        (500, "oops", K::ServerError),
        (502, "<html><title>Bad gateway</title></html>", K::ServerError),
        (504, "", K::Timeout),
        (400, r#"{"error":"some field is wrong"}"#, K::InvalidRequest),
        (422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, K::InvalidRequest),
    ];
    for (status, body, kind) in table {
        assert_eq!(of(*status, body).kind, *kind, "{status} {body}");
    }
    assert_eq!(
        of(404, "<html><head><title>404 Not Found</title></head></html>").message,
        "HTTP 404: 404 Not Found; check the base URL"
    );
}

// ENG-3
#[test]
fn a_window_is_read_from_the_message() {
    let table = [
        (
            400,
            json!({"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","code":"context_length_exceeded"}}),
            Some(8192),
        ),
        (
            400,
            json!({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}),
            Some(200_000),
        ),
        (
            400,
            json!({"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200,000, decrease input length"}}),
            Some(200_000),
        ),
        (
            400,
            json!({"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."}}),
            Some(1_048_576),
        ),
        (
            400,
            json!({"error":{"code":400,"type":"exceed_context_size_error","message":"the request exceeds the available context size (4096 tokens), try increasing it"}}),
            Some(4096),
        ),
        (400, json!({"message":"Input is too long for requested model."}), None),
        (413, json!({"error":{"message":"Payload too large"}}), None),
    ];
    for (status, body, window) in table {
        let error = of(status, &body.to_string());
        assert_eq!((error.kind, error.context_window), (FailureKind::ContextLimit, window), "{body}");
    }
    let busy = of(
        429,
        r#"{"error":{"message":"Request too large: prompt is too long for tokens per minute","code":"rate_limit_exceeded"}}"#,
    );
    assert_eq!(busy.kind, FailureKind::RateLimited);
}

// ENG-2
#[test]
fn retry_after_is_seconds_or_a_date_or_milliseconds() {
    let at = |name: &'static str, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        of_status(StatusCode::TOO_MANY_REQUESTS, &headers, b"", 784_111_770_000).retry_after
    };
    assert_eq!(at("retry-after", "7"), Some(Duration::from_secs(7)));
    assert_eq!(at("retry-after", "0.5"), Some(Duration::from_millis(500)));
    assert_eq!(at("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(7)));
    assert_eq!(at("retry-after", "Sat, 06 Nov 1993 08:49:37 GMT"), Some(Duration::ZERO));
    assert_eq!(at("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
    assert_eq!(at("retry-after", "-3"), None);
    assert_eq!(at("retry-after", "soon"), None);
    assert_eq!(at("retry-after", "1e300"), None);
    let google = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"@type":"x","retryDelay":"34s"}]}}"#;
    let error = of(429, google);
    assert_eq!((error.kind, error.retry_after), (FailureKind::RateLimited, Some(Duration::from_secs(34))));
    assert_eq!(of(429, &google.replace("retryDelay", "other")).kind, FailureKind::UsageLimit);
}

// T12-07
#[test]
fn an_error_object_in_a_stream_has_a_kind_too() {
    let of = |json: Value| of_object(&json).kind;
    assert_eq!(
        of(json!({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})),
        FailureKind::Overloaded
    );
    assert_eq!(of(json!({"error":{"message":"boom","code":500}})), FailureKind::ServerError);
    assert_eq!(of(json!({"error":{"message":"slow down","code":429}})), FailureKind::RateLimited);
    assert_eq!(of(json!({"error":"it broke"})), FailureKind::ServerError);
    assert_eq!(
        of(json!({"code":"rate_limit_exceeded","message":"x","type":"error"})),
        FailureKind::RateLimited
    );
}
