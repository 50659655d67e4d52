//! Execute a block on the state of its parent with every check on, and report what the header claims.

use std::collections::BTreeSet;

use alloy_consensus::{
    Eip658Value, Receipt as ConsensusReceipt, ReceiptEnvelope, ReceiptWithBloom, TxReceipt, TxType,
    proofs::calculate_receipt_root,
};
use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS, eip4844::DATA_GAS_PER_BLOB};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use revm::{
    context::{BlockEnv, TxEnv, result::ExecutionResult},
    primitives::{
        Address, Bytes, KECCAK_EMPTY, Log, U256,
        alloy_primitives::{Bloom, map::B256Set},
        hardfork::SpecId,
    },
};

use super::{
    block::Block,
    requests::{Requests, collect},
};
use crate::{
    convert::{AddressArg, logs_to_python},
    evm::Evm,
    machine::{Failure, Machine, Rules},
};

const GWEI: u64 = 1_000_000_000;

#[derive(Default)]
struct Executed {
    receipts: Vec<(bool, u64, Vec<Log>)>,
    /// Index of the transaction, or `None` for a step of the whole block.
    failure: Option<(Option<usize>, Failure)>,
    system_calls: Vec<(&'static str, bool)>,
    withdrawals: usize,
    requests: Option<Requests>,
    /// Codes of the accounts that transactions touched, created ones included.
    codes: B256Set,
    /// Blocks whose hash was read.
    hashes_read: BTreeSet<u64>,
    seconds: f64,
}

/// What a block is executed with besides its transactions.
struct Course<'a> {
    block: &'a Block,
    spec: SpecId,
    /// The contract whose logs are deposits.
    deposits: Option<Address>,
    /// Whether the makers of the block are rewarded, where they still are.
    rewards: bool,
}

/// How far a pre-state goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Accounts that no transaction touches may be missing, although an absent one counts as empty.
    Partial,
    /// Every account is known, absent ones as empty.
    Whole,
    /// What is missing is an error.
    Proven,
}

impl Reach {
    fn of(machine: &mut Machine) -> Self {
        let world = &machine.database().world;
        match (&world.proven, world.whole) {
            (Some(_), _) => Self::Proven,
            (None, true) => Self::Whole,
            (None, false) => Self::Partial,
        }
    }
}

/// The whole block, as far as the pre-state goes. A whole or proven pre-state must go all the way.
fn execute(machine: &mut Machine, env: &BlockEnv, course: &Course<'_>) -> Executed {
    let (Course { block, spec, .. }, reach) = (course, Reach::of(machine));
    machine.database().hashes_read.clear();
    machine.set_block(env);
    let mut done = Executed { receipts: Vec::with_capacity(block.transactions.len()), ..Default::default() };
    if let Err(failure) = system_calls(machine, block, *spec, reach, &mut done) {
        done.failure = Some((None, failure));
        return done;
    }
    let started = std::time::Instant::now();
    transactions(machine, block, *spec, reach, &mut done);
    done.seconds = started.elapsed().as_secs_f64();
    if done.failure.is_some() {
        return done;
    }
    let end = withdraw(machine, block, reach, &mut done).and_then(|()| {
        if reach == Reach::Proven && spec.is_enabled_in(SpecId::PRAGUE) {
            let logs = done.receipts.iter().flat_map(|(_, _, logs)| logs);
            done.requests = Some(collect(machine, logs, course.deposits)?);
        }
        if course.rewards { reward(machine, block, *spec) } else { Ok(()) }
    });
    done.failure = end.err().map(|failure| (None, failure));
    done.hashes_read = std::mem::take(&mut machine.database().hashes_read);
    done
}

/// The calls that open a block. In a partial pre-state they run only if their contract is known.
fn system_calls(
    machine: &mut Machine,
    block: &Block,
    spec: SpecId,
    reach: Reach,
    done: &mut Executed,
) -> Result<(), Failure> {
    let mut calls = Vec::new();
    if let Some(root) = block.header.parent_beacon_block_root.filter(|_| spec.is_enabled_in(SpecId::CANCUN)) {
        calls.push(("EIP-4788 beacon root", BEACON_ROOTS_ADDRESS, root));
    }
    if spec.is_enabled_in(SpecId::PRAGUE) {
        calls.push(("EIP-2935 parent hash", HISTORY_STORAGE_ADDRESS, block.header.parent_hash));
    }
    for (name, contract, word) in calls {
        let data = Bytes::copy_from_slice(word.as_slice());
        let called = match reach {
            Reach::Partial => machine.stands(contract) && machine.system_call(contract, data).is_ok(),
            _ => machine.has_code(contract)? && machine.system_call(contract, data)?.is_success(),
        };
        done.system_calls.push((name, called));
    }
    Ok(())
}

/// Why a block has no room for a transaction: it has so much gas left, and so many blobs with the transaction's.
fn beyond_block(tx: &TxEnv, left: u64, blobs: usize, spec: SpecId) -> Option<String> {
    // Later forks count gas in other ways (EIP-7778), and raise the number of blobs by time (EIP-7892).
    let most_blobs = match spec {
        SpecId::CANCUN => 6,
        SpecId::PRAGUE => 9,
        _ => usize::MAX,
    };
    if tx.gas_limit > left && !spec.is_enabled_in(SpecId::AMSTERDAM) {
        return Some(format!("its gas limit is {}, and the block has {left} gas left", tx.gas_limit));
    }
    (blobs > most_blobs).then(|| format!("the block has {blobs} blobs with it, and may have {most_blobs}"))
}

fn transactions(machine: &mut Machine, block: &Block, spec: SpecId, reach: Reach, done: &mut Executed) {
    let (mut left, mut blobs) = (block.header.gas_limit, 0);
    for (index, tx) in block.transactions.iter().enumerate() {
        blobs += tx.blob_hashes.len();
        let malleable = spec.is_enabled_in(SpecId::HOMESTEAD) && block.malleable.contains(&index);
        let malleable = malleable.then(|| "its signature has the higher of two possible values (EIP-2)".to_string());
        if let Some(why) = malleable.or_else(|| beyond_block(tx, left, blobs, spec)) {
            done.failure = Some((Some(index), Failure::Invalid(why)));
            break;
        }
        let (result, state) = match machine.run(tx.clone()) {
            Ok(both) => both,
            Err(failure) => {
                done.failure = Some((Some(index), failure));
                break;
            }
        };
        if reach == Reach::Proven {
            let touched = state.values().filter(|account| account.is_touched());
            done.codes.extend(touched.map(|account| account.info.code_hash).filter(|hash| *hash != KECCAK_EMPTY));
        }
        machine.overlay().apply(state);
        let gas_used = result.tx_gas_used();
        left = left.saturating_sub(gas_used);
        match result {
            ExecutionResult::Success { logs, .. } => done.receipts.push((true, gas_used, logs)),
            _ => done.receipts.push((false, gas_used, Vec::new())),
        }
    }
}

fn withdraw(machine: &mut Machine, block: &Block, reach: Reach, done: &mut Executed) -> Result<(), Failure> {
    for withdrawal in block.withdrawals.iter().flat_map(|list| list.iter()) {
        // The balance of an account that no transaction touched is not in a partial pre-state.
        if reach == Reach::Partial && !machine.stands(withdrawal.address) {
            continue;
        }
        // Nothing withdrawn is a touch all the same: an account that stays empty is removed (EIP-161).
        credit(machine, withdrawal.address, U256::from(withdrawal.amount) * U256::from(GWEI))?;
        done.withdrawals += 1;
    }
    Ok(())
}

fn credit(machine: &mut Machine, address: Address, amount: U256) -> Result<(), Failure> {
    let mut info = machine.read_info(address)?;
    info.balance = info.balance.saturating_add(amount);
    machine.overlay().set_info(address, info);
    Ok(())
}

/// What the makers of a block and of its ommers earn before the merge.
fn reward(machine: &mut Machine, block: &Block, spec: SpecId) -> Result<(), Failure> {
    let ether = match spec {
        _ if spec.is_enabled_in(SpecId::MERGE) => return Ok(()),
        _ if spec.is_enabled_in(SpecId::PETERSBURG) => 2,
        _ if spec.is_enabled_in(SpecId::BYZANTIUM) => 3,
        _ => 5,
    };
    let whole = U256::from(ether) * U256::from(GWEI) * U256::from(GWEI);
    for ommer in &block.ommers {
        let share = (ommer.number + 8).saturating_sub(block.header.number);
        credit(machine, ommer.beneficiary, whole * U256::from(share) / U256::from(8))?;
    }
    credit(machine, block.header.beneficiary, whole + whole * U256::from(block.ommers.len()) / U256::from(32))
}

fn envelope(kind: TxType, success: bool, cumulative: u64, logs: &[Log]) -> ReceiptEnvelope {
    let receipt =
        ConsensusReceipt { status: Eip658Value::Eip658(success), cumulative_gas_used: cumulative, logs: logs.to_vec() };
    let receipt: ReceiptWithBloom<ConsensusReceipt> = receipt.into_with_bloom();
    match kind {
        TxType::Legacy => ReceiptEnvelope::Legacy(receipt),
        TxType::Eip2930 => ReceiptEnvelope::Eip2930(receipt),
        TxType::Eip1559 => ReceiptEnvelope::Eip1559(receipt),
        TxType::Eip4844 => ReceiptEnvelope::Eip4844(receipt),
        TxType::Eip7702 => ReceiptEnvelope::Eip7702(receipt),
    }
}

#[pymethods]
impl Evm {
    /// Execute a block on the state of its parent with all checks on, and report the results.
    ///
    /// In a world known in full all withdrawals and system calls run, on a proven pre-state also the requests
    /// (`deposit_contract` emits deposits). With `rewards` the makers of a block before the merge are paid.
    #[pyo3(signature = (block, blob_fee_fraction, deposit_contract=None, *, rewards=false))]
    fn replay<'py>(
        &mut self,
        py: Python<'py>,
        block: &Block,
        blob_fee_fraction: u64,
        deposit_contract: Option<AddressArg>,
        rewards: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let spec = self.settings.spec;
        let env = block.block_env(spec, blob_fee_fraction)?;
        let course = Course { block, spec, deposits: deposit_contract.map(|address| address.0), rewards };
        self.row.block = env.clone();
        let rules = std::mem::replace(&mut self.settings.rules, Rules::REPLAY);
        let done = self.run(py, |machine, _| Ok(execute(machine, &env, &course)));
        self.settings.rules = rules;
        report(py, block, done?)
    }
}

fn report<'py>(py: Python<'py>, block: &Block, done: Executed) -> PyResult<Bound<'py, PyDict>> {
    let mut cumulative = 0;
    let mut bloom = Bloom::ZERO;
    let mut envelopes = Vec::with_capacity(done.receipts.len());
    let receipts = PyList::empty(py);
    for ((success, gas_used, logs), kind) in done.receipts.iter().zip(&block.kinds) {
        cumulative += gas_used;
        let receipt = envelope(*kind, *success, cumulative, logs);
        bloom.accrue_bloom(receipt.logs_bloom());
        envelopes.push(receipt);
        receipts.append((*success, *gas_used, logs_to_python(py, logs)?))?;
    }
    let dict = PyDict::new(py);
    dict.set_item("receipts", receipts)?;
    dict.set_item("gas_used", cumulative)?;
    dict.set_item("logs_bloom", PyBytes::new(py, bloom.as_slice()))?;
    dict.set_item("receipts_root", PyBytes::new(py, calculate_receipt_root(&envelopes).as_slice()))?;
    dict.set_item("system_calls", done.system_calls)?;
    dict.set_item("withdrawals_applied", done.withdrawals)?;
    dict.set_item("seconds", done.seconds)?;
    let blobs: usize = block.transactions.iter().map(|tx| tx.blob_hashes.len()).sum();
    dict.set_item("blob_gas_used", blobs as u64 * DATA_GAS_PER_BLOB)?;
    let requests = done.requests.as_ref();
    dict.set_item("requests", requests.map(|all| all.iter().map(|one| PyBytes::new(py, one)).collect::<Vec<_>>()))?;
    dict.set_item("requests_hash", requests.map(|all| PyBytes::new(py, all.hash().as_slice())))?;
    let codes: Vec<_> = done.codes.iter().map(|hash| PyBytes::new(py, hash.as_slice())).collect();
    dict.set_item("codes", codes)?;
    dict.set_item("block_hashes_read", done.hashes_read.into_iter().collect::<Vec<_>>())?;
    let failure = done.failure.map(|(index, failure)| {
        let text = match failure {
            Failure::Missing(misses) => misses[0].to_string(),
            Failure::Invalid(text) | Failure::Internal(text) => text,
            Failure::Differs(difference) => difference.message(),
        };
        (index, text)
    });
    dict.set_item("failure", failure)?;
    Ok(dict)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_consensus::Header;
    use alloy_eips::eip4895::{Withdrawal, Withdrawals};
    use revm::{
        primitives::{B256, TxKind, U256Map, address},
        state::AccountInfo,
    };

    use super::*;
    use crate::{
        machine::{Settings, with_row},
        proofs::whole::root_of,
        storage::{
            overlay::{Overlay, Row},
            world::{Base, BaseAccount, World, info_with_code},
        },
    };

    const SENDER: Address = address!("1000000000000000000000000000000000000001");
    const MAKER: Address = address!("2000000000000000000000000000000000000002");
    const NOBODY: Address = address!("3000000000000000000000000000000000000003");
    const OTHER: Address = address!("4000000000000000000000000000000000000004");
    /// Stores the first word of its calldata in slot 0.
    const STORES: [u8; 6] = [0x60, 0, 0x35, 0x60, 0, 0x55];

    fn world(complete: bool, more: &[(Address, &[u8])]) -> Arc<World> {
        let mut base = Base::default();
        for (address, code) in [(SENDER, &[][..])].iter().chain(more) {
            let info = info_with_code(U256::from(10).pow(U256::from(20)), 0, code).unwrap();
            base.insert(BaseAccount { address: *address, info, complete, slots: U256Map::default() });
        }
        World::new(1, true, base)
    }

    fn block(header: Header, withdrawals: &[(Address, u64)]) -> Block {
        let header = Header { beneficiary: MAKER, number: 9, gas_limit: 100_000, ..header };
        let withdrawals = withdrawals.iter().map(|(address, amount)| Withdrawal {
            index: 0,
            validator_index: 0,
            address: *address,
            amount: *amount,
        });
        let withdrawals = Some(Withdrawals::new(withdrawals.collect()));
        Block::of(header.clone(), header.hash_slow(), Vec::new(), withdrawals, None, 0.0).unwrap()
    }

    fn transfer(gas_limit: u64, nonce: u64) -> TxEnv {
        TxEnv {
            caller: SENDER,
            kind: TxKind::Call(OTHER),
            gas_limit,
            nonce,
            chain_id: Some(1),
            value: U256::ONE,
            ..Default::default()
        }
    }

    /// What came of a block, and the row after it.
    fn run(world: &Arc<World>, spec: SpecId, block: &Block, rewards: bool) -> (Executed, Row) {
        let env = block.block_env(spec, 3_338_477).unwrap();
        let mut row = Row { overlay: Overlay::default(), block: env.clone() };
        let settings = Settings { spec, chain_id: 1, rules: Rules::REPLAY };
        let course = Course { block, spec, deposits: None, rewards };
        let done = with_row(world, &mut row, &settings, false, |machine, _| Ok(execute(machine, &env, &course)));
        (done.unwrap(), row)
    }

    fn info(row: &Row, address: Address) -> Option<AccountInfo> {
        row.overlay.get(&address).map(|account| account.info.clone())
    }

    #[test]
    fn withdrawals_reach_absent_accounts_only_where_nothing_is_unknown() {
        let block = block(Header::default(), &[(NOBODY, 3), (NOBODY, 4), (SENDER, 1)]);
        let (done, row) = run(&world(true, &[]), SpecId::SHANGHAI, &block, false);
        assert_eq!((done.withdrawals, done.failure.is_none()), (3, true));
        assert_eq!(info(&row, NOBODY).unwrap().balance, U256::from(7 * GWEI));

        let (done, row) = run(&world(false, &[]), SpecId::SHANGHAI, &block, false);
        assert_eq!((done.withdrawals, info(&row, NOBODY)), (1, None));
    }

    #[test]
    fn nothing_withdrawn_leaves_no_account() {
        let world = world(true, &[]);
        let before = root_of(&world, &Overlay::default(), true);
        let (done, row) = run(&world, SpecId::SHANGHAI, &block(Header::default(), &[(NOBODY, 0)]), false);
        assert_eq!((done.withdrawals, root_of(&world, &row.overlay, true)), (1, before));
    }

    #[test]
    fn the_beacon_root_is_stored_where_its_contract_stands() {
        let root = B256::repeat_byte(7);
        let header = Header { parent_beacon_block_root: Some(root), excess_blob_gas: Some(0), ..Default::default() };
        let block = block(header, &[]);
        let (done, row) = run(&world(true, &[(BEACON_ROOTS_ADDRESS, &STORES)]), SpecId::CANCUN, &block, false);
        assert_eq!(done.system_calls, [("EIP-4788 beacon root", true)]);
        assert_eq!(row.overlay.get(&BEACON_ROOTS_ADDRESS).unwrap().slots[&U256::ZERO], U256::from_be_bytes(root.0));

        let (done, row) = run(&world(true, &[(BEACON_ROOTS_ADDRESS, &[])]), SpecId::CANCUN, &block, false);
        assert_eq!(done.system_calls, [("EIP-4788 beacon root", false)]);
        assert!(row.overlay.get(&BEACON_ROOTS_ADDRESS).is_none());
    }

    #[test]
    fn makers_of_blocks_and_ommers_are_rewarded_until_the_merge() {
        let mut block = block(Header::default(), &[]);
        block.ommers = vec![Header { beneficiary: OTHER, number: 7, ..Default::default() }];
        let finney = U256::from(10).pow(U256::from(15));
        for (spec, maker, ommer) in [
            (SpecId::SPURIOUS_DRAGON, 5_156_250, 3_750_000),
            (SpecId::BYZANTIUM, 3_093_750, 2_250_000),
            (SpecId::PETERSBURG, 2_062_500, 1_500_000),
            (SpecId::LONDON, 2_062_500, 1_500_000),
        ] {
            let (_, row) = run(&world(true, &[]), spec, &block, true);
            assert_eq!(info(&row, MAKER).unwrap().balance * U256::from(1_000), U256::from(maker) * finney, "{spec:?}");
            assert_eq!(info(&row, OTHER).unwrap().balance * U256::from(1_000), U256::from(ommer) * finney, "{spec:?}");
        }
        let (_, row) = run(&world(true, &[]), SpecId::MERGE, &block, true);
        assert_eq!(info(&row, MAKER), None);
        let (_, row) = run(&world(true, &[]), SpecId::LONDON, &block, false);
        assert_eq!(info(&row, MAKER), None);
    }

    #[test]
    fn a_transaction_must_fit_into_the_gas_that_the_block_has_left() {
        let mut block = block(Header::default(), &[]);
        block.transactions = vec![transfer(50_000, 0), transfer(79_000, 1)];
        let (done, _) = run(&world(true, &[]), SpecId::LONDON, &block, false);
        assert_eq!((done.receipts.len(), done.failure.is_none()), (2, true));

        block.transactions[1].gas_limit = 79_001;
        let (done, _) = run(&world(true, &[]), SpecId::LONDON, &block, false);
        let Some((Some(1), Failure::Invalid(why))) = done.failure else { panic!("it must be refused") };
        assert_eq!(why, "its gas limit is 79001, and the block has 79000 gas left");
    }

    #[test]
    fn a_signature_has_one_form_since_homestead() {
        let mut block = block(Header::default(), &[]);
        block.transactions = vec![transfer(21_000, 0)];
        block.malleable = vec![0];
        let (done, _) = run(&world(true, &[]), SpecId::FRONTIER, &block, false);
        assert_eq!((done.receipts.len(), done.failure.is_none()), (1, true));
        let (done, _) = run(&world(true, &[]), SpecId::HOMESTEAD, &block, false);
        let Some((Some(0), Failure::Invalid(why))) = done.failure else { panic!("it must be refused") };
        assert_eq!(why, "its signature has the higher of two possible values (EIP-2)");
    }

    #[test]
    fn a_block_holds_six_blobs_in_cancun() {
        let header = Header { excess_blob_gas: Some(0), base_fee_per_gas: Some(0), ..Default::default() };
        let mut block = block(header, &[]);
        let mut hash = [0; 32];
        hash[0] = 1;
        let blobs = |nonce, count| TxEnv {
            tx_type: 3,
            blob_hashes: vec![hash.into(); count],
            max_fee_per_blob_gas: 1,
            gas_priority_fee: Some(0),
            ..transfer(30_000, nonce)
        };
        block.transactions = vec![blobs(0, 4), blobs(1, 2)];
        let (done, _) = run(&world(true, &[]), SpecId::CANCUN, &block, false);
        assert!(done.failure.is_none(), "{:?}", done.failure);
        block.transactions.push(blobs(2, 1));
        let (done, _) = run(&world(true, &[]), SpecId::CANCUN, &block, false);
        let Some((Some(2), Failure::Invalid(why))) = done.failure else { panic!("it must be refused") };
        assert_eq!(why, "the block has 7 blobs with it, and may have 6");
    }
}
