//! Limbs as Cranelift's instructions: the straight-line code of one row, or of some rows side by side.

use cranelift_codegen::{
    ir::{
        Block, BlockArg, InstBuilder, MemFlags, StackSlot, StackSlotData, StackSlotKind, Value,
        condcodes::IntCC,
        types::{I8, I64, I128},
    },
    isa::CallConv,
};
use cranelift_frontend::FunctionBuilder;
use revm::primitives::{HashMap, HashSet};

use super::{emit_calls::Signatures, emit_float, registers};
use crate::native::lowering::{
    limbs::{Binary, Helper, Instruction, Limb, ZERO},
    lower::Lowered,
};

/// Two numbers, limb by limb.
type Pairs = Vec<[Limb; 2]>;

pub(super) struct Emitter<'a, 'b> {
    pub(super) builder: &'a mut FunctionBuilder<'b>,
    pub(super) lowered: &'a Lowered,
    /// The rows, and the one that the next instruction is for.
    lanes: Vec<Lane>,
    lane: usize,
    /// Where the rows end, with their flags.
    end: Block,
    /// Differences that are wanted: a comparison of the same numbers makes them too.
    differences: HashSet<Pairs>,
    /// Where calls find their arguments and leave their results, if not in registers.
    pub(super) memory: Option<[StackSlot; 2]>,
    pub(super) signatures: Signatures,
}

/// One of the rows that are computed side by side.
struct Lane {
    values: Vec<Option<Value>>,
    input: Value,
    output: Value,
    /// Comparisons and their opposites, for those limbs that are one.
    bits: HashMap<u32, [Value; 2]>,
    /// Differences that comparisons have made.
    differences: HashMap<Pairs, Value>,
    /// Limbs that must all be zero, and comparisons that must not hold.
    failed: [Option<Value>; 2],
    flag: Option<Value>,
}

impl Lane {
    fn new([input, output]: [Value; 2], values: u32) -> Self {
        Self {
            values: vec![None; values as usize],
            input,
            output,
            bits: HashMap::default(),
            differences: HashMap::default(),
            failed: [None; 2],
            flag: None,
        }
    }
}

/// Whether what follows an instruction waits for it: the other rows come first then.
fn waits(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Call { .. } | Instruction::Guess { .. })
}

/// Write the code of rows whose inputs and outputs are given, to be run at the same time: up to the next division of
/// one, then up to that of the other, so that one goes on while the other would wait. More than one row have no branches.
pub(super) fn emit_rows(
    builder: &mut FunctionBuilder<'_>,
    lowered: &Lowered,
    convention: CallConv,
    rows: &[[Value; 2]],
    end: Block,
) {
    let memory = most_limbs(&lowered.writer.code).map(|most| {
        most.map(|limbs| {
            builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * limbs.max(4), 3))
        })
    });
    let differences = differences(&lowered.writer.code);
    let signatures = Signatures::new(builder, convention);
    let lanes = rows.iter().map(|row| Lane::new(*row, lowered.writer.values)).collect();
    let mut emitter = Emitter { builder, lowered, lanes, lane: 0, end, differences, memory, signatures };
    for part in lowered.writer.code.split_inclusive(waits) {
        for lane in 0..rows.len() {
            emitter.lane = lane;
            part.iter().for_each(|instruction| emitter.emit(instruction));
        }
    }
}

/// The most limbs that a call takes in memory, and gives; none where all are in registers.
fn most_limbs(code: &[Instruction]) -> Option<[u32; 2]> {
    let larger = |one: [u32; 2], other: [u32; 2]| [one[0].max(other[0]), one[1].max(other[1])];
    let each = code.iter().filter_map(|instruction| match instruction {
        Instruction::Call { helper, arguments, results, .. } => taken_by(*helper, arguments, *results),
        Instruction::Guess { helper, arguments, guess, .. } => taken_by(*helper, arguments, guess.len() as u32),
        Instruction::Branch { then, otherwise, .. } => {
            [then, otherwise].into_iter().filter_map(|side| most_limbs(side)).reduce(larger)
        }
        _ => None,
    });
    each.reduce(larger)
}

/// The limbs that one call takes in memory, and gives: a quotient is as long as its dividend there.
fn taken_by(helper: Helper, arguments: &[Limb], results: u32) -> Option<[u32; 2]> {
    let taken = arguments.len() as u32;
    registers::filled(helper, arguments, results).is_none().then(|| [taken, taken.max(results)])
}

/// Differences of up to two limbs.
fn differences(code: &[Instruction]) -> HashSet<Pairs> {
    let mut found = HashSet::default();
    for instruction in code {
        match instruction {
            Instruction::Sub(_, pairs) if pairs.len() <= 2 => _ = found.insert(pairs.clone()),
            Instruction::Branch { then, otherwise, .. } => {
                [then, otherwise].into_iter().for_each(|side| found.extend(differences(side)));
            }
            _ => {}
        }
    }
    found
}

impl Emitter<'_, '_> {
    pub(super) fn limb(&mut self, limb: Limb) -> Value {
        match limb {
            Limb::Known(value) => self.builder.ins().iconst(I64, value.cast_signed()),
            Limb::Value(number) => {
                self.lanes[self.lane].values[number as usize].expect("values are written before they are read")
            }
        }
    }

    pub(super) fn set(&mut self, into: u32, value: Value) {
        self.lanes[self.lane].values[into as usize] = Some(value);
    }

    fn emit(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Load { into, at } => {
                let value = self.builder.ins().load(
                    I64,
                    MemFlags::trusted(),
                    self.lanes[self.lane].input,
                    8 * at.cast_signed(),
                );
                self.set(*into, value);
            }
            Instruction::Store { at, value } => {
                let value = self.limb(*value);
                self.builder.ins().store(
                    MemFlags::trusted(),
                    value,
                    self.lanes[self.lane].output,
                    8 * at.cast_signed(),
                );
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
                let bits = self.less(pairs);
                self.set_bit(*into, bits);
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
            Instruction::Fail(limb) => self.fail(*limb),
            Instruction::Branch { condition, then, otherwise } => self.branch(*condition, [then, otherwise]),
            Instruction::End(number) => self.finish(*number),
        }
    }

    /// A comparison, and its opposite: what is not used of them is no code.
    fn set_bit(&mut self, into: u32, bits: [Value; 2]) {
        let value = self.builder.ins().uextend(I64, bits[0]);
        self.set(into, value);
        self.lanes[self.lane].bits.insert(into, bits);
    }

    /// The comparison that a limb is, and its opposite.
    fn bit(&self, limb: Limb) -> Option<[Value; 2]> {
        let Limb::Value(number) = limb else { return None };
        self.lanes[self.lane].bits.get(&number).copied()
    }

    /// Note that the row fails unless a limb is zero; comparisons are collected as they are.
    fn fail(&mut self, limb: Limb) {
        let (which, more) = match self.bit(limb) {
            Some([holds, _]) => (1, holds),
            None => (0, self.limb(limb)),
        };
        let failed = &mut self.lanes[self.lane].failed[which];
        *failed = Some(match *failed {
            Some(failed) => self.builder.ins().bor(failed, more),
            None => more,
        });
    }

    /// A limb that is zero unless the row has failed; none where nothing could fail.
    fn failed(&mut self) -> Option<Value> {
        let [limbs, bits] = self.lanes[self.lane].failed;
        let bits = bits.map(|bits| self.builder.ins().uextend(I64, bits));
        match (limbs, bits) {
            (Some(limbs), Some(bits)) => Some(self.builder.ins().bor(limbs, bits)),
            (limbs, bits) => limbs.or(bits),
        }
    }

    fn branch(&mut self, condition: Limb, sides: [&[Instruction]; 2]) {
        let condition = self.limb(condition);
        let blocks = [self.builder.create_block(), self.builder.create_block()];
        self.builder.ins().brif(condition, blocks[0], &[], blocks[1], &[]);
        let Lane { failed, differences, .. } = &self.lanes[self.lane];
        let (failed, differences) = (*failed, differences.clone());
        for (block, side) in blocks.into_iter().zip(sides) {
            self.builder.switch_to_block(block);
            self.lanes[self.lane].failed = failed;
            self.lanes[self.lane].differences.clone_from(&differences);
            side.iter().for_each(|instruction| self.emit(instruction));
        }
    }

    /// End a row with a number where it did not fail; the last one goes on, with the flags of all.
    fn finish(&mut self, number: u8) {
        let mut flag = self.builder.ins().iconst(I8, i64::from(number));
        if let Some(failed) = self.failed().filter(|_| number > 0) {
            let none = self.builder.ins().iconst(I8, 0);
            flag = match number {
                1 => self.builder.ins().icmp_imm(IntCC::Equal, failed, 0),
                _ => self.builder.ins().select(failed, none, flag),
            };
        }
        self.lanes[self.lane].flag = Some(flag);
        if self.lane + 1 == self.lanes.len() {
            let flags: Vec<BlockArg> = self.lanes.iter().filter_map(|lane| lane.flag).map(BlockArg::from).collect();
            self.builder.ins().jump(self.end, &flags);
        }
    }

    fn binary(&mut self, into: u32, binary: Binary, a: Limb, b: Limb) {
        if let (Binary::Xor, Some([holds, not]), Limb::Known(1)) = (binary, self.bit(a), b) {
            return self.set_bit(into, [not, holds]);
        }
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
                let bits = [IntCC::Equal, IntCC::NotEqual].map(|test| self.builder.ins().icmp(test, a, b));
                return self.set_bit(into, bits);
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
        if let Some(known) = self.lanes[self.lane].differences.get(pairs).filter(|_| !add).copied() {
            return self.set_whole(into, known, pairs.len());
        }
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
                self.set_whole(first, value, 2);
                carried = next;
            }
        }
    }

    /// One limb, or two that are one number.
    fn set_whole(&mut self, into: u32, value: Value, limbs: usize) {
        if limbs == 1 {
            return self.set(into, value);
        }
        let (low, high) = self.builder.ins().isplit(value);
        self.set(into, low);
        self.set(into + 1, high);
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

    /// Whether a number is below another one, from the lowest pair of limbs up; and whether it is not.
    fn less(&mut self, pairs: &[[Limb; 2]]) -> [Value; 2] {
        let differs = self.differences.contains(pairs);
        let mut below: Option<[Value; 2]> = None;
        for pair in pairs.chunks(2) {
            let (a, b) = match pair {
                [[a, b]] => (self.limb(*a), self.limb(*b)),
                _ => (self.joined(pair[0][0], pair[1][0]), self.joined(pair[0][1], pair[1][1])),
            };
            if differs {
                let (difference, below) = self.builder.ins().usub_overflow(a, b);
                self.lanes[self.lane].differences.insert(pairs.to_vec(), difference);
                return [below, self.builder.ins().bxor_imm(below, 1)];
            }
            let less = [IntCC::UnsignedLessThan, IntCC::UnsignedGreaterThanOrEqual]
                .map(|test| self.builder.ins().icmp(test, a, b));
            below = Some(match below {
                None => less,
                Some([below, _]) => {
                    let equal = self.builder.ins().icmp(IntCC::Equal, a, b);
                    let below = self.builder.ins().band(equal, below);
                    let below = self.builder.ins().bor(less[0], below);
                    [below, self.builder.ins().bxor_imm(below, 1)]
                }
            });
        }
        below.expect("numbers have limbs")
    }
}
