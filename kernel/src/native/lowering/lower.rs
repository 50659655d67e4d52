//! From a plan to limbs: every value has as many limbs as its range asks for, guards become bits that must be zero.

use revm::{
    bytecode::opcode as op,
    primitives::{HashMap, HashSet, U256},
};

use super::{
    limbs::{Binary, Helper, Instruction, Limb, Target, Writer, ZERO},
    lower_division::shared_divisors,
};
use crate::native::ssa::{
    ir::{Condition, Node, NodeId, Part},
    peepholes::exponent,
    plan::Plan,
    range::limbs,
};

/// The code of a plan, and the texts of the hashes in it.
pub struct Lowered {
    pub writer: Writer,
    pub texts: Vec<Vec<Part>>,
}

/// What is computed already.
#[derive(Clone, Default)]
pub(super) struct Made {
    /// The limbs of every node.
    values: Vec<Vec<Limb>>,
    /// Reciprocals of divisors, and how far those are shifted up and down.
    pub(super) reciprocals: HashMap<NodeId, [Limb; 4]>,
}

pub(super) struct Lowering<'a> {
    pub(super) plan: &'a Plan,
    pub(super) writer: Writer,
    pub(super) made: Made,
    texts: Vec<Vec<Part>>,
    /// How many nodes and outputs use a node, guards not counted.
    uses: Vec<u32>,
    /// Outputs that are still to be stored, by node.
    outputs: Vec<Vec<usize>>,
    pub(super) shared_divisors: HashSet<NodeId>,
}

/// The limbs of a known word.
pub(super) fn known(value: U256, count: usize) -> Vec<Limb> {
    value.as_limbs().iter().copied().chain(std::iter::repeat(0)).take(count).map(Limb::Known).collect()
}

/// Lower a plan.
pub fn lower(plan: &Plan, target: Target) -> Lowered {
    let writer = Writer { target, ..Writer::default() };
    let mut lowered = Lowered { writer, texts: Vec::new() };
    lower_plan(plan, &mut lowered, &Made::default());
    lowered
}

/// Lower a plan, and another one that is computed after it: the code of the first, and the second with all numbers.
pub fn lower_in_turn(first: &Plan, then: &Plan) -> (Vec<Instruction>, Lowered) {
    let mut lowered = lower(first, Target::Device);
    let code = std::mem::take(&mut lowered.writer.code);
    lower_plan(then, &mut lowered, &Made::default());
    (code, lowered)
}

/// Lower what a plan adds to the values before it, then what follows.
fn lower_plan(plan: &Plan, lowered: &mut Lowered, before: &Made) {
    let count = plan.function.nodes.len();
    let (mut uses, mut outputs, mut guards) = (vec![0; count], vec![Vec::new(); count], vec![Vec::new(); count]);
    count_uses(plan, &mut uses);
    for (at, node) in plan.function.outputs.iter().enumerate() {
        outputs[*node as usize].push(at);
    }
    for (at, guard) in plan.function.guards.iter().enumerate() {
        guards[guard.node as usize].push(at);
    }
    let (writer, texts) = (std::mem::take(&mut lowered.writer), std::mem::take(&mut lowered.texts));
    let shared_divisors = shared_divisors(&plan.function.nodes);
    let mut lowering = Lowering { plan, writer, made: before.clone(), texts, uses, outputs, shared_divisors };
    if plan.impossible {
        lowering.writer.fail(Limb::Known(1));
    }
    for (id, guards) in guards.iter().enumerate() {
        lowering.lower_node(id as NodeId, guards);
    }
    let conditions = lowering.conditions();
    let made = lowering.made;
    *lowered = Lowered { writer: lowering.writer, texts: lowering.texts };
    let Some(split) = &plan.split else { return lowered.writer.code.push(Instruction::End(plan.number)) };
    let before = std::mem::take(&mut lowered.writer.code);
    let mut rest = vec![Instruction::End(0)];
    for (condition, (_, case)) in conditions.into_iter().zip(&split.cases).rev() {
        lower_plan(case, lowered, &made);
        let then = std::mem::take(&mut lowered.writer.code);
        rest = vec![Instruction::Branch { condition, then, otherwise: rest }];
    }
    lowered.writer.code = before;
    lowered.writer.code.append(&mut rest);
}

/// Count what uses each node: nodes and outputs here and below; a guard needs no value unless it is below.
fn count_uses(plan: &Plan, uses: &mut [u32]) {
    let mut add = |node: NodeId| {
        if let Some(count) = uses.get_mut(node as usize) {
            *count += 1;
        }
    };
    plan.function.nodes[plan.shared..].iter().for_each(|node| node.operands(&mut add));
    plan.function.outputs.iter().for_each(|node| add(*node));
    let Some(split) = &plan.split else { return };
    add(split.node);
    let below = split.cases.iter().flat_map(|(_, case)| &case.function.guards);
    below.for_each(|guard| add(guard.node));
    split.cases.iter().for_each(|(_, case)| count_uses(case, uses));
}

impl Lowering<'_> {
    fn lower_node(&mut self, id: NodeId, guards: &[usize]) {
        let at = id as usize;
        if at < self.plan.shared {
            return self.finish_node(id, guards);
        }
        // A comparison that only a guard needs is not made a number first.
        let mut open = guards.to_vec();
        if self.uses[at] == 0 {
            open.retain(|guard| !self.fused(id, self.plan.function.guards[*guard].condition));
        }
        if self.uses[at] == 0 && open.is_empty() {
            return self.made.values.push(Vec::new());
        }
        let size = limbs(self.plan.highs[at]);
        let mut value = self.value_of(id, size);
        value.resize(size, ZERO);
        self.made.values.push(value);
        self.finish_node(id, &open);
    }

    /// Test the guards on a value and store the outputs that it is.
    fn finish_node(&mut self, id: NodeId, guards: &[usize]) {
        for guard in guards {
            self.test(id, *guard);
        }
        for output in std::mem::take(&mut self.outputs[id as usize]) {
            let value = self.sized(id, limbs(self.plan.output_bounds[output]));
            for limb in 0..4 {
                self.writer.store(4 * output + limb, value.get(limb).copied().unwrap_or(ZERO));
            }
        }
    }

    /// The lowest limbs of a node, or zeros above those it has.
    pub(super) fn sized(&self, node: NodeId, count: usize) -> Vec<Limb> {
        let mut value = self.made.values[node as usize].clone();
        value.resize(count, ZERO);
        value
    }

    /// An operand, with the limbs that this node sees of it.
    pub(super) fn operand(&self, id: NodeId, which: usize, node: NodeId) -> Vec<Limb> {
        let count = limbs(self.plan.bounds[id as usize][which]).min(self.made.values[node as usize].len());
        self.sized(node, count)
    }

    pub(super) fn bound(&self, id: NodeId, which: usize) -> U256 {
        self.plan.bounds[id as usize][which]
    }

    pub(super) fn as_constant(&self, node: NodeId) -> Option<U256> {
        match self.plan.function.nodes[node as usize] {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    fn value_of(&mut self, id: NodeId, size: usize) -> Vec<Limb> {
        let plan = self.plan;
        match &plan.function.nodes[id as usize] {
            Node::Input { word, .. } => (0..size).map(|limb| self.writer.load(4 * *word as usize + limb)).collect(),
            Node::Constant(value) => known(*value, size),
            Node::Pure(opcode, arguments) => self.pure(id, *opcode, *arguments, size),
            Node::Keccak(parts) => {
                let (mut text, mut arguments) = (Vec::new(), Vec::new());
                for part in parts {
                    text.push(match part {
                        Part::Bytes(bytes) => Part::Bytes(bytes.clone()),
                        Part::Word { node, from, length } => {
                            arguments.extend(self.sized(*node, 4));
                            Part::Word { node: arguments.len() as u32 / 4 - 1, from: *from, length: *length }
                        }
                    });
                }
                self.texts.push(text);
                self.writer.call(Helper::Keccak(self.texts.len() as u32 - 1), arguments, 4)
            }
            Node::Select([condition, then, otherwise]) => {
                let condition = self.operand(id, 0, *condition);
                let condition = self.writer.any(&condition);
                let (then, otherwise) = (self.operand(id, 1, *then), self.operand(id, 2, *otherwise));
                self.selected(condition, &then, &otherwise, size)
            }
            Node::ProductAbove([a, b], limit) => {
                let above = self.product_above(id, [*a, *b], *limit);
                let above = self.writer.any(&above);
                vec![self.writer.is_set(above)]
            }
        }
    }

    pub(super) fn selected(&mut self, condition: Limb, a: &[Limb], b: &[Limb], size: usize) -> Vec<Limb> {
        let at = |limbs: &[Limb], at: usize| limbs.get(at).copied().unwrap_or(ZERO);
        (0..size).map(|limb| self.writer.select(condition, at(a, limb), at(b, limb))).collect()
    }

    /// Limbs that are zero unless the product is above the limit.
    fn product_above(&mut self, id: NodeId, [a, b]: [NodeId; 2], limit: U256) -> Vec<Limb> {
        let (a, b) = (self.operand(id, 0, a), self.operand(id, 1, b));
        let product = self.multiply(&a, &b, a.len() + b.len());
        // Above 2^k - 1 is to have a bit from k on.
        let power = if limit == U256::MAX { Some(256) } else { exponent(limit + U256::ONE) };
        match power {
            Some(by) => self.shifted_right(&product, by),
            None => vec![self.writer.less(&known(limit, product.len().max(4)), &product)],
        }
    }

    /// Turn a guard on a node that nothing else needs into bits; false if there is no such form.
    fn fused(&mut self, id: NodeId, condition: Condition) -> bool {
        let plan = self.plan;
        let Some(wanted) = (match condition {
            Condition::Zero => Some(false),
            Condition::NonZero => Some(true),
            Condition::Equal(_) => None,
        }) else {
            return false;
        };
        match plan.function.nodes[id as usize] {
            Node::Pure(op::EQ, [a, b, _]) if wanted => {
                let (a, b) = (self.operand(id, 0, a), self.operand(id, 1, b));
                self.fail_unless_equal(&a, &b);
                true
            }
            Node::Pure(op::LT, [a, b, _]) => {
                let power = self.as_constant(b).and_then(exponent);
                let (a, b) = (self.operand(id, 0, a), self.operand(id, 1, b));
                match power {
                    Some(by) if wanted => {
                        let above = self.shifted_right(&a, by);
                        above.into_iter().for_each(|limb| self.writer.fail(limb));
                    }
                    _ => {
                        let less = self.writer.less(&a, &b);
                        let flipped = if wanted { self.writer.xor(less, Limb::Known(1)) } else { less };
                        self.writer.fail(flipped);
                    }
                }
                true
            }
            Node::ProductAbove(factors, limit) if !wanted => {
                let above = self.product_above(id, factors, limit);
                above.into_iter().for_each(|limb| self.writer.fail(limb));
                true
            }
            _ => false,
        }
    }

    fn fail_unless_equal(&mut self, a: &[Limb], b: &[Limb]) {
        for limb in 0..a.len().max(b.len()) {
            let at = |limbs: &[Limb]| limbs.get(limb).copied().unwrap_or(ZERO);
            let different = self.writer.xor(at(a), at(b));
            self.writer.fail(different);
        }
    }

    /// A guard on the value of a node.
    fn test(&mut self, id: NodeId, guard: usize) {
        let bound = self.plan.guard_bounds[guard];
        let value = self.sized(id, limbs(bound).min(self.made.values[id as usize].len()));
        match self.plan.function.guards[guard].condition {
            Condition::Zero => value.into_iter().for_each(|limb| self.writer.fail(limb)),
            Condition::NonZero => {
                let any = self.writer.any(&value);
                let zero = self.writer.is_zero(any);
                self.writer.fail(zero);
            }
            Condition::Equal(wanted) => self.fail_unless_equal(&value, &known(wanted, 4)),
        }
    }

    /// For each case of a split, a limb that is not zero where its condition holds.
    fn conditions(&mut self) -> Vec<Limb> {
        let Some(split) = &self.plan.split else { return Vec::new() };
        let value = self.made.values[split.node as usize].clone();
        let mut conditions = Vec::new();
        for (condition, _) in &split.cases {
            conditions.push(match condition {
                Condition::Zero => self.equal(&value, &[]),
                Condition::NonZero => self.writer.any(&value),
                Condition::Equal(wanted) => self.equal(&value, &known(*wanted, 4)),
            });
        }
        conditions
    }

    /// Whether all limbs of both numbers are equal, as a bit.
    pub(super) fn equal(&mut self, a: &[Limb], b: &[Limb]) -> Limb {
        let mut different = ZERO;
        for limb in 0..a.len().max(b.len()) {
            let at = |limbs: &[Limb]| limbs.get(limb).copied().unwrap_or(ZERO);
            let both = self.writer.xor(at(a), at(b));
            different = self.writer.or(different, both);
        }
        self.writer.is_zero(different)
    }

    /// Call the kernel's own instruction.
    pub(super) fn called(&mut self, opcode: u8, arguments: [NodeId; 3], count: usize) -> Vec<Limb> {
        let limbs = arguments.iter().take(count).flat_map(|node| self.sized(*node, 4)).collect();
        self.writer.call(Helper::Pure(opcode), limbs, 4)
    }

    pub(super) fn bitwise(&mut self, binary: Binary, a: &[Limb], b: &[Limb], size: usize) -> Vec<Limb> {
        let at = |limbs: &[Limb], at: usize| limbs.get(at).copied().unwrap_or(ZERO);
        (0..size).map(|limb| self.writer.binary(binary, at(a, limb), at(b, limb))).collect()
    }
}
