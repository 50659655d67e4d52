//! A step compiled once and run on many rows: calls with holes, slot reads and writes, time, arithmetic.
//!
//! A program works on 256-bit words. Inputs are words given per row, every operation writes registers, outputs name the
//! registers that are handed back. Nothing in it is a Python object, so a row runs from end to end without Python.

mod recording;

use std::sync::Arc;

use pyo3::{
    exceptions::{PyIndexError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};
use revm::{
    context::{BlockEnv, TxEnv, result::ExecutionResult},
    primitives::{Address, B256, Bytes, TxKind, U256},
};

use super::{arithmetic::Function, floats::FloatArg};
use crate::{
    convert::WordArg,
    evm::DEFAULT_GAS,
    machine::{Failure, Machine},
    specialise::{Answer, Call, Runner, Shape},
};

/// Where a word comes from when a row runs.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    Constant(U256),
    Input(usize),
    Register(usize),
}

impl Source {
    fn constant(self) -> Option<U256> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }
}

/// A word of a program: an input, a result of an earlier operation, or a constant.
#[pyclass(frozen, module = "mayavi._kernel", skip_from_py_object)]
#[derive(Clone, Copy)]
pub struct Word {
    source: Source,
    /// Words belong to the program that made them; constants to all.
    program: Option<u64>,
}

impl Word {
    pub const fn constant(value: U256) -> Self {
        Self { source: Source::Constant(value), program: None }
    }
}

#[pymethods]
impl Word {
    fn __repr__(&self) -> String {
        match self.source {
            Source::Constant(value) => format!("Word({value})"),
            Source::Input(index) => format!("Word(input {index})"),
            Source::Register(index) => format!("Word(register {index})"),
        }
    }
}

/// What Python may give for a word: a `Word`, an integer, or an address as text or 20 bytes.
pub struct SourceArg(Word);

impl SourceArg {
    pub fn word(&self) -> Word {
        self.0
    }
}

impl From<Word> for SourceArg {
    fn from(word: Word) -> Self {
        Self(word)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for SourceArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(word) = object.cast::<Word>() {
            return Ok(Self(*word.get()));
        }
        let constant = |value| Ok(Self(Word::constant(value)));
        if let Ok(text) = object.cast::<PyString>() {
            let text = text.to_str()?;
            let address: Address = text.parse().map_err(|_| {
                PyValueError::new_err(format!(
                    "'{text}' is not an address; `fork.address_of(name)` gives that of a name"
                ))
            })?;
            return constant(U256::from_be_slice(address.as_slice()));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            return match bytes.len() {
                20 => constant(U256::from_be_slice(bytes)),
                other => Err(PyValueError::new_err(format!("bytes given for a word must be an address, got {other}"))),
            };
        }
        match object.extract::<WordArg>() {
            Ok(word) => constant(word.0),
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(object.py()) => Err(error),
            Err(_) => Err(PyTypeError::new_err("a word is a Word, an integer or an address")),
        }
    }
}

/// A call with holes in its data, and where to send it.
#[derive(Clone, Debug)]
struct Template {
    to: Source,
    sender: Source,
    value: Source,
    data: Vec<u8>,
    holes: Vec<(usize, Source)>,
    gas: u64,
    /// The same for the specialiser: holes with constants are filled.
    shape: Arc<Shape>,
}

/// A call of a program: sender, target, data, and the words of the data that registers fill.
#[pyclass(frozen, module = "mayavi._kernel", name = "Template")]
pub struct PyTemplate {
    inner: Template,
    program: Option<u64>,
}

#[pymethods]
impl PyTemplate {
    #[new]
    #[pyo3(signature = (to, data, holes=None, *, sender=SourceArg(ZERO), value=SourceArg(ZERO), gas=DEFAULT_GAS))]
    fn new(
        to: SourceArg,
        data: &[u8],
        holes: Option<&Bound<'_, PyDict>>,
        sender: SourceArg,
        value: SourceArg,
        gas: u64,
    ) -> PyResult<Self> {
        let mut owner = Owner::default();
        let mut filled = Vec::new();
        for (offset, word) in holes.iter().flat_map(|holes| holes.iter()) {
            let offset: usize = offset.extract()?;
            if offset.checked_add(32).is_none_or(|end| end > data.len()) {
                return Err(PyIndexError::new_err(format!(
                    "a hole at byte {offset} does not fit into {} bytes of data",
                    data.len()
                )));
            }
            filled.push((offset, owner.take(word.extract::<SourceArg>()?)?));
        }
        filled.sort_unstable_by_key(|(offset, _)| *offset);
        if let Some(pair) = filled.windows(2).find(|pair| pair[0].0 + 32 > pair[1].0) {
            return Err(PyValueError::new_err(format!("holes at bytes {} and {} overlap", pair[0].0, pair[1].0)));
        }
        let mut filled_data = data.to_vec();
        let mut open = Vec::new();
        for (offset, source) in &filled {
            let word = source.constant().unwrap_or_default();
            filled_data[*offset..*offset + 32].copy_from_slice(&word.to_be_bytes::<32>());
            if source.constant().is_none() {
                open.push(*offset);
            }
        }
        let inner = Template {
            shape: Arc::new(Shape::new(filled_data, open, gas)),
            to: owner.take(to)?,
            sender: owner.take(sender)?,
            value: owner.take(value)?,
            data: data.to_vec(),
            holes: filled,
            gas,
        };
        Ok(Self { inner, program: owner.0 })
    }
}

const ZERO: Word = Word::constant(U256::ZERO);

/// Which program the words of one operation belong to: one, or none yet.
#[derive(Default)]
struct Owner(Option<u64>);

impl Owner {
    fn take(&mut self, word: SourceArg) -> PyResult<Source> {
        self.join(word.0.program)?;
        Ok(word.0.source)
    }

    fn join(&mut self, program: Option<u64>) -> PyResult<()> {
        match (self.0, program) {
            (Some(mine), Some(other)) if mine != other => {
                Err(PyValueError::new_err("a word of one program cannot be used in another"))
            }
            (None, Some(_)) => {
                self.0 = program;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Call {
        templates: Vec<Template>,
        choice: Source,
        mask: Source,
        commit: bool,
        /// Registers: status, gas used, then the words of the output.
        first: usize,
        words: usize,
    },
    Load {
        address: Source,
        slot: Source,
        into: usize,
    },
    Store {
        address: Source,
        slot: Source,
        value: Source,
        mask: Source,
    },
    Balance {
        address: Source,
        into: usize,
    },
    Advance {
        blocks: Source,
        seconds: Source,
        mask: Source,
    },
    Time {
        number: usize,
        timestamp: usize,
    },
    Compute {
        function: Function,
        with: Vec<Source>,
        into: usize,
    },
}

/// Words of a call's data that may vary for it to be replayed.
const MOST_HOLES: usize = 16;

const SKIPPED: u64 = 0;
const SUCCESS: u64 = 1;
const REVERTED: u64 = 2;
const HALTED: u64 = 3;
const SHORT: u64 = 4;
const NO_CODE: u64 = 5;

/// A step: built once, run on every row of a `Fleet` in one call.
#[pyclass(module = "mayavi._kernel")]
pub struct Program {
    id: u64,
    operations: Vec<Operation>,
    inputs: Vec<String>,
    outputs: Vec<(String, Source)>,
    /// Inputs and outputs that are arrays of floats.
    float_inputs: Vec<FloatBlock>,
    float_outputs: Vec<FloatBlock>,
    registers: usize,
    /// Whether it may be replayed as a whole.
    whole: bool,
}

/// Neighbouring words of a program's inputs or outputs that are one array of floats in Python.
pub struct FloatBlock {
    pub name: String,
    pub first: usize,
    pub count: usize,
    /// Whether the array has floats of 32 bits.
    pub single: bool,
}

/// The numbers of the words outside of blocks.
fn outside(words: usize, blocks: &[FloatBlock]) -> Vec<usize> {
    let within = |word: usize| blocks.iter().any(|block| (block.first..block.first + block.count).contains(&word));
    (0..words).filter(|word| !within(*word)).collect()
}

/// Where a name stands in a list, and how often.
fn neighbours<'a>(names: impl Iterator<Item = &'a str> + Clone, name: &str) -> Option<(usize, usize)> {
    let first = names.clone().position(|known| known == name)?;
    Some((first, names.skip(first).take_while(|known| *known == name).count()))
}

impl Program {
    fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    fn word(&self, register: usize) -> Word {
        Word { source: Source::Register(register), program: Some(self.id) }
    }

    fn owner(&self) -> Owner {
        Owner(Some(self.id))
    }

    /// A function of words. Of constants alone it is a constant, and no row has to compute it.
    pub fn compute(&mut self, function: Function, words: impl IntoIterator<Item = SourceArg>) -> PyResult<Word> {
        let mut owner = self.owner();
        let with: Vec<Source> = words.into_iter().map(|word| owner.take(word)).collect::<PyResult<_>>()?;
        let constants: Option<Vec<U256>> = with.iter().map(|source| source.constant()).collect();
        if let Some(constants) = constants {
            return Ok(Word::constant(function.apply(&constants)));
        }
        let into = self.register();
        self.operations.push(Operation::Compute { function, with, into });
        Ok(self.word(into))
    }

    /// Floats to be handed back, as words behind the other outputs.
    fn hand_back(&mut self, name: String, words: Vec<SourceArg>, single: bool) -> PyResult<()> {
        self.check_output(&name)?;
        let (mut owner, first, count) = (self.owner(), self.outputs.len(), words.len());
        for word in words {
            self.outputs.push((name.clone(), owner.take(word)?));
        }
        self.float_outputs.push(FloatBlock { name, first, count, single });
        Ok(())
    }

    fn check_input(&self, name: &str) -> PyResult<()> {
        if self.inputs.iter().any(|known| known == name) {
            return Err(PyValueError::new_err(format!("input '{name}' is there already")));
        }
        Ok(())
    }

    fn check_output(&self, name: &str) -> PyResult<()> {
        if self.outputs.iter().any(|(known, _)| known == name) {
            return Err(PyValueError::new_err(format!("output '{name}' is there already")));
        }
        Ok(())
    }

    pub fn float_inputs(&self) -> &[FloatBlock] {
        &self.float_inputs
    }

    pub fn float_outputs(&self) -> &[FloatBlock] {
        &self.float_outputs
    }

    /// The numbers of the inputs that are given as words.
    pub fn word_inputs(&self) -> Vec<usize> {
        outside(self.inputs.len(), &self.float_inputs)
    }

    /// The numbers of the outputs that are handed back as words.
    pub fn word_outputs(&self) -> Vec<usize> {
        outside(self.outputs.len(), &self.float_outputs)
    }

    /// The words of an input by its name: the first, and how many.
    pub fn input_words(&self, name: &str) -> Option<(usize, usize)> {
        neighbours(self.inputs.iter().map(String::as_str), name)
    }

    pub fn output_words(&self, name: &str) -> Option<(usize, usize)> {
        neighbours(self.outputs.iter().map(|(known, _)| known.as_str()), name)
    }

    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    pub fn output_count(&self) -> usize {
        self.outputs.len()
    }
}

fn next_id() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[pymethods]
impl Program {
    /// With `whole=False` its calls are replayed one by one: better where rows take very many ways.
    #[new]
    #[pyo3(signature = (*, whole=true))]
    fn new(whole: bool) -> Self {
        Self {
            whole,
            id: next_id(),
            operations: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            float_inputs: Vec::new(),
            float_outputs: Vec::new(),
            registers: 0,
        }
    }

    /// Names of the inputs that are words.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.word_inputs().into_iter().map(|at| self.inputs[at].clone()).collect()
    }

    /// Names of the outputs that are words.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.word_outputs().into_iter().map(|at| self.outputs[at].0.clone()).collect()
    }

    /// Names of the inputs that are arrays of floats, and how many each row has of them.
    #[getter(float_inputs)]
    fn float_input_names(&self) -> Vec<(String, usize)> {
        self.float_inputs.iter().map(|block| (block.name.clone(), block.count)).collect()
    }

    /// Names of the outputs that are arrays of floats.
    #[getter(float_outputs)]
    fn float_output_names(&self) -> Vec<String> {
        self.float_outputs.iter().map(|block| block.name.clone()).collect()
    }

    /// A word given for each row when the program runs.
    fn input(&mut self, name: String) -> PyResult<Word> {
        self.check_input(&name)?;
        self.inputs.push(name);
        Ok(Word { source: Source::Input(self.inputs.len() - 1), program: Some(self.id) })
    }

    /// Floats given for each row when the program runs: one array of `count` columns.
    fn input_floats(&mut self, name: String, count: usize) -> PyResult<Vec<Word>> {
        self.check_input(&name)?;
        if count == 0 {
            return Err(PyValueError::new_err(format!("input '{name}' has no floats")));
        }
        let first = self.inputs.len();
        self.inputs.extend(std::iter::repeat_n(name.clone(), count));
        self.float_inputs.push(FloatBlock { name, first, count, single: false });
        let word = |at| Word { source: Source::Input(at), program: Some(self.id) };
        Ok((first..first + count).map(word).collect())
    }

    /// A transaction. Of several templates `choice` picks one per row; where `mask` is zero the row skips it.
    ///
    /// Returns (status, gas used, words of the output). Status: 0 skipped, 1 success, 2 reverted, 3 halted,
    /// 4 success with an output shorter than asked, 5 no contract there. Without `commit` it leaves no trace.
    #[pyo3(signature = (templates, *, choice=None, mask=SourceArg(ONE), returns=0, commit=true))]
    fn call(
        &mut self,
        templates: &Bound<'_, PyAny>,
        choice: Option<SourceArg>,
        mask: SourceArg,
        returns: usize,
        commit: bool,
    ) -> PyResult<(Word, Word, Vec<Word>)> {
        let mut owner = self.owner();
        let mut chosen = Vec::new();
        let mut add = |object: &Bound<'_, PyAny>| -> PyResult<()> {
            let template = object.cast::<PyTemplate>()?.get();
            owner.join(template.program)?;
            chosen.push(template.inner.clone());
            Ok(())
        };
        match templates.cast::<PyList>() {
            Ok(list) => list.iter().try_for_each(|object| add(&object))?,
            Err(_) => add(templates)?,
        }
        if chosen.is_empty() {
            return Err(PyValueError::new_err("a call needs a template"));
        }
        if choice.is_none() && chosen.len() > 1 {
            return Err(PyValueError::new_err(format!("{} templates need a choice between them", chosen.len())));
        }
        let (choice, mask) = (owner.take(choice.unwrap_or(SourceArg(ZERO)))?, owner.take(mask)?);
        let first = self.registers;
        self.registers += 2 + returns;
        self.operations.push(Operation::Call { templates: chosen, choice, mask, commit, first, words: returns });
        let words = (0..returns).map(|i| self.word(first + 2 + i)).collect();
        Ok((self.word(first), self.word(first + 1), words))
    }

    /// Read a storage slot.
    fn load(&mut self, address: SourceArg, slot: SourceArg) -> PyResult<Word> {
        let mut owner = self.owner();
        let (address, slot) = (owner.take(address)?, owner.take(slot)?);
        let into = self.register();
        self.operations.push(Operation::Load { address, slot, into });
        Ok(self.word(into))
    }

    /// Write a storage slot, unless `mask` is zero.
    #[pyo3(signature = (address, slot, value, *, mask=SourceArg(ONE)))]
    fn store(&mut self, address: SourceArg, slot: SourceArg, value: SourceArg, mask: SourceArg) -> PyResult<()> {
        let mut owner = self.owner();
        let (address, slot) = (owner.take(address)?, owner.take(slot)?);
        let (value, mask) = (owner.take(value)?, owner.take(mask)?);
        self.operations.push(Operation::Store { address, slot, value, mask });
        Ok(())
    }

    /// The ether an account holds, in wei.
    fn balance(&mut self, address: SourceArg) -> PyResult<Word> {
        let address = self.owner().take(address)?;
        let into = self.register();
        self.operations.push(Operation::Balance { address, into });
        Ok(self.word(into))
    }

    /// Move the row's block number and time on, unless `mask` is zero.
    #[pyo3(signature = (blocks, seconds, *, mask=SourceArg(ONE)))]
    fn advance(&mut self, blocks: SourceArg, seconds: SourceArg, mask: SourceArg) -> PyResult<()> {
        let mut owner = self.owner();
        let (blocks, seconds, mask) = (owner.take(blocks)?, owner.take(seconds)?, owner.take(mask)?);
        self.operations.push(Operation::Advance { blocks, seconds, mask });
        Ok(())
    }

    /// The row's block number and time at this point.
    fn time(&mut self) -> (Word, Word) {
        let (number, timestamp) = (self.register(), self.register());
        self.operations.push(Operation::Time { number, timestamp });
        (self.word(number), self.word(timestamp))
    }

    /// Hand a word back under a name.
    fn output(&mut self, name: String, word: SourceArg) -> PyResult<()> {
        self.check_output(&name)?;
        let source = self.owner().take(word)?;
        self.outputs.push((name, source));
        Ok(())
    }

    /// Hand floats back as one array, a column each.
    fn output_floats(&mut self, name: String, floats: Vec<FloatArg>) -> PyResult<()> {
        self.hand_back(name, floats.into_iter().map(Into::into).collect(), false)
    }

    /// Hand floats back as one array of 32 bits, a column each; rounded to the nearest.
    fn output_singles(&mut self, name: String, floats: Vec<FloatArg>) -> PyResult<()> {
        self.hand_back(name, floats.into_iter().map(Into::into).collect(), true)
    }
}

const ONE: Word = Word::constant(U256::ONE);

/// One row's words while it runs.
struct Words<'a> {
    inputs: &'a [u8],
    registers: &'a mut [U256],
}

impl Words<'_> {
    #[inline]
    fn get(&self, source: Source) -> U256 {
        match source {
            Source::Constant(value) => value,
            Source::Input(index) => U256::from_be_slice(&self.inputs[index * 32..index * 32 + 32]),
            Source::Register(index) => self.registers[index],
        }
    }

    /// The lowest 64 bits of a word.
    #[inline]
    fn bits(&self, source: Source) -> u64 {
        match source {
            Source::Constant(value) => value.as_limbs()[0],
            Source::Input(index) => u64::from_be_bytes(self.inputs.as_chunks::<8>().0[index * 4 + 3]),
            Source::Register(index) => self.registers[index].as_limbs()[0],
        }
    }

    fn address(&self, source: Source) -> Result<Address, Failure> {
        let word = self.get(source);
        if word >> 160 != U256::ZERO {
            return Err(Failure::Invalid(format!("{word:#x} is not an address")));
        }
        Ok(Address::from_word(B256::from(word)))
    }

    fn u64(&self, source: Source, what: &str) -> Result<u64, Failure> {
        let word = self.get(source);
        u64::try_from(word).map_err(|_| Failure::Invalid(format!("{what} {word} does not fit into 64 bits")))
    }
}

impl Template {
    fn transaction(&self, words: &Words<'_>) -> Result<TxEnv, Failure> {
        let mut data = self.data.clone();
        for (offset, source) in &self.holes {
            data[*offset..*offset + 32].copy_from_slice(&words.get(*source).to_be_bytes::<32>());
        }
        Ok(TxEnv {
            tx_type: 0,
            caller: words.address(self.sender)?,
            gas_limit: self.gas,
            gas_price: 0,
            kind: TxKind::Call(words.address(self.to)?),
            value: words.get(self.value),
            data: Bytes::from(data),
            nonce: 0,
            chain_id: None,
            access_list: Default::default(),
            gas_priority_fee: None,
            blob_hashes: Vec::new(),
            max_fee_per_blob_gas: 0,
            authorization_list: Vec::new(),
        })
    }

    /// The transaction on one row: replayed where that is possible, otherwise interpreted.
    fn run(
        &self,
        machine: &mut Machine,
        block: &BlockEnv,
        words: &Words<'_>,
        commit: bool,
        runner: Option<&mut Runner<'_>>,
    ) -> Result<Answer, Failure> {
        let specialiser = runner.as_ref().map(|runner| runner.all);
        let Some(runner) = runner.filter(|_| words.get(self.value).is_zero()) else {
            let tx = self.transaction(words)?;
            let result = match (commit, specialiser) {
                (false, _) => machine.run(tx)?.0,
                (true, None) => machine.run_and_commit(tx)?,
                (true, Some(specialiser)) => specialiser.interpret(machine, tx, true)?,
            };
            return Ok(Answer::Interpreted(result));
        };
        let (to, sender) = (words.address(self.to)?, words.address(self.sender)?);
        let mut holes = [U256::ZERO; MOST_HOLES];
        let open = self.holes.iter().filter(|(_, source)| source.constant().is_none());
        let count = self.shape.holes.len();
        if count > MOST_HOLES {
            let result = runner.all.interpret(machine, self.transaction(words)?, commit)?;
            return Ok(Answer::Interpreted(result));
        }
        for (place, (_, source)) in holes.iter_mut().zip(open) {
            *place = words.get(*source);
        }
        let call = Call { shape: &self.shape, to, sender, holes: &holes[..count], commit };
        runner.call(machine, block, &call, || self.transaction(words))
    }
}

impl Template {
    /// Put status, gas and output of the transaction into the registers from `first` on.
    fn receive(
        &self,
        machine: &mut Machine,
        words: &mut Words<'_>,
        answer: &Answer,
        first: usize,
        wanted: usize,
    ) -> Result<(), Failure> {
        let code_ran = matches!(answer, Answer::Replayed { code_ran: true, .. });
        let (status, gas, output) = match answer {
            Answer::Replayed { success, gas, output, .. } => {
                (if *success { SUCCESS } else { REVERTED }, *gas, &output[..])
            }
            Answer::Interpreted(result) => match result {
                ExecutionResult::Success { output, .. } => (SUCCESS, result.tx_gas_used(), &output.data()[..]),
                ExecutionResult::Revert { .. } => (REVERTED, result.tx_gas_used(), &[][..]),
                ExecutionResult::Halt { .. } => (HALTED, result.tx_gas_used(), &[][..]),
            },
        };
        words.registers[first + 1] = U256::from(gas);
        if status == SUCCESS {
            for (i, chunk) in output.chunks_exact(32).take(wanted).enumerate() {
                words.registers[first + 2 + i] = U256::from_be_slice(chunk);
            }
        }
        let target = words.address(self.to)?;
        words.registers[first] = U256::from(match status {
            // In the EVM, a call of an account without code succeeds. Precompiles have no code either.
            SUCCESS
                if output.is_empty()
                    && !code_ran
                    && !self.data.is_empty()
                    && target[..18] != [0; 18]
                    && !machine.has_code(target)? =>
            {
                NO_CODE
            }
            SUCCESS if output.len() / 32 < wanted => SHORT,
            status => status,
        });
        Ok(())
    }
}

impl Program {
    /// Run on one row: `inputs` and `outputs` are its words, big-endian.
    pub fn run(
        &self,
        machine: &mut Machine,
        block: &mut BlockEnv,
        inputs: &[u8],
        registers: &mut Vec<U256>,
        outputs: &mut [u8],
        mut runner: Option<&mut Runner<'_>>,
    ) -> Result<(), Failure> {
        registers.clear();
        registers.resize(self.registers, U256::ZERO);
        let mut words = Words { inputs, registers };
        for operation in &self.operations {
            self.step(operation, machine, block, &mut words, runner.as_deref_mut())?;
        }
        for (place, (_, source)) in outputs.chunks_exact_mut(32).zip(&self.outputs) {
            place.copy_from_slice(&words.get(*source).to_be_bytes::<32>());
        }
        Ok(())
    }

    fn step(
        &self,
        operation: &Operation,
        machine: &mut Machine,
        block: &mut BlockEnv,
        words: &mut Words<'_>,
        runner: Option<&mut Runner<'_>>,
    ) -> Result<(), Failure> {
        match operation {
            Operation::Call { templates, choice, mask, commit, first, words: wanted } => {
                if words.get(*mask).is_zero() {
                    words.registers[*first] = U256::from(SKIPPED);
                    return Ok(());
                }
                let choice = words.get(*choice);
                let template =
                    usize::try_from(choice).ok().and_then(|choice| templates.get(choice)).ok_or_else(|| {
                        Failure::Invalid(format!("choice {choice} is not one of {} templates", templates.len()))
                    })?;
                let answer = template.run(machine, block, words, *commit, runner)?;
                template.receive(machine, words, &answer, *first, *wanted)?;
            }
            Operation::Load { address, slot, into } => {
                let (address, slot) = (words.address(*address)?, words.get(*slot));
                words.registers[*into] = match runner {
                    Some(runner) => runner.load(machine, address, slot)?,
                    None => machine.read_slot(address, slot)?,
                };
            }
            Operation::Store { address, slot, value, mask } => {
                if !words.get(*mask).is_zero() {
                    let (address, slot, value) = (words.address(*address)?, words.get(*slot), words.get(*value));
                    match &runner {
                        Some(runner) => runner.all.store(machine, address, slot, value)?,
                        None => machine.write_slot(address, slot, value)?,
                    }
                }
            }
            Operation::Balance { address, into } => {
                words.registers[*into] = machine.read_info(words.address(*address)?)?.balance;
            }
            Operation::Advance { blocks, seconds, mask } => {
                if words.get(*mask).is_zero() {
                    return Ok(());
                }
                let blocks = words.u64(*blocks, "a number of blocks")?;
                let seconds = words.u64(*seconds, "a number of seconds")?;
                let overflow = || Failure::Invalid("the block number or time does not fit any more".into());
                block.number = block.number.checked_add(U256::from(blocks)).ok_or_else(overflow)?;
                block.timestamp = block.timestamp.checked_add(U256::from(seconds)).ok_or_else(overflow)?;
                machine.set_block(block);
            }
            Operation::Time { number, timestamp } => {
                words.registers[*number] = block.number;
                words.registers[*timestamp] = block.timestamp;
            }
            Operation::Compute { function: Function::Float(float), with, into } if float.of_floats() => {
                let (a, b) = (words.bits(with[0]), with.get(1).map_or(0, |word| words.bits(*word)));
                words.registers[*into] = U256::from(float.of_bits(a, b));
            }
            Operation::Compute { function, with, into } => {
                words.registers[*into] = match with[..] {
                    [a] => function.apply(&[words.get(a)]),
                    [a, b] => function.apply(&[words.get(a), words.get(b)]),
                    [a, b, c] => function.apply(&[words.get(a), words.get(b), words.get(c)]),
                    ref more => function.apply(&more.iter().map(|word| words.get(*word)).collect::<Vec<_>>()),
                };
            }
        }
        Ok(())
    }
}
