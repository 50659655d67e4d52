//! Devices seen from Python.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{
    create_exception,
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use revm::primitives::U256;

use super::{
    Device, describe,
    job::{Job, Table},
};
use crate::native::{
    binding::NativeBuilder,
    ptx::{Program, Sum, weight},
    ssa::{likely::likely_bounds, plan::Plan},
};

create_exception!(mayavi._kernel, DeviceError, PyRuntimeError, "A device that is not there, or cannot do this.");

/// The driver's version and the devices: name, bytes of memory, version of their instructions.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn cuda_devices() -> PyResult<((i32, i32), Vec<(String, usize, (i32, i32))>)> {
    let (version, devices) = describe().map_err(DeviceError::new_err)?;
    Ok((version, devices.into_iter().map(|device| (device.name, device.memory, device.capability)).collect()))
}

/// Open a device and let it go again; an error says why that is not possible.
#[pyfunction]
pub fn open_device(name: &str) -> PyResult<()> {
    Device::open(name).map(drop).map_err(DeviceError::new_err)
}

/// Compile a kernel of this name. The driver keeps what it compiled on disk, for other processes too.
#[pyfunction]
pub fn compile_kernel(py: Python<'_>, text: &str, kernel: &str, device: &str) -> PyResult<()> {
    py.detach(|| Device::open(device)?.compile(text, kernel)).map_err(DeviceError::new_err)
}

/// What a limb of the outputs is multiplied with in a row's digest; without one, what the row's digest is.
#[pyfunction]
#[pyo3(signature = (limb=None))]
pub fn digest_weight(limb: Option<u32>) -> u64 {
    weight(limb.unwrap_or(u32::MAX))
}

/// A function over words as PTX.
#[pyclass(module = "mayavi._kernel", frozen)]
pub struct DeviceCode {
    program: Program,
    scenario_words: Vec<u32>,
    inputs: usize,
    outputs: usize,
}

#[pymethods]
impl NativeBuilder {
    /// PTX of what was built so far. `scenario`: inputs that differ between scenarios, all others between accounts.
    /// `sums`: outputs to be added up, and how many limbs each sum has.
    #[pyo3(signature = (scenario=Vec::new(), sums=Vec::new(), sample=None))]
    fn device(
        &self,
        scenario: Vec<u32>,
        sums: Vec<(usize, usize)>,
        sample: Option<PyReadonlyArray2<'_, u64>>,
    ) -> PyResult<DeviceCode> {
        let function = self.function();
        let (inputs, outputs) = (function.input_words(), function.outputs.len());
        if let Some((output, limbs)) =
            sums.iter().find(|(output, limbs)| *output >= outputs || !(1..=4).contains(limbs))
        {
            return Err(PyValueError::new_err(format!(
                "a sum of {limbs} limbs of output {output}; there are {outputs} outputs of 1 to 4 limbs"
            )));
        }
        let rows: Vec<Vec<U256>> = match &sample {
            Some(rows) if rows.shape()[1] >= 4 * inputs => {
                let width = rows.shape()[1].max(4);
                let words = |row: &[u64]| row.chunks_exact(4).map(U256::from_limbs_slice).collect();
                rows.as_slice()?.chunks_exact(width).map(words).collect()
            }
            Some(_) => return Err(PyValueError::new_err(format!("rows of at least {inputs} words are needed"))),
            None => Vec::new(),
        };
        let malformed = |error: String| PyValueError::new_err(error);
        let plan =
            Plan::new(function, &likely_bounds(function, &rows)).map_err(|error| malformed(error.to_string()))?;
        let sums: Vec<Sum> = sums.into_iter().map(|(output, limbs)| Sum { output, limbs }).collect();
        let program = Program::new(&plan, &scenario, &sums).map_err(|error| malformed(error.to_string()))?;
        Ok(DeviceCode { program, scenario_words: scenario, inputs, outputs })
    }
}

/// Flags and outputs of rows, and what the run took.
type Found<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray2<u64>>, Bound<'py, PyDict>);
/// Sums by scenario, rows that they lack, how many these are, and what the run took.
type Added<'py> = (Bound<'py, PyArray2<u64>>, Bound<'py, PyArray1<u64>>, u64, Bound<'py, PyDict>);

#[pymethods]
impl DeviceCode {
    /// The kernels as text: the one for rows, and the one that adds up.
    fn ptx(&self) -> (&str, &str) {
        (&self.program.rows, &self.program.reduce)
    }

    /// Compile for a device without running anything.
    #[pyo3(signature = (device="cuda", adding=false))]
    fn load<'py>(&self, py: Python<'py>, device: &str, adding: bool) -> PyResult<Bound<'py, PyDict>> {
        let opened: Result<Took, String> = py.detach(|| {
            let mut device = Device::open(device)?;
            if let Device::Cuda(cuda) = &mut device {
                let (text, name) = if adding { (&self.program.reduce, "reduce") } else { (&self.program.rows, "rows") };
                cuda.compile(text, name)?;
            }
            Ok(Took::of(&device))
        });
        opened.map_err(DeviceError::new_err)?.into_python(py)
    }

    /// Run every account under every scenario, those of the first scenario first.
    #[pyo3(signature = (accounts, scenarios=None, device="cuda", repeats=1))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        accounts: PyReadonlyArray2<'py, u64>,
        scenarios: Option<PyReadonlyArray2<'py, u64>>,
        device: &str,
        repeats: usize,
    ) -> PyResult<Found<'py>> {
        let job = self.job(&accounts, scenarios.as_ref())?;
        let width = 4 * self.outputs;
        let rows = job.accounts.count * job.scenarios.count;
        let (flags, found, took) = py
            .detach(|| {
                let mut device = Device::open(device)?;
                let (flags, found) = job.rows(&mut device, repeats, width)?;
                Ok::<_, String>((flags, found, Took::of(&device)))
            })
            .map_err(DeviceError::new_err)?;
        let found = PyArray1::from_vec(py, found).reshape([rows, width])?;
        Ok((PyArray1::from_vec(py, flags), found, took.into_python(py)?))
    }

    /// Add up over accounts: for each scenario the accepted rows, their digest and the limbs of each sum. Rows whose
    /// guards fail are `named`: scenario · accounts + account.
    #[pyo3(signature = (accounts, scenarios, device="cuda", named=true))]
    fn reduce<'py>(
        &self,
        py: Python<'py>,
        accounts: PyReadonlyArray2<'py, u64>,
        scenarios: PyReadonlyArray2<'py, u64>,
        device: &str,
        named: bool,
    ) -> PyResult<Added<'py>> {
        let job = self.job(&accounts, Some(&scenarios))?;
        let count = job.scenarios.count;
        let (totals, took) = py
            .detach(|| {
                let mut device = Device::open(device)?;
                let totals = job.totals(&mut device, named)?;
                Ok::<_, String>((totals, Took::of(&device)))
            })
            .map_err(DeviceError::new_err)?;
        let planes = PyArray1::from_vec(py, totals.planes).reshape([2 + self.sum_limbs(), count])?;
        Ok((planes, PyArray1::from_vec(py, totals.failed), totals.failures, took.into_python(py)?))
    }
}

impl DeviceCode {
    fn sum_limbs(&self) -> usize {
        self.program.sums.iter().map(|sum| sum.limbs).sum()
    }

    fn job<'a>(
        &'a self,
        accounts: &'a PyReadonlyArray2<'_, u64>,
        scenarios: Option<&'a PyReadonlyArray2<'_, u64>>,
    ) -> PyResult<Job<'a>> {
        let table = |rows: &'a PyReadonlyArray2<'_, u64>, words: usize, what: &str| {
            let [count, width] = [rows.shape()[0], rows.shape()[1]];
            if width < 4 * words || count == 0 {
                return Err(PyValueError::new_err(format!(
                    "{what}: rows of {words} words are needed, got {count} of {width} limbs"
                )));
            }
            Ok(Table { limbs: rows.as_slice()?, width, count })
        };
        let accounts = table(accounts, self.inputs, "accounts")?;
        let scenarios = match scenarios {
            Some(rows) => table(rows, self.scenario_words.len(), "scenarios")?,
            None if self.scenario_words.is_empty() => Table { limbs: &[], width: 0, count: 1 },
            None => return Err(PyValueError::new_err("scenarios are needed: some inputs differ between them")),
        };
        Ok(Job { program: &self.program, scenario_words: &self.scenario_words, accounts, scenarios })
    }
}

/// What a run took: seconds of the driver's compiler and of the kernels, and what the kernel uses.
#[derive(Default)]
pub struct Took {
    compiled: f64,
    ran: f64,
    registers: i32,
    local_bytes: i32,
}

impl Took {
    pub fn of(device: &Device) -> Self {
        let Device::Cuda(cuda) = device else { return Self::default() };
        let kernel = cuda.kernel.map_or((0, 0), |kernel| (kernel.registers, kernel.local_bytes));
        Self { compiled: cuda.compiled, ran: cuda.ran, registers: kernel.0, local_bytes: kernel.1 }
    }

    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let took = PyDict::new(py);
        took.set_item("compiled", self.compiled)?;
        took.set_item("ran", self.ran)?;
        took.set_item("registers", self.registers)?;
        took.set_item("local_bytes", self.local_bytes)?;
        Ok(took)
    }
}
