//! Nodes that are simplified as they are made, with what is certain about each of them so far.

use revm::{
    bytecode::opcode as op,
    primitives::{HashMap, HashSet, U256, keccak256},
};

use super::{
    ir::{Node, NodeId, Part},
    range::Range,
    transfer::{range_of_product_above, range_of_pure},
};
use crate::trace::arithmetic::{compute, takes};

/// What is certain grows with every guard: a node is simplified by what held when it was made.
#[derive(Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    known: HashMap<Node, NodeId>,
    /// What is certain now.
    pub ranges: Vec<Range>,
    /// The highest value of a node, and of its operands, when it was made: this many limbs are computed.
    pub made: Vec<U256>,
    pub bounds: Vec<[U256; 3]>,
    pub(super) users: Vec<Vec<NodeId>>,
    /// Sums and products that do not wrap, by instruction and operands.
    pub(super) exact: HashSet<(u8, [NodeId; 2])>,
    /// Quotients that have at most so many bits, by dividend and divisor.
    pub(super) quotients: HashMap<[NodeId; 2], usize>,
    /// Pairs of which the first is not above the second.
    pub(super) ordered: HashSet<(NodeId, NodeId)>,
    /// Whether guards contradict each other, so that no row gets through.
    pub impossible: bool,
}

impl Graph {
    pub fn constant(&mut self, value: U256) -> NodeId {
        self.intern(Node::Constant(value), Range::exactly(value))
    }

    pub fn small(&mut self, value: usize) -> NodeId {
        self.constant(U256::from(value))
    }

    pub fn input(&mut self, word: u32, bits: u16) -> NodeId {
        self.intern(Node::Input { word, bits }, Range::below_bits(usize::from(bits)))
    }

    pub fn range(&self, node: NodeId) -> &Range {
        &self.ranges[node as usize]
    }

    pub fn as_constant(&self, node: NodeId) -> Option<U256> {
        self.range(node).as_constant()
    }

    /// A constant that fits into a machine word.
    pub fn as_small(&self, node: NodeId) -> Option<usize> {
        self.as_constant(node).and_then(|value| usize::try_from(value).ok())
    }

    pub fn is(&self, node: NodeId, value: u64) -> bool {
        self.as_constant(node) == Some(U256::from(value))
    }

    /// The operands of a node that is this instruction.
    pub fn matched(&self, node: NodeId, opcode: u8) -> Option<[NodeId; 3]> {
        match self.nodes[node as usize] {
            Node::Pure(found, arguments) if found == opcode => Some(arguments),
            _ => None,
        }
    }

    pub fn find(&self, node: &Node) -> Option<NodeId> {
        self.known.get(node).copied()
    }

    /// The node, or the constant that it certainly is.
    pub fn resolved(&mut self, node: NodeId) -> NodeId {
        match self.as_constant(node) {
            Some(value) => self.constant(value),
            None => node,
        }
    }

    fn intern(&mut self, node: Node, range: Range) -> NodeId {
        if let Some(found) = self.known.get(&node) {
            return *found;
        }
        let id = self.nodes.len() as NodeId;
        let (mut bounds, mut at) = ([U256::ZERO; 3], 0);
        node.operands(|operand| {
            if at < 3 {
                bounds[at] = self.ranges[operand as usize].high;
            }
            at += 1;
            self.users[operand as usize].push(id);
        });
        self.known.insert(node.clone(), id);
        self.nodes.push(node);
        self.ranges.push(range);
        self.made.push(range.high);
        self.bounds.push(bounds);
        self.users.push(Vec::new());
        id
    }

    /// A pure instruction, simplified as far as is certain.
    pub fn pure(&mut self, opcode: u8, arguments: [NodeId; 3]) -> NodeId {
        let count = takes(opcode).expect("a pure instruction");
        let mut kept = [0; 3];
        for at in 0..count {
            kept[at] = self.resolved(arguments[at]);
        }
        let mut values = [U256::ZERO; 3];
        let constant = (0..count).all(|at| self.as_constant(kept[at]).map(|value| values[at] = value).is_some());
        if constant {
            return self.constant(compute(opcode, values[0], values[1], values[2]));
        }
        let (opcode, kept) = self.ordered_operands(opcode, kept);
        if let Some(simpler) = self.simplified(opcode, kept) {
            return simpler;
        }
        let node = Node::Pure(opcode, kept);
        let range = self.derived(&node);
        match range.as_constant() {
            Some(value) => self.constant(value),
            None => self.intern(node, range),
        }
    }

    /// One form for what can be written in two: LT instead of GT, constants on the right.
    fn ordered_operands(&self, opcode: u8, [a, b, c]: [NodeId; 3]) -> (u8, [NodeId; 3]) {
        match opcode {
            op::GT => (op::LT, [b, a, c]),
            op::SGT => (op::SLT, [b, a, c]),
            op::ADD | op::MUL | op::AND | op::OR | op::XOR | op::EQ | op::ADDMOD | op::MULMOD => {
                let key = |node: NodeId| (self.as_constant(node).is_some(), node);
                (opcode, if key(a) > key(b) { [b, a, c] } else { [a, b, c] })
            }
            _ => (opcode, [a, b, c]),
        }
    }

    pub fn iszero(&mut self, node: NodeId) -> NodeId {
        self.pure(op::ISZERO, [node, 0, 0])
    }

    pub fn and(&mut self, node: NodeId, mask: U256) -> NodeId {
        let mask = self.constant(mask);
        self.pure(op::AND, [node, mask, 0])
    }

    /// Shift by a constant number of bits.
    pub fn shift(&mut self, opcode: u8, by: usize, node: NodeId) -> NodeId {
        let by = self.small(by);
        self.pure(opcode, [by, node, 0])
    }

    pub fn select(&mut self, [condition, then, otherwise]: [NodeId; 3]) -> NodeId {
        let [condition, then, otherwise] = [condition, then, otherwise].map(|node| self.resolved(node));
        if then == otherwise || self.range(condition).is_nonzero() {
            return then;
        }
        if self.is(condition, 0) {
            return otherwise;
        }
        if let Some([inner, ..]) = self.matched(condition, op::ISZERO) {
            return self.select([inner, otherwise, then]);
        }
        if self.is(then, 0) && self.is(otherwise, 1) {
            return self.iszero(condition);
        }
        if self.is(then, 1) && self.is(otherwise, 0) && self.range(condition).is_boolean() {
            return condition;
        }
        let node = Node::Select([condition, then, otherwise]);
        let range = self.derived(&node);
        self.intern(node, range)
    }

    pub fn product_above(&mut self, [a, b]: [NodeId; 2], limit: U256) -> NodeId {
        let node = Node::ProductAbove([a.min(b), a.max(b)], limit);
        let range = self.derived(&node);
        match range.as_constant() {
            Some(value) => self.constant(value),
            None => self.intern(node, range),
        }
    }

    /// A hash; of constants alone it is a constant, and neighbouring bytes are joined.
    pub fn keccak(&mut self, parts: Vec<Part>) -> NodeId {
        let mut joined: Vec<Part> = Vec::new();
        for part in parts {
            let bytes = match part {
                Part::Bytes(bytes) => bytes,
                Part::Word { node, from, length } => match self.as_constant(node) {
                    Some(value) => {
                        let start = usize::from(from);
                        value.to_be_bytes::<32>()[start..start + usize::from(length)].to_vec()
                    }
                    None => {
                        joined.push(Part::Word { node, from, length });
                        continue;
                    }
                },
            };
            match joined.last_mut() {
                Some(Part::Bytes(before)) => before.extend_from_slice(&bytes),
                _ => joined.push(Part::Bytes(bytes)),
            }
        }
        match joined.as_slice() {
            [] => self.constant(keccak256([]).into()),
            [Part::Bytes(bytes)] => self.constant(keccak256(bytes).into()),
            _ => self.intern(Node::Keccak(joined), Range::FULL),
        }
    }

    /// The range of a node from what is certain about its operands now.
    pub fn derived(&self, node: &Node) -> Range {
        match node {
            Node::Input { bits, .. } => Range::below_bits(usize::from(*bits)),
            Node::Constant(value) => Range::exactly(*value),
            Node::Pure(opcode, arguments) => {
                let [a, b, c] = arguments.map(|node| self.range(node));
                let range = range_of_pure(*opcode, a, b, c, self.is_exact(*opcode, arguments));
                let short = self.quotients.get(&[arguments[0], arguments[1]]).filter(|_| *opcode == op::DIV);
                short.and_then(|bits| range.meet(&Range::below_bits(*bits))).unwrap_or(range)
            }
            Node::Keccak(_) => Range::FULL,
            Node::Select([_, then, otherwise]) => self.range(*then).join(self.range(*otherwise)),
            Node::ProductAbove([a, b], limit) => range_of_product_above(self.range(*a), self.range(*b), *limit),
        }
    }

    fn is_exact(&self, opcode: u8, &[a, b, _]: &[NodeId; 3]) -> bool {
        match opcode {
            op::ADD | op::MUL => self.exact.contains(&(opcode, [a.min(b), a.max(b)])),
            op::SUB => self.ordered.contains(&(b, a)) || self.is_part_of(b, a),
            _ => false,
        }
    }

    /// Whether a node is never above another one by what it is: a quotient, a shifted or masked word.
    fn is_part_of(&self, part: NodeId, whole: NodeId) -> bool {
        match self.nodes[part as usize] {
            Node::Pure(op::DIV | op::MOD, [a, ..]) => a == whole,
            Node::Pure(op::SHR, [_, b, _]) => b == whole,
            Node::Pure(op::AND, [a, b, _]) => a == whole || b == whole,
            _ => false,
        }
    }
}
