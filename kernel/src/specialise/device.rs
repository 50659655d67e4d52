//! Paths of a program for a device: their tree, and where what they read and write lies.

use revm::primitives::{Address, U256};

use super::{
    Specialiser,
    branches::{Leaf, Place, TreeDraft, Word},
    code::{Leaf as Read, Reads},
};
use crate::{
    native::{plan::Likely, tree::Tree},
    program::Program,
    trace::BlockField,
};

/// What a tree reads of a row.
pub enum DeviceRead {
    Input(u32),
    Block(BlockField),
    Slot(u32),
}

/// A word of an ending: the function's, or the same on every row.
#[derive(Clone, Copy)]
pub enum DeviceWord {
    Made(u32),
    Fixed(U256),
}

/// Where one path ends.
pub struct DeviceLeaf {
    pub nonces: Vec<(Address, u64)>,
    pub writes: Vec<(u32, DeviceWord)>,
    /// The words that are handed back, then the block's number and time.
    pub outputs: Vec<DeviceWord>,
}

/// Paths that need nothing of a row but inputs, block and slots with numbers.
pub struct DeviceTree {
    /// How often the paths of the program had been forgotten.
    pub generation: u64,
    pub tree: Tree,
    pub likely: Vec<Likely>,
    pub reads: Vec<DeviceRead>,
    pub leaves: Vec<DeviceLeaf>,
}

impl Specialiser {
    /// The paths of a program that rows took `least` times, up to `most` of them; or why there are none.
    pub fn device_tree(&self, program: &Program, least: u32, most: usize) -> Result<DeviceTree, String> {
        let none = || "no row has run the program yet".to_owned();
        let programs = self.programs.as_ref().ok_or("programs are not replayed as a whole here")?;
        let site = programs.read().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&program.key()).cloned();
        let site = site.ok_or_else(none)?;
        if let Some(reason) = site.recorded.counts.reason() {
            return Err(format!("the program is not replayed as a whole: {reason}"));
        }
        let draft = site.draft(self, least, most).ok_or("no path of the program is known yet")?;
        DeviceTree::new(draft)
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

impl DeviceTree {
    fn new(draft: TreeDraft) -> Result<Self, String> {
        let TreeDraft { generation, tree, likely, reads, leaves } = draft;
        let leaves = leaves.into_iter().map(leaf).collect::<Option<Vec<_>>>();
        let reads = read(&reads);
        match (leaves, reads) {
            (Some(leaves), Some(reads)) => Ok(Self { generation, tree, likely, reads, leaves }),
            _ => Err("a path needs more of its row than slots with numbers".to_owned()),
        }
    }
}

fn read(reads: &Reads) -> Option<Vec<DeviceRead>> {
    let found = reads.leaves.iter().map(|leaf| match leaf {
        Read::Hole(at) => Some(DeviceRead::Input(*at)),
        Read::Block(field) => Some(DeviceRead::Block(*field)),
        Read::Place(number, ..) => Some(DeviceRead::Slot(*number)),
        Read::Keyed(_) => None,
    });
    found.collect()
}

fn leaf(leaf: Leaf) -> Option<DeviceLeaf> {
    let word = |word: &Word| match word {
        Word::Made(at) => DeviceWord::Made(*at),
        Word::Fixed(value) => DeviceWord::Fixed(*value),
    };
    let writes = leaf.writes.iter().map(|write| match write.place {
        Place::Numbered(number) => Some((number, word(&write.value))),
        Place::Keyed(_) => None,
    });
    Some(DeviceLeaf {
        writes: writes.collect::<Option<_>>()?,
        outputs: leaf.outputs.iter().map(word).collect(),
        nonces: leaf.nonces,
    })
}
