//! Where the words of a row lie on a device: planes of limbs, those of a chain in the order in which they came up.

use revm::primitives::{Address, U256};

use crate::{
    native::{
        ir::Node,
        plan::Plan,
        ptx::step::{self, Ending, Left, Planes, Space, Step, Target},
        tree::Tree,
    },
    program::Program,
    specialise::{DeviceRead, DeviceTree, DeviceWord, Specialiser},
    trace::BlockField,
};

/// What of a chain a row keeps on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Block(BlockField),
    Nonce(Address),
    Slot(u32, Address, U256),
}

impl Kept {
    /// Its limbs.
    pub fn width(self) -> u32 {
        if matches!(self, Self::Slot(..)) { 4 } else { 1 }
    }
}

/// What is kept, from the first plane on; it only grows.
#[derive(Default)]
pub struct Chain {
    pub all: Vec<Kept>,
}

impl Chain {
    /// Every chain keeps the time.
    pub fn new() -> Self {
        Self { all: [BlockField::Number, BlockField::Timestamp, BlockField::BaseFee].map(Kept::Block).to_vec() }
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

    fn slot(&mut self, all: &Specialiser, number: u32) -> Result<Planes, String> {
        let (address, key) = all.slot(number).ok_or("a slot without a number")?;
        Ok(self.place(Kept::Slot(number, address, key)))
    }
}

/// What becomes of an input word of the program.
#[derive(Clone, Copy, Debug)]
pub enum Given {
    Planes(Planes),
    Fixed(u64),
}

/// Inputs and outputs of a program on a device.
pub struct Wiring {
    pub inputs: Vec<Given>,
    /// By output word.
    pub outputs: Vec<Vec<Target>>,
    /// Singles of a row.
    pub columns: u32,
}

impl Wiring {
    pub fn new(
        program: &Program,
        given: &[(String, u32, u32)],
        fixed: &[(String, u64)],
        outputs: &[(String, String, u32, u32)],
    ) -> Result<Self, String> {
        let mut inputs: Vec<Option<Given>> = vec![None; program.input_count()];
        for (name, first, width) in given {
            let (at, count) = program.input_words(name).ok_or_else(|| format!("the program has no input '{name}'"))?;
            for word in 0..count {
                let first = first + word as u32 * width;
                inputs[at + word] = Some(Given::Planes(Planes { space: Space::Given, first, width: *width }));
            }
        }
        for (name, value) in fixed {
            let (at, count) = program.input_words(name).ok_or_else(|| format!("the program has no input '{name}'"))?;
            inputs[at..at + count].fill(Some(Given::Fixed(*value)));
        }
        let inputs = inputs.into_iter().collect::<Option<Vec<_>>>().ok_or("an input of the program is not given")?;
        let (mut targets, mut columns) = (vec![Vec::new(); program.output_count()], 0);
        for (name, kind, first, width) in outputs {
            let (at, count) = program.output_words(name).ok_or_else(|| format!("the program has no output '{name}'"))?;
            for word in 0..count {
                let first = first + word as u32 * width;
                targets[at + word].push(match kind.as_str() {
                    "word" => Target::Word(Planes { space: Space::Given, first, width: *width }),
                    "rounded" => Target::Rounded(first),
                    "single" => Target::Single(first),
                    other => return Err(format!("an output is no '{other}'")),
                });
                if kind == "single" {
                    columns = columns.max(first + 1);
                }
            }
        }
        Ok(Self { inputs, outputs: targets, columns })
    }

    /// The kernel of a tree of paths. Whatever it reads or writes of a chain is kept from now on.
    pub fn print(&self, all: &Specialiser, chain: &mut Chain, device: DeviceTree) -> Result<String, String> {
        let DeviceTree { mut tree, likely, reads, leaves, .. } = device;
        let mut inputs = Vec::new();
        for read in &reads {
            inputs.push(match read {
                DeviceRead::Input(at) => self.inputs[*at as usize],
                DeviceRead::Block(field) => Given::Planes(chain.place(Kept::Block(*field))),
                DeviceRead::Slot(number) => Given::Planes(chain.slot(all, *number)?),
            });
        }
        bound(&mut tree, &inputs);
        let mut endings = Vec::new();
        for leaf in &leaves {
            let mut ending = Ending::default();
            for (number, word) in &leaf.writes {
                ending.stores.push((left(*word), Target::Word(chain.slot(all, *number)?)));
            }
            for (sender, by) in &leaf.nonces {
                ending.added.push((chain.place(Kept::Nonce(*sender)).first, *by));
            }
            let [outputs @ .., block, time] = leaf.outputs.as_slice() else { return Err("a path without time".into()) };
            for (word, field) in [(block, BlockField::Number), (time, BlockField::Timestamp)] {
                ending.stores.push((left(*word), Target::Word(chain.place(Kept::Block(field)))));
            }
            for (word, targets) in outputs.iter().zip(&self.outputs) {
                ending.stores.extend(targets.iter().map(|target| (left(*word), *target)));
            }
            endings.push(ending);
        }
        let plan = Plan::of_tree(&tree, &likely).map_err(|error| error.to_string())?;
        let none = Planes { space: Space::Given, first: 0, width: 0 };
        let inputs: Vec<Planes> = inputs
            .into_iter()
            .map(|input| match input {
                Given::Planes(planes) => planes,
                Given::Fixed(_) => none,
            })
            .collect();
        let step = Step { inputs: &inputs, endings: &endings, columns: self.columns };
        step::print(&plan, &step).map_err(|error| error.to_string())
    }
}

fn left(word: DeviceWord) -> Left {
    match word {
        DeviceWord::Made(at) => Left::Made(at),
        DeviceWord::Fixed(value) => Left::Fixed(value),
    }
}

/// Say what is known of a tree's inputs: those that are always the same, and how wide the others are.
fn bound(tree: &mut Tree, inputs: &[Given]) {
    for node in &mut tree.nodes {
        if let Node::Input { word, bits } = node {
            match inputs[*word as usize] {
                Given::Fixed(value) => *node = Node::Constant(U256::from(value)),
                Given::Planes(planes) => *bits = (*bits).min(64 * planes.width as u16),
            }
        }
    }
}
