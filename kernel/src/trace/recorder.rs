//! Records one call while the interpreter runs it: what its output is computed from, and what its path depends on.
//!
//! Everything the interpreter decides by a value that other calldata could change becomes a guard. What cannot be
//! expressed ends the recording: that path stays the interpreter's.

use std::ops::Range;

use revm::{
    Inspector,
    bytecode::opcode as op,
    context::ContextTr,
    interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter, interpreter::EthInterpreter},
    primitives::{Address, HashSet, U256, address},
};

use super::{
    graph::{Expression, Graph, Node},
    layout::Layout,
    shadow::{ByteOrigin, Bytes, Origin, text_of},
    tree::{End, Guard, Path},
};

/// Expressions in one tree; a batch that needs more is too varied to gain.
pub const MOST_NODES: usize = 1 << 16;
/// Guards on one path.
const MOST_GUARDS: usize = 1 << 12;
/// Memory whose origins are followed, in bytes of one frame.
const MOST_MEMORY: usize = 1 << 22;
/// The precompile that returns its input.
const IDENTITY: Address = address!("0000000000000000000000000000000000000004");

/// More gas than a byte of calldata can cost.
const GAS_OF_BYTE: u64 = 64;

/// One frame's shadows.
#[derive(Default)]
pub(super) struct Frame {
    pub stack: Vec<Origin>,
    pub memory: Bytes,
    pub calldata: Bytes,
    /// What the last call of this frame returned.
    pub returned: Bytes,
    /// What this frame returns.
    pub output: Bytes,
    /// The call it is waiting for: its calldata, and where its output goes.
    pub pending: Option<(Bytes, Range<usize>)>,
    ran: bool,
}

/// Follows one call through the interpreter.
pub struct Recorder<'a> {
    pub(super) graph: &'a mut Graph,
    frames: Vec<Frame>,
    calldata: Bytes,
    guards: Vec<(Guard, U256)>,
    guarded: HashSet<Guard>,
    /// Expressions whose value follows from the guards so far.
    pub(super) pinned: HashSet<Node>,
    /// The origins of a word that is about to come onto the stack and must be assembled.
    pub(super) late: Option<[ByteOrigin; 32]>,
    ended: bool,
    /// How much the gas that is left can differ between calls of this path, at most.
    pub(super) gas_varies: u64,
    /// The least gas that any frame had left.
    least_gas: u64,
    output: Option<Bytes>,
}

/// The recording ends here: what comes is not modelled.
pub(super) struct Unmodelled;

pub(super) type Step = Result<(), Unmodelled>;

impl<'a> Recorder<'a> {
    pub fn new(graph: &'a mut Graph, layout: &Layout) -> Self {
        let nodes: Vec<_> = layout.differing.iter().map(|word| (word.at, word.length, graph.input(word.at))).collect();
        Self {
            graph,
            frames: Vec::new(),
            calldata: Bytes::of_words(nodes),
            guards: Vec::new(),
            guarded: HashSet::default(),
            pinned: HashSet::default(),
            late: None,
            ended: false,
            gas_varies: GAS_OF_BYTE * layout.length as u64,
            least_gas: u64::MAX,
            output: None,
        }
    }

    /// What was recorded, given what the call returned; `None` where it failed.
    pub fn finish(self, output: Option<&[u8]>) -> Path {
        let end = match (output, &self.output) {
            (Some(bytes), Some(origins)) if !self.ended && self.least_gas > self.gas_varies => {
                End::Output(origins.text(bytes, |node| self.pinned.contains(&node)))
            }
            _ => End::Interpret,
        };
        Path { guards: self.guards, end }
    }

    /// The origin of the operand `depth` words below the top.
    pub(super) fn operand(&self, frame: &Frame, depth: usize) -> Result<Origin, Unmodelled> {
        let at = frame.stack.len().checked_sub(depth + 1).ok_or(Unmodelled)?;
        Ok(match frame.stack[at] {
            Origin::Computed(node) if self.pinned.contains(&node) => Origin::Constant,
            origin => origin,
        })
    }

    fn guard(&mut self, guard: Guard, value: U256) -> Step {
        if self.guards.len() == MOST_GUARDS {
            return Err(Unmodelled);
        }
        self.guards.push((guard, value));
        Ok(())
    }

    /// The operand must have this value on the whole path.
    pub(super) fn require(&mut self, origin: Origin, value: U256) -> Step {
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
    pub(super) fn require_truth(&mut self, origin: Origin, value: U256) -> Step {
        let mut node = match origin {
            Origin::Constant => return Ok(()),
            Origin::Gas => return Err(Unmodelled),
            Origin::Computed(node) => node,
        };
        let mut truth = !value.is_zero();
        // Negations say the same of what they negate.
        while let Expression::Pure(op::ISZERO, [inner, ..]) = self.graph.expression(node) {
            self.pinned.insert(node);
            (node, truth) = (*inner, !truth);
        }
        let guard = Guard { node, only_truth: true };
        if !self.pinned.contains(&node) && self.guarded.insert(guard) {
            self.guard(guard, U256::from(truth))?;
        }
        if !truth || self.graph.is_boolean(node) {
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

    /// An operand that says where in memory, or how much.
    pub(super) fn place(&mut self, origin: Origin, value: U256) -> Result<usize, Unmodelled> {
        self.require(origin, value)?;
        usize::try_from(value).ok().filter(|value| *value < MOST_MEMORY).ok_or(Unmodelled)
    }

    /// A range of memory that must be the same on the whole path. An empty one may lie anywhere.
    pub(super) fn range(&mut self, at: (Origin, U256), length: (Origin, U256)) -> Result<Range<usize>, Unmodelled> {
        let length = self.place(length.0, length.1)?;
        if length == 0 {
            return Ok(0..0);
        }
        let at = self.place(at.0, at.1)?;
        Ok(at..at + length)
    }

    pub(super) fn node(&mut self, origin: Origin, value: U256) -> Result<Node, Unmodelled> {
        match origin {
            Origin::Constant => Ok(self.graph.constant(value)),
            Origin::Computed(node) => Ok(node),
            Origin::Gas => Err(Unmodelled),
        }
    }

    pub(super) fn origin(&self, node: Node) -> Origin {
        match self.graph.as_constant(node) {
            Some(_) => Origin::Constant,
            None => Origin::Computed(node),
        }
    }

    /// A call has ended: its output goes where the frame that made it wants it.
    fn call_ended(&mut self, inputs: &CallInputs, outcome: &CallOutcome) -> Step {
        let mut frame = self.frames.pop().ok_or(Unmodelled)?;
        let result = outcome.result.result;
        if !result.is_ok() && !result.is_revert() {
            return Err(Unmodelled);
        }
        if outcome.was_precompile_called {
            if inputs.bytecode_address == IDENTITY {
                frame.output = frame.calldata.clone();
            } else if !frame.calldata.is_constant() {
                return Err(Unmodelled);
            }
        }
        if frame.ran || outcome.was_precompile_called {
            self.least_gas = self.least_gas.min(outcome.result.gas.remaining());
        }
        match self.frames.last_mut() {
            Some(caller) => {
                let (_, taken) = caller.pending.take().ok_or(Unmodelled)?;
                let length = taken.len().min(outcome.result.output.len());
                caller.memory.copy(taken.start, &frame.output, 0, length);
                caller.returned = frame.output;
                caller.stack.push(Origin::Constant);
            }
            None => self.output = Some(frame.output),
        }
        Ok(())
    }

    fn attempt(&mut self, step: impl FnOnce(&mut Self) -> Step) {
        if !self.ended && step(self).is_err() {
            self.ended = true;
        }
    }
}

impl<CTX: ContextTr> Inspector<CTX, EthInterpreter> for Recorder<'_> {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut CTX) {
        self.attempt(|recorder| {
            let mut frame = recorder.frames.pop().ok_or(Unmodelled)?;
            frame.ran = true;
            let result = recorder.follow(&mut frame, interpreter);
            recorder.frames.push(frame);
            result
        });
    }

    fn step_end(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut CTX) {
        let Some(origins) = self.late.take() else { return };
        self.attempt(|recorder| {
            let value = *interpreter.stack.data().last().ok_or(Unmodelled)?;
            let text = text_of(&origins, &value.to_be_bytes::<32>(), |node| recorder.pinned.contains(&node));
            let node = recorder.graph.assembled(text);
            let origin = recorder.origin(node);
            *recorder.frames.last_mut().and_then(|frame| frame.stack.last_mut()).ok_or(Unmodelled)? = origin;
            Ok(())
        });
    }

    fn call(&mut self, _context: &mut CTX, _inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.attempt(|recorder| {
            let calldata = match recorder.frames.last_mut() {
                None => recorder.calldata.clone(),
                Some(caller) => {
                    let (calldata, taken) = caller.pending.take().ok_or(Unmodelled)?;
                    caller.pending = Some((Bytes::default(), taken));
                    calldata
                }
            };
            recorder.frames.push(Frame { calldata, ..Frame::default() });
            Ok(())
        });
        None
    }

    fn call_end(&mut self, _context: &mut CTX, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.attempt(|recorder| recorder.call_ended(inputs, outcome));
    }

    fn create(&mut self, _context: &mut CTX, _inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.ended = true;
        None
    }
}
