//! A call recorded for many accounts, as functions of what differs between accounts and between scenarios.
//!
//! Scenarios change some slots of the state and the time of the block; everything else is constant. What an account
//! reads of the state is read once, here: after that a function needs no state.

use std::collections::HashMap;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::{exceptions::PyValueError, prelude::*};
use revm::{
    Database,
    context::{BlockEnv, TxEnv},
    primitives::{Address, Bytes, HashSet, TxKind, U256},
};

use crate::{
    convert::{AddressArg, WordArg},
    database::RowDatabase,
    evm::{DEFAULT_GAS, Evm, transaction},
    machine::{Failure, Machine, Rules, Settings, with_row},
    native::{
        binding::NativeBuilder,
        ir::{Function, Node as Operation},
    },
    specialise::Draft,
    trace::{
        BlockField, End, Ending, Expression, Fact, Field, Graph, Node, Part, Path, Places, Recorder, Replay,
        Surroundings, Text, Tree, Unread, Values, Watch, read_account,
    },
};

/// Paths of one recording; accounts on others are left to the processor.
const MOST_PATHS: usize = 1_024;

/// A slot of an account.
type Slot = (Address, U256);

/// A call with holes, and what scenarios change.
struct Call<'a> {
    to: Address,
    sender: Address,
    gas: u64,
    data: &'a [u8],
    offsets: &'a [usize],
    slots: Vec<Slot>,
    /// Whether the time of the block differs too; it is the last column of a scenario.
    timestamp: bool,
    /// Words of the output that are wanted; `None`: all that the call leaves behind.
    returns: Option<usize>,
}

impl Call<'_> {
    fn transaction(&self, holes: &[U256]) -> TxEnv {
        let mut data = self.data.to_vec();
        for (offset, hole) in self.offsets.iter().zip(holes) {
            data[*offset..offset + 32].copy_from_slice(&hole.to_be_bytes::<32>());
        }
        TxEnv {
            caller: self.sender,
            gas_limit: self.gas,
            kind: TxKind::Call(self.to),
            data: Bytes::from(data),
            ..transaction(TxKind::Call(self.to), &[], None, U256::ZERO, None, 0, None, 0)
        }
    }

    /// The column of a scenario that an expression is.
    fn column(&self, expression: &Expression) -> Option<usize> {
        match expression {
            Expression::Place(_, account, key) => self.slots.iter().position(|slot| *slot == (*account, *key)),
            Expression::Block(BlockField::Timestamp) if self.timestamp => Some(self.slots.len()),
            _ => None,
        }
    }
}

/// What an account reads while its path is followed.
struct Account<'a> {
    holes: &'a [U256],
    block: &'a BlockEnv,
    sender: Address,
    database: &'a mut RowDatabase,
    changing: &'a HashSet<Slot>,
}

impl Surroundings for Account<'_> {
    fn input(&self, at: u32) -> U256 {
        self.holes[at as usize]
    }

    fn block(&self, field: BlockField) -> U256 {
        match field {
            BlockField::Timestamp => self.block.timestamp,
            BlockField::Number => self.block.number,
            BlockField::BaseFee => U256::from(self.block.basefee),
        }
    }

    /// A computed slot must not be one that scenarios change: its value here says nothing about theirs.
    fn slot(&mut self, account: Address, key: U256) -> Result<U256, Unread> {
        if self.changing.contains(&(account, key)) {
            return Err(Unread);
        }
        Ok(self.database.storage(account, key)?)
    }

    fn place(&mut self, _number: u32, account: Address, key: U256) -> Result<U256, Unread> {
        Ok(self.database.storage(account, key)?)
    }

    fn account(&mut self, field: Field, address: U256) -> Result<U256, Unread> {
        read_account(field, address, self.sender, self.database)
    }
}

/// A path as a function, and the accounts that take it.
struct Recorded {
    function: Function,
    leaves: Vec<Node>,
    /// Inputs that differ between scenarios, and the column that each is.
    scenario: Vec<(u32, usize)>,
    accounts: Vec<u32>,
    limbs: Vec<u64>,
}

#[derive(Default)]
struct Recording {
    watch: Watch,
    places: Places,
    paths: HashMap<usize, Recorded>,
    /// Steps at the ends of paths in the order in which they came up.
    order: Vec<usize>,
    /// Accounts that no path is recorded for.
    left: Vec<u32>,
}

impl Recording {
    fn follow(&mut self, call: &Call<'_>, machine: &mut Machine, block: &BlockEnv, words: &[U256]) -> Result<(), Failure> {
        self.watch.change(call.slots.iter().map(|(account, key)| Fact::Slot(*account, *key)));
        let changing: HashSet<Slot> = call.slots.iter().copied().collect();
        let (mut tree, mut values) = (Tree::new(), Values::default());
        let holes = call.offsets.len();
        for account in 0..words.len().checked_div(holes).unwrap_or(1) {
            let own = &words[account * holes..][..holes];
            let mut step = self.replay(&tree, &mut values, machine, (call, block, own, &changing));
            if matches!(step, Replay::Unknown(_)) && self.paths.len() < MOST_PATHS {
                let path = self.record(call, machine, &mut tree, own)?;
                step = self.replay(&tree, &mut values, machine, (call, block, own, &changing));
                if let (Some((guards, ending)), Replay::End(step)) = (path, &step)
                    && let Some(recorded) = recorded(call, block, &mut tree.graph, &guards, &ending)
                {
                    values.grow(&tree.graph);
                    self.order.push(*step);
                    self.paths.insert(*step, recorded);
                }
            }
            let found = if let Replay::End(step) = step { self.paths.get_mut(&step) } else { None };
            let Some(path) = found else {
                self.left.push(account as u32);
                continue;
            };
            path.accounts.push(account as u32);
            path.leaves.iter().for_each(|leaf| path.limbs.extend_from_slice(values.get(*leaf).as_limbs()));
        }
        Ok(())
    }

    fn replay(
        &self,
        tree: &Tree,
        values: &mut Values,
        machine: &mut Machine,
        (call, block, holes, changing): (&Call<'_>, &BlockEnv, &[U256], &HashSet<Slot>),
    ) -> Replay {
        let database = machine.database();
        tree.replay(values, &mut Account { holes, block, sender: call.sender, database, changing })
    }

    /// Record one call; its guards and end, if they can be replayed.
    #[allow(clippy::type_complexity)]
    fn record(
        &self,
        call: &Call<'_>,
        machine: &mut Machine,
        tree: &mut Tree,
        holes: &[U256],
    ) -> Result<Option<(Vec<(crate::trace::Guard, U256)>, Ending)>, Failure> {
        let mut recorder = Recorder::of_transaction(&mut tree.graph, call.offsets, &self.watch, &self.places);
        let (result, _) = machine.record_transaction(call.transaction(holes), &mut recorder)?;
        let (path, _) = recorder.finish_transaction(&result, Vec::new());
        let Path { guards, end, .. } = path.clone();
        if !tree.insert(path) {
            return Ok(None);
        }
        Ok(match end {
            End::Transaction(ending) if ending.success => Some((guards, *ending)),
            _ => None,
        })
    }
}

/// A path as a function; none where it cannot be one of accounts and scenarios.
fn recorded(
    call: &Call<'_>,
    block: &BlockEnv,
    graph: &mut Graph,
    guards: &[(crate::trace::Guard, U256)],
    ending: &Ending,
) -> Option<Recorded> {
    let wanted = match call.returns {
        Some(count) => Some(output_words(graph, &ending.output, count)?),
        None => None,
    };
    let ending = match &wanted {
        Some(words) => Ending {
            output: Text {
                bytes: vec![0; 32 * words.len()],
                parts: words.iter().zip(0..).map(|(node, at)| Part { node: *node, from: 0, length: 32, at: 32 * at }).collect(),
            },
            gas: Default::default(),
            writes: Vec::new(),
            logs: Vec::new(),
            touched: Vec::new(),
            ..ending.clone()
        },
        None => ending.clone(),
    };
    let mut results = ending.output.parts.iter().map(|part| part.node).collect::<Vec<_>>();
    results.retain(|node| graph.as_constant(*node).is_none());
    results.sort_unstable();
    results.dedup();
    let (mut function, leaves) = Draft::new(graph, guards, &ending).into_parts();
    if let Some(words) = &wanted {
        let made: Vec<u32> = function.outputs.clone();
        let outputs = words.iter().map(|node| match (graph.as_constant(*node), results.binary_search(node)) {
            (Some(value), _) => {
                function.nodes.push(Operation::Constant(value));
                Some(function.nodes.len() as u32 - 1)
            }
            (None, found) => made.get(found.ok()?).copied(),
        });
        function.outputs = outputs.collect::<Option<Vec<u32>>>()?;
    }
    let mut scenario = Vec::new();
    for (word, leaf) in leaves.iter().enumerate() {
        match (call.column(graph.expression(*leaf)), graph.expression(*leaf)) {
            (Some(column), _) => scenario.push((word as u32, column)),
            (None, Expression::Block(field)) => {
                let value = match field {
                    BlockField::Timestamp => block.timestamp,
                    BlockField::Number => block.number,
                    BlockField::BaseFee => U256::from(block.basefee),
                };
                fix(&mut function, word as u32, value);
            }
            (None, Expression::Slot(..) | Expression::Account(..)) if depends(call, graph, *leaf) => return None,
            _ => {}
        }
    }
    Some(Recorded { function, leaves, scenario, accounts: Vec::new(), limbs: Vec::new() })
}

/// The first words of an output as expressions; none where it is shorter, or a piece reaches over a word's end.
fn output_words(graph: &mut Graph, output: &Text, count: usize) -> Option<Vec<Node>> {
    if output.bytes.len() < 32 * count {
        return None;
    }
    (0..count)
        .map(|word| {
            let (first, last) = (32 * word as u32, 32 * word as u32 + 32);
            let inside = |part: &&Part| part.at < last && part.at + u32::from(part.length) > first;
            let parts: Vec<Part> = output.parts.iter().filter(inside).copied().collect();
            let whole = parts.iter().all(|part| part.at >= first && part.at + u32::from(part.length) <= last);
            let parts = parts.into_iter().map(|part| Part { at: part.at.wrapping_sub(first), ..part }).collect();
            let bytes = output.bytes[first as usize..last as usize].to_vec();
            whole.then(|| graph.assembled(Text { bytes, parts }))
        })
        .collect()
}

/// An input becomes a constant.
fn fix(function: &mut Function, word: u32, value: U256) {
    for node in &mut function.nodes {
        if matches!(node, Operation::Input { word: read, .. } if *read == word) {
            *node = Operation::Constant(value);
        }
    }
}

/// Whether an expression is made of what scenarios change.
fn depends(call: &Call<'_>, graph: &Graph, node: Node) -> bool {
    let (mut open, mut seen) = (vec![node], std::collections::BTreeSet::new());
    while let Some(node) = open.pop() {
        if call.column(graph.expression(node)).is_some() {
            return true;
        }
        graph.operands(node, |operand| {
            if seen.insert(operand) {
                open.push(operand);
            }
        });
    }
    false
}

/// A recorded path: its function, its accounts and what they read.
#[pyclass(module = "mayavi._kernel", frozen)]
pub struct RecordedPath {
    recorded: Recorded,
}

#[pymethods]
impl RecordedPath {
    /// The function of what the path reads.
    fn builder(&self) -> NativeBuilder {
        NativeBuilder::of(self.recorded.function.clone())
    }

    /// Accounts that take the path, by their number in the recording.
    #[getter]
    fn accounts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.recorded.accounts)
    }

    /// What each account reads, four limbs a word.
    #[getter]
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let shape = [self.recorded.accounts.len(), 4 * self.recorded.leaves.len()];
        PyArray1::from_slice(py, &self.recorded.limbs).reshape(shape)
    }

    /// Inputs that differ between scenarios, and the column that each is.
    #[getter]
    fn scenario(&self) -> Vec<(u32, usize)> {
        self.recorded.scenario.clone()
    }
}

#[pymethods]
impl Evm {
    /// Record a call for each row of `words`, (rows, holes, 32) bytes that go into `data` at `offsets`, as functions of
    /// the row and of a scenario: values of `slots`, and of the block's time if `timestamp`. Returns the paths and the
    /// rows that none of them is for.
    #[pyo3(signature = (to, data, offsets, words, slots, returns=None, timestamp=false, sender=None, gas=None))]
    #[allow(clippy::too_many_arguments)]
    fn record_paths(
        &mut self,
        py: Python<'_>,
        to: AddressArg,
        data: &[u8],
        offsets: Vec<usize>,
        words: PyReadonlyArray3<'_, u8>,
        slots: Vec<(AddressArg, WordArg)>,
        returns: Option<usize>,
        timestamp: bool,
        sender: Option<AddressArg>,
        gas: Option<u64>,
    ) -> PyResult<(Vec<RecordedPath>, Vec<u32>)> {
        if words.shape()[1..] != [offsets.len(), 32] || offsets.iter().any(|offset| offset + 32 > data.len()) {
            return Err(PyValueError::new_err("words and holes do not belong together"));
        }
        let given: Vec<U256> = words.as_slice()?.chunks_exact(32).map(U256::from_be_slice).collect();
        let call = Call {
            to: to.0,
            sender: sender.map_or(Address::ZERO, |sender| sender.0),
            gas: gas.unwrap_or(DEFAULT_GAS),
            data,
            offsets: &offsets,
            slots: slots.into_iter().map(|(account, key)| (account.0, key.0)).collect(),
            timestamp,
            returns,
        };
        let settings = Settings { rules: Rules::SIMULATION, ..self.settings };
        let Self { world, row, probe, .. } = self;
        let recording = py.detach(|| {
            let mut recording = Recording::default();
            with_row(world, row, &settings, *probe, |machine, block| {
                let block = block.clone();
                recording.follow(&call, machine, &block, &given)
            })?;
            Ok(recording)
        });
        let mut recording = recording.map_err(|failure: Failure| failure.into_python(py))?;
        let paths = std::mem::take(&mut recording.order).into_iter().filter_map(|step| recording.paths.remove(&step));
        Ok((paths.map(|recorded| RecordedPath { recorded }).collect(), recording.left))
    }
}
