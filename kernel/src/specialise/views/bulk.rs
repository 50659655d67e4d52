//! The calls of a batch by the code of their paths: in blocks, most probable path first.

use std::ops::Range;

use revm::primitives::{Bytes, U256};

use super::{
    lowered::Lowered,
    memos::{Derived, Memo, Memos, Since, Slot},
    reader::Reader,
};
use crate::{
    batch::Answers,
    native::processor::{executable::Executable, rows::Rows},
    storage::changes::mark,
    trace::{Graph, Surroundings, Text, Unread, Values, put as put_word},
};

/// Calls that go through a function at once.
const BLOCK: usize = 32;
/// Calls from which on a further thread pays.
const CALLS_A_THREAD: usize = 2_048;
/// Paths that are tried on a call.
const MOST_TRIES: usize = 6;

/// Number of a call, and what is remembered of it.
type Call<'a> = (usize, Option<&'a Memo>);

/// A path with code whose conditions hold in this batch.
pub struct Live<'a> {
    pub path: usize,
    pub lowered: &'a Lowered,
    pub code: &'a Executable,
}

/// The calls of a batch, and what is known about them.
pub struct Bulk<'a> {
    pub graph: &'a Graph,
    /// The most used ones first.
    pub live: &'a [Live<'a>],
    pub datas: &'a [&'a [u8]],
    pub memos: &'a Memos,
    /// Where their calldata differs.
    pub holes: &'a [usize],
    /// What has changed since the last batch. A single call is none.
    pub since: Option<Since>,
}

/// What became of some of the calls.
#[derive(Default)]
pub struct Share {
    pub answers: Vec<Answers>,
    /// Calls that took no path with code.
    pub left: Vec<usize>,
    pub memos: Vec<(usize, Memo)>,
}

/// Memory for a block of calls.
struct Block {
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    flags: [u8; BLOCK],
    fresh: Vec<Option<Derived>>,
}

impl<'a> Bulk<'a> {
    /// Run the calls of a range. `values` has what is equal in all calls.
    pub fn run(&self, calls: Range<usize>, values: &mut Values, reader: &mut Reader<'a>) -> Share {
        let mut share = Share::default();
        let mut waiting: Vec<Vec<Call<'a>>> = vec![Vec::new(); self.live.len()];
        let (mut later, mut words, mut next) = (Vec::new(), Vec::new(), 0);
        for call in calls {
            let memo = self.memo(call, &mut words, &mut next);
            let known = memo.and_then(|memo| self.live.iter().position(|live| live.path == memo.path));
            match known.or((!self.live.is_empty()).then_some(0)) {
                Some(at) => waiting[at].push((call, memo)),
                None => later.push((call, memo)),
            }
        }
        for (at, calls) in waiting.iter().enumerate() {
            self.run_path(at, calls, values, reader, &mut share, &mut later);
        }
        for at in 0..self.live.len().min(MOST_TRIES) {
            let calls = std::mem::take(&mut later);
            self.run_path(at, &calls, values, reader, &mut share, &mut later);
        }
        share.left = later.into_iter().map(|(call, _)| call).collect();
        share
    }

    /// What is remembered of a call. `words`: memory for its calldata; `next`: where it is looked for first.
    fn memo(&self, call: usize, words: &mut Vec<u8>, next: &mut usize) -> Option<&'a Memo> {
        let data = self.datas[call];
        if let [at] = *self.holes {
            return self.memos.get_next(&data[at..at + 32], next);
        }
        words.clear();
        self.holes.iter().for_each(|at| words.extend_from_slice(&data[*at..at + 32]));
        self.memos.get_next(words, next)
    }

    /// Try a path on some calls; those that do not take it wait for another.
    fn run_path(
        &self,
        at: usize,
        calls: &[Call<'a>],
        values: &mut Values,
        reader: &mut Reader<'a>,
        share: &mut Share,
        refused: &mut Vec<Call<'a>>,
    ) {
        if calls.is_empty() {
            return;
        }
        let Live { path, lowered, code } = &self.live[at];
        let (equal, width) = (lowered.equal.len(), (lowered.equal.len() + lowered.own.len()).max(1));
        let mut block = Block {
            inputs: vec![0; 4 * width * BLOCK.min(calls.len())],
            outputs: vec![0; 4 * lowered.results * BLOCK.min(calls.len())],
            flags: [0; BLOCK],
            fresh: Vec::with_capacity(BLOCK),
        };
        for row in block.inputs.chunks_exact_mut(4 * width) {
            put(row, lowered.equal.iter().map(|node| values.get(*node)));
        }
        let (mut taken, length) = (Vec::with_capacity(calls.len()), lowered.output.bytes.len());
        let mut told = Vec::with_capacity(length * calls.len());
        let fixed: Vec<U256> = lowered.fixed.iter().map(|node| values.get(*node)).collect();
        for calls in calls.chunks(BLOCK) {
            block.fresh.clear();
            let mut read = [true; BLOCK];
            for (row, (call, memo)) in calls.iter().enumerate() {
                let memo = memo.filter(|memo| memo.path == *path).and_then(|memo| memo.derived.as_ref());
                let own = &mut block.inputs[4 * (row * width + equal)..][..4 * lowered.own.len()];
                // What is read by numbered slots alone stays until one of them is written.
                let repeated = self.since.as_ref().zip(memo).filter(|_| lowered.slots.len() == lowered.read.len());
                if repeated.is_some_and(|(since, known)| since.repeat(known, own)) {
                    block.fresh.push(None);
                    continue;
                }
                reader.data = self.datas[*call];
                match self.gather(lowered, memo, values, reader) {
                    Ok(fresh) => block.fresh.push(fresh),
                    Err(Unread) => {
                        read[row] = false;
                        block.fresh.push(None);
                    }
                }
                put(own, lowered.own.iter().map(|node| values.get(*node)));
                if let Some((since, known)) = repeated.filter(|_| read[row]) {
                    since.remember(known, own);
                }
            }
            code.run(&mut Rows {
                inputs: &block.inputs,
                outputs: &mut block.outputs,
                flags: &mut block.flags,
                count: calls.len(),
                input_stride: 4 * width,
                output_stride: 4 * lowered.results,
            });
            for (row, call) in calls.iter().enumerate() {
                if block.flags[row] != 1 || !read[row] {
                    refused.push(*call);
                    continue;
                }
                let (call, _) = call;
                let results = &block.outputs[4 * row * lowered.results..4 * (row + 1) * lowered.results];
                write(&lowered.output, results, &fixed, &mut told);
                taken.push(*call);
                if let Some(derived) = block.fresh[row].take() {
                    share.memos.push((*call, Memo { path: *path, derived: Some(derived) }));
                }
            }
        }
        share.answers.push(Answers { path: *path, calls: taken, length, outputs: Bytes::from(told) });
    }

    /// Read what a call's row needs, for calldata that is new. Returns what is worth remembering.
    fn derive(&self, lowered: &Lowered, values: &mut Values, reader: &mut Reader<'a>) -> Result<Derived, Unread> {
        for node in &lowered.derive {
            self.graph.evaluate(*node, values, reader)?;
        }
        let kept = lowered.kept.iter().map(|node| values.get(*node)).collect();
        let mut slots = Vec::new();
        for (node, at) in &lowered.read {
            self.graph.evaluate(*node, values, reader)?;
            if let Some(at) = at {
                let (account, key) = lowered.slots[*at];
                let key = values.get(key);
                slots.push(Slot { below: reader.below(account, key)?, mark: mark(&account, &key) });
            }
        }
        Ok(Derived { kept, slots: slots.into(), latest: Default::default() })
    }

    /// Read what a call's row needs. Returns what was derived from calldata that is new.
    #[inline]
    fn gather(
        &self,
        lowered: &Lowered,
        memo: Option<&Derived>,
        values: &mut Values,
        reader: &mut Reader<'a>,
    ) -> Result<Option<Derived>, Unread> {
        // The words of the calldata are the first expressions after zero.
        for hole in 0..self.holes.len() {
            values.words[1 + hole] = reader.input(hole as u32);
        }
        let Some(known) = memo else { return self.derive(lowered, values, reader).map(Some) };
        for (node, word) in lowered.kept.iter().zip(&known.kept) {
            values.words[*node as usize] = *word;
        }
        for (node, at) in &lowered.read {
            match at {
                // The world below the writes never changes: what stands there is remembered.
                Some(at) => {
                    let (account, key) = lowered.slots[*at];
                    let written = reader.written(account, values.get(key));
                    values.words[*node as usize] = written.unwrap_or(known.slots[*at].below);
                }
                None => self.graph.evaluate(*node, values, reader)?,
            }
        }
        Ok(None)
    }
}

/// Words into a row, lowest limb first.
#[inline]
fn put(row: &mut [u64], words: impl Iterator<Item = U256>) {
    for (place, word) in row.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(word.as_limbs());
    }
}

/// An output from a function's results and what is equal in all calls.
fn write(text: &Text, results: &[u64], fixed: &[U256], into: &mut Vec<u8>) {
    let (start, computed) = (into.len(), results.len() / 4);
    into.extend_from_slice(&text.bytes);
    for part in &text.parts {
        let node = part.node as usize;
        let limbs = match (node.checked_sub(computed), results.as_chunks::<4>()) {
            (Some(at), _) => fixed[at].as_limbs(),
            (None, (words, _)) => &words[node],
        };
        let at = start + part.at as usize;
        put_word(limbs, usize::from(part.from), &mut into[at..at + usize::from(part.length)]);
    }
}

/// Run a batch on as many threads as pay.
pub fn in_parts<'a>(bulk: &Bulk<'a>, values: &mut Values, reader: &Reader<'a>, threads: usize) -> Vec<Share> {
    let calls = bulk.datas.len();
    let parts = threads.min(calls / CALLS_A_THREAD).max(1);
    if parts == 1 {
        return vec![bulk.run(0..calls, values, &mut reader.clone())];
    }
    let size = calls.div_ceil(parts);
    let others = (1..parts).map(|part| part * size..((part + 1) * size).min(calls));
    std::thread::scope(|scope| {
        let spawned: Vec<_> = others
            .map(|range| {
                let (mut values, mut reader) =
                    (Values { words: values.words.clone(), scratch: Vec::new() }, reader.clone());
                let again = range.clone();
                let work = move || bulk.run(range, &mut values, &mut reader);
                std::thread::Builder::new().spawn_scoped(scope, work).map_err(|_| again)
            })
            .collect();
        let mut shares = vec![bulk.run(0..size.min(calls), values, &mut reader.clone())];
        for part in spawned {
            shares.push(match part {
                Ok(thread) => match thread.join() {
                    Ok(share) => share,
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                // A thread that the system does not give is not needed.
                Err(range) => bulk.run(range, values, &mut reader.clone()),
            });
        }
        shares
    })
}
