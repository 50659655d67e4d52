//! Functions of a program's words as expressions: the one place that says what each of them is made of.
//!
//! Where a result would not fit into a word, which is rare, the path depends on it: both cases are simpler by themselves.

use revm::{bytecode::opcode as op, primitives::U256};

use super::{
    course::{Course, Unmodelled},
    graph::{Node, Part, Text, ZERO},
};
use crate::rows::arithmetic::Function;

/// An expression with its value on the row that is recorded.
pub type Known = (Node, U256);

impl Course<'_> {
    /// A function of words that have these values on this row.
    pub fn express(&mut self, function: Function, words: &[Known]) -> Result<Node, Unmodelled> {
        Ok(match (function, words) {
            (Function::Add, [a, b]) => {
                let sum = self.two(op::ADD, a.0, b.0);
                let carried = self.two(op::LT, sum, a.0);
                match self.decide(carried, a.1.checked_add(b.1).is_none())? {
                    true => self.graph.constant(U256::MAX),
                    false => sum,
                }
            }
            (Function::Subtract, [a, b]) => {
                let (less, difference) = (self.two(op::LT, a.0, b.0), self.two(op::SUB, a.0, b.0));
                self.graph.select(less, ZERO, difference)
            }
            (Function::Multiply, [a, b]) => match self.exceeds(*a, *b)? {
                true => self.graph.constant(U256::MAX),
                false => self.two(op::MUL, a.0, b.0),
            },
            (Function::Divide, [a, b]) => self.two(op::DIV, a.0, b.0),
            (Function::MultiplyDivide, [a, b, c]) => {
                // A product of more than 256 bits is the interpreter's.
                if self.exceeds(*a, *b)? {
                    return Err(Unmodelled);
                }
                let product = self.two(op::MUL, a.0, b.0);
                self.two(op::DIV, product, c.0)
            }
            (Function::Minimum, [a, b]) => {
                let less = self.two(op::LT, a.0, b.0);
                self.graph.select(less, a.0, b.0)
            }
            (Function::Maximum, [a, b]) => {
                let less = self.two(op::LT, a.0, b.0);
                self.graph.select(less, b.0, a.0)
            }
            (Function::Less, [a, b]) => self.two(op::LT, a.0, b.0),
            (Function::Equal, [a, b]) => self.two(op::EQ, a.0, b.0),
            (Function::Either, [condition, a, b]) => self.graph.select(condition.0, a.0, b.0),
            (Function::ShiftRight, [word, by]) => self.two(op::SHR, by.0, word.0),
            (Function::Bits { low, count }, [word]) => {
                let moved = self.shifted(op::SHR, low, word.0);
                let mask = self.graph.constant(largest(count));
                self.two(op::AND, moved, mask)
            }
            (Function::WithBits { low, count }, [word, value]) => {
                let most = self.graph.constant(largest(count));
                let fits = self.two(op::LT, value.0, most);
                let value = self.graph.select(fits, value.0, most);
                let field = self.shifted(op::SHL, low, value);
                let mask = self.graph.constant(!(largest(count) << low));
                let rest = self.two(op::AND, word.0, mask);
                self.two(op::OR, rest, field)
            }
            (Function::Keccak, words) => self.hashed(words),
            (Function::Float(float), [a]) => self.two(float.code(), a.0, ZERO),
            (Function::Float(float), [a, b]) => self.two(float.code(), a.0, b.0),
            _ => return Err(Unmodelled),
        })
    }

    fn two(&mut self, opcode: u8, a: Node, b: Node) -> Node {
        self.graph.pure(opcode, [a, b, ZERO])
    }

    fn shifted(&mut self, opcode: u8, by: usize, word: Node) -> Node {
        let by = self.graph.constant(U256::from(by));
        self.two(opcode, by, word)
    }

    /// Whether a condition holds, which is the same on the whole path.
    fn decide(&mut self, condition: Node, holds: bool) -> Result<bool, Unmodelled> {
        self.require_truth(self.origin(condition), U256::from(holds))?;
        Ok(holds)
    }

    /// Whether a product is above 2**256 - 1.
    fn exceeds(&mut self, a: Known, b: Known) -> Result<bool, Unmodelled> {
        let (a, b) = if self.graph.as_constant(b.0).is_some() { (b, a) } else { (a, b) };
        let most = self.graph.constant(U256::MAX);
        let limit = self.two(op::DIV, most, a.0);
        let above = self.two(op::LT, limit, b.0);
        let zero = self.two(op::ISZERO, a.0, ZERO);
        let there = self.two(op::ISZERO, zero, ZERO);
        let exceeds = self.two(op::AND, there, above);
        self.decide(exceeds, a.1.checked_mul(b.1).is_none())
    }

    fn hashed(&mut self, words: &[Known]) -> Node {
        let mut text = Text { bytes: vec![0; 32 * words.len()], parts: Vec::new() };
        for (place, (node, _)) in words.iter().enumerate() {
            let at = 32 * place;
            match self.graph.as_constant(*node) {
                Some(value) => text.bytes[at..at + 32].copy_from_slice(&value.to_be_bytes::<32>()),
                None => text.parts.push(Part { node: *node, from: 0, length: 32, at: at as u32 }),
            }
        }
        if text.parts.is_empty() {
            return self.graph.constant(revm::primitives::keccak256(&text.bytes).into());
        }
        self.graph.hash(text)
    }
}

/// The largest number of `count` bits, of which there is one at least.
fn largest(count: usize) -> U256 {
    U256::MAX >> (256 - count)
}
