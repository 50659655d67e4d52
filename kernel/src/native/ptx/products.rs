//! Products of limbs from products of their halves: the device multiplies 32 bits at a time.

use super::assembler::{Assembler, Half, NONE};
use crate::native::lowering::limbs::Limb;

/// The sum of products in every other column, half by half.
struct Columns {
    halves: Vec<Half>,
}

impl Columns {
    /// Add the products of one half with every other half of a number, from column `from` on.
    fn add(&mut self, out: &mut Assembler, numbers: &[Half], by: Half, shift: usize, parity: usize) {
        let count = self.halves.len();
        let (mut carried, mut next) = (false, 0);
        for at in ((parity + shift) % 2..numbers.len()).step_by(2) {
            let (column, factor) = (shift + at, numbers[at]);
            if column >= count {
                break;
            }
            if factor == NONE && !carried {
                continue;
            }
            let low = self.halves[column];
            let high = self.halves.get(column + 1).copied();
            let (sums, carry) = multiplied(out, [factor, by], [low, high.unwrap_or(NONE)], carried, high.is_some());
            self.halves[column] = sums[0];
            if column + 1 < count {
                self.halves[column + 1] = sums[1];
            }
            carried = carry;
            next = column + 2;
        }
        if carried && next < count {
            self.halves[next] = out.half("addc.u32", &[&self.halves[next], &0]);
        }
    }
}

/// `x · y` added to two halves, with what was carried; whether something may be carried on.
fn multiplied(
    out: &mut Assembler,
    [x, y]: [Half; 2],
    [low, high]: [Half; 2],
    carried: bool,
    whole: bool,
) -> ([Half; 2], bool) {
    let with = if carried { "c" } else { "" };
    if let (Half::Known(x), Half::Known(y)) = (x, y) {
        let product = u64::from(x) * u64::from(y);
        let sum = out.half(&format!("add{with}.cc.u32"), &[&low, &Half::Known(product as u32)]);
        if !whole {
            return ([sum, high], false);
        }
        return ([sum, out.half("addc.cc.u32", &[&high, &Half::Known((product >> 32) as u32)])], true);
    }
    let sum = out.half(&format!("mad{with}.lo.cc.u32"), &[&x, &y, &low]);
    if !whole {
        return ([sum, high], false);
    }
    ([sum, out.half("madc.hi.cc.u32", &[&x, &y, &high])], true)
}

/// The lowest `size` limbs of a product: even and odd columns apart, so that carries run through whole rows.
pub fn multiply(out: &mut Assembler, a: &[Limb], b: &[Limb], size: usize) -> Vec<Limb> {
    let [a, b] = [a, b].map(|limbs| limbs.iter().flat_map(|limb| out.split(*limb)).collect::<Vec<Half>>());
    let mut columns = [0, 1].map(|_| Columns { halves: vec![NONE; 2 * size] });
    for (shift, by) in b.iter().enumerate().filter(|(_, by)| **by != NONE) {
        for (parity, columns) in columns.iter_mut().enumerate() {
            columns.add(out, &a, *by, shift, parity);
        }
    }
    let [even, odd] = columns;
    let mut sums: Vec<Half> = Vec::with_capacity(2 * size);
    let mut carried = false;
    for (at, (even, odd)) in even.halves.iter().zip(&odd.halves).enumerate() {
        if !carried && (*even == NONE || *odd == NONE) {
            sums.push(if *even == NONE { *odd } else { *even });
            continue;
        }
        let (with, on) = (if carried { "c" } else { "" }, if at + 1 < 2 * size { ".cc" } else { "" });
        sums.push(out.half(&format!("add{with}{on}.u32"), &[even, odd]));
        carried = true;
    }
    sums.chunks_exact(2).map(|pair| out.join([pair[0], pair[1]])).collect()
}
