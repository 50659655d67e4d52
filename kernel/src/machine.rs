//! The one place that drives revm. A machine is kept per thread; rows are moved into it and out again.

use std::{
    any::Any,
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use revm::{
    Context, Database, ExecuteEvm, InspectEvm, MainBuilder, MainContext, MainnetEvm, SystemCallEvm,
    bytecode::Bytecode,
    context::{
        BlockEnv, CfgEnv, Evm, TxEnv,
        result::{EVMError, ExecutionResult, InvalidTransaction},
    },
    handler::MainnetContext,
    primitives::{Address, Bytes, U256, hardfork::SpecId},
    state::{AccountInfo, EvmState},
};

use crate::{
    hashes,
    inspector::{CreateAt, Tracer},
    specialise::Difference,
    storage::{
        database::{Miss, RowDatabase},
        overlay::{Overlay, Row},
        world::{Base, World},
    },
    trace::Recorder,
};

/// Which of a transaction's checks are on. Simulations leave them off; a block replay turns all on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub charge_fees: bool,
    pub check_balance: bool,
    pub check_nonce: bool,
    pub check_base_fee: bool,
}

impl Rules {
    pub const SIMULATION: Self =
        Self { charge_fees: false, check_balance: false, check_nonce: false, check_base_fee: false };
    pub const REPLAY: Self = Self { charge_fees: true, check_balance: true, check_nonce: true, check_base_fee: true };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub spec: SpecId,
    pub chain_id: u64,
    pub rules: Rules,
}

/// Why a transaction gave no result at all.
#[derive(Clone, Debug)]
pub enum Failure {
    Missing(Vec<Miss>),
    Invalid(String),
    Internal(String),
    /// A replay gave something else than the interpreter.
    Differs(Box<Difference>),
}

/// Bytes of memory beyond which a transaction halts, whatever its gas: so many take the gas of 36,000 blocks.
const MOST_MEMORY: u64 = 1 << 30;

pub type RawEvm<I = ()> = MainnetEvm<MainnetContext<RowDatabase>, I>;

pub struct Machine {
    evm: RawEvm,
    settings: Settings,
}

fn configuration(settings: &Settings) -> CfgEnv {
    let mut cfg = CfgEnv::new_with_spec(settings.spec).with_chain_id(settings.chain_id);
    let rules = settings.rules;
    cfg.disable_fee_charge = !rules.charge_fees;
    cfg.disable_balance_check = !rules.check_balance;
    cfg.disable_nonce_check = !rules.check_nonce;
    cfg.disable_base_fee = !rules.check_base_fee;
    cfg.memory_limit = MOST_MEMORY;
    if rules != Rules::REPLAY {
        // A simulation may act for a contract and spend more than a block holds.
        cfg.disable_eip3607 = true;
        cfg.disable_block_gas_limit = true;
        cfg.tx_chain_id_check = false;
        cfg.tx_gas_limit_cap = Some(u64::MAX);
    }
    cfg
}

fn build<I>(database: RowDatabase, settings: &Settings, inspector: I) -> RawEvm<I> {
    Context::mainnet().with_db(database).with_cfg(configuration(settings)).build_mainnet_with_inspector(inspector)
}

impl Machine {
    fn new(settings: &Settings) -> Self {
        let mut evm = build(RowDatabase::new(nowhere()), settings, ());
        hashes::install(&mut evm.instruction);
        Self { evm, settings: *settings }
    }

    pub fn database(&mut self) -> &mut RowDatabase {
        &mut self.evm.ctx.journaled_state.database
    }

    /// The block environment a row's block advances to takes effect here.
    pub fn set_block(&mut self, block: &BlockEnv) {
        self.evm.ctx.block = block.clone();
    }

    pub fn block(&self) -> &BlockEnv {
        &self.evm.ctx.block
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn overlay(&mut self) -> &mut Overlay {
        &mut self.database().overlay
    }

    pub fn read_slot(&mut self, address: Address, key: U256) -> Result<U256, Failure> {
        self.overlay().flush();
        self.read_stored(address, key)
    }

    /// Read a slot that no replay has written since its writes were brought over.
    pub fn read_stored(&mut self, address: Address, key: U256) -> Result<U256, Failure> {
        // A known slot does not imply a known account: in an open world both must be known.
        let value = self.database().stored(address, key);
        let missed = std::mem::take(&mut self.database().misses);
        match value {
            Ok(value) if missed.is_empty() => Ok(value),
            Ok(_) => Err(Failure::Missing(missed.into_iter().collect())),
            Err(miss) => Err(Failure::Missing(vec![miss])),
        }
    }

    pub fn read_info(&mut self, address: Address) -> Result<AccountInfo, Failure> {
        let info = self.database().basic(address);
        let missed = std::mem::take(&mut self.database().misses);
        match info {
            Ok(info) if missed.is_empty() => Ok(info.unwrap_or_default()),
            Ok(_) => Err(Failure::Missing(missed.into_iter().collect())),
            Err(miss) => Err(Failure::Missing(vec![miss])),
        }
    }

    /// The code of an account; an error if only its hash is known.
    pub fn read_code(&mut self, address: Address) -> Result<Bytecode, Failure> {
        let info = self.read_info(address)?;
        match info.code {
            Some(code) => Ok(code),
            None => self.database().code_by_hash(info.code_hash).map_err(|miss| Failure::Missing(vec![miss])),
        }
    }

    pub fn has_code(&mut self, address: Address) -> Result<bool, Failure> {
        Ok(!self.read_info(address)?.is_empty_code_hash())
    }

    pub fn write_slot(&mut self, address: Address, key: U256, value: U256) -> Result<(), Failure> {
        self.bring_in(address)?;
        self.overlay().set_slot(address, key, value);
        Ok(())
    }

    /// Have an account in the overlay. One that was destroyed comes back as an empty one.
    pub fn bring_in(&mut self, address: Address) -> Result<(), Failure> {
        if !self.database().overlay.stands(&address) {
            let info = self.read_info(address)?;
            self.overlay().set_info(address, info);
        }
        Ok(())
    }

    /// Whether the account is known here, rather than taken for empty.
    pub fn stands(&mut self, address: Address) -> bool {
        let database = self.database();
        database.overlay.get(&address).is_some() || database.world.account(&address, |_| ()).is_some()
    }

    /// Execute a transaction and leave the row as it was.
    pub fn run(&mut self, tx: TxEnv) -> Result<(ExecutionResult, EvmState), Failure> {
        self.check_cost(&tx)?;
        let result = self.evm.transact_one(tx);
        self.settle(result)
    }

    /// Execute a transaction and keep its effects in the row.
    pub fn run_and_commit(&mut self, tx: TxEnv) -> Result<ExecutionResult, Failure> {
        let (result, state) = self.run(tx)?;
        self.database().overlay.apply(state);
        Ok(result)
    }

    /// A call the protocol itself makes at a block's borders.
    pub fn system_call(&mut self, contract: Address, data: Bytes) -> Result<ExecutionResult, Failure> {
        let result = self.evm.system_call_one(contract, data);
        let (result, state) = self.settle(result)?;
        self.database().overlay.apply(state);
        Ok(result)
    }

    /// Refuse what revm takes for granted where it charges without checking the balance: a cost that can be written.
    fn check_cost(&self, tx: &TxEnv) -> Result<(), Failure> {
        let rules = self.settings.rules;
        if !rules.charge_fees || rules == Rules::REPLAY {
            return Ok(());
        }
        let Some(gas) = u128::from(tx.gas_limit).checked_mul(tx.gas_price) else {
            let TxEnv { gas_limit, gas_price, .. } = tx;
            let cost = format!("{gas_limit} units of gas at {gas_price} wei each cost more than 2**128 - 1 wei");
            return Err(Failure::Invalid(cost));
        };
        match tx.value.checked_add(U256::from(gas)) {
            Some(_) => Ok(()),
            None => {
                let value = tx.value;
                Err(Failure::Invalid(format!("the value {value} and {gas} wei for gas exceed 2**256 - 1 wei")))
            }
        }
    }

    fn settle(
        &mut self,
        result: Result<ExecutionResult, EVMError<Miss, InvalidTransaction>>,
    ) -> Result<(ExecutionResult, EvmState), Failure> {
        let state = self.evm.finalize();
        settle(self.database(), result).map(|result| (result, state))
    }

    /// Execute a transaction under a tracer.
    pub fn trace(&mut self, tx: TxEnv, commit: bool) -> Result<(ExecutionResult, Tracer), Failure> {
        self.inspect(tx, Tracer::default(), commit)
    }

    /// Execute a transaction under a recorder and leave the row as it was.
    pub fn record(&mut self, tx: TxEnv, recorder: &mut Recorder<'_>) -> Result<ExecutionResult, Failure> {
        self.inspect(tx, recorder, false).map(|(result, _)| result)
    }

    /// Execute a transaction under a recorder and hand back what it would change.
    pub fn record_transaction(
        &mut self,
        tx: TxEnv,
        recorder: &mut Recorder<'_>,
    ) -> Result<(ExecutionResult, EvmState), Failure> {
        self.inspect_state(tx, recorder).map(|(result, _, state)| (result, state))
    }

    /// Run a constructor and put its contract at `address`.
    pub fn create_at(&mut self, tx: TxEnv, address: Address) -> Result<ExecutionResult, Failure> {
        self.inspect(tx, CreateAt::new(address), true).map(|(result, _)| result)
    }

    fn inspect<I>(&mut self, tx: TxEnv, inspector: I, commit: bool) -> Result<(ExecutionResult, I), Failure>
    where
        I: revm::Inspector<MainnetContext<RowDatabase>>,
    {
        let (result, inspector, state) = self.inspect_state(tx, inspector)?;
        if commit {
            self.database().overlay.apply(state);
        }
        Ok((result, inspector))
    }

    fn inspect_state<I>(&mut self, tx: TxEnv, inspector: I) -> Result<(ExecutionResult, I, EvmState), Failure>
    where
        I: revm::Inspector<MainnetContext<RowDatabase>>,
    {
        self.check_cost(&tx)?;
        let database = std::mem::replace(self.database(), RowDatabase::new(nowhere()));
        let mut evm = build(database, &self.settings, inspector);
        evm.ctx.block = self.evm.ctx.block.clone();
        // The row's data is inside: it must come back even if revm panics.
        let result = catch_unwind(AssertUnwindSafe(|| evm.inspect_one_tx(tx)));
        let state = evm.finalize();
        let Evm { ctx, inspector, .. } = evm;
        *self.database() = ctx.journaled_state.database;
        let result = result.map_err(|panic| Failure::Internal(panic_text(&*panic)))?;
        let result = settle(self.database(), result)?;
        Ok((result, inspector, state))
    }
}

fn settle(
    database: &mut RowDatabase,
    result: Result<ExecutionResult, EVMError<Miss, InvalidTransaction>>,
) -> Result<ExecutionResult, Failure> {
    if !database.misses.is_empty() {
        // A probe that missed anything ran on wrong values: whatever it gave is thrown away.
        return Err(Failure::Missing(std::mem::take(&mut database.misses).into_iter().collect()));
    }
    result.map_err(|error| match error {
        EVMError::Database(miss) => Failure::Missing(vec![miss]),
        EVMError::Transaction(e) => Failure::Invalid(e.to_string()),
        EVMError::Header(e) => Failure::Invalid(e.to_string()),
        EVMError::Custom(e) => Failure::Internal(e),
        EVMError::CustomAny(e) => Failure::Internal(e.to_string()),
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    format!("the EVM panicked: {text}")
}

/// The world of an idle machine: it must not keep a real one alive.
fn nowhere() -> Arc<World> {
    thread_local! {
        static NOWHERE: Arc<World> = World::new(0, true, Base::default());
    }
    NOWHERE.with(Arc::clone)
}

thread_local! {
    static MACHINE: RefCell<Option<Box<Machine>>> = const { RefCell::new(None) };
}

/// Move a row into this thread's machine, let `f` run on it, and move it back, whatever happens.
pub fn with_row<R>(
    world: &Arc<World>,
    row: &mut Row,
    settings: &Settings,
    probe: bool,
    f: impl FnOnce(&mut Machine, &mut BlockEnv) -> Result<R, Failure>,
) -> Result<R, Failure> {
    MACHINE.with(|cell| {
        let mut place = cell.borrow_mut();
        let machine = match &mut *place {
            Some(machine) if machine.settings.spec == settings.spec => machine,
            other => other.insert(Box::new(Machine::new(settings))),
        };
        if machine.settings != *settings {
            machine.evm.ctx.cfg = configuration(settings);
            machine.settings = *settings;
        }
        machine.evm.ctx.block = row.block.clone();
        let database = machine.database();
        database.probe = probe;
        std::mem::swap(&mut database.overlay, &mut row.overlay);
        let idle = std::mem::replace(&mut database.world, Arc::clone(world));

        let result = catch_unwind(AssertUnwindSafe(|| f(machine, &mut row.block)));

        let database = machine.database();
        std::mem::swap(&mut database.overlay, &mut row.overlay);
        database.world = idle;
        result.unwrap_or_else(|panic| {
            // revm's own state may be half-way through something: start afresh. The row was not committed to.
            *place = None;
            Err(Failure::Internal(panic_text(&*panic)))
        })
    })
}

/// Let `f` read a row whose writes other threads are reading too. It must not write.
pub fn with_shared<R>(
    world: &Arc<World>,
    overlay: &Arc<Overlay>,
    block: &BlockEnv,
    settings: &Settings,
    probe: bool,
    f: impl FnOnce(&mut Machine) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let mut row = Row { overlay: Overlay::default(), block: block.clone() };
    with_row(world, &mut row, settings, probe, |machine, _| {
        // A machine that panics is dropped, and its share with it.
        machine.database().shared = Some(Arc::clone(overlay));
        let result = f(machine);
        machine.database().shared = None;
        result
    })
}
