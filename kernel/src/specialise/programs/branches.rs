//! Paths of a program as one function with branches: a row goes its own way and computes nothing twice.

use std::sync::atomic::AtomicU32;

use revm::{
    context::BlockEnv,
    primitives::{Address, HashMap, U256},
};

use super::running::Row;
use crate::specialise::{
    Specialiser,
    row::raise_nonce,
    sites::code::{Maker, Reads, Room, condition, cone, is_leaf, limbs},
};
use crate::{
    machine::Failure,
    native::{
        processor::{
            executable::{Backend, Executable},
            rows::Rows,
        },
        ssa::{
            ir::{Builder, Guard as NativeGuard, NodeId},
            likely::{Seen, likely_bounds_of_leaves},
            plan::Likely,
            tree::{Branch, End, MOST_LEAVES, Tree},
        },
    },
    storage::overlay,
    trace::{Ending, Fact, Graph, Guard, Node, Surroundings},
};

/// A word of an ending: one that the function makes, or the same on every row.
#[derive(Clone, Copy)]
enum Word {
    Made(u32),
    Fixed(U256),
}

impl Word {
    #[inline]
    fn get(self, made: &[U256]) -> U256 {
        match self {
            Self::Made(at) => made[at as usize],
            Self::Fixed(value) => value,
        }
    }
}

/// A slot that a path may change.
struct Write {
    address: Address,
    key: Word,
    value: Word,
    place: Place,
}

enum Place {
    /// The row's plane has its value.
    Numbered(u32),
    /// It has to be compared with what it was.
    Keyed(Word),
}

/// Where one path ends.
pub struct Leaf {
    pub step: usize,
    /// Its first hits, up to a few.
    pub fresh: AtomicU32,
    nonces: Vec<(Address, u64)>,
    touched: Vec<Address>,
    /// Those accounts and the senders as a mask, where all have numbers.
    accounts: Option<u64>,
    /// Whether it writes nothing but slots with numbers.
    is_plain: bool,
    /// Those that the function makes a value for: the slot's number, which value, and which of the writes it is.
    made: Vec<(u32, u32, u32)>,
    /// Those that get the same value on every row: the slot's number, and which of the writes it is.
    fixed: Vec<(u32, u32)>,
    writes: Vec<Write>,
    /// The words that are handed back, then the block's number and time.
    outputs: Vec<Word>,
}

/// A path that is to be part of the function, and rows that took it.
pub struct Wanted<'a> {
    pub step: usize,
    pub guards: &'a [(Guard, U256)],
    pub ending: &'a Ending,
    /// What the path reads, and its values on rows.
    pub reads: &'a [Node],
    pub rows: &'a [Vec<U256>],
}

/// What a path reads.
pub fn reads_of(graph: &Graph, guards: &[(Guard, U256)], ending: &Ending) -> Vec<Node> {
    let nodes = cone(graph, guards.iter().map(|(guard, _)| guard.node).chain(ending.nodes()), false);
    nodes.into_iter().filter(|node| is_leaf(graph.expression(*node))).collect()
}

/// Paths on their way to code.
pub struct TreeDraft {
    generation: u64,
    tree: Tree,
    likely: Vec<Likely>,
    reads: Reads,
    leaves: Vec<Leaf>,
}

/// Paths as code.
pub struct TreeCode {
    /// How often the paths of its program had been forgotten when it was made.
    pub generation: u64,
    executable: Executable,
    pub reads: Reads,
    pub leaves: Vec<Leaf>,
}

impl TreeDraft {
    /// None where the paths do not belong to one tree.
    pub fn new(all: &Specialiser, graph: &Graph, generation: u64, wanted: &[Wanted<'_>]) -> Option<Self> {
        let mut reads: Vec<Node> = wanted.iter().flat_map(|path| path.reads.iter().copied()).collect();
        reads.sort_unstable();
        reads.dedup();
        let places: HashMap<Node, usize> = reads.iter().copied().zip(0..).collect();
        let mut maker = Maker { graph, builder: Builder::new(), made: HashMap::default() };
        for (word, read) in reads.iter().enumerate() {
            let id = maker.builder.input(word as u32);
            maker.made.insert(*read, id);
        }
        let needed = wanted.iter().flat_map(|path| {
            path.guards.iter().map(|(guard, _)| guard.node).chain(path.ending.nodes()).collect::<Vec<_>>()
        });
        cone(graph, needed, false).into_iter().for_each(|node| maker.make(node));
        let (mut leaves, mut outputs) = (Vec::new(), HashMap::default());
        let mut seen = Vec::new();
        for path in wanted {
            let (leaf, made) = leaf_of(all, graph, path, &maker.made);
            let row = |values: &Vec<U256>| {
                let mut row = vec![U256::ZERO; reads.len()];
                path.reads.iter().zip(values).for_each(|(read, value)| row[places[read]] = *value);
                row
            };
            let guards = path.guards.iter().map(|(guard, value)| native_guard(guard, *value, &maker.made)).collect();
            seen.push(Seen { guards, outputs: made.clone(), rows: path.rows.iter().map(row).collect() });
            outputs.insert(path.step, (leaf, made));
        }
        let paths: Vec<(&[(Guard, U256)], usize)> = wanted.iter().map(|path| (path.guards, path.step)).collect();
        let root = branch(&paths, 0, &maker.made, &mut outputs, &mut leaves)?;
        let nodes = maker.builder.finish().nodes;
        let likely = likely_bounds_of_leaves(&nodes, &seen);
        Some(Self { generation, tree: Tree { nodes, root }, likely, reads: Reads::new(graph, &reads), leaves })
    }

    pub fn compile(self) -> Option<TreeCode> {
        let Self { generation, tree, likely, reads, leaves } = self;
        let executable = Executable::of_tree(&tree, &likely).ok()?;
        // Interpreted, all paths are gone through one after the other: a row's operations take less.
        if executable.backend() != Backend::Machine {
            return None;
        }
        Some(TreeCode { generation, executable, reads, leaves })
    }
}

pub(super) fn native_guard(guard: &Guard, value: U256, made: &HashMap<Node, NodeId>) -> NativeGuard {
    NativeGuard { node: made[&guard.node], condition: condition(guard, value) }
}

type Made<L> = HashMap<usize, (L, Vec<NodeId>)>;

/// The ways that paths go from their guard `from` on: together as long as their guards say the same.
pub(super) fn branch<L>(
    paths: &[(&[(Guard, U256)], usize)],
    mut from: usize,
    made: &HashMap<Node, NodeId>,
    outputs: &mut Made<L>,
    leaves: &mut Vec<L>,
) -> Option<Branch> {
    let mut guards = Vec::new();
    loop {
        let (first, step) = *paths.first()?;
        let Some((guard, value)) = first.get(from) else {
            // A path that ends here is the only one.
            let (leaf, nodes) = outputs.remove(&step).filter(|_| paths.len() == 1)?;
            leaves.push(leaf);
            return (leaves.len() <= MOST_LEAVES).then_some(Branch { guards, end: End::Leaf(nodes) });
        };
        if paths.iter().any(|(other, _)| other.get(from).is_none_or(|(other, _)| other != guard)) {
            return None;
        }
        if paths.iter().all(|(other, _)| other[from].1 == *value) {
            guards.push(native_guard(guard, *value, made));
            from += 1;
            continue;
        }
        let mut values: Vec<U256> = paths.iter().map(|(other, _)| other[from].1).collect();
        values.sort_unstable();
        values.dedup();
        let mut cases = Vec::new();
        for value in values {
            let those: Vec<_> = paths.iter().copied().filter(|(other, _)| other[from].1 == value).collect();
            cases.push((condition(guard, value), branch(&those, from + 1, made, outputs, leaves)?));
        }
        return Some(Branch { guards, end: End::Split(made[&guard.node], cases) });
    }
}

/// The end of a path, and the nodes that the function makes for it.
fn leaf_of(all: &Specialiser, graph: &Graph, path: &Wanted<'_>, made: &HashMap<Node, NodeId>) -> (Leaf, Vec<NodeId>) {
    let mut nodes: Vec<NodeId> = Vec::new();
    let mut word = |node: Node| match graph.as_constant(node) {
        Some(value) => Word::Fixed(value),
        None => {
            let id = made[&node];
            let at = nodes.iter().position(|known| *known == id).unwrap_or_else(|| {
                nodes.push(id);
                nodes.len() - 1
            });
            Word::Made(at as u32)
        }
    };
    let ending = path.ending;
    let text = &ending.output;
    let mut outputs: Vec<Word> = text.bytes.chunks(32).map(|bytes| Word::Fixed(U256::from_be_slice(bytes))).collect();
    for part in &text.parts {
        outputs[part.at as usize / 32] = word(part.node);
    }
    let writes = ending.writes.iter().map(|write| Write {
        address: write.address,
        key: word(write.key),
        value: word(write.value),
        place: write.place.map_or_else(|| Place::Keyed(word(write.original)), Place::Numbered),
    });
    let writes: Vec<Write> = writes.collect();
    let (mut written, mut fixed) = (Vec::new(), Vec::new());
    for (at, write) in (0..).zip(&writes) {
        match (&write.place, write.value) {
            (Place::Numbered(number), Word::Made(value)) => written.push((*number, value, at)),
            (Place::Numbered(number), Word::Fixed(_)) => fixed.push((*number, at)),
            (Place::Keyed(_), _) => {}
        }
    }
    let leaf = Leaf {
        step: path.step,
        fresh: AtomicU32::default(),
        nonces: ending.nonces.clone(),
        touched: ending.touched.clone(),
        accounts: all.accounts(ending.touched.iter().chain(ending.nonces.iter().map(|(sender, _)| sender))),
        is_plain: ending.writes.iter().all(|write| write.place.is_some()),
        made: written,
        fixed,
        writes,
        outputs,
    };
    (leaf, nodes)
}

impl TreeCode {
    /// Run on a row: the leaf that it comes to, with the function's words in `room`.
    pub fn run(&self, room: &mut Room, row: &mut impl Surroundings) -> Option<&Leaf> {
        if !self.reads.gather(room, row) {
            return None;
        }
        let [leaf] = self.run_gathered(room);
        leaf
    }

    /// Run on the first `N` rows whose inputs are in `room`: the leaves that they come to.
    #[inline]
    pub fn run_gathered<const N: usize>(&self, room: &mut Room) -> [Option<&Leaf>; N] {
        let (results, mut flags) = (self.executable.output_words, [0; N]);
        let words = &mut room.words.words;
        if words.len() < N * results {
            words.resize(N * results, U256::ZERO);
        }
        self.executable.run(&mut Rows {
            inputs: &room.inputs,
            outputs: limbs(&mut words[..N * results]),
            flags: &mut flags,
            count: N,
            input_stride: 4 * self.reads.words(),
            output_stride: 4 * results,
        });
        flags.map(|flag| self.leaves.get(usize::from(flag).checked_sub(1)?))
    }

    /// The function's words of one of the rows that were run together.
    pub fn made<'r>(&self, room: &'r Room, at: usize) -> &'r [U256] {
        &room.words.words[at * self.executable.output_words..]
    }
}

impl Leaf {
    /// Keep what the path leaves: slots, nonces, time and outputs. Every ending has its own number.
    pub fn keep(&self, row: &mut Row<'_>, all: &Specialiser, number: u64, made: &[U256]) -> Result<(), Failure> {
        let database = row.machine.database();
        let missing = |miss| Failure::Missing(vec![miss]);
        for (sender, by) in &self.nonces {
            raise_nonce(database, *sender, *by).map_err(missing)?;
        }
        let there = database.overlay.plane.accounts;
        let settled = match self.accounts {
            Some(accounts) => accounts & !there == 0,
            None => database.overlay.plane.settle(number),
        };
        if !settled {
            for address in &self.touched {
                row.machine.bring_in(*address)?;
            }
            row.machine.overlay().plane.accounts |= self.accounts.unwrap_or(0);
        }
        let overlay = row.machine.overlay();
        for write in &self.writes {
            let value = write.value.get(made);
            let key = write.key.get(made);
            match write.place {
                // What the function has read, or written before, is there.
                Place::Numbered(number) if overlay.plane.get(number) == Some(value) => {}
                Place::Numbered(number) => overlay.set_numbered(Some(number), write.address, key, value),
                Place::Keyed(original) if original.get(made) == value => {}
                Place::Keyed(_) => {
                    all.watch.change([Fact::Slot(write.address, key)]);
                    overlay.set_numbered(all.places.find(write.address, key), write.address, key, value);
                }
            }
        }
        self.tell(row.block, row.outputs, made);
        Ok(())
    }

    /// The same on a row that has all it takes at hand; false, and nothing has happened, where it has not.
    pub fn keep_at_once(&self, row: &mut overlay::Row, outputs: &mut [u8], made: &[U256]) -> bool {
        let overlay = &mut row.overlay;
        let settled = self.accounts.is_some_and(|accounts| accounts & !overlay.plane.accounts == 0);
        if !(self.is_plain && settled) {
            return false;
        }
        for (sender, by) in &self.nonces {
            overlay.raise_nonce(*sender, *by);
        }
        let slot = |at: u32| {
            let write = &self.writes[at as usize];
            (write.address, write.key.get(made))
        };
        for (number, value, at) in &self.made {
            overlay.plane.change(*number, &made[*value as usize], || slot(*at));
        }
        for (number, at) in &self.fixed {
            overlay.plane.change(*number, &self.writes[*at as usize].value.get(made), || slot(*at));
        }
        self.tell(&mut row.block, outputs, made);
        true
    }

    /// Hand back the outputs, and move time on.
    fn tell(&self, block: &mut BlockEnv, outputs: &mut [u8], made: &[U256]) {
        let (places, _) = outputs.as_chunks_mut::<32>();
        for (place, word) in places.iter_mut().zip(&self.outputs) {
            *place = word.get(made).to_be_bytes();
        }
        if let [.., number, timestamp] = self.outputs[..] {
            block.number = number.get(made);
            block.timestamp = timestamp.get(made);
        }
    }
}
