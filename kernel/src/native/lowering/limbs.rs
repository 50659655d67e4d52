//! Straight-line code over 64-bit limbs, folded as it is written: what every code generator is given.

use super::float_steps::FloatStep;
use crate::faults::Fault;

/// A limb: known now, or the number of a value at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limb {
    Known(u64),
    Value(u32),
}

pub const ZERO: Limb = Limb::Known(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// Shifts by less than 64 bits.
    Shl,
    Shr,
    Sar,
    /// Unsigned division; the divisor is not zero.
    Div,
    Rem,
    Equal,
}

/// A function of the kernel that generated code calls with limbs in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// The quotient of the first limbs by the others.
    Divide {
        dividend: u8,
    },
    Remainder {
        dividend: u8,
    },
    /// 2^255 by a number of two limbs that is shifted to its highest bit, or a little more: two limbs. It is wanted by
    /// guesses alone, so it need not be exact; zero where the upper limb is zero.
    Reciprocal,
    /// A pure instruction on three words.
    Pure(u8),
    /// The hash of this text with the words given.
    Keccak(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    Load {
        into: u32,
        at: u32,
    },
    Store {
        at: u32,
        value: Limb,
    },
    Binary(u32, Binary, Limb, Limb),
    Float(u32, FloatStep, Limb, Limb),
    /// The upper and lower limb together shifted right by a known number of bits, 1 to 63: the lower limb of it.
    Funnel(u32, Limb, Limb, u32),
    LeadingZeros(u32, Limb),
    /// `x · y + a + b`: the lower and the upper limb.
    MultiplyAdd([u32; 2], Limb, Limb, Limb, Limb),
    /// The lowest limbs of a whole product, numbered from `into` on: only a device's code has these.
    Multiply(u32, Vec<Limb>, Vec<Limb>, u32),
    /// Sums and differences of numbers of the same length, lowest limb first; values are numbered from `into` on.
    Add(u32, Vec<[Limb; 2]>),
    Sub(u32, Vec<[Limb; 2]>),
    /// 1 where the first number is below the second.
    Less(u32, Vec<[Limb; 2]>),
    /// The first where the condition is not zero.
    Select(u32, Limb, Limb, Limb),
    Call {
        helper: Helper,
        into: u32,
        results: u32,
        arguments: Vec<Limb>,
    },
    /// A guess, or what the helper gives where the guess is wrong: where the first limb is not zero.
    Guess {
        wrong: Limb,
        guess: Vec<Limb>,
        helper: Helper,
        into: u32,
        arguments: Vec<Limb>,
    },
    /// The row fails unless this is zero.
    Fail(Limb),
    /// One of both, and nothing after it.
    Branch {
        condition: Limb,
        then: Vec<Instruction>,
        otherwise: Vec<Instruction>,
    },
    /// The end of a row: its flag becomes this number unless it failed.
    End(u8),
}

impl Instruction {
    /// What it takes to compile: no fewer instructions than a code generator makes of it.
    pub fn weight(&self) -> usize {
        match self {
            Self::Load { .. } | Self::LeadingZeros(..) => 2,
            Self::Store { .. } | Self::Fail(_) => 3,
            Self::Binary(..) | Self::Funnel(..) | Self::Select(..) => 6,
            Self::End(_) => 8,
            Self::Float(..) | Self::MultiplyAdd(..) => 14,
            Self::Multiply(_, a, b, _) => 14 * a.len() * b.len(),
            Self::Add(_, pairs) | Self::Sub(_, pairs) | Self::Less(_, pairs) => 2 + 7 * pairs.len(),
            Self::Call { arguments, results, .. } => 12 + 2 * arguments.len() + *results as usize,
            Self::Guess { guess, arguments, .. } => 16 + 2 * arguments.len() + 3 * guess.len(),
            Self::Branch { then, otherwise, .. } => 4 + weight(then) + weight(otherwise),
        }
    }
}

/// What it takes to compile code for one row.
pub fn weight(code: &[Instruction]) -> usize {
    code.iter().map(Instruction::weight).sum()
}

/// The kind of processor that code is made for: it decides how numbers of two limbs are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// A processor that divides 128 bits by 64 as fast as it makes a few products, one after the other.
    #[default]
    FastDivision,
    /// A processor that takes much longer for a division, which is replaced by products.
    SlowDivision,
    /// A GPU, which multiplies halves of limbs; quotients are not guessed.
    Device,
}

/// Writes instructions; what is known is computed at once.
#[derive(Default)]
pub struct Writer {
    pub code: Vec<Instruction>,
    pub values: u32,
    pub target: Target,
}

impl Writer {
    pub(super) fn fresh(&mut self, count: usize) -> u32 {
        self.values += count as u32;
        self.values - count as u32
    }

    fn range(first: u32, count: usize) -> Vec<Limb> {
        (first..first + count as u32).map(Limb::Value).collect()
    }

    pub fn load(&mut self, at: usize) -> Limb {
        let into = self.fresh(1);
        self.code.push(Instruction::Load { into, at: at as u32 });
        Limb::Value(into)
    }

    pub fn store(&mut self, at: usize, value: Limb) {
        self.code.push(Instruction::Store { at: at as u32, value });
    }

    pub fn fail(&mut self, value: Limb) {
        if value != ZERO {
            self.code.push(Instruction::Fail(value));
        }
    }

    pub fn binary(&mut self, binary: Binary, a: Limb, b: Limb) -> Limb {
        if let (Limb::Known(a), Limb::Known(b)) = (a, b) {
            return Limb::Known(fold(binary, a, b));
        }
        use Binary::{Add, And, Div, Equal, Mul, Or, Rem, Sar, Shl, Shr, Sub, Xor};
        match (binary, a, b) {
            (Add | Or | Xor, ZERO, other) | (Add | Sub | Or | Xor | Shl | Shr | Sar, other, ZERO) => other,
            (Mul, Limb::Known(1), other) | (Mul | Div, other, Limb::Known(1)) => other,
            (And, Limb::Known(u64::MAX), other) | (And, other, Limb::Known(u64::MAX)) => other,
            (Mul | And, ZERO, _) | (Mul | And, _, ZERO) | (Shl | Shr | Sar | Div | Rem, ZERO, _) => ZERO,
            (And | Or, _, _) if a == b => a,
            (Sub | Xor, _, _) if a == b => ZERO,
            (Equal, _, _) if a == b => Limb::Known(1),
            _ => {
                let into = self.fresh(1);
                self.code.push(Instruction::Binary(into, binary, a, b));
                Limb::Value(into)
            }
        }
    }

    pub fn and(&mut self, a: Limb, b: Limb) -> Limb {
        self.binary(Binary::And, a, b)
    }

    pub fn or(&mut self, a: Limb, b: Limb) -> Limb {
        self.binary(Binary::Or, a, b)
    }

    pub fn xor(&mut self, a: Limb, b: Limb) -> Limb {
        self.binary(Binary::Xor, a, b)
    }

    /// All bits of some limbs in one.
    pub fn any(&mut self, limbs: &[Limb]) -> Limb {
        limbs.iter().fold(ZERO, |all, limb| self.or(all, *limb))
    }

    pub fn is_zero(&mut self, limb: Limb) -> Limb {
        self.binary(Binary::Equal, limb, ZERO)
    }

    /// 1 unless the limb is zero.
    pub fn is_set(&mut self, limb: Limb) -> Limb {
        let zero = self.is_zero(limb);
        self.xor(zero, Limb::Known(1))
    }

    pub fn leading_zeros(&mut self, limb: Limb) -> Limb {
        match limb {
            Limb::Known(value) => Limb::Known(u64::from(value.leading_zeros())),
            Limb::Value(_) => {
                let into = self.fresh(1);
                self.code.push(Instruction::LeadingZeros(into, limb));
                Limb::Value(into)
            }
        }
    }

    /// The lower limb of both shifted right by 0 to 63 bits.
    pub fn funnel(&mut self, upper: Limb, lower: Limb, by: u32) -> Limb {
        match (upper, lower) {
            _ if by == 0 => lower,
            (ZERO, _) => self.binary(Binary::Shr, lower, Limb::Known(u64::from(by))),
            (_, ZERO) => self.binary(Binary::Shl, upper, Limb::Known(u64::from(64 - by))),
            (Limb::Known(upper), Limb::Known(lower)) => Limb::Known(lower >> by | upper << (64 - by)),
            _ => {
                let into = self.fresh(1);
                self.code.push(Instruction::Funnel(into, upper, lower, by));
                Limb::Value(into)
            }
        }
    }

    pub fn select(&mut self, condition: Limb, then: Limb, otherwise: Limb) -> Limb {
        match condition {
            _ if then == otherwise => then,
            Limb::Known(value) => {
                if value == 0 {
                    otherwise
                } else {
                    then
                }
            }
            Limb::Value(_) => {
                let into = self.fresh(1);
                self.code.push(Instruction::Select(into, condition, then, otherwise));
                Limb::Value(into)
            }
        }
    }

    /// `x · y + a + b`, lower and upper limb; it never needs a third.
    pub fn multiply_add(&mut self, x: Limb, y: Limb, a: Limb, b: Limb) -> (Limb, Limb) {
        if let (Limb::Known(x), Limb::Known(y), Limb::Known(a), Limb::Known(b)) = (x, y, a, b) {
            let sum = u128::from(x) * u128::from(y) + u128::from(a) + u128::from(b);
            return (Limb::Known(sum as u64), Limb::Known((sum >> 64) as u64));
        }
        if x == ZERO || y == ZERO {
            let (a, b) = if a == ZERO { (b, a) } else { (a, b) };
            let sum = self.add(&[a, ZERO], &[b, ZERO]);
            return (sum[0], sum[1]);
        }
        let into = self.fresh(2);
        self.code.push(Instruction::MultiplyAdd([into, into + 1], x, y, a, b));
        (Limb::Value(into), Limb::Value(into + 1))
    }

    /// The lowest `size` limbs of a product that stays whole.
    pub fn multiply(&mut self, a: &[Limb], b: &[Limb], size: usize) -> Vec<Limb> {
        let used = |limbs: &[Limb]| limbs.iter().rposition(|limb| *limb != ZERO).map_or(0, |at| (at + 1).min(size));
        let (a, b) = (&a[..used(a)], &b[..used(b)]);
        let count = size.min(a.len() + b.len());
        let mut result = match (a, b) {
            ([], _) | (_, []) => Vec::new(),
            ([x], [y]) if size == 1 => vec![self.binary(Binary::Mul, *x, *y)],
            ([Limb::Known(1)], other) | (other, [Limb::Known(1)]) => other.to_vec(),
            _ => {
                let into = self.fresh(count);
                self.code.push(Instruction::Multiply(into, a.to_vec(), b.to_vec(), count as u32));
                Self::range(into, count)
            }
        };
        result.resize(size, ZERO);
        result
    }

    /// The sum, as long as the longer number.
    pub fn add(&mut self, a: &[Limb], b: &[Limb]) -> Vec<Limb> {
        self.chain(a, b, Instruction::Add, |a, b| a.overflowing_add(b))
    }

    /// The difference, as long as the longer number.
    pub fn sub(&mut self, a: &[Limb], b: &[Limb]) -> Vec<Limb> {
        self.chain(a, b, Instruction::Sub, |a, b| a.overflowing_sub(b))
    }

    fn chain(
        &mut self,
        a: &[Limb],
        b: &[Limb],
        make: fn(u32, Vec<[Limb; 2]>) -> Instruction,
        fold: fn(u64, u64) -> (u64, bool),
    ) -> Vec<Limb> {
        let mut pairs = pairs(a, b);
        let mut result = Vec::new();
        // Low limbs that are known, or to which nothing is added, as long as nothing is carried.
        while let Some([a, b]) = pairs.first().copied() {
            match (a, b) {
                (_, ZERO) => result.push(a),
                (Limb::Known(a), Limb::Known(b)) if !fold(a, b).1 => result.push(Limb::Known(fold(a, b).0)),
                _ => break,
            }
            pairs.remove(0);
        }
        if !pairs.is_empty() {
            let (into, count) = (self.fresh(pairs.len()), pairs.len());
            if Fault::CarryLost.is_on() && count > 3 {
                pairs[3] = [ZERO, ZERO];
            }
            self.code.push(make(into, pairs));
            result.extend(Self::range(into, count));
        }
        result
    }

    /// 1 where the first number is below the second.
    pub fn less(&mut self, a: &[Limb], b: &[Limb]) -> Limb {
        let mut pairs = pairs(a, b);
        while pairs.last().is_some_and(|[a, b]| a == b) {
            pairs.pop();
        }
        if let Some(known) = pairs.iter().map(known_pair).collect::<Option<Vec<_>>>() {
            return Limb::Known(u64::from(known.iter().rev().map(|[a, _]| a).lt(known.iter().rev().map(|[_, b]| b))));
        }
        let into = self.fresh(1);
        self.code.push(Instruction::Less(into, pairs));
        Limb::Value(into)
    }

    pub fn call(&mut self, helper: Helper, arguments: Vec<Limb>, results: usize) -> Vec<Limb> {
        let into = self.fresh(results);
        self.code.push(Instruction::Call { helper, into, results: results as u32, arguments });
        Self::range(into, results)
    }

    /// A guess unless it is `wrong`; then the helper is called.
    pub fn guess(&mut self, wrong: Limb, guess: Vec<Limb>, helper: Helper, arguments: Vec<Limb>) -> Vec<Limb> {
        let (into, count) = (self.fresh(guess.len()), guess.len());
        self.code.push(Instruction::Guess { wrong, guess, helper, into, arguments });
        Self::range(into, count)
    }
}

/// Both numbers limb by limb, the shorter one with zeros above.
fn pairs(a: &[Limb], b: &[Limb]) -> Vec<[Limb; 2]> {
    let at = |limbs: &[Limb], at: usize| limbs.get(at).copied().unwrap_or(ZERO);
    (0..a.len().max(b.len())).map(|limb| [at(a, limb), at(b, limb)]).collect()
}

fn known_pair(pair: &[Limb; 2]) -> Option<[u64; 2]> {
    match pair {
        [Limb::Known(a), Limb::Known(b)] => Some([*a, *b]),
        _ => None,
    }
}

fn fold(binary: Binary, a: u64, b: u64) -> u64 {
    match binary {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a << (b & 63),
        Binary::Shr => a >> (b & 63),
        Binary::Sar => ((a as i64) >> (b & 63)) as u64,
        Binary::Div => a.checked_div(b).unwrap_or_default(),
        Binary::Rem => a.checked_rem(b).unwrap_or_default(),
        Binary::Equal => u64::from(a == b),
    }
}
