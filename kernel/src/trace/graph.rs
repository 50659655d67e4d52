//! What a call computes from what varies: expressions over words, each kept once.

use revm::{
    bytecode::opcode as op,
    primitives::{Address, HashMap, U256},
};
use serde::{Deserialize, Serialize};

use super::{
    arithmetic::{compute, compute_among, name, takes},
    pins::Pins,
    surroundings::{Surroundings, Unread},
    values::{Values, write},
};
use crate::rows::floats::Float;

/// The constant zero, also used for operands that an instruction does not have.
pub const ZERO: Node = 0;

/// Expressions in one graph; a batch that needs more is too varied to gain.
pub const MOST_NODES: usize = 1 << 16;

/// The number of an expression. Operands have lower numbers than the expressions that use them.
pub type Node = u32;

/// Bytes of which some come from words: `parts` go over `bytes`, which are zero there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Text {
    pub bytes: Vec<u8>,
    pub parts: Vec<Part>,
}

/// `length` bytes of a word, from its byte `from` on, at byte `at` of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    pub node: Node,
    pub from: u8,
    pub length: u8,
    pub at: u32,
}

/// What an instruction asks an account for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Field {
    Balance,
    CodeSize,
    CodeHash,
}

/// What an instruction asks the block for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BlockField {
    Timestamp,
    Number,
    BaseFee,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expression {
    Constant(U256),
    /// A word of the calldata; what the number means is the surroundings' to say.
    Input(u32),
    Block(BlockField),
    Pure(u8, [Node; 3]),
    /// The second if the first is not zero, else the third.
    Select([Node; 3]),
    Slot(Address, Node),
    /// A slot with a number: its account and its key.
    Place(u32, Address, U256),
    Account(Field, Node),
    Assembled(Box<Text>),
    Hash(Box<Text>),
}

/// Expressions, operands before those that use them.
pub struct Graph {
    expressions: Vec<Expression>,
    known: HashMap<Expression, Node>,
    /// An upper bound of the bits each value has.
    bits: Vec<u16>,
    pub pins: Pins,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

impl Graph {
    pub fn new() -> Self {
        let (known, pins) = (HashMap::default(), Pins::default());
        let mut graph = Self { expressions: Vec::new(), known, bits: Vec::new(), pins };
        graph.constant(U256::ZERO);
        graph
    }

    pub fn len(&self) -> usize {
        self.expressions.len()
    }

    pub fn expressions(&self) -> &[Expression] {
        &self.expressions
    }

    pub fn expression(&self, node: Node) -> &Expression {
        &self.expressions[node as usize]
    }

    pub fn as_constant(&self, node: Node) -> Option<U256> {
        match self.expression(node) {
            Expression::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether the value is 0 or 1, whatever the calldata.
    pub fn is_boolean(&self, node: Node) -> bool {
        self.bits[node as usize] <= 1
    }

    /// Take an expression as it is; its number.
    pub fn intern(&mut self, expression: Expression) -> Node {
        if let Some(node) = self.known.get(&expression) {
            return *node;
        }
        let node = self.expressions.len() as Node;
        self.bits.push(self.bound(&expression) as u16);
        self.known.insert(expression.clone(), node);
        self.expressions.push(expression);
        node
    }

    fn bound(&self, expression: &Expression) -> usize {
        match expression {
            Expression::Constant(value) => value.bit_len(),
            Expression::Pure(opcode, arguments) => self.bound_of_pure(*opcode, arguments),
            Expression::Select([_, a, b]) => usize::from(self.bits[*a as usize].max(self.bits[*b as usize])),
            Expression::Account(Field::CodeSize, _) => 32,
            Expression::Assembled(text) => {
                let first = text.parts.iter().map(|part| part.at as usize).min().unwrap_or(32);
                let zeros = text.bytes.iter().take(first).take_while(|byte| **byte == 0).count();
                256 - 8 * zeros
            }
            _ => 256,
        }
    }

    fn bound_of_pure(&self, opcode: u8, &[a, b, c]: &[Node; 3]) -> usize {
        let bits = |node: Node| usize::from(self.bits[node as usize]);
        let shift = self.as_constant(a).and_then(|by| usize::try_from(by).ok());
        let bound = match opcode {
            op::LT..=op::ISZERO => 1,
            op::AND => bits(a).min(bits(b)),
            op::OR | op::XOR => bits(a).max(bits(b)),
            op::ADD => bits(a).max(bits(b)) + 1,
            op::MUL => bits(a) + bits(b),
            op::DIV => bits(a),
            op::MOD => bits(a).min(bits(b)),
            op::ADDMOD | op::MULMOD => bits(c),
            op::BYTE => 8,
            op::CLZ => 9,
            op::SHR => bits(b).saturating_sub(shift.unwrap_or(0)),
            op::SHL => shift.map_or(256, |by| bits(b).saturating_add(by)),
            _ => Float::of_code(opcode).map_or(256, Float::bits),
        };
        bound.min(256)
    }

    pub fn constant(&mut self, value: U256) -> Node {
        self.intern(Expression::Constant(value))
    }

    pub fn input(&mut self, at: usize) -> Node {
        self.intern(Expression::Input(at as u32))
    }

    pub fn block(&mut self, field: BlockField) -> Node {
        self.intern(Expression::Block(field))
    }

    pub fn slot(&mut self, account: Address, key: Node) -> Node {
        self.intern(Expression::Slot(account, key))
    }

    pub fn place(&mut self, number: u32, account: Address, key: U256) -> Node {
        self.intern(Expression::Place(number, account, key))
    }

    pub fn account(&mut self, field: Field, address: Node) -> Node {
        self.intern(Expression::Account(field, address))
    }

    pub fn hash(&mut self, text: Text) -> Node {
        self.intern(Expression::Hash(Box::new(text)))
    }

    /// A word of 32 bytes.
    pub fn assembled(&mut self, text: Text) -> Node {
        match text.parts.as_slice() {
            [] => self.constant(U256::from_be_slice(&text.bytes)),
            [Part { node, from: 0, length: 32, at: 0 }] => *node,
            _ => self.intern(Expression::Assembled(Box::new(text))),
        }
    }

    /// A pure instruction on words, simplified where that is certain.
    pub fn pure(&mut self, opcode: u8, arguments: [Node; 3]) -> Node {
        let [a, b, c] = arguments;
        if let (Some(x), Some(y), Some(z)) = (self.as_constant(a), self.as_constant(b), self.as_constant(c)) {
            return self.constant(compute(opcode, x, y, z));
        }
        match self.simpler(opcode, a, b) {
            Some(node) => node,
            None => self.intern(Expression::Pure(opcode, arguments)),
        }
    }

    /// `a` if the condition is not zero, else `b`.
    pub fn select(&mut self, condition: Node, a: Node, b: Node) -> Node {
        if a == b {
            return a;
        }
        match (self.as_constant(condition), self.as_constant(a), self.as_constant(b)) {
            (Some(U256::ZERO), ..) => b,
            (Some(_), ..) => a,
            (_, Some(U256::ONE), Some(U256::ZERO)) if self.is_boolean(condition) => condition,
            (_, Some(U256::ZERO), Some(U256::ONE)) => self.pure(op::ISZERO, [condition, ZERO, ZERO]),
            _ => self.intern(Expression::Select([condition, a, b])),
        }
    }

    fn simpler(&mut self, opcode: u8, a: Node, b: Node) -> Option<Node> {
        let (left, right) = (self.as_constant(a), self.as_constant(b));
        let is = |word: Option<U256>, value: u64| word.is_some_and(|word| word == U256::from(value));
        match opcode {
            op::ADD | op::OR | op::XOR if is(left, 0) => Some(b),
            op::ADD | op::SUB | op::OR | op::XOR if is(right, 0) => Some(a),
            op::SHL | op::SHR | op::SAR if is(left, 0) => Some(b),
            op::MUL if is(left, 1) => Some(b),
            op::MUL | op::DIV | op::EXP if is(right, 1) => Some(a),
            op::MUL | op::AND if is(left, 0) || is(right, 0) => Some(self.constant(U256::ZERO)),
            op::DIV | op::MOD if is(right, 0) => Some(self.constant(U256::ZERO)),
            op::AND | op::OR if a == b => Some(a),
            op::EQ if a == b => Some(self.constant(U256::ONE)),
            op::XOR | op::SUB | op::LT | op::GT if a == b => Some(self.constant(U256::ZERO)),
            op::AND if self.covers(left, b) => Some(b),
            op::AND if self.covers(right, a) => Some(a),
            op::ISZERO => self.doubly_negated(a),
            _ => None,
        }
    }

    /// Whether a mask leaves every bit that the word can have.
    fn covers(&self, mask: Option<U256>, node: Node) -> bool {
        let bits = usize::from(self.bits[node as usize]);
        mask.is_some_and(|mask| mask.trailing_ones() >= bits)
    }

    /// `iszero(iszero(x))` of a truth value is the truth value.
    fn doubly_negated(&self, node: Node) -> Option<Node> {
        match self.expression(node) {
            Expression::Pure(op::ISZERO, [inner, ..]) if self.is_boolean(*inner) => Some(*inner),
            _ => None,
        }
    }

    /// A graph of these expressions alone, operands first, and their numbers in it.
    pub fn part(&self, nodes: &[Node]) -> (Self, HashMap<Node, Node>) {
        let (mut part, mut numbers) = (Self::new(), HashMap::default());
        for node in nodes {
            let copied = part.copied(self.expression(*node), &numbers);
            numbers.insert(*node, copied);
        }
        (part, numbers)
    }

    /// An expression of another graph, whose operands have these numbers here.
    pub fn copied(&mut self, expression: &Expression, numbers: &HashMap<Node, Node>) -> Node {
        let mut expression = expression.clone();
        match &mut expression {
            Expression::Pure(_, arguments) | Expression::Select(arguments) => {
                arguments.iter_mut().for_each(|node| *node = numbers.get(node).copied().unwrap_or(ZERO));
            }
            Expression::Slot(_, node) | Expression::Account(_, node) => *node = numbers[node],
            Expression::Assembled(text) | Expression::Hash(text) => {
                text.parts.iter_mut().for_each(|part| part.node = numbers[&part.node]);
            }
            _ => {}
        }
        self.intern(expression)
    }

    /// What an expression is made of directly.
    pub fn operands(&self, node: Node, mut each: impl FnMut(Node)) {
        match self.expression(node) {
            Expression::Constant(_) | Expression::Input(_) | Expression::Block(_) | Expression::Place(..) => {}
            Expression::Pure(_, arguments) | Expression::Select(arguments) => {
                arguments.iter().for_each(|node| each(*node));
            }
            Expression::Slot(_, node) | Expression::Account(_, node) => each(*node),
            Expression::Assembled(text) | Expression::Hash(text) => text.parts.iter().for_each(|part| each(part.node)),
        }
    }

    /// An expression in words, down to a depth.
    pub fn text(&self, node: Node, depth: usize) -> String {
        let inner = |node: &Node| if depth == 0 { "…".to_string() } else { self.text(*node, depth - 1) };
        match self.expression(node) {
            Expression::Constant(value) => format!("{value:#x}"),
            Expression::Input(at) => format!("input {at}"),
            Expression::Block(field) => format!("{field:?}").to_lowercase(),
            Expression::Pure(opcode, nodes) => {
                let (name, count) = (name(*opcode).to_lowercase(), takes(*opcode).unwrap_or(0));
                format!("{name}({})", nodes[..count].iter().map(inner).collect::<Vec<_>>().join(", "))
            }
            Expression::Select(nodes) => {
                format!("select({})", nodes.iter().map(inner).collect::<Vec<_>>().join(", "))
            }
            Expression::Place(_, account, key) => format!("slot({account}, {key:#x})"),
            Expression::Slot(account, key) => format!("slot({account}, {})", inner(key)),
            Expression::Account(field, address) => format!("{field:?}({})", inner(address)).to_lowercase(),
            Expression::Assembled(text) => format!("bytes of {} words", text.parts.len()),
            Expression::Hash(text) => format!("hash of {} bytes", text.bytes.len()),
        }
    }

    /// Compute the value of an expression whose operands have theirs.
    #[inline]
    pub fn evaluate(
        &self,
        node: Node,
        values: &mut Values,
        surroundings: &mut impl Surroundings,
    ) -> Result<(), Unread> {
        let words = &mut values.words;
        let value = match &self.expressions[node as usize] {
            Expression::Constant(_) => return Ok(()),
            Expression::Pure(opcode, arguments) => {
                compute_among(words, node as usize, *opcode, arguments);
                return Ok(());
            }
            Expression::Select([condition, a, b]) => {
                words[if words[*condition as usize].is_zero() { *b } else { *a } as usize]
            }
            Expression::Input(at) => surroundings.input(*at),
            Expression::Block(field) => surroundings.block(*field),
            Expression::Place(number, account, key) => surroundings.place(*number, *account, *key)?,
            Expression::Slot(account, key) => surroundings.slot(*account, words[*key as usize])?,
            Expression::Account(field, address) => surroundings.account(*field, words[*address as usize])?,
            Expression::Assembled(text) => {
                values.scratch.clear();
                write(text, words, &mut values.scratch);
                U256::from_be_slice(&values.scratch)
            }
            Expression::Hash(text) => {
                values.scratch.clear();
                write(text, words, &mut values.scratch);
                surroundings.hash(&values.scratch)
            }
        };
        words[node as usize] = value;
        Ok(())
    }
}
