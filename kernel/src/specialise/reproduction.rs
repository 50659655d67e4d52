//! Repeat a replay that differed: the recorded paths, as they were, on the state that they were replayed on.

use std::sync::Arc;

use pyo3::{exceptions::PyValueError, prelude::*};
use revm::{
    context::{BlockEnv, result::ExecutionResult},
    context_interface::cfg::GasParams,
    primitives::{Address, U256},
};

use super::{
    Mode, Specialiser,
    difference::{CallTask, Evidence, Inputs, Task, mismatches},
    programs::{
        branches::{TreeDraft, Wanted, reads_of},
        running::Row as Running,
        twin::Twin,
    },
    row::RowView,
    sites::{
        code::{Draft, Room},
        compare::{difference, logs_differ},
        shape::{Shape, Tariff},
    },
};
use crate::{
    machine::{Failure, Machine, Settings, with_row},
    rows::program::Program,
    storage::{
        dump,
        overlay::{Overlay, Row},
    },
    trace::{BlockField, End, Ending, Field, Places, Replay, SavedTree, Surroundings, Tree, Unread, Values},
};

/// What a way to replay gives on the state of a difference.
enum Outcome {
    /// Nothing differs.
    Same,
    Differs(String),
    /// No path accepts what was replayed, or none was kept.
    Unknown,
}

impl Outcome {
    fn of(found: Option<String>) -> Self {
        found.map_or(Self::Same, Self::Differs)
    }

    fn text(self) -> String {
        match self {
            Self::Same => "the same as the interpreter".into(),
            Self::Differs(found) => format!("differs: {found}"),
            Self::Unknown => "no recorded path accepts it".into(),
        }
    }
}

/// The inputs of a path, the block and the state below.
struct View<'a> {
    row: RowView<'a>,
    /// The calldata, where a path may read a word anywhere in it.
    data: Option<&'a [u8]>,
}

impl Surroundings for View<'_> {
    fn input(&self, at: u32) -> U256 {
        match self.data {
            None => self.row.input(at),
            Some(data) => {
                let mut word = [0; 32];
                let rest = data.get(at as usize..).unwrap_or_default();
                let there = rest.len().min(32);
                word[..there].copy_from_slice(&rest[..there]);
                U256::from_be_bytes(word)
            }
        }
    }

    fn block(&self, field: BlockField) -> U256 {
        self.row.block(field)
    }

    fn slot(&mut self, account: Address, key: U256) -> Result<U256, Unread> {
        self.row.slot(account, key)
    }

    fn account(&mut self, field: Field, address: U256) -> Result<U256, Unread> {
        self.row.account(field, address)
    }
}

impl CallTask {
    /// The words that vary, and all places of the calldata with words.
    fn words(&self) -> (Vec<U256>, Vec<usize>) {
        let word = |at: &usize| U256::from_be_slice(&self.data[*at..*at + 32]);
        match &self.inputs {
            Inputs::Words(holes) => (holes.iter().map(word).collect(), holes.clone()),
            Inputs::WordsAndSender(holes) => {
                let sender = U256::from_be_slice(self.sender.as_slice());
                (holes.iter().map(word).chain([sender]).collect(), holes.clone())
            }
            Inputs::Anywhere => (Vec::new(), Vec::new()),
        }
    }

    fn is_sound(&self) -> bool {
        match &self.inputs {
            Inputs::Words(holes) | Inputs::WordsAndSender(holes) => {
                holes.iter().all(|at| at.checked_add(32).is_some_and(|end| end <= self.data.len()))
            }
            Inputs::Anywhere => true,
        }
    }

    /// How many inputs a path may have.
    fn most_inputs(&self) -> usize {
        match &self.inputs {
            Inputs::Words(holes) => holes.len(),
            Inputs::WordsAndSender(holes) => holes.len() + 1,
            Inputs::Anywhere => self.data.len(),
        }
    }
}

/// A tree taken up here, with the numbers that its slots have here.
fn taken_up(tree: Option<SavedTree>, inputs: usize, places: &Places) -> Option<Tree> {
    Tree::restored(tree?, inputs, |address, key| places.number(address, key))
}

/// Replay a call by its tree and by code, and compare each with the interpreter.
fn of_call(
    machine: &mut Machine,
    block: &BlockEnv,
    task: &CallTask,
    tree: Option<SavedTree>,
) -> Result<[Outcome; 2], Failure> {
    let places = Places::default();
    let Some(tree) = taken_up(tree, task.most_inputs(), &places) else {
        return Ok([Outcome::Unknown, Outcome::Unknown]);
    };
    let (result, state) = machine.run(task.transaction())?;
    let (words, holes) = task.words();
    let params = GasParams::new_spec(machine.settings().spec);
    let shape = Shape::new(zeroed(&task.data, &holes), holes, task.gas);
    let data_gas = Tariff::new(&shape, &params).of(&words[..shape.holes.len()]);
    let database = machine.database();
    let row = RowView { holes: &words, block, sender: task.sender, database, places: &places };
    let anywhere = matches!(task.inputs, Inputs::Anywhere).then_some(&task.data[..]);
    let mut view = View { row, data: anywhere };
    let mut values = Values::default();
    let Replay::End(step) = tree.replay(&mut values, &mut view) else {
        return Ok([Outcome::Unknown, Outcome::Unknown]);
    };
    let ending = match tree.end(step) {
        End::Transaction(ending) => (**ending).clone(),
        End::Output(text) => Ending { success: true, output: text.clone(), ..Ending::default() },
        End::Interpret => return Ok([Outcome::Unknown, Outcome::Unknown]),
    };
    let is_view = matches!(tree.end(step), End::Output(_));
    let compare = |ending: &Ending, values: &Values| match (is_view, data_gas) {
        (true, _) => output_differs(ending, values, &result),
        (false, None) => Some("the gas limit does not allow the calldata".into()),
        (false, Some(data)) => {
            let gas = ending.gas.used(values, &params, data, ending.success);
            difference(ending, values, gas, (&result, &state), task.sender)
        }
    };
    tree.evaluate(&ending.log_nodes(), &mut values, &mut view);
    let by_tree =
        compare(&ending, &values).or_else(|| (!is_view).then(|| logs_differ(&ending, &values, &result)).flatten());
    let draft = Draft::new(&tree.graph, &tree.guards_to(step), &ending);
    let mut room = Room::default();
    let by_code = match draft.compile() {
        Some(code) if code.run(&mut room, &mut view) => Outcome::of(compare(&code.ending, &room.words)),
        _ => Outcome::Unknown,
    };
    Ok([Outcome::of(by_tree), by_code])
}

fn zeroed(data: &[u8], holes: &[usize]) -> Vec<u8> {
    let mut template = data.to_vec();
    holes.iter().for_each(|at| template[*at..*at + 32].fill(0));
    template
}

fn output_differs(ending: &Ending, values: &Values, result: &ExecutionResult) -> Option<String> {
    match result {
        ExecutionResult::Success { output, .. } => {
            (*output.data() != values.write(&ending.output)).then(|| "another output".into())
        }
        _ => Some("the interpreted call fails".into()),
    }
}

/// Replay a program by its tree and by code, and compare each with its operations.
fn of_program(
    row: &mut Running<'_>,
    all: &Specialiser,
    program: &Program,
    tree: Option<SavedTree>,
) -> Result<[Outcome; 2], Failure> {
    let Some(tree) = taken_up(tree, program.input_count(), &all.places) else {
        return Ok([Outcome::Unknown, Outcome::Unknown]);
    };
    let (words, _) = row.inputs.as_chunks::<32>();
    let words: Vec<U256> = words.iter().map(|word| U256::from_be_bytes(*word)).collect();
    let (mut values, mut text) = (Values::default(), Vec::new());
    let Replay::End(step) = tree.replay(&mut values, &mut row.view(&words, all)) else {
        return Ok([Outcome::Unknown, Outcome::Unknown]);
    };
    let End::Transaction(ending) = tree.end(step) else { return Ok([Outcome::Unknown, Outcome::Unknown]) };
    let by_tree = compared(row, program, |row| row.keep(all, (0, ending), &values, &mut text).map(|()| true))?;
    let guards = tree.guards_to(step);
    let reads = reads_of(&tree.graph, &guards, ending);
    let rows = [reads.iter().map(|read| values.get(*read)).collect()];
    let wanted = [Wanted { step, guards: &guards, ending, reads: &reads, rows: &rows }];
    let Some(code) = TreeDraft::new(all, &tree.graph, 0, &wanted).and_then(TreeDraft::compile) else {
        return Ok([by_tree, Outcome::Unknown]);
    };
    let mut room = Room::default();
    let by_code = compared(row, program, |row| match code.run(&mut room, &mut row.view(&words, all)) {
        Some(leaf) => leaf.keep(row, all, 1, &room.words.words).map(|()| true),
        None => Ok(false),
    })?;
    Ok([by_tree, by_code])
}

/// Run a program's operations on one copy of a row and a replay on another; what the replay leaves instead.
fn compared(
    row: &mut Running<'_>,
    program: &Program,
    replay: impl FnOnce(&mut Running<'_>) -> Result<bool, Failure>,
) -> Result<Outcome, Failure> {
    let (mut interpreted, mut replayed) = (Twin::of(row), Twin::of(row));
    interpreted.operate(program, row, None)?;
    replayed.exchange(row, |row| match replay(row)? {
        true => Ok(Outcome::of(interpreted.difference(row))),
        false => Ok(Outcome::Unknown),
    })
}

/// Repeat a difference: what was found, what the tree of its paths gives now, and what code of its path gives.
#[pyfunction]
pub fn reproduce_difference(py: Python<'_>, state: &[u8], evidence: &[u8]) -> PyResult<(String, String, String)> {
    let evidence: Evidence =
        serde_json::from_slice(evidence).map_err(|error| PyValueError::new_err(format!("its evidence: {error}")))?;
    let (world, block, spec) = dump::load(state).map_err(PyValueError::new_err)?;
    let settings = Settings { spec, chain_id: world.chain_id, rules: evidence.rules() };
    let mut row = Row { overlay: Overlay::default(), block };
    let Evidence { found, task, tree, .. } = evidence;
    let repeat = |machine: &mut Machine, block: &mut BlockEnv| match task {
        Task::Call(task) if task.is_sound() => of_call(machine, block, &task, tree),
        Task::Call(_) => Err(Failure::Invalid("a word of its calldata is beyond the end".into())),
        Task::Program { program, inputs } => {
            let program = Program::restored(program);
            let Some(all) = Specialiser::new(Mode::On, &settings, block, None) else {
                return Ok([Outcome::Unknown, Outcome::Unknown]);
            };
            let mut outputs = vec![0; 32 * program.output_count()];
            let (inputs, mut registers) = (&inputs[..], Vec::new());
            let mut row = Running { machine, block, inputs, registers: &mut registers, outputs: &mut outputs };
            of_program(&mut row, &all, &program, tree)
        }
    };
    let [by_tree, by_code] = py
        .detach(|| with_row(&Arc::clone(&world), &mut row, &settings, false, repeat))
        .map_err(|failure| failure.into_python(py))?;
    Ok((found, by_tree.text(), by_code.text()))
}

/// Recordings of this process whose path did not lead their own call to its own end.
#[pyfunction]
pub fn recording_mismatches() -> u64 {
    mismatches()
}
