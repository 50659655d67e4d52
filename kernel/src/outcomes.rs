//! Outcomes of calls and transactions with everything that they read. Runs that begin in one world repeat each other for a
//! while, and much of what they ask for never differs: where a run holds the same values, the outcome is known. What one
//! run alone asks for is not noted.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use revm::{
    Database,
    context::{BlockEnv, TxEnv, result::ExecutionResult},
    primitives::{Address, B256, Bytes, HashMap, KECCAK_EMPTY, U256},
    state::{AccountInfo, EvmState},
};

use crate::{
    machine::{Failure, Machine, Settings},
    specialise::{CallTask, Difference, Inputs, Task},
};

/// Requests that are remembered; beyond that all are forgotten.
const MOST_REQUESTS: usize = 1 << 11;
/// Outcomes of one request, each of other values.
const MOST_OUTCOMES: usize = 4;
/// Requests that found no outcome, beyond those that did, until nothing more is noted.
const PATIENCE: u32 = 16;

/// What is asked for, and in which block.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Request {
    to: Address,
    sender: Address,
    data: Bytes,
    gas: u64,
    commits: bool,
    number: U256,
    timestamp: U256,
}

/// What an account was when it was read, and its slots.
struct Read {
    address: Address,
    balance: U256,
    nonce: u64,
    code_hash: B256,
    slots: Vec<(U256, U256)>,
}

struct Outcome {
    block: BlockEnv,
    settings: Settings,
    reads: Vec<Read>,
    result: ExecutionResult,
    /// Empty for a call.
    writes: EvmState,
}

#[derive(Default)]
struct Known {
    outcomes: Vec<Arc<Outcome>>,
    hits: u32,
    misses: u32,
}

/// Outcomes of one world.
#[derive(Default)]
pub struct Outcomes {
    known: Mutex<HashMap<Request, Known>>,
}

impl std::fmt::Debug for Outcomes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outcomes")
    }
}

impl Outcomes {
    /// The outcome of a transaction without value and price, its effects kept if it `commits`: what is asked for a second
    /// time is noted, and known from then on. A known one that is `checked` is interpreted too. None where nothing was done.
    pub fn run(
        &self,
        machine: &mut Machine,
        block: &BlockEnv,
        settings: &Settings,
        tx: &TxEnv,
        (commits, checked): (bool, bool),
    ) -> Result<Option<ExecutionResult>, Failure> {
        let Some(to) = tx.kind.to() else { return Ok(None) };
        let request = Request {
            to: *to,
            sender: tx.caller,
            data: tx.data.clone(),
            gas: tx.gas_limit,
            commits,
            number: block.number,
            timestamp: block.timestamp,
        };
        machine.overlay().flush();
        match self.find(machine, block, settings, &request) {
            Found::Outcome(outcome) => {
                if checked {
                    check(machine, tx, &outcome, commits)?;
                }
                if commits {
                    machine.overlay().apply(outcome.writes.clone());
                }
                Ok(Some(outcome.result.clone()))
            }
            Found::Nothing => {
                let (result, state) = machine.run(tx.clone())?;
                self.note(machine, block, settings, request, &result, &state);
                if commits {
                    machine.overlay().apply(state);
                }
                Ok(Some(result))
            }
            Found::Other => Ok(None),
        }
    }

    /// Forget all outcomes: something that they may have read has changed for every run.
    pub fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn find(&self, machine: &mut Machine, block: &BlockEnv, settings: &Settings, request: &Request) -> Found {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_REQUESTS {
            known.clear();
        }
        let Some(known) = known.get_mut(request) else {
            known.insert(request.clone(), Known::default());
            return Found::Other;
        };
        let mut holds = |outcome: &Outcome| {
            outcome.block == *block
                && outcome.settings == *settings
                && outcome.reads.iter().all(|read| read.holds(machine))
        };
        if let Some(outcome) = known.outcomes.iter().find(|outcome| holds(outcome)) {
            known.hits += 1;
            return Found::Outcome(Arc::clone(outcome));
        }
        known.misses += 1;
        if known.misses > PATIENCE + known.hits || known.outcomes.len() >= MOST_OUTCOMES {
            return Found::Other;
        }
        Found::Nothing
    }

    /// Keep what a transaction gave and what it read, before its effects are kept.
    fn note(
        &self,
        machine: &mut Machine,
        block: &BlockEnv,
        settings: &Settings,
        request: Request,
        result: &ExecutionResult,
        state: &EvmState,
    ) {
        if state.values().any(|account| account.is_created() || account.is_selfdestructed()) {
            return;
        }
        let reads: Option<Vec<Read>> = state
            .iter()
            .map(|(address, account)| {
                let slots = account.storage.iter().map(|(key, slot)| (*key, slot.original_value())).collect();
                Read::of(machine, *address, slots)
            })
            .collect();
        let Some(reads) = reads else { return };
        let writes = if request.commits { state.clone() } else { EvmState::default() };
        let outcome = Outcome { block: block.clone(), settings: *settings, reads, result: result.clone(), writes };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(request).or_default().outcomes.push(Arc::new(outcome));
    }
}

enum Found {
    Outcome(Arc<Outcome>),
    /// None holds, and one is to be noted.
    Nothing,
    /// Nothing is to be noted: it is asked for the first time, or with ever other values.
    Other,
}

impl Read {
    fn of(machine: &mut Machine, address: Address, slots: Vec<(U256, U256)>) -> Option<Self> {
        let (balance, nonce, code_hash) = facts(machine.database().basic(address).ok()?);
        Some(Self { address, balance, nonce, code_hash, slots })
    }

    /// Whether the row of a machine has these values.
    fn holds(&self, machine: &mut Machine) -> bool {
        let database = machine.database();
        database.basic(self.address).is_ok_and(|info| facts(info) == (self.balance, self.nonce, self.code_hash))
            && self.slots.iter().all(|(key, value)| database.stored(self.address, *key).is_ok_and(|now| now == *value))
    }
}

/// Interpret what an outcome is known of. A difference is an error, and the outcome is as good as forgotten: its process ends.
fn check(machine: &mut Machine, tx: &TxEnv, outcome: &Outcome, commits: bool) -> Result<(), Failure> {
    let (result, state) = machine.run(tx.clone())?;
    let found = if result != outcome.result {
        "its shared outcome has another result"
    } else if commits && written(&state) != written(&outcome.writes) {
        "its shared outcome has other writes"
    } else {
        return Ok(());
    };
    let task = Task::Call(CallTask::of(tx, Inputs::Anywhere));
    let difference = Difference::new(found.into(), task, None, (&outcome.settings, &outcome.block));
    Err(Failure::Differs(Box::new(difference.in_machine(machine))))
}

/// Accounts and slots that a transaction changes.
fn written(state: &EvmState) -> BTreeMap<Address, (U256, u64, B256, BTreeMap<U256, U256>)> {
    let touched = state.iter().filter(|(_, account)| account.is_touched());
    let changes = touched.map(|(address, account)| {
        let slots = account.changed_storage_slots().map(|(key, slot)| (*key, slot.present_value)).collect();
        let (balance, nonce, code_hash) = facts(Some(account.info.clone()));
        (*address, (balance, nonce, code_hash, slots))
    });
    changes.collect()
}

/// An account that is absent from a closed world is an empty one.
fn facts(info: Option<AccountInfo>) -> (U256, u64, B256) {
    info.map_or((U256::ZERO, 0, KECCAK_EMPTY), |info| (info.balance, info.nonce, info.code_hash))
}
