//! What a person sends: a new turn, or a follow-up to the one that runs (ENG-8). The server alone decides which.

use crate::agents::HostAnswer;
use crate::console::{Console, locked};
use crate::error::{Fault, Refused};
use crate::feed::To;
use crate::shapes::{FollowUp, FollowUpState, Message, Quote, UserMessage};
use crate::store::{Change, Submission, UploadRow};
use crate::turns::NewTurn;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The longest message, in characters.
pub(crate) const TEXT_CHARS_MAX: usize = 200_000;
/// The longest follow-up, in characters.
pub(crate) const FOLLOW_UP_CHARS_MAX: usize = 8_000;
/// The most follow-ups of a conversation that are not settled.
const FOLLOW_UPS_MAX: usize = 100;
/// The largest file of a turn, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 20 * 1024 * 1024;
/// The most files of a turn.
pub(crate) const TURN_FILES_MAX: usize = 10;
/// The most bytes of all files of a turn.
pub(crate) const TURN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What a page sends.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Sent {
    id: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    attachments: Vec<String>,
    #[serde(default)]
    quote: Option<Quote>,
}

impl Console {
    /// Takes what was sent to a conversation. Sending it again gives the same receipt and does nothing.
    pub(crate) async fn submit(self: &Arc<Self>, thread: &str, body: &Value) -> Result<Value, Fault> {
        let sent: Sent = serde_json::from_value(body.clone())
            .map_err(|error| Refused::invalid(format!("The message can't be read: {error}.")))?;
        if uuid::Uuid::parse_str(&sent.id).is_err() {
            return Err(Refused::field("id", "The id of a message is a UUID."));
        }
        let digest = host_vocab::text::hex(&Sha256::digest(format!("{thread}\n{body}")));
        let _alone = self.submitting.lock().await;
        if let Some(before) = self.store.submission(&sent.id)? {
            if before.digest == digest {
                return Ok(before.receipt);
            }
            let message = "Another message was sent under this id already. Nothing was sent now.";
            return Err(Refused::conflict("submission_conflict", message));
        }
        let row = self.store.thread(thread)?.ok_or_else(Refused::not_found)?;
        if row.read_only || row.archived {
            let message = "This conversation takes no messages. Restore it, or begin a new one.";
            return Err(Refused::conflict("busy", message));
        }
        self.check(thread, &sent)?;
        let running = locked(&self.running).get(thread).map(|it| (it.orders.clone(), it.can_steer));
        if let Some((orders, can_steer)) = running {
            return self.follow_up(thread, sent, digest, can_steer.then_some(orders)).await;
        }
        if !self.is_online(&row.agent_id) {
            return Err(Refused::offline());
        }
        let files = self.claimed(&sent.attachments)?;
        let submission = Some((sent.id, digest));
        let new = NewTurn { text: sent.text, quote: sent.quote, files, submission, follow_up: None };
        self.begin_turn(thread, new)
    }

    fn check(&self, thread: &str, sent: &Sent) -> Result<(), Fault> {
        if sent.text.trim().is_empty() && sent.attachments.is_empty() {
            return Err(Refused::field("text", "There is nothing to send."));
        }
        let quoted = sent.quote.as_ref().map_or(0, |quote| quote.text.chars().count());
        if sent.text.chars().count() + quoted > TEXT_CHARS_MAX {
            let message = format!("A message has at most {TEXT_CHARS_MAX} characters. Nothing was sent.");
            let mut fault = Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message);
            fault.field = Some("text");
            return Err(fault);
        }
        if let Some(quote) = &sent.quote
            && self.store.message(thread, &quote.message_id)?.is_none()
        {
            return Err(Refused::field("quote", "The quoted message isn't in this conversation."));
        }
        Ok(())
    }

    /// The uploads of a message, within the bounds of a turn.
    fn claimed(&self, ids: &[String]) -> Result<Vec<UploadRow>, Fault> {
        if ids.len() > TURN_FILES_MAX {
            return Err(Refused::field(
                "attachments",
                format!("A message carries at most {TURN_FILES_MAX} files."),
            ));
        }
        let mut rows: Vec<UploadRow> = Vec::new();
        for id in ids {
            let gone = || Refused::field("attachments", "One of the files is gone. Attach it again.");
            let row = self.store.upload(id)?.filter(|row| row.thread.is_none()).ok_or_else(gone)?;
            if rows.iter().any(|it| it.id == row.id) {
                return Err(Refused::field("attachments", "A file is named twice."));
            }
            rows.push(row);
        }
        if rows.iter().map(|row| row.size_bytes).sum::<u64>() > TURN_BYTES_MAX {
            return Err(Refused::field("attachments", "The files of a message are over 64 MB together."));
        }
        Ok(rows)
    }

    async fn follow_up(
        &self,
        thread: &str,
        sent: Sent,
        digest: String,
        orders: Option<tokio::sync::mpsc::Sender<HostAnswer>>,
    ) -> Result<Value, Fault> {
        if !sent.attachments.is_empty() {
            let message = "Files can't be added to a turn that runs. Send them when it is over.";
            return Err(Refused::conflict("active_attachments_unsupported", message));
        }
        if sent.text.chars().count() > FOLLOW_UP_CHARS_MAX {
            let message =
                format!("A message to a running turn has at most {FOLLOW_UP_CHARS_MAX} characters.");
            return Err(Refused::field("text", message));
        }
        if self.store.follow_ups(Some(thread))?.len() >= FOLLOW_UPS_MAX {
            let message = "Too many messages wait for this turn.";
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message));
        }
        let state = if orders.is_some() { FollowUpState::Pending } else { FollowUpState::Queued };
        let follow_up = FollowUp {
            id: sent.id.clone(),
            thread_id: thread.to_owned(),
            text: sent.text.clone(),
            created_at: self.now(),
            state,
        };
        let receipt = json!({"id": sent.id, "kind": "followUp", "followUp": follow_up});
        let submission =
            Submission { id: sent.id, thread: thread.to_owned(), digest, receipt: receipt.clone() };
        // It is kept before it is offered: what then isn't known to have arrived is uncertain, never lost.
        self.store.apply(&[Change::FollowUp(follow_up.clone()), Change::Submission(submission)])?;
        if let Some(orders) = orders {
            let steer = HostAnswer::Steer { id: follow_up.id.clone(), text: follow_up.text.clone() };
            if orders.try_send(steer).is_err() {
                let queued = FollowUp { state: FollowUpState::Queued, ..follow_up };
                self.store.apply(&[Change::FollowUp(queued)])?;
            }
        }
        self.tell_follow_ups(thread);
        Ok(receipt)
    }

    pub(crate) fn tell_follow_ups(&self, thread: &str) {
        let open = self.store.follow_ups(Some(thread)).unwrap_or_default();
        let data = json!({"threadId": thread, "followUps": open});
        self.feed.tell(&To::Thread(thread), "followUps.changed", &data);
    }

    /// What became of a follow-up at the agent.
    pub(crate) fn steered_to(&self, thread: &str, id: &str, applied: bool) {
        let Ok(Some(mut follow_up)) = self.store.follow_up(id) else { return };
        if follow_up.thread_id != thread || follow_up.state != FollowUpState::Pending {
            return;
        }
        follow_up.state = if applied { FollowUpState::Applied } else { FollowUpState::Queued };
        let mut changes = vec![Change::FollowUp(follow_up.clone())];
        let mut read = None;
        if applied {
            let message = Message::User(UserMessage {
                id: follow_up.id.replace('-', ""),
                seq: 1,
                created_at: follow_up.created_at.clone(),
                text: follow_up.text.clone(),
                steered: true,
                quote: None,
                attachments: Vec::new(),
            });
            changes.push(Change::Message { thread: thread.to_owned(), message: message.clone() });
            read = Some(message);
        }
        if let Err(error) = self.store.apply(&changes) {
            tracing::warn!(%error, "what became of a follow-up could not be kept");
            return;
        }
        if let Some(message) = read {
            self.feed.message(thread, "message.changed", &json!({"threadId": thread, "message": message}));
        }
        self.tell_follow_ups(thread);
    }

    /// Takes a follow-up back that was not read.
    pub(crate) async fn cancel_follow_up(&self, thread: &str, id: &str) -> Result<FollowUp, Fault> {
        let _alone = self.submitting.lock().await;
        let found = self.store.follow_up(id)?.filter(|it| it.thread_id == thread);
        let mut follow_up = found.ok_or_else(Refused::not_found)?;
        if !matches!(
            follow_up.state,
            FollowUpState::Pending | FollowUpState::Queued | FollowUpState::Uncertain
        ) {
            let message = "It was read already, so it can't be taken back.";
            return Err(Refused::conflict("follow_up_read", message));
        }
        if follow_up.state == FollowUpState::Pending {
            let orders = locked(&self.running).get(thread).map(|it| it.orders.clone());
            if let Some(orders) = orders {
                let _gone = orders.send(HostAnswer::Unsteer { id: id.to_owned() }).await;
            }
        }
        follow_up.state = FollowUpState::Cancelled;
        self.store.apply(&[Change::FollowUp(follow_up.clone())])?;
        self.tell_follow_ups(thread);
        Ok(follow_up)
    }

    /// The turn is over: what it was offered and neither read nor gave back may have been read.
    pub(crate) fn unread_follow_ups(&self, thread: &str) {
        let Ok(open) = self.store.follow_ups(Some(thread)) else { return };
        let mut changed = false;
        for mut follow_up in open.into_iter().filter(|it| it.state == FollowUpState::Pending) {
            follow_up.state = FollowUpState::Uncertain;
            changed |= self.store.apply(&[Change::FollowUp(follow_up)]).is_ok();
        }
        if changed {
            self.tell_follow_ups(thread);
        }
    }

    /// Starts one turn with the oldest follow-up that waits for one.
    pub(crate) fn next_queued(self: &Arc<Self>, thread: &str) {
        let open = self.store.follow_ups(Some(thread)).unwrap_or_default();
        let Some(next) = open.into_iter().find(|it| it.state == FollowUpState::Queued) else { return };
        let text = next.text.clone();
        let new = NewTurn { text, quote: None, files: Vec::new(), submission: None, follow_up: Some(next) };
        if let Err(fault) = self.begin_turn(thread, new) {
            tracing::warn!(message = %fault.message, "a queued message could not be sent");
        }
        self.tell_follow_ups(thread);
    }
}
