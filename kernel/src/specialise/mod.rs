//! Transactions of a fleet's rows, replayed where their path is known: a tier above the interpreter, never instead.
//!
//! A call site (template, target, sender) has a tree of recorded paths. A row follows it by its own values; at the end
//! of a path stand the status, output, writes and gas of the transaction. Where a guard fails nothing has been
//! written, and the row goes to the interpreter, which records the new path within a budget.

mod cache;
mod compiler;
mod difference;
pub mod programs;
mod recorded;
pub mod reproduction;
mod row;
mod runner;
pub mod self_check;
pub mod sends;
pub mod sites;
mod statistics;
#[cfg(test)]
mod tests;
pub mod views;

use std::sync::{
    Arc, Mutex, RwLock,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use revm::{
    context::{BlockEnv, TxEnv, result::ExecutionResult},
    context_interface::cfg::GasParams,
    primitives::{Address, HashMap, KECCAK_EMPTY, U256, hardfork::SpecId},
    state::EvmState,
};

use crate::{
    machine::{Failure, Machine, Rules, Settings, with_row},
    native::processor::executable::Backend,
    rows::program::Program,
    storage::{
        overlay::{Overlay, Row},
        world::World,
    },
    trace::{Fact, Places, Watch},
};
use cache::Waiting;
pub use compiler::finish as finish_compiling;
pub use difference::{CallTask, Difference, Inputs, Task};
pub use programs::device::{Barred, DeviceLeaf, DevicePlace, DeviceRead, DeviceTree, DeviceWord};
pub use programs::keys::Key as DeviceKey;
use programs::program_site::ProgramSite;
pub use programs::running::Row as RunningRow;
use row::RowView;
pub use runner::Runner;
pub use self_check::SelfCheck;
pub use sites::code::Draft;
pub use sites::compare::touched;
pub use sites::shape::{Shape, bill};
use sites::show::SiteShown;
use sites::site::Site;
pub use statistics::SiteStatistics;

/// Call sites of one fleet; the calls of further ones are interpreted.
const MOST_SITES: usize = 1 << 12;

/// Programs of one fleet that are replayed as a whole.
const MOST_PROGRAMS: usize = 64;
/// The setting that leaves programs to their operations: `MAYAVI_WHOLE_PROGRAMS=0`.
const SETTING: &str = "MAYAVI_WHOLE_PROGRAMS";

/// Whether transactions are replayed, and whether each replay is also interpreted and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    On,
    Check,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Check => "check",
        }
    }

    /// By its name; `None` for `off`.
    pub fn parse(name: &str) -> Result<Option<Self>, String> {
        match name {
            "off" => Ok(None),
            "on" => Ok(Some(Self::On)),
            "check" => Ok(Some(Self::Check)),
            other => Err(format!("specialise is '{other}'; it is one of: off, on, check")),
        }
    }
}

/// What a test spoils: the last guard of a call's path or of a program's, the last write of a program's, or its gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Guard,
    ProgramGuard,
    ProgramWrite,
    ProgramGas,
}

impl Fault {
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "guard" => Ok(Self::Guard),
            "program guard" => Ok(Self::ProgramGuard),
            "program write" => Ok(Self::ProgramWrite),
            "program gas" => Ok(Self::ProgramGas),
            other => Err(format!("'{other}' is no fault")),
        }
    }
}

/// A transaction of one row.
pub struct Call<'a> {
    pub shape: &'a Shape,
    pub to: Address,
    pub sender: Address,
    /// Words of the calldata that vary.
    pub holes: &'a [U256],
    pub commit: bool,
}

/// What came of a transaction.
pub enum Answer {
    /// `code_ran`: whether the target is known to have code.
    Replayed {
        success: bool,
        gas: u64,
        output: Vec<u8>,
        code_ran: bool,
    },
    Interpreted(ExecutionResult),
}

/// Call sites by template, target and sender.
type Sites = HashMap<(u64, Address, Address), Arc<Site>>;
/// Sites by the key of their program.
type ProgramSites = HashMap<(u64, usize, usize), Arc<ProgramSite>>;

/// The recorded paths of one fleet.
pub struct Specialiser {
    mode: Mode,
    watch: Watch,
    places: Places,
    params: GasParams,
    /// What of the block is equal in every row whose calls are replayed.
    block: BlockEnv,
    sites: RwLock<Sites>,
    /// Programs that are replayed as a whole; none where only their calls are.
    programs: Option<RwLock<ProgramSites>>,
    /// Expressions and steps of all sites.
    held: AtomicUsize,
    /// Paths of another process whose calls have not come up yet.
    waiting: Waiting,
    settings: Settings,
    /// Accounts that programs touch, by number.
    accounts: Mutex<Vec<Address>>,
    /// Whether every path of a program is recorded, at whatever cost, and none becomes machine code.
    thorough: AtomicBool,
    fault: Option<Fault>,
}

/// Whether programs are replayed as a whole: only machine code is faster than their operations.
fn whole_programs() -> bool {
    let wanted = std::env::var(SETTING).map_or(true, |value| value.trim() != "0");
    wanted && Backend::allowed() == Backend::Machine
}

/// Whether two blocks are the same but for what recordings leave open.
fn is_alike(block: &BlockEnv, usual: &BlockEnv) -> bool {
    block.beneficiary == usual.beneficiary
        && block.gas_limit == usual.gas_limit
        && block.difficulty == usual.difficulty
        && block.prevrandao == usual.prevrandao
        && block.blob_excess_gas_and_price == usual.blob_excess_gas_and_price
        && block.slot_num == usual.slot_num
}

impl Specialiser {
    /// `None` where the rules or the hard fork are not modelled.
    pub fn new(mode: Mode, settings: &Settings, block: &BlockEnv, fault: Option<Fault>) -> Option<Self> {
        let modelled = (SpecId::LONDON..SpecId::AMSTERDAM).contains(&settings.spec);
        (modelled && settings.rules == Rules::SIMULATION).then(|| Self {
            mode,
            watch: Watch::default(),
            places: Places::default(),
            params: GasParams::new_spec(settings.spec),
            block: block.clone(),
            sites: RwLock::default(),
            programs: whole_programs().then(RwLock::default),
            held: AtomicUsize::default(),
            waiting: Waiting::default(),
            settings: *settings,
            accounts: Mutex::default(),
            thorough: AtomicBool::default(),
            fault,
        })
    }

    /// Record every path of programs from now on, at whatever cost: others make code of them.
    pub fn be_thorough(&self) {
        self.thorough.store(true, Relaxed);
    }

    fn is_thorough(&self) -> bool {
        self.thorough.load(Relaxed)
    }

    fn view<'a>(&'a self, machine: &'a mut Machine, block: &'a BlockEnv, call: &Call<'a>) -> RowView<'a> {
        let database = machine.database();
        RowView { holes: call.holes, block, sender: call.sender, database, places: &self.places }
    }

    /// Whether the block is as in every recording, but for what recordings leave open.
    fn is_usual(&self, block: &BlockEnv) -> bool {
        is_alike(block, &self.block)
    }

    /// The site of a call; none where there are too many.
    fn site(&self, call: &Call<'_>) -> Option<Arc<Site>> {
        let key = (call.shape.id, call.to, call.sender);
        if let Some(site) = self.sites.read().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&key) {
            return Some(Arc::clone(site));
        }
        let mut sites = self.sites.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let next = sites.len();
        if next >= MOST_SITES && !sites.contains_key(&key) {
            return None;
        }
        let new = || {
            let site = Site::new(next as u64, call, &self.params);
            self.supply(&site, call);
            Arc::new(site)
        };
        Some(Arc::clone(sites.entry(key).or_insert_with(new)))
    }

    /// The paths of a program that has run before.
    fn known_program(&self, program: &Program) -> Option<Arc<ProgramSite>> {
        let known = self.programs.as_ref()?.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.get(&program.key()).map(Arc::clone)
    }

    /// The paths of a program; none where there are too many, or where only calls are replayed.
    fn program(&self, program: &Program, machine: &mut Machine) -> Option<Arc<ProgramSite>> {
        if let Some(site) = self.known_program(program) {
            return Some(site);
        }
        let (known, key) = (self.programs.as_ref()?, program.key());
        let mut known = known.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let next = known.len();
        if next >= MOST_PROGRAMS && !known.contains_key(&key) {
            return None;
        }
        let closed = machine.database().world.closed;
        let index = (MOST_SITES + next) as u64;
        let new = || {
            let site = Arc::new(ProgramSite::new(index, program, closed));
            self.supply_program(&site, program.input_count());
            site
        };
        Some(Arc::clone(known.entry(key).or_insert_with(new)))
    }

    pub fn interpret(&self, machine: &mut Machine, tx: TxEnv, commit: bool) -> Result<ExecutionResult, Failure> {
        let (result, state) = machine.run(tx)?;
        if commit {
            self.commit(machine, state);
        }
        Ok(result)
    }

    /// Keep the effects of an interpreted transaction.
    pub fn commit(&self, machine: &mut Machine, state: EvmState) {
        self.watch.change_by(&state);
        machine.overlay().apply_numbered(state, |address, key| self.places.find(address, key));
    }

    /// Write a slot without a transaction.
    pub fn store(&self, machine: &mut Machine, address: Address, key: U256, value: U256) -> Result<(), Failure> {
        self.watch.change([Fact::Slot(address, key)]);
        machine.bring_in(address)?;
        machine.overlay().set_numbered(self.places.find(address, key), address, key, value);
        Ok(())
    }

    /// A row has been given other writes: where they differ from those it began with, nothing is constant.
    pub fn replaced(&self, world: &World, initial: &Overlay, now: &Overlay) {
        let code = |overlay: &Overlay, address: &Address| match overlay.get(address) {
            Some(account) => account.info.code_hash,
            None => world.account(address, |account| account.info.code_hash).unwrap_or(KECCAK_EMPTY),
        };
        let cleared =
            |overlay: &Overlay, address: &Address| overlay.get(address).is_some_and(|account| account.cleared);
        let mut facts = Vec::new();
        for (one, other) in [(initial, now), (now, initial)] {
            for (address, account) in one.iter() {
                let there = other.get(address);
                let same = |key: &U256, value: &U256| there.and_then(|there| there.slots.get(key)) == Some(value);
                let changed = account.slots.iter().filter(|(key, value)| !same(key, value));
                facts.extend(changed.map(|(key, _)| Fact::Slot(*address, *key)));
                if code(one, address) != code(other, address) {
                    facts.push(Fact::Code(*address));
                }
                if cleared(one, address) != cleared(other, address) {
                    facts.extend([Fact::Code(*address), Fact::Storage(*address)]);
                }
            }
        }
        self.watch.change(facts);
    }

    /// Let the state that rows begin with have slots and accounts with numbers at hand. It stays the same state.
    pub fn learn(&self, world: &Arc<World>, initial: &mut Row, settings: &Settings) {
        let known = initial.overlay.plane.reach_of();
        let accounts = self.accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let there = |(at, address): (usize, &Address)| {
            let asked = at < 64 && initial.overlay.plane.accounts & 1 << at == 0;
            (asked && world.account(address, |_| ()).is_some()).then_some((at, *address))
        };
        let missing: Vec<(usize, Address)> = accounts.iter().enumerate().filter_map(there).collect();
        if !world.closed || self.places.count() <= known && missing.is_empty() {
            return;
        }
        // What cannot be read is read by the row that needs it.
        _ = with_row(world, initial, settings, false, |machine, _| {
            for (number, (address, key)) in (known..).zip(self.places.since(known)) {
                let value = machine.read_slot(address, key)?;
                machine.overlay().plane.learn(number as u32, value);
            }
            for (at, address) in missing {
                machine.bring_in(address)?;
                machine.overlay().plane.accounts |= 1 << at;
            }
            Ok(())
        });
    }

    /// A number for each of the accounts, as bits of a mask; none where there are too many.
    fn accounts<'a>(&self, mut addresses: impl Iterator<Item = &'a Address>) -> Option<u64> {
        let mut known = self.accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        addresses.try_fold(0, |mask, address| {
            let at = known.iter().position(|known| known == address).unwrap_or_else(|| {
                known.push(*address);
                known.len() - 1
            });
            (at < 64).then(|| mask | 1 << at)
        })
    }

    /// Every site with its paths, those of one selector if it is given.
    pub fn show(&self, selector: Option<[u8; 4]>) -> Vec<SiteShown> {
        let sites = self.sites.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let wanted = sites.values().filter(|site| selector.is_none_or(|selector| site.selector() == selector));
        let mut all: Vec<SiteShown> = wanted.map(|site| site.show()).collect();
        all.sort_unstable_by_key(|site| (site.to, site.selector, site.sender));
        all
    }

    /// Counts of every program: its number, and what became of its rows.
    pub fn program_statistics(&self) -> Vec<(u64, SiteStatistics)> {
        let Some(programs) = &self.programs else { return Vec::new() };
        let programs = programs.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let counts = |site: &Arc<ProgramSite>| site.recorded.counts.statistics(Address::ZERO, Address::ZERO, [0; 4]);
        let mut all: Vec<_> = programs.values().map(|site| (site.program, counts(site))).collect();
        all.sort_unstable_by_key(|(program, _)| *program);
        all
    }

    pub fn statistics(&self) -> Vec<SiteStatistics> {
        let sites = self.sites.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut all: Vec<SiteStatistics> = sites.values().map(|site| site.statistics()).collect();
        all.sort_unstable_by_key(|site| (site.to, site.selector, site.sender));
        all
    }
}
