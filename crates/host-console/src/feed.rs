//! The live feed (WEB-2): each open page has a bounded queue. What a slow one misses shows as a gap in a message's
//! sequence, or as another `ready`; either way the page fetches once what it shows.

use bytes::Bytes;
use futures_util::stream::BoxStream;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The most events that wait for one page.
const WAITING_MAX: usize = 512;
/// The most bytes that wait for one page; one event may be larger.
const WAITING_BYTES_MAX: usize = 1024 * 1024;
/// How often a page that shows another conversation hears of changed messages.
const ELSEWHERE: Duration = Duration::from_secs(1);
/// How often a quiet connection says that it lives.
const COMMENT: Duration = Duration::from_secs(15);
/// The most open feeds.
const FEEDS_MAX: usize = 2_000;

/// Who hears an event.
pub(crate) enum To<'a> {
    /// Every page.
    All,
    /// Pages that show this conversation.
    Thread(&'a str),
}

/// All open pages.
pub(crate) struct Feed {
    /// Another one = another process.
    pub(crate) server: String,
    pages: Mutex<Vec<Weak<Page>>>,
}

struct Page {
    thread: Option<String>,
    queue: Mutex<Queue>,
    wake: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    /// When this page last heard of a message elsewhere.
    elsewhere: HashMap<String, Instant>,
    closed: bool,
}

fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

impl Feed {
    pub(crate) fn new(server: String) -> Self {
        Feed { server, pages: Mutex::default() }
    }

    fn ready(&self) -> Bytes {
        event("ready", &json!({"serverId": self.server}))
    }

    /// Tells an event.
    pub(crate) fn tell(&self, to: &To<'_>, name: &str, data: &Value) {
        let mut made = None;
        self.each(|page| {
            let hears = match to {
                To::All => true,
                To::Thread(thread) => page.thread.as_deref() == Some(*thread),
            };
            if hears {
                let bytes = made.get_or_insert_with(|| event(name, data)).clone();
                page.push(bytes, || self.ready());
            }
        });
    }

    /// Tells of a changed message: its changes to pages that show the conversation, that there are some to others.
    pub(crate) fn message(&self, thread: &str, name: &str, data: &Value) {
        self.tell(&To::Thread(thread), name, data);
        let short = event("message.changed", &json!({"threadId": thread}));
        let now = Instant::now();
        self.each(|page| {
            if page.thread.as_deref() == Some(thread) {
                return;
            }
            let due = {
                let mut queue = page.queue.lock().unwrap_or_else(PoisonError::into_inner);
                if queue.elsewhere.len() > WAITING_MAX {
                    queue.elsewhere.clear();
                }
                let last = queue.elsewhere.get(thread);
                let due = last.is_none_or(|last| now.duration_since(*last) >= ELSEWHERE);
                if due {
                    queue.elsewhere.insert(thread.to_owned(), now);
                }
                due
            };
            if due {
                page.push(short.clone(), || self.ready());
            }
        });
    }

    fn each(&self, mut with: impl FnMut(&Page)) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|page| page.upgrade().inspect(|page| with(page)).is_some());
    }

    /// Opens a feed; `None` = there are too many.
    pub(crate) fn open(&self, thread: Option<String>) -> Option<BoxStream<'static, Bytes>> {
        let page = Arc::new(Page { thread, queue: Mutex::default(), wake: Notify::new() });
        page.push(self.ready(), || self.ready());
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|page| page.strong_count() > 0);
        if pages.len() >= FEEDS_MAX {
            return None;
        }
        pages.push(Arc::downgrade(&page));
        Some(Box::pin(futures_util::stream::unfold(page, |page| async move {
            let next = page.next().await?;
            Some((next, page))
        })))
    }

    /// Ends all feeds, so that nothing waits for them when the console ends.
    pub(crate) fn close(&self) {
        self.each(|page| {
            page.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
            page.wake.notify_one();
        });
    }
}

impl Page {
    fn push(&self, bytes: Bytes, ready: impl Fn() -> Bytes) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let full = queue.waiting.len() >= WAITING_MAX || queue.bytes + bytes.len() > WAITING_BYTES_MAX;
        if full && !queue.waiting.is_empty() {
            // Too slow: it starts over with what it then fetches.
            queue.waiting.clear();
            queue.bytes = 0;
            let ready = ready();
            queue.bytes += ready.len();
            queue.waiting.push_back(ready);
        } else {
            queue.bytes += bytes.len();
            queue.waiting.push_back(bytes);
        }
        drop(queue);
        self.wake.notify_one();
    }

    /// The next piece: all that waits, or a sign of life.
    async fn next(&self) -> Option<Bytes> {
        loop {
            {
                let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(first) = queue.waiting.pop_front() {
                    let mut joined = first;
                    if !queue.waiting.is_empty() {
                        let mut whole = joined.to_vec();
                        queue.waiting.drain(..).for_each(|more| whole.extend_from_slice(&more));
                        joined = whole.into();
                    }
                    queue.bytes = 0;
                    return Some(joined);
                }
                if queue.closed {
                    return None;
                }
            }
            if tokio::time::timeout(COMMENT, self.wake.notified()).await.is_err() {
                return Some(Bytes::from_static(b": still here\n\n"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt as _;

    async fn heard(stream: &mut BoxStream<'static, Bytes>) -> String {
        String::from_utf8(stream.next().await.unwrap().to_vec()).unwrap()
    }

    // WEB-2
    #[tokio::test(start_paused = true)]
    async fn a_page_hears_its_conversation_whole_and_of_others_that_they_changed() {
        let feed = Feed::new("s".into());
        let (mut here, mut there) = (feed.open(Some("t".into())).unwrap(), feed.open(None).unwrap());
        assert_eq!(heard(&mut here).await, "event: ready\ndata: {\"serverId\":\"s\"}\n\n");
        heard(&mut there).await;
        for n in 0..3 {
            feed.message("t", "message.delta", &json!({"seq": n}));
        }
        assert_eq!(heard(&mut here).await.matches("message.delta").count(), 3);
        assert_eq!(heard(&mut there).await, "event: message.changed\ndata: {\"threadId\":\"t\"}\n\n");
        assert_eq!(heard(&mut there).await, ": still here\n\n");
    }

    // WEB-2
    #[tokio::test]
    async fn a_slow_page_holds_a_bounded_amount_and_is_told_to_fetch() {
        let feed = Feed::new("s".into());
        let mut slow = feed.open(Some("t".into())).unwrap();
        let text = "x".repeat(10_000);
        for _ in 0..1_000 {
            feed.message("t", "message.delta", &json!({"text": text}));
        }
        let told = heard(&mut slow).await;
        assert!(told.len() <= WAITING_BYTES_MAX + 20_000, "{}", told.len());
        assert!(told.starts_with("event: ready"), "what was lost is told before what follows");
        feed.close();
        assert!(slow.next().await.is_none());
    }
}
