//! What a recording has established so far: the guards of its path, and which values follow from them.

use std::ops::Range;

use revm::{
    bytecode::opcode as op,
    primitives::{Address, HashSet, U256},
};

use crate::faults::Fault;

use super::{
    effects::Effects,
    graph::{Expression, Graph, Node, ZERO},
    shadow::{ByteOrigin, Frame, Origin},
    tree::{Guard, Instruction, Origins},
};

/// Guards on one path.
const MOST_GUARDS: usize = 1 << 12;
/// Memory whose origins are followed, in bytes of one frame.
const MOST_MEMORY: usize = 1 << 18;

/// The recording ends here: the next instruction is not modelled.
pub struct Unmodelled;

pub type Step = Result<(), Unmodelled>;

/// The way of one call, as far as it has come.
pub struct Course<'a> {
    pub graph: &'a mut Graph,
    pub guards: Vec<(Guard, U256)>,
    pub origins: Origins,
    /// The instruction that is being followed.
    pub at: Instruction,
    guarded: HashSet<Guard>,
    /// Expressions whose value follows from the guards so far.
    pinned: HashSet<Node>,
    /// The origins of a word that is about to come onto the stack and must be assembled.
    pub late: Option<[ByteOrigin; 32]>,
    /// How much the gas that is left can differ between calls of this path, at most.
    pub gas_varies: u64,
    /// What a transaction does; none for a view, whose state does not change.
    pub effects: Option<Effects<'a>>,
    /// The sender and its address here, where it varies.
    pub sender: Option<(Node, U256)>,
}

impl<'a> Course<'a> {
    pub fn new(graph: &'a mut Graph, gas_varies: u64, effects: Option<Effects<'a>>) -> Self {
        Self {
            graph,
            guards: Vec::new(),
            origins: Origins::default(),
            at: Instruction::default(),
            guarded: HashSet::default(),
            pinned: HashSet::default(),
            late: None,
            gas_varies,
            effects,
            sender: None,
        }
    }

    pub fn is_pinned(&self, node: Node) -> bool {
        self.pinned.contains(&node)
    }

    /// Where a byte comes from on this path. A byte of an assembled word is one of those it was assembled from.
    pub fn source(&self, mut byte: ByteOrigin) -> ByteOrigin {
        while byte != ByteOrigin::CONSTANT && !self.is_pinned(byte.node()) {
            let Expression::Assembled(text) = self.graph.expression(byte.node()) else { return byte };
            byte = text.origin(byte.byte());
        }
        ByteOrigin::CONSTANT
    }

    /// The origin of the operand `depth` words below the top.
    pub fn operand(&self, frame: &Frame, depth: usize) -> Result<Origin, Unmodelled> {
        let at = frame.stack.len().checked_sub(depth + 1).ok_or(Unmodelled)?;
        Ok(match frame.stack[at] {
            Origin::Computed(node) if self.is_pinned(node) => Origin::Constant,
            origin => origin,
        })
    }

    fn guard(&mut self, guard: Guard, value: U256) -> Step {
        if self.guards.len() == MOST_GUARDS {
            return Err(Unmodelled);
        }
        self.guards.push((guard, value));
        self.origins.guards.push(self.at);
        Ok(())
    }

    /// The operand must have this value on the whole path.
    pub fn require(&mut self, origin: Origin, value: U256) -> Step {
        match origin {
            Origin::Constant => Ok(()),
            Origin::Gas => Err(Unmodelled),
            Origin::Computed(node) => {
                self.guard(Guard { node, only_truth: false }, value)?;
                self.pinned.insert(node);
                Ok(())
            }
        }
    }

    /// The operand must be zero, or not zero, on the whole path.
    pub fn require_truth(&mut self, origin: Origin, value: U256) -> Step {
        let mut node = match origin {
            Origin::Constant => return Ok(()),
            Origin::Gas => return Err(Unmodelled),
            Origin::Computed(node) => node,
        };
        let mut truth = !value.is_zero();
        // A condition on a negation is a condition on its operand.
        while let Expression::Pure(op::ISZERO, [inner, ..]) = self.graph.expression(node) {
            self.pinned.insert(node);
            (node, truth) = (*inner, !truth);
        }
        let guard = Guard { node, only_truth: true };
        if !self.is_pinned(node) && self.guarded.insert(guard) {
            self.guard(guard, U256::from(truth))?;
        }
        if !truth || self.graph.is_boolean(node) || Fault::TruthPinsValue.is_on() {
            self.pinned.insert(node);
        }
        if let Expression::Pure(op::EQ, [a, b, _]) = *self.graph.expression(node)
            && truth
        {
            for (one, other) in [(a, b), (b, a)] {
                if self.graph.as_constant(other).is_some() {
                    self.pinned.insert(one);
                }
            }
        }
        Ok(())
    }

    /// An operand that is a memory offset or size.
    pub fn place(&mut self, origin: Origin, value: U256) -> Result<usize, Unmodelled> {
        if !Fault::OffsetNotRequired.is_on() {
            self.require(origin, value)?;
        }
        usize::try_from(value).ok().filter(|value| *value < MOST_MEMORY).ok_or(Unmodelled)
    }

    /// A memory range that must be constant on the whole path. An empty one may lie anywhere.
    pub fn range(&mut self, at: (Origin, U256), length: (Origin, U256)) -> Result<Range<usize>, Unmodelled> {
        let length = self.place(length.0, length.1)?;
        if length == 0 {
            return Ok(0..0);
        }
        let at = self.place(at.0, at.1)?;
        Ok(at..at + length)
    }

    pub fn node(&mut self, origin: Origin, value: U256) -> Result<Node, Unmodelled> {
        match origin {
            Origin::Constant => Ok(self.graph.constant(value)),
            Origin::Computed(node) => Ok(node),
            Origin::Gas => Err(Unmodelled),
        }
    }

    /// An account is looked at. Whether it is the sender decides what that costs and shows: the sender itself is not
    /// modelled, all others are told apart from it.
    pub fn look_at(&mut self, address: Address) -> Step {
        let Some((sender, value)) = self.sender else { return Ok(()) };
        let word = U256::from_be_slice(address.as_slice());
        let other = self.graph.constant(word);
        let same = self.graph.pure(op::EQ, [sender, other, ZERO]);
        self.require_truth(self.origin(same), U256::from(value == word))?;
        if value == word { Err(Unmodelled) } else { Ok(()) }
    }

    pub fn origin(&self, node: Node) -> Origin {
        match self.graph.as_constant(node) {
            Some(_) => Origin::Constant,
            None => Origin::Computed(node),
        }
    }
}
