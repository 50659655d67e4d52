//! The Keccak-256 hash as a device function: the state in registers, one loop over the rounds.

use super::{
    assembler::Assembler,
    functions::{arguments_of, finish},
};
use crate::native::{
    lowering::limbs::{Limb, ZERO},
    ssa::ir::Part,
};

/// Bytes that are taken in at a time.
const RATE: usize = 136;
const ROUNDS: usize = 24;
/// How far each lane is rotated, by its number.
const ROTATIONS: [u32; 25] =
    [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14];

/// The constants of the rounds, from the shift register that defines them.
fn constants() -> [u64; ROUNDS] {
    let mut register: u8 = 1;
    [(); ROUNDS].map(|()| {
        let mut constant = 0;
        for power in 0..7 {
            if register & 1 == 1 {
                constant |= 1 << ((1_u64 << power) - 1);
            }
            register = register << 1 ^ if register >> 7 == 1 { 0x71 } else { 0 };
        }
        constant
    })
}

/// The constants of the rounds as PTX.
pub fn rounds() -> String {
    let constants = constants().map(|constant| format!("{constant:#x}")).join(", ");
    format!(".const .align 8 .b64 keccak_rounds[{ROUNDS}] = {{{constants}}};\n\n")
}

/// The padded message in limbs, lowest byte first.
fn message(out: &mut Assembler, parts: &[Part], words: &[Limb]) -> Vec<Limb> {
    let length: usize = parts
        .iter()
        .map(|part| match part {
            Part::Bytes(bytes) => bytes.len(),
            Part::Word { length, .. } => usize::from(*length),
        })
        .sum();
    let size = (length / RATE + 1) * RATE;
    let (mut fixed, mut limbs) = (vec![0_u8; size], vec![ZERO; size / 8]);
    (fixed[length], fixed[size - 1]) = (1, fixed[size - 1] | 0x80);
    if length == size - 1 {
        fixed[length] = 0x81;
    }
    let mut at = 0;
    for part in parts {
        match part {
            Part::Bytes(bytes) => {
                fixed[at..at + bytes.len()].copy_from_slice(bytes);
                at += bytes.len();
            }
            Part::Word { node, from, length } => {
                for byte in usize::from(*from)..usize::from(from + length) {
                    let limb = words[4 * *node as usize + 3 - byte / 8];
                    let shifted = out.limb("shr.u64", &[&limb, &(8 * (7 - byte % 8))]);
                    let alone = out.limb("and.b64", &[&shifted, &0xff]);
                    let moved = out.limb("shl.b64", &[&alone, &(8 * (at % 8))]);
                    limbs[at / 8] = out.limb("or.b64", &[&limbs[at / 8], &moved]);
                    at += 1;
                }
            }
        }
    }
    let whole = fixed.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
    limbs
        .into_iter()
        .zip(whole)
        .map(|(limb, fixed)| match (limb, fixed) {
            (limb, 0) => limb,
            (ZERO, fixed) => Limb::Known(fixed),
            (limb, fixed) => out.limb("or.b64", &[&limb, &Limb::Known(fixed)]),
        })
        .collect()
}

/// The body of the function that hashes these parts.
pub fn body(parts: &[Part], arguments: usize) -> String {
    let mut out = Assembler::default();
    let words = arguments_of(&mut out, arguments);
    let message = message(&mut out, parts, &words);
    let state: Vec<Limb> = (0..25).map(|_| out.limb("mov.b64", &[&0])).collect();
    for block in message.chunks_exact(RATE / 8) {
        state.iter().zip(block).for_each(|(lane, limb)| out.set(*lane, "xor.b64", &[lane, limb]));
        permute(&mut out, &state);
    }
    // The hash is a word, its first byte the highest.
    let hash: Vec<Limb> = (0..4).map(|limb| swapped(&mut out, state[3 - limb])).collect();
    finish(out, &hash)
}

fn swapped(out: &mut Assembler, limb: Limb) -> Limb {
    let [low, high] = out.split(limb);
    let halves = [high, low].map(|half| out.half("prmt.b32", &[&half, &0, &0x0123]));
    out.join(halves)
}

fn rotated(out: &mut Assembler, limb: Limb, by: u32) -> Limb {
    if by == 0 {
        return limb;
    }
    let [low, high] = out.split(limb);
    let (low, high) = if by >= 32 { (high, low) } else { (low, high) };
    if by.is_multiple_of(32) {
        return out.join([low, high]);
    }
    let halves = [
        out.half("shf.l.wrap.b32", &[&high, &low, &(by % 32)]),
        out.half("shf.l.wrap.b32", &[&low, &high, &(by % 32)]),
    ];
    out.join(halves)
}

/// All rounds of the permutation, in place.
fn permute(out: &mut Assembler, state: &[Limb]) {
    let place = out.limb("mov.u64", &[&"keccak_rounds"]);
    let count = out.half("mov.b32", &[&0]);
    let head = out.label("round");
    out.place(&head);
    let columns: Vec<Limb> =
        (0..5).map(|x| (1..5).fold(state[x], |all, y| out.limb("xor.b64", &[&all, &state[x + 5 * y]]))).collect();
    let parities: Vec<Limb> = (0..5)
        .map(|x| {
            let next = rotated(out, columns[(x + 1) % 5], 1);
            out.limb("xor.b64", &[&columns[(x + 4) % 5], &next])
        })
        .collect();
    let mut moved = vec![ZERO; 25];
    for (lane, limb) in state.iter().enumerate() {
        let (x, y) = (lane % 5, lane / 5);
        let mixed = out.limb("xor.b64", &[limb, &parities[x]]);
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = rotated(out, mixed, ROTATIONS[lane]);
    }
    for (lane, into) in state.iter().enumerate() {
        let (x, y) = (lane % 5, 5 * (lane / 5));
        let inverted = out.limb("not.b64", &[&moved[y + (x + 1) % 5]]);
        let both = out.limb("and.b64", &[&inverted, &moved[y + (x + 2) % 5]]);
        out.set(*into, "xor.b64", &[&moved[lane], &both]);
    }
    let constant = out.limb("ld.const.b64", &[&format_args!("[{place}]")]);
    out.set(state[0], "xor.b64", &[&state[0], &constant]);
    out.set(place, "add.u64", &[&place, &8]);
    out.set_half(count, "add.u32", &[&count, &1]);
    let more = out.test("setp.lt.u32", &[&count, &ROUNDS]);
    out.branch_if(more, &head);
}
