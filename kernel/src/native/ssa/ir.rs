//! Static single assignment over 256-bit words: what is computed, under which conditions, with which results.

use std::fmt;

use revm::primitives::{HashMap, U256};

use crate::trace::arithmetic::takes;

/// More words than this have no place in a row.
pub const MOST_WORDS: u32 = 1 << 20;

/// The number of a node. Operands have lower numbers than the nodes that use them.
pub type NodeId = u32;

/// A piece of the bytes that are hashed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Bytes(Vec<u8>),
    /// `length` bytes of a word from its byte `from` on; byte 0 is the highest.
    Word {
        node: NodeId,
        from: u8,
        length: u8,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A word of the row, certainly below 2^bits.
    Input {
        word: u32,
        bits: u16,
    },
    Constant(U256),
    /// A pure EVM instruction; the first operand was on top of the stack, those it does not have are 0.
    Pure(u8, [NodeId; 3]),
    /// The Keccak-256 hash of the parts, one behind the other.
    Keccak(Vec<Part>),
    /// The second operand where the first is not zero, otherwise the third.
    Select([NodeId; 3]),
    /// 1 where the exact product of both is above the limit, otherwise 0.
    ProductAbove([NodeId; 2], U256),
}

/// What a node must be, or the row gives no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    Zero,
    NonZero,
    Equal(U256),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    pub node: NodeId,
    pub condition: Condition,
}

/// A path without branches. A row has results where all guards hold; rows where one fails are computed on and must not trap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    pub nodes: Vec<Node>,
    pub guards: Vec<Guard>,
    pub outputs: Vec<NodeId>,
}

/// What is wrong with a function.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Node {
    /// Call `each` with every operand.
    pub fn operands(&self, mut each: impl FnMut(NodeId)) {
        match self {
            Self::Input { .. } | Self::Constant(_) => {}
            Self::Pure(opcode, arguments) => {
                arguments.iter().take(takes(*opcode).unwrap_or(3)).for_each(|node| each(*node));
            }
            Self::Keccak(parts) => {
                for part in parts {
                    if let Part::Word { node, .. } = part {
                        each(*node);
                    }
                }
            }
            Self::Select(arguments) => arguments.iter().for_each(|node| each(*node)),
            Self::ProductAbove(arguments, _) => arguments.iter().for_each(|node| each(*node)),
        }
    }

    /// The same node with other operands.
    pub fn with_operands(&self, mut other: impl FnMut(NodeId) -> NodeId) -> Self {
        match self {
            Self::Input { .. } | Self::Constant(_) => self.clone(),
            Self::Pure(opcode, arguments) => {
                let mut changed = [0; 3];
                for (at, node) in arguments.iter().enumerate().take(takes(*opcode).unwrap_or(3)) {
                    changed[at] = other(*node);
                }
                Self::Pure(*opcode, changed)
            }
            Self::Keccak(parts) => Self::Keccak(
                parts
                    .iter()
                    .map(|part| match part {
                        Part::Bytes(bytes) => Part::Bytes(bytes.clone()),
                        Part::Word { node, from, length } => {
                            Part::Word { node: other(*node), from: *from, length: *length }
                        }
                    })
                    .collect(),
            ),
            Self::Select(arguments) => Self::Select(arguments.map(other)),
            Self::ProductAbove(arguments, limit) => Self::ProductAbove(arguments.map(other), *limit),
        }
    }
}

impl Condition {
    pub fn holds(self, value: U256) -> bool {
        match self {
            Self::Zero => value.is_zero(),
            Self::NonZero => !value.is_zero(),
            Self::Equal(wanted) => value == wanted,
        }
    }
}

impl Function {
    /// How many input words a row has: one more than the highest word that is read.
    pub fn input_words(&self) -> usize {
        let words =
            self.nodes.iter().map(|node| if let Node::Input { word, .. } = node { *word as usize + 1 } else { 0 });
        words.max().unwrap_or(0)
    }

    /// Check order, operands and bounds.
    pub fn verify(&self) -> Result<(), Malformed> {
        for (at, node) in self.nodes.iter().enumerate() {
            let mut late = None;
            node.operands(|operand| late = late.or((operand as usize >= at).then_some(operand)));
            if let Some(operand) = late {
                return Err(Malformed(format!("node {at} uses node {operand}, which is not before it")));
            }
            verify_node(at, node)?;
        }
        let known = |node: NodeId| (node as usize) < self.nodes.len();
        if let Some(guard) = self.guards.iter().find(|guard| !known(guard.node)) {
            return Err(Malformed(format!("a guard on node {}, which does not exist", guard.node)));
        }
        match self.outputs.iter().find(|node| !known(**node)) {
            Some(node) => Err(Malformed(format!("an output is node {node}, which does not exist"))),
            None => Ok(()),
        }
    }
}

fn verify_node(at: usize, node: &Node) -> Result<(), Malformed> {
    let wrong = match node {
        Node::Input { bits, .. } if *bits > 256 => format!("an input of {bits} bits"),
        Node::Input { word, .. } if *word >= MOST_WORDS => format!("the input {word}, there are at most {MOST_WORDS}"),
        Node::Pure(opcode, arguments) => match takes(*opcode) {
            None => format!("{opcode:#04x}, which is not a pure instruction"),
            Some(count) if arguments[count..].iter().any(|node| *node != 0) => {
                format!("more than {count} operands for {opcode:#04x}")
            }
            Some(_) => return Ok(()),
        },
        Node::Keccak(parts) => {
            let outside = |part: &Part| matches!(part, Part::Word { from, length, .. } if u16::from(*from) + u16::from(*length) > 32);
            match parts.iter().any(outside) {
                true => "bytes behind the end of a word".to_owned(),
                false => return Ok(()),
            }
        }
        _ => return Ok(()),
    };
    Err(Malformed(format!("node {at} has {wrong}")))
}

/// Builds a function in which equal nodes exist once.
#[derive(Default)]
pub struct Builder {
    function: Function,
    known: HashMap<Node, NodeId>,
}

#[allow(dead_code, reason = "for recorders; the binding makes nodes itself")]
impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Go on with a function.
    pub fn of(function: Function) -> Self {
        let known = function.nodes.iter().cloned().zip(0..).collect();
        Self { function, known }
    }

    pub fn node(&mut self, node: Node) -> NodeId {
        let next = self.function.nodes.len() as NodeId;
        *self.known.entry(node).or_insert_with_key(|node| {
            self.function.nodes.push(node.clone());
            next
        })
    }

    pub fn input(&mut self, word: u32) -> NodeId {
        self.bounded_input(word, 256)
    }

    /// An input that is certainly below 2^bits.
    pub fn bounded_input(&mut self, word: u32, bits: u16) -> NodeId {
        self.node(Node::Input { word, bits })
    }

    pub fn constant(&mut self, value: U256) -> NodeId {
        self.node(Node::Constant(value))
    }

    /// A pure instruction; operands that it does not have are ignored.
    pub fn pure(&mut self, opcode: u8, arguments: [NodeId; 3]) -> NodeId {
        let mut kept = [0; 3];
        let count = takes(opcode).unwrap_or(3);
        kept[..count].copy_from_slice(&arguments[..count]);
        self.node(Node::Pure(opcode, kept))
    }

    pub fn keccak(&mut self, parts: Vec<Part>) -> NodeId {
        self.node(Node::Keccak(parts))
    }

    pub fn select(&mut self, condition: NodeId, then: NodeId, otherwise: NodeId) -> NodeId {
        self.node(Node::Select([condition, then, otherwise]))
    }

    pub fn guard(&mut self, node: NodeId, condition: Condition) {
        let guard = Guard { node, condition };
        if !self.function.guards.contains(&guard) {
            self.function.guards.push(guard);
        }
    }

    /// A word that the row returns; returns its number.
    pub fn output(&mut self, node: NodeId) -> usize {
        self.function.outputs.push(node);
        self.function.outputs.len() - 1
    }

    /// What was built so far.
    pub fn function(&self) -> &Function {
        &self.function
    }

    pub fn finish(self) -> Function {
        self.function
    }
}
