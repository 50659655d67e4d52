//! A recorded path as machine code: all its guards and results in one function over the words of a row.

use revm::{
    bytecode::opcode as op,
    primitives::{HashMap, U256},
};

use crate::{
    native::{
        executable::Executable,
        ir::{Builder, Condition, Function, NodeId, Part},
        likely::likely_bounds,
        rows::Rows,
    },
    trace::{Expression, Graph, Guard, Node, Surroundings, Text, Values},
};

/// Rows whose values say how wide the words of a path are.
const SAMPLES: usize = 16;

/// A path on its way to code: it collects rows first.
pub struct Draft {
    function: Function,
    /// What the function reads: expressions that have their value before it runs.
    leaves: Vec<Node>,
    /// What must be computed for that, operands first.
    before: Vec<Node>,
    /// What the function's outputs are the values of.
    results: Vec<Node>,
    rows: Vec<Vec<U256>>,
}

/// A path as code.
pub struct Code {
    executable: Executable,
    leaves: Vec<Node>,
    before: Vec<Node>,
    results: Vec<Node>,
}

/// Whether an expression is read rather than computed.
fn is_leaf(expression: &Expression) -> bool {
    use Expression::{Account, Block, Input, Place, Slot};
    matches!(expression, Input(_) | Block(_) | Place(..) | Slot(..) | Account(..))
}

/// All that `wanted` is made of, operands first; `below` says whether to look behind leaves too.
fn cone(graph: &Graph, wanted: impl IntoIterator<Item = Node>, below: bool) -> Vec<Node> {
    let mut open: Vec<Node> = wanted.into_iter().collect();
    let mut found = std::collections::BTreeSet::new();
    while let Some(node) = open.pop() {
        if found.insert(node) && (below || !is_leaf(graph.expression(node))) {
            graph.operands(node, |operand| open.push(operand));
        }
    }
    found.into_iter().collect()
}

impl Draft {
    pub fn new(graph: &Graph, guards: &[(Guard, U256)], results: &[Node]) -> Self {
        let mut results = results.to_vec();
        results.sort_unstable();
        results.dedup();
        results.retain(|node| graph.as_constant(*node).is_none());
        let nodes = cone(graph, guards.iter().map(|(guard, _)| guard.node).chain(results.iter().copied()), false);
        let mut maker = Maker { graph, builder: Builder::new(), made: HashMap::default() };
        let leaves: Vec<Node> = nodes.iter().copied().filter(|node| is_leaf(graph.expression(*node))).collect();
        for (word, leaf) in leaves.iter().enumerate() {
            let id = maker.builder.input(word as u32);
            maker.made.insert(*leaf, id);
        }
        for node in &nodes {
            maker.make(*node);
        }
        for (guard, value) in guards {
            let condition = match (guard.only_truth, value.is_zero()) {
                (true, true) => Condition::Zero,
                (true, false) => Condition::NonZero,
                (false, _) => Condition::Equal(*value),
            };
            maker.builder.guard(maker.made[&guard.node], condition);
        }
        for result in &results {
            maker.builder.output(maker.made[result]);
        }
        let keyed = |node: &Node| matches!(graph.expression(*node), Expression::Slot(..) | Expression::Account(..));
        let before = cone(graph, leaves.iter().copied().filter(keyed), true);
        Self { function: maker.builder.finish(), leaves, before, results, rows: Vec::new() }
    }

    /// Note the values of a row that has taken the path; true when there are enough of them.
    pub fn sample(&mut self, values: &Values) -> bool {
        self.rows.push(self.leaves.iter().map(|leaf| values.get(*leaf)).collect());
        self.rows.len() >= SAMPLES
    }

    pub fn compile(self) -> Option<Code> {
        let Self { function, leaves, before, results, rows } = self;
        let executable = Executable::new(&function, &likely_bounds(&function, &rows)).ok()?;
        let outputs = executable.output_words;
        (outputs == results.len()).then_some(Code { executable, leaves, before, results })
    }
}

/// Builds the function of a path from the expressions of its graph.
struct Maker<'a> {
    graph: &'a Graph,
    builder: Builder,
    made: HashMap<Node, NodeId>,
}

impl Maker<'_> {
    fn make(&mut self, node: Node) {
        if self.made.contains_key(&node) {
            return;
        }
        let id = match self.graph.expression(node) {
            Expression::Constant(value) => self.builder.constant(*value),
            Expression::Pure(opcode, nodes) => {
                let nodes = nodes.map(|node| self.id(node));
                self.builder.pure(*opcode, nodes)
            }
            Expression::Select(nodes) => {
                let [condition, a, b] = nodes.map(|node| self.id(node));
                self.builder.select(condition, a, b)
            }
            Expression::Assembled(text) => self.assemble(text),
            Expression::Hash(text) => self.hash(text),
            // Leaves are inputs, and were made first.
            _ => return,
        };
        self.made.insert(node, id);
    }

    fn id(&mut self, node: Node) -> NodeId {
        match self.made.get(&node) {
            Some(id) => *id,
            None => self.builder.constant(self.graph.as_constant(node).unwrap_or_default()),
        }
    }

    /// A word of pieces of words: each is cut out and put in its place.
    fn assemble(&mut self, text: &Text) -> NodeId {
        let zero = self.builder.constant(U256::ZERO);
        let mut whole = self.builder.constant(U256::from_be_slice(&text.bytes));
        for part in &text.parts {
            let (from, length, at) = (usize::from(part.from), usize::from(part.length), part.at as usize);
            let down = self.builder.constant(U256::from(8 * (32 - from - length)));
            let mask = self.builder.constant(U256::MAX >> (256 - 8 * length));
            let up = self.builder.constant(U256::from(8 * (32 - at - length)));
            let word = self.id(part.node);
            let piece = self.builder.pure(op::SHR, [down, word, zero]);
            let piece = self.builder.pure(op::AND, [piece, mask, zero]);
            let piece = self.builder.pure(op::SHL, [up, piece, zero]);
            whole = self.builder.pure(op::OR, [whole, piece, zero]);
        }
        whole
    }

    fn hash(&mut self, text: &Text) -> NodeId {
        let (mut parts, mut at) = (Vec::new(), 0);
        for part in &text.parts {
            if at < part.at as usize {
                parts.push(Part::Bytes(text.bytes[at..part.at as usize].to_vec()));
            }
            parts.push(Part::Word { node: self.id(part.node), from: part.from, length: part.length });
            at = part.at as usize + usize::from(part.length);
        }
        if at < text.bytes.len() {
            parts.push(Part::Bytes(text.bytes[at..].to_vec()));
        }
        self.builder.keccak(parts)
    }
}

impl Code {
    /// Run the path on a row: true, and its results have their values, where all guards hold.
    pub fn run(&self, graph: &Graph, values: &mut Values, surroundings: &mut impl Surroundings) -> bool {
        values.grow(graph);
        if self.before.iter().any(|node| graph.evaluate(*node, values, surroundings).is_err()) {
            return false;
        }
        let mut inputs = std::mem::take(&mut values.inputs);
        inputs.clear();
        for leaf in &self.leaves {
            let word = match graph.expression(*leaf) {
                Expression::Input(at) => surroundings.input(*at),
                Expression::Block(field) => surroundings.block(*field),
                Expression::Place(number, account, key) => match surroundings.place(*number, *account, *key) {
                    Ok(word) => word,
                    Err(_) => break,
                },
                _ => values.get(*leaf),
            };
            inputs.extend_from_slice(word.as_limbs());
        }
        let complete = inputs.len() == 4 * self.leaves.len();
        let mut flag = [0];
        values.outputs.resize(4 * self.results.len(), 0);
        if complete {
            self.executable.run(&mut Rows {
                inputs: &inputs,
                outputs: &mut values.outputs,
                flags: &mut flag,
                count: 1,
                input_stride: 4 * self.leaves.len(),
                output_stride: 4 * self.results.len(),
            });
        }
        values.inputs = inputs;
        if flag == [1] {
            values.take_outputs(&self.results);
        }
        flag == [1]
    }
}
