//! Records a call for many accounts, and says which accounts may take which path.

use std::collections::HashMap;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
};
use revm::{
    context::BlockEnv,
    primitives::{Address, HashSet, U256},
};

use super::{
    call::{Account, Call, Slot},
    function::{Recorded, recorded},
};
use crate::{
    convert::{AddressArg, WordArg},
    evm::{DEFAULT_GAS, Evm},
    machine::{Failure, Machine, Rules, Settings, with_row},
    native::binding::NativeBuilder,
    trace::{End, Fact, Path, Places, Recorder, Replay, Tree, Values, Watch},
};

/// Paths of one recording; accounts on others are left to the processor.
const MOST_PATHS: usize = 1_024;
/// Accounts with the same path that decide whether all of them may take another one.
const DECIDING: usize = 4;

/// Records a call for many accounts under one state after the other: those that scenarios make.
#[pyclass(module = "mayavi._kernel")]
pub struct PathRecorder {
    call: Call,
    changing: HashSet<Slot>,
    tree: Tree,
    watch: Watch,
    places: Places,
    paths: Vec<Recorded>,
    /// The path that ends at a step of the tree.
    ends: HashMap<usize, usize>,
}

impl PathRecorder {
    /// The path of each account in the present state; what is not known yet is recorded.
    fn follow(&mut self, machine: &mut Machine, block: &BlockEnv, words: &[U256]) -> Result<Vec<i32>, Failure> {
        let (mut values, holes) = (Values::default(), self.call.offsets.len());
        let count = words.len().checked_div(holes).unwrap_or(1);
        let mut found = Vec::with_capacity(count);
        for account in 0..count {
            let own = &words[account * holes..][..holes];
            let mut replay = self.replay(&mut values, machine, block, own);
            if matches!(replay, Replay::Unknown(_)) && self.paths.len() < MOST_PATHS {
                self.record(machine, block, own)?;
                replay = self.replay(&mut values, machine, block, own);
            }
            let path = if let Replay::End(step) = replay { self.ends.get(&step) } else { None };
            found.push(path.map_or(-1, |path| *path as i32));
        }
        Ok(found)
    }

    fn replay(&self, values: &mut Values, machine: &mut Machine, block: &BlockEnv, holes: &[U256]) -> Replay {
        let (sender, changing) = (self.call.sender, &self.changing);
        self.tree.replay(values, &mut Account { holes, block, sender, database: machine.database(), changing })
    }

    /// Record one call, and make its path a function where it can be one.
    fn record(&mut self, machine: &mut Machine, block: &BlockEnv, holes: &[U256]) -> Result<(), Failure> {
        let Self { call, tree, watch, places, .. } = self;
        let mut recorder = Recorder::of_transaction(&mut tree.graph, &call.offsets, watch, places);
        let (result, _) = machine.record_transaction(call.transaction(holes), &mut recorder)?;
        let (path, _) = recorder.finish_transaction(&result, Vec::new());
        let Path { guards, end, .. } = path.clone();
        if !tree.insert(path) {
            return Ok(());
        }
        let End::Transaction(ending) = end else { return Ok(()) };
        let made = ending.success.then(|| recorded(call, block, &mut tree.graph, &guards, &ending)).flatten();
        let replay = self.replay(&mut Values::default(), machine, block, holes);
        if let (Some(made), Replay::End(step)) = (made, replay) {
            self.ends.insert(step, self.paths.len());
            self.paths.push(made);
        }
        Ok(())
    }

    /// What an account reads on a path; none where it can never take it.
    fn read(
        &self,
        path: &Recorded,
        values: &mut Values,
        machine: &mut Machine,
        block: &BlockEnv,
        holes: &[U256],
    ) -> bool {
        let (sender, changing, graph) = (self.call.sender, &self.changing, &self.tree.graph);
        let mut account = Account { holes, block, sender, database: machine.database(), changing };
        values.grow(graph);
        path.schedule.iter().all(|node| graph.evaluate(*node, values, &mut account).is_ok())
            && path.deciding.iter().all(|(guard, wanted)| {
                let value = values.get(guard.node);
                *wanted == if guard.only_truth { U256::from(!value.is_zero()) } else { value }
            })
    }

    /// Accounts that may take a path, and what they read on it. `known`: the path of each account in some state;
    /// a few of those with the same path decide for all of them.
    fn candidates(
        &self,
        path: &Recorded,
        machine: &mut Machine,
        block: &BlockEnv,
        (words, known): (&[U256], &[i32]),
    ) -> (Vec<u32>, Vec<u64>) {
        let (mut values, holes) = (Values::default(), self.call.offsets.len());
        let (mut asked, mut fits): (HashMap<i32, usize>, HashSet<i32>) = (HashMap::new(), HashSet::default());
        for (account, class) in known.iter().enumerate() {
            let count = asked.entry(*class).or_default();
            if *count < DECIDING && !fits.contains(class) {
                *count += 1;
                if self.read(path, &mut values, machine, block, &words[account * holes..][..holes]) {
                    fits.insert(*class);
                }
            }
        }
        let (mut accounts, mut limbs) = (Vec::new(), Vec::new());
        for (account, _) in known.iter().enumerate().filter(|(_, class)| fits.contains(*class)) {
            if self.read(path, &mut values, machine, block, &words[account * holes..][..holes]) {
                accounts.push(account as u32);
                path.leaves.iter().for_each(|leaf| limbs.extend_from_slice(values.get(*leaf).as_limbs()));
            }
        }
        (accounts, limbs)
    }

    /// Let `f` read the state of an EVM.
    fn on<R: Send>(
        py: Python<'_>,
        evm: &mut Evm,
        f: impl FnOnce(&mut Machine, &BlockEnv) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let settings = Settings { rules: Rules::SIMULATION, ..evm.settings };
        let Evm { world, row, probe, .. } = evm;
        py.detach(|| {
            with_row(world, row, &settings, *probe, |machine, block| {
                let block = block.clone();
                f(machine, &block)
            })
        })
        .map_err(|failure| failure.into_python(py))
    }

    fn words(&self, words: &PyReadonlyArray3<'_, u8>) -> PyResult<Vec<U256>> {
        if words.shape()[1..] != [self.call.offsets.len(), 32] {
            return Err(PyValueError::new_err(format!("words of {} holes are needed", self.call.offsets.len())));
        }
        Ok(words.as_slice()?.chunks_exact(32).map(U256::from_be_slice).collect())
    }
}

/// The function of a path, the accounts that may take it, what they read (four limbs a word), and the inputs that
/// differ between scenarios with their columns.
type Taken<'py> = (NativeBuilder, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray2<u64>>, Vec<(u32, usize)>);

#[pymethods]
impl PathRecorder {
    /// A call of `to` with holes at `offsets` of `data`, under scenarios that set `slots`, and the time if `timestamp`.
    #[new]
    #[pyo3(signature = (to, data, offsets, slots, returns=None, timestamp=false, sender=None, gas=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        to: AddressArg,
        data: Vec<u8>,
        offsets: Vec<usize>,
        slots: Vec<(AddressArg, WordArg)>,
        returns: Option<usize>,
        timestamp: bool,
        sender: Option<AddressArg>,
        gas: Option<u64>,
    ) -> PyResult<Self> {
        if offsets.iter().any(|offset| offset.checked_add(32).is_none_or(|end| end > data.len())) {
            return Err(PyValueError::new_err("a hole does not fit into the calldata"));
        }
        let slots: Vec<Slot> = slots.into_iter().map(|(account, key)| (account.0, key.0)).collect();
        let watch = Watch::default();
        watch.change(slots.iter().map(|(account, key)| Fact::Slot(*account, *key)));
        Ok(Self {
            changing: slots.iter().copied().collect(),
            call: Call {
                to: to.0,
                sender: sender.map_or(Address::ZERO, |sender| sender.0),
                gas: gas.unwrap_or(DEFAULT_GAS),
                data,
                offsets,
                slots,
                timestamp,
                returns,
            },
            tree: Tree::new(),
            watch,
            places: Places::default(),
            paths: Vec::new(),
            ends: HashMap::new(),
        })
    }

    /// The number of the path that each row of `words`, (rows, holes, 32) bytes, takes in the state of `evm`; -1 where it
    /// is the interpreter's. Paths that are new are recorded.
    fn explore<'py>(
        &mut self,
        py: Python<'py>,
        evm: &mut Evm,
        words: PyReadonlyArray3<'py, u8>,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let words = self.words(&words)?;
        let found = Self::on(py, evm, |machine, block| self.follow(machine, block, &words))?;
        Ok(PyArray1::from_vec(py, found))
    }

    /// Recorded paths.
    fn __len__(&self) -> usize {
        self.paths.len()
    }

    /// A path and the rows that may take it; `known` is what `explore` gave for them.
    fn path<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        evm: &mut Evm,
        words: PyReadonlyArray3<'py, u8>,
        known: PyReadonlyArray1<'py, i32>,
    ) -> PyResult<Taken<'py>> {
        let path = self.paths.get(number).ok_or_else(|| PyIndexError::new_err(format!("no path {number}")))?;
        let (words, known) = (self.words(&words)?, known.as_slice()?.to_vec());
        if known.len() * self.call.offsets.len() != words.len() {
            return Err(PyValueError::new_err("one known path for each row is needed"));
        }
        let (accounts, limbs) =
            Self::on(py, evm, |machine, block| Ok(self.candidates(path, machine, block, (&words, &known))))?;
        let table = PyArray1::from_vec(py, limbs).reshape([accounts.len(), 4 * path.leaves.len()])?;
        let builder = NativeBuilder::of(path.function.clone());
        Ok((builder, PyArray1::from_vec(py, accounts), table, path.scenario.clone()))
    }
}

#[cfg(test)]
mod tests;
