//! Sealing for one turn.

use crate::agent::Inner;
use crate::helpers::TurnSource;
use crate::questions::QuestionSeat;
use crate::replies::{ReplySource, TurnReply};
use crate::run_context::Loan;
use crate::standing::StandingAsk;
use host_ports::BoxFuture;
use host_ports::ask::Ask;
use host_ports::elicit::Elicit;
use host_ports::replies::Shows;
use host_run::{EventSink, LentSurface, SurfaceError, Surfaces};
use host_surface::{GatePorts, RunFacts, Surface, seal};
use host_turn::Attachment;
use std::sync::{Arc, Mutex, PoisonError};

/// The surfaces of an agent's turns, with the person who is asked in this one.
pub(crate) struct TurnSurfaces {
    pub(crate) agent: Arc<Inner>,
    pub(crate) ask: Arc<dyn Ask>,
    /// Who is asked what servers want to know.
    pub(crate) elicit: Option<Arc<dyn Elicit>>,
    /// That person's place, for as long as the turn lasts.
    seat: Mutex<Option<QuestionSeat>>,
    /// What the turn came with, and who listens, where it runs tools; none = it only looks.
    lends: Option<(Vec<Attachment>, EventSink)>,
    /// What the person said, for collaborators.
    said: String,
    /// The reply of this turn, where it runs tools.
    reply: Option<Arc<TurnReply>>,
    /// What it has lent to servers.
    loan: Mutex<Option<Loan>>,
    pub(crate) lent: LentSurface,
}

impl TurnSurfaces {
    pub(crate) fn new(agent: Arc<Inner>, ask: Arc<dyn Ask>, elicit: Option<Arc<dyn Elicit>>) -> Self {
        TurnSurfaces {
            agent,
            ask,
            elicit,
            seat: Mutex::default(),
            lends: None,
            said: String::new(),
            reply: None,
            loan: Mutex::default(),
            lent: LentSurface::default(),
        }
    }
}

impl TurnSurfaces {
    /// The same for a turn that runs tools: it lends its context to the servers that are listed for it.
    pub(crate) fn lending(mut self, said: &str, attachments: Vec<Attachment>, events: EventSink) -> Self {
        said.clone_into(&mut self.said);
        self.lends = Some((attachments, events));
        self
    }

    /// The same with the reply that its tools add to.
    pub(crate) fn replying(mut self, reply: Arc<TurnReply>) -> Self {
        self.reply = Some(reply);
        self
    }

    /// The person, who is not asked again about what they allowed from now on.
    fn asking(&self) -> Arc<dyn Ask> {
        match &self.agent.standing {
            Some(rules) => Arc::new(StandingAsk { rules: Arc::clone(rules), person: Arc::clone(&self.ask) }),
            None => Arc::clone(&self.ask),
        }
    }

    /// The tools that add to the reply. A look shows what a turn of the channel would have.
    fn reply_source(&self, facts: &RunFacts) -> ReplySource {
        let shows = match &self.reply {
            Some(_) => self.ask.shows(),
            None if facts.channel.as_str() == "web" => Shows::web(),
            // Whether a person sits at a terminal is known when a turn comes from it.
            None => Shows::default(),
        };
        let reply = self.reply.clone().unwrap_or_else(|| {
            let conversation = facts.conversation.without_bucket().to_owned();
            TurnReply::new(self.agent.replies.clone(), conversation, EventSink::default())
        });
        ReplySource { reply, ask: Arc::clone(&self.ask), shows }
    }

    /// Takes back what was lent, when the run has settled.
    pub(crate) async fn end(&self) {
        let loan = self.loan.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(loan) = loan {
            loan.end().await;
        }
    }

    async fn lend(&self, facts: &RunFacts) {
        let (Some((attachments, events)), Some(loans), Some(servers)) =
            (&self.lends, &self.agent.loans, &self.agent.servers)
        else {
            return;
        };
        let loan = loans.lend(facts, attachments, events.clone(), &servers.pool).await;
        *self.loan.lock().unwrap_or_else(PoisonError::into_inner) = loan;
    }
}

impl Surfaces for TurnSurfaces {
    fn seal(&self, facts: RunFacts) -> BoxFuture<'_, Result<Surface, SurfaceError>> {
        Box::pin(async move {
            let agent = &self.agent;
            if let Some(person) = &self.elicit {
                let seat = agent.questions.seat(facts.run.clone(), Arc::clone(person));
                *self.seat.lock().unwrap_or_else(PoisonError::into_inner) = Some(seat);
            }
            self.lend(&facts).await;
            let ports = GatePorts {
                recorder: Some(agent.recorder.clone()),
                ask: self.asking(),
                keep: Arc::clone(&agent.keep),
                deadline: agent.call_deadline,
            };
            // What starts others stands on this turn's own surface.
            let starts = TurnSource {
                office: agent.helpers.clone(),
                collaborators: agent.collaborators.clone(),
                lent: self.lent.clone(),
                keep: Arc::clone(&agent.keep),
                said: self.said.clone(),
            };
            let mut sources = agent.sources.clone();
            sources.push(Arc::new(starts));
            sources.push(Arc::new(self.reply_source(&facts)));
            let surface = seal(&sources, &agent.policy, Arc::clone(&agent.approvals), facts, ports).await?;
            match agent.servers.as_ref().and_then(|servers| servers.missing_required()) {
                Some(why) => Err(SurfaceError::Refused(why)),
                None => Ok(surface),
            }
        })
    }

    fn lent(&self) -> Option<&LentSurface> {
        Some(&self.lent)
    }
}
