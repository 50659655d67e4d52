//! What the batch interpreter calls for each node: loops over 32 rows, made for the number of limbs.

use revm::{bytecode::opcode as op, primitives::U256};

use crate::native::{
    lowering::division::{MOST, add, divide, subtract},
    ssa::{ir::Part, reference::hash},
};
use crate::{rows::floats::Float, trace::arithmetic::compute};

pub const BLOCK: usize = 32;

/// One limb of 32 rows.
pub type Plane = [u64; BLOCK];

/// The planes of a word's limbs, lowest first; plane 0 is zero.
pub type Operand = [usize; 4];

/// What a kernel must know besides its operands.
pub enum Detail {
    None,
    Opcode(u8),
    Shift(u32),
    /// A divisor without its factors of two, and how many those are.
    Divisor(u32, [u64; 4]),
    Limit(U256),
    Hash(Vec<(Part, Operand)>),
}

/// Operands and result of one node. Planes are given out in order: operands lie before the result.
pub struct Planes<'a> {
    pub before: &'a [Plane],
    pub result: &'a mut [Plane],
    pub operands: [Operand; 3],
    pub detail: &'a Detail,
}

pub type Kernel = fn(&mut Planes<'_>);

/// The limbs of one row.
#[inline(always)]
fn row_of<const N: usize>(planes: &[&Plane; N], row: usize) -> [u64; N] {
    std::array::from_fn(|limb| planes[limb][row])
}

impl<'a> Planes<'a> {
    #[inline(always)]
    fn operand<const N: usize>(&self, which: usize) -> [&'a Plane; N] {
        std::array::from_fn(|limb| &self.before[self.operands[which][limb]])
    }

    /// Compute every row of up to `N` limbs from those of two operands.
    #[inline(always)]
    fn each<const A: usize, const B: usize, const N: usize>(&mut self, make: impl Fn([u64; A], [u64; B]) -> [u64; N]) {
        let (a, b) = (self.operand::<A>(0), self.operand::<B>(1));
        for row in 0..BLOCK {
            let value = make(row_of(&a, row), row_of(&b, row));
            for (plane, limb) in self.result.iter_mut().zip(value) {
                plane[row] = limb;
            }
        }
    }
}

/// The kernel of a pure instruction whose result has `size` limbs and whose operands have `wide`.
pub fn of_pure(opcode: u8, size: usize, wide: [usize; 3]) -> Kernel {
    let both = wide[0].max(wide[1]);
    match opcode {
        op::ADD => by_size(size, [sum::<1>, sum::<2>, sum::<3>, sum::<4>]),
        op::SUB => by_size(size, [difference::<1>, difference::<2>, difference::<3>, difference::<4>]),
        op::MUL => product(wide[0], wide[1]),
        op::DIV => quotient,
        op::MOD => remainder,
        op::LT => by_size(both, [less::<1>, less::<2>, less::<3>, less::<4>]),
        op::EQ => by_size(both, [equal::<1>, equal::<2>, equal::<3>, equal::<4>]),
        op::ISZERO => by_size(wide[0], [iszero::<1>, iszero::<2>, iszero::<3>, iszero::<4>]),
        op::AND => by_size(size, [and::<1>, and::<2>, and::<3>, and::<4>]),
        op::OR => by_size(size, [or::<1>, or::<2>, or::<3>, or::<4>]),
        op::XOR => by_size(size, [xor::<1>, xor::<2>, xor::<3>, xor::<4>]),
        _ => match Float::of_code(opcode) {
            Some(operation) if operation.of_floats() => float,
            _ => any,
        },
    }
}

fn by_size(size: usize, kernels: [Kernel; 4]) -> Kernel {
    kernels[size - 1]
}

fn sum<const N: usize>(planes: &mut Planes<'_>) {
    planes.each(|a: [u64; N], b: [u64; N]| {
        let (mut result, mut carried) = ([0; N], false);
        for limb in 0..N {
            (result[limb], carried) = add(a[limb], b[limb], carried);
        }
        result
    });
}

fn difference<const N: usize>(planes: &mut Planes<'_>) {
    planes.each(|a: [u64; N], b: [u64; N]| {
        let (mut result, mut borrowed) = ([0; N], false);
        for limb in 0..N {
            (result[limb], borrowed) = subtract(a[limb], b[limb], borrowed);
        }
        result
    });
}

/// The lowest four limbs of a product.
fn product(a: usize, b: usize) -> Kernel {
    const KERNELS: [[Kernel; 4]; 4] = [
        [product_of::<1, 1>, product_of::<1, 2>, product_of::<1, 3>, product_of::<1, 4>],
        [product_of::<2, 1>, product_of::<2, 2>, product_of::<2, 3>, product_of::<2, 4>],
        [product_of::<3, 1>, product_of::<3, 2>, product_of::<3, 3>, product_of::<3, 4>],
        [product_of::<4, 1>, product_of::<4, 2>, product_of::<4, 3>, product_of::<4, 4>],
    ];
    KERNELS[a - 1][b - 1]
}

fn product_of<const A: usize, const B: usize>(planes: &mut Planes<'_>) {
    planes.each(|a: [u64; A], b: [u64; B]| {
        let mut result = [0; 4];
        multiply(&a, &b, &mut result);
        result
    });
}

/// As many limbs of the product as there is place for.
#[inline(always)]
fn multiply(a: &[u64], b: &[u64], result: &mut [u64]) {
    for (i, x) in a.iter().enumerate() {
        let mut carried = 0;
        for (j, y) in b.iter().enumerate() {
            if i + j < result.len() {
                let product = u128::from(*x) * u128::from(*y) + u128::from(result[i + j]) + u128::from(carried);
                (result[i + j], carried) = (product as u64, (product >> 64) as u64);
            }
        }
        if i + b.len() < result.len() {
            result[i + b.len()] = carried;
        }
    }
}

pub fn product_above(planes: &mut Planes<'_>) {
    let Detail::Limit(limit) = planes.detail else { unreachable!("a product has a limit") };
    planes.each(|a: [u64; 4], b: [u64; 4]| {
        let mut result = [0; MOST];
        multiply(&a, &b, &mut result);
        let low = U256::from_limbs([result[0], result[1], result[2], result[3]]);
        [u64::from(result[4..].iter().any(|limb| *limb != 0) || low > *limit)]
    });
}

fn quotient(planes: &mut Planes<'_>) {
    planes.each(|a: [u64; 4], b: [u64; 4]| {
        let (mut quotient, mut remainder) = ([0; 4], [0; 4]);
        divide(&a, &b, &mut quotient, &mut remainder);
        quotient
    });
}

pub fn quotient_by(planes: &mut Planes<'_>) {
    let Detail::Divisor(by, odd) = planes.detail else { unreachable!("a division has a divisor") };
    planes.each(|a: [u64; 4], _: [u64; 0]| {
        let (mut quotient, mut remainder) = ([0; 4], [0; 4]);
        let shifted = U256::from_limbs(a) >> *by as usize;
        divide(shifted.as_limbs(), odd, &mut quotient, &mut remainder);
        quotient
    });
}

fn remainder(planes: &mut Planes<'_>) {
    planes.each(|a: [u64; 4], b: [u64; 4]| {
        let (mut quotient, mut remainder) = ([0; 4], [0; 4]);
        divide(&a, &b, &mut quotient, &mut remainder);
        remainder
    });
}

fn less<const N: usize>(planes: &mut Planes<'_>) {
    planes.each(|a: [u64; N], b: [u64; N]| {
        let mut borrowed = false;
        for limb in 0..N {
            borrowed = subtract(a[limb], b[limb], borrowed).1;
        }
        [u64::from(borrowed)]
    });
}

fn equal<const N: usize>(planes: &mut Planes<'_>) {
    planes.each(|a: [u64; N], b: [u64; N]| [u64::from(a == b)]);
}

fn iszero<const N: usize>(planes: &mut Planes<'_>) {
    planes.each(|a: [u64; N], _: [u64; 0]| [u64::from(a == [0; N])]);
}

fn and<const N: usize>(planes: &mut Planes<'_>) {
    limb_by_limb::<N>(planes, |a, b| a & b);
}

fn or<const N: usize>(planes: &mut Planes<'_>) {
    limb_by_limb::<N>(planes, |a, b| a | b);
}

fn xor<const N: usize>(planes: &mut Planes<'_>) {
    limb_by_limb::<N>(planes, |a, b| a ^ b);
}

#[inline(always)]
fn limb_by_limb<const N: usize>(planes: &mut Planes<'_>, make: impl Fn(u64, u64) -> u64) {
    let (a, b) = (planes.operand::<N>(0), planes.operand::<N>(1));
    for limb in 0..N {
        for row in 0..BLOCK {
            planes.result[limb][row] = make(a[limb][row], b[limb][row]);
        }
    }
}

pub fn shift_left(size: usize) -> Kernel {
    by_size(size, [left::<1>, left::<2>, left::<3>, left::<4>])
}

pub fn shift_right(size: usize) -> Kernel {
    by_size(size, [right::<1>, right::<2>, right::<3>, right::<4>])
}

fn left<const N: usize>(planes: &mut Planes<'_>) {
    let Detail::Shift(by) = *planes.detail else { unreachable!("a shift has a count") };
    let (whole, bits, value) = (by as usize / 64, by % 64, planes.operand::<4>(1));
    for limb in 0..N {
        let at = |limb: Option<usize>| limb.map_or(&[0; BLOCK], |limb| value[limb]);
        let (upper, lower) = (at(limb.checked_sub(whole)), at(limb.checked_sub(whole + 1)));
        for row in 0..BLOCK {
            let carried = if bits == 0 { 0 } else { lower[row] >> (64 - bits) };
            planes.result[limb][row] = upper[row] << bits | carried;
        }
    }
}

fn right<const N: usize>(planes: &mut Planes<'_>) {
    let Detail::Shift(by) = *planes.detail else { unreachable!("a shift has a count") };
    let (whole, bits, value) = (by as usize / 64, by % 64, planes.operand::<4>(1));
    for limb in 0..N {
        let at = |limb: usize| value.get(limb).copied().unwrap_or(&[0; BLOCK]);
        let (lower, upper) = (at(limb + whole), at(limb + whole + 1));
        for row in 0..BLOCK {
            let carried = if bits == 0 { 0 } else { upper[row] << (64 - bits) };
            planes.result[limb][row] = lower[row] >> bits | carried;
        }
    }
}

/// A float operation on floats.
fn float(planes: &mut Planes<'_>) {
    let Detail::Opcode(opcode) = *planes.detail else { unreachable!("an operation has a code") };
    let Some(float) = Float::of_code(opcode) else { unreachable!("a float operation") };
    planes.each(|[a]: [u64; 1], [b]: [u64; 1]| [float.of_bits(a, b)]);
}

/// Every other instruction, word by word.
fn any(planes: &mut Planes<'_>) {
    let Detail::Opcode(opcode) = *planes.detail else { unreachable!("an instruction has an opcode") };
    let operands = [0, 1, 2].map(|which| planes.operand::<4>(which));
    for row in 0..BLOCK {
        let [a, b, c] = [0, 1, 2].map(|which| U256::from_limbs(row_of(&operands[which], row)));
        put(planes.result, row, compute(opcode, a, b, c));
    }
}

fn put(result: &mut [Plane], row: usize, value: U256) {
    for (plane, limb) in result.iter_mut().zip(value.as_limbs()) {
        plane[row] = *limb;
    }
}

pub fn select(planes: &mut Planes<'_>) {
    let [condition, then, otherwise] = [0, 1, 2].map(|which| planes.operand::<4>(which));
    for row in 0..BLOCK {
        let zero = row_of(&condition, row) == [0; 4];
        put(planes.result, row, U256::from_limbs(row_of(if zero { &otherwise } else { &then }, row)));
    }
}

/// Where the word of a hashed part lies.
pub fn place_of(part: &Part, operand: impl Fn(u32) -> Operand) -> Operand {
    if let Part::Word { node, .. } = part { operand(*node) } else { [0; 4] }
}

pub fn keccak(planes: &mut Planes<'_>) {
    let Detail::Hash(parts) = planes.detail else { unreachable!("a hash has parts") };
    // Words are numbered by their part: each has its own planes.
    let texts: Vec<Part> = parts.iter().enumerate().map(|(at, (part, _))| numbered(part, at)).collect();
    for row in 0..BLOCK {
        let word = |at: u32| {
            let operand = parts[at as usize].1;
            U256::from_limbs(operand.map(|plane| planes.before[plane][row]))
        };
        let result = hash(&texts, word);
        put(planes.result, row, result);
    }
}

fn numbered(part: &Part, at: usize) -> Part {
    match part {
        Part::Word { from, length, .. } => Part::Word { node: at as u32, from: *from, length: *length },
        Part::Bytes(bytes) => Part::Bytes(bytes.clone()),
    }
}
