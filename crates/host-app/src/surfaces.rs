//! Sealing for one turn.

use crate::agent::Inner;
use crate::helpers::TurnSource;
use crate::questions::QuestionSeat;
use crate::run_context::Loan;
use host_ports::BoxFuture;
use host_ports::ask::Ask;
use host_ports::elicit::Elicit;
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
                ask: Arc::clone(&self.ask),
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
