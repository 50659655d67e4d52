//! The paths of a call site as data: what was recorded, what is left of it, and where each guard comes from.

use pyo3::{prelude::*, types::PyDict};
use revm::{
    bytecode::opcode::OpCode,
    primitives::{Address, U256, hex},
};

use super::{code::Draft, paths::Known};
use crate::{
    native::ssa::{
        dump::{function_text, plan_text},
        ir::{Function, Node as Operation},
        plan::Plan,
    },
    trace::{Ending, Expression, Graph, Guard, Node},
};

/// Slots that are named for one guard, and how deep an expression is written out.
const MOST_SLOTS: usize = 8;
const DEPTH: usize = 4;

/// A guard: its condition, the instruction that it comes from, and the slots that it depends on.
pub struct GuardShown {
    condition: String,
    opcode: &'static str,
    contract: Address,
    pc: usize,
    slots: Vec<String>,
}

/// A recorded path.
pub struct PathShown {
    hits: u64,
    is_code: bool,
    instructions: u64,
    success: bool,
    gas: u64,
    /// Operations and guards: as recorded, and after the passes.
    recorded: (usize, usize),
    left: (usize, usize),
    guards: Vec<GuardShown>,
    writes: Vec<String>,
    texts: (String, String),
}

impl PathShown {
    pub fn new(graph: &Graph, known: &Known, ending: &Ending, native: Option<u64>) -> Self {
        let function = Draft::new(graph, known.guards(), ending).into_function();
        let plan = Plan::new(&function, &[]).ok();
        let text = |node: Node| graph.text(node, DEPTH);
        let guards = known.guards().iter().zip(&known.origins().guards);
        Self {
            hits: known.hits() + native.unwrap_or(0),
            is_code: native.is_some(),
            instructions: known.origins().instructions,
            success: ending.success,
            gas: ending.gas.constant,
            recorded: counts(&function),
            left: plan.as_ref().map_or((0, 0), |plan| counts(&plan.function)),
            guards: guards
                .map(|((guard, value), at)| GuardShown {
                    condition: condition(graph, *guard, *value),
                    opcode: OpCode::new(at.opcode).map_or("?", |opcode| opcode.as_str()),
                    contract: at.contract,
                    pc: at.pc,
                    slots: slots(graph, guard.node),
                })
                .collect(),
            writes: ending
                .writes
                .iter()
                .map(|write| format!("slot({}, {}) = {}", write.address, text(write.key), text(write.value)))
                .collect(),
            texts: (function_text(&function), plan.as_ref().map(plan_text).unwrap_or_default()),
        }
    }

    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let path = PyDict::new(py);
        path.set_item("hits", self.hits)?;
        path.set_item("code", self.is_code)?;
        path.set_item("opcodes", self.instructions)?;
        path.set_item("success", self.success)?;
        path.set_item("gas", self.gas)?;
        path.set_item("operations", self.recorded.0)?;
        path.set_item("operations_left", self.left.0)?;
        path.set_item("guards_left", self.left.1)?;
        path.set_item("writes", self.writes)?;
        path.set_item("recorded", self.texts.0)?;
        path.set_item("left", self.texts.1)?;
        let mut guards = Vec::with_capacity(self.guards.len());
        for shown in self.guards {
            let guard = PyDict::new(py);
            guard.set_item("condition", shown.condition)?;
            guard.set_item("opcode", shown.opcode)?;
            guard.set_item("contract", shown.contract.to_checksum(None))?;
            guard.set_item("pc", shown.pc)?;
            guard.set_item("slots", shown.slots)?;
            guards.push(guard);
        }
        path.set_item("guards", guards)?;
        Ok(path)
    }
}

/// A call site and its paths, the most used ones first.
pub struct SiteShown {
    pub to: Address,
    pub sender: Address,
    pub selector: [u8; 4],
    pub paths: Vec<PathShown>,
}

impl SiteShown {
    pub fn new(to: Address, sender: Address, selector: [u8; 4], mut paths: Vec<PathShown>) -> Self {
        paths.sort_by_key(|path| std::cmp::Reverse(path.hits));
        Self { to, sender, selector, paths }
    }

    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let site = PyDict::new(py);
        site.set_item("to", self.to.to_checksum(None))?;
        site.set_item("sender", self.sender.to_checksum(None))?;
        site.set_item("selector", hex::encode_prefixed(self.selector))?;
        let paths: PyResult<Vec<_>> = self.paths.into_iter().map(|path| path.into_python(py)).collect();
        site.set_item("paths", paths?)?;
        Ok(site)
    }
}

fn counts(function: &Function) -> (usize, usize) {
    let computed = |node: &&Operation| !matches!(node, Operation::Constant(_) | Operation::Input { .. });
    (function.nodes.iter().filter(computed).count(), function.guards.len())
}

fn condition(graph: &Graph, guard: Guard, value: U256) -> String {
    let text = graph.text(guard.node, DEPTH);
    match (guard.only_truth, value.is_zero()) {
        (true, true) => format!("{text} = 0"),
        (true, false) => format!("{text} != 0"),
        (false, _) => format!("{text} = {value:#x}"),
    }
}

/// The slots that an expression depends on, in words.
fn slots(graph: &Graph, node: Node) -> Vec<String> {
    let (mut open, mut seen, mut found) = (vec![node], std::collections::BTreeSet::new(), Vec::new());
    while let Some(node) = open.pop() {
        if !seen.insert(node) || found.len() == MOST_SLOTS {
            continue;
        }
        if matches!(graph.expression(node), Expression::Place(..) | Expression::Slot(..)) {
            found.push(graph.text(node, 1));
        }
        graph.operands(node, |operand| open.push(operand));
    }
    found
}
