//! A recorded path as machine code: all its guards and results in one function over the words of a row.

use revm::{
    bytecode::opcode as op,
    primitives::{Address, HashMap, U256},
};

use crate::{
    native::{
        processor::{executable::Executable, rows::Rows},
        ssa::{
            ir::{Builder, Condition, Function, NodeId, Part},
            likely::likely_bounds,
        },
    },
    trace::{BlockField, Ending, Expression, Graph, Guard, Node, Surroundings, Text, Values},
};

/// Rows whose values say how wide the words of a path are.
const SAMPLES: usize = 24;

/// A path on its way to code: it collects rows first.
pub struct Draft {
    function: Function,
    /// What the function reads: expressions that have their value before it runs.
    leaves: Vec<Node>,
    reads: Reads,
    ending: Ending,
    constants: Vec<U256>,
    rows: Vec<Vec<U256>>,
    sampled: usize,
}

/// Where the function's inputs come from: the number of the input, and what it is.
#[derive(Default)]
pub struct Reads {
    words: usize,
    holes: Vec<(u32, u32)>,
    blocks: Vec<(u32, BlockField)>,
    places: Vec<(u32, u32)>,
    /// Accounts and keys of those places.
    slots: Vec<(Address, U256)>,
    keyed: Vec<(u32, Node)>,
    /// What keys of slots are computed from.
    keys: Graph,
    /// Expressions of `keys`, operands first.
    schedule: Vec<Node>,
}

/// A path as code. It stands alone: what it needs of its site's graph is copied.
pub struct Code {
    executable: Executable,
    reads: Reads,
    /// How the path ends, over the function's outputs and then the constants.
    pub ending: Ending,
    constants: Vec<U256>,
}

/// Room for one call: what keys are made of, the function's inputs, and the words that an ending is over.
#[derive(Default)]
pub struct Room {
    keys: Values,
    pub inputs: Vec<u64>,
    pub words: Values,
}

/// Whether an expression is read rather than computed.
pub fn is_leaf(expression: &Expression) -> bool {
    use Expression::{Account, Block, Input, Place, Slot};
    matches!(expression, Input(_) | Block(_) | Place(..) | Slot(..) | Account(..))
}

/// All that `wanted` is made of, operands first; `below` says whether to look behind leaves too.
pub fn cone(graph: &Graph, wanted: impl IntoIterator<Item = Node>, below: bool) -> Vec<Node> {
    let mut open: Vec<Node> = wanted.into_iter().collect();
    let mut found = std::collections::BTreeSet::new();
    while let Some(node) = open.pop() {
        if found.insert(node) && (below || !is_leaf(graph.expression(node))) {
            graph.operands(node, |operand| open.push(operand));
        }
    }
    found.into_iter().collect()
}

impl Reads {
    pub fn new(graph: &Graph, leaves: &[Node]) -> Self {
        let keyed = |node: &Node| matches!(graph.expression(*node), Expression::Slot(..) | Expression::Account(..));
        let before = cone(graph, leaves.iter().copied().filter(keyed), true);
        let (keys, numbers) = graph.part(&before);
        let schedule = before.iter().map(|node| numbers[node]).collect();
        let mut reads = Self { words: leaves.len(), keys, schedule, ..Self::default() };
        for (word, node) in (0..).zip(leaves) {
            match graph.expression(*node) {
                Expression::Input(at) => reads.holes.push((word, *at)),
                Expression::Block(field) => reads.blocks.push((word, *field)),
                Expression::Place(number, account, key) => {
                    reads.places.push((word, *number));
                    reads.slots.push((*account, *key));
                }
                _ => reads.keyed.push((word, numbers[node])),
            }
        }
        reads
    }

    /// Words of a row.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Whether a row's plane has all that is read, besides its inputs and its block.
    pub fn is_plain(&self) -> bool {
        self.schedule.is_empty()
    }

    /// Read the inputs of a row; false if only the interpreter can.
    pub fn gather(&self, room: &mut Room, row: &mut impl Surroundings) -> bool {
        self.gather_at(0, room, row)
    }

    /// The same for one of several rows, which lie one behind the other.
    pub fn gather_at(&self, at: usize, room: &mut Room, row: &mut impl Surroundings) -> bool {
        let Room { keys, inputs, .. } = room;
        let size = 4 * self.words;
        if inputs.len() < size * (at + 1) {
            inputs.resize(size * (at + 1), 0);
        }
        if !self.schedule.is_empty() {
            keys.words.clear();
            keys.grow(&self.keys);
            if self.schedule.iter().any(|node| self.keys.evaluate(*node, keys, row).is_err()) {
                return false;
            }
        }
        let (words, _) = inputs[size * at..].as_chunks_mut::<4>();
        for ((word, number), (account, key)) in self.places.iter().zip(&self.slots) {
            match row.place(*number, *account, *key) {
                Ok(value) => words[*word as usize] = *value.as_limbs(),
                Err(_) => return false,
            }
        }
        self.holes.iter().for_each(|(word, at)| words[*word as usize] = *row.input(*at).as_limbs());
        self.blocks.iter().for_each(|(word, field)| words[*word as usize] = *row.block(*field).as_limbs());
        self.keyed.iter().for_each(|(word, node)| words[*word as usize] = *keys.get(*node).as_limbs());
        true
    }
}

impl Draft {
    pub fn new(graph: &Graph, guards: &[(Guard, U256)], ending: &Ending) -> Self {
        let mut wanted = ending.nodes();
        wanted.sort_unstable();
        wanted.dedup();
        let (fixed, results): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|node| graph.as_constant(*node).is_some());
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
            maker.builder.guard(maker.made[&guard.node], condition(guard, *value));
        }
        for result in &results {
            maker.builder.output(maker.made[result]);
        }
        let order: HashMap<Node, Node> = results.iter().chain(&fixed).copied().zip(0..).collect();
        Self {
            function: maker.builder.finish(),
            reads: Reads::new(graph, &leaves),
            leaves,
            ending: ending.renumbered(|node| order[&node]),
            constants: fixed.iter().filter_map(|node| graph.as_constant(*node)).collect(),
            rows: Vec::new(),
            sampled: 0,
        }
    }

    /// The path as a function of what it reads.
    pub fn into_function(self) -> Function {
        self.function
    }

    /// The same, and the expressions that its inputs are.
    pub fn into_parts(self) -> (Function, Vec<Node>) {
        (self.function, self.leaves)
    }

    /// Note the values of a row that has taken the path; true when there are enough of them.
    ///
    /// `rows` are those noted before.
    pub fn sample(&mut self, values: &Values, rows: &mut Vec<Vec<U256>>) -> bool {
        if self.sampled < SAMPLES {
            self.sampled += 1;
            rows.push(self.leaves.iter().map(|leaf| values.get(*leaf)).collect());
        }
        if self.sampled == SAMPLES {
            self.rows.clone_from(rows);
        }
        self.sampled == SAMPLES
    }

    /// The draft for rows that were noted before; none where they are of another path.
    pub fn sampled_by(mut self, rows: &[Vec<U256>]) -> Option<Self> {
        if rows.iter().any(|row| row.len() != self.leaves.len()) {
            return None;
        }
        self.rows = rows.to_vec();
        self.sampled = SAMPLES;
        Some(self)
    }

    pub fn compile(self) -> Option<Code> {
        let Self { function, reads, ending, constants, rows, .. } = self;
        let executable = Executable::new(&function, &likely_bounds(&function, &rows)).ok()?;
        (executable.output_words == function.outputs.len()).then_some(Code { executable, reads, ending, constants })
    }
}

/// What a guard asks of its node.
pub fn condition(guard: &Guard, value: U256) -> Condition {
    match (guard.only_truth, value.is_zero()) {
        (true, true) => Condition::Zero,
        (true, false) => Condition::NonZero,
        (false, _) => Condition::Equal(value),
    }
}

/// Builds the function of a path from the expressions of its graph.
pub struct Maker<'a> {
    pub graph: &'a Graph,
    pub builder: Builder,
    pub made: HashMap<Node, NodeId>,
}

impl Maker<'_> {
    pub fn make(&mut self, node: Node) {
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
    /// Run the path on a row: true, and the words of its ending have their values, where all guards hold.
    pub fn run(&self, room: &mut Room, row: &mut impl Surroundings) -> bool {
        if !self.reads.gather(room, row) {
            return false;
        }
        let (results, mut flag) = (self.executable.output_words, [0]);
        let words = &mut room.words.words;
        words.clear();
        words.resize(results, U256::ZERO);
        self.executable.run(&mut Rows {
            inputs: &room.inputs,
            outputs: limbs(words),
            flags: &mut flag,
            count: 1,
            input_stride: room.inputs.len(),
            output_stride: 4 * results,
        });
        if flag != [1] {
            return false;
        }
        words.extend_from_slice(&self.constants);
        true
    }
}

/// Words as limbs, lowest first.
pub fn limbs(words: &mut [U256]) -> &mut [u64] {
    let length = 4 * words.len();
    // SAFETY: a word is transparent over its four limbs, and the slice is borrowed as long as the words are.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), length) }
}
