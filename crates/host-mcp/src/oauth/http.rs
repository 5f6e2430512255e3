//! What `rmcp`'s OAuth sends, over the `Http` port.

use host_ports::http::{Http, HttpRequest};
use http::header::LOCATION;
use http::{Method, StatusCode};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The largest answer, in bytes.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How many redirects discovery follows, on the same origin.
const REDIRECTS_MAX: usize = 3;

pub(super) struct OverPort(pub(super) Arc<dyn Http>);

impl OAuthHttpClient for OverPort {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.exchange(request))
    }
}

impl OverPort {
    async fn exchange(
        &self,
        request: OAuthHttpRequest,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let follows = request.redirect_policy == OAuthHttpRedirectPolicy::Follow;
        let timeout = request.timeout.unwrap_or(Duration::from_secs(30));
        let (parts, body) = request.request.into_parts();
        let mut url = Url::parse(&parts.uri.to_string())?;
        for _ in 0..=REDIRECTS_MAX {
            let mut out = HttpRequest::new(parts.method.clone(), url.clone());
            out.headers = parts.headers.clone();
            out.body = body.clone().into();
            out.head_timeout = timeout;
            out.idle_timeout = Some(timeout);
            let answer = self.0.send(out).await?;
            let (status, headers) = (answer.status, answer.headers.clone());
            if follows && parts.method == Method::GET && is_redirect(status) {
                let target = headers.get(LOCATION).and_then(|it| it.to_str().ok());
                let target = target.and_then(|it| url.join(it).ok());
                let target = target.filter(|it| it.origin() == url.origin());
                url = target.ok_or("a redirect to another origin is not followed")?;
                continue;
            }
            let read = answer.read_bounded(BODY_BYTES_MAX).await?;
            if read.cut {
                return Err("the answer is over the bound".into());
            }
            let mut response = http::Response::new(read.bytes);
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            return Ok(response);
        }
        Err("too many redirects".into())
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}
