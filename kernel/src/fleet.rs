//! Many rows over one frozen world, stepped in one call on all cores.

use std::{collections::BTreeSet, sync::Arc};

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyIndexError, PyRuntimeError, PyValueError},
    prelude::*,
};
use rayon::prelude::*;

use crate::{
    evm::Evm,
    identity::identity,
    machine::{Failure, Settings, with_row},
    overlay::Row,
    portable::word_to_float,
    program::Program,
    world::World,
};

/// How often a thread comes back for more rows: often enough that none waits long for another at the end of a step,
/// whichever rows have the most to do, and seldom enough to not matter.
const TURNS: usize = 256;

/// N independent courses of events over one world.
#[pyclass(module = "mayavi._kernel")]
pub struct Fleet {
    world: Arc<World>,
    settings: Settings,
    initial: Row,
    rows: Vec<Row>,
    /// The threads of the last run, and a world for each of them.
    pool: Option<(rayon::ThreadPool, Vec<Arc<World>>)>,
}

impl Fleet {
    fn check(&self, row: usize) -> PyResult<()> {
        if row < self.rows.len() {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("row {row} is not one of {}", self.rows.len())))
    }

    fn prepare_pool(&mut self, threads: usize) -> PyResult<()> {
        if self.pool.as_ref().is_some_and(|(_, worlds)| worlds.len() == threads) {
            return Ok(());
        }
        let worlds: Result<Vec<_>, _> = (0..threads).map(|_| self.world.isolated()).collect();
        let worlds = worlds.map_err(PyRuntimeError::new_err)?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("mayavi-{i}"))
            .build()
            .map_err(|error| PyRuntimeError::new_err(format!("no threads: {error}")))?;
        self.pool = Some((pool, worlds));
        Ok(())
    }
}

#[pymethods]
impl Fleet {
    /// Rows that all begin where `evm` stands now. Later changes of `evm` do not reach them.
    #[new]
    fn new(evm: &Evm, rows: usize) -> PyResult<Self> {
        if rows == 0 {
            return Err(PyValueError::new_err("a fleet has at least one row"));
        }
        let initial = evm.row.twin();
        let rows = vec![initial.clone(); rows];
        Ok(Self { world: Arc::clone(&evm.world), settings: evm.settings, initial, rows, pool: None })
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Run a program on every row, or on `only` those, in ascending order. `inputs` is (rows, inputs, 32) bytes, one
    /// entry for each row that runs; the result is (rows, outputs, 32), and the same as (rows, outputs) floats: made by
    /// the thread that has just written the words, for whom they are near.
    ///
    /// All or nothing: where one row misses state or gets an impossible input, every row is put back as it was.
    /// What is missing is told of all rows together; with `probe` each tells whatever its transaction missed, not the
    /// first alone.
    #[pyo3(signature = (program, inputs, threads=1, probe=false, only=None))]
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        program: PyRef<'py, Program>,
        inputs: PyReadonlyArray3<'py, u8>,
        threads: usize,
        probe: bool,
        only: Option<Vec<usize>>,
    ) -> PyResult<(Bound<'py, PyArray3<u8>>, Bound<'py, PyArray2<f64>>)> {
        if let Some(only) = &only {
            only.iter().try_for_each(|row| self.check(*row))?;
            if only.is_empty() || !only.is_sorted_by(|one, next| one < next) {
                return Err(PyValueError::new_err("the rows to run are named in ascending order, each once"));
            }
        }
        let (rows, wanted) = (only.as_ref().map_or(self.rows.len(), Vec::len), program.input_count());
        if inputs.shape() != [rows, wanted, 32] {
            return Err(PyValueError::new_err(format!(
                "inputs have shape {:?}, the program wants ({rows}, {wanted}, 32)",
                inputs.shape()
            )));
        }
        if threads == 0 {
            return Err(PyValueError::new_err("at least one thread is needed"));
        }
        // Of few rows a pool for all has threads to spare; another one each time would cost more than they do.
        let threads = threads.min(self.rows.len());
        if threads > 1 {
            self.prepare_pool(threads)?;
        }
        let given = inputs.as_slice().map_err(|_| PyValueError::new_err("inputs must be contiguous"))?;
        let (in_width, width) = (wanted * 32, program.output_count());
        let outputs = PyArray3::<u8>::zeros(py, [rows, width, 32], false);
        let floats = PyArray2::<f64>::zeros(py, [rows, width], false);
        // SAFETY: the arrays were made just above and nobody else has seen them.
        let taken = unsafe { (outputs.as_slice_mut(), floats.as_slice_mut()) };
        let (Ok(words), Ok(rounded)) = taken else {
            return Err(PyRuntimeError::new_err("outputs are not contiguous"));
        };
        let (words, _) = words.as_chunks_mut::<32>();

        let program = &*program;
        let Self { world, settings, rows, pool, .. } = self;
        let mut rows: Vec<&mut Row> = match &only {
            None => rows.iter_mut().collect(),
            Some(only) => named(rows, only),
        };
        let chunk = (rows.len() / (threads * TURNS)).max(1);
        let chunks = rows.len().div_ceil(chunk);
        let failed = py.detach(|| {
            let mut jobs: Vec<_> = rows
                .chunks_mut(chunk)
                .enumerate()
                .zip(split_mut(words, chunk * width, chunks).into_iter().zip(split_mut(rounded, chunk * width, chunks)))
                .map(|((index, rows), (words, rounded))| Job { first: index * chunk, rows, words, rounded })
                .collect();
            let step = |world: &Arc<World>, job: &mut Job<'_, '_>| -> Vec<(usize, Failure)> {
                let mut registers = Vec::new();
                let mut failures = Vec::new();
                for (i, row) in job.rows.iter_mut().enumerate() {
                    let at = job.first + i;
                    let inputs = &given[at * in_width..(at + 1) * in_width];
                    let outputs = &mut job.words[i * width..(i + 1) * width];
                    row.overlay.snapshot(&row.block);
                    let result = with_row(world, row, settings, probe, |machine, block| {
                        program.run(machine, block, inputs, &mut registers, outputs.as_flattened_mut())
                    });
                    for (float, word) in job.rounded[i * width..].iter_mut().zip(outputs) {
                        *float = word_to_float(word);
                    }
                    if let Err(failure) = result {
                        failures.push((at, failure));
                    }
                }
                failures
            };
            let mut failures: Vec<(usize, Failure)> = match pool {
                Some((pool, worlds)) if threads > 1 => pool.install(|| {
                    let own = || &worlds[rayon::current_thread_index().unwrap_or(0)];
                    jobs.par_iter_mut().with_max_len(1).flat_map_iter(|job| step(own(), job)).collect()
                }),
                _ => jobs.iter_mut().flat_map(|job| step(world, job)).collect(),
            };
            drop(jobs);
            failures.sort_unstable_by_key(|(row, _)| *row);
            let failed = first_with_all_misses(failures);
            let close = |row: &mut &mut Row| {
                let Some(mark) = row.overlay.last_snapshot() else { return };
                if failed.is_none() {
                    row.overlay.release(mark);
                } else if let Some(block) = row.overlay.revert(mark) {
                    row.block = block;
                }
            };
            match pool {
                Some((pool, _)) if threads > 1 => pool.install(|| rows.par_iter_mut().for_each(close)),
                _ => rows.iter_mut().for_each(close),
            }
            failed
        });
        match failed {
            None => Ok((outputs, floats)),
            Some((at, failure)) => {
                let row = only.map_or(at, |only| only[at]);
                let error = failure.into_python(py);
                let _ = error.value(py).call_method1("add_note", (format!("in row {row}; all rows are as before"),));
                Err(error)
            }
        }
    }

    /// Put rows back to where they began; all of them where none are named.
    #[pyo3(signature = (rows=None))]
    fn reset(&mut self, py: Python<'_>, rows: Option<Vec<usize>>) -> PyResult<()> {
        let mut which = rows.unwrap_or_else(|| (0..self.rows.len()).collect());
        which.iter().try_for_each(|row| self.check(*row))?;
        which.sort_unstable();
        which.dedup();
        let Self { rows, initial, pool, .. } = self;
        let mut rows = named(rows, &which);
        let renew = |row: &mut &mut Row| row.clone_from(initial);
        py.detach(|| match pool {
            Some((pool, _)) if rows.len() > 1 => pool.install(|| rows.par_iter_mut().for_each(renew)),
            _ => rows.iter_mut().for_each(renew),
        });
        Ok(())
    }

    /// An `Evm` that stands where the row stands.
    fn evm(&self, row: usize) -> PyResult<Evm> {
        self.check(row)?;
        Ok(Evm { world: Arc::clone(&self.world), row: self.rows[row].twin(), settings: self.settings, probe: false })
    }

    /// Put a row where `evm` stands; it must be over the same world.
    fn set_row(&mut self, row: usize, evm: &Evm) -> PyResult<()> {
        self.check(row)?;
        if !Arc::ptr_eq(&self.world, &evm.world) {
            return Err(PyValueError::new_err("the evm stands on another world than this fleet"));
        }
        self.rows[row] = evm.row.twin();
        Ok(())
    }

    /// Put row `to` where row `source` stands.
    fn copy_row(&mut self, source: usize, to: usize) -> PyResult<()> {
        self.check(source)?;
        self.check(to)?;
        self.rows[to] = self.rows[source].twin();
        Ok(())
    }

    /// One hash for each of `rows`, the same where rows stand at the same state: (rows, 32) bytes.
    fn identities<'py>(&self, py: Python<'py>, rows: Vec<usize>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        rows.iter().try_for_each(|row| self.check(*row))?;
        let hashes: Vec<u8> = py.detach(|| {
            let of = |row: &usize| identity(&self.world, &self.rows[*row]);
            match &self.pool {
                Some((pool, _)) => pool.install(|| rows.par_iter().flat_map_iter(of).collect()),
                None => rows.iter().flat_map(of).collect(),
            }
        });
        PyArray1::from_vec(py, hashes).reshape([rows.len(), 32])
    }

    /// Bytes held by each row.
    fn memory(&self) -> Vec<usize> {
        self.rows.iter().map(|row| size_of::<Row>() + row.overlay.memory()).collect()
    }
}

/// Those of `rows` whose numbers are given, in ascending order.
fn named<'a>(rows: &'a mut [Row], numbers: &[usize]) -> Vec<&'a mut Row> {
    let mut numbers = numbers.iter().peekable();
    let found = rows.iter_mut().enumerate().filter(|(at, _)| numbers.next_if_eq(&at).is_some());
    found.map(|(_, row)| row).collect()
}

/// The failure of the first row; where that is missing state, with what the other rows miss besides.
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

/// Rows that a thread takes at once, and where their outputs go.
struct Job<'a, 'row> {
    first: usize,
    rows: &'a mut [&'row mut Row],
    words: &'a mut [[u8; 32]],
    rounded: &'a mut [f64],
}

/// As many mutable pieces as there are chunks of rows, empty ones where a program has no outputs.
fn split_mut<T>(whole: &mut [T], size: usize, chunks: usize) -> Vec<&mut [T]> {
    if size == 0 {
        return (0..chunks).map(|_| Default::default()).collect();
    }
    whole.chunks_mut(size).collect()
}
