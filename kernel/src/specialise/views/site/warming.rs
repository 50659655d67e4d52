//! Paths that are taken often become code.

use std::{
    sync::{Arc, OnceLock, atomic::Ordering::Relaxed},
    time::Instant,
};

use revm::primitives::U256;

use super::{
    super::{lowered::Lowered, memos::Memo},
    Paths,
    course::Course,
};
use crate::{
    native::{
        processor::executable::Executable,
        ssa::{ir::Function, likely::likely_bounds},
    },
    trace::{End, Guard},
};

/// Replays of a path after which it becomes code, and more of them for each operation: compiling one takes as long as
/// a few thousand of them in a replay. Calls that its code refused after which it is compiled again, for wider values;
/// and how often.
const WARM: u32 = 192;
const REPLAYS_AN_OPERATION: usize = 2;
const REFUSED: u32 = 512;
const MOST_VERSIONS: u32 = 6;
/// Paths of one site that become code.
const MOST_CODES: usize = 64;
/// Calls whose values say how wide the words of a path are.
const SAMPLES: usize = 24;

/// A recorded path.
pub struct Known {
    pub step: usize,
    pub guards: Vec<(Guard, U256)>,
    pub hits: u64,
    /// Replays by the tree: once there is code, of calls that it refuses.
    walked: u32,
    /// Hits that were compared since the path, or its code, was new.
    pub compared: u32,
    rows: Vec<Vec<U256>>,
    /// What is to be compiled next, once there are rows enough.
    draft: Option<(Lowered, Function)>,
    /// Replays that pay for compiling it the first time.
    due: u32,
    /// Code that is on its way, and the one in use.
    coming: Option<Ready>,
    pub code: Option<Ready>,
    versions: u32,
}

/// A path as code, as soon as it is compiled.
#[derive(Clone)]
pub struct Ready {
    pub lowered: Arc<Lowered>,
    pub code: Arc<OnceLock<Executable>>,
}

impl Known {
    pub fn new(step: usize, guards: Vec<(Guard, U256)>) -> Self {
        Self {
            step,
            guards,
            hits: 0,
            walked: 0,
            compared: 0,
            rows: Vec::new(),
            draft: None,
            due: WARM,
            coming: None,
            code: None,
            versions: 0,
        }
    }

    /// The code of the path, if there is any by now. A new one must prove itself again.
    pub fn ready(&mut self) -> Option<&Ready> {
        if let Some(coming) = self.coming.take_if(|coming| coming.code.get().is_some()) {
            (self.code, self.compared) = (Some(coming), 0);
        }
        self.code.as_ref()
    }
}

impl Paths {
    /// A call has taken a path by the tree. The next time it is tried first; refused by its code, it counts.
    pub(super) fn walked(&mut self, course: &Course<'_, '_>, path: usize) {
        if self.known[path].code.is_some() {
            let words = course.words(course.reader.data);
            if self.memos.get(&words).is_none_or(|memo| memo.path != path) {
                self.known[path].hits += 1;
                self.memos.insert(words, Memo { path, derived: None });
                return;
            }
        }
        self.warm(course, path);
    }

    /// A path that is taken often becomes code.
    fn warm(&mut self, course: &Course<'_, '_>, path: usize) {
        let Self { known, tree, kinds, values, codes, .. } = self;
        let known = &mut known[path];
        known.hits += 1;
        known.walked += 1;
        let due = if known.versions == 0 { known.due } else { REFUSED };
        if known.walked < due || known.coming.is_some() {
            return;
        }
        if known.draft.is_none() {
            let many = known.versions == 0 && *codes >= MOST_CODES || known.versions >= MOST_VERSIONS;
            let (false, End::Output(text)) = (many, tree.end(known.step)) else { return };
            *codes += usize::from(known.versions == 0);
            let draft = Lowered::new(&tree.graph, kinds, &known.guards, text);
            known.due = WARM.max((REPLAYS_AN_OPERATION * draft.1.nodes.len()) as u32);
            known.draft = Some(draft);
            if known.versions == 0 && known.walked < known.due {
                return;
            }
        }
        let Some((lowered, function)) = known.draft.take() else { return };
        known.rows.push(lowered.inputs().map(|node| values.get(node)).collect());
        if !known.rows.len().is_multiple_of(SAMPLES) {
            known.draft = Some((lowered, function));
            return;
        }
        (known.walked, known.versions) = (0, known.versions + 1);
        let ready = Ready { lowered: Arc::new(lowered), code: Arc::default() };
        let (rows, place, counts) = (known.rows.clone(), Arc::downgrade(&ready.code), Arc::clone(&course.site.counts));
        known.coming = Some(ready);
        course.views.makers.order(Box::new(move || {
            let Some(place) = place.upgrade() else { return };
            let started = Instant::now();
            if let Ok(code) = Executable::new(&function, &likely_bounds(&function, &rows))
                && code.output_words == function.outputs.len()
            {
                counts.compiled.fetch_add(1, Relaxed);
                let _ = place.set(code);
            }
            counts.compiling.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        }));
    }
}
