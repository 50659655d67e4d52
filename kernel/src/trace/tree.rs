//! Recorded paths as a tree: computed values decide at each fork which way a call goes, as the code itself would.
//!
//! An expression is computed where a path first needs it, so what no path needs is never computed, and what several
//! paths share is computed once.

use std::collections::BTreeSet;

use revm::primitives::{Address, U256};
use serde::{Deserialize, Serialize};

use crate::faults::Fault;

use super::{
    ending::Ending,
    graph::{Graph, Node, Text},
    surroundings::Surroundings,
    values::Values,
};

/// What a path depends on: the value of an expression, or merely whether it is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guard {
    pub node: Node,
    pub only_truth: bool,
}

/// Where a recorded path ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum End {
    /// The view returns this.
    Output(Text),
    /// The transaction does this.
    Transaction(Box<Ending>),
    /// Only the interpreter knows.
    Interpret,
}

impl End {
    fn nodes(&self) -> Vec<Node> {
        match self {
            Self::Output(text) => text.parts.iter().map(|part| part.node).collect(),
            Self::Transaction(ending) => ending.nodes(),
            Self::Interpret => Vec::new(),
        }
    }
}

/// An instruction: its code, and where it stands.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Instruction {
    pub opcode: u8,
    pub contract: Address,
    pub pc: usize,
}

/// Where a path comes from: an instruction for each guard, and how many were executed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Origins {
    pub guards: Vec<Instruction>,
    pub instructions: u64,
}

/// One recorded call: the conditions of its path in order, and its result.
#[derive(Clone, Debug)]
pub struct Path {
    pub guards: Vec<(Guard, U256)>,
    pub origins: Origins,
    pub end: End,
}

impl Path {
    pub fn new(mut guards: Vec<(Guard, U256)>, origins: Origins, end: End) -> Self {
        if Fault::PathGuardDropped.is_on() {
            guards.pop();
        }
        Self { guards, origins, end }
    }
}

/// The next computation, and the branches after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    pub schedule: Vec<Node>,
    pub next: Next,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Next {
    Fork(Guard, Vec<(U256, usize)>),
    End(End),
}

/// What a replay came to.
pub enum Replay {
    /// The end of a path, at this step. Everything it is made of has its value.
    End(usize),
    /// Nobody has gone this way yet, from this step on.
    Unknown(usize),
    /// This call is the interpreter's.
    Interpret,
}

/// Expressions up to which a call by code takes longer than to compute them one by one.
const SHORT: usize = 96;

pub struct Tree {
    pub graph: Graph,
    pub(super) steps: Vec<Step>,
    /// Which expressions have their value by the end of the path being inserted.
    pub(super) computed: Vec<bool>,
}

impl Tree {
    pub fn new() -> Self {
        Self { graph: Graph::new(), steps: Vec::new(), computed: Vec::new() }
    }

    /// Expressions and steps.
    pub fn size(&self) -> usize {
        self.graph.len() + self.steps.len()
    }

    /// Whether all paths together are shorter than what it takes to call code.
    pub fn is_short(&self) -> bool {
        self.graph.len() <= SHORT
    }

    /// Operations of all paths; shared ones count once.
    pub fn operations(&self) -> usize {
        self.steps.iter().map(|step| step.schedule.len()).sum()
    }

    /// Follow the recorded paths with what varies.
    pub fn replay(&self, values: &mut Values, surroundings: &mut impl Surroundings) -> Replay {
        values.grow(&self.graph);
        let mut at = 0;
        while let Some(step) = self.steps.get(at) {
            for node in &step.schedule {
                if self.graph.evaluate(*node, values, surroundings).is_err() {
                    return Replay::Interpret;
                }
            }
            at = match &step.next {
                Next::Fork(guard, arms) => {
                    let value = match (&values.words[guard.node as usize], guard.only_truth) {
                        (value, false) => value,
                        (&U256::ZERO, true) => &U256::ZERO,
                        (_, true) => &U256::ONE,
                    };
                    match arms.iter().find(|(known, _)| known == value) {
                        Some((_, next)) => *next,
                        None => return Replay::Unknown(at),
                    }
                }
                Next::End(End::Interpret) => return Replay::Interpret,
                Next::End(_) => return Replay::End(at),
            };
        }
        Replay::Unknown(at)
    }

    /// What a step that a replay ended at does.
    pub fn end(&self, step: usize) -> &End {
        match self.steps.get(step).map(|step| &step.next) {
            Some(Next::End(end)) => end,
            _ => &End::Interpret,
        }
    }

    /// The guards on the way to a step.
    pub fn guards_to(&self, step: usize) -> Vec<(Guard, U256)> {
        let mut guards = Vec::new();
        let mut at = step;
        // A step is reached from one before it.
        for (from, each) in self.steps.iter().enumerate().rev() {
            if let Next::Fork(guard, arms) = &each.next
                && let Some((value, _)) = arms.iter().find(|(_, next)| *next == at)
            {
                guards.push((*guard, *value));
                at = from;
            }
        }
        guards.reverse();
        guards
    }

    pub fn ending_mut(&mut self, step: usize) -> Option<&mut Ending> {
        match self.steps.get_mut(step).map(|step| &mut step.next) {
            Some(Next::End(End::Transaction(ending))) => Some(ending),
            _ => None,
        }
    }

    /// The condition that a step decides by, in words.
    pub fn describe(&self, step: usize) -> String {
        match self.steps.get(step).map(|step| &step.next) {
            Some(Next::Fork(Guard { node, only_truth: true }, _)) => format!("truth of {}", self.graph.text(*node, 3)),
            Some(Next::Fork(Guard { node, .. }, _)) => format!("value of {}", self.graph.text(*node, 3)),
            _ => "no path yet".to_string(),
        }
    }

    /// Compute what else of the graph is wanted after a replay.
    pub fn evaluate(&self, wanted: &[Node], values: &mut Values, surroundings: &mut impl Surroundings) -> bool {
        let (mut open, mut schedule) = (wanted.to_vec(), BTreeSet::new());
        while let Some(node) = open.pop() {
            if schedule.insert(node) {
                self.graph.operands(node, |operand| open.push(operand));
            }
        }
        schedule.into_iter().all(|node| self.graph.evaluate(node, values, surroundings).is_ok())
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
            let Next::Fork(known, arms) = &mut step.next else {
                return matches!(step.next, Next::End(End::Interpret));
            };
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
        let last = Step { schedule: self.schedule(path.end.nodes()), next: Next::End(path.end) };
        self.steps.push(last);
        true
    }

    /// What is still to be computed for these expressions after the path that was inserted last, operands first.
    pub fn schedule(&mut self, wanted: impl IntoIterator<Item = Node>) -> Vec<Node> {
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
