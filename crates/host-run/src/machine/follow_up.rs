//! What people say to a running turn (ENG-8): it waits for the next request to the model, and is read with that.

use super::{Command, Machine};
use crate::event::RunEvent;
use crate::steering::Said;
use host_ports::model::Message;
use host_vocab::Block;

impl Machine {
    pub(super) fn hear(&mut self, said: Said) {
        match said {
            Said::FollowUp { id, text } => self.said.push((id, text)),
            Said::TakenBack { id } => self.said.retain(|(held, _)| *held != id),
        }
    }

    /// Puts what waits into the prompt, as the person's own words, and says that it was read.
    pub(super) fn read_follow_ups(&mut self, out: &mut Vec<Command>) {
        if self.said.is_empty() {
            return;
        }
        let (ids, texts): (Vec<String>, Vec<String>) = std::mem::take(&mut self.said).into_iter().unzip();
        let content = texts.into_iter().map(Block::text).collect();
        self.turn.push(Message::User { content });
        out.push(Command::Tell(RunEvent::FollowUpsRead { ids }));
    }
}
