//! The passes: a function becomes a plan, in which only what a guard or an output needs is computed.

use revm::{
    bytecode::opcode as op,
    primitives::{HashMap, U256},
};

use super::{
    faults::Fault,
    graph::Graph,
    ir::{Condition, Function, Guard, Malformed, Node, NodeId},
    range::{limbs, mask},
};

/// A function to be executed, with the size of every value.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub function: Function,
    /// The highest value of each node where the guards before it hold.
    pub highs: Vec<U256>,
    /// The highest values of its operands as this node sees them.
    pub bounds: Vec<[U256; 3]>,
    /// The highest value that each guard's node can have where the guards before it hold.
    pub guard_bounds: Vec<U256>,
    pub output_bounds: Vec<U256>,
    /// Whether the guards contradict each other: every row fails.
    pub impossible: bool,
}

/// A node that is probably below 2^bits: a guard makes sure of it where that saves limbs.
pub type Likely = (NodeId, u16);

struct Planner<'a> {
    source: &'a Function,
    likely: HashMap<NodeId, u16>,
    graph: Graph,
    /// The node in the graph for each node of the source.
    made: Vec<Option<NodeId>>,
    guards: Vec<(Guard, U256)>,
}

impl Plan {
    /// Optimise a function.
    pub fn new(source: &Function, likely: &[Likely]) -> Result<Self, Malformed> {
        source.verify()?;
        let mut planner = Planner {
            source,
            likely: likely.iter().copied().collect(),
            graph: Graph::default(),
            made: vec![None; source.nodes.len()],
            guards: Vec::new(),
        };
        for guard in &source.guards {
            let node = planner.demand(guard.node);
            planner.guard(node, guard.condition);
        }
        let outputs: Vec<NodeId> = source.outputs.iter().map(|node| planner.demand(*node)).collect();
        let outputs = outputs.into_iter().map(|node| planner.graph.resolved(node)).collect();
        let plan = planner.finish(outputs);
        plan.function.verify()?;
        Ok(plan)
    }
}

impl Planner<'_> {
    /// Make a node and what it needs, by what is certain so far.
    fn demand(&mut self, wanted: NodeId) -> NodeId {
        let mut waiting = vec![wanted];
        while let Some(id) = waiting.last().copied() {
            let node = &self.source.nodes[id as usize];
            let before = waiting.len();
            if self.made[id as usize].is_none() {
                node.operands(|operand| {
                    if self.made[operand as usize].is_none() {
                        waiting.push(operand);
                    }
                });
                // The first operand is made first.
                waiting[before..].reverse();
                if waiting.len() > before {
                    continue;
                }
                let made = self.make(node);
                self.made[id as usize] = Some(made);
                self.guard_width(id, made);
            }
            waiting.pop();
        }
        self.made[wanted as usize].expect("made above")
    }

    fn make(&mut self, node: &Node) -> NodeId {
        let made = |id: NodeId| self.made[id as usize].unwrap_or(0);
        match node.with_operands(made) {
            Node::Input { word, bits } => self.graph.input(word, bits),
            Node::Constant(value) => self.graph.constant(value),
            Node::Pure(opcode, arguments) => self.graph.pure(opcode, arguments),
            Node::Keccak(parts) => self.graph.keccak(parts),
            Node::Select(arguments) => self.graph.select(arguments),
            Node::ProductAbove(arguments, limit) => self.graph.product_above(arguments, limit),
        }
    }

    fn guard_width(&mut self, source: NodeId, node: NodeId) {
        let Some(bits) = self.likely.get(&source).copied().map(usize::from) else { return };
        if limbs(mask(bits)) < limbs(self.graph.range(node).high) {
            let above = self.graph.shift(op::SHR, bits, node);
            self.guard(above, Condition::Zero);
        }
    }

    /// Add a guard in its simplest form, unless it certainly holds.
    fn guard(&mut self, node: NodeId, condition: Condition) {
        let graph = &mut self.graph;
        let range = *graph.range(node);
        let condition = match condition {
            Condition::Equal(value) if value.is_zero() => Condition::Zero,
            Condition::Equal(value) if value == U256::ONE && range.is_boolean() => Condition::NonZero,
            other => other,
        };
        let certain = match condition {
            Condition::Zero => range.high.is_zero(),
            Condition::NonZero => range.is_nonzero(),
            Condition::Equal(value) => range.as_constant() == Some(value),
        };
        let dropped = Fault::GuardDropped.is_on() && matches!(condition, Condition::Zero) && range.is_boolean();
        if certain || dropped {
            return;
        }
        if let Some(value) = range.as_constant().filter(|value| !condition.holds(*value)) {
            graph.impossible = true;
            debug_assert!(!condition.holds(value));
            return;
        }
        for (part, condition) in simpler_guards(graph, node, condition) {
            if part != node {
                self.guard(part, condition);
            } else {
                self.guards.push((Guard { node, condition }, range.high));
                self.graph.assume(node, condition);
            }
        }
    }

    /// Drop what nothing needs and number the rest anew.
    fn finish(self, outputs: Vec<NodeId>) -> Plan {
        let graph = self.graph;
        let guards = if graph.impossible { Vec::new() } else { self.guards };
        let mut needed = vec![false; graph.nodes.len()];
        for node in guards.iter().map(|(guard, _)| guard.node).chain(outputs.iter().copied()) {
            needed[node as usize] = true;
        }
        for id in (0..graph.nodes.len()).rev() {
            if needed[id] {
                graph.nodes[id].operands(|operand| needed[operand as usize] = true);
            }
        }
        let mut plan = Plan { impossible: graph.impossible, ..Plan::default() };
        let mut numbers = vec![0; graph.nodes.len()];
        for (id, node) in graph.nodes.iter().enumerate().filter(|(id, _)| needed[*id]) {
            numbers[id] = plan.function.nodes.len() as NodeId;
            plan.function.nodes.push(node.with_operands(|operand| numbers[operand as usize]));
            plan.highs.push(graph.made[id]);
            plan.bounds.push(graph.bounds[id]);
        }
        for (guard, bound) in guards {
            plan.function.guards.push(Guard { node: numbers[guard.node as usize], condition: guard.condition });
            plan.guard_bounds.push(bound);
        }
        for node in outputs {
            plan.function.outputs.push(numbers[node as usize]);
            plan.output_bounds.push(graph.ranges[node as usize].high);
        }
        plan
    }
}

/// The same condition on the words that decide it.
fn simpler_guards(graph: &Graph, node: NodeId, condition: Condition) -> Vec<(NodeId, Condition)> {
    let Node::Pure(opcode, [a, b, _]) = graph.nodes[node as usize] else { return vec![(node, condition)] };
    let boolean = |node: NodeId| graph.range(node).is_boolean();
    match (opcode, condition) {
        (op::ISZERO, Condition::Zero) => vec![(a, Condition::NonZero)],
        (op::ISZERO, Condition::NonZero) => vec![(a, Condition::Zero)],
        (op::EQ, Condition::NonZero) => match graph.as_constant(b) {
            Some(value) => vec![(a, Condition::Equal(value))],
            None => vec![(node, condition)],
        },
        (op::OR, Condition::Zero) => vec![(a, Condition::Zero), (b, Condition::Zero)],
        (op::AND, Condition::NonZero) if boolean(a) && boolean(b) => {
            vec![(a, Condition::NonZero), (b, Condition::NonZero)]
        }
        _ => vec![(node, condition)],
    }
}
