//! Random functions on hostile rows: every way to execute them gives what the EVM defines.

use revm::primitives::U256;

use crate::faults::Fault;

use super::{
    lowering::{
        limbs::Target,
        lower::{Lowered, lower},
        scalar,
    },
    processor::{
        executable::{Backend, Executable},
        rows::Rows,
    },
    samples::{PURE, Samples, seeds},
    ssa::{
        dump::plan_text,
        ir::{Condition, Function, Guard, Node},
        likely::likely_bounds,
        plan::{Likely, Plan},
        reference::evaluate,
        tree::{Branch, End, Tree},
    },
};

/// Rows of a function with their expected results.
pub(super) struct Case {
    pub(super) function: Function,
    pub(super) rows: Vec<Vec<U256>>,
    pub(super) expected: Vec<Option<Vec<U256>>>,
}

fn case(seed: u64, inputs: usize, size: usize, rows: usize) -> Case {
    case_of(Samples::new(seed), inputs, size, rows)
}

fn case_of(mut samples: Samples, inputs: usize, size: usize, rows: usize) -> Case {
    let function = samples.function(inputs, size);
    let rows: Vec<_> = (0..rows).map(|_| samples.row(inputs)).collect();
    let mut values = Vec::new();
    let expected = rows.iter().map(|row| evaluate(&function, row, &mut values)).collect();
    Case { function, rows, expected }
}

/// Where all guards hold, no value is above what the passes take for certain.
fn check_bounds(plan: &Plan, values: &[U256], seed: u64) {
    for (at, node) in plan.function.nodes.iter().enumerate() {
        assert!(values[at] <= plan.highs[at], "seed {seed}: node {at} of {plan:#?}");
        let mut operand = 0;
        node.operands(|id| {
            assert!(operand > 2 || values[id as usize] <= plan.bounds[at][operand], "seed {seed}: {at} of {plan:#?}");
            operand += 1;
        });
    }
    for (node, bound) in plan.function.outputs.iter().zip(&plan.output_bounds) {
        assert!(values[*node as usize] <= *bound, "seed {seed}: output {node} of {plan:#?}");
    }
}

#[test]
fn a_plan_computes_what_its_function_does() {
    let mut accepted = 0;
    for seed in seeds(2_000) {
        let Case { function, rows, expected } = case(seed, 5, 2 + seed as usize % 30, 24);
        let plan = Plan::new(&function, &[]).expect("well-formed");
        let mut values = Vec::new();
        for (row, expected) in rows.iter().zip(&expected) {
            let found = evaluate(&plan.function, row, &mut values).filter(|_| !plan.impossible);
            assert_eq!(&found, expected, "seed {seed}: {row:?}\n{function:#?}\n{plan:#?}");
            if found.is_some() {
                accepted += 1;
                check_bounds(&plan, &values, seed);
            }
        }
    }
    assert!(accepted > 5_000, "{accepted} rows were accepted");
}

#[test]
fn limbs_compute_what_their_function_does() {
    for seed in seeds(2_000) {
        let Case { function, rows, expected } = case(seed, 5, 2 + seed as usize % 40, 20);
        let plan = Plan::new(&function, &[]).expect("well-formed");
        check_limbs(seed, &plan, &rows, &expected);
    }
}

/// Interpret the limbs of a plan, for every processor.
fn check_limbs(seed: u64, plan: &Plan, rows: &[Vec<U256>], expected: &[Option<Vec<U256>>]) {
    for lowered in TARGETS.map(|target| lower(plan, target)) {
        for (row, expected) in rows.iter().zip(expected) {
            let inputs: Vec<u64> = row.iter().flat_map(|word| *word.as_limbs()).collect();
            let mut outputs = vec![0; 4 * plan.output_words()];
            let found = (scalar::run(&lowered, &inputs, &mut outputs) == 1)
                .then(|| outputs.chunks(4).map(U256::from_limbs_slice).collect());
            let text = || format!("{}\n{}", plan_text(plan), lowered_text(&lowered));
            assert_eq!(&found, expected, "seed {seed}: {row:x?}\n{}", text());
        }
    }
}

fn lowered_text(lowered: &Lowered) -> String {
    lowered.writer.code.iter().map(|instruction| format!("{instruction:x?}\n")).collect()
}

/// Run rows, some limbs apart: flags and words.
fn run_flagged(executable: &Executable, inputs: usize, rows: &[Vec<U256>]) -> Vec<(u8, Vec<U256>)> {
    let (stride, outputs) = (4 * inputs + 3, executable.output_words);
    let mut flat = vec![0; stride * rows.len()];
    for (row, words) in rows.iter().enumerate() {
        for (word, value) in words.iter().enumerate() {
            flat[row * stride + 4 * word..][..4].copy_from_slice(value.as_limbs());
        }
    }
    let (mut found, mut flags) = (vec![0; 4 * outputs * rows.len()], vec![7; rows.len()]);
    executable.run(&mut Rows {
        inputs: &flat,
        outputs: &mut found,
        flags: &mut flags,
        count: rows.len(),
        input_stride: stride,
        output_stride: 4 * outputs,
    });
    let words = found.chunks(4 * outputs).map(|row| row.chunks(4).map(U256::from_limbs_slice).collect());
    flags.into_iter().zip(words).collect()
}

/// The outputs of accepted rows.
pub(super) fn run(executable: &Executable, inputs: usize, rows: &[Vec<U256>]) -> Vec<Option<Vec<U256>>> {
    run_flagged(executable, inputs, rows).into_iter().map(|(flag, words)| (flag == 1).then_some(words)).collect()
}

pub(super) const BACKENDS: [Backend; 2] = [Backend::Interpreter, Backend::Machine];
pub(super) const TARGETS: [Target; 2] = [Target::FastDivision, Target::SlowDivision];

/// The first difference between a back end, on every processor, and the definition.
pub(super) fn difference(case: &Case, backend: Backend, likely: &[Likely]) -> Option<String> {
    TARGETS.into_iter().find_map(|target| difference_on(target, case, backend, likely))
}

fn difference_on(target: Target, case: &Case, backend: Backend, likely: &[Likely]) -> Option<String> {
    let plan = Plan::new(&case.function, likely).expect("well-formed");
    let executable = Executable::for_target(&plan, backend, target);
    assert_eq!(executable.backend(), backend);
    let found = run(&executable, case.rows[0].len(), &case.rows);
    let rows = case.rows.iter().zip(&case.expected).zip(&found);
    // A guard of width may refuse more rows, but never changes a result.
    let wrong = |expected: &Option<_>, found: &Option<_>| match likely {
        [] => expected != found,
        _ => found.is_some() && expected != found,
    };
    let wrong = rows.into_iter().find(|((_, expected), found)| wrong(expected, found));
    wrong.map(|((row, expected), found)| {
        let text = plan_text(&plan);
        format!("{backend:?}, {target:?}: {row:x?}\nexpected {expected:x?}\nfound    {found:x?}\n{text}")
    })
}

#[test]
fn float_operations_are_exact_in_every_back_end() {
    for seed in seeds(300) {
        let case = case_of(Samples::with_floats(seed), 5, 2 + seed as usize % 20, 40);
        for backend in BACKENDS {
            assert_eq!(difference(&case, backend, &[]), None, "seed {seed}");
        }
        let plan = Plan::new(&case.function, &[]).expect("well-formed");
        check_limbs(seed, &plan, &case.rows, &case.expected);
    }
}

#[test]
fn every_instruction_is_exact_in_every_back_end() {
    let mut samples = Samples::new(3);
    for opcode in PURE {
        for shape in 0..40 {
            let mut builder = super::ssa::ir::Builder::new();
            // Operands: any word, words of few bits, and constants in every place.
            let operands = [0, 1, 2].map(|at| match (shape >> at) & 1 {
                0 => builder.input(at),
                _ => builder.constant(samples.word()),
            });
            let bits = if shape >= 8 { samples.one_of(&[16, 63, 64, 65, 112, 128, 160, 192, 200]) } else { 256 };
            let masked = builder.constant(super::ssa::range::mask(bits));
            let operands = operands.map(|node| builder.pure(revm::bytecode::opcode::AND, [node, masked, 0]));
            let result = builder.pure(opcode, operands);
            builder.output(result);
            let function = builder.finish();
            let rows: Vec<_> = (0..100).map(|_| samples.row(3)).collect();
            let mut values = Vec::new();
            let expected = rows.iter().map(|row| evaluate(&function, row, &mut values)).collect();
            let case = Case { function, rows, expected };
            for backend in BACKENDS {
                assert_eq!(difference(&case, backend, &[]), None, "{opcode:#04x}, shape {shape}");
            }
        }
    }
}

#[test]
fn random_functions_are_exact_in_every_back_end() {
    let mut accepted = 0;
    for seed in seeds(600) {
        let case = case(seed, 5, 2 + seed as usize % 40, 50);
        accepted += case.expected.iter().flatten().count();
        for backend in BACKENDS {
            assert_eq!(difference(&case, backend, &[]), None, "seed {seed}");
        }
    }
    assert!(accepted > 3_000, "{accepted} rows were accepted");
}

#[test]
fn a_few_rows_are_as_exact_as_many() {
    for seed in seeds(300) {
        let Case { function, rows, expected } = case(seed, 5, 2 + seed as usize % 30, 40);
        for (rows, expected) in rows.chunks(3).zip(expected.chunks(3)) {
            let few = Case { function: function.clone(), rows: rows.to_vec(), expected: expected.to_vec() };
            assert_eq!(difference(&few, Backend::Interpreter, &[]), None, "seed {seed}");
        }
    }
}

#[test]
fn guards_of_width_refuse_rows_but_change_no_result() {
    let mut narrower = 0;
    for seed in seeds(600) {
        let case = case(seed, 5, 2 + seed as usize % 30, 50);
        let Some(accepted) = case.expected.iter().position(Option::is_some) else { continue };
        let likely = likely_bounds(&case.function, &case.rows[accepted..=accepted]);
        narrower += usize::from(!likely.is_empty());
        for backend in BACKENDS {
            assert_eq!(difference(&case, backend, &likely), None, "seed {seed}");
        }
    }
    assert!(narrower > 100, "{narrower} functions had bounds");
}

#[test]
fn every_deliberate_mistake_is_noticed() {
    for fault in Fault::OF_FUNCTIONS {
        let noticed = (0..3_000).any(|seed| {
            let case = case(seed, 5, 2 + seed as usize % 30, 40);
            Fault::during(Some(fault), || difference(&case, Backend::Machine, &[])).is_some()
        });
        assert!(noticed, "{fault:?} was not noticed");
    }
}

/// The leaf of a row, numbered from one, and its outputs.
fn leaf_of(branch: &Branch, values: &[U256], leaves: &mut u8) -> Option<(u8, Vec<U256>)> {
    let keeps = |guard: &Guard| guard.condition.holds(values[guard.node as usize]);
    let kept = branch.guards.iter().all(keeps);
    match &branch.end {
        End::Leaf(outputs) => {
            *leaves += 1;
            kept.then(|| (*leaves, outputs.iter().map(|node| values[*node as usize]).collect()))
        }
        End::Split(node, cases) => {
            let mut found = None;
            for (condition, case) in cases {
                let leaf = leaf_of(case, values, leaves);
                found = found.or(leaf.filter(|_| condition.holds(values[*node as usize])));
            }
            found.filter(|_| kept)
        }
    }
}

#[test]
fn trees_are_exact_in_every_back_end() {
    let mut seen = [0; 9];
    for seed in seeds(300) {
        let mut samples = Samples::new(seed);
        let tree = samples.tree(5, 3 + seed as usize % 25);
        let rows: Vec<_> = (0..40).map(|_| samples.row(5)).collect();
        let plan = Plan::of_tree(&tree, &[]).expect("well-formed");
        let whole = Function { nodes: tree.nodes.clone(), ..Function::default() };
        let mut values = Vec::new();
        for backend in BACKENDS {
            let executable = Executable::of_plan(&plan, backend);
            let found = run_flagged(&executable, 5, &rows);
            for (row, (flag, words)) in rows.iter().zip(found) {
                evaluate(&whole, row, &mut values);
                let expected = leaf_of(&tree.root, &values, &mut 0);
                let count = expected.as_ref().map_or(0, |(_, outputs)| outputs.len());
                let found = (flag > 0).then(|| (flag, words[..count].to_vec()));
                assert_eq!(found, expected, "seed {seed}, {backend:?}: {row:x?}\n{}", plan_text(&plan));
                seen[usize::from(flag)] += 1;
            }
        }
    }
    assert!(seen.iter().filter(|rows| **rows > 80).count() >= 6, "rows by leaf: {seen:?}");
}

#[test]
fn trees_that_leave_a_choice_are_refused() {
    let leaf = || Branch { guards: Vec::new(), end: End::Leaf(Vec::new()) };
    let cases = vec![(Condition::NonZero, leaf()), (Condition::Equal(U256::ONE), leaf())];
    let root = Branch { guards: Vec::new(), end: End::Split(0, cases) };
    let tree = Tree { nodes: vec![Node::Input { word: 0, bits: 256 }], root };
    assert_eq!(
        Plan::of_tree(&tree, &[]).err().map(|error| error.0),
        Some("cases of node 0 that can both hold".to_owned())
    );
}
