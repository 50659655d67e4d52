//! Keys that hardly ever change are part of a path: their slots have numbers then, and nothing is hashed on a row.
//!
//! The word of a tick bitmap or the place in a ring of observations follows from state alone. A path of a program asks for
//! its value, as long as few values come up. Where more do, all paths are forgotten and none asks again.

use revm::primitives::{HashMap, HashSet, U256};

use super::{
    course::{Course, Unmodelled},
    graph::{Expression, Graph, Node},
    shadow::Origin,
};

/// Values of one key.
const MOST_VALUES: usize = 8;

/// What has been asked for, and with which values.
#[derive(Default)]
pub struct Pins {
    /// Whether keys are asked for.
    pub on: bool,
    /// Whether one had more values than it may have.
    pub outgrown: bool,
    seen: HashMap<Node, HashSet<U256>>,
}

impl Course<'_> {
    /// Have the value of a word on the whole path, if it is one of state alone.
    pub fn pin(&mut self, node: Node, value: U256) -> Result<(), Unmodelled> {
        if !self.graph.pins.on || self.is_pinned(node) || !self.graph.is_of_state(node) {
            return Ok(());
        }
        let pins = &mut self.graph.pins;
        let seen = pins.seen.entry(node).or_default();
        seen.insert(value);
        if seen.len() > MOST_VALUES {
            pins.outgrown = true;
            return Err(Unmodelled);
        }
        self.require(Origin::Computed(node), value)
    }
}

impl Graph {
    /// Whether an expression is made of nothing but slots: no calldata, time, hash or account.
    fn is_of_state(&self, node: Node) -> bool {
        use Expression::{Account, Block, Hash, Input};
        let (mut open, mut known) = (vec![node], HashSet::<Node>::default());
        while let Some(node) = open.pop() {
            if matches!(self.expression(node), Input(_) | Block(_) | Account(..) | Hash(_)) {
                return false;
            }
            self.operands(node, |operand| {
                if known.insert(operand) {
                    open.push(operand);
                }
            });
        }
        self.as_constant(node).is_none()
    }
}
