//! Parts of replies: how each is now, downloads, confirmed restarts.

use crate::agents::HostQuestion;
use crate::console::{Console, locked};
use crate::error::Refused;
use crate::routes::{Routed, accepted};
use crate::shapes::Thread;
use crate::thread_routes::download;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Console {
    /// How the parts of an answer are now. Nothing of it is stored.
    pub(crate) fn part_status(&self, thread: Option<&Thread>, parts: &[Value]) -> BTreeMap<String, Value> {
        let now = self.now();
        let agent = thread.map_or("", |it| it.agent_id.as_str());
        let mut states = BTreeMap::new();
        for part in parts {
            let Some(id) = part["id"].as_str() else { continue };
            let state = match part["type"].as_str() {
                Some("attachment") => {
                    let over = part["expiresAt"].as_str().is_some_and(|at| at <= now.as_str());
                    json!({"state": if over { "expired" } else { "ready" }})
                }
                Some("restart_proposal") => self.proposal_status(agent, part),
                _ => continue,
            };
            states.insert(id.to_owned(), state);
        }
        states
    }

    /// A restart proposal counts for the process that made it alone (RES-1).
    fn proposal_status(&self, agent: &str, part: &Value) -> Value {
        let agents = locked(&self.agents);
        let Some(card) = agents.get(agent) else { return json!({"state": "offline"}) };
        let state = match () {
            () if part["id"].as_str().is_some_and(|id| locked(&self.confirmed).contains(id)) => "used",
            () if !card.online => "offline",
            () if card.value["can"]["restart"] != true => "unsupported",
            () if card.value["generation"] != part["generation"] => "old",
            () => "ready",
        };
        json!({"state": state, "running": card.value["activeRuns"]})
    }

    pub(crate) async fn confirm_restart(&self, thread: &Thread, parts: &[Value], id: &str) -> Routed {
        let part = parts.iter().find(|part| part["id"] == id && part["type"] == "restart_proposal");
        let part = part.ok_or_else(Refused::not_found)?;
        if self.proposal_status(&thread.agent_id, part)["state"] != "ready" {
            let message = "This proposal was for an earlier process of the agent. Nothing was restarted.";
            return Err(Refused::conflict("proposal_inert", message));
        }
        // Confirmed once, whoever is quicker.
        if !locked(&self.confirmed).insert(id.to_owned()) {
            return Err(Refused::conflict("proposal_inert", "This restart was confirmed already."));
        }
        if let Err(fault) = self.hosts.ask(&thread.agent_id, HostQuestion::Restart).await {
            locked(&self.confirmed).remove(id);
            return Err(fault.into());
        }
        accepted()
    }

    /// A file of a reply, checked again by whoever keeps it (OUT-5).
    pub(crate) async fn file(&self, inline: bool, thread: &Thread, parts: &[Value], id: &str) -> Routed {
        let part = parts.iter().find(|part| part["id"] == id && part["type"] == "attachment");
        let part = part.ok_or_else(Refused::not_found)?;
        let conversation = format!("web:{}", thread.id);
        let bytes = self.hosts.reply_file(&thread.agent_id, &conversation, part).await?;
        let (name, media_type) =
            (part["name"].as_str().unwrap_or("file"), part["mediaType"].as_str().unwrap_or(""));
        Ok(download(name, media_type, bytes, inline))
    }
}
