//! Which values are probably small, from rows that were seen: a guard of their width saves limbs.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    ir::{Function, Guard, Node, NodeId},
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

/// Bounds for inputs, quotients and results that can wrap, from rows that keep all guards.
pub fn likely_bounds(function: &Function, rows: &[Vec<U256>]) -> Vec<Likely> {
    let mut highest = vec![None; function.nodes.len()];
    note_widths(function, rows, &vec![true; function.nodes.len()], &mut highest);
    bounds(&function.nodes, &highest)
}

/// One leaf of a tree: what leads to it, and rows that came there.
pub struct Seen {
    pub guards: Vec<Guard>,
    pub outputs: Vec<NodeId>,
    pub rows: Vec<Vec<U256>>,
}

/// The same for a tree: a node is as wide as on the rows of the leaves that need it.
pub fn likely_bounds_of_leaves(nodes: &[Node], leaves: &[Seen]) -> Vec<Likely> {
    let mut highest = vec![None; nodes.len()];
    let mut function = Function { nodes: nodes.to_vec(), ..Function::default() };
    for leaf in leaves {
        let mut needed = vec![false; nodes.len()];
        let wanted = leaf.guards.iter().map(|guard| guard.node).chain(leaf.outputs.iter().copied());
        wanted.for_each(|node| needed[node as usize] = true);
        // Operands come before what uses them: one pass from the end finds all.
        for id in (0..nodes.len()).rev() {
            if needed[id] {
                nodes[id].operands(|operand| needed[operand as usize] = true);
            }
        }
        function.guards.clone_from(&leaf.guards);
        note_widths(&function, &leaf.rows, &needed, &mut highest);
    }
    bounds(nodes, &highest)
}

/// Note the bits of the highest values on rows that keep all guards.
fn note_widths(function: &Function, rows: &[Vec<U256>], needed: &[bool], highest: &mut [Option<usize>]) {
    let mut values = Vec::new();
    for row in rows {
        if evaluate(function, row, &mut values).is_none() {
            continue;
        }
        for ((highest, value), _) in highest.iter_mut().zip(&values).zip(needed).filter(|(_, needed)| **needed) {
            *highest = Some(value.bit_len().max(highest.unwrap_or(0)));
        }
    }
}

fn bounds(nodes: &[Node], highest: &[Option<usize>]) -> Vec<Likely> {
    let can_be_wide = |node: &Node| match node {
        Node::Pure(op::DIV, operands) => !is_check(nodes, *operands),
        Node::Input { .. } | Node::Pure(op::ADD | op::SUB | op::MUL | op::SHL | op::EXP, _) => true,
        _ => false,
    };
    let seen = nodes.iter().zip(highest).enumerate().filter(|(_, (node, _))| can_be_wide(node));
    seen.filter_map(|(at, (_, bits))| Some((at as NodeId, width((*bits)?).min(256) as u16)))
        .filter(|(_, bits)| *bits <= 192)
        .collect()
}

/// Whether a quotient is how compilers look for an overflow, MAX / b or a · b / b: passes make something simpler of it.
fn is_check(nodes: &[Node], [dividend, divisor, _]: [NodeId; 3]) -> bool {
    match nodes[dividend as usize] {
        Node::Constant(_) => true,
        Node::Pure(op::MUL, [a, b, _]) => a == divisor || b == divisor,
        _ => false,
    }
}
