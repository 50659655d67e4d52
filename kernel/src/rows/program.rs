//! A step compiled once and run on many rows: calls with holes, slot reads and writes, time, arithmetic.
//!
//! A program works on 256-bit words. Inputs are words given per row, every operation writes registers, outputs name the
//! registers that are handed back. Nothing in it is a Python object, so a row runs from end to end without Python.

mod recording;
mod running;
mod template;
mod word;

use pyo3::{exceptions::PyValueError, prelude::*, types::PyList};
use revm::primitives::{Address, B256, U256};
use serde::{Deserialize, Serialize};

pub use self::{
    template::PyTemplate,
    word::{SourceArg, Word},
};
use self::{
    template::Template,
    word::{ONE, Owner, Source, ZERO},
};
use super::{arithmetic::Function, floats::FloatArg};

#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// A program as data: what a row needs to run it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedProgram {
    operations: Vec<Operation>,
    inputs: Vec<String>,
    outputs: Vec<(String, Source)>,
    registers: usize,
}

impl SavedProgram {
    /// Contract and selector of each template whose target is always the same.
    pub fn calls(&self) -> Vec<(Address, [u8; 4])> {
        let templates = self.operations.iter().flat_map(|operation| match operation {
            Operation::Call { templates, .. } => &templates[..],
            _ => &[],
        });
        let mut calls: Vec<(Address, [u8; 4])> = Vec::new();
        for template in templates {
            let Some(to) = template.to.constant() else { continue };
            let selector = template.shape.data.first_chunk().copied().unwrap_or_default();
            let call = (Address::from_word(B256::from(to)), selector);
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
        calls
    }
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

    pub fn saved(&self) -> SavedProgram {
        let Self { operations, inputs, outputs, registers, .. } = self;
        let (operations, inputs, outputs) = (operations.clone(), inputs.clone(), outputs.clone());
        SavedProgram { operations, inputs, outputs, registers: *registers }
    }

    /// A saved program; floats are words to whoever runs it.
    pub fn restored(saved: SavedProgram) -> Self {
        let SavedProgram { operations, inputs, outputs, registers } = saved;
        Self { operations, inputs, outputs, registers, ..Self::new(true) }
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
    pub fn new(whole: bool) -> Self {
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
    pub fn input(&mut self, name: String) -> PyResult<Word> {
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
    pub fn output(&mut self, name: String, word: SourceArg) -> PyResult<()> {
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
