//! Batches of views for Python: `Evm.call_many` for any calldata, `Evm.call_words` for columns of words.

use numpy::{PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyIndexError, PyRuntimeError, PyValueError},
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyDict, PyList},
};
use revm::primitives::Address;

use crate::{
    batch::{self, Answers, Batch, Effort, Outcome, Outcomes},
    blocks::receipt::output,
    convert::AddressArg,
    evm::{DEFAULT_GAS, Evm},
    machine::Rules,
    specialise::{Mode, SelfCheck, SiteStatistics},
};

/// Where words of a single call's calldata may vary from call to call; longer calldata is seldom of one kind.
const HOLES: [usize; 8] = [4, 36, 68, 100, 132, 164, 196, 228];

/// The calls that failed: index and exception.
type Failures<'py> = Vec<(usize, Bound<'py, PyAny>)>;

impl Evm {
    fn batch(&mut self, py: Python<'_>, batch: &Batch<'_>, threads: usize) -> PyResult<(Outcomes, Effort)> {
        if threads == 0 {
            return Err(PyValueError::new_err("at least one thread is needed"));
        }
        // A read needs no nonce, no balance for gas and no base fee, whatever the rules for transactions are.
        let settings = crate::machine::Settings { rules: Rules::SIMULATION, ..self.settings };
        let Self { world, row, probe, stopwatch, .. } = self;
        py.detach(|| stopwatch.time(|| batch::run(world, row, &settings, *probe, threads, batch)))
            .map_err(|failure| failure.into_python(py))
    }

    /// A single call by paths that are kept; none where it is to be interpreted. Every word of the calldata may vary.
    pub fn call_kept(
        &mut self,
        py: Python<'_>,
        to: Address,
        data: &[u8],
        sender: Address,
        gas: u64,
    ) -> PyResult<Option<Outcome>> {
        let mode = self.specialise.filter(|_| !self.probe && self.world.closed && data.len() % 32 == 4);
        if mode.is_none() {
            return Ok(None);
        }
        let Some(holes) = HOLES.get(..data.len() / 32) else { return Ok(None) };
        let verify = self.is_checked(data);
        let batch = Batch { to, sender, gas, datas: &[data], holes: Some(holes), verify, mode, checked: None };
        let settings = crate::machine::Settings { rules: Rules::SIMULATION, ..self.settings };
        let Self { world, row, stopwatch, .. } = self;
        py.detach(|| stopwatch.time(|| batch::run_single(world, row, &settings, &batch)))
            .map_err(|failure| failure.into_python(py))
    }
}

#[pymethods]
impl Evm {
    /// Execute every call without effects: outputs in order, `None` where a call failed, and the failures by index.
    #[pyo3(signature = (to, datas, sender=None, gas=None, threads=1, verify=false))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn call_many<'py>(
        &mut self,
        py: Python<'py>,
        to: AddressArg,
        datas: Vec<PyBackedBytes>,
        sender: Option<AddressArg>,
        gas: Option<u64>,
        threads: usize,
        verify: bool,
    ) -> PyResult<(Bound<'py, PyList>, Failures<'py>, Bound<'py, PyDict>)> {
        let datas: Vec<&[u8]> = datas.iter().map(|data| &**data).collect();
        let batch = Batch {
            to: to.0,
            sender: sender.map_or(Address::ZERO, |sender| sender.0),
            gas: gas.unwrap_or(DEFAULT_GAS),
            datas: &datas,
            holes: None,
            verify,
            mode: self.specialise,
            checked: Some((self.self_check, self.self_check.next(datas.len()))),
        };
        let (outcomes, effort) = self.batch(py, &batch, threads)?;
        let mut failures = Vec::new();
        let mut outputs = Vec::with_capacity(datas.len());
        for (index, outcome) in outcomes.in_order().into_iter().enumerate() {
            match outcome {
                Outcome::Output(data) => outputs.push(Some(PyBytes::new(py, &data))),
                Outcome::Failed(result) => {
                    outputs.push(None);
                    failures.push((index, exception(py, *result)?));
                }
            }
        }
        Ok((PyList::new(py, outputs)?, failures, counts(py, &effort)?))
    }

    /// Execute one call for each row of `words`, (rows, holes, 32) bytes that go into `data` at `offsets`.
    ///
    /// Gives the first `returns` words of every output as (rows, returns, 32), zeros where a call failed; the failures
    /// by index; and the calls that succeeded with a shorter output: index and length.
    #[pyo3(signature = (to, data, offsets, words, returns, sender=None, gas=None, threads=1, verify=false))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn call_words<'py>(
        &mut self,
        py: Python<'py>,
        to: AddressArg,
        data: &[u8],
        offsets: Vec<usize>,
        words: PyReadonlyArray3<'py, u8>,
        returns: usize,
        sender: Option<AddressArg>,
        gas: Option<u64>,
        threads: usize,
        verify: bool,
    ) -> PyResult<(Bound<'py, PyArray3<u8>>, Failures<'py>, Vec<(usize, usize)>, Bound<'py, PyDict>)> {
        let rows = words.shape()[0];
        if words.shape() != [rows, offsets.len(), 32] {
            return Err(PyValueError::new_err(format!(
                "words have shape {:?}, the holes want ({rows}, {}, 32)",
                words.shape(),
                offsets.len()
            )));
        }
        if let Some(offset) = offsets.iter().find(|offset| offset.checked_add(32).is_none_or(|end| end > data.len())) {
            return Err(PyIndexError::new_err(format!(
                "a hole at byte {offset} does not fit into {} bytes of data",
                data.len()
            )));
        }
        let given = words.as_slice().map_err(|_| PyValueError::new_err("words must be contiguous"))?;
        let filled = fill(data, &offsets, given, rows);
        let datas: Vec<&[u8]> = match data.len() {
            0 => vec![&[]; rows],
            length => filled.chunks_exact(length).collect(),
        };
        let batch = Batch {
            to: to.0,
            sender: sender.map_or(Address::ZERO, |sender| sender.0),
            gas: gas.unwrap_or(DEFAULT_GAS),
            datas: &datas,
            holes: Some(&offsets),
            verify,
            mode: self.specialise,
            checked: Some((self.self_check, self.self_check.next(datas.len()))),
        };
        let (outcomes, effort) = self.batch(py, &batch, threads)?;
        let width = returns * 32;
        let taken = PyArray3::<u8>::zeros(py, [rows, returns, 32], false);
        // SAFETY: the array was made a line above and nothing else refers to it.
        let place = unsafe { taken.as_slice_mut() }.map_err(|_| PyRuntimeError::new_err("outputs not contiguous"))?;
        let (mut failures, mut short) = (Vec::new(), Vec::new());
        let mut put = |index: usize, data: &[u8]| match data.get(..width) {
            Some(words) => place[index * width..(index + 1) * width].copy_from_slice(words),
            None => short.push((index, data.len())),
        };
        outcomes.answers.iter().flat_map(Answers::each).for_each(|(index, data)| put(index, data));
        for (index, outcome) in outcomes.single {
            match outcome {
                Outcome::Output(data) => put(index, &data),
                Outcome::Failed(result) => failures.push((index, exception(py, *result)?)),
            }
        }
        short.sort_unstable();
        Ok((taken, failures, short, counts(py, &effort)?))
    }

    /// Let the replays that are interpreted too follow from this seed.
    fn seed_self_check(&mut self, seed: u64) {
        self.self_check = SelfCheck::new(seed);
    }

    /// Whether batches of views are replayed by paths that are kept: `off`, `on` or `check`.
    #[getter]
    fn specialise(&self) -> &'static str {
        self.specialise.map_or("off", Mode::name)
    }

    #[setter]
    fn set_specialise(&mut self, mode: &str) -> PyResult<()> {
        self.specialise = Mode::parse(mode).map_err(PyValueError::new_err)?;
        Ok(())
    }

    /// Counts of every call site of views and transactions, of all forks of this world.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let sites = self.world.views.statistics().into_iter().chain(self.world.sends.statistics());
        sites.map(|site| site.into_python(py)).collect()
    }

    /// The same counts, of all call sites together.
    fn total_statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sites = self.world.views.statistics().into_iter().chain(self.world.sends.statistics());
        SiteStatistics::total(sites, py)
    }

    /// Wait until every path that was asked for is compiled.
    fn finish_compiling(&self, py: Python<'_>) {
        py.detach(|| self.world.views.finish_compiling());
    }

    /// Let recordings forget a guard from now on, so that a test can see it found.
    fn seed_fault(&self) {
        self.world.views.seed_fault();
        self.world.sends.seed_fault();
    }
}

/// The template once for each row, its holes filled.
fn fill(template: &[u8], offsets: &[usize], words: &[u8], rows: usize) -> Vec<u8> {
    let mut filled = template.repeat(rows);
    if template.is_empty() || offsets.is_empty() {
        return filled;
    }
    for (data, words) in filled.chunks_exact_mut(template.len()).zip(words.chunks_exact(offsets.len() * 32)) {
        for (offset, word) in offsets.iter().zip(words.chunks_exact(32)) {
            data[*offset..offset + 32].copy_from_slice(word);
        }
    }
    filled
}

/// How the calls were made, by name.
fn counts<'py>(py: Python<'py>, effort: &Effort) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("replayed", effort.replayed)?;
    dict.set_item("interpreted", effort.interpreted)?;
    dict.set_item("traces", effort.traces)?;
    dict.set_item("operations", effort.operations)?;
    Ok(dict)
}

fn exception(py: Python<'_>, failed: revm::context::result::ExecutionResult) -> PyResult<Bound<'_, PyAny>> {
    match output(py, failed) {
        Ok(_) => Err(PyRuntimeError::new_err("a call that succeeded was taken for a failed one")),
        Err(error) => Ok(error.into_value(py).into_bound(py).into_any()),
    }
}
