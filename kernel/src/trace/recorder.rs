//! Records one call in the interpreter: the inputs of its output, and the conditions of its path.
//!
//! Everything the interpreter decides by a value that other calldata could change becomes a guard. What cannot be
//! expressed ends the recording: that path stays the interpreter's.

use revm::{
    Database, Inspector,
    context::{ContextTr, result::ExecutionResult},
    interpreter::{
        CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr, Jumps},
    },
    primitives::{Address, HashSet, U256, address},
};

use crate::faults::Fault;

use super::{
    course::{Course, Step, Unmodelled},
    effects::{Before, Checkpoint, Effects},
    ending::Ending,
    functions::Known,
    gas::Bill,
    graph::{Graph, Node},
    layout::Layout,
    places::Places,
    shadow::{Bytes, Frame, Origin, text_of},
    tree::{End, Instruction, Path},
    watch::{Fact, Watch},
};

/// The precompile that returns its input.
const IDENTITY: Address = address!("0000000000000000000000000000000000000004");

/// More gas than a byte of calldata can cost.
const GAS_OF_BYTE: u64 = 64;
/// Gas that must be left where a slot is written.
const STIPEND: u64 = 2_300;

/// The database below a transaction, which its own writes do not reach.
pub struct Below<'a, D>(pub &'a mut D);

impl<D: Database> Before for Below<'_, D> {
    fn slot(&mut self, address: Address, key: U256) -> Result<U256, Unmodelled> {
        self.0.storage(address, key).map_err(|_| Unmodelled)
    }

    fn has_code(&mut self, address: Address) -> Result<bool, Unmodelled> {
        let info = self.0.basic(address).map_err(|_| Unmodelled)?.unwrap_or_default();
        match info.code.as_ref() {
            Some(code) if code.is_eip7702() => Err(Unmodelled),
            _ => Ok(!info.is_empty_code_hash()),
        }
    }
}

/// Follows one call through the interpreter.
pub struct Recorder<'a> {
    pub(super) course: Course<'a>,
    frames: Vec<Frame>,
    calldata: Bytes,
    pub(super) ended: bool,
    /// The least gas that any frame had left.
    least_gas: u64,
    output: Option<Bytes>,
    /// What the execution cost.
    spent: u64,
}

impl<'a> Recorder<'a> {
    /// Follow a view: its calldata varies.
    pub fn new(graph: &'a mut Graph, layout: &Layout) -> Self {
        let nodes: Vec<_> = layout.differing.iter().map(|word| (word.at, word.length, graph.input(word.at))).collect();
        Self::over(Course::new(graph, GAS_OF_BYTE * layout.length as u64, None), Bytes::of_words(nodes))
    }

    /// Follow transactions of one row, one after the other.
    pub fn of_row(graph: &'a mut Graph, watch: &'a Watch, places: &'a Places) -> Self {
        Self::over(Course::new(graph, 0, Some(Effects::new(watch, places))), Bytes::default())
    }

    /// The next transaction of the row, with these words in its calldata.
    pub fn begin(&mut self, holes: Vec<(usize, Node)>) {
        self.course.gas_varies = GAS_OF_BYTE * 32 * holes.len() as u64 + STIPEND;
        self.calldata = Bytes::of_words(holes.into_iter().map(|(at, node)| (at, 32, node)));
        if let Some(effects) = &mut self.course.effects {
            effects.next_transaction();
        }
        self.frames.clear();
        (self.least_gas, self.output, self.spent) = (u64::MAX, None, 0);
    }

    /// Gas that the transaction uses, as an expression, with the words of its calldata.
    pub fn gas_used(&mut self, bill: &Bill, words: &[Known], success: bool) -> Result<Node, Unmodelled> {
        let gas = self.course.effects.as_ref().ok_or(Unmodelled)?.gas(self.spent);
        Ok(self.course.gas_used(&gas, bill, words, success))
    }

    /// The transaction has ended; where the origins of its output are, unless it was not modelled.
    pub fn ended(&mut self, commit: bool) -> Result<Bytes, Unmodelled> {
        if !commit && let Some(effects) = &mut self.course.effects {
            effects.undo(Checkpoint::default());
        }
        if self.ended || self.may_run_out() {
            return Err(Unmodelled);
        }
        self.output.take().ok_or(Unmodelled)
    }

    /// Follow a transaction: the words of its calldata at `holes`, the block and the state vary.
    pub fn of_transaction(graph: &'a mut Graph, holes: &[usize], watch: &'a Watch, places: &'a Places) -> Self {
        let nodes: Vec<_> = holes.iter().enumerate().map(|(hole, at)| (*at, 32, graph.input(hole))).collect();
        let varies = GAS_OF_BYTE * 32 * holes.len() as u64 + STIPEND;
        Self::over(Course::new(graph, varies, Some(Effects::new(watch, places))), Bytes::of_words(nodes))
    }

    /// The same from a sender that varies too: it is the input after those of `holes`.
    pub fn of_sent(
        graph: &'a mut Graph,
        holes: &[usize],
        sender: Address,
        watch: &'a Watch,
        places: &'a Places,
    ) -> Self {
        let mut recorder = Self::of_transaction(graph, holes, watch, places);
        let node = recorder.course.graph.input(holes.len());
        recorder.course.sender = Some((node, U256::from_be_slice(sender.as_slice())));
        recorder
    }

    /// Whether another call of the path may not have gas enough.
    fn may_run_out(&self) -> bool {
        self.least_gas <= self.course.gas_varies && !Fault::GasToSpare.is_on()
    }

    fn over(course: Course<'a>, calldata: Bytes) -> Self {
        Self { course, frames: Vec::new(), calldata, ended: false, least_gas: u64::MAX, output: None, spent: 0 }
    }

    /// The recording, completed with the call's output; `None` if the recording failed.
    pub fn finish(self, output: Option<&[u8]>) -> Path {
        let end = match (output, &self.output) {
            (Some(bytes), Some(origins)) if !self.ended && !self.may_run_out() => {
                End::Output(origins.text(bytes, &self.course))
            }
            _ => End::Interpret,
        };
        Path::new(self.course.guards, self.course.origins, end)
    }

    /// The recording of a transaction, and what it has taken for constant.
    pub fn finish_transaction(mut self, result: &ExecutionResult, touched: Vec<Address>) -> (Path, HashSet<Fact>) {
        let effects = self.course.effects.take();
        let folded = effects.as_ref().map(|effects| effects.folded.clone()).unwrap_or_default();
        let end = effects.and_then(|effects| self.ending(effects, result, touched));
        let end = end.map_or(End::Interpret, |ending| End::Transaction(Box::new(ending)));
        (Path::new(self.course.guards, self.course.origins, end), folded)
    }

    fn ending(&self, effects: Effects<'_>, result: &ExecutionResult, touched: Vec<Address>) -> Option<Ending> {
        let (success, bytes) = match result {
            ExecutionResult::Success { output, .. } => (true, output.data()),
            ExecutionResult::Revert { output, .. } => (false, output),
            ExecutionResult::Halt { .. } => return None,
        };
        if self.ended || self.may_run_out() {
            return None;
        }
        let output = self.output.as_ref()?.text(bytes, &self.course);
        let writes = effects.writes(self.course.graph);
        let gas = effects.gas(self.spent);
        let nonces = Vec::new();
        Some(Ending { success, ran: self.spent > 0, output, gas, writes, logs: effects.logs, touched, nonces })
    }

    /// A call has ended: its output goes where the frame that made it wants it.
    fn call_ended(&mut self, inputs: &CallInputs, outcome: &CallOutcome) -> Step {
        let mut frame = self.frames.pop().ok_or(Unmodelled)?;
        let result = outcome.result.result;
        if let Some(effects) = &mut self.course.effects
            && !result.is_ok()
        {
            effects.undo(frame.checkpoint);
        }
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
            None => {
                self.output = Some(frame.output);
                self.spent = outcome.result.gas.limit() - outcome.result.gas.remaining();
            }
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
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, context: &mut CTX) {
        self.attempt(|recorder| {
            let frame = recorder.frames.last_mut().ok_or(Unmodelled)?;
            frame.ran = true;
            let input = &interpreter.input;
            recorder.course.origins.instructions += 1;
            recorder.course.at = Instruction {
                opcode: interpreter.bytecode.opcode(),
                contract: *input.bytecode_address().unwrap_or(&input.target_address()),
                pc: interpreter.bytecode.pc(),
            };
            if let Some(join) = frame.join.take_if(|join| join.at == interpreter.bytecode.pc()) {
                frame.stack = join.stack;
            }
            if frame.join.is_some() {
                return Ok(());
            }
            recorder.course.follow(frame, interpreter, &mut Below(context.db_mut()))
        });
    }

    fn step_end(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut CTX) {
        let Some(origins) = self.course.late.take() else { return };
        self.attempt(|recorder| {
            let value = *interpreter.stack.data().last().ok_or(Unmodelled)?;
            let course = &mut recorder.course;
            let text = text_of(&origins, &value.to_be_bytes::<32>(), course);
            let node = course.graph.assembled(text);
            let origin = course.origin(node);
            *recorder.frames.last_mut().and_then(|frame| frame.stack.last_mut()).ok_or(Unmodelled)? = origin;
            Ok(())
        });
    }

    fn call(&mut self, context: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.attempt(|recorder| {
            let mut checkpoint = Checkpoint::default();
            for address in [inputs.bytecode_address, inputs.target_address] {
                recorder.course.look_at(address)?;
            }
            if let Some(effects) = &mut recorder.course.effects {
                if inputs.transfers_value() {
                    return Err(Unmodelled);
                }
                for address in [inputs.bytecode_address, inputs.target_address] {
                    effects.rely_on_code(address)?;
                    Below(context.db_mut()).has_code(address)?;
                }
                checkpoint = effects.checkpoint();
            }
            let delegated = inputs.scheme == CallScheme::DelegateCall;
            let by_sender = recorder.frames.last().is_none_or(|caller| delegated && caller.by_sender);
            let calldata = match recorder.frames.last_mut() {
                None => recorder.calldata.clone(),
                Some(caller) => {
                    let (calldata, taken) = caller.pending.take().ok_or(Unmodelled)?;
                    caller.pending = Some((Bytes::default(), taken));
                    calldata
                }
            };
            recorder.frames.push(Frame { calldata, checkpoint, by_sender, ..Frame::default() });
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
