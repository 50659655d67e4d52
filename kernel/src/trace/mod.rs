//! Record a call once, then replay only the part that depends on what varies.
//!
//! Views in batches are here (`Traces`); transactions of a fleet's rows are in `specialise`, over the same recorder.
//! All calls of a batch run on one unchanging state. What does not depend on the words in which their calldata
//! differs is the same for all of them and is folded away while one of them is recorded. What remains is a few dozen
//! operations and guards; calls that leave every recorded path go to the interpreter, which records the new one.

pub mod arithmetic;
mod course;
mod diamond;
mod effects;
mod ending;
mod functions;
mod gas;
mod graph;
mod instructions;
mod layout;
mod pins;
mod places;
mod program;
mod recorder;
mod saved;
mod shadow;
mod surroundings;
mod tree;
mod values;
mod watch;

use revm::{
    context::{TxEnv, result::ExecutionResult},
    primitives::{Address, HashSet},
};

use crate::machine::{Failure, Machine};
pub use course::Unmodelled;
pub use ending::{DataGas, Ending};
pub use functions::Known as KnownWord;
pub use gas::Bill;
pub use graph::Part;
pub use graph::{BlockField, Expression, Field, Graph, MOST_NODES, Node, Text};
pub use layout::Layout;
pub use places::Places;
pub use program::{ProgramRecorder, UNWRITTEN};
pub use recorder::Recorder;
pub use saved::SavedTree;
use surroundings::View;
pub use surroundings::{Surroundings, Unread, read_account};
pub use tree::{End, Guard, Origins, Path, Replay, Tree};
pub use values::{Values, put};
pub use watch::{Fact, Stale, Watch};

/// Recordings that may come before any of them has paid, and the calls that are to be expected for each.
const ADVANCE: usize = 48;
const CALLS_EXPECTED: usize = 12;
/// Replayed calls that pay for one more: a recording costs as much as four calls, a replay a small part of one.
const CALLS_A_RECORDING: usize = 5;
/// Recordings that came to nothing before recording ends, and one more for so many replayed calls.
const FRUITLESS: usize = 4;
const CALLS_A_FRUITLESS: usize = 32;
/// Recordings of one batch.
const MOST_RECORDINGS: usize = 2_048;

/// What a replay, or a recording, came to.
pub enum Traced {
    /// The output of a call, and whether it should be compared with the interpreter's.
    Replayed(Vec<u8>, bool),
    /// The interpreter ran the call, and its path is known from now on.
    Recorded(ExecutionResult),
    /// The call is the interpreter's.
    Interpret,
}

/// The recorded paths of one thread, for calldata of one layout.
pub struct Traces<'a> {
    layout: &'a Layout,
    sender: Address,
    tree: Tree,
    values: Values,
    /// Outputs of these paths have been compared with the interpreter's.
    compared: HashSet<usize>,
    recordings: usize,
    /// Recordings of paths that are the interpreter's.
    fruitless: usize,
    replayed: usize,
    /// How many recordings may come before any has paid.
    advance: usize,
}

impl<'a> Traces<'a> {
    pub fn new(layout: &'a Layout, sender: Address, threads: usize) -> Self {
        let advance = ADVANCE.min(layout.calls / threads / CALLS_EXPECTED);
        Self {
            layout,
            sender,
            tree: Tree::new(),
            values: Values::default(),
            compared: HashSet::default(),
            recordings: 0,
            fruitless: 0,
            replayed: 0,
            advance,
        }
    }

    pub fn recordings(&self) -> usize {
        self.recordings
    }

    pub fn operations(&self) -> usize {
        self.tree.operations()
    }

    /// Its paths as data.
    pub fn saved(&self) -> SavedTree {
        self.tree.saved()
    }

    /// Answer a call from the recorded paths, or record its own. The machine must not be probing.
    pub fn call(&mut self, machine: &mut Machine, data: &[u8], tx: impl FnOnce() -> TxEnv) -> Result<Traced, Failure> {
        match self.replay(machine, data) {
            Replay::End(path) => {
                self.replayed += 1;
                Ok(Traced::Replayed(self.output(path), self.compared.insert(path)))
            }
            Replay::Unknown(_) if self.may_record() => self.record(machine, data, tx()),
            Replay::Unknown(_) | Replay::Interpret => Ok(Traced::Interpret),
        }
    }

    fn replay(&mut self, machine: &mut Machine, data: &[u8]) -> Replay {
        self.tree.replay(&mut self.values, &mut View { data, sender: self.sender, database: machine.database() })
    }

    fn output(&self, path: usize) -> Vec<u8> {
        match self.tree.end(path) {
            End::Output(text) => self.values.write(text),
            _ => Vec::new(),
        }
    }

    fn may_record(&self) -> bool {
        self.advance > 0
            && self.recordings < MOST_RECORDINGS.min(self.advance + self.replayed / CALLS_A_RECORDING)
            && self.fruitless < FRUITLESS + self.replayed / CALLS_A_FRUITLESS
            && self.tree.graph.len() < MOST_NODES
    }

    fn record(&mut self, machine: &mut Machine, data: &[u8], tx: TxEnv) -> Result<Traced, Failure> {
        self.recordings += 1;
        let mut recorder = Recorder::new(&mut self.tree.graph, self.layout);
        let result = machine.record(tx, &mut recorder)?;
        let output: Option<&[u8]> = match &result {
            ExecutionResult::Success { output, .. } => Some(output.data().as_ref()),
            _ => None,
        };
        let path = recorder.finish(output);
        let replayable = matches!(path.end, End::Output(_));
        self.fruitless += usize::from(!replayable);
        if !self.tree.insert(path) {
            return Err(Failure::Internal("a recorded path contradicts an earlier one".into()));
        }
        // A path that does not lead its own call to its own output would lead no other one right.
        match self.replay(machine, data) {
            Replay::Interpret => {}
            Replay::Unknown(_) if !replayable => {}
            Replay::End(path) if output == Some(&self.output(path)) => {}
            _ => return Err(Failure::Internal("a recorded path gives another output than its call".into())),
        }
        Ok(Traced::Recorded(result))
    }
}
