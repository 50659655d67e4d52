//! Many rows over one frozen world, stepped in one call on all cores.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use numpy::{PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyIndexError, PyRuntimeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict},
};

use super::{
    crew::Crew,
    float_arrays::{self, Array, Piece},
    job::{Job, Work},
    program::Program,
};
use revm::context::BlockEnv;

use crate::{
    evm::Evm,
    machine::{Failure, Settings},
    specialise::{Fault, Mode, SelfCheck, SiteStatistics, Specialiser, finish_compiling},
    stopwatch::Stopwatch,
    storage::{
        identity::identity,
        overlay::{Overlay, Row},
        world::World,
    },
};

/// How often a thread comes back for more rows: often enough that none waits long for another at the end of a step,
/// whichever rows have the most to do, and seldom enough to not matter.
const TURNS: usize = 256;

/// The same where transactions are replayed.
const REPLAY_TURNS: usize = 16;
/// Replayed rows that a thread takes at once, at least: what it has at hand for them takes as long to set up as a row.
const FEWEST_REPLAYED: usize = 32;

/// Words as bytes and as floats, and arrays of floats.
type Outputs<'py> = (Bound<'py, PyArray3<u8>>, Bound<'py, PyArray2<f64>>, Vec<Bound<'py, PyAny>>);

/// Independent copies of one world.
#[pyclass(module = "mayavi._kernel")]
pub struct Fleet {
    world: Arc<World>,
    settings: Settings,
    initial: Row,
    rows: Vec<Row>,
    /// The threads of the last run.
    crew: Crew,
    /// Known paths of transactions; none where every transaction is interpreted.
    specialiser: Option<Specialiser>,
    self_check: SelfCheck,
}

impl Fleet {
    pub fn check(&self, row: usize) -> PyResult<()> {
        if row < self.rows.len() {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("row {row} is not one of {}", self.rows.len())))
    }

    /// Its known paths; none where every transaction is interpreted.
    pub fn specialiser(&self) -> Option<&Specialiser> {
        self.specialiser.as_ref()
    }

    /// What reading and writing its rows needs.
    pub fn parts(&mut self) -> (&Arc<World>, &Settings, &mut [Row], Option<&Specialiser>) {
        (&self.world, &self.settings, &mut self.rows, self.specialiser.as_ref())
    }

    /// Have all threads work on some rows of this fleet, each named once, with the others at hand.
    pub fn share<J: Send>(
        &mut self,
        numbers: &[usize],
        jobs: Vec<J>,
        work: impl Fn(&Arc<World>, &Settings, &[Row], &mut Row, &mut J) -> Result<(), Failure> + Sync,
    ) -> Result<Vec<J>, Failure> {
        let nowhere = || Row { overlay: Overlay::default(), block: BlockEnv::default() };
        let taken = numbers.iter().map(|number| std::mem::replace(&mut self.rows[*number], nowhere()));
        let mut shared: Vec<_> = taken.zip(jobs).map(|(row, job)| (row, job, Ok(()))).collect();
        let (others, settings) = (&self.rows, &self.settings);
        self.crew.share(&mut shared, |world, (row, job, done)| *done = work(world, settings, others, row, job));
        let (mut all, mut failed) = (Vec::new(), Ok(()));
        for (number, (row, job, done)) in numbers.iter().zip(shared) {
            self.rows[*number] = row;
            all.push(job);
            failed = failed.and(done);
        }
        failed.map(|()| all)
    }

    /// Provide `threads` threads; reuses those of the last run if the number is equal.
    fn prepare_crew(&mut self, threads: usize) -> PyResult<()> {
        if self.crew.threads() != threads {
            let crew = if threads == 1 { Ok(Crew::alone(&self.world)) } else { Crew::of(&self.world, threads) };
            self.crew = crew.map_err(PyRuntimeError::new_err)?;
        }
        Ok(())
    }
}

#[pymethods]
impl Fleet {
    /// Rows that start at the current state of `evm`. Later changes of `evm` do not reach them.
    ///
    /// `specialise` is `off`, `on` or `check`. A `fault` spoils recordings, so that a test can see it found: `guard`,
    /// `program guard` or `program write`.
    #[new]
    #[pyo3(signature = (evm, rows, specialise="off", fault=None))]
    fn new(evm: &Evm, rows: usize, specialise: &str, fault: Option<&str>) -> PyResult<Self> {
        if rows == 0 {
            return Err(PyValueError::new_err("a fleet has at least one row"));
        }
        let mode = Mode::parse(specialise).map_err(PyValueError::new_err)?;
        let fault = fault.map(Fault::parse).transpose().map_err(PyValueError::new_err)?;
        let initial = evm.row.twin();
        let specialiser = mode.and_then(|mode| Specialiser::new(mode, &evm.settings, &initial.block, fault));
        let rows = vec![initial.clone(); rows];
        let world = Arc::clone(&evm.world);
        Ok(Self {
            crew: Crew::alone(&world),
            world,
            settings: evm.settings,
            initial,
            rows,
            specialiser,
            self_check: evm.self_check,
        })
    }

    /// Let the replays that are interpreted too follow from this seed.
    fn seed_self_check(&mut self, seed: u64) {
        self.self_check = SelfCheck::new(seed);
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Run a program on every row, or on `only` those, in ascending order. `inputs` is (rows, inputs, 32) bytes, one
    /// entry for each row that runs, and `floats` the arrays of its float inputs. The result is (rows, outputs, 32)
    /// bytes and (rows, outputs) floats, converted by the thread that has just written the words and has them in its
    /// cache, then the arrays of its float outputs.
    ///
    /// All or nothing: if one row misses state or gets an impossible input, every row is restored. The error lists the
    /// missing state of all rows; with `probe`, all of each row's transaction instead of the first item.
    #[pyo3(signature = (program, inputs, threads=1, probe=false, only=None, floats=Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "what a run needs")]
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        program: PyRef<'py, Program>,
        inputs: PyReadonlyArray3<'py, u8>,
        threads: usize,
        probe: bool,
        only: Option<Vec<usize>>,
        floats: Vec<PyReadonlyArray2<'py, f64>>,
    ) -> PyResult<Outputs<'py>> {
        if let Some(only) = &only {
            only.iter().try_for_each(|row| self.check(*row))?;
            if only.is_empty() || !only.is_sorted_by(|one, next| one < next) {
                return Err(PyValueError::new_err("the rows to run are named in ascending order, each once"));
            }
        }
        let (rows, wanted) = (only.as_ref().map_or(self.rows.len(), Vec::len), program.word_inputs().len());
        if inputs.shape() != [rows, wanted, 32] {
            return Err(PyValueError::new_err(format!(
                "inputs have shape {:?}, the program wants ({rows}, {wanted}, 32)",
                inputs.shape()
            )));
        }
        if threads == 0 {
            return Err(PyValueError::new_err("at least one thread is needed"));
        }
        // All of them also where few rows run: other threads each time would cost more than idle ones do.
        let threads = threads.min(self.rows.len());
        self.prepare_crew(threads)?;
        let given = inputs.as_slice().map_err(|_| PyValueError::new_err("inputs must be contiguous"))?;
        let (given, _) = given.as_chunks::<32>();
        let (word_inputs, word_outputs) = (program.word_inputs(), program.word_outputs());
        let (width, float_inputs) = (word_outputs.len(), float_arrays::taken(&program, &floats, rows)?);
        let outputs = PyArray3::<u8>::zeros(py, [rows, width, 32], false);
        let floats = PyArray2::<f64>::zeros(py, [rows, width], false);
        let arrays: Vec<Array> = program.float_outputs().iter().map(|block| Array::new(py, rows, block)).collect();
        // SAFETY: the arrays were made just above and nothing else refers to them.
        let taken = unsafe { (outputs.as_slice_mut(), floats.as_slice_mut()) };
        let (Ok(words), Ok(rounded)) = taken else {
            return Err(PyRuntimeError::new_err("outputs are not contiguous"));
        };
        let (words, _) = words.as_chunks_mut::<32>();

        let program = &*program;
        let (first_run, self_check) = (self.self_check.next(rows), self.self_check);
        let Self { world, settings, rows, crew, specialiser, .. } = self;
        // A probe wants everything that is missing, and a replay stops at the first of it.
        let specialiser = specialiser.as_ref().filter(|_| !probe);
        let mut rows: Vec<&mut Row> = match &only {
            None => rows.iter_mut().collect(),
            Some(only) => named(rows, only),
        };
        // A replay is short: what a thread has at hand for it should serve several rows.
        let (turns, fewest) = match specialiser {
            _ if threads == 1 => (1, 1),
            Some(_) => (REPLAY_TURNS, FEWEST_REPLAYED),
            None => (TURNS, 1),
        };
        let chunk = (rows.len() / (threads * turns)).max(fewest);
        let chunks = rows.len().div_ceil(chunk);
        let mut pieces: Vec<Vec<Piece>> = (0..chunks).map(|_| Vec::new()).collect();
        for (array, block) in arrays.iter().zip(program.float_outputs()) {
            // SAFETY: as above.
            let parts = unsafe { array.pieces(block, chunk) }?;
            pieces.iter_mut().zip(parts).for_each(|(all, part)| all.push(part));
        }
        let work = Work {
            program,
            settings,
            specialiser,
            probe,
            words: given,
            floats: &float_inputs,
            word_inputs,
            word_outputs,
            self_check,
            first_run,
            failures: Mutex::default(),
        };
        let failed = py.detach(|| {
            let mut jobs: Vec<_> = rows
                .chunks_mut(chunk)
                .enumerate()
                .zip(split_mut(words, chunk * width, chunks).into_iter().zip(split_mut(rounded, chunk * width, chunks)))
                .zip(pieces)
                .map(|(((index, rows), (words, rounded)), pieces)| Job {
                    first: index * chunk,
                    rows,
                    words,
                    rounded,
                    pieces,
                })
                .collect();
            match specialiser {
                Some(_) => crew.share_if_long(&mut jobs, |world, job| work.run(world, job)),
                None => crew.share(&mut jobs, |world, job| work.run(world, job)),
            }
            drop(jobs);
            let mut failures = work.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
            failures.sort_unstable_by_key(|(row, _)| *row);
            let mut failed = first_with_all_misses(failures);
            if failed.is_some() {
                rows.iter_mut().for_each(|row| row.take_run_back());
            }
            if let Some((at, Failure::Differs(difference))) = &mut failed {
                difference.at_least_on(world, rows[*at], settings);
            }
            failed
        });
        match failed {
            None => Ok((outputs, floats, arrays.into_iter().map(Array::into_any).collect())),
            Some((at, failure)) => {
                let row = only.map_or(at, |only| only[at]);
                let error = failure.into_python(py);
                let _ = error.value(py).call_method1("add_note", (format!("in row {row}; all rows are as before"),));
                Err(error)
            }
        }
    }

    /// Reset rows to their initial state; all of them by default.
    #[pyo3(signature = (rows=None))]
    fn reset(&mut self, py: Python<'_>, rows: Option<Vec<usize>>) -> PyResult<()> {
        let mut which = rows.unwrap_or_else(|| (0..self.rows.len()).collect());
        which.iter().try_for_each(|row| self.check(*row))?;
        which.sort_unstable();
        which.dedup();
        let Self { rows, initial, crew, world, settings, specialiser, .. } = self;
        if let Some(specialiser) = specialiser {
            specialiser.learn(world, initial, settings);
        }
        py.detach(|| crew.share(&mut named(rows, &which), |_, row| row.set_to(initial)));
        Ok(())
    }

    /// An `Evm` with the state of the row.
    fn evm(&self, row: usize) -> PyResult<Evm> {
        self.check(row)?;
        Ok(Evm {
            world: Arc::clone(&self.world),
            row: self.rows[row].twin(),
            settings: self.settings,
            probe: false,
            stopwatch: Stopwatch::default(),
            specialise: None,
            self_check: self.self_check,
            shares: false,
        })
    }

    /// Set a row to the state of `evm`, which must be over the same world.
    fn set_row(&mut self, row: usize, evm: &Evm) -> PyResult<()> {
        self.check(row)?;
        if !Arc::ptr_eq(&self.world, &evm.world) {
            return Err(PyValueError::new_err("the evm stands on another world than this fleet"));
        }
        self.rows[row] = evm.row.twin();
        if let Some(specialiser) = &self.specialiser {
            specialiser.replaced(&self.world, &self.initial.overlay, &self.rows[row].overlay);
        }
        Ok(())
    }

    /// Copy the state of row `source` to row `to`.
    fn copy_row(&mut self, source: usize, to: usize) -> PyResult<()> {
        self.check(source)?;
        self.check(to)?;
        self.rows[to] = self.rows[source].twin();
        Ok(())
    }

    /// One hash for each of `rows`, equal for equal states: (rows, 32) bytes.
    fn identities<'py>(&mut self, py: Python<'py>, rows: Vec<usize>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        rows.iter().try_for_each(|row| self.check(*row))?;
        rows.iter().for_each(|row| self.rows[*row].overlay.flush());
        let hashes = PyArray2::<u8>::zeros(py, [rows.len(), 32], false);
        // SAFETY: the array was made a line above and nothing else refers to it.
        let taken = unsafe { hashes.as_slice_mut() }.map_err(|_| PyRuntimeError::new_err("hashes not contiguous"))?;
        let mut jobs: Vec<_> = rows.iter().zip(taken.chunks_mut(32)).collect();
        py.detach(|| {
            self.crew.share(&mut jobs, |_, (row, hash)| {
                hash.copy_from_slice(&identity(&self.world, &self.rows[**row]));
            });
        });
        Ok(hashes)
    }

    /// Counts of each call site whose transactions may be replayed.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let sites = self.specialiser.as_ref().map(Specialiser::statistics).unwrap_or_default();
        sites.into_iter().map(|site| site.into_python(py)).collect()
    }

    /// Counts of each program whose rows may be replayed as a whole.
    fn program_statistics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let programs = self.specialiser.as_ref().map(Specialiser::program_statistics).unwrap_or_default();
        let into = |(program, counts): (u64, SiteStatistics)| {
            let counts = counts.into_python(py)?;
            counts.set_item("program", program)?;
            ["to", "sender", "selector"].into_iter().try_for_each(|name| counts.del_item(name))?;
            Ok(counts)
        };
        programs.into_iter().map(into).collect()
    }

    /// Recorded paths of each call site, of one selector if it is given: opcodes, operations, guards and where they are from.
    #[pyo3(signature = (selector=None))]
    fn paths<'py>(&self, py: Python<'py>, selector: Option<[u8; 4]>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let Some(specialiser) = &self.specialiser else { return Ok(Vec::new()) };
        let sites = py.detach(|| specialiser.show(selector));
        sites.into_iter().map(|site| site.into_python(py)).collect()
    }

    /// Recorded paths as bytes, for another fleet over the same state; none where nothing is replayed.
    fn save_paths<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(specialiser) = &self.specialiser else { return Ok(None) };
        let bytes = py.detach(|| specialiser.save()).map_err(PyValueError::new_err)?;
        Ok(Some(PyBytes::new(py, &bytes)))
    }

    /// Take up paths of another fleet over the same state, as its calls come up; how many there are.
    fn load_paths(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<usize> {
        let Some(specialiser) = &self.specialiser else { return Ok(0) };
        py.detach(|| specialiser.load(bytes)).map_err(PyValueError::new_err)
    }

    /// Wait until all paths that are taken often are compiled; steps never wait for that.
    fn finish_compiling(&self, py: Python<'_>) {
        py.detach(finish_compiling);
    }

    /// Record every path of programs from now on, at whatever cost, and make no machine code of them: a device does.
    fn record_all_paths(&self) {
        self.specialiser.iter().for_each(Specialiser::be_thorough);
    }

    /// Bytes held by each row.
    fn memory(&self) -> Vec<usize> {
        self.rows.iter().map(|row| size_of::<Row>() + row.overlay.memory()).collect()
    }
}

/// Those of `rows` whose numbers are given, in ascending order.
fn named<'a>(rows: &'a mut [Row], numbers: &[usize]) -> Vec<&'a mut Row> {
    let (mut rest, mut passed) = (rows, 0);
    let mut found = Vec::with_capacity(numbers.len());
    for number in numbers {
        let Some((row, after)) = rest.get_mut(number - passed..).and_then(<[Row]>::split_first_mut) else { break };
        found.push(row);
        (rest, passed) = (after, number + 1);
    }
    found
}

/// The failure of the first row; missing state is extended by that of the other rows.
fn first_with_all_misses(failures: Vec<(usize, Failure)>) -> Option<(usize, Failure)> {
    let mut failures = failures.into_iter();
    let (row, first) = failures.next()?;
    let Failure::Missing(mut misses) = first else { return Some((row, first)) };
    let mut others = BTreeSet::new();
    for (_, failure) in failures {
        if let Failure::Missing(more) = failure {
            others.extend(more);
        }
    }
    for known in &misses {
        others.remove(known);
    }
    misses.extend(others);
    Some((row, Failure::Missing(misses)))
}

/// As many mutable pieces as there are chunks of rows, empty ones where a program has no outputs.
fn split_mut<T>(whole: &mut [T], size: usize, chunks: usize) -> Vec<&mut [T]> {
    if size == 0 {
        return (0..chunks).map(|_| Default::default()).collect();
    }
    whole.chunks_mut(size).collect()
}
