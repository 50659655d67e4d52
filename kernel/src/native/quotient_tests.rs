//! Quotients of two limbs: guessed by a reciprocal, or by a call in registers. Rows are next to multiples of the divisor.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    processor::executable::Backend,
    samples::Samples,
    ssa::{
        faults::Fault,
        ir::{Builder, Condition, Function, NodeId},
        range::mask,
        reference::evaluate,
    },
    tests::{BACKENDS, Case, difference},
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

fn case(seed: u64) -> (Case, [NodeId; 3]) {
    let (mut samples, (function, nodes)) = (Samples::new(seed), quotients());
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
    for seed in 0..400 {
        let (case, nodes) = case(seed);
        for backend in BACKENDS {
            assert_eq!(difference(&case, backend, &nodes.map(|node| (node, 128))), None, "seed {seed}");
        }
    }
}

#[test]
fn a_guess_that_nobody_looks_at_is_noticed() {
    let noticed = (0..50).any(|seed| {
        let (case, nodes) = case(seed);
        let likely = nodes.map(|node| (node, 128));
        Fault::during(Some(Fault::GuessTrusted), || difference(&case, Backend::Machine, &likely)).is_some()
    });
    assert!(noticed);
}
