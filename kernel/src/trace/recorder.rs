//! Records one call in the interpreter: the inputs of its output, and the conditions of its path.
//!
//! Everything the interpreter decides by a value that other calldata could change becomes a guard. What cannot be
//! expressed ends the recording: that path stays the interpreter's.

use revm::{
    Inspector,
    context::ContextTr,
    interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter, interpreter::EthInterpreter},
    primitives::{Address, address},
};

use super::{
    course::{Course, Step, Unmodelled},
    graph::Graph,
    layout::Layout,
    shadow::{Bytes, Frame, Origin, text_of},
    tree::{End, Path},
};

/// The precompile that returns its input.
const IDENTITY: Address = address!("0000000000000000000000000000000000000004");

/// More gas than a byte of calldata can cost.
const GAS_OF_BYTE: u64 = 64;

/// Follows one call through the interpreter.
pub struct Recorder<'a> {
    course: Course<'a>,
    frames: Vec<Frame>,
    calldata: Bytes,
    ended: bool,
    /// The least gas that any frame had left.
    least_gas: u64,
    output: Option<Bytes>,
}

impl<'a> Recorder<'a> {
    pub fn new(graph: &'a mut Graph, layout: &Layout) -> Self {
        let nodes: Vec<_> = layout.differing.iter().map(|word| (word.at, word.length, graph.input(word.at))).collect();
        Self {
            course: Course::new(graph, GAS_OF_BYTE * layout.length as u64),
            frames: Vec::new(),
            calldata: Bytes::of_words(nodes),
            ended: false,
            least_gas: u64::MAX,
            output: None,
        }
    }

    /// The recording, completed with the call's output; `None` if the recording failed.
    pub fn finish(self, output: Option<&[u8]>) -> Path {
        let end = match (output, &self.output) {
            (Some(bytes), Some(origins)) if !self.ended && self.least_gas > self.course.gas_varies => {
                End::Output(origins.text(bytes, |node| self.course.is_pinned(node)))
            }
            _ => End::Interpret,
        };
        Path { guards: self.course.guards, end }
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
            let frame = recorder.frames.last_mut().ok_or(Unmodelled)?;
            frame.ran = true;
            recorder.course.follow(frame, interpreter)
        });
    }

    fn step_end(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut CTX) {
        let Some(origins) = self.course.late.take() else { return };
        self.attempt(|recorder| {
            let value = *interpreter.stack.data().last().ok_or(Unmodelled)?;
            let course = &mut recorder.course;
            let text = text_of(&origins, &value.to_be_bytes::<32>(), |node| course.is_pinned(node));
            let node = course.graph.assembled(text);
            let origin = course.origin(node);
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
