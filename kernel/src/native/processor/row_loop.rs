//! The loop over rows around their code: some side by side where divisions would wait for each other, the rest one by one.

use cranelift_codegen::{
    ir::{Block, InstBuilder, MemFlags, Value, condcodes::IntCC, types::I8, types::I64},
    isa::CallConv,
};
use cranelift_frontend::FunctionBuilder;

use super::{cranelift::MOST_WEIGHT, emit::emit_rows};
use crate::native::lowering::{
    limbs::{Binary, Helper, Instruction, weight},
    lower::Lowered,
};

/// Rows that are computed side by side.
pub const SIDE_BY_SIDE: usize = 2;

/// How often such a function holds the code of a row: for those side by side, and for the last one.
const ROWS_OF_PAIRED: usize = SIDE_BY_SIDE + 1;

/// Divisions of a row from which on it mostly waits for them.
const MANY_DIVISIONS: usize = 4;

/// Write the whole function: a loop over rows. Returns how often it holds the code of a row.
pub fn emit(mut builder: FunctionBuilder<'_>, lowered: &Lowered, convention: CallConv) -> usize {
    let (start, head, done) = (builder.create_block(), builder.create_block(), builder.create_block());
    builder.append_block_params_for_function_params(start);
    builder.switch_to_block(start);
    let given: Vec<Value> = builder.block_params(start).to_vec();
    for _ in 0..4 {
        builder.append_block_param(head, I64);
    }
    builder.ins().jump(head, &[given[0].into(), given[1].into(), given[2].into(), given[3].into()]);
    builder.switch_to_block(head);
    let turns =
        Turns { head, now: builder.block_params(head).try_into().expect("four of them"), steps: [given[4], given[5]] };
    let paired = is_paired(&lowered.writer.code);
    if paired {
        let (some, rest) = (builder.create_block(), builder.create_block());
        let enough = builder.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, turns.now[3], SIDE_BY_SIDE as i64);
        builder.ins().brif(enough, some, &[], rest, &[]);
        builder.switch_to_block(some);
        turns.emit(&mut builder, lowered, convention, SIDE_BY_SIDE);
        builder.switch_to_block(rest);
    }
    let body = builder.create_block();
    builder.ins().brif(turns.now[3], body, &[], done, &[]);
    builder.switch_to_block(body);
    turns.emit(&mut builder, lowered, convention, 1);
    builder.switch_to_block(done);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize();
    if paired { ROWS_OF_PAIRED } else { 1 }
}

/// Whether rows are computed side by side: each is one way without branches, mostly waits for divisions, and is short.
pub fn is_paired(code: &[Instruction]) -> bool {
    let divides = |instruction: &&Instruction| match instruction {
        Instruction::Call { helper, .. } => matches!(helper, Helper::Divide { .. } | Helper::Remainder { .. }),
        Instruction::Guess { .. } | Instruction::Binary(_, Binary::Div | Binary::Rem, ..) => true,
        _ => false,
    };
    let branches = code.iter().any(|instruction| matches!(instruction, Instruction::Branch { .. }));
    let divisions = code.iter().filter(divides).nth(MANY_DIVISIONS - 1);
    !branches && divisions.is_some() && ROWS_OF_PAIRED * weight(code) <= MOST_WEIGHT
}

/// Where the loop stands.
struct Turns {
    head: Block,
    /// Input, output and flag of the next row, and how many rows are left.
    now: [Value; 4],
    /// The bytes from one row to the next, of inputs and of outputs.
    steps: [Value; 2],
}

impl Turns {
    /// Write the code of the next rows, and go on behind them.
    fn emit(&self, builder: &mut FunctionBuilder<'_>, lowered: &Lowered, convention: CallConv, count: usize) {
        let [input, output, flag, left] = self.now;
        let mut rows = vec![[input, output]];
        for at in 1..count {
            rows.push(self.behind(builder, rows[at - 1]));
        }
        let end = builder.create_block();
        let flags: Vec<Value> = (0..count).map(|_| builder.append_block_param(end, I8)).collect();
        emit_rows(builder, lowered, convention, &rows, end);
        builder.switch_to_block(end);
        for (at, number) in (0..).zip(flags) {
            builder.ins().store(MemFlags::trusted(), number, flag, at);
        }
        let next = self.behind(builder, rows[count - 1]);
        let flag = builder.ins().iadd_imm(flag, count as i64);
        let left = builder.ins().iadd_imm(left, -(count as i64));
        builder.ins().jump(self.head, &[next[0].into(), next[1].into(), flag.into(), left.into()]);
    }

    /// Input and output of the row behind another one.
    fn behind(&self, builder: &mut FunctionBuilder<'_>, row: [Value; 2]) -> [Value; 2] {
        [0, 1].map(|which| builder.ins().iadd(row[which], self.steps[which]))
    }
}
