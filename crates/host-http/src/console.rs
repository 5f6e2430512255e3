//! The web console's listening socket. It parses requests and hands them to [`Console::answer`]; what may be asked,
//! and by whom, the console knows.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::StreamExt as _;
use host_console::{Console, WebBody, WebRequest};
use host_ports::CancellationToken;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most connections at once; further ones wait.
const CONNECTIONS_MAX: usize = 4_096;
/// How long open answers may take to end when the console does.
const DRAIN_MAX: Duration = Duration::from_secs(3);

/// A bound address that nothing is answered on yet.
pub struct ConsoleListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl ConsoleListener {
    /// Binds an address; port 0 = a free one.
    ///
    /// # Errors
    /// It can't be had.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(ConsoleListener { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is stopped; then the feeds are closed, and what is underway has a short time to end.
    pub async fn serve(self, console: Arc<Console>, stop: CancellationToken) {
        let app = axum::Router::new().fallback(pass).with_state(Arc::clone(&console));
        let bounded = Bounded { listener: self.listener, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)) };
        let closing = stop.clone();
        let ending = async move {
            closing.cancelled().await;
            console.close();
        };
        let serving = axum::serve(bounded, app).with_graceful_shutdown(ending);
        tokio::select! {
            done = async { serving.await } => {
                if let Err(error) = done {
                    tracing::warn!(%error, "the web console ended");
                }
            }
            () = async { stop.cancelled().await; tokio::time::sleep(DRAIN_MAX).await } => {}
        }
    }
}

async fn pass(State(console): State<Arc<Console>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = body.into_data_stream().map(|piece| piece.map_err(io::Error::other)).boxed();
    let request = WebRequest {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
    };
    let answer = console.answer(request).await;
    let body = match answer.body {
        WebBody::Whole(bytes) => Body::from(bytes),
        WebBody::Stream(stream) => Body::from_stream(stream.map(Ok::<_, io::Error>)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}

/// A listener with a bounded number of connections.
struct Bounded {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

/// A connection and its place.
struct Placed {
    stream: TcpStream,
    _place: Option<OwnedSemaphorePermit>,
}

impl axum::serve::Listener for Bounded {
    type Io = Placed;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Placed, SocketAddr) {
        loop {
            let place = Arc::clone(&self.places).acquire_owned().await.ok();
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    // A token's event must not wait for the next one.
                    let _ = stream.set_nodelay(true);
                    return (Placed { stream, _place: place }, peer);
                }
                // Too many open files, most likely: wait instead of spinning.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

mod stream {
    use super::Placed;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    impl AsyncRead for Placed {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_read(context, buffer)
        }
    }

    impl AsyncWrite for Placed {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.stream).poll_write(context, bytes)
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_flush(context)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_shutdown(context)
        }
    }
}
