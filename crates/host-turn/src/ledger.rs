//! The parts of one run while it goes: what stands, what was rejected, what takes whose place (REP-3, REP-4).

use crate::part::{PARTS_MAX, Part, PartCode, PartKind};

/// What may be done with a file whose bytes are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// The same bytes were published already: this is the part.
    Reused(Part),
    /// It may be published.
    Free,
    /// The run has as many parts as it may have.
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Slot {
    /// It stands.
    Stands(Part),
    /// It was tried and rejected; a file of the same name takes its place.
    Rejected { name: String, part: Part },
    /// A failure that nothing takes the place of.
    Kept(Part),
}

/// The parts of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartLedger {
    slots: Vec<Slot>,
    options: Option<Part>,
    proposal: Option<Part>,
}

impl PartLedger {
    fn claims(&self) -> usize {
        self.slots.iter().filter(|slot| !matches!(slot, Slot::Kept(_))).count()
    }

    fn names(&self, wanted: &str) -> bool {
        self.slots
            .iter()
            .any(|slot| matches!(slot, Slot::Stands(Part::Attachment { name, .. }) if name == wanted))
    }

    /// Whether a file of this name and these bytes may be published.
    pub fn admit(&self, name: &str, sum: Option<&str>) -> Admission {
        let same = self.slots.iter().find_map(|slot| match slot {
            Slot::Stands(part @ Part::Attachment { sha256, .. }) if Some(sha256.as_str()) == sum => {
                Some(part)
            }
            _ => None,
        });
        if let Some(part) = same {
            return Admission::Reused(part.clone());
        }
        let frees = self.slots.iter().any(|it| matches!(it, Slot::Rejected { name: old, .. } if old == name));
        if self.claims() - usize::from(frees) >= PARTS_MAX { Admission::Full } else { Admission::Free }
    }

    /// A file was published: it takes the place of a rejected one of its name.
    pub fn publish(&mut self, part: Part) {
        let Part::Attachment { name: new, .. } = &part else { return };
        self.slots.retain(|slot| !matches!(slot, Slot::Rejected { name, .. } if name == new));
        self.slots.push(Slot::Stands(part));
    }

    /// A file was rejected: one failure for its name, unless a file of that name stands.
    pub fn reject(&mut self, id: String, name: String, code: PartCode) {
        if self.names(&name) {
            return;
        }
        let part = failure(id, &name, code);
        let old =
            self.slots.iter().position(|it| matches!(it, Slot::Rejected { name: old, .. } if *old == name));
        match old {
            Some(at) => self.slots[at] = Slot::Rejected { name, part },
            None if self.claims() < PARTS_MAX => self.slots.push(Slot::Rejected { name, part }),
            None => self.keep(part),
        }
    }

    /// There was no room for a file: that is never superseded.
    pub fn full(&mut self, id: String, name: &str) {
        self.keep(failure(id, name, PartCode::ReplyPartTooLarge));
    }

    /// One failure of this kind is enough to say so.
    fn keep(&mut self, part: Part) {
        let any = self.slots.iter().any(|slot| matches!(slot, Slot::Kept(_)));
        if !any {
            self.slots.push(Slot::Kept(part));
        }
    }

    /// Quick replies: later ones take the place of earlier ones (QUI-1).
    pub fn suggest(&mut self, part: Part) {
        self.options = Some(part);
    }

    /// A restart proposal: one (RES-1).
    pub fn propose(&mut self, part: Part) {
        self.proposal = Some(part);
    }

    /// All parts as the reply carries them: failures, files, quick replies, proposal.
    pub fn parts(&self) -> Vec<Part> {
        let failed = self.slots.iter().filter_map(|slot| match slot {
            Slot::Rejected { part, .. } | Slot::Kept(part) => Some(part),
            Slot::Stands(_) => None,
        });
        let stands = self.slots.iter().filter_map(|slot| match slot {
            Slot::Stands(part) => Some(part),
            _ => None,
        });
        failed.chain(stands).chain(&self.options).chain(&self.proposal).cloned().collect()
    }
}

fn failure(id: String, name: &str, code: PartCode) -> Part {
    let part_type = PartKind::Attachment;
    let message = code.message(part_type);
    Part::Failure { id, part_type, code, message, name: Some(name.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, sum: &str) -> Part {
        Part::Attachment {
            id: format!("id-{name}-{sum}"),
            name: name.into(),
            media_type: "text/plain".into(),
            size_bytes: 1,
            sha256: sum.into(),
            expires_at: None,
        }
    }

    fn kinds(ledger: &PartLedger) -> Vec<PartKind> {
        ledger.parts().iter().map(Part::kind).collect()
    }

    // REP-4: in either order.
    #[test]
    fn a_rejected_attempt_gives_way_to_a_file_of_its_name() {
        let mut ledger = PartLedger::default();
        ledger.reject("f1".into(), "a.csv".into(), PartCode::ArtifactTooLarge);
        ledger.reject("f2".into(), "a.csv".into(), PartCode::ArtifactMissing);
        assert_eq!(kinds(&ledger), [PartKind::Failure], "one failure, however often it was tried");
        ledger.publish(file("a.csv", "1"));
        ledger.reject("f3".into(), "a.csv".into(), PartCode::ArtifactTooLarge);
        assert_eq!(kinds(&ledger), [PartKind::Attachment]);
        ledger.reject("f4".into(), "b.csv".into(), PartCode::ArtifactTooLarge);
        assert_eq!(kinds(&ledger), [PartKind::Failure, PartKind::Attachment]);
    }

    // REP-3
    #[test]
    fn twenty_parts_and_the_next_replaces_nothing() {
        let mut ledger = PartLedger::default();
        for n in 0..PARTS_MAX {
            assert_eq!(ledger.admit(&format!("{n}"), Some(&format!("s{n}"))), Admission::Free);
            ledger.publish(file(&format!("{n}"), &format!("s{n}")));
        }
        assert_eq!(ledger.admit("new", Some("other")), Admission::Full);
        ledger.full("f".into(), "new");
        ledger.full("g".into(), "newer");
        assert!(
            matches!(ledger.admit("again", Some("s3")), Admission::Reused(part) if part == file("3", "s3"))
        );
        assert_eq!(kinds(&ledger).iter().filter(|it| **it == PartKind::Attachment).count(), PARTS_MAX);
        assert_eq!(kinds(&ledger).iter().filter(|it| **it == PartKind::Failure).count(), 1);
    }

    // REP-4: a superseded rejection frees its claim.
    #[test]
    fn a_rejection_holds_a_claim_until_it_is_superseded() {
        let mut ledger = PartLedger::default();
        for n in 0..PARTS_MAX - 1 {
            ledger.publish(file(&format!("{n}"), &format!("s{n}")));
        }
        ledger.reject("f".into(), "late".into(), PartCode::ArtifactMissing);
        assert_eq!(ledger.admit("other", Some("x")), Admission::Full);
        assert_eq!(ledger.admit("late", Some("x")), Admission::Free);
        ledger.publish(file("late", "x"));
        assert_eq!(ledger.parts().len(), PARTS_MAX);
    }

    // QUI-1
    #[test]
    fn later_quick_replies_take_the_place_of_earlier_ones() {
        let mut ledger = PartLedger::default();
        let options = |id: &str| Part::ReplyOptions { id: id.into(), options: vec!["a".into(), "b".into()] };
        ledger.suggest(options("1"));
        ledger.suggest(options("2"));
        assert_eq!(ledger.parts(), [options("2")]);
    }
}
