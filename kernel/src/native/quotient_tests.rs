//! Quotients of two limbs: guessed by a reciprocal, or by a call in registers. Rows are next to multiples of the divisor.

use revm::{bytecode::opcode as op, primitives::U256};

use crate::faults::Fault;

use super::{
    lowering::{limbs::Instruction, lower::lower},
    processor::{
        executable::{Backend, Executable},
        row_loop,
    },
    samples::{Samples, seeds},
    ssa::{
        ir::{Builder, Condition, Function, Node, NodeId},
        plan::Plan,
        range::mask,
        reference::evaluate,
    },
    tests::{BACKENDS, Case, TARGETS, difference, run},
};

/// Three quotients, two of them by one divisor, and the nodes that they are.
fn quotients() -> (Function, [NodeId; 3]) {
    let mut builder = Builder::new();
    let [first, second, third] = [0, 1, 2].map(|word| builder.input(word));
    let narrow = builder.constant(mask(128));
    let [shared, alone] = [3, 4].map(|word| {
        let input = builder.input(word);
        let divisor = builder.pure(op::AND, [input, narrow, 0]);
        builder.guard(divisor, Condition::NonZero);
        divisor
    });
    let found = [(first, shared), (second, shared), (third, alone)].map(|(a, b)| builder.pure(op::DIV, [a, b, 0]));
    found.iter().for_each(|node| _ = builder.output(*node));
    (builder.finish(), found)
}

/// A dividend that is a multiple of the divisor, or one more or less, or anything.
fn dividend(samples: &mut Samples, divisor: U256) -> U256 {
    let multiple = (samples.word() & mask(128)).wrapping_mul(divisor);
    let near = [multiple, multiple.wrapping_add(U256::ONE), multiple.wrapping_sub(U256::ONE), samples.word()];
    samples.one_of(&near)
}

/// Five quotients, each of what the one before has made: rows are computed side by side.
fn chain() -> (Function, [NodeId; 5]) {
    let mut builder = Builder::new();
    let [mut value, more, _, shared, alone] = [0, 1, 2, 3, 4].map(|word| builder.input(word));
    let narrow = builder.constant(mask(128));
    let more = builder.pure(op::AND, [more, narrow, 0]);
    let [shared, alone] = [shared, alone].map(|input| {
        let divisor = builder.pure(op::AND, [input, narrow, 0]);
        builder.guard(divisor, Condition::NonZero);
        divisor
    });
    let found = [shared, alone, shared, alone, shared].map(|by| {
        let quotient = builder.pure(op::DIV, [value, by, 0]);
        let product = builder.pure(op::MUL, [quotient, alone, 0]);
        value = builder.pure(op::ADD, [product, more, 0]);
        builder.output(quotient);
        quotient
    });
    (builder.finish(), found)
}

fn case<const N: usize>(seed: u64, (function, nodes): (Function, [NodeId; N])) -> (Case, [NodeId; N]) {
    let mut samples = Samples::new(seed);
    let rows: Vec<Vec<U256>> = (0..60)
        .map(|_| {
            let [shared, alone] = [(); 2].map(|()| samples.word() & mask(samples.one_of(&[20, 64, 65, 90, 127, 128])));
            let dividends = [shared, shared, alone].map(|divisor| dividend(&mut samples, divisor));
            [&dividends[..], &[shared, alone]].concat()
        })
        .collect();
    let mut values = Vec::new();
    let expected = rows.iter().map(|row| evaluate(&function, row, &mut values)).collect();
    (Case { function, rows, expected }, nodes)
}

#[test]
fn short_quotients_are_exact_in_every_back_end() {
    for seed in seeds(400) {
        let (case, nodes) = case(seed, quotients());
        for backend in BACKENDS {
            assert_eq!(difference(&case, backend, &nodes.map(|node| (node, 128))), None, "seed {seed}");
        }
    }
}

#[test]
fn any_number_of_rows_side_by_side_is_exact() {
    let mut accepted = 0;
    for seed in seeds(60) {
        let (case, nodes) = case(seed, chain());
        let likely = nodes.map(|node| (node, 128));
        let plan = Plan::new(&case.function, &likely).expect("well-formed");
        assert!(TARGETS.iter().all(|target| row_loop::is_paired(&lower(&plan, *target).writer.code)));
        assert_eq!(difference(&case, Backend::Machine, &likely), None, "seed {seed}");
        let executable = Executable::of_plan(&plan, Backend::Machine);
        let alone: Vec<_> = case.rows.iter().flat_map(|row| run(&executable, 5, std::slice::from_ref(row))).collect();
        // An odd number leaves one row alone.
        for count in [2, 3, 59, 60] {
            assert_eq!(run(&executable, 5, &case.rows[60 - count..]), alone[60 - count..], "seed {seed}, {count} rows");
        }
        accepted += alone.iter().flatten().count();
    }
    assert!(accepted > 300, "{accepted} rows were accepted");
}

#[test]
fn a_short_quotient_needs_no_other_guard_on_its_divisor() {
    let (function, nodes) = quotients();
    let plan = Plan::new(&function, &nodes.map(|node| (node, 128))).expect("well-formed");
    assert!(plan.function.guards.iter().all(|guard| {
        matches!(plan.function.nodes[guard.node as usize], Node::Pure(op::LT, _))
            && guard.condition == Condition::NonZero
    }));
    let row = [1, 1, 1, 0, 1].map(U256::from);
    let mut values = Vec::new();
    assert_eq!(evaluate(&plan.function, &row, &mut values), None);
}

#[test]
fn a_guess_that_nobody_looks_at_is_noticed() {
    let noticed = (0..50).any(|seed| {
        let (case, nodes) = case(seed, quotients());
        let likely = nodes.map(|node| (node, 128));
        Fault::during(Some(Fault::GuessTrusted), || difference(&case, Backend::Machine, &likely)).is_some()
    });
    assert!(noticed);
}

#[test]
fn every_quotient_of_two_limbs_is_guessed_where_division_is_slow() {
    let (function, nodes) = quotients();
    let plan = Plan::new(&function, &nodes.map(|node| (node, 128))).expect("well-formed");
    let guesses = TARGETS.map(|target| {
        let code = lower(&plan, target).writer.code;
        code.iter().filter(|instruction| matches!(instruction, Instruction::Guess { .. })).count()
    });
    assert_eq!(guesses, [2, 3]);
}
