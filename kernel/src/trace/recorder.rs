//! Records one call while the interpreter runs it: what its output is computed from, and what its path depends on.
//!
//! Everything the interpreter decides by a value that other calldata could change becomes a guard. What cannot be
//! expressed ends the recording: that path stays the interpreter's.

use std::ops::Range;

use revm::{
    Inspector,
    bytecode::opcode as op,
    context::ContextTr,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr, Jumps, MemoryTr},
    },
    primitives::{HashSet, U256, address},
};

use super::{
    arithmetic::operands,
    graph::{Expression, Field, Graph, Node, ZERO},
    layout::Layout,
    shadow::{ByteOrigin, Bytes, Origin, text_of, whole_word},
    tree::{End, Guard, Path},
};

/// Expressions in one tree; a batch that needs more is too varied to gain.
pub const MOST_NODES: usize = 1 << 18;
/// Memory whose origins are followed, in bytes of one frame.
const MOST_MEMORY: usize = 1 << 22;
/// The precompile that returns its input.
const IDENTITY: revm::primitives::Address = address!("0000000000000000000000000000000000000004");

/// More gas than one read of state can cost on one call and save on another: twice a cold account, amply.
const GAS_OF_STATE: u64 = 10_000;
/// More gas than `EXP` can cost on one call and save on another.
const GAS_OF_EXP: u64 = 3_200;
/// More gas than a byte of calldata can cost.
const GAS_OF_BYTE: u64 = 64;

/// One frame's shadows.
#[derive(Default)]
struct Frame {
    stack: Vec<Origin>,
    memory: Bytes,
    calldata: Bytes,
    /// What the last call of this frame returned.
    returned: Bytes,
    /// What this frame returns.
    output: Bytes,
    /// The call it is waiting for: its calldata, and where its output goes.
    pending: Option<(Bytes, Range<usize>)>,
    ran: bool,
}

/// Follows one call through the interpreter.
pub struct Recorder<'a> {
    graph: &'a mut Graph,
    frames: Vec<Frame>,
    calldata: Bytes,
    guards: Vec<(Guard, U256)>,
    guarded: HashSet<Guard>,
    /// Expressions whose value follows from the guards so far.
    pinned: HashSet<Node>,
    /// The origins of a word that is about to come onto the stack and must be assembled.
    late: Option<[ByteOrigin; 32]>,
    ended: bool,
    /// How much the gas that is left can differ between calls of this path, at most.
    gas_varies: u64,
    /// The least gas that any frame had left.
    least_gas: u64,
    output: Option<Bytes>,
}

/// The recording ends here: what comes is not modelled.
struct Unmodelled;

type Step = Result<(), Unmodelled>;

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
    fn operand(&self, frame: &Frame, depth: usize) -> Result<Origin, Unmodelled> {
        let at = frame.stack.len().checked_sub(depth + 1).ok_or(Unmodelled)?;
        Ok(match frame.stack[at] {
            Origin::Computed(node) if self.pinned.contains(&node) => Origin::Constant,
            origin => origin,
        })
    }

    /// The operand must have this value on the whole path.
    fn require(&mut self, origin: Origin, value: U256) -> Step {
        match origin {
            Origin::Constant => Ok(()),
            Origin::Gas => Err(Unmodelled),
            Origin::Computed(node) => {
                self.guards.push((Guard { node, only_truth: false }, value));
                self.pinned.insert(node);
                Ok(())
            }
        }
    }

    /// The operand must be zero, or not zero, on the whole path.
    fn require_truth(&mut self, origin: Origin, value: U256) -> Step {
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
            self.guards.push((guard, U256::from(truth)));
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
    fn place(&mut self, origin: Origin, value: U256) -> Result<usize, Unmodelled> {
        self.require(origin, value)?;
        usize::try_from(value).ok().filter(|value| *value < MOST_MEMORY).ok_or(Unmodelled)
    }

    /// A range of memory that must be the same on the whole path. An empty one may lie anywhere.
    fn range(&mut self, at: (Origin, U256), length: (Origin, U256)) -> Result<Range<usize>, Unmodelled> {
        let length = self.place(length.0, length.1)?;
        if length == 0 {
            return Ok(0..0);
        }
        let at = self.place(at.0, at.1)?;
        Ok(at..at + length)
    }

    fn node(&mut self, origin: Origin, value: U256) -> Result<Node, Unmodelled> {
        match origin {
            Origin::Constant => Ok(self.graph.constant(value)),
            Origin::Computed(node) => Ok(node),
            Origin::Gas => Err(Unmodelled),
        }
    }

    fn origin(&self, node: Node) -> Origin {
        match self.graph.as_constant(node) {
            Some(_) => Origin::Constant,
            None => Origin::Computed(node),
        }
    }

    /// A pure instruction: computed where an operand is.
    fn pure(&mut self, frame: &mut Frame, opcode: u8, count: usize, stack: &[U256]) -> Step {
        let mut origins = [Origin::Constant; 3];
        for (depth, origin) in origins.iter_mut().enumerate().take(count) {
            *origin = self.operand(frame, depth)?;
        }
        let result = if origins.iter().all(|origin| *origin == Origin::Constant) {
            Origin::Constant
        } else if origins[..2] == [Origin::Gas, Origin::Constant]
            && opcode == op::SUB
            && peek(stack, 0) >= peek(stack, 1)
        {
            // Less than all the gas there is: the way old code passes gas on.
            Origin::Gas
        } else {
            let mut nodes = [ZERO; 3];
            for depth in 0..count {
                nodes[depth] = self.node(origins[depth], peek(stack, depth))?;
            }
            if opcode == op::EXP && origins[1] != Origin::Constant {
                self.gas_varies += GAS_OF_EXP;
            }
            let node = self.graph.pure(opcode, nodes);
            self.origin(node)
        };
        frame.stack.truncate(frame.stack.len() - count);
        frame.stack.push(result);
        Ok(())
    }

    /// A word of 32 bytes with these origins comes onto the stack.
    fn push_bytes(&mut self, frame: &mut Frame, origins: [ByteOrigin; 32]) {
        match whole_word(&origins) {
            Some(origin) => frame.stack.push(origin),
            None => {
                self.late = Some(origins);
                frame.stack.push(Origin::Constant);
            }
        }
    }

    fn pop(&mut self, frame: &mut Frame, count: usize) -> Step {
        let left = frame.stack.len().checked_sub(count).ok_or(Unmodelled)?;
        frame.stack.truncate(left);
        Ok(())
    }

    fn step(&mut self, frame: &mut Frame, interpreter: &Interpreter) -> Step {
        let stack = interpreter.stack.data();
        let opcode = interpreter.bytecode.opcode();
        if frame.stack.len() != stack.len() || self.graph.len() > MOST_NODES {
            return Err(Unmodelled);
        }
        if let Some(count) = operands(opcode) {
            return self.pure(frame, opcode, count, stack);
        }
        // The operand at a depth, with its value.
        macro_rules! at {
            ($depth:expr) => {
                (self.operand(frame, $depth)?, peek(stack, $depth))
            };
        }
        match opcode {
            op::PUSH0..=op::PUSH32
            | op::ADDRESS
            | op::ORIGIN
            | op::CALLER
            | op::CALLVALUE
            | op::CALLDATASIZE
            | op::CODESIZE
            | op::GASPRICE
            | op::RETURNDATASIZE
            | op::COINBASE..=op::BASEFEE
            | op::BLOBBASEFEE
            | op::PC
            | op::MSIZE => frame.stack.push(Origin::Constant),
            op::GAS => frame.stack.push(Origin::Gas),
            op::JUMPDEST | op::STOP => {}
            op::POP => self.pop(frame, 1)?,
            op::DUP1..=op::DUP16 => {
                let origin = self.operand(frame, usize::from(opcode - op::DUP1))?;
                frame.stack.push(origin);
            }
            op::SWAP1..=op::SWAP16 => {
                let top = frame.stack.len().checked_sub(1).ok_or(Unmodelled)?;
                let other = top.checked_sub(usize::from(opcode - op::SWAP1) + 1).ok_or(Unmodelled)?;
                frame.stack.swap(top, other);
            }
            op::JUMP => {
                let (origin, value) = at!(0);
                self.require(origin, value)?;
                self.pop(frame, 1)?;
            }
            op::JUMPI => {
                let (condition, target) = (at!(1), at!(0));
                self.require_truth(condition.0, condition.1)?;
                if !condition.1.is_zero() {
                    self.require(target.0, target.1)?;
                }
                self.pop(frame, 2)?;
            }
            op::MLOAD => {
                let (origin, value) = at!(0);
                let place = self.place(origin, value)?;
                self.pop(frame, 1)?;
                self.push_bytes(frame, frame.memory.word(place));
            }
            op::MSTORE | op::MSTORE8 => {
                let ((origin, value), (word, _)) = (at!(0), at!(1));
                let place = self.place(origin, value)?;
                if word == Origin::Gas {
                    return Err(Unmodelled);
                }
                match opcode {
                    op::MSTORE => frame.memory.write_word(place, word),
                    _ => frame.memory.write_byte(place, word),
                }
                self.pop(frame, 2)?;
            }
            op::MCOPY => {
                let (to, from, length) = (at!(0), at!(1), at!(2));
                let to = self.range(to, length)?;
                let from = self.range(from, length)?;
                let copied = frame.memory.slice(from.start, from.len());
                frame.memory.copy(to.start, &copied, 0, to.len());
                self.pop(frame, 3)?;
            }
            op::CODECOPY | op::EXTCODECOPY => {
                let first = usize::from(opcode == op::EXTCODECOPY);
                if opcode == op::EXTCODECOPY {
                    let (origin, value) = at!(0);
                    self.require(origin, value)?;
                }
                let (to, from, length) = (at!(first), at!(first + 1), at!(first + 2));
                self.require(from.0, from.1)?;
                let to = self.range(to, length)?;
                frame.memory.clear(to);
                self.pop(frame, first + 3)?;
            }
            op::CALLDATACOPY | op::RETURNDATACOPY => {
                let (to, from, length) = (at!(0), at!(1), at!(2));
                self.require(from.0, from.1)?;
                let to = self.range(to, length)?;
                let source = if opcode == op::CALLDATACOPY { &frame.calldata } else { &frame.returned };
                // Far behind the end of calldata are zeros, which are the same in every call.
                let from = usize::try_from(from.1).unwrap_or(usize::MAX);
                frame.memory.copy(to.start, source, from, to.len());
                self.pop(frame, 3)?;
            }
            op::CALLDATALOAD => {
                let (origin, value) = at!(0);
                self.require(origin, value)?;
                self.pop(frame, 1)?;
                let from = usize::try_from(value).unwrap_or(usize::MAX);
                self.push_bytes(frame, frame.calldata.word(from));
            }
            op::KECCAK256 => {
                let (at, length) = (at!(0), at!(1));
                let range = self.range(at, length)?;
                self.pop(frame, 2)?;
                let origins = frame.memory.slice(range.start, range.len());
                let text = origins.text(&memory(interpreter, range), |node| self.pinned.contains(&node));
                let origin =
                    if text.parts.is_empty() { Origin::Constant } else { Origin::Computed(self.graph.hash(text)) };
                frame.stack.push(origin);
            }
            op::SLOAD => {
                let (origin, value) = at!(0);
                let result = if origin == Origin::Constant {
                    Origin::Constant
                } else {
                    let key = self.node(origin, value)?;
                    self.gas_varies += GAS_OF_STATE;
                    Origin::Computed(self.graph.slot(interpreter.input.target_address(), key))
                };
                self.pop(frame, 1)?;
                frame.stack.push(result);
            }
            op::BALANCE | op::EXTCODESIZE | op::EXTCODEHASH => {
                let (origin, value) = at!(0);
                let result = if origin == Origin::Constant {
                    Origin::Constant
                } else {
                    let field = match opcode {
                        op::BALANCE => Field::Balance,
                        op::EXTCODESIZE => Field::CodeSize,
                        _ => Field::CodeHash,
                    };
                    let address = self.node(origin, value)?;
                    self.gas_varies += GAS_OF_STATE;
                    Origin::Computed(self.graph.account(field, address))
                };
                self.pop(frame, 1)?;
                frame.stack.push(result);
            }
            // Few values are ever asked for, and nothing on this path has written transient storage.
            op::BLOCKHASH | op::BLOBHASH | op::TLOAD => {
                let (origin, value) = at!(0);
                self.require(origin, value)?;
                self.pop(frame, 1)?;
                frame.stack.push(Origin::Constant);
            }
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => self.call(frame, opcode, stack)?,
            op::RETURN | op::REVERT => {
                let (at, length) = (at!(0), at!(1));
                let range = self.range(at, length)?;
                frame.output = frame.memory.slice(range.start, range.len());
                self.pop(frame, 2)?;
            }
            _ => return Err(Unmodelled),
        }
        Ok(())
    }

    fn call(&mut self, frame: &mut Frame, opcode: u8, stack: &[U256]) -> Step {
        let (gas, to) = (self.operand(frame, 0)?, self.operand(frame, 1)?);
        if gas != Origin::Gas {
            self.require(gas, peek(stack, 0))?;
        }
        self.require(to, peek(stack, 1))?;
        let mut next = 2;
        if matches!(opcode, op::CALL | op::CALLCODE) {
            // Coins that move change what later reads see.
            if !peek(stack, 2).is_zero() {
                return Err(Unmodelled);
            }
            self.require(self.operand(frame, 2)?, U256::ZERO)?;
            next = 3;
        }
        let mut words = [(Origin::Constant, U256::ZERO); 4];
        for (i, word) in words.iter_mut().enumerate() {
            *word = (self.operand(frame, next + i)?, peek(stack, next + i));
        }
        let given = self.range(words[0], words[1])?;
        let taken = self.range(words[2], words[3])?;
        frame.pending = Some((frame.memory.slice(given.start, given.len()), taken));
        self.pop(frame, next + 4)
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
            let result = Recorder::step(recorder, &mut frame, interpreter);
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

/// The word `depth` below the top; the caller has seen that it is there.
fn peek(stack: &[U256], depth: usize) -> U256 {
    stack.len().checked_sub(depth + 1).map_or(U256::ZERO, |at| stack[at])
}

/// Memory as it is now; what was never touched is zero.
fn memory(interpreter: &Interpreter<EthInterpreter>, range: Range<usize>) -> Vec<u8> {
    let mut bytes = vec![0; range.len()];
    let there = range.start.min(interpreter.memory.size())..range.end.min(interpreter.memory.size());
    bytes[..there.len()].copy_from_slice(&interpreter.memory.slice(there));
    bytes
}
