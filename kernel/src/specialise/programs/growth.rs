//! Which paths of a program become code, and when: often taken ones together, again when enough others have come up.

use std::cmp::Reverse;

use revm::primitives::{HashMap, U256};

use super::branches::{TreeDraft, Wanted, reads_of};
use crate::specialise::{
    Specialiser,
    sites::{
        code::cone,
        paths::{Known, Paths},
    },
};
use crate::trace::{End, Ending, Node, Values};

/// Replays of a path step by step after which it is to become code.
const WARM: u32 = 24;
/// Rows of one path whose values say how wide its words are.
const MOST_SAMPLES: usize = 24;
/// The same where the paths are for a device: rows with wider words than those before, after the first ones.
const MOST_WIDER: usize = 256;
/// Paths of one program that may become code, and those that are.
const MOST_TAKEN: usize = 256;
const MOST_PATHS: usize = 96;
/// Rows that were followed step by step after which what is missing, or is too narrow, becomes code in any case.
const PATIENCE: u32 = 384;

/// A path that rows have taken step by step.
#[derive(Default)]
struct Taken {
    hits: u32,
    reads: Vec<Node>,
    rows: Vec<Vec<U256>>,
    /// All that the path computes, where it is for a device, and the bits of that so far, at most.
    nodes: Vec<Node>,
    widest: Vec<usize>,
    is_code: bool,
}

impl Taken {
    /// Keep a row on which something is wider than on all before.
    fn keep_wider(&mut self, paths: &Paths, (known, ending): (&Known, &Ending), values: &Values) {
        if self.nodes.is_empty() {
            let guards = known.guards().iter().map(|(guard, _)| guard.node);
            self.nodes = cone(&paths.tree.graph, guards.chain(ending.nodes()), false);
            self.widest.resize(self.nodes.len(), 0);
        }
        let mut wider = false;
        for (widest, node) in self.widest.iter_mut().zip(&self.nodes) {
            let bits = values.get(*node).bit_len();
            wider |= bits > *widest;
            *widest = bits.max(*widest);
        }
        if self.rows.len() < MOST_SAMPLES || (wider && self.rows.len() < MOST_WIDER) {
            self.rows.push(self.reads.iter().map(|node| values.get(*node)).collect());
        }
    }
}

#[derive(Default)]
pub struct Growth {
    generation: u64,
    taken: HashMap<usize, Taken>,
    /// Rows since the last order that took a path step by step which should have become code by now.
    waiting: u32,
    is_ordered: bool,
}

impl Growth {
    /// A row has taken a path step by step. Returns the paths that are to be compiled now, if any; more than there are
    /// only where hits pay.
    pub fn note(
        &mut self,
        all: &Specialiser,
        paths: &Paths,
        (generation, step): (u64, usize),
        values: &Values,
        pays: bool,
    ) -> Option<TreeDraft> {
        if self.generation != generation {
            *self = Self { generation, is_ordered: self.is_ordered, ..Self::default() };
        }
        let (known, End::Transaction(ending)) = (paths.known.get(&step)?, paths.tree.end(step)) else { return None };
        if self.taken.len() >= MOST_TAKEN && !self.taken.contains_key(&step) {
            return None;
        }
        let taken = self.taken.entry(step).or_insert_with(|| Taken {
            hits: 0,
            reads: reads_of(&paths.tree.graph, known.guards(), ending),
            ..Taken::default()
        });
        taken.hits += 1;
        if all.is_thorough() {
            taken.keep_wider(paths, (known, ending), values);
            return None;
        }
        if taken.rows.len() < MOST_SAMPLES {
            taken.rows.push(taken.reads.iter().map(|node| values.get(*node)).collect());
        } else if taken.is_code {
            // Its code refuses such rows: the next one shall not.
            taken.rows[taken.hits as usize % MOST_SAMPLES] = taken.reads.iter().map(|node| values.get(*node)).collect();
        }
        if taken.hits < WARM {
            return None;
        }
        self.waiting += 1;
        let there = self.taken.values().filter(|taken| taken.is_code).count();
        let fresh = self.taken.values().filter(|taken| !taken.is_code && taken.hits >= WARM).count();
        let due = fresh > 0 && fresh >= there || self.waiting >= PATIENCE;
        if self.is_ordered || !due || (there > 0 && !pays) || (there >= MOST_PATHS && self.waiting < 8 * PATIENCE) {
            return None;
        }
        self.draft(all, paths)
    }

    /// The rows that the code of a path was made for; none where it is no code.
    pub fn rows_of(&self, step: usize) -> Vec<Vec<U256>> {
        self.taken.get(&step).filter(|taken| taken.is_code).map(|taken| taken.rows.clone()).unwrap_or_default()
    }

    /// Paths of another process have been taken up. Returns those that were code there, to be compiled now.
    pub fn take_up(&mut self, all: &Specialiser, paths: &Paths, generation: u64) -> Option<TreeDraft> {
        self.generation = generation;
        for (step, known) in &paths.known {
            let (rows, End::Transaction(ending)) = (known.rows(), paths.tree.end(*step)) else { continue };
            let reads = reads_of(&paths.tree.graph, known.guards(), ending);
            if !rows.is_empty() && rows.iter().all(|row| row.len() == reads.len()) {
                self.taken.insert(*step, Taken { hits: WARM, reads, rows, ..Taken::default() });
            }
        }
        self.draft(all, paths)
    }

    fn draft(&mut self, all: &Specialiser, paths: &Paths) -> Option<TreeDraft> {
        let mut steps: Vec<(usize, u32)> = self.taken.iter().map(|(step, taken)| (*step, taken.hits)).collect();
        steps.retain(|(_, hits)| *hits >= WARM);
        steps.sort_unstable_by_key(|(step, hits)| (Reverse(*hits), *step));
        steps.truncate(MOST_PATHS);
        let wanted: Vec<Wanted<'_>> = steps.iter().filter_map(|(step, _)| self.wanted(paths, *step)).collect();
        let draft = TreeDraft::new(all, &paths.tree.graph, self.generation, &wanted);
        for (step, _) in &steps {
            if let Some(taken) = self.taken.get_mut(step) {
                taken.is_code = true;
            }
        }
        (self.waiting, self.is_ordered) = (0, draft.is_some());
        draft
    }

    /// The paths that were taken `least` times, the most used ones first.
    pub fn often<'a>(&'a self, paths: &'a Paths, least: u32) -> Vec<Wanted<'a>> {
        let often = self.taken.iter().filter(|(_, taken)| taken.hits >= least);
        let mut steps: Vec<(bool, u32, usize)> =
            often.map(|(step, taken)| (taken.is_code, taken.hits, *step)).collect();
        steps.sort_unstable_by_key(|(is_code, hits, step)| (Reverse((*is_code, *hits)), *step));
        steps.iter().filter_map(|(.., step)| self.wanted(paths, *step)).collect()
    }

    /// Whose paths they are: how often those before were forgotten.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    fn wanted<'a>(&'a self, paths: &'a Paths, step: usize) -> Option<Wanted<'a>> {
        let (taken, known) = (self.taken.get(&step)?, paths.known.get(&step)?);
        let End::Transaction(ending) = paths.tree.end(step) else { return None };
        Some(Wanted { step, guards: known.guards(), ending, reads: &taken.reads, rows: &taken.rows })
    }

    /// The last order has been carried out, or could not be given.
    pub fn done(&mut self) {
        self.is_ordered = false;
    }
}
