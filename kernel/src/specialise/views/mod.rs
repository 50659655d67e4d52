//! Views in batches, replayed by paths that outlive the batch: one cache for all forks of a world.
//!
//! A site is a target with a sender and calldata that differs in some words. Its paths are recorded as those of
//! transactions are. Slots are inputs of a path or facts it was recorded on; facts are compared once a batch. What does
//! not depend on the calldata is computed once a batch too, so a call is left with its own slots and its own arithmetic.

mod bulk;
pub(super) mod facts;
mod lowered;
mod makers;
mod memos;
pub(super) mod reader;
mod site;

use std::sync::{
    Arc, Mutex, PoisonError, RwLock, TryLockError,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use revm::{
    context::BlockEnv,
    context_interface::cfg::GasParams,
    primitives::{Address, HashMap, U256, hardfork::SpecId},
};

use super::{
    Mode,
    sites::shape::{Shape, Tariff},
    statistics::{Counts, SiteStatistics},
};
use crate::{
    batch::{Batch, Effort, Outcome},
    machine::{Failure, Machine, Settings},
    storage::{overlay::Overlay, world::World},
    trace::{Layout, Places},
};
use makers::Makers;
use reader::Place;
use site::Paths;

/// Call sites of one world; the calls of further ones are not kept.
const MOST_SITES: usize = 1 << 10;
/// Calls of one kind in a batch that are worth looking a site up for.
const FEWEST: usize = 2;

/// Calldata of one kind, from one sender, to one target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    to: Address,
    sender: Address,
    gas: u64,
    spec: SpecId,
    /// Calldata with zeros where it varies.
    template: Vec<u8>,
    holes: Vec<usize>,
}

/// A call site: its counts, and its paths, which one batch at a time may use.
struct Site {
    key: Key,
    counts: Arc<Counts>,
    paths: Mutex<Paths>,
}

/// The recorded views of a world.
#[derive(Default)]
pub struct Views {
    sites: RwLock<HashMap<Key, Arc<Site>>>,
    places: Places,
    makers: Makers,
    /// A test's fault: recordings leave out their last guard.
    fault: AtomicBool,
}

impl std::fmt::Debug for Views {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Views")
    }
}

/// The state that a batch reads, and how.
pub struct Ground<'a> {
    pub world: &'a World,
    pub overlay: &'a Overlay,
    pub block: &'a BlockEnv,
    pub settings: &'a Settings,
    pub mode: Mode,
    pub threads: usize,
}

impl Views {
    /// Every call's outcome; none where the batch is not for this cache.
    pub fn run(
        &self,
        machine: &mut Machine,
        ground: &Ground<'_>,
        batch: &Batch<'_>,
    ) -> Result<Option<(Vec<Outcome>, Effort)>, Failure> {
        let modelled = (SpecId::LONDON..SpecId::AMSTERDAM).contains(&ground.settings.spec);
        let Some(key) = (modelled && ground.world.closed).then(|| key_of(ground, batch)).flatten() else {
            return Ok(None);
        };
        let Some(site) = self.site(key, ground) else { return Ok(None) };
        if site.counts.is_off() {
            return Ok(None);
        }
        // Another thread's batch is not worth waiting for.
        let mut paths = match site.paths.try_lock() {
            Ok(paths) => paths,
            Err(TryLockError::Poisoned(poisoned)) => {
                site.paths.clear_poison();
                let mut paths = poisoned.into_inner();
                paths.forget();
                paths
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        if !paths.is_usual(ground.block) {
            return Ok(None);
        }
        paths.run(self, &site, machine, ground, batch).map(Some)
    }

    /// The site of a batch; none where there are too many, or the gas may not allow the calldata.
    fn site(&self, key: Key, ground: &Ground<'_>) -> Option<Arc<Site>> {
        if let Some(site) = self.sites.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Some(Arc::clone(site));
        }
        let shape = Shape { id: 0, data: key.template.clone(), holes: key.holes.clone(), gas: key.gas };
        let dearest = vec![U256::MAX; key.holes.len()];
        Tariff::new(&shape, &GasParams::new_spec(ground.settings.spec)).of(&dearest)?;
        let mut sites = self.sites.write().unwrap_or_else(PoisonError::into_inner);
        if sites.len() >= MOST_SITES && !sites.contains_key(&key) {
            return None;
        }
        let site = sites.entry(key.clone()).or_insert_with(|| {
            let paths = Mutex::new(Paths::new(key.holes.len(), ground.block.clone()));
            Arc::new(Site { key, counts: Arc::default(), paths })
        });
        Some(Arc::clone(site))
    }

    /// Let recordings leave out their last guard from now on, and forget those that have it.
    pub fn seed_fault(&self) {
        self.fault.store(true, Relaxed);
        self.sites.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Wait until everything that was asked for is compiled.
    pub fn finish_compiling(&self) {
        self.makers.finish();
    }

    pub fn statistics(&self) -> Vec<SiteStatistics> {
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        let selector = |key: &Key| std::array::from_fn(|at| key.template.get(at).copied().unwrap_or(0));
        let told = |site: &Arc<Site>| site.counts.statistics(site.key.to, site.key.sender, selector(&site.key));
        let mut all: Vec<SiteStatistics> = sites.values().map(told).collect();
        all.sort_unstable_by_key(|site| (site.to, site.selector, site.sender));
        all
    }
}

/// What the calls of a batch have in common; none where that is not enough.
fn key_of(ground: &Ground<'_>, batch: &Batch<'_>) -> Option<Key> {
    let first = *batch.datas.first()?;
    let holes = match batch.holes {
        Some(holes) => holes.to_vec(),
        None if batch.datas.len() < FEWEST => return None,
        None => {
            let layouts = Layout::of(batch.datas);
            let layout = layouts.get(&first.len()).filter(|_| layouts.len() == 1)?;
            let whole = layout.differing.iter().all(|word| word.length == 32);
            whole.then(|| layout.differing.iter().map(|word| word.at).collect::<Vec<_>>())?
        }
    };
    let mut template = first.to_vec();
    holes.iter().for_each(|at| template[*at..at + 32].fill(0));
    let Batch { to, sender, gas, .. } = *batch;
    Some(Key { to, sender, gas, spec: ground.settings.spec, template, holes })
}

/// Slots and codes by what they are read from.
type Facts = Vec<(Place, U256)>;
