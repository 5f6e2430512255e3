//! The stdio transport: a child's pipes as rmcp's transport.

use crate::exchange::{Exchange, MESSAGE_BYTES_MAX};
use crate::lines::{Line, Lines};
use crate::stderr::Tail;
use host_ports::CancellationToken;
use host_ports::spawn::{ChildExit, ChildHandle, Spawned};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long a child may take to end by itself once its input is closed.
const END_GRACE: Duration = Duration::from_secs(2);
/// How long it may take after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long the news of a child's end may take after the end of its output.
const EXIT_NEWS: Duration = Duration::from_millis(500);
/// How long the rest of the output is read after a child ended, while something else holds the pipe.
const DRAIN_GRACE: Duration = Duration::from_millis(300);

type Outgoing = (Vec<u8>, oneshot::Sender<io::Result<()>>);

/// What is known of a child from outside its transport.
#[derive(Clone)]
pub(crate) struct ChildFacts {
    /// Its process id.
    pub(crate) pid: u32,
    /// The end of its stderr.
    pub(crate) stderr: Tail,
    /// How it ended.
    pub(crate) exit: Arc<OnceLock<ChildExit>>,
    /// Fires when its output is at an end.
    pub(crate) closed: CancellationToken,
    /// Fires when all of its stderr was read.
    drained: CancellationToken,
}

impl ChildFacts {
    /// How it ended, after a moment for the news, and for its last words, to arrive.
    pub(crate) async fn ended(&self) -> Option<ChildExit> {
        let _ = tokio::time::timeout(EXIT_NEWS, self.drained.cancelled()).await;
        for _ in 0..25 {
            if let Some(exit) = self.exit.get() {
                return Some(*exit);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }
}

/// A child as a transport. Dropping it ends the child's whole tree.
pub(crate) struct StdioTransport {
    exchange: Arc<Exchange>,
    out: Option<mpsc::Sender<Outgoing>>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    /// For the answer that stands in for one that never came.
    stand_in: mpsc::WeakSender<ServerJsonRpcMessage>,
    probe: Option<Duration>,
    child: Arc<dyn ChildHandle>,
    facts: ChildFacts,
    tasks: Vec<AbortOnDrop>,
}

/// A task that ends with its owner.
pub(crate) struct AbortOnDrop(pub(crate) JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl StdioTransport {
    /// Takes over a child. A `server/discover` that stays without answer for `probe` is answered in the
    /// server's stead, so that the older handshake follows; without a `probe` it is waited for.
    pub(crate) fn new(
        label: &str,
        spawned: Spawned,
        exchange: Arc<Exchange>,
        stderr: Tail,
        probe: Option<Duration>,
    ) -> Self {
        let Spawned { pid, stdin, stdout, stderr: errors, handle } = spawned;
        let child: Arc<dyn ChildHandle> = Arc::from(handle);
        let facts = ChildFacts {
            pid,
            stderr: stderr.clone(),
            exit: Arc::default(),
            closed: CancellationToken::new(),
            drained: CancellationToken::new(),
        };
        let (out, outgoing) = mpsc::channel(64);
        let (arrive, incoming) = mpsc::channel(64);
        let stand_in = arrive.downgrade();
        let reader = tokio::spawn(read(Lines::new(stdout, MESSAGE_BYTES_MAX), Arc::clone(&exchange), arrive));
        let reader_end = reader.abort_handle();
        let closed = facts.closed.clone();
        let end_of_output = tokio::spawn(async move {
            let _ = AbortAndJoin(reader).await_end().await;
            closed.cancel();
        });
        let (watched, exit) = (Arc::clone(&child), Arc::clone(&facts.exit));
        let watch = tokio::spawn(async move {
            let _ = exit.set(watched.wait().await);
            tokio::time::sleep(DRAIN_GRACE).await;
            reader_end.abort();
        });
        // Not ended with the transport: a child that dies at once says why here, and its pipe ends with its tree.
        let (drained, label) = (facts.drained.clone(), label.to_owned());
        tokio::spawn(async move {
            stderr.drain(label, errors).await;
            drained.cancel();
        });
        let tasks = [tokio::spawn(write(stdin, outgoing)), end_of_output, watch];
        let tasks = tasks.into_iter().map(AbortOnDrop).collect();
        StdioTransport { exchange, out: Some(out), incoming, stand_in, probe, child, facts, tasks }
    }

    /// What can be known of the child.
    pub(crate) fn facts(&self) -> ChildFacts {
        self.facts.clone()
    }

    async fn note_exit(&self, within: Duration) {
        if let Ok(exit) = tokio::time::timeout(within, self.child.wait()).await {
            let _ = self.facts.exit.set(exit);
        }
    }

    fn watch_probe(&self, message: &ClientJsonRpcMessage) {
        let (JsonRpcMessage::Request(request), Some(probe)) = (message, self.probe) else { return };
        if !matches!(request.request, ClientRequest::DiscoverRequest(_)) {
            return;
        }
        let id = request.id.clone();
        let (exchange, stand_in) = (Arc::clone(&self.exchange), self.stand_in.clone());
        tokio::spawn(async move {
            tokio::time::sleep(probe).await;
            let Some(stand_in) = stand_in.upgrade() else { return };
            if let Some(answer) = exchange.give_up_probe(&id) {
                let _ = stand_in.send(answer).await;
            }
        });
    }
}

/// Joins a task and aborts it if the joining is given up.
struct AbortAndJoin(JoinHandle<()>);

impl AbortAndJoin {
    async fn await_end(mut self) -> Result<(), tokio::task::JoinError> {
        (&mut self.0).await
    }
}

impl Drop for AbortAndJoin {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn read(
    mut lines: Lines<Box<dyn tokio::io::AsyncRead + Send + Unpin>>,
    exchange: Arc<Exchange>,
    arrive: mpsc::Sender<ServerJsonRpcMessage>,
) {
    while let Some(line) = lines.next().await {
        let messages = match line {
            Line::Whole(line) => exchange.receive(&line),
            Line::Oversized { head, tail, bytes } => {
                exchange.receive_oversized(&head, &tail, bytes).into_iter().collect()
            }
        };
        for message in messages {
            if arrive.send(message).await.is_err() {
                return;
            }
        }
    }
}

/// One writer, so that a request that is given up never leaves half a line behind.
async fn write(mut stdin: Box<dyn AsyncWrite + Send + Unpin>, mut outgoing: mpsc::Receiver<Outgoing>) {
    while let Some((line, done)) = outgoing.recv().await {
        let result = async {
            stdin.write_all(&line).await?;
            stdin.flush().await
        }
        .await;
        let _ = done.send(result);
    }
    let _ = stdin.shutdown().await;
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.exchange.sent(&message);
        self.watch_probe(&message);
        let out = self.out.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let mut line = serde_json::to_vec(&message).map_err(io::Error::other)?;
            line.push(b'\n');
            let (done, written) = oneshot::channel();
            out.ok_or_else(closed)?.send((line, done)).await.map_err(|_| closed())?;
            written.await.map_err(|_| closed())?
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.incoming.recv().await;
        if message.is_none() {
            // How the child went says more than that its output ended.
            self.note_exit(EXIT_NEWS).await;
        }
        message
    }

    /// Closes the input, waits, then ends the tree.
    async fn close(&mut self) -> Result<(), io::Error> {
        self.out = None;
        self.incoming.close();
        self.note_exit(END_GRACE).await;
        self.child.kill(TERM_GRACE).await;
        self.facts.closed.cancel();
        self.tasks.clear();
        Ok(())
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        self.facts.closed.cancel();
    }
}
