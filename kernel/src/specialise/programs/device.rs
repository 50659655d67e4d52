//! Paths of a program for a device: their tree, and where what they read and write lies.

use revm::primitives::{Address, HashMap, HashSet, U256};

use super::{
    branches::{Wanted, branch, native_guard},
    keys::Key,
};
use crate::specialise::{
    Specialiser,
    sites::code::{Maker, cone, is_leaf},
};
use crate::{
    native::ssa::{
        ir::{Builder, Function, NodeId},
        likely::{Seen, likely_bounds_of_leaves},
        plan::Likely,
        tree::Tree,
    },
    rows::program::Program,
    trace::{BlockField, Expression, Field, Graph, Node},
};

/// What a tree reads of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceRead {
    Input(u32),
    Block(BlockField),
    Slot(u32),
    /// A slot whose key depends on the row: the number of its key.
    Keyed(usize),
    /// The ether of an account, which no path changes.
    Balance(Address),
}

/// A word of an ending: the function's, or the same on every row.
#[derive(Clone, Copy)]
pub enum DeviceWord {
    Made(u32),
    Fixed(U256),
}

/// A slot that a path writes.
#[derive(Clone, Copy)]
pub enum DevicePlace {
    Slot(u32),
    Keyed(usize),
}

/// Where one path ends.
pub struct DeviceLeaf {
    pub nonces: Vec<(Address, u64)>,
    pub writes: Vec<(DevicePlace, DeviceWord)>,
    /// The words that are handed back, then the block's number and time.
    pub outputs: Vec<DeviceWord>,
}

/// Paths that need nothing of a row but inputs, block and slots.
pub struct DeviceTree {
    /// How often the paths of the program had been forgotten.
    pub generation: u64,
    pub tree: Tree,
    pub likely: Vec<Likely>,
    pub reads: Vec<DeviceRead>,
    pub leaves: Vec<DeviceLeaf>,
    /// Keys that depend on the row, and for each of them a function of the same reads: the number that decides it.
    pub keys: Vec<Key>,
    pub indexes: Function,
}

impl Specialiser {
    /// The paths of a program that rows took, up to `most` of them, without those that need a `barred` key; or why there
    /// are none.
    pub fn device_tree(&self, program: &Program, most: usize, barred: &Barred) -> Result<DeviceTree, String> {
        let programs = self.programs.as_ref().ok_or("programs are not replayed as a whole here")?;
        let site = programs.read().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&program.key()).cloned();
        let site = site.ok_or("no row has run the program yet")?;
        match site.recorded.counts.reason() {
            Some(reason) => Err(format!("the program is not replayed as a whole: {reason}")),
            None => site.device_tree(most, barred),
        }
    }

    /// Whether code of this generation may still be used.
    pub fn is_current(&self, program: &Program, generation: u64) -> bool {
        let Some(programs) = &self.programs else { return false };
        let programs = programs.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        programs
            .get(&program.key())
            .is_some_and(|site| !site.recorded.is_stale() && site.recorded.generation() == generation)
    }

    /// The slot with a number.
    pub fn slot(&self, number: u32) -> Option<(Address, U256)> {
        self.places.since(number as usize).first().copied()
    }

    /// The number of a slot; none where there are too many.
    pub fn slot_number(&self, address: Address, key: U256) -> Option<u32> {
        self.places.number(address, key)
    }
}

/// Keys that have no place on a device: account and expression.
pub type Barred = HashSet<(Address, Node)>;

/// Slots of paths whose keys depend on the row.
struct Keys<'a> {
    graph: &'a Graph,
    barred: &'a Barred,
    all: Vec<Key>,
    /// By account and expression of the key; none where it is too involved.
    known: HashMap<(Address, Node), Option<usize>>,
}

impl Keys<'_> {
    fn number(&mut self, address: Address, key: Node) -> Option<usize> {
        if let Some(known) = self.known.get(&(address, key)) {
            return *known;
        }
        let allowed = (!self.barred.contains(&(address, key))).then_some(key);
        let number = allowed.and_then(|key| Key::new(self.graph, address, key)).map(|key| {
            self.all.push(key);
            self.all.len() - 1
        });
        self.known.insert((address, key), number);
        number
    }

    /// Whether all that a path reads and writes has its place on a device.
    fn cover(&mut self, path: &Wanted<'_>) -> bool {
        let graph = self.graph;
        let reads = wanted_nodes(graph, path);
        let mut reads = cone(graph, reads, false).into_iter().filter(|node| is_leaf(graph.expression(*node)));
        let read = |keys: &mut Self, node: Node| match graph.expression(node) {
            Expression::Slot(address, key) => keys.number(*address, *key).is_some(),
            Expression::Account(field, account) => *field == Field::Balance && graph.as_constant(*account).is_some(),
            _ => true,
        };
        let read = reads.all(|node| read(self, node));
        let mut writes = path.ending.writes.iter();
        read && writes.all(|write| write.place.is_some() || self.number(write.address, write.key).is_some())
    }
}

/// What a path needs to be computed: guards, outputs and what is written.
fn wanted_nodes(graph: &Graph, path: &Wanted<'_>) -> Vec<Node> {
    let ending = path.ending;
    let guards = path.guards.iter().map(|(guard, _)| guard.node);
    let outputs = ending.output.parts.iter().map(|part| part.node);
    let nodes = guards.chain(outputs).chain(ending.writes.iter().map(|write| write.value));
    nodes.filter(|node| graph.as_constant(*node).is_none()).collect()
}

/// All that `wanted` is made of, operands first, in the order in which it is wanted.
fn in_turn(graph: &Graph, wanted: impl Iterator<Item = Node>) -> Vec<Node> {
    let (mut found, mut known, mut open) = (Vec::new(), HashSet::<Node>::default(), Vec::new());
    for node in wanted {
        open.push((node, false));
        while let Some((node, is_ready)) = open.pop() {
            if is_ready {
                found.push(node);
            } else if known.insert(node) {
                open.push((node, true));
                let first = open.len();
                if !is_leaf(graph.expression(node)) {
                    graph.operands(node, |operand| open.push((operand, false)));
                }
                open[first..].reverse();
            }
        }
    }
    found
}

impl DeviceTree {
    /// The first `most` of these paths that have their place on a device. The same paths give the same tree, in whichever
    /// order they came up.
    pub fn new(
        graph: &Graph,
        generation: u64,
        mut paths: Vec<Wanted<'_>>,
        most: usize,
        barred: &Barred,
    ) -> Result<Self, String> {
        let none = || Keys { graph, barred, all: Vec::new(), known: HashMap::default() };
        let mut keys = none();
        paths.retain(|path| keys.cover(path));
        paths.truncate(most);
        let values = |path: &Wanted<'_>| path.guards.iter().map(|(_, value)| *value).collect::<Vec<_>>();
        paths.sort_by_cached_key(values);
        keys = none();
        paths.retain(|path| keys.cover(path));
        let nodes = paths.iter().flat_map(|path| wanted_nodes(graph, path));
        let nodes = in_turn(graph, nodes.chain(keys.all.iter().map(|key| key.index)));
        let reads: Vec<Node> = nodes.iter().copied().filter(|node| is_leaf(graph.expression(*node))).collect();
        let mut maker = Maker { graph, builder: Builder::new(), made: HashMap::default() };
        for (word, read) in reads.iter().enumerate() {
            let id = maker.builder.input(word as u32);
            maker.made.insert(*read, id);
        }
        nodes.iter().for_each(|node| maker.make(*node));
        let (made, nodes) = (maker.made, maker.builder.finish().nodes);
        let places: HashMap<Node, usize> = reads.iter().copied().zip(0..).collect();
        let (mut leaves, mut outputs, mut seen) = (Vec::new(), HashMap::default(), Vec::new());
        for path in &paths {
            let (leaf, results) = leaf_of(graph, path, &made, &mut keys);
            seen.push(seen_by(path, &made, &results, &places));
            outputs.insert(path.step, (leaf, results));
        }
        let forks: Vec<_> = paths.iter().map(|path| (path.guards, path.step)).collect();
        let root = branch(&forks, 0, &made, &mut outputs, &mut leaves).ok_or("no path of the program is known yet")?;
        let indexes = keys.all.iter().map(|key| made[&key.index]).collect();
        Ok(Self {
            generation,
            likely: likely_bounds_of_leaves(&nodes, &seen),
            indexes: Function { nodes: nodes.clone(), guards: Vec::new(), outputs: indexes },
            tree: Tree { nodes, root },
            reads: reads.iter().filter_map(|node| read(graph, *node, &mut keys)).collect(),
            leaves,
            keys: keys.all,
        })
    }
}

/// The rows that took a path, as far as the tree reads them.
fn seen_by(path: &Wanted<'_>, made: &HashMap<Node, NodeId>, results: &[NodeId], places: &HashMap<Node, usize>) -> Seen {
    let row = |values: &Vec<U256>| {
        let mut row = vec![U256::ZERO; places.len()];
        for (read, value) in path.reads.iter().zip(values) {
            if let Some(place) = places.get(read) {
                row[*place] = *value;
            }
        }
        row
    };
    let guards = path.guards.iter().map(|(guard, value)| native_guard(guard, *value, made)).collect();
    Seen { guards, outputs: results.to_vec(), rows: path.rows.iter().map(row).collect() }
}

fn read(graph: &Graph, node: Node, keys: &mut Keys<'_>) -> Option<DeviceRead> {
    Some(match graph.expression(node) {
        Expression::Input(at) => DeviceRead::Input(*at),
        Expression::Block(field) => DeviceRead::Block(*field),
        Expression::Place(number, ..) => DeviceRead::Slot(*number),
        Expression::Slot(address, key) => DeviceRead::Keyed(keys.number(*address, *key)?),
        Expression::Account(Field::Balance, account) => {
            DeviceRead::Balance(Address::from_word(graph.as_constant(*account)?.into()))
        }
        _ => return None,
    })
}

/// The end of a path, and the nodes that the function makes for it.
fn leaf_of(
    graph: &Graph,
    path: &Wanted<'_>,
    made: &HashMap<Node, NodeId>,
    keys: &mut Keys<'_>,
) -> (DeviceLeaf, Vec<NodeId>) {
    let mut nodes: Vec<NodeId> = Vec::new();
    let mut word = |node: Node| match graph.as_constant(node) {
        Some(value) => DeviceWord::Fixed(value),
        None => {
            let id = made[&node];
            let at = nodes.iter().position(|known| *known == id).unwrap_or_else(|| {
                nodes.push(id);
                nodes.len() - 1
            });
            DeviceWord::Made(at as u32)
        }
    };
    let (ending, text) = (path.ending, &path.ending.output);
    let fixed = |bytes: &[u8]| DeviceWord::Fixed(U256::from_be_slice(bytes));
    let mut outputs: Vec<DeviceWord> = text.bytes.chunks(32).map(fixed).collect();
    for part in &text.parts {
        outputs[part.at as usize / 32] = word(part.node);
    }
    let mut writes = Vec::new();
    for write in &ending.writes {
        let keyed = || keys.number(write.address, write.key).map(DevicePlace::Keyed);
        if let Some(place) = write.place.map(DevicePlace::Slot).or_else(keyed) {
            writes.push((place, word(write.value)));
        }
    }
    (DeviceLeaf { nonces: ending.nonces.clone(), writes, outputs }, nodes)
}
