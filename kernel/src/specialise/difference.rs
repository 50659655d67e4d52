//! A replay that gave something else than the interpreter, with all that it takes to repeat it elsewhere.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use revm::{
    context::{BlockEnv, TxEnv},
    primitives::{Address, TxKind, U256, hex},
};
use serde::{Deserialize, Serialize};

use crate::{
    evm::transaction,
    machine::{Machine, Rules, Settings},
    rows::program::SavedProgram,
    storage::{
        dump::dump,
        overlay::{Overlay, Row},
        world::World,
    },
    trace::SavedTree,
};

/// Recordings of this process whose path did not lead their own call to its own end.
static MISMATCHES: AtomicU64 = AtomicU64::new(0);

/// Count such a recording. In `check` it is an error too.
pub fn count_mismatch() {
    MISMATCHES.fetch_add(1, Relaxed);
}

pub fn mismatches() -> u64 {
    MISMATCHES.load(Relaxed)
}

/// What was replayed and interpreted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Task {
    Call(CallTask),
    Program { program: SavedProgram, inputs: Vec<u8> },
}

/// A call or a transaction, and what of it varies on its path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallTask {
    pub to: Address,
    pub sender: Address,
    pub data: Vec<u8>,
    pub gas: u64,
    pub gas_price: u128,
    pub priority_fee: Option<u128>,
    pub inputs: Inputs,
}

/// What the inputs of a path are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Inputs {
    /// Words of the calldata at these places.
    Words(Vec<usize>),
    /// The same, and then the sender.
    WordsAndSender(Vec<usize>),
    /// The word at any place of the calldata.
    Anywhere,
}

impl CallTask {
    pub fn of(tx: &TxEnv, inputs: Inputs) -> Self {
        Self {
            to: tx.kind.to().copied().unwrap_or_default(),
            sender: tx.caller,
            data: tx.data.to_vec(),
            gas: tx.gas_limit,
            gas_price: tx.gas_price,
            priority_fee: tx.gas_priority_fee,
            inputs,
        }
    }

    pub fn transaction(&self) -> TxEnv {
        let Self { to, sender, gas, gas_price, priority_fee, .. } = *self;
        let kind = TxKind::Call(to);
        let tx = transaction(kind, &self.data, None, U256::ZERO, Some(gas), gas_price, priority_fee, 0);
        TxEnv { caller: sender, ..tx }
    }

    fn selector(&self) -> [u8; 4] {
        self.data.first_chunk().copied().unwrap_or_default()
    }
}

/// What was replayed, by which paths, and under which rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Evidence {
    pub found: String,
    pub task: Task,
    /// None where the paths were changed meanwhile.
    pub tree: Option<SavedTree>,
    rules: [bool; 4],
}

impl Evidence {
    pub fn rules(&self) -> Rules {
        let [charge_fees, check_balance, check_nonce, check_base_fee] = self.rules;
        Rules { charge_fees, check_balance, check_nonce, check_base_fee }
    }

    /// Contract and selector of the call, or of each call that the program may make.
    fn calls(&self) -> Vec<(Address, [u8; 4])> {
        match &self.task {
            Task::Call(call) => vec![(call.to, call.selector())],
            Task::Program { program, .. } => program.calls(),
        }
    }
}

/// A replay that differs from the interpreter.
#[derive(Clone, Debug)]
pub struct Difference {
    pub evidence: Evidence,
    pub block: BlockEnv,
    /// The state that it was replayed on, dumped.
    pub state: Vec<u8>,
}

impl Difference {
    /// `tree`: the paths that were replayed; `task`: what was.
    pub fn new(found: String, task: Task, tree: Option<SavedTree>, (settings, block): (&Settings, &BlockEnv)) -> Self {
        let Rules { charge_fees, check_balance, check_nonce, check_base_fee } = settings.rules;
        let rules = [charge_fees, check_balance, check_nonce, check_base_fee];
        Self { evidence: Evidence { found, task, tree, rules }, block: block.clone(), state: Vec::new() }
    }

    /// The same with the state of a row.
    pub fn on(mut self, world: &World, row: &Row, settings: &Settings) -> Self {
        self.state = dump(world, row, settings.spec);
        self
    }

    /// Have the state of a row, and its block, if none is there yet.
    pub fn at_least_on(&mut self, world: &World, row: &Row, settings: &Settings) {
        if self.state.is_empty() {
            (self.state, self.block) = (dump(world, row, settings.spec), row.block.clone());
        }
    }

    /// The same with the state that a machine runs on.
    pub fn in_machine(self, machine: &mut Machine) -> Self {
        let (settings, block) = (*machine.settings(), self.block.clone());
        let database = machine.database();
        let overlay = match &database.shared {
            Some(shared) => Overlay::without_snapshots(shared),
            None => database.overlay.without_snapshots(),
        };
        let world = database.world.clone();
        self.on(&world, &Row { overlay, block }, &settings)
    }

    /// What was called, in words.
    pub fn called(&self) -> String {
        let named = |(to, selector): &(Address, [u8; 4])| format!("{to}.{}", hex::encode_prefixed(selector));
        self.evidence.calls().iter().map(named).collect::<Vec<_>>().join(", ")
    }

    pub fn message(&self) -> String {
        let what = match self.evidence.task {
            Task::Call(_) => "the replayed call",
            Task::Program { .. } => "the replayed step that calls",
        };
        let BlockEnv { number, timestamp, .. } = &self.block;
        let found = &self.evidence.found;
        format!("{what} {} in block {number} at {timestamp} differs from the interpreted one: {found}", self.called())
    }
}
