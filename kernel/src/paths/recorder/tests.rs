//! A call recorded for some accounts is a function of what differs between accounts and between scenarios.

use std::sync::Arc;

use revm::primitives::hex;

use super::*;
use crate::{
    native::ssa::{ir::Node, reference::evaluate},
    storage::{overlay::Row, world::World},
    test_world::{address, on, row, world},
};

const HOLDER: u8 = 0xaa;
/// `x + slot 5`, or for x above 10 `x · slot 5`.
const PRICED: &[u8] = &hex!("60003580600a106016576005540160005260206000f35b6005540260005260206000f3");
/// Slot x.
const ANY_SLOT: &[u8] = &hex!("6000355460005260206000f3");
/// The time, minus slot 5, and the number of the block.
const TIMED: &[u8] = &hex!("60055442036000524360205260406000f3");

fn holder(code: &[u8]) -> Arc<World> {
    world(&[(address(HOLDER), code, &[(5, 3), (6, 60), (7, 70)])])
}

/// Records calls with one word, under scenarios that set slot 5, and the time if wanted.
fn recorder(timestamp: bool, returns: usize) -> PathRecorder {
    let slots = vec![(AddressArg(address(HOLDER)), WordArg(U256::from(5)))];
    let made = PathRecorder::new(
        AddressArg(address(HOLDER)),
        vec![0; 32],
        vec![0],
        slots,
        Some(returns),
        timestamp,
        None,
        None,
    );
    made.expect("a call with one hole")
}

fn words(values: &[u64]) -> Vec<U256> {
    values.iter().map(|value| U256::from(*value)).collect()
}

fn explored(recorder: &mut PathRecorder, world: &Arc<World>, row: &mut Row, words: &[U256]) -> Vec<i32> {
    on(world, row, |machine, block| recorder.follow(machine, &block.clone(), words)).expect("it runs")
}

/// The outputs of a path for each account that may take it, where scenarios set these columns.
fn outputs(
    (recorder, world): (&PathRecorder, &Arc<World>),
    path: usize,
    (words, known): (&[U256], &[i32]),
    columns: &[u64],
) -> Vec<(u32, Option<Vec<U256>>)> {
    let path = &recorder.paths[path];
    let (accounts, limbs) =
        on(world, &mut row(), |machine, block| Ok(recorder.candidates(path, machine, &block.clone(), (words, known))))
            .expect("it runs");
    let width = 4 * path.leaves.len();
    let own = |at: usize| limbs[at * width..(at + 1) * width].chunks(4).map(U256::from_limbs_slice);
    let told = accounts.iter().enumerate().map(|(at, account)| {
        let mut inputs: Vec<U256> = own(at).collect();
        path.scenario.iter().for_each(|(word, column)| inputs[*word as usize] = U256::from(columns[*column]));
        (*account, evaluate(&path.function, &inputs, &mut Vec::new()))
    });
    told.collect()
}

#[test]
fn accounts_that_go_the_same_way_share_a_path() {
    let (world, mut recorder) = (holder(PRICED), recorder(false, 1));
    let accounts = words(&[1, 11, 5, 100, 10]);
    let known = explored(&mut recorder, &world, &mut row(), &accounts);
    assert_eq!(known, [0, 1, 0, 1, 0]);
    assert_eq!(explored(&mut recorder, &world, &mut row(), &words(&[2, 12])), [0, 1]);
    assert_eq!(recorder.__len__(), 2, "nothing new was recorded");
}

#[test]
fn a_path_computes_what_the_call_returns_in_every_scenario() {
    let (world, mut recorder) = (holder(PRICED), recorder(false, 1));
    let accounts = words(&[1, 11, 5, 100, 10]);
    let known = explored(&mut recorder, &world, &mut row(), &accounts);
    for price in [0, 3, 9] {
        let told = |path| outputs((&recorder, &world), path, (&accounts, &known), &[price]);
        let some = |values: &[(u32, u64)]| {
            values.iter().map(|(account, value)| (*account, Some(words(&[*value])))).collect::<Vec<_>>()
        };
        assert_eq!(told(0), some(&[(0, 1 + price), (2, 5 + price), (4, 10 + price)]), "slot 5 is {price}");
        assert_eq!(told(1), some(&[(1, 11 * price), (3, 100 * price)]), "slot 5 is {price}");
    }
}

#[test]
fn what_an_account_decides_alone_is_no_guard_of_the_function() {
    let (world, mut recorder) = (holder(PRICED), recorder(false, 1));
    explored(&mut recorder, &world, &mut row(), &words(&[1, 11]));
    for path in &recorder.paths {
        assert!(path.function.guards.is_empty());
        assert_eq!(path.deciding.len(), 1, "whether the word is above 10");
        assert_eq!(path.scenario.iter().map(|(_, column)| *column).collect::<Vec<_>>(), [0]);
    }
}

#[test]
fn a_slot_that_scenarios_change_is_not_read_by_its_computed_key() {
    let (world, mut recorder) = (holder(ANY_SLOT), recorder(false, 1));
    let accounts = words(&[6, 5, 7]);
    let known = explored(&mut recorder, &world, &mut row(), &accounts);
    assert_eq!(known, [0, -1, 0], "slot 5 here says nothing about slot 5 there");
    let told = outputs((&recorder, &world), 0, (&accounts, &known), &[99]);
    assert_eq!(told, [(0, Some(words(&[60]))), (2, Some(words(&[70])))]);
}

#[test]
fn the_time_is_a_column_where_scenarios_set_it_and_else_that_of_the_block() {
    for timestamp in [true, false] {
        let (world, mut recorder) = (holder(TIMED), recorder(timestamp, 2));
        let accounts = words(&[0]);
        let known = explored(&mut recorder, &world, &mut row(), &accounts);
        let time = if timestamp { 2_000 } else { 50_000 };
        let told = outputs((&recorder, &world), 0, (&accounts, &known), &[4, 2_000]);
        assert_eq!(told, [(0, Some(words(&[time - 4, 1_000])))]);
        let nodes = &recorder.paths[0].function.nodes;
        let inputs = nodes.iter().filter(|node| matches!(node, Node::Input { .. })).count();
        assert_eq!(inputs, if timestamp { 2 } else { 1 }, "what is that of the block is a constant");
    }
}

#[test]
fn a_path_whose_output_is_too_short_is_the_interpreters() {
    let (world, mut recorder) = (holder(PRICED), recorder(false, 2));
    assert_eq!(explored(&mut recorder, &world, &mut row(), &words(&[1, 11])), [-1, -1]);
}

#[test]
fn a_hole_lies_inside_the_calldata() {
    let new = |offset| {
        PathRecorder::new(AddressArg(address(1)), vec![0; 36], vec![offset], Vec::new(), None, false, None, None)
            .is_ok()
    };
    assert!(new(4));
    assert!(!new(5));
    assert!(!new(usize::MAX));
}
