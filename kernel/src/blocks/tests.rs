//! Hard forks by name, receipts as Python sees them, and requests as EIP-7685 has them.

use alloy_eips::{eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS};
use revm::{
    context::result::{ExecutionResult, HaltReason, Output, ResultGas, SuccessReason},
    primitives::{Address, B256, Bytes, Log, LogData, U256, b256, hardfork::SpecId, hex},
};

use super::{
    hardfork,
    receipt::Receipt,
    requests::{Requests, collect},
};
use crate::{
    machine::Failure,
    test_world::{address, on, row, world},
};

#[test]
fn every_hard_fork_has_one_name() {
    let mut before = None;
    for name in hardfork::names() {
        let spec = hardfork::parse(name).expect("a known name");
        assert_eq!(hardfork::name(spec), name);
        assert!(before < Some(spec), "{name} is not after the one before it");
        before = Some(spec);
    }
    assert_eq!(hardfork::parse("paris"), Ok(SpecId::MERGE));
    assert_eq!(hardfork::parse("osaka"), Ok(SpecId::OSAKA));
}

#[test]
fn an_unknown_hard_fork_is_an_error_and_never_the_newest_one() {
    for name in ["", "Osaka", "merge", "latest", "osaka "] {
        let error = hardfork::parse(name).expect_err("not a name");
        assert!(error.starts_with(&format!("unknown hard fork '{name}'; known: frontier, ")), "{error}");
        assert!(error.ends_with("amsterdam"), "{error}");
    }
}

fn gas() -> ResultGas {
    ResultGas::default().with_total_gas_spent(50_000).with_refunded(4_800).with_floor_gas(21_000)
}

fn returned(output: Output) -> Receipt {
    let logs = vec![Log::empty()];
    Receipt::new(ExecutionResult::Success { reason: SuccessReason::Return, gas: gas(), logs, output })
}

#[test]
fn a_transaction_is_done_unless_it_failed_or_returned_false() {
    let word = |last: u8| Output::Call(Bytes::from([&[0; 31][..], &[last]].concat()));
    assert!(returned(word(1)).is_done());
    assert!(returned(Output::Call(Bytes::new())).is_done(), "tokens that return nothing");
    assert!(!returned(word(0)).is_done());
    let reverted = ExecutionResult::Revert { gas: gas(), logs: Vec::new(), output: Bytes::from(vec![1]) };
    assert!(!Receipt::new(reverted).is_done());
    let halted = ExecutionResult::Halt { reason: HaltReason::StackOverflow, gas: gas(), logs: Vec::new() };
    assert!(!Receipt::new(halted).is_done());
}

/// The code that returns some bytes.
fn returning(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u8;
    // PUSH1 length, PUSH1 12, PUSH1 0, CODECOPY, PUSH1 length, PUSH1 0, RETURN
    [&[0x60, length, 0x60, 12, 0x60, 0, 0x39, 0x60, length, 0x60, 0, 0xf3], bytes].concat()
}

const REVERTS: &[u8] = &hex!("60006000fd");
const DEPOSITS: u8 = 0xde;
const DEPOSIT_EVENT: B256 = b256!("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");

/// The log of a deposit, as the deposit contract of mainnet writes it: five byte strings in the ABI's encoding.
fn deposit() -> Vec<u8> {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    for (kind, length) in [(1, 48), (2, 32), (3, 8), (4, 96), (5, 8)] {
        head.extend(U256::from(5 * 32 + tail.len()).to_be_bytes::<32>());
        tail.extend(U256::from(length).to_be_bytes::<32>());
        tail.extend(vec![kind; length]);
        tail.resize(tail.len().next_multiple_of(32), 0);
    }
    [head, tail].concat()
}

fn log(address: Address, topic: B256, data: Vec<u8>) -> Log {
    Log { address, data: LogData::new_unchecked(vec![topic], data.into()) }
}

/// What a block with these logs requests, where the two contracts have these codes.
fn requested(logs: &[Log], [withdrawals, consolidations]: [&[u8]; 2]) -> Result<Requests, Failure> {
    let world = world(&[
        (WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, withdrawals, &[]),
        (CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, consolidations, &[]),
    ]);
    on(&world, &mut row(), |machine, _| collect(machine, logs.iter(), Some(address(DEPOSITS))))
}

fn text(failure: Result<Requests, Failure>) -> String {
    match failure {
        Err(Failure::Invalid(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[test]
fn a_block_without_requests_has_the_hash_of_nothing() {
    let none = requested(&[], [&returning(&[]), &returning(&[])]).expect("it runs");
    assert_eq!(none.iter().count(), 0);
    assert_eq!(none.hash(), b256!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
}

#[test]
fn requests_come_in_the_order_of_their_types() {
    let own = |kind| [deposit(); 1].map(|data| log(address(DEPOSITS), kind, data));
    let found = requested(&own(DEPOSIT_EVENT), [&returning(&[7, 7]), &returning(&[9])]).expect("it runs");
    let all: Vec<&Vec<u8>> = found.iter().collect();
    let fields = [vec![0], vec![1; 48], vec![2; 32], vec![3; 8], vec![4; 96], vec![5; 8]].concat();
    assert_eq!(all, [&fields, &vec![1, 7, 7], &vec![2, 9]]);
    // Requests of a type without data are left out.
    let found = requested(&[], [&returning(&[]), &returning(&[9])]).expect("it runs");
    assert_eq!(found.iter().collect::<Vec<_>>(), [&vec![2, 9]]);
}

#[test]
fn logs_of_other_contracts_and_other_events_are_no_deposits() {
    let logs = [log(address(1), DEPOSIT_EVENT, deposit()), log(address(DEPOSITS), B256::ZERO, deposit())];
    assert_eq!(requested(&logs, [&returning(&[]), &returning(&[])]).expect("it runs").iter().count(), 0);
}

#[test]
fn a_deposit_that_is_laid_out_otherwise_makes_the_block_invalid() {
    for (at, byte) in [(31, 161), (5 * 32 + 31, 47), (8 * 32 + 31, 33)] {
        let mut data = deposit();
        data[at] = byte;
        let logs = [log(address(DEPOSITS), DEPOSIT_EVENT, data)];
        let found = text(requested(&logs, [&returning(&[]), &returning(&[])]));
        assert_eq!(found, "a deposit's log is not laid out as EIP-6110 says", "byte {at}");
    }
    let short = [log(address(DEPOSITS), DEPOSIT_EVENT, deposit()[..544].to_vec())];
    assert!(text(requested(&short, [&returning(&[]), &returning(&[])])).contains("EIP-6110"));
}

#[test]
fn a_block_is_invalid_without_the_contracts_that_collect_requests_or_where_they_fail() {
    let missing = text(requested(&[], [&[], &returning(&[])]));
    assert_eq!(
        missing,
        format!("there is no contract at {WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS}, which collects requests")
    );
    let failed = text(requested(&[], [&returning(&[]), REVERTS]));
    assert_eq!(failed, format!("the system call to {CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS} failed"));
}
