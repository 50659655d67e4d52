//! Keys of slots that depend on the row through one number: entries of a mapping that is filled in order.

use revm::primitives::{Address, U256};

use crate::specialise::sites::code::{cone, is_leaf};
use crate::trace::{BlockField, Expression, Field, Graph, Node, Surroundings, Unread, Values};

/// A key as a function of one number.
pub struct Key {
    pub address: Address,
    /// The expression of the key.
    pub key: Node,
    /// The expression that the number is.
    pub index: Node,
    /// What the key is computed by, operands first, the key last.
    graph: Graph,
    number: Node,
    schedule: Vec<Node>,
}

impl Key {
    /// None where the key depends on more than one number, or where that is not read from numbered slots alone.
    pub fn new(graph: &Graph, address: Address, key: Node) -> Option<Self> {
        let all = cone(graph, [key], true);
        let hashed = all.iter().filter_map(|node| match graph.expression(*node) {
            Expression::Hash(text) => Some(text.parts.iter().map(|part| part.node)),
            _ => None,
        });
        // A hash of a hash depends on what the inner one does.
        let is_hash = |node: &Node| matches!(graph.expression(*node), Expression::Hash(_));
        let mut numbers = hashed.flatten().filter(|node| graph.as_constant(*node).is_none() && !is_hash(node));
        let index = numbers.next()?;
        if numbers.any(|other| other != index) {
            return None;
        }
        let is_read = |node: &Node| matches!(graph.expression(*node), Expression::Place(..) | Expression::Block(_));
        let below = cone(graph, [index], true);
        if below.iter().any(|node| is_leaf(graph.expression(*node)) && !is_read(node)) {
            return None;
        }
        // Nothing else that varies may take part.
        let above: Vec<Node> = all.iter().copied().filter(|node| depends(graph, *node, index)).collect();
        let varies = |node: Node| graph.as_constant(node).is_none() && node != index && !above.contains(&node);
        let mut others = false;
        above
            .iter()
            .filter(|node| **node != index)
            .for_each(|node| graph.operands(*node, |each| others |= varies(each)));
        if others || !above.contains(&key) {
            return None;
        }
        Self::with(graph, address, (key, index), &all, &above)
    }

    fn with(graph: &Graph, address: Address, (key, index): (Node, Node), all: &[Node], above: &[Node]) -> Option<Self> {
        let constants = all.iter().copied().filter(|node| graph.as_constant(*node).is_some());
        let mut nodes: Vec<Node> = constants.chain(above.iter().copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut part = Graph::new();
        let mut numbers = revm::primitives::HashMap::default();
        for node in &nodes {
            let copied = match node == &index {
                true => part.input(0),
                false => part.copied(graph.expression(*node), &numbers),
            };
            numbers.insert(*node, copied);
        }
        let schedule = nodes.iter().filter(|node| **node != index).map(|node| numbers[node]).collect();
        (nodes.last() == Some(&key)).then(|| Self {
            address,
            key,
            index,
            number: numbers[&index],
            graph: part,
            schedule,
        })
    }

    /// The key for a number.
    pub fn at(&self, number: U256) -> U256 {
        let mut values = Values::default();
        values.grow(&self.graph);
        values.words[self.number as usize] = number;
        let mut last = U256::ZERO;
        for node in &self.schedule {
            // Nothing is read on the way: this cannot fail.
            _ = self.graph.evaluate(*node, &mut values, &mut Nothing);
            last = values.get(*node);
        }
        last
    }
}

/// Whether an expression depends on a node.
fn depends(graph: &Graph, node: Node, on: Node) -> bool {
    node >= on && cone(graph, [node], true).contains(&on)
}

struct Nothing;

impl Surroundings for Nothing {
    fn input(&self, _: u32) -> U256 {
        U256::ZERO
    }

    fn block(&self, _: BlockField) -> U256 {
        U256::ZERO
    }

    fn slot(&mut self, _: Address, _: U256) -> Result<U256, Unread> {
        Err(Unread)
    }

    fn account(&mut self, _: Field, _: U256) -> Result<U256, Unread> {
        Err(Unread)
    }
}
