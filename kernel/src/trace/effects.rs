//! Effects of a transaction while it is recorded: its view of storage, its writes and its logs.

use revm::{
    bytecode::opcode as op,
    interpreter::{
        Interpreter,
        interpreter_types::{InputsTr, Jumps},
    },
    primitives::{Address, HashMap, HashSet, U256},
};

use crate::faults::Fault;

use super::{
    course::{Course, Step, Unmodelled},
    diamond::Choice,
    ending::{LogShape, PathGas, Store, Write},
    graph::{BlockField, Expression, Field, Graph, Node, Part, Text, ZERO},
    instructions::{memory, peek},
    places::Places,
    shadow::{Frame, Origin},
    watch::{Fact, Watch},
};

/// More gas than one SSTORE can cost on one row and save on another.
const GAS_OF_STORE: u64 = 22_100;

/// State as it was before the transaction.
pub trait Before {
    fn slot(&mut self, address: Address, key: U256) -> Result<U256, Unmodelled>;
    /// Whether the account has code of its own; not modelled where its code is another account's.
    fn has_code(&mut self, address: Address) -> Result<bool, Unmodelled>;
}

type Place = (Address, U256);

/// A slot that the transaction has looked at: its key, and its value before and now.
#[derive(Clone, Copy)]
pub struct Cell {
    pub key: Node,
    pub original: Node,
    pub current: Node,
}

enum Change {
    Slot(Place, Node),
    Transient(Place, Option<Node>),
}

/// How far the effects had come when a frame began.
#[derive(Clone, Copy, Default)]
pub struct Checkpoint {
    journal: usize,
    stores: usize,
    logs: usize,
}

pub struct Effects<'a> {
    watch: &'a Watch,
    pub places: &'a Places,
    /// What the recording has taken for constant.
    pub folded: HashSet<Fact>,
    pub cells: HashMap<Place, Cell>,
    /// Keys by account, in the order in which they came up.
    pub keys: Vec<(Address, Vec<U256>)>,
    transient: HashMap<Place, Node>,
    journal: Vec<Change>,
    /// What slots held when the transaction began, of those that it has written.
    begun: HashMap<Place, Node>,
    /// Values on the recorded row of what gas depends on.
    pub seen: HashMap<Node, U256>,
    pub stores: Vec<Store>,
    pub exponents: Vec<Node>,
    pub choices: Vec<Choice>,
    pub logs: Vec<LogShape>,
    /// Block number and time, where they are not those that the row began with.
    pub time: Option<[Node; 2]>,
}

impl<'a> Effects<'a> {
    pub fn new(watch: &'a Watch, places: &'a Places) -> Self {
        Self {
            watch,
            places,
            folded: HashSet::default(),
            cells: HashMap::default(),
            keys: Vec::new(),
            transient: HashMap::default(),
            journal: Vec::new(),
            begun: HashMap::default(),
            seen: HashMap::default(),
            stores: Vec::new(),
            exponents: Vec::new(),
            choices: Vec::new(),
            logs: Vec::new(),
            time: None,
        }
    }

    /// The next transaction of the same row: slots stay as they are, all else begins anew.
    pub fn next_transaction(&mut self) {
        if !Fault::TransientSurvives.is_on() {
            self.transient.clear();
        }
        self.journal.clear();
        self.begun.clear();
        self.stores.clear();
        self.exponents.clear();
        self.choices.clear();
        self.logs.clear();
    }

    /// What the transaction has cost so far, of which `spent` is all.
    pub fn gas(&self, spent: u64) -> PathGas {
        PathGas {
            constant: spent,
            stores: self.stores.clone(),
            exponents: self.exponents.clone(),
            choices: self.choices.clone(),
        }
    }

    /// Slots that are left with another expression than they were found with.
    pub fn writes(&self, graph: &Graph) -> Vec<Write> {
        let mut writes = Vec::new();
        for (address, keys) in &self.keys {
            for cell in keys.iter().filter_map(|key| self.cells.get(&(*address, *key))) {
                if cell.current != cell.original {
                    let fixed = graph.as_constant(cell.key);
                    let place = fixed.and_then(|key| self.places.number(*address, key));
                    let Cell { key, original, current: value } = *cell;
                    writes.push(Write { address: *address, key, original, value, place });
                }
            }
        }
        writes
    }

    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { journal: self.journal.len(), stores: self.stores.len(), logs: self.logs.len() }
    }

    /// A frame has reverted: what it did is undone, what it cost stays.
    pub fn undo(&mut self, to: Checkpoint) {
        for change in self.journal.drain(to.journal..).rev() {
            match change {
                Change::Slot(..) if Fault::RevertKeepsWrites.is_on() => {}
                Change::Slot(place, before) => {
                    if let Some(cell) = self.cells.get_mut(&place) {
                        cell.current = before;
                    }
                }
                Change::Transient(place, Some(before)) => {
                    self.transient.insert(place, before);
                }
                Change::Transient(place, None) => {
                    self.transient.remove(&place);
                }
            }
        }
        self.stores[to.stores..].iter_mut().for_each(|store| store.refunds = false);
        self.logs.truncate(to.logs);
    }

    /// Rely on a slot's value, with which all rows began; false where some row has another one.
    fn rely_on_slot(&mut self, account: Address, key: U256) -> bool {
        let facts = [Fact::Slot(account, key), Fact::Storage(account)];
        let constant = facts.iter().all(|fact| self.watch.is_constant(fact));
        if constant {
            self.folded.extend(facts);
        }
        constant
    }

    /// Rely on an account's code, which must be as all rows began with it.
    pub fn rely_on_code(&mut self, address: Address) -> Step {
        let fact = Fact::Code(address);
        if !self.watch.is_constant(&fact) {
            return Err(Unmodelled);
        }
        self.folded.insert(fact);
        Ok(())
    }
}

impl<'a> Course<'a> {
    fn effects(&mut self) -> Result<&mut Effects<'a>, Unmodelled> {
        self.effects.as_mut().ok_or(Unmodelled)
    }

    /// Follow an instruction whose result or effect differs between rows; false if it is none.
    pub fn follow_effect(
        &mut self,
        frame: &mut Frame,
        interpreter: &Interpreter,
        before: &mut impl Before,
    ) -> Result<bool, Unmodelled> {
        let opcode = interpreter.bytecode.opcode();
        let stack = interpreter.stack.data();
        let account = interpreter.input.target_address();
        match opcode {
            op::SLOAD => {
                let key = self.node(self.operand(frame, 0)?, peek(stack, 0))?;
                let current = self.load(account, key, peek(stack, 0), before)?;
                self.replace(frame, 1, current)?;
            }
            op::SSTORE => self.store(frame, account, stack, before)?,
            op::TLOAD | op::TSTORE => self.transient(frame, opcode, account, stack)?,
            op::LOG0..=op::LOG4 => self.log(frame, usize::from(opcode - op::LOG0), account, interpreter)?,
            op::TIMESTAMP | op::NUMBER | op::BASEFEE => {
                let field = match opcode {
                    op::TIMESTAMP => BlockField::Timestamp,
                    op::NUMBER => BlockField::Number,
                    _ => BlockField::BaseFee,
                };
                let node = self.block(field);
                self.replace(frame, 0, node)?;
            }
            op::ORIGIN | op::CALLER if opcode == op::ORIGIN || frame.by_sender => match self.sender {
                Some((sender, _)) => self.replace(frame, 0, sender)?,
                None => return Ok(false),
            },
            // Fees are paid outside the recording.
            op::GASPRICE if self.sender.is_some() => return Err(Unmodelled),
            op::SELFBALANCE => {
                let address = self.graph.constant(U256::from_be_slice(account.as_slice()));
                let node = self.graph.account(Field::Balance, address);
                self.replace(frame, 0, node)?;
            }
            op::BALANCE | op::EXTCODESIZE | op::EXTCODEHASH | op::EXTCODECOPY => {
                let word = peek(stack, 0);
                // Whether an account has been looked at before decides what a look costs: it must be the same one.
                self.require(self.operand(frame, 0)?, word)?;
                let address = Address::from_word(word.into());
                self.look_at(address)?;
                if opcode == op::BALANCE {
                    let node = self.graph.constant(word);
                    let node = self.graph.account(Field::Balance, node);
                    self.replace(frame, 1, node)?;
                    return Ok(true);
                }
                self.effects()?.rely_on_code(address)?;
                // Without code, its hash says whether the account is there at all.
                if !before.has_code(address)? && opcode == op::EXTCODEHASH {
                    return Err(Unmodelled);
                }
                if opcode == op::EXTCODECOPY {
                    return Ok(false);
                }
                frame.stack.pop();
                frame.stack.push(Origin::Constant);
            }
            op::BLOCKHASH => return Err(Unmodelled),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Take words from the stack and put one on.
    fn replace(&mut self, frame: &mut Frame, count: usize, node: Node) -> Step {
        let left = frame.stack.len().checked_sub(count).ok_or(Unmodelled)?;
        frame.stack.truncate(left);
        frame.stack.push(self.origin(node));
        Ok(())
    }

    /// What the block says at this point.
    pub fn block(&mut self, field: BlockField) -> Node {
        match (field, self.effects.as_ref().and_then(|effects| effects.time)) {
            (BlockField::Number, Some([number, _])) => number,
            (BlockField::Timestamp, Some([_, timestamp])) => timestamp,
            _ => self.graph.block(field),
        }
    }

    /// What a slot holds at this point.
    pub fn load(
        &mut self,
        account: Address,
        key: Node,
        value: U256,
        before: &mut impl Before,
    ) -> Result<Node, Unmodelled> {
        let place = self.cell(account, key, value, before)?;
        Ok(self.effects()?.cells.get(&place).ok_or(Unmodelled)?.current)
    }

    /// Write a slot outside a transaction.
    pub fn put(&mut self, account: Address, key: Node, value: U256, new: Node, before: &mut impl Before) -> Step {
        let place = self.cell(account, key, value, before)?;
        self.effects()?.cells.get_mut(&place).ok_or(Unmodelled)?.current = new;
        Ok(())
    }

    /// The slot with this key. Which of the slots so far it is, if any, is the same on the path.
    fn cell(
        &mut self,
        account: Address,
        key: Node,
        value: U256,
        before: &mut impl Before,
    ) -> Result<Place, Unmodelled> {
        let place = (account, value);
        self.pin(key, value)?;
        let key = if self.is_pinned(key) { self.graph.constant(value) } else { key };
        let effects = self.effects()?;
        let at = match effects.keys.iter().position(|(address, _)| *address == account) {
            Some(at) => at,
            None => {
                effects.keys.push((account, Vec::new()));
                effects.keys.len() - 1
            }
        };
        let known = effects.keys[at].1.iter();
        let known: Vec<(U256, Node)> =
            known.filter_map(|value| Some((*value, effects.cells.get(&(account, *value))?.key))).collect();
        if known.iter().any(|(_, other)| *other == key) {
            return Ok(place);
        }
        // One after the other, always in the same order: paths that part do so at the same question.
        for (other_value, other) in known {
            if self.surely_differ(key, other) || Fault::SlotsAlias.is_on() && value != other_value {
                continue;
            }
            self.require_equality(key, other, value == other_value)?;
            if value == other_value {
                return Ok(place);
            }
        }
        self.effects()?.keys[at].1.push(value);
        let fixed = self.graph.as_constant(key).is_some();
        let original = if fixed && self.effects()?.rely_on_slot(account, value) {
            self.graph.constant(before.slot(account, value)?)
        } else if fixed {
            match self.effects()?.places.number(account, value) {
                Some(number) => self.graph.place(number, account, value),
                None => self.graph.slot(account, key),
            }
        } else {
            self.graph.slot(account, key)
        };
        self.effects()?.cells.insert(place, Cell { key, original, current: original });
        Ok(place)
    }

    fn require_equality(&mut self, one: Node, other: Node, equal: bool) -> Step {
        let node = self.graph.pure(op::EQ, [one, other, ZERO]);
        self.require_truth(self.origin(node), U256::from(equal))
    }

    /// Whether two keys differ on every row: constants do, and hashes of different texts do.
    fn surely_differ(&self, one: Node, other: Node) -> bool {
        use Expression::{Constant, Hash};
        match (self.graph.expression(one), self.graph.expression(other)) {
            (Constant(_), Constant(_)) => true,
            (Hash(_), Constant(value)) | (Constant(value), Hash(_)) => value.bit_len() <= 64,
            (Hash(one), Hash(other)) => texts_differ(one, other),
            _ => false,
        }
    }

    fn store(&mut self, frame: &mut Frame, account: Address, stack: &[U256], before: &mut impl Before) -> Step {
        let key = self.node(self.operand(frame, 0)?, peek(stack, 0))?;
        let place = self.cell(account, key, peek(stack, 0), before)?;
        let new = self.node(self.operand(frame, 1)?, peek(stack, 1))?;
        let found = before.slot(account, place.1)?;
        self.gas_varies += GAS_OF_STORE;
        let effects = self.effects()?;
        let cell = effects.cells.get_mut(&place).ok_or(Unmodelled)?;
        let present = std::mem::replace(&mut cell.current, new);
        let original = *effects.begun.entry(place).or_insert(present);
        effects.seen.extend([(original, found), (new, peek(stack, 1))]);
        effects.stores.push(Store { original, present, new, refunds: true });
        effects.journal.push(Change::Slot(place, present));
        frame.stack.truncate(frame.stack.len() - 2);
        Ok(())
    }

    fn transient(&mut self, frame: &mut Frame, opcode: u8, account: Address, stack: &[U256]) -> Step {
        let key = peek(stack, 0);
        self.require(self.operand(frame, 0)?, key)?;
        let place = (account, key);
        if opcode == op::TLOAD {
            let node = self.effects()?.transient.get(&place).copied().unwrap_or(ZERO);
            return self.replace(frame, 1, node);
        }
        let new = self.node(self.operand(frame, 1)?, peek(stack, 1))?;
        let effects = self.effects()?;
        let present = effects.transient.insert(place, new);
        effects.journal.push(Change::Transient(place, present));
        frame.stack.truncate(frame.stack.len() - 2);
        Ok(())
    }

    fn log(&mut self, frame: &mut Frame, topics: usize, address: Address, interpreter: &Interpreter) -> Step {
        let stack = interpreter.stack.data();
        let (at, length) = (self.operand(frame, 0)?, self.operand(frame, 1)?);
        let range = self.range((at, peek(stack, 0)), (length, peek(stack, 1)))?;
        let origins = frame.memory.slice(range.start, range.len());
        let data = origins.text(&memory(interpreter, range), self);
        let mut nodes = Vec::with_capacity(topics);
        for depth in 2..2 + topics {
            nodes.push(self.node(self.operand(frame, depth)?, peek(stack, depth))?);
        }
        self.effects()?.logs.push(LogShape { address, topics: nodes, data });
        frame.stack.truncate(frame.stack.len() - 2 - topics);
        Ok(())
    }
}

/// Whether two texts differ whatever their words are: in length, or in a byte that is constant in both.
fn texts_differ(one: &Text, other: &Text) -> bool {
    let varies = |text: &Text, at: usize| {
        text.parts
            .iter()
            .any(|Part { at: from, length, .. }| (*from as usize..*from as usize + usize::from(*length)).contains(&at))
    };
    one.bytes.len() != other.bytes.len()
        || one
            .bytes
            .iter()
            .zip(&other.bytes)
            .enumerate()
            .any(|(at, (a, b))| a != b && !varies(one, at) && !varies(other, at))
}
