//! A turn over an agent's socket, as the console follows it.

use super::hosts::fault;
use crate::operator::Client;
use crate::operator::protocol::{Answer, Approval, ElicitAction, Frame, Request};
use host_console::{HostAnswer, HostApproval, HostFault, HostFrame, TurnLink};
use host_http::LocalFrames;
use host_ports::replies::Shows;
use host_turn::Turn;
use serde_json::Value;
use tokio::sync::mpsc;

/// Sends a turn. What the agent says and is told goes through bounded queues; when the other end is dropped, the
/// connection is closed, and the turn ends with it.
pub(super) async fn open(client: Client, turn: Turn, title: bool) -> Result<TurnLink, HostFault> {
    let shows = Shows { title, ..Shows::web() };
    let request = Request::Turn { turn, can_approve: true, can_operate: false, can_elicit: true, shows };
    let frames = client.open(request).await.map_err(fault)?.0;
    let (tell, told) = mpsc::channel(256);
    let (answers, taken) = mpsc::channel(64);
    tokio::spawn(carry(frames, tell, taken));
    Ok(TurnLink { frames: told, answers })
}

async fn carry(frames: LocalFrames, tell: mpsc::Sender<HostFrame>, mut taken: mpsc::Receiver<HostAnswer>) {
    let (mut reader, mut writer) = frames.split();
    let reading = async {
        let mut pieces = String::new();
        loop {
            let frame = match reader.read::<Frame>().await {
                Ok(Some(frame)) => frame,
                Ok(None) | Err(_) => return,
            };
            let Some(frame) = heard(frame, &mut pieces) else { continue };
            let last = matches!(frame, HostFrame::Finish(_));
            if tell.send(frame).await.is_err() || last {
                return;
            }
        }
    };
    let writing = async {
        while let Some(answer) = taken.recv().await {
            if writer.write(&said(answer)).await.is_err() {
                break;
            }
        }
        // Nothing more is said; the end comes from the agent.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = reading => {}
        () = writing => {}
        () = tell.closed() => {}
    }
}

/// A frame of the protocol as the console takes it; `None` = there is nothing to show of it.
fn heard(frame: Frame, pieces: &mut String) -> Option<HostFrame> {
    Some(match frame {
        Frame::Event { event } => HostFrame::Event(event),
        Frame::Ask { id, tool, arguments, rule, run, call, always, wait_ms } => {
            HostFrame::Approval { id, tool, arguments, rule, run, call, always, wait_ms }
        }
        Frame::Elicit { id, server, message, form, visit, wait_ms, .. } => {
            HostFrame::Elicit { id, server, message, form, visit, wait_ms }
        }
        Frame::Piece { text } => {
            pieces.push_str(&text);
            return None;
        }
        Frame::Finish { mut result } => {
            if !pieces.is_empty() {
                result["text"] = Value::String(std::mem::take(pieces));
            }
            HostFrame::Finish(result)
        }
        Frame::Error { code, message } if code == "oversized_event" => {
            HostFrame::Event(host_run::RunEvent::Warning { code, message })
        }
        Frame::Error { code, message } => {
            HostFrame::Finish(serde_json::json!({"status": "failed", "failureKind": code, "error": message}))
        }
        Frame::Questions { id, message, questions, wait_ms } => {
            HostFrame::Questions { id, message, questions: serde_json::json!(questions), wait_ms }
        }
        Frame::Withdrawn { id } => HostFrame::Withdrawn { id },
        Frame::Steered { id, applied } => HostFrame::Steered { id, applied },
        Frame::Desk { .. } => return None,
    })
}

/// What a person says, as the protocol has it.
fn said(answer: HostAnswer) -> Answer {
    match answer {
        HostAnswer::Approval { id, approval } => {
            let approval = match approval {
                HostApproval::Once => Approval::Approved,
                HostApproval::Always => Approval::ApprovedAlways,
                HostApproval::Deny => Approval::Denied,
            };
            Answer::Approval { id, approval }
        }
        HostAnswer::Elicited { id, action, content } => {
            let action = match action.as_str() {
                "accept" => ElicitAction::Accept,
                "decline" => ElicitAction::Decline,
                _ => ElicitAction::Cancel,
            };
            Answer::Elicited { id, action, content }
        }
        HostAnswer::Answers { id, answers } => Answer::Answers { id, answers },
        HostAnswer::Steer { id, text } => Answer::Steer { id, text },
        HostAnswer::Unsteer { id } => Answer::Unsteer { id },
        HostAnswer::Cancel => Answer::Cancel,
    }
}
