//! Single transactions of forks, replayed by paths that are kept: one cache for all forks of a world.
//!
//! A site is a target with a selector and a number of words. The words and the sender vary, so a path that one account
//! took serves all others. As with views, folded slots and codes are compared before each replay.

mod course;
mod fees;
mod recording;
mod sight;
mod site;

use std::sync::{
    Arc, Mutex, PoisonError, RwLock, TryLockError,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use revm::{
    context::{BlockEnv, TxEnv, result::ExecutionResult},
    context_interface::cfg::GasParams,
    primitives::{Address, HashMap, TxKind, U256, hardfork::SpecId},
};

use super::{
    Mode, is_alike,
    sites::shape::{Shape, Tariff},
    statistics::{Counts, SiteStatistics},
};
use crate::{
    machine::{Failure, Machine, Settings},
    trace::Places,
};
use course::Course;
use fees::Fees;
use site::Paths;

/// Call sites of one world; the transactions of further ones are interpreted.
const MOST_SITES: usize = 1 << 10;
/// Words of the calldata of a transaction that is looked at.
const MOST_WORDS: usize = 24;

/// Transactions of one kind to one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    to: Address,
    gas: u64,
    spec: SpecId,
    /// Whether gas is paid for.
    pays: bool,
    selector: [u8; 4],
    words: usize,
}

/// A call site: its counts, and its paths, which one transaction at a time may use.
struct Site {
    key: Key,
    /// Where the words of the calldata are.
    holes: Vec<usize>,
    tariff: Tariff,
    params: GasParams,
    counts: Arc<Counts>,
    paths: Mutex<Paths>,
}

impl Site {
    fn new(key: Key, block: &BlockEnv) -> Self {
        let mut data = key.selector.to_vec();
        data.resize(4 + 32 * key.words, 0);
        let holes: Vec<usize> = (4..data.len()).step_by(32).collect();
        let params = GasParams::new_spec(key.spec);
        let tariff = Tariff::new(&Shape { id: 0, data, holes: holes.clone(), gas: key.gas }, &params);
        Self { key, holes, tariff, params, counts: Arc::default(), paths: Mutex::new(Paths::new(block.clone())) }
    }
}

/// The recorded transactions of a world.
#[derive(Default)]
pub struct Sends {
    sites: RwLock<HashMap<Key, Arc<Site>>>,
    places: Places,
    /// Expressions and steps of all sites.
    held: AtomicUsize,
    /// A test's fault: recordings leave out their last guard.
    fault: AtomicBool,
}

impl std::fmt::Debug for Sends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sends")
    }
}

/// A transaction that is to be kept, and where it runs.
pub struct Sending<'a> {
    pub tx: &'a TxEnv,
    pub block: &'a BlockEnv,
    pub settings: Settings,
    pub mode: Mode,
    /// Whether it is interpreted too if it is replayed.
    pub checked: bool,
}

impl Sending<'_> {
    /// What it has in common with others; none where it is the interpreter's.
    fn key(&self) -> Option<Key> {
        let Self { tx, block, settings, .. } = self;
        let TxKind::Call(to) = tx.kind else { return None };
        let modelled = (SpecId::LONDON..SpecId::AMSTERDAM).contains(&settings.spec)
            && !settings.rules.check_nonce
            && !settings.rules.check_base_fee
            && tx.gas_priority_fee.is_none_or(|tip| tip <= tx.gas_price);
        let words = tx.data.len().checked_sub(4).filter(|length| length % 32 == 0)? / 32;
        let usual = tx.value.is_zero() && tx.caller != block.beneficiary && words <= MOST_WORDS;
        let selector = *tx.data.first_chunk::<4>()?;
        let pays = settings.rules.charge_fees;
        (modelled && usual).then_some(Key { to, gas: tx.gas_limit, spec: settings.spec, pays, selector, words })
    }
}

impl Sends {
    /// What came of a transaction, which is kept; none where it is to be interpreted.
    pub fn run(&self, machine: &mut Machine, sending: &Sending<'_>) -> Result<Option<ExecutionResult>, Failure> {
        let Some(site) = sending.key().and_then(|key| self.site(key, sending.block)) else { return Ok(None) };
        if site.counts.is_off() {
            return Ok(None);
        }
        let words: Vec<U256> =
            site.holes.iter().map(|at| U256::from_be_slice(&sending.tx.data[*at..at + 32])).collect();
        let Some(data) = site.tariff.of(&words) else { return Ok(None) };
        machine.overlay().flush();
        machine.overlay().changes.watch();
        let fees = Fees::of(machine.database(), sending).map_err(|miss| Failure::Missing(vec![miss]))?;
        let Some(fees) = fees else { return Ok(None) };
        // Another thread's transaction is not worth waiting for.
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
        if !is_alike(sending.block, &paths.block) {
            return Ok(None);
        }
        paths.run(&mut Course { sends: self, site: &site, machine, sending, data, fees })
    }

    /// The site of a transaction; none where there are too many.
    fn site(&self, key: Key, block: &BlockEnv) -> Option<Arc<Site>> {
        if let Some(site) = self.sites.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Some(Arc::clone(site));
        }
        let mut sites = self.sites.write().unwrap_or_else(PoisonError::into_inner);
        if sites.len() >= MOST_SITES && !sites.contains_key(&key) {
            return None;
        }
        Some(Arc::clone(sites.entry(key).or_insert_with(|| Arc::new(Site::new(key, block)))))
    }

    /// Let recordings leave out their last guard from now on, and forget those that have it.
    pub fn seed_fault(&self) {
        self.fault.store(true, Relaxed);
        self.sites.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub fn statistics(&self) -> Vec<SiteStatistics> {
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        let told = |site: &Arc<Site>| site.counts.statistics(site.key.to, Address::ZERO, site.key.selector);
        let mut all: Vec<SiteStatistics> = sites.values().map(told).collect();
        all.sort_unstable_by_key(|site| (site.to, site.selector));
        all
    }
}
