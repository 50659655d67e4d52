//! Limbs as PTX: the straight-line code of one row, whatever its loads and results are connected to.

use super::{
    assembler::{Assembler, Half},
    floats,
    functions::{self, Functions, Unsupported},
    products::multiply,
};
use crate::native::lowering::limbs::{Binary, Helper, Instruction, Limb, ZERO};

/// What a row reads and what becomes of its results.
pub trait Frame {
    /// The limb of the inputs at this place.
    fn load(&mut self, out: &mut Assembler, at: u32) -> Limb;
    fn store(&mut self, out: &mut Assembler, at: u32, value: Limb);
    /// The row ends as this leaf, unless `failed` is not zero.
    fn end(&mut self, out: &mut Assembler, leaf: u8, failed: Limb);
}

/// Prints instructions, and collects the device functions that they call.
pub struct Printer<'a, F> {
    pub out: Assembler,
    pub frame: F,
    pub functions: &'a mut Functions,
    /// The register or constant of each value.
    values: Vec<Limb>,
    /// Bits that must all be zero.
    pub failed: Limb,
    /// Products of at least so many halves are calls; none are where this is zero.
    pub called_products: usize,
}

impl<'a, F: Frame> Printer<'a, F> {
    pub fn new(frame: F, functions: &'a mut Functions, values: u32) -> Self {
        Self::over(Assembler::after(values), frame, functions, values)
    }

    /// Go on after some lines.
    pub fn over(out: Assembler, frame: F, functions: &'a mut Functions, values: u32) -> Self {
        Self { out, frame, functions, values: (0..values).map(Limb::Value).collect(), failed: ZERO, called_products: 0 }
    }

    pub fn limb(&self, limb: Limb) -> Limb {
        match limb {
            Limb::Known(_) => limb,
            Limb::Value(number) => self.values[number as usize],
        }
    }

    fn limbs(&self, limbs: &[Limb]) -> Vec<Limb> {
        limbs.iter().map(|limb| self.limb(*limb)).collect()
    }

    fn columns(&self, pairs: &[[Limb; 2]]) -> [Vec<Limb>; 2] {
        [0, 1].map(|side| pairs.iter().map(|pair| self.limb(pair[side])).collect())
    }

    pub fn print(&mut self, code: &[Instruction]) -> Result<(), Unsupported> {
        code.iter().try_for_each(|instruction| self.instruction(instruction))
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Unsupported> {
        match instruction {
            Instruction::Load { into, at } => self.values[*into as usize] = self.frame.load(&mut self.out, *at),
            Instruction::Store { at, value } => {
                let value = self.limb(*value);
                self.frame.store(&mut self.out, *at, value);
            }
            Instruction::Binary(into, binary, a, b) => self.binary(*into, *binary, [self.limb(*a), self.limb(*b)]),
            Instruction::Float(into, step, a, b) => {
                let (a, b) = (self.limb(*a), self.limb(*b));
                self.values[*into as usize] = floats::print(&mut self.out, *step, a, b);
            }
            Instruction::Funnel(into, upper, lower, by) => {
                self.values[*into as usize] = self.funnel(self.limb(*upper), self.limb(*lower), *by);
            }
            Instruction::LeadingZeros(into, limb) => {
                let count = self.out.half("clz.b64", &[&self.limb(*limb)]);
                self.out.set(Limb::Value(*into), "cvt.u64.u32", &[&count]);
            }
            Instruction::MultiplyAdd(into, x, y, a, b) => {
                self.multiply_add(*into, [*x, *y, *a, *b].map(|limb| self.limb(limb)));
            }
            Instruction::Multiply(into, a, b, size) => {
                let (a, b) = (self.limbs(a), self.limbs(b));
                let product = if self.called_products > 0 && halves(&a) * halves(&b) >= self.called_products {
                    let name = self.functions.declare_product(a.len(), b.len(), *size as usize);
                    functions::call(&mut self.out, &name, &[a, b].concat(), *size as usize)
                } else {
                    multiply(&mut self.out, &a, &b, *size as usize)
                };
                product.into_iter().zip(*into..).for_each(|(limb, into)| self.values[into as usize] = limb);
            }
            Instruction::Add(into, pairs) => self.chain("add", *into, pairs),
            Instruction::Sub(into, pairs) => self.chain("sub", *into, pairs),
            Instruction::Less(into, pairs) => {
                let [a, b] = self.columns(pairs);
                self.values[*into as usize] = self.out.less(&a, &b);
            }
            Instruction::Select(into, condition, then, otherwise) => {
                let [condition, then, otherwise] = [*condition, *then, *otherwise].map(|limb| self.limb(limb));
                let holds = self.out.is_set(condition);
                self.values[*into as usize] = self.out.select(holds, then, otherwise);
            }
            Instruction::Call { helper, into, results, arguments } => {
                let arguments = self.limbs(arguments);
                self.call(*helper, *into, *results, &arguments)?;
            }
            Instruction::Guess { .. } => unreachable!("code for a device guesses nothing"),
            Instruction::Fail(limb) => {
                let limb = self.limb(*limb);
                self.failed = match self.failed {
                    ZERO => limb,
                    failed => self.out.limb("or.b64", &[&failed, &limb]),
                };
            }
            Instruction::Branch { condition, then, otherwise } => {
                let (other, failed) = (self.out.label("otherwise"), self.failed);
                let never = self.out.test("setp.eq.u64", &[&self.limb(*condition), &0]);
                self.out.branch_if(never, &other);
                self.print(then)?;
                self.out.place(&other);
                self.failed = failed;
                self.print(otherwise)?;
            }
            Instruction::End(leaf) => self.frame.end(&mut self.out, *leaf, self.failed),
        }
        Ok(())
    }

    fn binary(&mut self, into: u32, binary: Binary, [a, b]: [Limb; 2]) {
        let (out, place) = (&mut self.out, Limb::Value(into));
        match binary {
            Binary::Add => out.set(place, "add.u64", &[&a, &b]),
            Binary::Sub => out.set(place, "sub.u64", &[&a, &b]),
            Binary::Mul => out.set(place, "mul.lo.u64", &[&a, &b]),
            Binary::And => out.set(place, "and.b64", &[&a, &b]),
            Binary::Or => out.set(place, "or.b64", &[&a, &b]),
            Binary::Xor => out.set(place, "xor.b64", &[&a, &b]),
            Binary::Div => out.set(place, "div.u64", &[&a, &b]),
            Binary::Rem => out.set(place, "rem.u64", &[&a, &b]),
            Binary::Shl | Binary::Shr | Binary::Sar => {
                let by = match b {
                    Limb::Known(by) => Half::Known(by as u32),
                    Limb::Value(_) => out.half("cvt.u32.u64", &[&b]),
                };
                let operation = match binary {
                    Binary::Shl => "shl.b64",
                    Binary::Shr => "shr.u64",
                    _ => "shr.s64",
                };
                out.set(place, operation, &[&a, &by]);
            }
            Binary::Equal => {
                let equal = out.test("setp.eq.u64", &[&a, &b]);
                out.set(place, "selp.b64", &[&1, &0, &equal]);
            }
        }
    }

    /// The lower limb of two shifted right, half by half.
    fn funnel(&mut self, upper: Limb, lower: Limb, by: u32) -> Limb {
        let out = &mut self.out;
        let (upper, lower) = (out.split(upper), out.split(lower));
        let halves = [lower[0], lower[1], upper[0], upper[1]];
        let (first, by) = ((by / 32) as usize, by % 32);
        if by == 0 {
            return out.join([halves[first], halves[first + 1]]);
        }
        let shifted =
            [0, 1].map(|at| out.half("shf.r.clamp.b32", &[&halves[first + at], &halves[first + at + 1], &by]));
        out.join(shifted)
    }

    fn multiply_add(&mut self, into: [u32; 2], [x, y, a, b]: [Limb; 4]) {
        let (out, [low, high]) = (&mut self.out, into.map(Limb::Value));
        let (a, b) = if a == ZERO { (b, a) } else { (a, b) };
        if a == ZERO {
            out.set(low, "mul.lo.u64", &[&x, &y]);
            return out.set(high, "mul.hi.u64", &[&x, &y]);
        }
        out.set(low, "mad.lo.cc.u64", &[&x, &y, &a]);
        out.set(high, "madc.hi.u64", &[&x, &y, &0]);
        if b != ZERO {
            out.set(low, "add.cc.u64", &[&low, &b]);
            out.set(high, "addc.u64", &[&high, &0]);
        }
    }

    fn chain(&mut self, name: &str, into: u32, pairs: &[[Limb; 2]]) {
        let [a, b] = self.columns(pairs);
        let into: Vec<Limb> = (into..).take(pairs.len()).map(Limb::Value).collect();
        self.out.chain_into(name, &into, &a, &b, false);
    }

    /// A call of a device function: arguments and results are arrays of limbs.
    fn call(&mut self, helper: Helper, into: u32, results: u32, arguments: &[Limb]) -> Result<(), Unsupported> {
        let name = self.functions.declare(helper, arguments.len(), results as usize)?;
        let found = functions::call(&mut self.out, &name, arguments, results as usize);
        found.into_iter().zip(into..).for_each(|(limb, into)| self.values[into as usize] = limb);
        Ok(())
    }
}

/// Halves of a number that are not certainly zero.
fn halves(limbs: &[Limb]) -> usize {
    let count = |limb: &Limb| match limb {
        Limb::Known(value) => usize::from(*value as u32 != 0) + usize::from(value >> 32 != 0),
        Limb::Value(_) => 2,
    };
    limbs.iter().map(count).sum()
}
