//! Recorded paths as a tree: computed values decide at each fork which way a call goes, as the code itself would.
//!
//! An expression is computed where a path first needs it, so what no path needs is never computed, and what several
//! paths share is computed once.

use revm::primitives::{Address, U256};

use super::graph::{Graph, Node, Text};
use crate::database::RowDatabase;

/// What a path depends on: the value of an expression, or merely whether it is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    pub node: Node,
    pub only_truth: bool,
}

/// Where a recorded path ends.
#[derive(Clone, Debug)]
pub enum End {
    /// The call returns this.
    Output(Text),
    /// Only the interpreter knows.
    Interpret,
}

/// One recorded call: the conditions of its path in order, and its result.
#[derive(Clone, Debug)]
pub struct Path {
    pub guards: Vec<(Guard, U256)>,
    pub end: End,
}

/// The next computation, and the branches after it.
struct Step {
    schedule: Vec<Node>,
    next: Next,
}

enum Next {
    Fork(Guard, Vec<(U256, usize)>),
    Output(Text),
    Interpret,
}

/// What a replay came to.
pub enum Replay {
    /// The output, and the step it came from.
    Output(Vec<u8>, usize),
    /// Nobody has gone this way yet.
    Unknown,
    /// This call is the interpreter's.
    Interpret,
}

pub struct Tree {
    pub graph: Graph,
    steps: Vec<Step>,
    /// Which expressions have their value by the end of the path being inserted.
    computed: Vec<bool>,
}

impl Tree {
    pub fn new() -> Self {
        Self { graph: Graph::new(), steps: Vec::new(), computed: Vec::new() }
    }

    /// Operations of all paths; shared ones count once.
    pub fn operations(&self) -> usize {
        self.steps.iter().map(|step| step.schedule.len()).sum()
    }

    /// Follow the recorded paths with this calldata.
    pub fn replay(&mut self, data: &[u8], sender: Address, database: &mut RowDatabase) -> Replay {
        let Self { graph, steps, .. } = self;
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            for node in &step.schedule {
                if graph.evaluate(*node, data, sender, database).is_err() {
                    return Replay::Interpret;
                }
            }
            at = match &step.next {
                Next::Fork(guard, arms) => {
                    let value = graph.value(guard.node);
                    let value = if guard.only_truth { U256::from(!value.is_zero()) } else { value };
                    match arms.iter().find(|(known, _)| *known == value) {
                        Some((_, next)) => *next,
                        None => return Replay::Unknown,
                    }
                }
                Next::Output(text) => return Replay::Output(graph.write(text), at),
                Next::Interpret => return Replay::Interpret,
            };
        }
        Replay::Unknown
    }

    /// Add a path; its common part is shared. False if it contradicts the tree.
    pub fn insert(&mut self, path: Path) -> bool {
        self.computed.clear();
        self.computed.resize(self.graph.len(), false);
        let (mut at, fresh) = (0, self.steps.len());
        let mut guards = path.guards.into_iter();
        // The way that is known.
        while let Some(step) = self.steps.get_mut(at) {
            step.schedule.iter().for_each(|node| self.computed[*node as usize] = true);
            let Next::Fork(known, arms) = &mut step.next else { return matches!(step.next, Next::Interpret) };
            let Some((guard, value)) = guards.next() else { return matches!(path.end, End::Interpret) };
            if guard != *known {
                return false;
            }
            match arms.iter().find(|(known, _)| *known == value) {
                Some((_, next)) => at = *next,
                None => {
                    arms.push((value, fresh));
                    break;
                }
            }
        }
        // The way that is new.
        for (guard, value) in guards {
            let schedule = self.schedule([guard.node]);
            let following = self.steps.len() + 1;
            self.steps.push(Step { schedule, next: Next::Fork(guard, vec![(value, following)]) });
        }
        let last = match path.end {
            End::Output(text) => {
                Step { schedule: self.schedule(text.parts.iter().map(|part| part.node)), next: Next::Output(text) }
            }
            End::Interpret => Step { schedule: Vec::new(), next: Next::Interpret },
        };
        self.steps.push(last);
        true
    }

    /// What is still to be computed for these expressions, operands first.
    fn schedule(&mut self, wanted: impl IntoIterator<Item = Node>) -> Vec<Node> {
        let mut open: Vec<Node> = wanted.into_iter().collect();
        let mut schedule = Vec::new();
        while let Some(node) = open.pop() {
            if self.computed[node as usize] || self.graph.as_constant(node).is_some() {
                continue;
            }
            self.computed[node as usize] = true;
            schedule.push(node);
            self.graph.operands(node, |operand| open.push(operand));
        }
        schedule.sort_unstable();
        schedule
    }
}
