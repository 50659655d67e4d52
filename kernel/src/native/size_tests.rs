//! Long functions: no function holds the compiler for long, and each is as exact as a short one.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    lowering::{limbs::weight, lower::lower},
    processor::{
        cranelift::MOST_WEIGHT,
        executable::{Backend, Executable},
        row_loop::is_paired,
    },
    samples::Samples,
    ssa::{
        ir::{Builder, Function},
        plan::Plan,
        reference::evaluate,
    },
    tests::{TARGETS, run},
};

/// So many divisions, each of what the one before gave, by an operand that no pass knows.
fn divisions(opcode: u8, count: usize) -> Function {
    let mut builder = Builder::new();
    let [first, by, more] = [0, 1, 2].map(|word| builder.input(word));
    let mut value = first;
    for _ in 0..count {
        let divided = builder.pure(opcode, if opcode == op::MULMOD { [value, more, by] } else { [value, by, 0] });
        value = builder.pure(op::ADD, [divided, more, 0]);
    }
    builder.output(value);
    builder.finish()
}

fn planned(function: &Function) -> Plan {
    Plan::new(function, &[]).expect("well-formed")
}

#[test]
fn ten_thousand_divisions_are_interpreted_and_exact() {
    for opcode in [op::DIV, op::MOD, op::MULMOD] {
        let function = divisions(opcode, 10_000);
        let executable = Executable::of_plan(&planned(&function), Backend::Machine);
        assert_eq!(executable.backend(), Backend::Interpreter, "{opcode:#04x}");
        let mut samples = Samples::new(1);
        let rows: Vec<_> = (0..5).map(|_| samples.row(3)).collect();
        let mut values: Vec<U256> = Vec::new();
        let expected: Vec<_> = rows.iter().map(|row| evaluate(&function, row, &mut values)).collect();
        assert_eq!(run(&executable, 3, &rows), expected, "{opcode:#04x}");
    }
}

#[test]
fn as_many_divisions_as_protocols_need_become_machine_code() {
    for opcode in [op::DIV, op::MOD, op::MULMOD] {
        let executable = Executable::of_plan(&planned(&divisions(opcode, 300)), Backend::Machine);
        assert_eq!(executable.backend(), Backend::Machine, "{opcode:#04x}");
    }
}

#[test]
fn rows_of_a_long_function_are_computed_one_by_one() {
    for target in TARGETS {
        let code = |count| lower(&planned(&divisions(op::DIV, count)), target).writer.code;
        let (short, long) = (code(20), code(5_000));
        assert!(is_paired(&short));
        assert!(weight(&long) <= MOST_WEIGHT, "one row of it is not too much");
        assert!(!is_paired(&long), "three times as much is");
    }
}
