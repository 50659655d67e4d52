//! Two inspectors: one puts a constructor's contract at a chosen address, one records the call tree.

use revm::{
    Inspector,
    context::{ContextTr, CreateScheme},
    interpreter::{
        CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, InstructionResult, InterpreterTypes,
    },
    primitives::{Address, Bytes, Log, U256},
};

/// Sends the transaction's own creation to `address`; creations inside it go where they always go.
pub struct CreateAt {
    address: Option<Address>,
}

impl CreateAt {
    pub fn new(address: Address) -> Self {
        Self { address: Some(address) }
    }
}

impl<CTX: ContextTr, INTR: InterpreterTypes> Inspector<CTX, INTR> for CreateAt {
    fn create(&mut self, _context: &mut CTX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        if let Some(address) = self.address.take() {
            *inputs = CreateInputs::new(
                inputs.caller(),
                CreateScheme::Custom { address },
                inputs.value(),
                inputs.init_code().clone(),
                inputs.gas_limit(),
                inputs.reservoir(),
            );
        }
        None
    }
}

/// One call or creation, with its logs and inner calls.
#[derive(Clone, Debug)]
pub struct Frame {
    pub kind: &'static str,
    pub parent: Option<usize>,
    pub from: Address,
    pub to: Address,
    pub value: U256,
    pub input: Bytes,
    pub output: Bytes,
    pub gas_limit: u64,
    pub gas_used: u64,
    pub result: InstructionResult,
    pub logs: Vec<Log>,
}

/// Frames in the order they began; each knows its parent.
#[derive(Clone, Debug, Default)]
pub struct Tracer {
    pub frames: Vec<Frame>,
    open: Vec<usize>,
}

impl Tracer {
    fn begin(&mut self, mut frame: Frame) {
        frame.parent = self.open.last().copied();
        self.open.push(self.frames.len());
        self.frames.push(frame);
    }

    fn end(&mut self, result: InstructionResult, output: &Bytes, gas_used: u64, created: Option<Address>) {
        if let Some(frame) = self.open.pop().and_then(|i| self.frames.get_mut(i)) {
            frame.result = result;
            frame.output = output.clone();
            frame.gas_used = gas_used;
            if let Some(address) = created {
                frame.to = address;
            }
        }
    }
}

impl<CTX: ContextTr, INTR: InterpreterTypes> Inspector<CTX, INTR> for Tracer {
    fn log(&mut self, _context: &mut CTX, log: Log) {
        if let Some(frame) = self.open.last().and_then(|&i| self.frames.get_mut(i)) {
            frame.logs.push(log);
        }
    }

    fn call(&mut self, context: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let kind = match inputs.scheme {
            CallScheme::Call => "CALL",
            CallScheme::CallCode => "CALLCODE",
            CallScheme::DelegateCall => "DELEGATECALL",
            CallScheme::StaticCall => "STATICCALL",
        };
        self.begin(Frame {
            kind,
            parent: None,
            from: inputs.caller,
            to: inputs.bytecode_address,
            value: inputs.apparent_value().or(inputs.transfer_value()).unwrap_or_default(),
            input: inputs.input.bytes(context),
            output: Bytes::new(),
            gas_limit: inputs.gas_limit,
            gas_used: 0,
            result: InstructionResult::Stop,
            logs: Vec::new(),
        });
        None
    }

    fn call_end(&mut self, _context: &mut CTX, _inputs: &CallInputs, outcome: &mut CallOutcome) {
        let used = outcome.result.gas.total_gas_spent();
        self.end(outcome.result.result, &outcome.result.output, used, None);
    }

    fn create(&mut self, _context: &mut CTX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        let kind = match inputs.scheme() {
            CreateScheme::Create2 { .. } => "CREATE2",
            _ => "CREATE",
        };
        self.begin(Frame {
            kind,
            parent: None,
            from: inputs.caller(),
            to: Address::ZERO,
            value: inputs.value(),
            input: inputs.init_code().clone(),
            output: Bytes::new(),
            gas_limit: inputs.gas_limit(),
            gas_used: 0,
            result: InstructionResult::Stop,
            logs: Vec::new(),
        });
        None
    }

    fn create_end(&mut self, _context: &mut CTX, _inputs: &CreateInputs, outcome: &mut CreateOutcome) {
        let used = outcome.result.gas.total_gas_spent();
        self.end(outcome.result.result, &outcome.result.output, used, outcome.address);
    }
}
