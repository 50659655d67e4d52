//! Words of a program as Python gives them, and the program that each belongs to.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyString},
};
use revm::primitives::{Address, U256};
use serde::{Deserialize, Serialize};

use crate::convert::WordArg;

pub const ZERO: Word = Word::constant(U256::ZERO);
pub const ONE: Word = Word::constant(U256::ONE);

/// Where a word comes from when a row runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Source {
    Constant(U256),
    Input(usize),
    Register(usize),
}

impl Source {
    pub fn constant(self) -> Option<U256> {
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
    pub(super) source: Source,
    /// Words belong to the program that made them; constants to all.
    pub(super) program: Option<u64>,
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
pub struct SourceArg(pub(super) Word);

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

/// Which program the words of one operation belong to: one, or none yet.
#[derive(Default)]
pub struct Owner(pub(super) Option<u64>);

impl Owner {
    pub fn take(&mut self, word: SourceArg) -> PyResult<Source> {
        self.join(word.0.program)?;
        Ok(word.0.source)
    }

    pub fn join(&mut self, program: Option<u64>) -> PyResult<()> {
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
