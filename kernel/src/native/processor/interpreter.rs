//! Back end 0: one function a node over blocks of 32 rows, without generated code. The fallback and a second opinion.

use revm::{
    bytecode::opcode as op,
    primitives::{HashMap, U256},
};

use super::{
    kernels::{self, BLOCK, Kernel, Operand, Plane, Planes},
    rows::Rows,
};
use crate::native::ssa::{
    ir::{Condition, Function, Node, NodeId},
    plan::Plan,
    range::limbs,
    reference::evaluate,
};

/// Where the limbs of a node lie, and of what they are computed.
struct Step {
    kernel: Kernel,
    operands: [Operand; 3],
    /// The first plane of the result and how many there are.
    into: usize,
    size: usize,
    detail: kernels::Detail,
}

struct Test {
    value: Operand,
    condition: Condition,
}

/// Fewer rows than this are computed one by one: a block costs the same however many of its rows are used.
const FEW: usize = 8;

/// A plan laid out on planes: 32 rows of one limb each.
pub struct Interpreter {
    loads: Vec<(usize, usize)>,
    steps: Vec<Step>,
    tests: Vec<Test>,
    outputs: Vec<Operand>,
    constants: Vec<(usize, u64)>,
    planes: usize,
    impossible: bool,
    /// What is executed, for a few rows.
    function: Function,
}

/// Gives planes to nodes; plane 0 is zero.
struct Layout {
    planes: usize,
    places: Vec<Operand>,
    values: Vec<Option<U256>>,
    limbs: HashMap<u64, usize>,
    constants: Vec<(usize, u64)>,
}

impl Layout {
    fn constant(&mut self, value: U256) -> Operand {
        value.into_limbs().map(|limb| {
            if limb == 0 {
                return 0;
            }
            *self.limbs.entry(limb).or_insert_with(|| {
                self.constants.push((self.planes, limb));
                self.planes += 1;
                self.planes - 1
            })
        })
    }

    fn fresh(&mut self, size: usize) -> Operand {
        let first = self.planes;
        self.planes += size;
        std::array::from_fn(|limb| if limb < size { first + limb } else { 0 })
    }

    fn as_constant(&self, node: NodeId) -> Option<U256> {
        self.values.get(node as usize).copied().flatten()
    }

    fn operand(&self, node: NodeId) -> Operand {
        self.places.get(node as usize).copied().unwrap_or_default()
    }
}

impl Interpreter {
    pub fn new(plan: &Plan) -> Self {
        let mut layout = Layout {
            planes: 1,
            places: Vec::new(),
            values: Vec::new(),
            limbs: HashMap::default(),
            constants: Vec::new(),
        };
        let (mut loads, mut steps) = (Vec::new(), Vec::new());
        for (at, node) in plan.function.nodes.iter().enumerate() {
            let size = limbs(plan.highs[at]);
            let place = match node {
                Node::Constant(value) => layout.constant(*value),
                Node::Input { word, .. } => {
                    let place = layout.fresh(size);
                    loads.extend((0..size).map(|limb| (place[limb], 4 * *word as usize + limb)));
                    place
                }
                _ => {
                    let place = layout.fresh(size);
                    steps.push(step(node, place[0], size, plan.bounds[at], &layout));
                    place
                }
            };
            layout.places.push(place);
            layout.values.push(if let Node::Constant(value) = node { Some(*value) } else { None });
        }
        let guards = &plan.function.guards;
        Self {
            loads,
            steps,
            tests: guards
                .iter()
                .map(|guard| Test { value: layout.operand(guard.node), condition: guard.condition })
                .collect(),
            outputs: plan.function.outputs.iter().map(|node| layout.operand(*node)).collect(),
            constants: layout.constants,
            planes: layout.planes,
            impossible: plan.impossible,
            function: plan.function.clone(),
        }
    }

    /// Run every row that has no result yet; where all guards hold, its flag becomes `number`.
    pub fn run(&self, rows: &mut Rows<'_>, number: u8) {
        if rows.count < FEW {
            return self.run_singly(rows, number);
        }
        let mut planes: Vec<Plane> = vec![[0; BLOCK]; self.planes];
        for (plane, limb) in &self.constants {
            planes[*plane] = [*limb; BLOCK];
        }
        for first in (0..rows.count).step_by(BLOCK) {
            self.run_block(rows, number, first, &mut planes);
        }
    }

    fn run_singly(&self, rows: &mut Rows<'_>, number: u8) {
        let (words, mut values) = (self.function.input_words(), Vec::new());
        for row in (0..rows.count).filter(|_| !self.impossible) {
            if rows.flags[row] != 0 {
                continue;
            }
            let limbs = &rows.inputs[row * rows.input_stride..][..4 * words];
            let given: Vec<U256> = limbs.chunks_exact(4).map(U256::from_limbs_slice).collect();
            let Some(outputs) = evaluate(&self.function, &given, &mut values) else { continue };
            rows.flags[row] = number;
            for (output, word) in outputs.iter().enumerate() {
                rows.outputs[row * rows.output_stride + 4 * output..][..4].copy_from_slice(word.as_limbs());
            }
        }
    }

    fn run_block(&self, rows: &mut Rows<'_>, number: u8, first: usize, planes: &mut [Plane]) {
        let count = BLOCK.min(rows.count - first);
        let flags = &mut rows.flags[first..first + count];
        if flags.iter().all(|flag| *flag != 0) {
            return;
        }
        for (plane, limb) in &self.loads {
            for (row, place) in planes[*plane].iter_mut().enumerate().take(count) {
                *place = rows.inputs[(first + row) * rows.input_stride + limb];
            }
        }
        for step in &self.steps {
            let (before, rest) = planes.split_at_mut(step.into);
            let result = &mut rest[..step.size];
            (step.kernel)(&mut Planes { before, result, operands: step.operands, detail: &step.detail });
        }
        let mut failed = [u64::from(self.impossible); BLOCK];
        for test in &self.tests {
            check(test, planes, &mut failed);
        }
        for (failed, flag) in failed.iter_mut().zip(flags) {
            *failed |= u64::from(*flag);
            if *failed == 0 {
                *flag = number;
            }
        }
        for (at, output) in self.outputs.iter().enumerate() {
            for (row, _) in failed.iter().enumerate().take(count).filter(|(_, failed)| **failed == 0) {
                for (limb, plane) in output.iter().enumerate() {
                    rows.outputs[(first + row) * rows.output_stride + 4 * at + limb] = planes[*plane][row];
                }
            }
        }
    }
}

/// Note the rows in which a guard fails.
fn check(test: &Test, planes: &[Plane], failed: &mut Plane) {
    let wanted = if let Condition::Equal(value) = test.condition { value.into_limbs() } else { [0; 4] };
    for (row, failed) in failed.iter_mut().enumerate() {
        let mut other = 0;
        for (limb, wanted) in wanted.iter().enumerate() {
            other |= planes[test.value[limb]][row] ^ wanted;
        }
        let zero = test.condition == Condition::NonZero;
        *failed |= u64::from((other == 0) == zero);
    }
}

fn step(node: &Node, into: usize, size: usize, bounds: [U256; 3], layout: &Layout) -> Step {
    let wide = bounds.map(limbs);
    let (kernel, nodes, detail) = match node {
        Node::Pure(opcode, nodes) => {
            let constants = [nodes[0], nodes[1]].map(|node| layout.as_constant(node));
            let (kernel, detail) = pure_kernel(*opcode, size, wide, constants);
            (kernel, *nodes, detail)
        }
        Node::Select(nodes) => (kernels::select as Kernel, *nodes, kernels::Detail::None),
        Node::ProductAbove([a, b], limit) => {
            (kernels::product_above as Kernel, [*a, *b, 0], kernels::Detail::Limit(*limit))
        }
        Node::Keccak(parts) => {
            let parts = parts.iter().map(|part| (part.clone(), kernels::place_of(part, |id| layout.operand(id))));
            (kernels::keccak as Kernel, [0; 3], kernels::Detail::Hash(parts.collect()))
        }
        Node::Input { .. } | Node::Constant(_) => unreachable!("inputs and constants are not computed"),
    };
    let mut operands = nodes.map(|node| layout.operand(node));
    for (operand, limbs) in operands.iter_mut().zip(wide) {
        // Limbs above the bound are zero where it matters.
        operand[limbs..].fill(0);
    }
    Step { kernel, operands, into, size, detail }
}

/// The kernel of a pure instruction, chosen by what is known about its operands.
fn pure_kernel(opcode: u8, size: usize, wide: [usize; 3], [a, b]: [Option<U256>; 2]) -> (Kernel, kernels::Detail) {
    let shift = a.and_then(|by| u32::try_from(by).ok()).filter(|by| *by < 256);
    match (opcode, shift, b.filter(|divisor| !divisor.is_zero())) {
        (op::SHL, Some(by), _) => (kernels::shift_left(size), kernels::Detail::Shift(by)),
        (op::SHR, Some(by), _) => (kernels::shift_right(size), kernels::Detail::Shift(by)),
        (op::DIV, _, Some(divisor)) => {
            let by = divisor.trailing_zeros();
            (kernels::quotient_by, kernels::Detail::Divisor(by as u32, (divisor >> by).into_limbs()))
        }
        _ => (kernels::of_pure(opcode, size, wide), kernels::Detail::Opcode(opcode)),
    }
}
