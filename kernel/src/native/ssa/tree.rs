//! Many paths in one: conditions lead from a common beginning to leaves, each with its own guards and outputs.

use super::ir::{Condition, Function, Guard, Malformed, Node, NodeId};

/// More leaves than this have no number in a flag.
pub const MOST_LEAVES: usize = 255;

/// Paths over common nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub nodes: Vec<Node>,
    pub root: Branch,
}

/// What must hold on the way, and how it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    pub guards: Vec<Guard>,
    pub end: End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The outputs of a row that came here.
    Leaf(Vec<NodeId>),
    /// The case whose condition the node keeps: at most one does. A row that keeps none has no result.
    Split(NodeId, Vec<(Condition, Branch)>),
}

impl Tree {
    /// Check order, operands and the number of leaves.
    pub fn verify(&self) -> Result<(), Malformed> {
        let leaves = self.root.leaves();
        if leaves > MOST_LEAVES {
            return Err(Malformed(format!("{leaves} leaves, at most {MOST_LEAVES} are possible")));
        }
        self.root.verify_cases()?;
        let mut whole = Function { nodes: self.nodes.clone(), ..Function::default() };
        self.root.collect(&mut whole);
        whole.verify()
    }
}

impl Branch {
    pub fn leaves(&self) -> usize {
        match &self.end {
            End::Leaf(_) => 1,
            End::Split(_, cases) => cases.iter().map(|(_, branch)| branch.leaves()).sum(),
        }
    }

    fn verify_cases(&self) -> Result<(), Malformed> {
        let End::Split(node, cases) = &self.end else { return Ok(()) };
        for (at, (first, branch)) in cases.iter().enumerate() {
            if cases[..at].iter().any(|(second, _)| overlap(*first, *second)) {
                return Err(Malformed(format!("cases of node {node} that can both hold")));
            }
            branch.verify_cases()?;
        }
        Ok(())
    }

    /// All guards and outputs of a branch, whatever leads to them.
    fn collect(&self, whole: &mut Function) {
        whole.guards.extend(&self.guards);
        match &self.end {
            End::Leaf(outputs) => whole.outputs.extend(outputs),
            End::Split(node, cases) => {
                whole.outputs.push(*node);
                cases.iter().for_each(|(_, branch)| branch.collect(whole));
            }
        }
    }
}

/// Whether a word can keep both conditions.
fn overlap(first: Condition, second: Condition) -> bool {
    match (first, second) {
        (Condition::Equal(value), other) | (other, Condition::Equal(value)) => other.holds(value),
        _ => first == second,
    }
}
