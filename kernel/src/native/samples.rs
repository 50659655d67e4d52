//! Words, functions and rows for tests: edges are common, everything follows from a seed.

use revm::{bytecode::opcode as op, primitives::U256};

use super::ssa::{
    ir::{Builder, Condition, Function, Guard, NodeId, Part},
    range::mask,
    tree::{Branch, End, Tree},
};
use crate::{rows::floats::Float, trace::arithmetic::takes};

/// Every pure instruction.
pub const PURE: [u8; 26] = [
    op::ADD,
    op::MUL,
    op::SUB,
    op::DIV,
    op::SDIV,
    op::MOD,
    op::SMOD,
    op::ADDMOD,
    op::MULMOD,
    op::EXP,
    op::SIGNEXTEND,
    op::LT,
    op::GT,
    op::SLT,
    op::SGT,
    op::EQ,
    op::ISZERO,
    op::AND,
    op::OR,
    op::XOR,
    op::NOT,
    op::BYTE,
    op::SHL,
    op::SHR,
    op::SAR,
    op::CLZ,
];

/// The float operations.
const FIRST_FLOAT: u8 = Float::Add.code();
const FLOATS: usize = 1 + (Float::ToWord.code() - FIRST_FLOAT) as usize;

/// Multiplies the seeds of random tests: `MAYAVI_KERNEL_CASES=20` takes some minutes.
const SETTING: &str = "MAYAVI_KERNEL_CASES";

/// So many seeds, or more where the setting asks for them.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    let times = std::env::var(SETTING).map_or(1, |text| text.parse().expect("a number of times"));
    0..count * times
}

pub struct Samples {
    state: u64,
    /// Whether functions have float operations too.
    floats: bool,
}

impl Samples {
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1), floats: false }
    }

    pub fn with_floats(seed: u64) -> Self {
        Self { floats: true, ..Self::new(seed) }
    }

    /// Pseudo-random bits (splitmix64).
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A word: an edge, a power of two and its neighbours, a unit of money, or any of some size.
    pub fn word(&mut self) -> U256 {
        let power = U256::ONE << self.below(256);
        let any = U256::from_limbs([self.bits(), self.bits(), self.bits(), self.bits()]);
        match self.below(12) {
            0 => U256::ZERO,
            1 => U256::from(self.below(6)),
            2 => U256::MAX - U256::from(self.below(3)),
            3 => power,
            4 => power - U256::ONE,
            5 => power.wrapping_add(U256::ONE),
            6 => U256::from(10).pow(U256::from(self.one_of(&[4, 6, 8, 18, 26, 27, 36]))),
            7 if self.floats => U256::from(self.float().to_bits()),
            7 => U256::from(self.below(300)),
            8 => !(any >> self.below(256)),
            _ => any >> self.below(256),
        }
    }

    /// A float: an edge, or one of any size.
    fn float(&mut self) -> f64 {
        let edges = [0.0, -0.0, 1.0, -2.5, 0.5, 1e18, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::INFINITY, f64::NAN];
        match self.below(3) {
            0 => self.one_of(&edges),
            1 => self.below(2000) as f64 - 1000.0,
            _ => f64::from_bits(self.bits()),
        }
    }

    pub fn row(&mut self, words: usize) -> Vec<U256> {
        // Sometimes all are tiny, so that products meet limits.
        let tiny = self.below(6) == 0;
        (0..words).map(|_| if tiny { U256::from(self.below(8)) } else { self.word() }).collect()
    }

    fn node(&mut self, nodes: &[NodeId]) -> NodeId {
        // Recent nodes more often: chains become deep.
        let at =
            if self.below(2) == 0 { nodes.len().saturating_sub(1 + self.below(6)) } else { self.below(nodes.len()) };
        nodes[at]
    }

    /// A function of `size` random instructions on `inputs` words.
    pub fn function(&mut self, inputs: usize, size: usize) -> Function {
        let mut builder = Builder::new();
        let mut nodes: Vec<NodeId> = (0..inputs)
            .map(|word| {
                let input = builder.input(word as u32);
                match self.below(3) {
                    0 => input,
                    _ => {
                        let bits = self.one_of(&[1, 8, 40, 64, 104, 112, 128, 160, 192]);
                        let kept = builder.constant(mask(bits));
                        builder.pure(op::AND, [input, kept, 0])
                    }
                }
            })
            .collect();
        for _ in 0..size {
            let made = self.instruction(&mut builder, &nodes);
            nodes.push(made);
            if self.below(5) == 0 {
                self.guard(&mut builder, made);
            }
        }
        for _ in 0..4 {
            let node = self.node(&nodes);
            builder.output(node);
        }
        builder.output(nodes[nodes.len() - 1]);
        builder.finish()
    }

    /// A tree of paths over the nodes of a random function.
    pub fn tree(&mut self, inputs: usize, size: usize) -> Tree {
        let Function { nodes, guards, .. } = self.function(inputs, size);
        let root = self.branch(nodes.len(), &guards, 3);
        Tree { nodes, root }
    }

    fn branch(&mut self, nodes: usize, guards: &[Guard], depth: usize) -> Branch {
        let kept = guards.iter().copied().filter(|_| self.below(4) == 0).collect();
        if depth == 0 || self.below(5) == 0 {
            let outputs = (0..1 + self.below(4)).map(|_| self.below(nodes) as NodeId).collect();
            return Branch { guards: kept, end: End::Leaf(outputs) };
        }
        let conditions = match self.below(3) {
            0 => [Condition::Equal(U256::ONE), Condition::Zero],
            1 => [Condition::NonZero, Condition::Equal(U256::ZERO)],
            _ => [Condition::Zero, Condition::NonZero],
        };
        let node = self.below(nodes) as NodeId;
        let cases = conditions.map(|condition| (condition, self.branch(nodes, guards, depth - 1)));
        Branch { guards: kept, end: End::Split(node, cases.into()) }
    }

    fn instruction(&mut self, builder: &mut Builder, nodes: &[NodeId]) -> NodeId {
        let operand = |builder: &mut Builder, samples: &mut Self| match samples.below(4) {
            0 => builder.constant(samples.word()),
            _ => samples.node(nodes),
        };
        let [a, b, c] = [(); 3].map(|()| operand(builder, self));
        match self.below(14) {
            0 => builder.select(a, b, c),
            1 => self.overflow_check(builder, a, b),
            2 => {
                let length = 1 + self.below(32) as u8;
                let from = self.below(33 - usize::from(length)) as u8;
                let bytes = Part::Bytes(vec![7; self.below(40)]);
                builder.keccak(vec![
                    Part::Word { node: a, from, length },
                    bytes,
                    Part::Word { node: b, from: 0, length: 32 },
                ])
            }
            3 => {
                let by = builder.constant(U256::from(self.below(260)));
                let opcode = self.one_of(&[op::SHL, op::SHR, op::SAR]);
                builder.pure(opcode, [by, a, 0])
            }
            4 => {
                let divisor = builder.constant(self.word());
                let opcode = self.one_of(&[op::DIV, op::MOD]);
                builder.pure(opcode, [a, divisor, 0])
            }
            5 | 6 => {
                let opcode = self.one_of(&[op::ADD, op::SUB, op::MUL, op::DIV, op::LT]);
                builder.pure(opcode, [a, b, 0])
            }
            _ => {
                let floats = self.floats && self.below(2) == 0;
                let opcode = if floats { FIRST_FLOAT + self.below(FLOATS) as u8 } else { self.one_of(&PURE) };
                let mut arguments = [a, b, c];
                arguments[takes(opcode).expect("pure")..].fill(0);
                builder.pure(opcode, arguments)
            }
        }
    }

    /// The overflow checks that compilers write.
    fn overflow_check(&mut self, builder: &mut Builder, a: NodeId, b: NodeId) -> NodeId {
        let none = builder.pure(op::ISZERO, [b, 0, 0]);
        match self.below(4) {
            0 => {
                let limit = if self.below(2) == 0 { U256::from(self.below(16)) } else { self.word() };
                let limit = builder.constant(limit);
                let most = builder.pure(op::DIV, [limit, b, 0]);
                let above = builder.pure(op::GT, [a, most, 0]);
                let below = builder.pure(op::ISZERO, [above, 0, 0]);
                builder.pure(op::OR, [none, below, 0])
            }
            1 => {
                let product = builder.pure(op::MUL, [a, b, 0]);
                let quotient = builder.pure(op::DIV, [product, b, 0]);
                let equal = builder.pure(op::EQ, [quotient, a, 0]);
                builder.pure(op::OR, [none, equal, 0])
            }
            2 => {
                let left = builder.pure(op::NOT, [b, 0, 0]);
                builder.pure(op::GT, [a, left, 0])
            }
            _ => {
                let sum = builder.pure(op::ADD, [a, b, 0]);
                builder.pure(op::LT, [sum, a, 0])
            }
        }
    }

    fn guard(&mut self, builder: &mut Builder, node: NodeId) {
        let condition = match self.below(8) {
            0 => Condition::Equal(self.word()),
            1 | 2 => Condition::Zero,
            _ => Condition::NonZero,
        };
        // Mostly on a comparison, as in contracts.
        let node = match self.below(3) {
            0 => node,
            1 => builder.pure(op::ISZERO, [node, 0, 0]),
            _ => {
                let limit = builder.constant(self.word());
                let opcode = self.one_of(&[op::LT, op::GT, op::EQ]);
                builder.pure(opcode, [node, limit, 0])
            }
        };
        builder.guard(node, condition);
    }
}
