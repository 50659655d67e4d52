//! Calls with holes in their data: built once, filled and executed on each row.

use std::sync::Arc;

use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
    types::PyDict,
};
use revm::{
    context::{BlockEnv, TxEnv, result::ExecutionResult},
    primitives::{Bytes, TxKind, U256},
};
use serde::{Deserialize, Serialize};

use super::{
    running::Words,
    word::{Owner, Source, SourceArg, ZERO},
};
use crate::{
    convert::GasArg,
    evm::DEFAULT_GAS,
    machine::{Failure, Machine},
    specialise::{Answer, Call, Runner, Shape},
};

/// Words of a call's data that may vary for it to be replayed.
const MOST_HOLES: usize = 16;

pub const SKIPPED: u64 = 0;
const SUCCESS: u64 = 1;
const REVERTED: u64 = 2;
const HALTED: u64 = 3;
const SHORT: u64 = 4;
const NO_CODE: u64 = 5;

/// A call with holes in its data, and where to send it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "SavedTemplate", into = "SavedTemplate")]
pub struct Template {
    pub to: Source,
    pub sender: Source,
    pub value: Source,
    pub data: Vec<u8>,
    pub holes: Vec<(usize, Source)>,
    gas: u64,
    /// The same for the specialiser: holes with constants are filled.
    pub shape: Arc<Shape>,
}

/// A template as data.
#[derive(Clone, Serialize, Deserialize)]
struct SavedTemplate {
    to: Source,
    sender: Source,
    value: Source,
    data: Vec<u8>,
    holes: Vec<(usize, Source)>,
    gas: u64,
}

impl From<Template> for SavedTemplate {
    fn from(template: Template) -> Self {
        let Template { to, sender, value, data, holes, gas, .. } = template;
        Self { to, sender, value, data, holes, gas }
    }
}

impl From<SavedTemplate> for Template {
    fn from(saved: SavedTemplate) -> Self {
        let SavedTemplate { to, sender, value, data, holes, gas } = saved;
        let (mut filled, mut open) = (data.clone(), Vec::new());
        for (offset, source) in &holes {
            let word = source.constant().unwrap_or_default();
            filled[*offset..*offset + 32].copy_from_slice(&word.to_be_bytes::<32>());
            if source.constant().is_none() {
                open.push(*offset);
            }
        }
        Self { shape: Arc::new(Shape::new(filled, open, gas)), to, sender, value, data, holes, gas }
    }
}

/// A call of a program: sender, target, data, and the words of the data that registers fill.
#[pyclass(frozen, module = "mayavi._kernel", name = "Template")]
pub struct PyTemplate {
    pub(super) inner: Template,
    pub(super) program: Option<u64>,
}

#[pymethods]
impl PyTemplate {
    #[new]
    #[pyo3(signature = (to, data, holes=None, *, sender=SourceArg(ZERO), value=SourceArg(ZERO), gas=GasArg(DEFAULT_GAS)))]
    fn new(
        to: SourceArg,
        data: &[u8],
        holes: Option<&Bound<'_, PyDict>>,
        sender: SourceArg,
        value: SourceArg,
        gas: GasArg,
    ) -> PyResult<Self> {
        let (GasArg(gas), mut owner) = (gas, Owner::default());
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
        let (to, sender, value) = (owner.take(to)?, owner.take(sender)?, owner.take(value)?);
        let inner = SavedTemplate { to, sender, value, data: data.to_vec(), holes: filled, gas }.into();
        Ok(Self { inner, program: owner.0 })
    }
}

impl Template {
    pub fn transaction(&self, words: &Words<'_>) -> Result<TxEnv, Failure> {
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
    pub fn run(
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

    /// Put status, gas and output of the transaction into the registers from `first` on.
    pub fn receive(
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
