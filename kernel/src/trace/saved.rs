//! A tree of paths as data, to be kept and taken up by another process.

use revm::primitives::{Address, U256};
use serde::{Deserialize, Serialize};

use super::{
    arithmetic::takes,
    ending::Ending,
    graph::{Expression, Graph, Node, Text},
    tree::{End, Next, Step, Tree},
};

/// Expressions in order, and the steps over them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedTree {
    expressions: Vec<Expression>,
    steps: Vec<Step>,
    /// Whether its paths ask for keys that hardly change.
    pins: bool,
}

impl Tree {
    pub fn saved(&self) -> SavedTree {
        SavedTree {
            expressions: self.graph.expressions().to_vec(),
            steps: self.steps.clone(),
            pins: self.graph.pins.on,
        }
    }

    /// Take a saved tree up, of calls with so many `inputs`. Slots get the numbers that they have here. None where it does
    /// not hold together.
    pub fn restored(saved: SavedTree, inputs: usize, number: impl Fn(Address, U256) -> Option<u32>) -> Option<Self> {
        let mut graph = Graph::new();
        graph.pins.on = saved.pins;
        for (at, mut expression) in saved.expressions.into_iter().enumerate() {
            if let Expression::Place(place, address, key) = &mut expression {
                *place = number(*address, *key)?;
            }
            if !is_sound(&expression, at as Node, inputs) || graph.intern(expression) as usize != at {
                return None;
            }
        }
        let (nodes, count) = (graph.len() as Node, saved.steps.len());
        let mut steps = saved.steps;
        for (at, step) in steps.iter_mut().enumerate() {
            let known = step.schedule.iter().all(|node| *node < nodes);
            let fits = match &mut step.next {
                Next::Fork(guard, arms) => {
                    guard.node < nodes && arms.iter().all(|(_, next)| (at + 1..count).contains(next))
                }
                Next::End(End::Transaction(ending)) => {
                    for write in &mut ending.writes {
                        let fixed = graph.expressions().get(write.key as usize);
                        write.place = match (write.place, fixed) {
                            (Some(_), Some(Expression::Constant(key))) => number(write.address, *key),
                            _ => None,
                        };
                    }
                    ends_within(ending, nodes)
                }
                Next::End(End::Interpret) => true,
                Next::End(End::Output(text)) => is_within(text, nodes),
            };
            if !known || !fits {
                return None;
            }
        }
        Some(Self { graph, steps, computed: Vec::new() })
    }

    /// How each path of a transaction ends.
    pub fn endings(&self) -> impl Iterator<Item = &Ending> {
        self.steps.iter().filter_map(|step| match &step.next {
            Next::End(End::Transaction(ending)) => Some(&**ending),
            _ => None,
        })
    }
}

/// Whether an expression is made of earlier ones, and of inputs that there are.
fn is_sound(expression: &Expression, at: Node, inputs: usize) -> bool {
    match expression {
        Expression::Constant(_) | Expression::Block(_) | Expression::Place(..) => true,
        Expression::Input(input) => (*input as usize) < inputs,
        Expression::Pure(operation, nodes) => takes(*operation).is_some() && nodes.iter().all(|node| *node < at),
        Expression::Select(nodes) => nodes.iter().all(|node| *node < at),
        Expression::Slot(_, node) | Expression::Account(_, node) => *node < at,
        Expression::Assembled(text) => text.bytes.len() == 32 && is_within(text, at),
        Expression::Hash(text) => is_within(text, at),
    }
}

/// Whether all parts of a text have their place in it, and words below a number.
fn is_within(text: &Text, nodes: Node) -> bool {
    text.parts.iter().all(|part| {
        let (from, length) = (usize::from(part.from), usize::from(part.length));
        part.node < nodes && from + length <= 32 && part.at as usize + length <= text.bytes.len()
    })
}

fn ends_within(ending: &Ending, nodes: Node) -> bool {
    ending.nodes().iter().chain(&ending.log_nodes()).all(|node| *node < nodes)
        && is_within(&ending.output, nodes)
        && ending.logs.iter().all(|log| is_within(&log.data, nodes))
}
