//! Limbs as Cranelift's instructions: a loop over rows around the straight-line code.

use cranelift_codegen::{
    ir::{
        Block, InstBuilder, MemFlags, StackSlot, StackSlotData, StackSlotKind, Value,
        condcodes::IntCC,
        types::{I8, I64, I128},
    },
    isa::CallConv,
};
use cranelift_frontend::FunctionBuilder;

use super::{emit_calls::Signatures, emit_float};
use crate::native::lowering::{
    limbs::{Binary, Instruction, Limb, ZERO},
    lower::Lowered,
};

pub(super) struct Emitter<'a, 'b> {
    pub(super) builder: &'a mut FunctionBuilder<'b>,
    pub(super) lowered: &'a Lowered,
    values: Vec<Option<Value>>,
    input: Value,
    output: Value,
    /// Where every row ends, with its flag.
    end: Block,
    /// Bits that must all be zero.
    failed: Option<Value>,
    /// Where calls find their arguments and leave their results.
    pub(super) arguments: StackSlot,
    pub(super) results: StackSlot,
    pub(super) signatures: Signatures,
}

/// Write the whole function: a loop over rows.
pub fn emit(mut builder: FunctionBuilder<'_>, lowered: &Lowered, convention: CallConv) {
    let (start, head, body, done) =
        (builder.create_block(), builder.create_block(), builder.create_block(), builder.create_block());
    builder.append_block_params_for_function_params(start);
    builder.switch_to_block(start);
    let given: Vec<Value> = builder.block_params(start).to_vec();
    let (input_step, output_step) = (given[4], given[5]);
    for _ in 0..4 {
        builder.append_block_param(head, I64);
    }
    builder.ins().jump(head, &[given[0].into(), given[1].into(), given[2].into(), given[3].into()]);
    builder.switch_to_block(head);
    let [input, output, flag, left]: [Value; 4] = builder.block_params(head).try_into().expect("four of them");
    builder.ins().brif(left, body, &[], done, &[]);
    builder.switch_to_block(body);
    let end = builder.create_block();
    let number = builder.append_block_param(end, I8);
    emit_row(&mut builder, lowered, convention, [input, output], end);
    builder.switch_to_block(end);
    builder.ins().store(MemFlags::trusted(), number, flag, 0);
    let next = [
        builder.ins().iadd(input, input_step),
        builder.ins().iadd(output, output_step),
        builder.ins().iadd_imm(flag, 1),
        builder.ins().iadd_imm(left, -1),
    ];
    builder.ins().jump(head, &next.map(Into::into));
    builder.switch_to_block(done);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize();
}

fn emit_row(
    builder: &mut FunctionBuilder<'_>,
    lowered: &Lowered,
    convention: CallConv,
    [input, output]: [Value; 2],
    end: Block,
) {
    let most = most_limbs(&lowered.writer.code);
    let mut slot = |limbs: u32| {
        builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * limbs.max(4), 3))
    };
    let (arguments, results) = (slot(most[0]), slot(most[1]));
    let signatures = Signatures::new(builder, convention);
    let values = vec![None; lowered.writer.values as usize];
    let mut emitter =
        Emitter { builder, lowered, values, input, output, end, failed: None, arguments, results, signatures };
    lowered.writer.code.iter().for_each(|instruction| emitter.emit(instruction));
}

/// The most limbs that a call takes, and gives.
fn most_limbs(code: &[Instruction]) -> [u32; 2] {
    code.iter().fold([1, 1], |most, instruction| {
        let [taken, given] = match instruction {
            Instruction::Call { arguments, results, .. } => [arguments.len() as u32, *results],
            // A quotient is as long as its dividend.
            Instruction::Guess { arguments, .. } => [arguments.len() as u32; 2],
            Instruction::Branch { then, otherwise, .. } => {
                let (then, otherwise) = (most_limbs(then), most_limbs(otherwise));
                [then[0].max(otherwise[0]), then[1].max(otherwise[1])]
            }
            _ => return most,
        };
        [most[0].max(taken), most[1].max(given)]
    })
}

impl Emitter<'_, '_> {
    pub(super) fn limb(&mut self, limb: Limb) -> Value {
        match limb {
            Limb::Known(value) => self.builder.ins().iconst(I64, value.cast_signed()),
            Limb::Value(number) => self.values[number as usize].expect("values are written before they are read"),
        }
    }

    pub(super) fn set(&mut self, into: u32, value: Value) {
        self.values[into as usize] = Some(value);
    }

    fn emit(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Load { into, at } => {
                let value = self.builder.ins().load(I64, MemFlags::trusted(), self.input, 8 * at.cast_signed());
                self.set(*into, value);
            }
            Instruction::Store { at, value } => {
                let value = self.limb(*value);
                self.builder.ins().store(MemFlags::trusted(), value, self.output, 8 * at.cast_signed());
            }
            Instruction::Binary(into, binary, a, b) => self.binary(*into, *binary, *a, *b),
            Instruction::Float(into, step, a, b) => {
                let (a, b) = (self.limb(*a), self.limb(*b));
                let value = emit_float::emit(self.builder, *step, a, b);
                self.set(*into, value);
            }
            Instruction::Funnel(into, upper, lower, by) => {
                let (upper, lower) = (self.limb(*upper), self.limb(*lower));
                let lower = self.builder.ins().ushr_imm(lower, i64::from(*by));
                let upper = self.builder.ins().ishl_imm(upper, i64::from(64 - by));
                let value = self.builder.ins().bor(lower, upper);
                self.set(*into, value);
            }
            Instruction::LeadingZeros(into, limb) => {
                let limb = self.limb(*limb);
                let value = self.builder.ins().clz(limb);
                self.set(*into, value);
            }
            Instruction::MultiplyAdd(into, x, y, a, b) => self.multiply_add(*into, [*x, *y], [*a, *b]),
            Instruction::Multiply(..) => unreachable!("only code for a device has whole products"),
            Instruction::Add(into, pairs) => self.chain(*into, pairs, true),
            Instruction::Sub(into, pairs) => self.chain(*into, pairs, false),
            Instruction::Less(into, pairs) => {
                let less = self.less(pairs);
                let value = self.builder.ins().uextend(I64, less);
                self.set(*into, value);
            }
            Instruction::Select(into, condition, then, otherwise) => {
                let [condition, then, otherwise] = [*condition, *then, *otherwise].map(|limb| self.limb(limb));
                let value = self.builder.ins().select(condition, then, otherwise);
                self.set(*into, value);
            }
            Instruction::Call { helper, into, results, arguments } => self.call(*helper, *into, *results, arguments),
            Instruction::Guess { wrong, guess, helper, into, arguments } => {
                self.guess(*wrong, guess, *into, |emitter| {
                    emitter.call(*helper, *into, guess.len() as u32, arguments);
                });
            }
            Instruction::Fail(limb) => {
                let limb = self.limb(*limb);
                self.failed = Some(match self.failed {
                    Some(failed) => self.builder.ins().bor(failed, limb),
                    None => limb,
                });
            }
            Instruction::Branch { condition, then, otherwise } => self.branch(*condition, [then, otherwise]),
            Instruction::End(number) => self.finish(*number),
        }
    }

    fn branch(&mut self, condition: Limb, sides: [&[Instruction]; 2]) {
        let condition = self.limb(condition);
        let blocks = [self.builder.create_block(), self.builder.create_block()];
        self.builder.ins().brif(condition, blocks[0], &[], blocks[1], &[]);
        let failed = self.failed;
        for (block, side) in blocks.into_iter().zip(sides) {
            self.builder.switch_to_block(block);
            self.failed = failed;
            side.iter().for_each(|instruction| self.emit(instruction));
        }
    }

    /// End a row with a number where it did not fail.
    fn finish(&mut self, number: u8) {
        let mut flag = self.builder.ins().iconst(I8, i64::from(number));
        if let Some(failed) = self.failed.filter(|_| number > 0) {
            let none = self.builder.ins().iconst(I8, 0);
            flag = match number {
                1 => self.builder.ins().icmp_imm(IntCC::Equal, failed, 0),
                _ => self.builder.ins().select(failed, none, flag),
            };
        }
        self.builder.ins().jump(self.end, &[flag.into()]);
    }

    fn binary(&mut self, into: u32, binary: Binary, a: Limb, b: Limb) {
        let (a, b) = (self.limb(a), self.limb(b));
        let ins = self.builder.ins();
        let value = match binary {
            Binary::Add => ins.iadd(a, b),
            Binary::Sub => ins.isub(a, b),
            Binary::Mul => ins.imul(a, b),
            Binary::And => ins.band(a, b),
            Binary::Or => ins.bor(a, b),
            Binary::Xor => ins.bxor(a, b),
            Binary::Shl => ins.ishl(a, b),
            Binary::Shr => ins.ushr(a, b),
            Binary::Sar => ins.sshr(a, b),
            Binary::Div => ins.udiv(a, b),
            Binary::Rem => ins.urem(a, b),
            Binary::Equal => {
                let equal = ins.icmp(IntCC::Equal, a, b);
                self.builder.ins().uextend(I64, equal)
            }
        };
        self.set(into, value);
    }

    fn multiply_add(&mut self, into: [u32; 2], factors: [Limb; 2], more: [Limb; 2]) {
        let [x, y] = factors.map(|limb| self.wide(limb));
        let mut sum = self.builder.ins().imul(x, y);
        for limb in more.into_iter().filter(|limb| *limb != ZERO) {
            let limb = self.wide(limb);
            sum = self.builder.ins().iadd(sum, limb);
        }
        let (low, high) = self.builder.ins().isplit(sum);
        self.set(into[0], low);
        self.set(into[1], high);
    }

    fn wide(&mut self, limb: Limb) -> Value {
        let limb = self.limb(limb);
        self.builder.ins().uextend(I128, limb)
    }

    fn joined(&mut self, low: Limb, high: Limb) -> Value {
        let (low, high) = (self.limb(low), self.limb(high));
        self.builder.ins().iconcat(low, high)
    }

    /// A sum or difference in pairs of limbs; what is carried goes from pair to pair.
    fn chain(&mut self, into: u32, pairs: &[[Limb; 2]], add: bool) {
        let mut carried: Option<Value> = None;
        for (at, pair) in pairs.chunks(2).enumerate() {
            let first = into + 2 * at as u32;
            let last = 2 * at + 2 >= pairs.len();
            if let [[a, b]] = pair {
                let (a, b) = (self.limb(*a), self.limb(*b));
                let (value, _) = self.step(a, b, carried, add, true);
                self.set(first, value);
            } else {
                let (a, b) = (self.joined(pair[0][0], pair[1][0]), self.joined(pair[0][1], pair[1][1]));
                let (value, next) = self.step(a, b, carried, add, last);
                let (low, high) = self.builder.ins().isplit(value);
                self.set(first, low);
                self.set(first + 1, high);
                carried = next;
            }
        }
    }

    /// One link of a chain; the last one carries nothing on.
    fn step(&mut self, a: Value, b: Value, carried: Option<Value>, add: bool, last: bool) -> (Value, Option<Value>) {
        let carried = carried.map(|carried| {
            let kind = self.builder.func.dfg.value_type(a);
            self.builder.ins().uextend(kind, carried)
        });
        if last {
            let plain = |emitter: &mut Self, a, b| {
                if add { emitter.builder.ins().iadd(a, b) } else { emitter.builder.ins().isub(a, b) }
            };
            let value = plain(self, a, b);
            return (carried.map_or(value, |carried| plain(self, value, carried)), None);
        }
        let checked = |emitter: &mut Self, a, b| {
            let ins = emitter.builder.ins();
            if add { ins.uadd_overflow(a, b) } else { ins.usub_overflow(a, b) }
        };
        let (value, first) = checked(self, a, b);
        let Some(carried) = carried else { return (value, Some(first)) };
        let (value, second) = checked(self, value, carried);
        (value, Some(self.builder.ins().bor(first, second)))
    }

    /// Whether a number is below another one, from the lowest pair of limbs up.
    fn less(&mut self, pairs: &[[Limb; 2]]) -> Value {
        let mut below: Option<Value> = None;
        for pair in pairs.chunks(2) {
            let (a, b) = match pair {
                [[a, b]] => (self.limb(*a), self.limb(*b)),
                _ => (self.joined(pair[0][0], pair[1][0]), self.joined(pair[0][1], pair[1][1])),
            };
            let less = self.builder.ins().icmp(IntCC::UnsignedLessThan, a, b);
            below = Some(match below {
                None => less,
                Some(below) => {
                    let equal = self.builder.ins().icmp(IntCC::Equal, a, b);
                    let below = self.builder.ins().band(equal, below);
                    self.builder.ins().bor(less, below)
                }
            });
        }
        below.expect("numbers have limbs")
    }
}
