//! HTTP+SSE, the transport of 2024-11-05: one long GET stream whose first event names the address to POST to.
//! rmcp has none, so this is a transport of our own.

use crate::events::{Event, Events};
use crate::exchange::{Exchange, MESSAGE_BYTES_MAX};
use crate::fault::HttpFault;
use crate::stdio::AbortOnDrop;
use crate::streamable::{Endpoint, status_fault};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use host_ports::CancellationToken;
use host_ports::http::HttpError;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use std::sync::Arc;
use tokio::sync::mpsc;
use url::Url;

/// A connection over HTTP+SSE.
pub(crate) struct LegacySse {
    endpoint: Arc<Endpoint>,
    post_to: Url,
    exchange: Arc<Exchange>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    closed: CancellationToken,
    _reader: AbortOnDrop,
}

impl LegacySse {
    /// Opens the stream and waits for its `endpoint` event. The address in it must have the stream's origin.
    pub(crate) async fn open(
        endpoint: Endpoint,
        exchange: Arc<Exchange>,
        closed: CancellationToken,
    ) -> Result<Self, HttpFault> {
        let mut request = endpoint.request(Method::GET, endpoint.url.clone());
        request.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = endpoint.send(request).await?;
        if !response.status.is_success() {
            return Err(status_fault(response).await.0);
        }
        let content_type = response.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !content_type.unwrap_or_default().to_lowercase().starts_with("text/event-stream") {
            return Err(HttpFault::NotMcp("no event stream".to_owned()));
        }
        let mut stream =
            Stream { body: response.body, events: Events::new(MESSAGE_BYTES_MAX), ready: Vec::new() };
        let post_to = loop {
            let event = stream.next().await.ok_or(HttpFault::Closed)?;
            if event.event.as_deref() == Some("endpoint") {
                break same_origin(&endpoint.url, event.data.trim())?;
            }
        };
        let (arrive, incoming) = mpsc::channel(64);
        let (reading, ended) = (Arc::clone(&exchange), closed.clone());
        let reader = tokio::spawn(async move {
            while let Some(event) = stream.next().await {
                let messages =
                    if event.is_message() { reading.receive(event.data.as_bytes()) } else { Vec::new() };
                for message in messages {
                    if arrive.send(message).await.is_err() {
                        return;
                    }
                }
            }
            ended.cancel();
        });
        let endpoint = Arc::new(endpoint);
        Ok(LegacySse { endpoint, post_to, exchange, incoming, closed, _reader: AbortOnDrop(reader) })
    }
}

fn same_origin(base: &Url, target: &str) -> Result<Url, HttpFault> {
    let url =
        base.join(target).map_err(|_| HttpFault::NotMcp("the endpoint event holds no address".to_owned()))?;
    if url.origin() == base.origin() {
        Ok(url)
    } else {
        Err(HttpFault::Redirect { target: url.origin().ascii_serialization() })
    }
}

struct Stream {
    body: BoxStream<'static, Result<bytes::Bytes, HttpError>>,
    events: Events,
    /// Events that were read and not yet taken, last first.
    ready: Vec<Event>,
}

impl Stream {
    async fn next(&mut self) -> Option<Event> {
        while self.ready.is_empty() {
            let piece = self.body.next().await?.ok()?;
            self.ready = self.events.feed(&piece).ok()?;
            self.ready.reverse();
        }
        self.ready.pop()
    }
}

impl Transport<RoleClient> for LegacySse {
    type Error = HttpFault;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), HttpFault>> + Send + 'static {
        self.exchange.sent(&message);
        let endpoint = Arc::clone(&self.endpoint);
        let mut request = endpoint.request(Method::POST, self.post_to.clone());
        async move {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body = serde_json::to_vec(&message)
                .map_err(|_| HttpFault::NotMcp("the request can't be written".to_owned()))?
                .into();
            let response = endpoint.send(request).await?;
            if response.status.is_success() { Ok(()) } else { Err(status_fault(response).await.0) }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), HttpFault> {
        self.closed.cancel();
        self.incoming.close();
        Ok(())
    }
}

impl Drop for LegacySse {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_post_address_stays_on_the_origin() {
        let base = Url::parse("http://127.0.0.1:1/sse").unwrap();
        assert_eq!(same_origin(&base, "/m?id=1").unwrap().as_str(), "http://127.0.0.1:1/m?id=1");
        for elsewhere in ["http://127.0.0.1:2/m", "//evil.example/m", "https://127.0.0.1:1/m"] {
            assert!(matches!(same_origin(&base, elsewhere), Err(HttpFault::Redirect { .. })), "{elsewhere}");
        }
    }
}
