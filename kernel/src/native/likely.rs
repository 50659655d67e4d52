//! Which values are probably small, from rows that were seen: a guard of their width saves limbs.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    ir::{Function, Node, NodeId},
    plan::Likely,
    reference::evaluate,
};

/// Bits left free above the highest value that was seen.
const MARGIN: usize = 24;

/// What is always free: a limb, and two for a value that was only seen as zero and may be any amount.
const LEAST: usize = 64;
const LEAST_OF_ZERO: usize = 128;

/// The width to expect after a highest value of so many bits.
fn width(bits: usize) -> usize {
    match bits {
        0 => LEAST_OF_ZERO,
        _ => (bits + MARGIN).next_multiple_of(16).max(LEAST),
    }
}

/// Bounds for inputs and for results that can wrap, from rows that keep all guards.
pub fn likely_bounds(function: &Function, rows: &[Vec<U256>]) -> Vec<Likely> {
    let (mut highest, mut values) = (vec![0; function.nodes.len()], Vec::new());
    let mut seen = false;
    for row in rows {
        if evaluate(function, row, &mut values).is_none() {
            continue;
        }
        seen = true;
        for (highest, value) in highest.iter_mut().zip(&values) {
            *highest = value.bit_len().max(*highest);
        }
    }
    if !seen {
        return Vec::new();
    }
    let can_wrap = |node: &Node| {
        matches!(node, Node::Input { .. } | Node::Pure(op::ADD | op::SUB | op::MUL | op::SHL | op::EXP, _))
    };
    let bounds = function.nodes.iter().zip(highest).enumerate().filter(|(_, (node, _))| can_wrap(node));
    bounds.map(|(at, (_, bits))| (at as NodeId, width(bits).min(256) as u16)).filter(|(_, bits)| *bits <= 192).collect()
}
