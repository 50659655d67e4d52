//! Records a whole program on one row: its arithmetic, its time, its slots and its transactions are one path.
//!
//! Slots are followed through all of it, so what one transaction writes is an expression that the next one reads.

use std::collections::{BTreeMap, BTreeSet};

use revm::{
    context::result::ExecutionResult,
    primitives::{Address, HashSet, U256},
};

use super::{
    course::Unmodelled,
    ending::{Ending, PathGas},
    functions::Known,
    gas::Bill,
    graph::{BlockField, Field, Graph, Node, Part, Text, ZERO},
    places::Places,
    recorder::{Below, Recorder},
    shadow::{Bytes, text_of},
    tree::{End, Path},
    watch::{Fact, Watch},
};
use crate::{rows::arithmetic::Function, storage::database::RowDatabase};

/// Follows one row through a program.
pub struct ProgramRecorder<'a> {
    recorder: Recorder<'a>,
    nonces: BTreeMap<Address, u64>,
    touched: BTreeSet<Address>,
    /// Whether the transaction of this operation has run.
    ran: bool,
}

impl<'a> ProgramRecorder<'a> {
    pub fn new(graph: &'a mut Graph, watch: &'a Watch, places: &'a Places) -> Self {
        let recorder = Recorder::of_row(graph, watch, places);
        Self { recorder, nonces: BTreeMap::new(), touched: BTreeSet::new(), ran: false }
    }

    /// The next operation begins.
    pub fn at_rest(&mut self) {
        self.ran = false;
    }

    /// Whether the transaction of this operation has run.
    pub fn has_run(&self) -> bool {
        self.ran
    }

    /// The ether of an account.
    pub fn balance(&mut self, address: U256) -> Node {
        let graph = &mut *self.recorder.course.graph;
        let address = graph.constant(address);
        graph.account(Field::Balance, address)
    }

    /// An input of the program.
    pub fn input(&mut self, index: usize) -> Node {
        self.recorder.course.graph.input(index)
    }

    /// The expression of a word, which is a constant where its value follows from the guards so far.
    pub fn word(&mut self, node: Node, value: U256) -> Known {
        let course = &mut self.recorder.course;
        match course.is_pinned(node) {
            true => (course.graph.constant(value), value),
            false => (node, value),
        }
    }

    pub fn constant(&mut self, value: U256) -> Known {
        (self.recorder.course.graph.constant(value), value)
    }

    pub fn express(&mut self, function: Function, words: &[Known]) -> Result<Node, Unmodelled> {
        self.recorder.course.express(function, words)
    }

    /// The word has this value on the whole path.
    pub fn require(&mut self, (node, value): Known) -> Result<(), Unmodelled> {
        let course = &mut self.recorder.course;
        course.require(course.origin(node), value)
    }

    /// The word is zero, or not zero, on the whole path.
    pub fn require_truth(&mut self, (node, value): Known) -> Result<(), Unmodelled> {
        let course = &mut self.recorder.course;
        course.require_truth(course.origin(node), value)
    }

    pub fn load(&mut self, account: Address, key: Known, database: &mut RowDatabase) -> Result<Node, Unmodelled> {
        self.recorder.course.load(account, key.0, key.1, &mut Below(database))
    }

    pub fn store(
        &mut self,
        account: Address,
        key: Known,
        new: Node,
        database: &mut RowDatabase,
    ) -> Result<(), Unmodelled> {
        self.touched.insert(account);
        self.recorder.course.put(account, key.0, key.1, new, &mut Below(database))
    }

    /// Block number and time.
    pub fn time(&mut self) -> [Node; 2] {
        [BlockField::Number, BlockField::Timestamp].map(|field| self.recorder.course.block(field))
    }

    /// Number and time go on by so much; both have these values now.
    pub fn advance(&mut self, by: [Known; 2], now: [U256; 2]) -> Result<(), Unmodelled> {
        let mut time = self.time();
        for (clock, (by, now)) in time.iter_mut().zip(by.into_iter().zip(now)) {
            let small = self.constant(U256::from(64));
            let above = self.express(Function::ShiftRight, &[by, small])?;
            self.require_truth((above, by.1 >> 64))?;
            *clock = self.express(Function::Add, &[(*clock, now), by])?;
        }
        if let Some(effects) = &mut self.recorder.course.effects {
            effects.time = Some(time);
        }
        Ok(())
    }

    /// The recorder of the next transaction, whose calldata has these words.
    pub fn begin(&mut self, holes: Vec<(usize, Node)>) -> &mut Recorder<'a> {
        self.ran = true;
        self.recorder.begin(holes);
        &mut self.recorder
    }

    /// The transaction has ended like this, before `ended`: the gas that it has used, with the words of its calldata.
    pub fn gas_used(&mut self, result: &ExecutionResult, bill: &Bill, words: &[Known]) -> Result<Node, Unmodelled> {
        self.recorder.gas_used(bill, words, result.is_success())
    }

    /// The transaction has ended like this; returns the first words of its output.
    pub fn ended(
        &mut self,
        result: &ExecutionResult,
        sender: Address,
        touched: Vec<Address>,
        commit: bool,
        words: usize,
    ) -> Result<Vec<Node>, Unmodelled> {
        let origins = self.recorder.ended(commit)?;
        if commit {
            *self.nonces.entry(sender).or_default() += 1;
            self.touched.extend(touched);
        }
        match result {
            ExecutionResult::Success { output, .. } => Ok(self.words(&origins, output.data(), words)),
            ExecutionResult::Revert { .. } => Ok(Vec::new()),
            ExecutionResult::Halt { .. } => Err(Unmodelled),
        }
    }

    fn words(&mut self, origins: &Bytes, output: &[u8], words: usize) -> Vec<Node> {
        let course = &mut self.recorder.course;
        let word = |(at, bytes): (usize, &[u8])| {
            let text = text_of(&origins.word(32 * at), bytes, course);
            course.graph.assembled(text)
        };
        output.chunks_exact(32).take(words).enumerate().map(word).collect()
    }

    /// The path of the row: it ends with these words, and then with the block's number and time. And what it has taken
    /// for constant.
    pub fn finish(mut self, outputs: Option<&[Known]>) -> (Path, HashSet<Fact>) {
        let time = self.time();
        let mut words: Vec<Known> =
            outputs.unwrap_or_default().iter().map(|(node, value)| self.word(*node, *value)).collect();
        words.extend(time.map(|node| (node, U256::ZERO)));
        let course = self.recorder.course;
        let Some(effects) = course.effects.as_ref().filter(|_| outputs.is_some()) else {
            let folded = course.effects.map(|effects| effects.folded).unwrap_or_default();
            return (Path::new(course.guards, course.origins, End::Interpret), folded);
        };
        let mut output = Text { bytes: vec![0; 32 * words.len()], parts: Vec::new() };
        for (place, (node, _)) in words.iter().enumerate() {
            let at = 32 * place;
            match course.graph.as_constant(*node) {
                Some(value) => output.bytes[at..at + 32].copy_from_slice(&value.to_be_bytes::<32>()),
                None => output.parts.push(Part { node: *node, from: 0, length: 32, at: at as u32 }),
            }
        }
        let ending = Ending {
            success: true,
            ran: true,
            output,
            gas: PathGas::default(),
            writes: effects.writes(course.graph),
            logs: Vec::new(),
            touched: self.touched.into_iter().collect(),
            nonces: self.nonces.into_iter().collect(),
        };
        let folded = effects.folded.clone();
        (Path::new(course.guards, course.origins, End::Transaction(Box::new(ending))), folded)
    }
}

/// The expression of a register that nothing was written to.
pub const UNWRITTEN: Node = ZERO;
