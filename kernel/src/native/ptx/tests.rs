//! PTX on the emulator gives what the EVM defines, for every instruction and for random functions.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    Program, Sum,
    emulator::{Argument, Emulator},
    weight,
};
use crate::native::{
    samples::{PURE, Samples, seeds},
    ssa::{
        ir::{Builder, Function},
        plan::Plan,
        range::mask,
        reference::evaluate,
    },
};

fn program(function: &Function, scenario_words: &[u32], sums: &[Sum]) -> Program {
    let plan = Plan::new(function, &[]).expect("well-formed");
    Program::new(&plan, scenario_words, sums).expect("every instruction has its PTX")
}

fn planes(rows: &[Vec<U256>], wanted: &[u32]) -> Vec<u8> {
    let limb = |row: &Vec<U256>, at: u32| row[at as usize / 4].as_limbs()[at as usize % 4];
    wanted.iter().flat_map(|at| rows.iter().flat_map(|row| limb(row, *at).to_le_bytes()).collect::<Vec<u8>>()).collect()
}

fn uploaded(device: &mut Emulator, bytes: &[u8]) -> Argument {
    let place = device.allocate(bytes.len().max(8));
    device.write(place, bytes);
    Argument::Place(place)
}

fn words_at(device: &Emulator, place: Argument, count: usize) -> Vec<u64> {
    let Argument::Place(place) = place else { panic!("no place") };
    let mut bytes = vec![0; 8 * count];
    device.read(place, &mut bytes);
    bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight"))).collect()
}

/// Run rows by the kernel `rows`: outputs of those that are accepted.
fn run(program: &Program, outputs: usize, rows: &[Vec<U256>]) -> Vec<Option<Vec<U256>>> {
    let (mut device, count) = (Emulator::default(), rows.len());
    let accounts = uploaded(&mut device, &planes(rows, &program.planes.accounts));
    let [scenarios, found] =
        [8, 8 * count * program.planes.outputs.len()].map(|size| uploaded(&mut device, &vec![0; size]));
    let flags = uploaded(&mut device, &vec![0; 8 * count]);
    let number = |count: usize| Argument::Number(count as u32);
    let given = [accounts, scenarios, found, flags, number(count), number(1), number(0), number(count)];
    device.launch(&program.rows, "rows", count as u64, 32, &given).expect("it runs");
    let words = words_at(&device, found, count * program.planes.outputs.len());
    let flags = words_at(&device, flags, count.div_ceil(2));
    (0..count)
        .map(|row| {
            let accepted = (flags[row / 2] >> (32 * (row % 2))) as u32 == 1;
            let limb = |at: usize| {
                let plane = program.planes.outputs.binary_search(&(at as u32));
                plane.map_or(0, |plane| words[plane * count + row])
            };
            accepted.then(|| {
                (0..outputs).map(|word| U256::from_limbs([0, 1, 2, 3].map(|at| limb(4 * word + at)))).collect()
            })
        })
        .collect()
}

fn check(function: &Function, rows: &[Vec<U256>], what: &str) -> usize {
    let program = program(function, &[], &[]);
    let mut values = Vec::new();
    let expected: Vec<_> = rows.iter().map(|row| evaluate(function, row, &mut values)).collect();
    let found = run(&program, function.outputs.len(), rows);
    for ((row, expected), found) in rows.iter().zip(&expected).zip(&found) {
        assert_eq!(found, expected, "{what}: {row:x?}");
    }
    expected.iter().flatten().count()
}

#[test]
fn every_instruction_is_exact() {
    let mut samples = Samples::new(5);
    for opcode in PURE {
        for shape in 0..24 {
            let mut builder = Builder::new();
            let operands = [0, 1, 2].map(|at| match (shape >> at) & 1 {
                0 => builder.input(at),
                _ => builder.constant(samples.word()),
            });
            let bits = if shape >= 8 { samples.one_of(&[16, 63, 64, 65, 112, 128, 160, 192, 200]) } else { 256 };
            let masked = builder.constant(mask(bits));
            let operands = operands.map(|node| builder.pure(op::AND, [node, masked, 0]));
            let result = builder.pure(opcode, operands);
            builder.output(result);
            let rows: Vec<_> = (0..30).map(|_| samples.row(3)).collect();
            check(&builder.finish(), &rows, &format!("{opcode:#04x}, shape {shape}"));
        }
    }
}

#[test]
fn divisions_of_every_size_are_exact() {
    let mut samples = Samples::new(6);
    for (dividend, divisor) in (1..=4).flat_map(|dividend| (1..=4).map(move |divisor| (dividend, divisor))) {
        let mut builder = Builder::new();
        let [a, b] = [(0, dividend), (1, divisor)].map(|(at, limbs)| builder.bounded_input(at, 64 * limbs));
        for opcode in [op::DIV, op::MOD] {
            let result = builder.pure(opcode, [a, b, 0]);
            builder.output(result);
        }
        let function = builder.finish();
        let rows: Vec<Vec<U256>> = (0..400)
            .map(|_| {
                let [a, b] = [dividend, divisor].map(|limbs| samples.word() & mask(64 * usize::from(limbs)));
                // Near multiples of the divisor, where a quotient is easily one off.
                let near = b.wrapping_mul(samples.word() >> 128) & mask(64 * usize::from(dividend));
                vec![if samples.below(2) == 0 { a } else { near.saturating_sub(U256::from(samples.below(2))) }, b]
            })
            .collect();
        check(&function, &rows, &format!("{dividend} by {divisor} limbs"));
    }
}

#[test]
fn random_functions_are_exact() {
    let mut accepted = 0;
    for seed in seeds(80) {
        let mut samples = Samples::new(seed);
        let function = samples.function(5, 2 + seed as usize % 40);
        let rows: Vec<_> = (0..30).map(|_| samples.row(5)).collect();
        accepted += check(&function, &rows, &format!("seed {seed}"));
    }
    assert!(accepted > 160, "{accepted} rows were accepted");
}

#[test]
fn the_text_is_always_the_same() {
    let function = Samples::new(3).function(5, 30);
    let (one, other) = (program(&function, &[1], &[]), program(&function, &[1], &[]));
    assert_eq!((one.rows, one.reduce), (other.rows, other.reduce));
}

/// What the kernel `reduce` must give for one scenario: accepted rows, digest and sums.
fn expected_totals(function: &Function, rows: &[Vec<U256>], sums: &[Sum]) -> (Vec<u64>, Vec<usize>) {
    let (mut accepted, mut digest, mut totals, mut failed) = (0, 0_u64, vec![U256::ZERO; sums.len()], Vec::new());
    let mut values = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let Some(words) = evaluate(function, row, &mut values) else {
            failed.push(at);
            continue;
        };
        accepted += 1;
        let limbs = words.iter().flat_map(|word| *word.as_limbs()).zip(0..);
        let mixed = limbs.fold(0_u64, |all, (limb, at)| all.wrapping_add(limb.wrapping_mul(weight(at))));
        digest = digest.wrapping_add((mixed ^ mixed >> 32).wrapping_mul(weight(u32::MAX)));
        totals.iter_mut().zip(sums).for_each(|(total, sum)| *total = total.wrapping_add(words[sum.output]));
    }
    let limbs = totals.iter().zip(sums).flat_map(|(total, sum)| total.as_limbs()[..sum.limbs].to_vec());
    ([accepted, digest].into_iter().chain(limbs).collect(), failed)
}

#[test]
fn sums_over_accounts_are_exact() {
    for seed in seeds(40) {
        let mut samples = Samples::new(1_000 + seed);
        let function = samples.function(4, 3 + seed as usize % 25);
        let sums = [Sum { output: 0, limbs: 4 }, Sum { output: 4, limbs: 2 }];
        let program = program(&function, &[1, 3], &sums);
        let [accounts, scenarios] = [14, 5].map(|count| (0..count).map(|_| samples.row(4)).collect::<Vec<_>>());
        let mut device = Emulator::default();
        let size = 2 + 4 + 2;
        let tables = [
            uploaded(&mut device, &planes(&accounts, &program.planes.accounts)),
            uploaded(&mut device, &planes(&scenarios, &program.planes.scenarios)),
            uploaded(&mut device, &vec![0; 8 * size * scenarios.len()]),
            uploaded(&mut device, &[0; 8 * 200]),
            uploaded(&mut device, &[0; 8]),
        ];
        // Two launches: the second goes on where the first has ended.
        for (first, last) in [(0, 6), (6, 14)] {
            let counts = [14, 5, first, last, 200].map(Argument::Number);
            let given: Vec<Argument> = tables.iter().copied().chain(counts).collect();
            device.launch(&program.reduce, "reduce", 5, 4, &given).expect("it runs");
        }
        let totals = words_at(&device, tables[2], size * 5);
        let count = words_at(&device, tables[4], 1)[0] as usize;
        let mut listed = words_at(&device, tables[3], count);
        listed.sort_unstable();
        let mut failures = Vec::new();
        for (at, scenario) in scenarios.iter().enumerate() {
            let row = |account: &Vec<U256>| vec![account[0], scenario[1], account[2], scenario[3]];
            let rows: Vec<_> = accounts.iter().map(row).collect();
            let (expected, failed) = expected_totals(&function, &rows, &sums);
            let found: Vec<u64> = (0..size).map(|plane| totals[plane * 5 + at]).collect();
            assert_eq!(found, expected, "seed {seed}, scenario {at}");
            failures.extend(failed.into_iter().map(|account| (14 * at + account) as u64));
        }
        assert_eq!(listed, failures, "seed {seed}");
    }
}
