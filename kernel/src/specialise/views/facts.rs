//! What recordings of a site were made on, compared before each use.

use revm::primitives::{Address, HashSet, U256};

use super::{Facts, reader::Reader};
use crate::{
    storage::changes::{Moment, mark},
    trace::{Fact, Unread, Watch},
};

/// Slots written since the last comparison beyond which all facts are compared again.
const MOST_MARKS: usize = 64;

/// What some path of a site relies on of one account.
struct Relied {
    address: Address,
    code: Option<U256>,
    slots: Vec<(U256, U256)>,
}

/// The facts that some path of a site relies on, with their values, account by account.
///
/// The world below the writes never changes, so a slot that is not written is what it was when it was folded.
#[derive(Default)]
pub struct Ground {
    accounts: Vec<Relied>,
    known: HashSet<Fact>,
    /// Marks of the slots, in order.
    marks: Vec<u64>,
    /// When all of it was last found to be as it was.
    held: Option<Moment>,
}

impl Ground {
    /// Rely on facts as they are now. False, and nothing is noted, if one cannot be read.
    pub fn rely(&mut self, facts: &HashSet<Fact>, reader: &mut Reader<'_>) -> bool {
        let fresh = facts.iter().filter(|fact| !self.known.contains(*fact));
        let Ok(read) = fresh.map(|fact| Ok((*fact, reader.fact(fact)?))).collect::<Result<Facts, Unread>>() else {
            return false;
        };
        self.known.extend(read.iter().map(|(fact, _)| *fact));
        for (fact, value) in read {
            match fact {
                Fact::Slot(address, key) => {
                    self.marks.push(mark(&address, &key));
                    self.account(address).slots.push((key, value));
                }
                Fact::Code(address) => self.account(address).code = Some(value),
                // Slots that were cleared are compared one by one.
                Fact::Storage(_) => {}
            }
        }
        self.marks.sort_unstable();
        true
    }

    fn account(&mut self, address: Address) -> &mut Relied {
        let at = self.accounts.iter().position(|known| known.address == address).unwrap_or_else(|| {
            self.accounts.push(Relied { address, code: None, slots: Vec::new() });
            self.accounts.len() - 1
        });
        &mut self.accounts[at]
    }

    pub fn relies_on(&self, facts: &[Fact]) -> bool {
        facts.iter().any(|fact| self.known.contains(fact))
    }

    /// Whether everything is as it was. Slots that are not are never taken for constant again.
    pub fn holds(&mut self, reader: &mut Reader<'_>, watch: &Watch) -> bool {
        let holds = self.is_untouched(reader) || self.compare(reader, watch);
        self.held = reader.now().filter(|_| holds);
        holds
    }

    /// Whether none of it was written since it was last compared.
    fn is_untouched(&self, reader: &Reader<'_>) -> bool {
        let written = self.held.and_then(|held| reader.written_since(held));
        written.is_some_and(|written| {
            written.len() <= MOST_MARKS && written.iter().all(|mark| self.marks.binary_search(mark).is_err())
        })
    }

    fn compare(&self, reader: &mut Reader<'_>, watch: &Watch) -> bool {
        let mut holds = true;
        for Relied { address, code, slots } in &self.accounts {
            // Changed code is recorded anew; which one it is stays a fact.
            holds &= code.is_none_or(|code| reader.fact(&Fact::Code(*address)).ok() == Some(code));
            if !reader.is_written(*address) {
                continue;
            }
            let differs =
                |(key, value): &&(U256, U256)| reader.written(*address, *key).is_some_and(|now| now != *value);
            let changed: Vec<Fact> = slots.iter().filter(differs).map(|(key, _)| Fact::Slot(*address, *key)).collect();
            if !changed.is_empty() {
                holds = false;
                watch.change(changed);
            }
        }
        holds
    }
}
