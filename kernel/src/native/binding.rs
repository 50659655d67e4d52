//! The code generator seen from Python: for tests against Python's integers, and for benchmarks.

use std::{sync::Arc, time::Instant};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
};
use revm::primitives::U256;

use super::{
    processor::{
        executable::{Backend, Executable},
        rows::Rows,
    },
    ssa::{
        dump::{function_text, plan_text},
        ir::{Builder, Condition, Function, Node, NodeId, Part},
        likely::likely_bounds,
        plan::Plan,
        reference::evaluate,
        stored,
    },
};
use crate::{convert::WordArg, trace::arithmetic::takes};

/// Builds a function over words, node by node.
#[pyclass(module = "mayavi._kernel")]
#[derive(Default)]
pub struct NativeBuilder {
    builder: Builder,
    nodes: NodeId,
}

#[derive(FromPyObject)]
enum PartArg {
    Word(NodeId, u8, u8),
    Bytes(Vec<u8>),
}

impl NativeBuilder {
    fn add(&mut self, node: Node) -> PyResult<NodeId> {
        let mut unknown = None;
        node.operands(|operand| unknown = unknown.or((operand >= self.nodes).then_some(operand)));
        if let Some(operand) = unknown {
            return Err(PyIndexError::new_err(format!("no node {operand}; there are {}", self.nodes)));
        }
        let id = self.builder.node(node);
        self.nodes = self.nodes.max(id + 1);
        Ok(id)
    }

    /// Go on with a function.
    pub fn of(function: Function) -> Self {
        Self { nodes: function.nodes.len() as NodeId, builder: Builder::of(function) }
    }

    /// What was built so far.
    pub fn function(&self) -> &Function {
        self.builder.function()
    }

    fn existing(&self, node: NodeId) -> PyResult<NodeId> {
        if node < self.nodes {
            return Ok(node);
        }
        Err(PyIndexError::new_err(format!("no node {node}; there are {}", self.nodes)))
    }
}

#[pymethods]
impl NativeBuilder {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Read a function that `stored` has written.
    #[staticmethod]
    fn read(text: &str) -> PyResult<Self> {
        stored::read(text).map(Self::of).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// What was built so far, as lines that can be read back.
    fn stored(&self) -> String {
        stored::write(self.function())
    }

    /// How many words a row has and gives.
    #[getter]
    fn words(&self) -> (usize, usize) {
        (self.function().input_words(), self.function().outputs.len())
    }

    /// The node that an output is.
    fn output_node(&self, output: usize) -> PyResult<NodeId> {
        let node = self.function().outputs.get(output).copied();
        node.ok_or_else(|| PyIndexError::new_err(format!("no output {output}")))
    }

    #[pyo3(signature = (word, bits=256))]
    fn input(&mut self, word: u32, bits: u16) -> PyResult<NodeId> {
        self.add(Node::Input { word, bits })
    }

    fn constant(&mut self, value: WordArg) -> PyResult<NodeId> {
        self.add(Node::Constant(value.0))
    }

    #[pyo3(signature = (opcode, *arguments))]
    fn pure(&mut self, opcode: u8, arguments: Vec<NodeId>) -> PyResult<NodeId> {
        let wanted =
            takes(opcode).ok_or_else(|| PyValueError::new_err(format!("{opcode:#04x} is not a pure instruction")))?;
        if arguments.len() != wanted {
            return Err(PyValueError::new_err(format!(
                "{opcode:#04x} takes {wanted} operands, got {}",
                arguments.len()
            )));
        }
        let mut kept = [0; 3];
        kept[..wanted].copy_from_slice(&arguments);
        self.add(Node::Pure(opcode, kept))
    }

    fn select(&mut self, condition: NodeId, then: NodeId, otherwise: NodeId) -> PyResult<NodeId> {
        self.add(Node::Select([condition, then, otherwise]))
    }

    /// Hash bytes and (node, from byte, length), one behind the other.
    fn keccak(&mut self, parts: Vec<PartArg>) -> PyResult<NodeId> {
        let part = |part| match part {
            PartArg::Word(node, from, length) => Part::Word { node, from, length },
            PartArg::Bytes(bytes) => Part::Bytes(bytes),
        };
        self.add(Node::Keccak(parts.into_iter().map(part).collect()))
    }

    /// `nonzero` without a value, otherwise equal to it.
    #[pyo3(signature = (node, value=None))]
    fn guard(&mut self, node: NodeId, value: Option<WordArg>) -> PyResult<()> {
        let node = self.existing(node)?;
        let condition = match value {
            None => Condition::NonZero,
            Some(WordArg(value)) if value.is_zero() => Condition::Zero,
            Some(WordArg(value)) => Condition::Equal(value),
        };
        self.builder.guard(node, condition);
        Ok(())
    }

    fn output(&mut self, node: NodeId) -> PyResult<usize> {
        let node = self.existing(node)?;
        Ok(self.builder.output(node))
    }

    /// Compile what was built so far. `sample`: rows that show which values are small.
    #[pyo3(signature = (backend=None, sample=None))]
    fn compile(&self, backend: Option<&str>, sample: Option<PyReadonlyArray2<'_, u64>>) -> PyResult<NativeCode> {
        let function = self.builder.function().clone();
        let (rows, words) = (sample.map_or(Ok(Vec::new()), |rows| words_of(&rows))?, function.input_words());
        if rows.iter().any(|row| row.len() < words) {
            return Err(PyValueError::new_err(format!("rows of at least {words} words are needed")));
        }
        let backend = match backend {
            None => Some(Backend::allowed()),
            Some("machine") => Some(Backend::Machine),
            Some("interpreter") => Some(Backend::Interpreter),
            Some("plain") => None,
            Some(other) => {
                return Err(PyValueError::new_err(format!("no back end '{other}': machine, interpreter, plain")));
            }
        };
        let began = Instant::now();
        let malformed = |error: super::ssa::ir::Malformed| PyValueError::new_err(error.to_string());
        let likely = likely_bounds(&function, &rows);
        let plan = Plan::new(&function, &likely).map_err(malformed)?;
        let executable = backend.map(|backend| Arc::new(Executable::of_plan(&plan, backend)));
        Ok(NativeCode { seconds: began.elapsed().as_secs_f64(), function, plan, executable })
    }
}

/// A compiled function over words.
#[pyclass(module = "mayavi._kernel", frozen)]
pub struct NativeCode {
    function: Function,
    plan: Plan,
    /// None: word by word, as it was built.
    executable: Option<Arc<Executable>>,
    seconds: f64,
}

/// Flags of rows, and their outputs in limbs.
type Found<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray2<u64>>);

#[pymethods]
impl NativeCode {
    #[getter]
    fn backend(&self) -> &'static str {
        match self.executable.as_ref().map(|code| code.backend()) {
            None => "plain",
            Some(Backend::Machine) => "machine",
            Some(Backend::Interpreter) => "interpreter",
        }
    }

    /// Seconds that the passes and the back end took.
    #[getter]
    fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Bytes of machine code.
    #[getter]
    fn size(&self) -> usize {
        self.executable.as_ref().map_or(0, |code| code.size())
    }

    /// Operations and guards that are left.
    #[getter]
    fn counts(&self) -> (usize, usize) {
        let computed = |node: &&Node| !matches!(node, Node::Constant(_) | Node::Input { .. });
        let function = &self.plan.function;
        (function.nodes.iter().filter(computed).count(), function.guards.len())
    }

    /// The function as built, then what is left of it.
    fn text(&self) -> (String, String) {
        (function_text(&self.function), plan_text(&self.plan))
    }

    /// Run rows of words, four limbs each, lowest first.
    fn run<'py>(&self, py: Python<'py>, rows: PyReadonlyArray2<'py, u64>) -> PyResult<Found<'py>> {
        let [count, width] = [rows.shape()[0], rows.shape()[1]];
        let (inputs, outputs) = (self.function.input_words(), self.function.outputs.len());
        if width < 4 * inputs {
            return Err(PyValueError::new_err(format!("rows of {inputs} words are needed, got {width} limbs")));
        }
        let given = rows.as_slice()?;
        let (mut found, mut flags) = (vec![0; 4 * outputs * count], vec![0; count]);
        py.detach(|| match &self.executable {
            Some(executable) => executable.run(&mut Rows {
                inputs: given,
                outputs: &mut found,
                flags: &mut flags,
                count,
                input_stride: width,
                output_stride: 4 * outputs,
            }),
            None => self.run_plainly(given, width, &mut found, &mut flags),
        });
        let found = PyArray1::from_vec(py, found).reshape([count, 4 * outputs])?;
        Ok((PyArray1::from_vec(py, flags), found))
    }
}

impl NativeCode {
    fn run_plainly(&self, given: &[u64], width: usize, found: &mut [u64], flags: &mut [u8]) {
        let (mut row, mut values) = (Vec::new(), Vec::new());
        let outputs = self.function.outputs.len();
        for (at, flag) in flags.iter_mut().enumerate() {
            row.clear();
            row.extend(given[at * width..][..width].chunks_exact(4).map(U256::from_limbs_slice));
            let Some(words) = evaluate(&self.function, &row, &mut values) else { continue };
            *flag = 1;
            for (output, word) in words.iter().enumerate() {
                found[4 * (at * outputs + output)..][..4].copy_from_slice(word.as_limbs());
            }
        }
    }
}

fn words_of(rows: &PyReadonlyArray2<'_, u64>) -> PyResult<Vec<Vec<U256>>> {
    let width = rows.shape()[1].max(4);
    Ok(rows
        .as_slice()?
        .chunks_exact(width)
        .map(|row| row.chunks_exact(4).map(U256::from_limbs_slice).collect())
        .collect())
}
