//! The passes: a function becomes a plan, in which only what a guard or an output needs is computed.

use revm::{
    bytecode::opcode as op,
    primitives::{HashMap, U256},
};

use crate::faults::Fault;

use super::{
    graph::Graph,
    ir::{Condition, Function, Guard, Malformed, Node, NodeId},
    range::{limbs, mask},
    tree::{Branch, End, Tree},
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
    /// How many nodes at the beginning belong to the plan that leads here.
    pub shared: usize,
    /// The number of the leaf, from one; what a row's flag becomes.
    pub number: u8,
    /// How it goes on, instead of outputs.
    pub split: Option<Split>,
}

/// A plan for each value of a node; their nodes go on from those before.
#[derive(Clone, Debug)]
pub struct Split {
    pub node: NodeId,
    pub cases: Vec<(Condition, Plan)>,
}

/// A node that is probably below 2^bits: a guard makes sure of it where that saves limbs.
pub type Likely = (NodeId, u16);

/// Limbs of a quotient that are not worth a guard of their own.
const SHORT: usize = 2;

#[derive(Clone)]
struct Planner<'a> {
    source: &'a [Node],
    likely: HashMap<NodeId, u16>,
    graph: Graph,
    /// The node in the graph for each node of the source.
    made: Vec<Option<NodeId>>,
    guards: Vec<(Guard, U256)>,
}

/// A planned branch, before what nothing needs is dropped.
struct Planned {
    graph: Graph,
    guards: Vec<(Guard, U256)>,
    outputs: Vec<NodeId>,
    split: Option<(NodeId, Vec<(Condition, Planned)>)>,
}

impl Plan {
    /// Optimise a function.
    pub fn new(source: &Function, likely: &[Likely]) -> Result<Self, Malformed> {
        let root = Branch { guards: source.guards.clone(), end: End::Leaf(source.outputs.clone()) };
        Self::of_tree(&Tree { nodes: source.nodes.clone(), root }, likely)
    }

    /// Optimise a tree of paths: each is simplified by what its own conditions say.
    pub fn of_tree(tree: &Tree, likely: &[Likely]) -> Result<Self, Malformed> {
        tree.verify()?;
        let planner = Planner {
            source: &tree.nodes,
            likely: likely.iter().copied().collect(),
            graph: Graph::default(),
            made: vec![None; tree.nodes.len()],
            guards: Vec::new(),
        };
        let planned = planner.branch(&tree.root);
        let mut needed = vec![false; planned.graph.nodes.len()];
        planned.mark(&mut needed);
        let plan = planned.finish(&needed, &Plan::default(), &[], &mut 0);
        plan.verify()?;
        Ok(plan)
    }

    fn verify(&self) -> Result<(), Malformed> {
        self.function.verify()?;
        self.split.iter().flat_map(|split| &split.cases).try_for_each(|(_, plan)| plan.verify())
    }

    /// Each leaf with all that leads to it, without splits: cases become guards.
    pub fn paths(&self) -> Vec<Self> {
        let Some(split) = &self.split else { return vec![self.clone()] };
        let mut found = Vec::new();
        for (condition, case) in &split.cases {
            let mut before = self.function.guards.clone();
            before.push(Guard { node: split.node, condition: *condition });
            for mut path in case.paths() {
                path.function.guards.splice(0..0, before.iter().copied());
                path.impossible |= self.impossible;
                found.push(path);
            }
        }
        found
    }

    /// The most outputs that a leaf has.
    pub fn output_words(&self) -> usize {
        let below = self.split.iter().flat_map(|split| &split.cases).map(|(_, plan)| plan.output_words());
        below.max().unwrap_or(self.function.outputs.len())
    }

    pub fn input_words(&self) -> usize {
        let below = self.split.iter().flat_map(|split| &split.cases).map(|(_, plan)| plan.input_words());
        below.max().unwrap_or_default().max(self.function.input_words())
    }
}

impl Planner<'_> {
    fn branch(mut self, branch: &Branch) -> Planned {
        for guard in &branch.guards {
            let node = self.demand(guard.node);
            self.guard(node, guard.condition);
        }
        match &branch.end {
            End::Leaf(outputs) => {
                let outputs: Vec<NodeId> = outputs.iter().map(|node| self.demand(*node)).collect();
                let outputs = outputs.into_iter().map(|node| self.graph.resolved(node)).collect();
                Planned { graph: self.graph, guards: self.guards, outputs, split: None }
            }
            End::Split(node, cases) => {
                let node = self.demand(*node);
                let cases = cases.iter().map(|(condition, branch)| (*condition, self.case(node, *condition, branch)));
                let cases = cases.collect();
                Planned { graph: self.graph, guards: self.guards, outputs: Vec::new(), split: Some((node, cases)) }
            }
        }
    }

    /// What follows a condition that was tested.
    fn case(&self, node: NodeId, condition: Condition, branch: &Branch) -> Planned {
        let mut case = Planner { guards: Vec::new(), ..self.clone() };
        case.graph.assume(node, condition);
        case.branch(branch)
    }

    /// Make a node and what it needs, by what is certain so far.
    fn demand(&mut self, wanted: NodeId) -> NodeId {
        let mut waiting = vec![wanted];
        while let Some(id) = waiting.last().copied() {
            let node = &self.source[id as usize];
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
                self.guard_operands(id);
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

    /// Make sure of a quotient's or difference's width by its operands, so that no limb above it is computed.
    fn guard_operands(&mut self, source: NodeId) {
        let Some(bits) = self.likely.get(&source).copied().map(usize::from) else { return };
        let Node::Pure(opcode @ (op::DIV | op::SUB), [a, b, _]) = self.source[source as usize] else { return };
        let graph = &mut self.graph;
        let [a, b] = [a, b].map(|operand| graph.resolved(self.made[operand as usize].unwrap_or(0)));
        let (node, size) = (Node::Pure(opcode, [a, b, 0]), limbs(mask(bits)));
        if graph.find(&node).is_some() || size >= limbs(graph.derived(&node).high) {
            return;
        }
        if opcode == op::DIV && graph.range(b).is_nonzero() && limbs(graph.derived(&node).high) > SHORT {
            // a / b < 2^bits is a / 2^bits < b.
            let above = graph.shift(op::SHR, bits, a);
            let short = graph.pure(op::LT, [above, b, 0]);
            self.guard(short, Condition::NonZero);
            self.drop_covered(short, b);
            self.graph.quotients.insert([a, b], bits);
        } else if opcode == op::SUB && graph.range(b).is_positive() && limbs(graph.range(a).high) <= size {
            // Had it wrapped, it would not be short.
            let wraps = graph.pure(op::LT, [a, b, 0]);
            self.guard(wraps, Condition::Zero);
        }
    }

    /// Nothing is below zero: a guard that something is below a divisor says that it is not zero, too.
    fn drop_covered(&mut self, below: NodeId, divisor: NodeId) {
        let covers = Guard { node: below, condition: Condition::NonZero };
        let compared = matches!(self.graph.nodes[below as usize], Node::Pure(op::LT, [_, of, _]) if of == divisor);
        if compared && self.guards.last().is_some_and(|(guard, _)| *guard == covers) {
            self.guards.retain(|(guard, _)| *guard != Guard { node: divisor, condition: Condition::NonZero });
        }
    }

    fn guard_width(&mut self, source: NodeId, node: NodeId) {
        let Some(bits) = self.likely.get(&source).copied().map(usize::from) else { return };
        // A quotient was looked at before it was made.
        let is_quotient = matches!(self.source[source as usize], Node::Pure(op::DIV, _));
        if !is_quotient && limbs(mask(bits)) < limbs(self.graph.range(node).high) {
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
}

impl Planned {
    /// Mark what this branch needs of its nodes, those below included.
    fn mark(&self, needed: &mut [bool]) {
        let guards = self.guards.iter().filter(|_| !self.graph.impossible).map(|(guard, _)| guard.node);
        let split = self.split.iter().map(|(node, _)| *node);
        for node in guards.chain(self.outputs.iter().copied()).chain(split) {
            needed[node as usize] = true;
        }
        for (_, case) in self.split.iter().flat_map(|(_, cases)| cases) {
            let mut all = vec![false; case.graph.nodes.len()];
            case.mark(&mut all);
            needed.iter_mut().zip(all).for_each(|(needed, below)| *needed |= below);
        }
        for id in (0..self.graph.nodes.len()).rev() {
            if needed[id] {
                self.graph.nodes[id].operands(|operand| needed[operand as usize] = true);
            }
        }
    }

    /// Drop what nothing needs and number the rest anew, after the `numbers` of the nodes before.
    fn finish(&self, needed: &[bool], before: &Plan, numbers: &[NodeId], leaves: &mut u8) -> Plan {
        let graph = &self.graph;
        let mut plan = Plan {
            function: Function { nodes: before.function.nodes.clone(), ..Function::default() },
            highs: before.highs.clone(),
            bounds: before.bounds.clone(),
            impossible: graph.impossible,
            shared: before.function.nodes.len(),
            ..Plan::default()
        };
        let mut numbers = numbers.to_vec();
        let known = numbers.len();
        numbers.resize(graph.nodes.len(), 0);
        for (id, node) in graph.nodes.iter().enumerate().skip(known).filter(|(id, _)| needed[*id]) {
            numbers[id] = plan.function.nodes.len() as NodeId;
            plan.function.nodes.push(node.with_operands(|operand| numbers[operand as usize]));
            plan.highs.push(graph.made[id]);
            plan.bounds.push(graph.bounds[id]);
        }
        for (guard, bound) in self.guards.iter().filter(|_| !graph.impossible) {
            plan.function.guards.push(Guard { node: numbers[guard.node as usize], condition: guard.condition });
            plan.guard_bounds.push(*bound);
        }
        for node in &self.outputs {
            plan.function.outputs.push(numbers[*node as usize]);
            plan.output_bounds.push(graph.ranges[*node as usize].high);
        }
        let Some((node, cases)) = &self.split else {
            *leaves += 1;
            plan.number = *leaves;
            return plan;
        };
        let cases = cases.iter().map(|(condition, case)| {
            let mut all = vec![false; case.graph.nodes.len()];
            case.mark(&mut all);
            (*condition, case.finish(&all, &plan, &numbers, leaves))
        });
        let split = Split { node: numbers[*node as usize], cases: cases.collect() };
        plan.split = Some(split);
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
