//! A function evaluated word by word, as the EVM defines it: the plain loop that everything else is compared with.

use revm::primitives::{U256, keccak256};

use super::ir::{Function, Node, Part};
use crate::trace::arithmetic::compute;

/// The outputs of a row, or `None` where a guard fails.
pub fn evaluate(function: &Function, row: &[U256], values: &mut Vec<U256>) -> Option<Vec<U256>> {
    values.clear();
    for node in &function.nodes {
        let value = value_of(node, row, values);
        values.push(value);
    }
    let holds = function.guards.iter().all(|guard| guard.condition.holds(values[guard.node as usize]));
    holds.then(|| function.outputs.iter().map(|node| values[*node as usize]).collect())
}

fn value_of(node: &Node, row: &[U256], values: &[U256]) -> U256 {
    let value = |id: u32| values.get(id as usize).copied().unwrap_or_default();
    match node {
        Node::Input { word, .. } => row[*word as usize],
        Node::Constant(value) => *value,
        Node::Pure(opcode, [a, b, c]) => compute(*opcode, value(*a), value(*b), value(*c)),
        Node::Keccak(parts) => hash(parts, value),
        Node::Select([condition, then, otherwise]) => {
            if value(*condition).is_zero() {
                value(*otherwise)
            } else {
                value(*then)
            }
        }
        Node::ProductAbove([a, b], limit) => {
            U256::from(value(*a).checked_mul(value(*b)).is_none_or(|product| product > *limit))
        }
    }
}

/// The hash of the parts, with the values of their words.
pub fn hash(parts: &[Part], value: impl Fn(u32) -> U256) -> U256 {
    let mut bytes = Vec::with_capacity(32 * parts.len());
    for part in parts {
        match part {
            Part::Bytes(plain) => bytes.extend_from_slice(plain),
            Part::Word { node, from, length } => {
                let start = usize::from(*from);
                bytes.extend_from_slice(&value(*node).to_be_bytes::<32>()[start..start + usize::from(*length)]);
            }
        }
    }
    keccak256(&bytes).into()
}
