//! What recordings of a site were made on, compared once a batch.

use revm::primitives::HashSet;

use super::{Facts, reader::Reader};
use crate::trace::{Fact, Watch};

/// The facts that some path of a site relies on, with their values.
#[derive(Default)]
pub struct Ground {
    facts: Facts,
    known: HashSet<Fact>,
}

impl Ground {
    /// Rely on facts as they are now. False, and nothing is noted, if one cannot be read.
    pub fn rely(&mut self, facts: &HashSet<Fact>, reader: &mut Reader<'_>) -> bool {
        let fresh = facts.iter().filter(|fact| !self.known.contains(*fact));
        let Ok(read) =
            fresh.map(|fact| Ok((*fact, reader.fact(fact)?))).collect::<Result<Facts, crate::trace::Unread>>()
        else {
            return false;
        };
        self.known.extend(read.iter().map(|(fact, _)| *fact));
        self.facts.extend(read);
        true
    }

    pub fn relies_on(&self, facts: &[Fact]) -> bool {
        facts.iter().any(|fact| self.known.contains(fact))
    }

    /// Whether everything is as it was. Slots that are not are never taken for constant again.
    pub fn holds(&self, reader: &mut Reader<'_>, watch: &Watch) -> bool {
        let mut differing = self.facts.iter().filter(|(fact, value)| reader.fact(fact).ok() != Some(*value)).peekable();
        let holds = differing.peek().is_none();
        // Changed code is recorded anew; which one it is stays a fact.
        watch.change(differing.map(|(fact, _)| *fact).filter(|fact| matches!(fact, Fact::Slot(..))));
        holds
    }
}
