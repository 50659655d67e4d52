//! Where the words of a row lie on a device: planes of limbs, those of a chain in the order in which they came up.

use revm::primitives::{Address, U256};

use super::rows::{self, Ground};
use crate::{
    native::{
        ptx::step::{self, Ending, Index, Left, Planes, Source, Space, Step, Style, Target},
        ssa::{
            ir::Node,
            plan::{Likely, Plan},
            reference::evaluate,
        },
    },
    rows::program::Program,
    specialise::{Barred, DeviceKey as Key, DeviceLeaf, DevicePlace, DeviceRead, DeviceTree, DeviceWord, Specialiser},
    storage::overlay::Row,
    trace::BlockField,
};

/// Entries of a mapping that a row keeps.
const MOST_ENTRIES: u64 = 1 << 10;

/// What of a chain a row keeps on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Block(BlockField),
    Nonce(Address),
    Slot(u32, Address, U256),
    /// Ether, which rows do not change.
    Balance(Address),
}

impl Kept {
    /// Its limbs.
    pub fn width(self) -> u32 {
        if matches!(self, Self::Slot(..) | Self::Balance(_)) { 4 } else { 1 }
    }
}

/// What is kept, from the first plane on; it only grows.
#[derive(Default)]
pub struct Chain {
    pub all: Vec<Kept>,
    /// Slots of one mapping, one behind the other: account, keys, and the first plane.
    mappings: Vec<(Address, Vec<U256>, u32)>,
}

impl Chain {
    /// Every chain keeps the time.
    pub fn new() -> Self {
        let all = [BlockField::Number, BlockField::Timestamp, BlockField::BaseFee].map(Kept::Block).to_vec();
        Self { all, mappings: Vec::new() }
    }

    /// What is kept from a plane on.
    pub fn since(&self, first: u32) -> &[Kept] {
        let mut passed = 0;
        let before = self.all.iter().take_while(|kept| {
            let earlier = passed < first;
            passed += kept.width();
            earlier
        });
        &self.all[before.count()..]
    }

    pub fn planes(&self) -> u32 {
        self.all.iter().map(|kept| kept.width()).sum()
    }

    /// Where something is kept; from now on, if it was not.
    pub fn place(&mut self, wanted: Kept) -> Planes {
        let mut first = 0;
        for kept in &self.all {
            if *kept == wanted {
                return Planes { space: Space::Kept, first, width: kept.width() };
            }
            first += kept.width();
        }
        self.all.push(wanted);
        Planes { space: Space::Kept, first, width: wanted.width() }
    }

    pub fn has_slot(&self, address: Address, key: U256) -> bool {
        self.all.iter().any(|kept| matches!(kept, Kept::Slot(_, at, of) if *at == address && *of == key))
    }

    /// Whether slots may be kept one behind the other: none of them is kept elsewhere.
    fn can_map(&self, address: Address, keys: &[U256]) -> bool {
        let known = self.mappings.iter().any(|(at, of, _)| *at == address && of == keys);
        known || !keys.iter().any(|key| self.has_slot(address, *key))
    }

    /// The first plane of a mapping's slots, which are kept from now on.
    fn mapping(&mut self, all: &Specialiser, address: Address, keys: Vec<U256>) -> Result<u32, String> {
        if let Some((.., first)) = self.mappings.iter().find(|(at, of, _)| *at == address && *of == keys) {
            return Ok(*first);
        }
        if keys.iter().any(|key| self.has_slot(address, *key)) {
            return Err("a slot is kept by itself and as part of a mapping; make the rows anew".to_owned());
        }
        let first = self.planes();
        for key in &keys {
            let number = all.slot_number(address, *key).ok_or("too many slots change for a device")?;
            self.all.push(Kept::Slot(number, address, *key));
        }
        self.mappings.push((address, keys, first));
        Ok(first)
    }

    fn slot(&mut self, all: &Specialiser, number: u32) -> Result<Planes, String> {
        let (address, key) = all.slot(number).ok_or("a slot without a number")?;
        Ok(self.place(Kept::Slot(number, address, key)))
    }
}

/// What becomes of an input word of the program.
#[derive(Clone, Copy, Debug)]
pub enum Given {
    Source(Source),
    Fixed(u64),
}

/// Inputs and outputs of a program on a device.
pub struct Wiring {
    pub inputs: Vec<Given>,
    /// By output word.
    pub outputs: Vec<Vec<Target>>,
    /// Singles of a row.
    pub columns: u32,
    pub style: Style,
}

impl Wiring {
    pub fn new(
        program: &Program,
        given: &[(String, u32, u32)],
        fixed: &[(String, u64)],
        outputs: &[(String, String, u32, u32)],
        style: Style,
    ) -> Result<Self, String> {
        let mut inputs: Vec<Option<Given>> = vec![None; program.input_count()];
        for (name, first, width) in given {
            let (at, count) = program.input_words(name).ok_or_else(|| format!("the program has no input '{name}'"))?;
            for word in 0..count {
                let first = first + word as u32 * width;
                let planes = Planes { space: Space::Given, first, width: *width };
                inputs[at + word] = Some(Given::Source(Source::Planes(planes)));
            }
        }
        for (name, value) in fixed {
            let (at, count) = program.input_words(name).ok_or_else(|| format!("the program has no input '{name}'"))?;
            inputs[at..at + count].fill(Some(Given::Fixed(*value)));
        }
        let inputs = inputs.into_iter().collect::<Option<Vec<_>>>().ok_or("an input of the program is not given")?;
        let (mut targets, mut columns) = (vec![Vec::new(); program.output_count()], 0);
        for (name, kind, first, width) in outputs {
            let (at, count) =
                program.output_words(name).ok_or_else(|| format!("the program has no output '{name}'"))?;
            for word in 0..count {
                let first = first + word as u32 * width;
                targets[at + word].push(match kind.as_str() {
                    "word" => Target::Word(Source::Planes(Planes { space: Space::Given, first, width: *width })),
                    "rounded" => Target::Rounded(first),
                    "single" => Target::Single(first),
                    other => return Err(format!("an output is no '{other}'")),
                });
                if kind == "single" {
                    columns = columns.max(first + 1);
                }
            }
        }
        Ok(Self { inputs, outputs: targets, columns, style })
    }

    /// The kernel of a tree of paths. Whatever it reads or writes of a chain is kept from now on. `indexes` are those of
    /// the tree's keys. A `wide` kernel takes words of any size, not only of the sizes that were seen.
    pub fn print(
        &self,
        all: &Specialiser,
        chain: &mut Chain,
        device: &DeviceTree,
        indexes: &[Index],
        wide: bool,
    ) -> Result<String, String> {
        let DeviceTree { likely, reads, leaves, keys, .. } = device;
        let (mut tree, mut first) = (device.tree.clone(), device.indexes.clone());
        let likely: &[Likely] = if wide { &[] } else { likely };
        let mut mappings = Vec::new();
        for (key, index) in keys.iter().zip(indexes) {
            mappings.push(chain.mapping(all, key.address, entries(key, index))?);
        }
        let keyed = |index: usize| Source::Indexed { index, first: mappings[index] };
        let mut inputs = Vec::new();
        for read in reads {
            inputs.push(match read {
                DeviceRead::Input(at) => self.inputs[*at as usize],
                DeviceRead::Block(field) => Given::Source(Source::Planes(chain.place(Kept::Block(*field)))),
                DeviceRead::Slot(number) => Given::Source(Source::Planes(chain.slot(all, *number)?)),
                DeviceRead::Keyed(index) => Given::Source(keyed(*index)),
                DeviceRead::Balance(account) => Given::Source(Source::Planes(chain.place(Kept::Balance(*account)))),
            });
        }
        bound(&mut tree.nodes, &inputs);
        bound(&mut first.nodes, &inputs);
        let mut endings = Vec::new();
        for leaf in leaves {
            endings.push(self.ending(all, chain, leaf, keyed)?);
        }
        let plans = (Plan::new(&first, &[]), Plan::of_tree(&tree, likely));
        let (Ok(first), Ok(plan)) = plans else { return Err("the paths cannot be made one function".to_owned()) };
        let none = Source::Planes(Planes { space: Space::Given, first: 0, width: 0 });
        let source = |given: &Given| if let Given::Source(source) = given { *source } else { none };
        let inputs: Vec<Source> = inputs.iter().map(source).collect();
        let step = Step { inputs: &inputs, indexes, endings: &endings, columns: self.columns, style: self.style };
        step::print(&first, &plan, &step).map_err(|error| error.to_string())
    }

    fn ending(
        &self,
        all: &Specialiser,
        chain: &mut Chain,
        leaf: &DeviceLeaf,
        keyed: impl Fn(usize) -> Source,
    ) -> Result<Ending, String> {
        let mut ending = Ending::default();
        for (place, word) in &leaf.writes {
            let source = match place {
                DevicePlace::Slot(number) => Source::Planes(chain.slot(all, *number)?),
                DevicePlace::Keyed(index) => keyed(*index),
            };
            ending.stores.push((left(*word), Target::Word(source)));
        }
        for (sender, by) in &leaf.nonces {
            ending.added.push((chain.place(Kept::Nonce(*sender)).first, *by));
        }
        let [outputs @ .., block, time] = leaf.outputs.as_slice() else { return Err("a path without time".into()) };
        for (word, field) in [(block, BlockField::Number), (time, BlockField::Timestamp)] {
            ending.stores.push((left(*word), Target::Word(Source::Planes(chain.place(Kept::Block(field))))));
        }
        for (word, targets) in outputs.iter().zip(&self.outputs) {
            ending.stores.extend(targets.iter().map(|target| (left(*word), *target)));
        }
        Ok(ending)
    }
}

/// The keys of a mapping's entries.
fn entries(key: &Key, index: &Index) -> Vec<U256> {
    (0..index.count).map(|further| key.at(index.base + U256::from(further))).collect()
}

/// The paths of a program that have their place on a device, and their indexes. Mappings are kept from now on: paths
/// whose mapping has a slot that is kept elsewhere have none.
pub fn placed(
    ground: Ground<'_>,
    all: &Specialiser,
    chain: &mut Chain,
    (program, most): (&Program, usize),
    (rows, spread): (&[Row], u64),
) -> Result<(DeviceTree, Vec<Index>), String> {
    let mut barred = Barred::default();
    loop {
        let tree = all.device_tree(program, most, &barred)?;
        let indexes = indexes_of(ground, all, &tree, rows, spread)?;
        let before = barred.len();
        for (key, index) in tree.keys.iter().zip(&indexes) {
            let slots = index.as_ref().map(|index| entries(key, index));
            match slots.filter(|slots| chain.can_map(key.address, slots)) {
                Some(slots) => _ = chain.mapping(all, key.address, slots)?,
                None => _ = barred.insert((key.address, key.key)),
            }
        }
        if barred.len() == before {
            return Ok((tree, indexes.into_iter().flatten().collect()));
        }
    }
}

/// How far the indexes of a tree's keys reach: from the lowest at these rows on, `spread` further than the highest.
/// None where starts are too far apart.
fn indexes_of(
    ground: Ground<'_>,
    all: &Specialiser,
    device: &DeviceTree,
    rows: &[Row],
    spread: u64,
) -> Result<Vec<Option<Index>>, String> {
    let mut wanted = Vec::new();
    for read in &device.reads {
        wanted.push(match read {
            DeviceRead::Block(field) => Some(Kept::Block(*field)),
            DeviceRead::Slot(number) => all.slot(*number).map(|(address, key)| Kept::Slot(*number, address, key)),
            DeviceRead::Balance(account) => Some(Kept::Balance(*account)),
            _ => None,
        });
    }
    let there: Vec<Kept> = wanted.iter().copied().flatten().collect();
    let mut ranges: Vec<Option<(U256, U256)>> = vec![None; device.keys.len()];
    for row in rows.iter().take(if ranges.is_empty() { 0 } else { rows.len() }) {
        let mut limbs = Vec::new();
        rows::read(ground, &mut row.clone(), &there, &mut limbs).map_err(|_| "a start that cannot be read")?;
        let mut rest = limbs.as_slice();
        let words = wanted.iter().map(|kept| {
            let (own, after) = rest.split_at(kept.map_or(0, |kept| kept.width() as usize));
            rest = after;
            U256::from_limbs_slice(own)
        });
        let words: Vec<U256> = words.collect();
        let found = evaluate(&device.indexes, &words, &mut Vec::new()).unwrap_or_default();
        for (range, index) in ranges.iter_mut().zip(found) {
            let (low, high) = range.unwrap_or((index, index));
            *range = Some((low.min(index), high.max(index)));
        }
    }
    let mut found = Vec::new();
    for range in ranges {
        let (base, high) = range.ok_or("there is no start to begin with")?;
        let count = u64::try_from(high - base).ok().and_then(|apart| apart.checked_add(spread));
        let last = |count: &u64| base.as_limbs()[0].checked_add(*count).is_some() && *count <= MOST_ENTRIES;
        found.push(count.filter(last).map(|count| Index { base, count }));
    }
    Ok(found)
}

fn left(word: DeviceWord) -> Left {
    match word {
        DeviceWord::Made(at) => Left::Made(at),
        DeviceWord::Fixed(value) => Left::Fixed(value),
    }
}

/// Say what is known of a function's inputs: those that are always the same, and how wide the others are.
fn bound(nodes: &mut [Node], inputs: &[Given]) {
    for node in nodes {
        if let Node::Input { word, bits } = node {
            match inputs[*word as usize] {
                Given::Fixed(value) => *node = Node::Constant(U256::from(value)),
                Given::Source(Source::Planes(planes)) => *bits = (*bits).min(64 * planes.width as u16),
                Given::Source(Source::Indexed { .. }) => {}
            }
        }
    }
}
