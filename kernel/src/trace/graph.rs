//! What a call computes from its calldata: expressions over words, each kept once.

use revm::{
    Database,
    bytecode::opcode as op,
    primitives::{Address, HashMap, U256, keccak256},
};

use super::arithmetic::compute;
use crate::database::{Miss, RowDatabase};

/// The constant zero, also used for operands that an instruction does not have.
pub const ZERO: Node = 0;

/// Expressions in one graph; a batch that needs more is too varied to gain.
pub const MOST_NODES: usize = 1 << 16;

/// The number of an expression. Operands have lower numbers than the expressions that use them.
pub type Node = u32;

/// Bytes of which some come from words: `parts` go over `bytes`, which are zero there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text {
    pub bytes: Vec<u8>,
    pub parts: Vec<Part>,
}

/// `length` bytes of a word, from its byte `from` on, at byte `at` of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pub node: Node,
    pub from: u8,
    pub length: u8,
    pub at: u32,
}

/// What an instruction asks an account for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    Balance,
    CodeSize,
    CodeHash,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expression {
    Constant(U256),
    /// The calldata's word at this byte; behind its end are zeros.
    Input(u32),
    Pure(u8, [Node; 3]),
    Slot(Address, Node),
    Account(Field, Node),
    Assembled(Box<Text>),
    Hash(Box<Text>),
}

/// Expressions and, while one call is replayed, their values.
pub struct Graph {
    expressions: Vec<Expression>,
    known: HashMap<Expression, Node>,
    /// An upper bound of the bits each value has.
    bits: Vec<u16>,
    values: Vec<U256>,
    scratch: Vec<u8>,
}

impl Graph {
    pub fn new() -> Self {
        let mut graph = Self {
            expressions: Vec::new(),
            known: HashMap::default(),
            bits: Vec::new(),
            values: Vec::new(),
            scratch: Vec::new(),
        };
        graph.constant(U256::ZERO);
        graph
    }

    pub fn len(&self) -> usize {
        self.expressions.len()
    }

    pub fn expression(&self, node: Node) -> &Expression {
        &self.expressions[node as usize]
    }

    #[inline]
    pub fn value(&self, node: Node) -> U256 {
        self.values[node as usize]
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

    fn intern(&mut self, expression: Expression) -> Node {
        if let Some(node) = self.known.get(&expression) {
            return *node;
        }
        let node = self.expressions.len() as Node;
        self.bits.push(self.bound(&expression) as u16);
        self.values.push(if let Expression::Constant(value) = expression { value } else { U256::ZERO });
        self.known.insert(expression.clone(), node);
        self.expressions.push(expression);
        node
    }

    fn bound(&self, expression: &Expression) -> usize {
        match expression {
            Expression::Constant(value) => value.bit_len(),
            Expression::Pure(opcode, arguments) => self.bound_of_pure(*opcode, arguments),
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
            _ => 256,
        };
        bound.min(256)
    }

    pub fn constant(&mut self, value: U256) -> Node {
        self.intern(Expression::Constant(value))
    }

    pub fn input(&mut self, at: usize) -> Node {
        self.intern(Expression::Input(at as u32))
    }

    pub fn slot(&mut self, account: Address, key: Node) -> Node {
        self.intern(Expression::Slot(account, key))
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

    /// What an expression is made of directly.
    pub fn operands(&self, node: Node, mut each: impl FnMut(Node)) {
        match self.expression(node) {
            Expression::Constant(_) | Expression::Input(_) => {}
            Expression::Pure(_, arguments) => arguments.iter().for_each(|node| each(*node)),
            Expression::Slot(_, node) | Expression::Account(_, node) => each(*node),
            Expression::Assembled(text) | Expression::Hash(text) => text.parts.iter().for_each(|part| each(part.node)),
        }
    }

    /// Compute the value of an expression whose operands have theirs.
    #[inline]
    pub fn evaluate(
        &mut self,
        node: Node,
        data: &[u8],
        sender: Address,
        database: &mut RowDatabase,
    ) -> Result<(), Unread> {
        let value = match &self.expressions[node as usize] {
            Expression::Constant(_) => return Ok(()),
            Expression::Pure(opcode, [a, b, c]) => {
                compute(*opcode, self.values[*a as usize], self.values[*b as usize], self.values[*c as usize])
            }
            Expression::Input(at) => input_word(data, *at as usize),
            Expression::Slot(account, key) => database.storage(*account, self.values[*key as usize])?,
            Expression::Account(field, address) => {
                read_account(*field, self.values[*address as usize], sender, database)?
            }
            Expression::Assembled(text) => {
                self.scratch.clear();
                write(text, &self.values, &mut self.scratch);
                U256::from_be_slice(&self.scratch)
            }
            Expression::Hash(text) => {
                self.scratch.clear();
                write(text, &self.values, &mut self.scratch);
                keccak256(&self.scratch).into()
            }
        };
        self.values[node as usize] = value;
        Ok(())
    }

    /// A text with the values of its words.
    pub fn write(&self, text: &Text) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.bytes.len());
        write(text, &self.values, &mut bytes);
        bytes
    }
}

/// A value, possibly missing, that only the interpreter can read.
#[derive(Debug)]
pub struct Unread;

impl From<Miss> for Unread {
    fn from(_: Miss) -> Self {
        Self
    }
}

fn write(text: &Text, values: &[U256], into: &mut Vec<u8>) {
    into.extend_from_slice(&text.bytes);
    for part in &text.parts {
        let (from, at, length) = (usize::from(part.from), part.at as usize, usize::from(part.length));
        let word = values[part.node as usize].to_be_bytes::<32>();
        match <&mut [u8; 32]>::try_from(&mut into[at..at + length]) {
            Ok(place) => *place = word,
            Err(_) => into[at..at + length].copy_from_slice(&word[from..from + length]),
        }
    }
}

fn input_word(data: &[u8], at: usize) -> U256 {
    let mut word = [0; 32];
    let given = &data[at.min(data.len())..data.len().min(at + 32)];
    word[..given.len()].copy_from_slice(given);
    U256::from_be_bytes(word)
}

fn read_account(field: Field, word: U256, sender: Address, database: &mut RowDatabase) -> Result<U256, Unread> {
    let address = Address::from_word(word.into());
    // The call itself raises the sender's nonce: only the interpreter sees the account as the code does.
    if address == sender {
        return Err(Unread);
    }
    let info = database.basic(address)?.unwrap_or_default();
    Ok(match field {
        Field::Balance => info.balance,
        // Code of which only the hash is known is the interpreter's to report.
        Field::CodeSize => U256::from(info.code.as_ref().ok_or(Unread)?.len()),
        Field::CodeHash if info.is_empty() => U256::ZERO,
        Field::CodeHash => info.code_hash.into(),
    })
}
