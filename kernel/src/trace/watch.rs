//! What recordings take for constant, and who must forget when it changes.
//!
//! A slot that no row has ever written has the value that every row began with: recordings fold it. A later write to
//! it, by whichever row, makes the recordings that folded it stale. Rows never see one another's writes, so it is
//! enough that a write is noted here before the row that made it makes its next call.

use std::sync::{
    RwLock,
    atomic::{AtomicBool, Ordering},
};

use revm::{
    primitives::{Address, HashMap, HashSet, U256},
    state::EvmState,
};

use crate::faults::Fault;

/// Something that is equal in all rows until one of them changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Fact {
    Slot(Address, U256),
    Code(Address),
    /// The storage of an account as a whole: a creation or a destruction clears all of it.
    Storage(Address),
}

/// Facts that are told apart; where more change, nothing is constant any more.
const MOST_FACTS: usize = 1 << 20;

/// Set once what somebody relies on has changed.
pub type Stale = std::sync::Arc<AtomicBool>;

#[derive(Default)]
struct Noted {
    changed: HashSet<Fact>,
    relied_on: HashMap<Fact, Vec<Stale>>,
}

impl Noted {
    fn has_changed(&self, fact: &Fact) -> bool {
        self.changed.contains(fact) && !(Fault::WrittenFolded.is_on() && matches!(fact, Fact::Slot(..)))
    }
}

impl Fact {
    /// Whether a change of it is overlooked.
    fn is_overlooked(&self) -> bool {
        match self {
            Self::Slot(..) => false,
            Self::Code(_) => Fault::CodeChange.is_on(),
            Self::Storage(_) => Fault::ClearedStorage.is_on(),
        }
    }
}

/// Which facts have changed, and who relies on those that have not.
#[derive(Default)]
pub struct Watch(RwLock<Noted>);

impl Watch {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Noted> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn is_constant(&self, fact: &Fact) -> bool {
        let noted = self.read();
        noted.changed.len() < MOST_FACTS && !noted.has_changed(fact)
    }

    /// Facts that are constant no longer. Returns whether somebody relied on one of them.
    pub fn change(&self, facts: impl IntoIterator<Item = Fact>) -> bool {
        let noted = self.read();
        if noted.changed.len() >= MOST_FACTS {
            return false;
        }
        let is_fresh = |fact: &Fact| !noted.changed.contains(fact) && !fact.is_overlooked();
        let fresh: Vec<Fact> = facts.into_iter().filter(is_fresh).collect();
        drop(noted);
        if fresh.is_empty() {
            return false;
        }
        let mut noted = self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut relied = false;
        for fact in fresh {
            noted.changed.insert(fact);
            for stale in noted.relied_on.remove(&fact).into_iter().flatten() {
                stale.store(true, Ordering::Release);
                relied = true;
            }
        }
        if noted.changed.len() >= MOST_FACTS {
            for stale in std::mem::take(&mut noted.relied_on).into_values().flatten() {
                stale.store(true, Ordering::Release);
                relied = true;
            }
        }
        relied
    }

    /// Rely on facts from now on; false, and nothing is noted, if one of them has changed already.
    pub fn rely<'a>(&self, facts: impl IntoIterator<Item = &'a Fact> + Clone, stale: &Stale) -> bool {
        let mut noted = self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let full = noted.changed.len() >= MOST_FACTS;
        if facts.clone().into_iter().any(|fact| full || noted.has_changed(fact)) {
            return false;
        }
        for fact in facts {
            let relying = noted.relied_on.entry(*fact).or_default();
            if !relying.iter().any(|known| std::sync::Arc::ptr_eq(known, stale)) {
                relying.push(stale.clone());
            }
        }
        true
    }

    /// What somebody relies on, in order.
    pub fn relied_on_by(&self, stale: &Stale) -> Vec<Fact> {
        let noted = self.read();
        let by = |relying: &Vec<Stale>| relying.iter().any(|known| std::sync::Arc::ptr_eq(known, stale));
        let mut found: Vec<Fact> =
            noted.relied_on.iter().filter(|(_, relying)| by(relying)).map(|(fact, _)| *fact).collect();
        found.sort_unstable();
        found
    }

    /// Facts that are constant no longer, in order; none where there are more than `most`.
    pub fn changed(&self, most: usize) -> Option<Vec<Fact>> {
        let noted = self.read();
        (noted.changed.len() <= most).then(|| {
            let mut found: Vec<Fact> = noted.changed.iter().copied().collect();
            found.sort_unstable();
            found
        })
    }

    /// Note the writes of an interpreted transaction.
    pub fn change_by(&self, state: &EvmState) -> bool {
        self.change(state.iter().filter(|(_, account)| account.is_touched()).flat_map(|(address, account)| {
            let replaced = account.is_created() || account.is_selfdestructed();
            let whole = replaced.then_some([Fact::Code(*address), Fact::Storage(*address)]);
            let slots = account.storage.iter().filter(|(_, slot)| slot.is_changed());
            whole.into_iter().flatten().chain(slots.map(|(key, _)| Fact::Slot(*address, *key)))
        }))
    }
}
