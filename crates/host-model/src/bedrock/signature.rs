//! AWS Signature Version 4.

use super::AwsCredentials;
use hmac::{Hmac, KeyInit as _, Mac as _};
use host_ports::http::HttpRequest;
use host_ports::model::ModelError;
use host_turn::FailureKind;
use host_vocab::text::hex;
use http::HeaderValue;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

const SERVICE: &str = "bedrock";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Signs a request: date, token and signature become headers. The headers that are signed are host, content
/// type and those that start with `x-amz-`.
pub(crate) fn sign(request: &mut HttpRequest, keys: &AwsCredentials, now_ms: i64) -> Result<(), ModelError> {
    let fault =
        |why: &str| ModelError::new(FailureKind::ProviderAuth, format!("the request can't be signed: {why}"));
    let at = jiff::Timestamp::from_millisecond(now_ms).map_err(|_| fault("the clock is out of range"))?;
    let stamp = at.strftime("%Y%m%dT%H%M%SZ").to_string();
    let date = &stamp[..8];
    let value = |text: &str| {
        HeaderValue::from_str(text).map_err(|_| fault("a key holds characters that no header can carry"))
    };
    request.headers.insert("x-amz-date", value(&stamp)?);
    if let Some(token) = &keys.session_token {
        let mut token = value(token.expose())?;
        token.set_sensitive(true);
        request.headers.insert("x-amz-security-token", token);
    }
    let (signed, canonical) = canonical(request);
    let scope = format!("{date}/{}/{SERVICE}/aws4_request", keys.region);
    let to_sign = format!("{ALGORITHM}\n{stamp}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
    let mut key = hmac(format!("AWS4{}", keys.secret_access_key.expose()).as_bytes(), date.as_bytes());
    for part in [keys.region.as_str(), SERVICE, "aws4_request", &to_sign] {
        key = hmac(&key, part.as_bytes());
    }
    let signature = hex(&key);
    let line = format!(
        "{ALGORITHM} Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}",
        keys.access_key_id
    );
    let mut line = value(&line)?;
    line.set_sensitive(true);
    request.headers.insert(http::header::AUTHORIZATION, line);
    Ok(())
}

/// The names of the signed headers, and the canonical request.
fn canonical(request: &HttpRequest) -> (String, String) {
    let url = &request.url;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let mut headers = vec![("host".to_owned(), format!("{}{port}", url.host_str().unwrap_or("")))];
    for (name, value) in &request.headers {
        if name.as_str().starts_with("x-amz-") || name == http::header::CONTENT_TYPE {
            let text = value.to_str().unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ");
            headers.push((name.as_str().to_owned(), text));
        }
    }
    headers.sort();
    let signed = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    // Outside S3 each piece of the path is encoded once more.
    let path = url.path().split('/').map(encoded).collect::<Vec<_>>().join("/");
    let mut query: Vec<String> =
        url.query_pairs().map(|(name, value)| format!("{}={}", encoded(&name), encoded(&value))).collect();
    query.sort();
    let body = hex(&Sha256::digest(&request.body));
    let text = format!("{}\n{path}\n{}\n{lines}\n{signed}\n{body}", request.method, query.join("&"));
    (signed, text)
}

/// A piece of a path in the encoding that AWS wants: everything but unreserved characters.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_vocab::Secret;

    #[test]
    fn the_signature_key_is_that_of_the_documentation() {
        // The example key of AWS's guide to Signature Version 4.
        let mut key = hmac(b"AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", b"20150830");
        for part in ["us-east-1", "iam", "aws4_request"] {
            key = hmac(&key, part.as_bytes());
        }
        assert_eq!(hex(&key), "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9");
    }

    // ENG-2
    #[test]
    fn the_model_id_is_encoded_twice_in_the_canonical_path() {
        let url = format!(
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/{}/converse-stream",
            encoded("a.b-v1:0")
        );
        let mut request = HttpRequest::post_json(url.parse().unwrap(), &serde_json::json!({}));
        let keys = AwsCredentials {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: Secret::new("secret"),
            session_token: Some(Secret::new("token")),
            region: "eu-west-1".to_owned(),
        };
        sign(&mut request, &keys, 1_440_938_160_000).unwrap();
        let (signed, text) = canonical(&request);
        assert_eq!(signed, "content-type;host;x-amz-date;x-amz-security-token");
        assert!(text.starts_with("POST\n/model/a.b-v1%253A0/converse-stream\n\n"), "{text}");
        let line = request.headers[http::header::AUTHORIZATION].to_str().unwrap();
        assert!(line.starts_with(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/bedrock/aws4_request, "
        ));
        assert_eq!(request.headers["x-amz-date"], "20150830T123600Z");
        assert!(request.headers[http::header::AUTHORIZATION].is_sensitive());
    }
}
