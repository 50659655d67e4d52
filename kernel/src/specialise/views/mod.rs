//! Views in batches, replayed by paths that outlive the batch: one cache for all forks of a world.
//!
//! A site is a target with a sender and calldata that differs in some words. Its paths are recorded as those of
//! transactions are. Slots are inputs of a path or facts it was recorded on; facts are compared once a batch. What does
//! not depend on the calldata is computed once a batch too, so a call is left with its own slots and its own arithmetic.

mod bulk;
pub(super) mod facts;
mod kind;
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
    primitives::{HashMap, U256, hardfork::SpecId},
};

use super::{
    Mode, is_alike,
    sites::shape::{Shape, Tariff},
    statistics::{Counts, SiteStatistics},
};
use crate::{
    batch::{Batch, Effort, Outcomes},
    machine::{Failure, Machine, Settings},
    storage::{overlay::Overlay, world::World},
    trace::Places,
};
use kind::Key;
use makers::Makers;
use reader::Place;
use site::Paths;

/// Call sites of one world; the calls of further ones are not kept.
const MOST_SITES: usize = 1 << 10;
/// A call site: its counts, and its paths, which one batch at a time may use.
struct Site {
    key: Key,
    /// Where words of the calldata vary.
    holes: Vec<usize>,
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
    ) -> Result<Option<(Outcomes, Effort)>, Failure> {
        let modelled = (SpecId::LONDON..SpecId::AMSTERDAM).contains(&ground.settings.spec);
        let Some(key) = (modelled && ground.world.closed).then(|| Key::of(ground.settings.spec, batch)).flatten()
        else {
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
        if !is_alike(ground.block, &paths.block) {
            return Ok(None);
        }
        paths.run(self, &site, machine, ground, batch).map(Some)
    }

    /// The site of a batch; none where there are too many, or the gas may not allow the calldata.
    fn site(&self, key: Key, ground: &Ground<'_>) -> Option<Arc<Site>> {
        if let Some(site) = self.sites.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Some(Arc::clone(site));
        }
        let holes = key.calldata.holes();
        let shape = Shape { id: 0, data: key.calldata.template(), holes: holes.clone(), gas: key.gas };
        let dearest = vec![U256::MAX; holes.len()];
        Tariff::new(&shape, &GasParams::new_spec(ground.settings.spec)).of(&dearest)?;
        let mut sites = self.sites.write().unwrap_or_else(PoisonError::into_inner);
        if sites.len() >= MOST_SITES && !sites.contains_key(&key) {
            return None;
        }
        let site = sites.entry(key.clone()).or_insert_with(|| {
            let paths = Mutex::new(Paths::new(holes.len(), ground.block.clone()));
            Arc::new(Site { key, holes, counts: Arc::default(), paths })
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
        let told =
            |site: &Arc<Site>| site.counts.statistics(site.key.to, site.key.sender, site.key.calldata.selector());
        let mut all: Vec<SiteStatistics> = sites.values().map(told).collect();
        all.sort_unstable_by_key(|site| (site.to, site.selector, site.sender));
        all
    }
}

/// Slots and codes by what they are read from.
type Facts = Vec<(Place, U256)>;
