//! Random functions on hostile rows: every way to execute them gives what the EVM defines.

use revm::primitives::U256;

use super::{
    dump::plan_text,
    executable::{Backend, Executable},
    faults::Fault,
    ir::Function,
    likely::likely_bounds,
    lower::{Lowered, lower},
    plan::{Likely, Plan},
    reference::evaluate,
    rows::Rows,
    samples::{PURE, Samples},
    scalar,
};

/// Rows of a function with their expected results.
struct Case {
    function: Function,
    rows: Vec<Vec<U256>>,
    expected: Vec<Option<Vec<U256>>>,
}

fn case(seed: u64, inputs: usize, size: usize, rows: usize) -> Case {
    let mut samples = Samples::new(seed);
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
    for seed in 0..4_000 {
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
    assert!(accepted > 10_000, "{accepted} rows were accepted");
}

#[test]
fn limbs_compute_what_their_function_does() {
    for seed in 0..2_000 {
        let Case { function, rows, expected } = case(seed, 5, 2 + seed as usize % 40, 20);
        let plan = Plan::new(&function, &[]).expect("well-formed");
        let lowered = lower(&plan);
        for (row, expected) in rows.iter().zip(&expected) {
            let inputs: Vec<u64> = row.iter().flat_map(|word| *word.as_limbs()).collect();
            let mut outputs = vec![0; 4 * function.outputs.len()];
            let found = scalar::run(&lowered, &inputs, &mut outputs)
                .then(|| outputs.chunks(4).map(U256::from_limbs_slice).collect());
            let text = || format!("{}\n{}", plan_text(&plan), lowered_text(&lowered));
            assert_eq!(&found, expected, "seed {seed}: {row:x?}\n{}", text());
        }
    }
}

fn lowered_text(lowered: &Lowered) -> String {
    lowered.writer.code.iter().map(|instruction| format!("{instruction:x?}\n")).collect()
}

/// Run a plan on rows, some limbs apart.
fn run(executable: &Executable, inputs: usize, rows: &[Vec<U256>]) -> Vec<Option<Vec<U256>>> {
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
    let word = |at: usize| U256::from_limbs(found[4 * at..][..4].try_into().expect("four limbs"));
    flags
        .iter()
        .enumerate()
        .map(|(row, flag)| match flag {
            1 => Some((0..outputs).map(|output| word(row * outputs + output)).collect()),
            0 => None,
            other => panic!("row {row} has the flag {other}"),
        })
        .collect()
}

const BACKENDS: [Backend; 2] = [Backend::Interpreter, Backend::Machine];

/// The first difference between a back end and the definition.
fn difference(case: &Case, backend: Backend, likely: &[Likely]) -> Option<String> {
    let plan = Plan::new(&case.function, likely).expect("well-formed");
    let executable = Executable::of_plan(&plan, backend);
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
        let text = super::dump::plan_text(&plan);
        format!("{backend:?}: {row:x?}\nexpected {expected:x?}\nfound    {found:x?}\n{text}")
    })
}

#[test]
fn every_instruction_is_exact_in_every_back_end() {
    let mut samples = Samples::new(3);
    for opcode in PURE {
        for shape in 0..40 {
            let mut builder = super::ir::Builder::new();
            // Operands: any word, words of few bits, and constants in every place.
            let operands = [0, 1, 2].map(|at| match (shape >> at) & 1 {
                0 => builder.input(at),
                _ => builder.constant(samples.word()),
            });
            let bits = if shape >= 8 { samples.one_of(&[16, 63, 64, 65, 112, 128, 160, 192, 200]) } else { 256 };
            let masked = builder.constant(super::range::mask(bits));
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
    for seed in 0..1_500 {
        let case = case(seed, 5, 2 + seed as usize % 40, 50);
        accepted += case.expected.iter().flatten().count();
        for backend in BACKENDS {
            assert_eq!(difference(&case, backend, &[]), None, "seed {seed}");
        }
    }
    assert!(accepted > 10_000, "{accepted} rows were accepted");
}

#[test]
fn guards_of_width_refuse_rows_but_change_no_result() {
    let mut narrower = 0;
    for seed in 0..600 {
        let case = case(seed, 5, 2 + seed as usize % 30, 50);
        let likely = likely_bounds(&case.function, &case.rows[..4]);
        narrower += usize::from(!likely.is_empty());
        for backend in BACKENDS {
            assert_eq!(difference(&case, backend, &likely), None, "seed {seed}");
        }
    }
    assert!(narrower > 100, "{narrower} functions had bounds");
}

#[test]
fn every_deliberate_mistake_is_noticed() {
    for fault in Fault::ALL {
        let noticed = (0..3_000).any(|seed| {
            let case = case(seed, 5, 2 + seed as usize % 30, 40);
            Fault::during(Some(fault), || difference(&case, Backend::Machine, &[])).is_some()
        });
        assert!(noticed, "{fault:?} was not noticed");
    }
}
