//! A path of a view in two parts: what is the same for all calls of a batch, and a function of what is not.

use std::collections::BTreeSet;

use revm::primitives::{Address, HashMap, U256};

use crate::{
    native::ssa::ir::{Builder, Condition, Function},
    specialise::sites::code::Maker,
    trace::{Expression, Graph, Guard, Node, Text},
};

/// What each expression of a graph depends on.
#[derive(Default)]
pub struct Kinds {
    /// On the calldata of the call.
    varies: Vec<bool>,
    /// On nothing but the calldata.
    derived: Vec<bool>,
}

impl Kinds {
    /// Take in what the graph has gained since.
    pub fn grow(&mut self, graph: &Graph) {
        for node in self.varies.len()..graph.len() {
            let (mut varies, mut derived) = (false, true);
            graph.operands(node as Node, |operand| {
                varies |= self.varies[operand as usize];
                derived &= self.derived[operand as usize];
            });
            match graph.expression(node as Node) {
                Expression::Input(_) => varies = true,
                Expression::Block(_) | Expression::Place(..) | Expression::Slot(..) | Expression::Account(..) => {
                    derived = false;
                }
                _ => {}
            }
            self.varies.push(varies);
            self.derived.push(derived);
        }
    }

    fn varies(&self, node: Node) -> bool {
        self.varies[node as usize]
    }

    fn is_derived(&self, node: Node) -> bool {
        self.derived[node as usize]
    }
}

/// A path whose calls are computed by code. Numbers are those of its site's graph.
pub struct Lowered {
    /// What is computed once a batch, operands first, and must then hold.
    pub shared: Vec<Node>,
    pub conditions: Vec<(Guard, U256)>,
    /// The function's inputs: those that are equal in all calls, then those that are not.
    pub equal: Vec<Node>,
    pub own: Vec<Node>,
    /// What slots' keys are derived from, for calldata that is new.
    pub derive: Vec<Node>,
    /// What of it is worth keeping for the next batch.
    pub kept: Vec<Node>,
    /// What else is computed and read for each call before the function can run. Slots whose keys are derived from
    /// calldata are numbered.
    pub read: Vec<(Node, Option<usize>)>,
    /// Accounts and keys of the numbered ones.
    pub slots: Vec<(Address, Node)>,
    /// The output over the function's results, and then over `fixed`.
    pub output: Text,
    pub fixed: Vec<Node>,
    pub results: usize,
}

/// All that `wanted` is made of, operands first; `beyond` says where not to look further.
fn cone(graph: &Graph, wanted: impl IntoIterator<Item = Node>, stop: impl Fn(Node) -> bool) -> Vec<Node> {
    let mut open: Vec<Node> = wanted.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(node) = open.pop() {
        if graph.as_constant(node).is_none() && found.insert(node) && !stop(node) {
            graph.operands(node, |operand| open.push(operand));
        }
    }
    found.into_iter().collect()
}

impl Lowered {
    pub fn new(graph: &Graph, kinds: &Kinds, guards: &[(Guard, U256)], output: &Text) -> (Self, Function) {
        let (own_guards, conditions): (Vec<_>, Vec<_>) =
            guards.iter().copied().partition(|(guard, _)| kinds.varies(guard.node));
        let mut told: Vec<Node> = output.parts.iter().map(|part| part.node).collect();
        told.sort_unstable();
        told.dedup();
        let (results, fixed): (Vec<Node>, Vec<Node>) = told.into_iter().partition(|node| kinds.varies(*node));
        // Hashes are not computed by the function: those of calldata are remembered from batch to batch.
        let is_read = |node: Node| {
            use Expression::{Account, Hash, Input, Slot};
            matches!(graph.expression(node), Input(_) | Slot(..) | Account(..) | Hash(_))
        };
        let is_leaf = |node: Node| !kinds.varies(node) || is_read(node);
        let wanted = own_guards.iter().map(|(guard, _)| guard.node).chain(results.iter().copied());
        let nodes = cone(graph, wanted, is_leaf);
        let (own, equal): (Vec<Node>, Vec<Node>) =
            nodes.iter().copied().filter(|node| is_leaf(*node)).partition(|node| kinds.varies(*node));
        let leaves: Vec<Node> = equal.iter().chain(&own).copied().collect();
        let function = function_of(graph, &leaves, &nodes, &own_guards, &results);

        // What must be there before the function can run.
        let below = cone(graph, own.iter().copied(), |node| !kinds.varies(node));
        let (before, uniform): (Vec<Node>, Vec<Node>) = below.into_iter().partition(|node| kinds.varies(*node));
        let is_input = |node: Node| matches!(graph.expression(node), Expression::Input(_));
        let (derive, read): (Vec<Node>, Vec<Node>) =
            before.into_iter().filter(|node| !is_input(*node)).partition(|node| kinds.is_derived(*node));
        let mut kept: BTreeSet<Node> = own.iter().copied().filter(|node| derive.binary_search(node).is_ok()).collect();
        for node in &read {
            graph.operands(*node, |operand| {
                if derive.binary_search(&operand).is_ok() {
                    kept.insert(operand);
                }
            });
        }
        let mut slots = Vec::new();
        let numbered = |node: Node| match graph.expression(node) {
            Expression::Slot(account, key) if kinds.is_derived(*key) && kinds.varies(*key) => {
                slots.push((*account, *key));
                (node, Some(slots.len() - 1))
            }
            _ => (node, None),
        };
        let read = read.into_iter().map(numbered).collect();
        let once =
            conditions.iter().map(|(guard, _)| guard.node).chain(equal.iter().chain(&fixed).chain(&uniform).copied());
        let shared = cone(graph, once, |_| false);
        let order: HashMap<Node, Node> = results.iter().chain(&fixed).copied().zip(0..).collect();
        let mut output = output.clone();
        output.parts.iter_mut().for_each(|part| part.node = order[&part.node]);
        let kept = kept.into_iter().collect();
        let lowered =
            Self { shared, conditions, equal, own, derive, kept, read, slots, output, fixed, results: results.len() };
        (lowered, function)
    }

    /// The words of a call's row before the function runs.
    pub fn inputs(&self) -> impl Iterator<Item = Node> {
        self.equal.iter().chain(&self.own).copied()
    }
}

fn function_of(graph: &Graph, leaves: &[Node], nodes: &[Node], guards: &[(Guard, U256)], results: &[Node]) -> Function {
    let mut maker = Maker { graph, builder: Builder::new(), made: HashMap::default() };
    for (word, leaf) in leaves.iter().enumerate() {
        let id = maker.builder.input(word as u32);
        maker.made.insert(*leaf, id);
    }
    nodes.iter().for_each(|node| maker.make(*node));
    for (guard, value) in guards {
        let condition = match (guard.only_truth, value.is_zero()) {
            (true, true) => Condition::Zero,
            (true, false) => Condition::NonZero,
            (false, _) => Condition::Equal(*value),
        };
        maker.builder.guard(maker.made[&guard.node], condition);
    }
    for result in results {
        maker.builder.output(maker.made[result]);
    }
    maker.builder.finish()
}
