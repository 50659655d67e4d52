//! The Python class `Evm`: one world, the writes over it, a block environment and a hard fork.

use std::sync::Arc;

use pyo3::{
    exceptions::{PyKeyError, PyOverflowError, PyValueError},
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict, PyList},
};
use revm::{
    context::{BlockEnv, TxEnv, result::ExecutionResult},
    context_interface::block::BlobExcessGasAndPrice,
    primitives::{Address, B256, Bytes, TxKind, U256, ruint::aliases::U512},
    state::{AccountInfo, EvmState},
};

use crate::{
    batch::Outcome,
    blocks::{
        hardfork,
        receipt::{Receipt, output},
    },
    convert::{AddressArg, MissingState, WordArg, hash_from_python, logs_to_python, word_to_python},
    inspector::Tracer,
    machine::{Failure, Machine, Rules, Settings, with_row},
    specialise::{
        Mode, SelfCheck,
        self_check::{OF_SINGLE, content},
        sends::Sending,
    },
    stopwatch::Stopwatch,
    storage::{
        digest, dump,
        overlay::{Overlay, Row},
        state::State,
        world::{Base, BaseAccount, World, info_with_code},
    },
};

/// Cancun's blob fee fraction; later ones are given with the block.
const BLOB_FEE_FRACTION: u64 = 3_338_477;
/// Default gas limit of a simulated call.
pub const DEFAULT_GAS: u64 = 30_000_000;

/// A block's blob fee by EIP-4844, in numbers that hold every step: e to the power of excess / fraction, rounded down.
///
/// Beyond 128 bits it is a mistake, and computing it would not end.
pub fn blob_fee(excess: u64, fraction: u64) -> Result<BlobExcessGasAndPrice, String> {
    const HIGHEST_EXPONENT: u64 = 88;
    let beyond = || format!("excess blob gas {excess} gives a blob fee beyond 128 bits");
    if excess.checked_div(fraction).is_none_or(|exponent| exponent > HIGHEST_EXPONENT) {
        return Err(beyond());
    }
    let (numerator, denominator) = (U512::from(excess), U512::from(fraction));
    let (mut sum, mut term, mut step) = (U512::ZERO, denominator, U512::ZERO);
    while !term.is_zero() {
        sum += term;
        step += denominator;
        term = term * numerator / step;
    }
    let blob_gasprice = u128::try_from(sum / denominator).map_err(|_| beyond())?;
    Ok(BlobExcessGasAndPrice { excess_blob_gas: excess, blob_gasprice })
}

/// The block environment of a world that was given none.
pub fn genesis_block() -> BlockEnv {
    BlockEnv {
        gas_limit: DEFAULT_GAS,
        prevrandao: Some(B256::ZERO),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice::new(0, BLOB_FEE_FRACTION)),
        basefee: 0,
        ..Default::default()
    }
}

/// One world with the writes over it, a block environment and a hard fork.
#[pyclass(module = "mayavi._kernel")]
pub struct Evm {
    pub world: Arc<World>,
    pub row: Row,
    pub settings: Settings,
    /// Collect every miss of a run instead of stopping at the first.
    #[pyo3(get, set)]
    pub probe: bool,
    /// Time spent executing, reading, writing and snapshotting here; a copy starts at zero.
    pub stopwatch: Stopwatch,
    /// Whether views and transactions are replayed by paths that are kept.
    pub specialise: Option<Mode>,
    /// Which replays are interpreted too.
    pub self_check: SelfCheck,
    /// Whether outcomes are shared with other runs of the world that read the same; a copy does not.
    #[pyo3(get, set)]
    pub shares: bool,
}

/// The transaction of a simulation: no fees and no nonce by default.
#[allow(clippy::too_many_arguments)]
pub fn transaction(
    kind: TxKind,
    data: &[u8],
    sender: Option<AddressArg>,
    value: U256,
    gas: Option<u64>,
    gas_price: u128,
    priority_fee: Option<u128>,
    nonce: u64,
) -> TxEnv {
    TxEnv {
        tx_type: if priority_fee.is_some() { 2 } else { 0 },
        caller: sender.map_or(Address::ZERO, |sender| sender.0),
        gas_limit: gas.unwrap_or(DEFAULT_GAS),
        gas_price,
        kind,
        value,
        data: Bytes::copy_from_slice(data),
        nonce,
        chain_id: None,
        access_list: Default::default(),
        gas_priority_fee: priority_fee,
        blob_hashes: Vec::new(),
        max_fee_per_blob_gas: 0,
        authorization_list: Vec::new(),
    }
}

fn target(to: Option<AddressArg>) -> TxKind {
    to.map_or(TxKind::Create, |to| TxKind::Call(to.0))
}

impl Evm {
    pub fn run<R: Send>(
        &mut self,
        py: Python<'_>,
        f: impl FnOnce(&mut Machine, &mut BlockEnv) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let Self { world, row, settings, probe, stopwatch, .. } = self;
        py.detach(|| stopwatch.time(|| with_row(world, row, settings, *probe, f)))
            .map_err(|failure| failure.into_python(py))
    }

    /// A read needs no nonce, no balance for gas and no base fee, whatever the rules for transactions are.
    fn read(&mut self, py: Python<'_>, tx: TxEnv) -> PyResult<(ExecutionResult, EvmState)> {
        let rules = std::mem::replace(&mut self.settings.rules, Rules::SIMULATION);
        let result = self.run(py, |machine, _| machine.run(tx));
        self.settings.rules = rules;
        result
    }

    /// A call's outcome by what is known, or by the interpreter.
    fn call_anyhow(&mut self, py: Python<'_>, to: Address, tx: TxEnv) -> PyResult<Outcome> {
        if self.may_share(&tx)
            && let Some(result) = self.call_shared(py, &tx)?
        {
            return Ok(Outcome::of(result));
        }
        if tx.value.is_zero()
            && let Some(outcome) = self.call_kept(py, to, &tx.data, tx.caller, tx.gas_limit)?
        {
            return Ok(outcome);
        }
        Ok(Outcome::of(self.read(py, tx)?.0))
    }

    /// A call's result by the outcomes of all runs; none where nothing more is noted.
    fn call_shared(&mut self, py: Python<'_>, tx: &TxEnv) -> PyResult<Option<ExecutionResult>> {
        let checked = self.is_checked(&tx.data);
        let (world, rules) = (Arc::clone(&self.world), self.settings.rules);
        self.settings.rules = Rules::SIMULATION;
        let settings = self.settings;
        let result = self.run(py, |machine, block| world.outcomes.run(machine, block, &settings, tx, (false, checked)));
        self.settings.rules = rules;
        result
    }

    /// The account's info, changed, into the overlay.
    fn change_info(
        &mut self,
        py: Python<'_>,
        address: Address,
        f: impl FnOnce(&mut AccountInfo) + Send,
    ) -> PyResult<()> {
        self.run(py, |machine, _| {
            let mut info = machine.read_info(address)?;
            f(&mut info);
            machine.overlay().set_info(address, info);
            Ok(())
        })
    }

    fn info(&mut self, py: Python<'_>, address: Address) -> PyResult<AccountInfo> {
        self.run(py, |machine, _| machine.read_info(address))
    }

    /// Whether outcomes of other runs serve a transaction: it moves no coins, and everything is known and replayed.
    fn may_share(&self, tx: &TxEnv) -> bool {
        self.shares
            && !self.probe
            && self.world.closed
            && matches!(self.specialise, Some(Mode::On))
            && tx.value.is_zero()
            && tx.gas_price == 0
            && tx.gas_priority_fee.is_none()
    }

    /// Whether a replay of a single call or transaction with this calldata is interpreted too.
    pub fn is_checked(&mut self, data: &[u8]) -> bool {
        let number = self.self_check.next(1);
        let at = self.row.block.timestamp.as_limbs()[0];
        self.self_check.picks(number, content(data) ^ at, OF_SINGLE)
    }

    fn nonce_for(&mut self, py: Python<'_>, sender: &Option<AddressArg>) -> PyResult<u64> {
        if !self.settings.rules.check_nonce {
            return Ok(0);
        }
        let address = sender.as_ref().map_or(Address::ZERO, |sender| sender.0);
        Ok(self.info(py, address)?.nonce)
    }
}

#[pymethods]
impl Evm {
    #[new]
    #[pyo3(signature = (chain_id, hardfork, *, closed))]
    pub fn new(chain_id: u64, hardfork: &str, closed: bool) -> PyResult<Self> {
        let spec = hardfork::parse(hardfork).map_err(PyValueError::new_err)?;
        let block = genesis_block();
        Ok(Self {
            world: World::new(chain_id, closed, Base::default()),
            row: Row { overlay: Overlay::default(), block },
            settings: Settings { spec, chain_id, rules: Rules::SIMULATION },
            probe: false,
            stopwatch: Stopwatch::default(),
            specialise: None,
            self_check: SelfCheck::default(),
            shares: false,
        })
    }

    #[staticmethod]
    fn from_state(state: &State) -> Self {
        Self {
            world: Arc::clone(&state.world),
            row: state.row(),
            settings: Settings { spec: state.spec, chain_id: state.world.chain_id, rules: Rules::SIMULATION },
            probe: false,
            stopwatch: Stopwatch::default(),
            specialise: None,
            self_check: SelfCheck::default(),
            shares: false,
        }
    }

    /// An independent copy; costs what was written, not the size of the world.
    fn copy(&self) -> Self {
        Self {
            world: Arc::clone(&self.world),
            row: self.row.twin(),
            settings: self.settings,
            probe: self.probe,
            stopwatch: Stopwatch::default(),
            specialise: self.specialise,
            self_check: self.self_check,
            shares: false,
        }
    }

    /// The current state as a frozen world. `closed=True` declares that no other account exists.
    #[pyo3(signature = (*, closed=None))]
    fn freeze(&self, py: Python<'_>, closed: Option<bool>) -> State {
        let closed = closed.unwrap_or(self.world.closed);
        let world = py.detach(|| self.stopwatch.time(|| dump::freeze(&self.world, &self.row.overlay, closed)));
        State { world, block: self.row.block.clone(), spec: self.settings.spec }
    }

    fn dump<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.stopwatch.time(|| dump::dump(&self.world, &self.row, self.settings.spec)));
        PyBytes::new(py, &bytes)
    }

    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        self.stopwatch.time(|| digest::digest(py, &self.world, &self.row, self.settings.spec))
    }

    #[getter]
    fn chain_id(&self) -> u64 {
        self.settings.chain_id
    }

    #[getter]
    fn closed(&self) -> bool {
        self.world.closed
    }

    #[getter]
    fn hardfork(&self) -> &'static str {
        hardfork::name(self.settings.spec)
    }

    #[setter]
    fn set_hardfork(&mut self, hardfork: &str) -> PyResult<()> {
        self.settings.spec = hardfork::parse(hardfork).map_err(PyValueError::new_err)?;
        Ok(())
    }

    /// Seconds spent in the kernel on this EVM so far; waiting for Python's lock does not count.
    #[getter]
    fn seconds(&self) -> f64 {
        self.stopwatch.seconds()
    }

    /// Bytes held by the writes.
    #[getter]
    fn memory(&self) -> usize {
        self.row.overlay.memory()
    }

    /// Switch the checks of transactions on or off; checks not named stay.
    #[pyo3(signature = (*, charge_fees=None, check_balance=None, check_nonce=None, check_base_fee=None))]
    fn set_rules(
        &mut self,
        charge_fees: Option<bool>,
        check_balance: Option<bool>,
        check_nonce: Option<bool>,
        check_base_fee: Option<bool>,
    ) {
        let rules = &mut self.settings.rules;
        rules.charge_fees = charge_fees.unwrap_or(rules.charge_fees);
        rules.check_balance = check_balance.unwrap_or(rules.check_balance);
        rules.check_nonce = check_nonce.unwrap_or(rules.check_nonce);
        rules.check_base_fee = check_base_fee.unwrap_or(rules.check_base_fee);
    }

    /// Number of the current block.
    #[getter]
    fn block_number<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        word_to_python(py, self.row.block.number)
    }

    /// Time of the current block, in seconds since 1970.
    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        word_to_python(py, self.row.block.timestamp)
    }

    fn block<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let block = &self.row.block;
        let dict = PyDict::new(py);
        dict.set_item("number", word_to_python(py, block.number)?)?;
        dict.set_item("timestamp", word_to_python(py, block.timestamp)?)?;
        dict.set_item("coinbase", PyBytes::new(py, block.beneficiary.as_slice()))?;
        dict.set_item("base_fee", block.basefee)?;
        dict.set_item("gas_limit", block.gas_limit)?;
        dict.set_item("difficulty", word_to_python(py, block.difficulty)?)?;
        dict.set_item("prevrandao", block.prevrandao.map(|hash| PyBytes::new(py, hash.as_slice())))?;
        dict.set_item("excess_blob_gas", block.blob_excess_gas_and_price.map(|blob| blob.excess_blob_gas))?;
        Ok(dict)
    }

    #[pyo3(signature = (*, number=None, timestamp=None, coinbase=None, base_fee=None, gas_limit=None, difficulty=None,
                        prevrandao=None, excess_blob_gas=None, blob_fee_fraction=BLOB_FEE_FRACTION))]
    #[allow(clippy::too_many_arguments)]
    fn set_block(
        &mut self,
        number: Option<u64>,
        timestamp: Option<u64>,
        coinbase: Option<AddressArg>,
        base_fee: Option<u64>,
        gas_limit: Option<u64>,
        difficulty: Option<WordArg>,
        prevrandao: Option<&[u8]>,
        excess_blob_gas: Option<u64>,
        blob_fee_fraction: u64,
    ) -> PyResult<()> {
        // What can fail comes first: a refused call changes nothing.
        let blob = excess_blob_gas.map(|excess| blob_fee(excess, blob_fee_fraction)).transpose();
        let blob = blob.map_err(PyValueError::new_err)?;
        let prevrandao = prevrandao.map(hash_from_python).transpose()?;
        let block = &mut self.row.block;
        block.prevrandao = prevrandao.or(block.prevrandao);
        block.blob_excess_gas_and_price = blob.or(block.blob_excess_gas_and_price);
        if let Some(number) = number {
            block.number = U256::from(number);
        }
        if let Some(timestamp) = timestamp {
            block.timestamp = U256::from(timestamp);
        }
        if let Some(coinbase) = coinbase {
            block.beneficiary = coinbase.0;
        }
        block.basefee = base_fee.unwrap_or(block.basefee);
        block.gas_limit = gas_limit.unwrap_or(block.gas_limit);
        if let Some(difficulty) = difficulty {
            block.difficulty = difficulty.0;
        }
        Ok(())
    }

    fn advance(&mut self, blocks: u64, seconds: u64) -> PyResult<()> {
        let block = &mut self.row.block;
        let number = block.number.checked_add(U256::from(blocks));
        let timestamp = block.timestamp.checked_add(U256::from(seconds));
        let (Some(number), Some(timestamp)) = (number, timestamp) else {
            return Err(PyOverflowError::new_err("the block number or time does not fit any more"));
        };
        (block.number, block.timestamp) = (number, timestamp);
        Ok(())
    }

    /// Execute without effects: the output, or an exception with the reason.
    #[pyo3(signature = (to, data, sender=None, value=WordArg(U256::ZERO), gas=None))]
    pub fn call<'py>(
        &mut self,
        py: Python<'py>,
        to: AddressArg,
        data: &[u8],
        sender: Option<AddressArg>,
        value: WordArg,
        gas: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let tx = transaction(TxKind::Call(to.0), data, sender, value.0, gas, 0, None, 0);
        match self.call_anyhow(py, to.0, tx)? {
            Outcome::Output(data) => Ok(PyBytes::new(py, &data)),
            Outcome::Failed(result) => output(py, *result),
        }
    }

    /// Execute and keep the effects, a failed transaction's nonce and fees included.
    #[pyo3(signature = (to, data, sender=None, value=WordArg(U256::ZERO), gas=None, gas_price=0, priority_fee=None))]
    #[allow(clippy::too_many_arguments)]
    pub fn transact(
        &mut self,
        py: Python<'_>,
        to: Option<AddressArg>,
        data: &[u8],
        sender: Option<AddressArg>,
        value: WordArg,
        gas: Option<u64>,
        gas_price: u128,
        priority_fee: Option<u128>,
    ) -> PyResult<Receipt> {
        let nonce = self.nonce_for(py, &sender)?;
        let tx = transaction(target(to), data, sender, value.0, gas, gas_price, priority_fee, nonce);
        let mode = self.specialise.filter(|_| !self.probe && self.world.closed);
        let checked = mode.is_some() && self.is_checked(data);
        let (world, settings, shares) = (Arc::clone(&self.world), self.settings, self.may_share(&tx));
        self.run(py, |machine, block| {
            if shares && let Some(result) = world.outcomes.run(machine, block, &settings, &tx, (true, checked))? {
                return Ok(result);
            }
            if let Some(mode) = mode
                && let Some(result) = world.sends.run(machine, &Sending { tx: &tx, block, settings, mode, checked })?
            {
                return Ok(result);
            }
            machine.run_and_commit(tx)
        })
        .map(Receipt::new)
    }

    /// Execute under a tracer: the receipt and the frames in the order they began.
    #[pyo3(signature = (to, data, sender=None, value=WordArg(U256::ZERO), gas=None, commit=false))]
    #[allow(clippy::too_many_arguments)]
    fn trace<'py>(
        &mut self,
        py: Python<'py>,
        to: Option<AddressArg>,
        data: &[u8],
        sender: Option<AddressArg>,
        value: WordArg,
        gas: Option<u64>,
        commit: bool,
    ) -> PyResult<(Receipt, Bound<'py, PyList>)> {
        let nonce = self.nonce_for(py, &sender)?;
        let tx = transaction(target(to), data, sender, value.0, gas, 0, None, nonce);
        let (result, tracer) = self.run(py, |machine, _| machine.trace(tx, commit))?;
        Ok((Receipt::new(result), frames(py, &tracer)?))
    }

    /// The accounts and slots a call reads or writes, sorted.
    #[pyo3(signature = (to, data, sender=None, value=WordArg(U256::ZERO), gas=None))]
    fn touched<'py>(
        &mut self,
        py: Python<'py>,
        to: AddressArg,
        data: &[u8],
        sender: Option<AddressArg>,
        value: WordArg,
        gas: Option<u64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let tx = transaction(TxKind::Call(to.0), data, sender, value.0, gas, 0, None, 0);
        let mut accounts: Vec<_> = self.read(py, tx)?.1.into_iter().collect();
        accounts.sort_unstable_by_key(|(address, _)| *address);
        let list = PyList::empty(py);
        for (address, account) in accounts {
            let mut keys: Vec<_> = account.storage.into_keys().collect();
            keys.sort_unstable();
            let keys: PyResult<Vec<_>> = keys.into_iter().map(|key| word_to_python(py, key)).collect();
            list.append((PyBytes::new(py, address.as_slice()), keys?))?;
        }
        Ok(list)
    }

    /// Run a constructor and put its contract at `address`.
    #[pyo3(signature = (address, initcode, sender=None, value=WordArg(U256::ZERO), gas=None))]
    fn create_at(
        &mut self,
        py: Python<'_>,
        address: AddressArg,
        initcode: &[u8],
        sender: Option<AddressArg>,
        value: WordArg,
        gas: Option<u64>,
    ) -> PyResult<Receipt> {
        let nonce = self.nonce_for(py, &sender)?;
        let tx = transaction(TxKind::Create, initcode, sender, value.0, gas, 0, None, nonce);
        self.run(py, |machine, _| machine.create_at(tx, address.0)).map(Receipt::new)
    }

    fn balance<'py>(&mut self, py: Python<'py>, address: AddressArg) -> PyResult<Bound<'py, PyAny>> {
        let info = self.info(py, address.0)?;
        word_to_python(py, info.balance)
    }

    fn nonce(&mut self, py: Python<'_>, address: AddressArg) -> PyResult<u64> {
        Ok(self.info(py, address.0)?.nonce)
    }

    fn code<'py>(&mut self, py: Python<'py>, address: AddressArg) -> PyResult<Bound<'py, PyBytes>> {
        let code = self.run(py, |machine, _| machine.read_code(address.0))?;
        Ok(PyBytes::new(py, code.original_byte_slice()))
    }

    /// Whether there is a contract at the address; cheaper than its code.
    pub fn has_code(&mut self, py: Python<'_>, address: AddressArg) -> PyResult<bool> {
        self.run(py, |machine, _| machine.has_code(address.0))
    }

    fn storage<'py>(&mut self, py: Python<'py>, address: AddressArg, slot: WordArg) -> PyResult<Bound<'py, PyAny>> {
        let value = self.run(py, |machine, _| machine.read_slot(address.0, slot.0))?;
        word_to_python(py, value)
    }

    fn set_balance(&mut self, py: Python<'_>, address: AddressArg, balance: WordArg) -> PyResult<()> {
        self.change_info(py, address.0, |info| info.balance = balance.0)
    }

    fn set_nonce(&mut self, py: Python<'_>, address: AddressArg, nonce: u64) -> PyResult<()> {
        self.change_info(py, address.0, |info| info.nonce = nonce)
    }

    fn set_code(&mut self, py: Python<'_>, address: AddressArg, code: &[u8]) -> PyResult<()> {
        let fresh = info_with_code(U256::ZERO, 0, code).map_err(PyValueError::new_err)?;
        self.change_info(py, address.0, |info| {
            info.code_hash = fresh.code_hash;
            info.code = fresh.code;
        })
    }

    fn set_storage(&mut self, py: Python<'_>, address: AddressArg, slot: WordArg, value: WordArg) -> PyResult<()> {
        self.run(py, |machine, _| machine.write_slot(address.0, slot.0, value.0))
    }

    /// A fact of the forked block: an account whose slots are known only as far as they are learnt.
    fn learn_account(&self, address: AddressArg, balance: WordArg, nonce: u64, code: &[u8]) -> PyResult<()> {
        let info = info_with_code(balance.0, nonce, code).map_err(PyValueError::new_err)?;
        let mut learnt = self.learning()?;
        let slots = learnt.get(&address.0).map(|known| known.slots.clone()).unwrap_or_default();
        learnt.insert(BaseAccount { address: address.0, info, complete: false, slots });
        Ok(())
    }

    /// Facts of the forked block: slots of an account learnt before.
    fn learn_slots(&self, address: AddressArg, slots: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut pairs = Vec::with_capacity(slots.len());
        for (key, value) in slots.iter() {
            pairs.push((key.extract::<WordArg>()?.0, value.extract::<WordArg>()?.0));
        }
        let mut learnt = self.learning()?;
        if learnt.get(&address.0).is_none() {
            return Err(PyKeyError::new_err(format!("account {} is not learnt yet", address.0)));
        }
        if let Some(account) = learnt.get_mut(&address.0) {
            account.slots.extend(pairs);
        }
        Ok(())
    }

    /// The hash of an ancestor, for all EVMs of the world. A closed world, too, has ancestors only if they are told.
    fn learn_block_hash(&self, number: u64, hash: &[u8]) -> PyResult<()> {
        let hash = hash_from_python(hash)?;
        self.world.learnt.write().unwrap_or_else(|e| e.into_inner()).block_hashes.insert(number, hash);
        self.world.outcomes.forget();
        Ok(())
    }

    /// Open a snapshot; snapshots nest.
    pub fn snapshot(&mut self) -> u64 {
        let Self { row, stopwatch, .. } = self;
        stopwatch.time(|| row.overlay.snapshot(&row.block))
    }

    /// Revert to a snapshot, which closes it and all later ones.
    pub fn revert(&mut self, id: u64) -> PyResult<()> {
        let Self { row, stopwatch, .. } = self;
        match stopwatch.time(|| row.overlay.revert(id)) {
            Some(block) => {
                row.block = block;
                Ok(())
            }
            None => Err(PyKeyError::new_err(format!("snapshot {id} is not open"))),
        }
    }

    /// Keep the changes since a snapshot, which closes it and all later ones.
    pub fn release(&mut self, id: u64) -> PyResult<()> {
        let Self { row, stopwatch, .. } = self;
        if stopwatch.time(|| row.overlay.release(id)) {
            Ok(())
        } else {
            Err(PyKeyError::new_err(format!("snapshot {id} is not open")))
        }
    }

    fn has_snapshot(&self, id: u64) -> bool {
        self.row.overlay.has_snapshot(id)
    }
}

impl Evm {
    fn learning(&self) -> PyResult<std::sync::RwLockWriteGuard<'_, Base>> {
        if self.world.closed {
            return Err(PyValueError::new_err("a closed world is complete: nothing can be learnt about it"));
        }
        Ok(self.world.learnt.write().unwrap_or_else(|e| e.into_inner()))
    }
}

pub fn frames<'py>(py: Python<'py>, tracer: &Tracer) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for frame in &tracer.frames {
        let dict = PyDict::new(py);
        dict.set_item("kind", frame.kind)?;
        dict.set_item("parent", frame.parent)?;
        dict.set_item("from", PyBytes::new(py, frame.from.as_slice()))?;
        dict.set_item("to", PyBytes::new(py, frame.to.as_slice()))?;
        dict.set_item("value", word_to_python(py, frame.value)?)?;
        dict.set_item("input", PyBytes::new(py, &frame.input))?;
        dict.set_item("output", PyBytes::new(py, &frame.output))?;
        dict.set_item("gas_limit", frame.gas_limit)?;
        dict.set_item("gas_used", frame.gas_used)?;
        dict.set_item("success", frame.result.is_ok())?;
        dict.set_item("result", format!("{:?}", frame.result))?;
        dict.set_item("logs", logs_to_python(py, &frame.logs)?)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// The outputs of calls on each of some EVMs; none for a call that fails or lacks state.
#[pyfunction]
pub fn call_each<'py>(
    py: Python<'py>,
    evms: Vec<PyRefMut<'py, Evm>>,
    calls: Vec<(AddressArg, PyBackedBytes)>,
) -> PyResult<Vec<Vec<Option<Bound<'py, PyBytes>>>>> {
    let mut outputs = Vec::with_capacity(evms.len());
    for mut evm in evms {
        let mut own = Vec::with_capacity(calls.len());
        for (to, data) in &calls {
            let tx = transaction(TxKind::Call(to.0), data, None, U256::ZERO, None, 0, None, 0);
            own.push(match evm.call_anyhow(py, to.0, tx) {
                Ok(Outcome::Output(data)) => Some(PyBytes::new(py, &data)),
                Ok(Outcome::Failed(_)) => None,
                Err(error) if error.is_instance_of::<MissingState>(py) => None,
                Err(error) => return Err(error),
            });
        }
        outputs.push(own);
    }
    Ok(outputs)
}
