//! Origin of values: a shadow of each stack word and memory byte holds the expression that computed it.

use std::ops::Range;

use super::{
    course::Course,
    diamond::Join,
    effects::Checkpoint,
    graph::{Node, Part, Text},
};

/// Shadow of a stack word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The same in every call of the batch that gets here.
    Constant,
    /// Computed from calldata.
    Computed(Node),
    /// The remaining gas: differs between calls and is not computed. It may be passed on to calls.
    Gas,
}

/// Shadow of a byte: the byte of a word, or nothing if it is equal in every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteOrigin(u32);

impl ByteOrigin {
    pub const CONSTANT: Self = Self(u32::MAX);

    pub fn of(node: Node, byte: usize) -> Self {
        Self(node << 5 | byte as u32)
    }

    pub fn node(self) -> Node {
        self.0 >> 5
    }

    pub fn byte(self) -> u8 {
        (self.0 & 31) as u8
    }
}

/// The origins of a row of bytes. Behind the last one that is kept, all are constant.
#[derive(Clone, Debug, Default)]
pub struct Bytes(Vec<ByteOrigin>);

impl Bytes {
    pub fn of_words(words: impl IntoIterator<Item = (usize, usize, Node)>) -> Self {
        let mut bytes = Self::default();
        for (at, length, node) in words {
            bytes.write(at, (0..length).map(|byte| ByteOrigin::of(node, byte)));
        }
        bytes
    }

    pub fn is_constant(&self) -> bool {
        self.0.iter().all(|origin| *origin == ByteOrigin::CONSTANT)
    }

    fn get(&self, at: usize) -> ByteOrigin {
        self.0.get(at).copied().unwrap_or(ByteOrigin::CONSTANT)
    }

    fn write(&mut self, at: usize, origins: impl ExactSizeIterator<Item = ByteOrigin>) {
        let end = at + origins.len();
        if self.0.len() < end {
            self.0.resize(end, ByteOrigin::CONSTANT);
        }
        for (place, origin) in self.0[at..end].iter_mut().zip(origins) {
            *place = origin;
        }
    }

    /// Bytes that are equal in every call.
    pub fn clear(&mut self, range: Range<usize>) {
        let end = range.end.min(self.0.len());
        if range.start < end {
            self.0[range.start..end].fill(ByteOrigin::CONSTANT);
        }
    }

    pub fn write_word(&mut self, at: usize, origin: Origin) {
        match origin {
            Origin::Computed(node) => self.write(at, (0..32).map(|byte| ByteOrigin::of(node, byte))),
            _ => self.clear(at..at + 32),
        }
    }

    pub fn write_byte(&mut self, at: usize, origin: Origin) {
        match origin {
            Origin::Computed(node) => self.write(at, std::iter::once(ByteOrigin::of(node, 31))),
            _ => self.clear(at..at + 1),
        }
    }

    /// Take over `length` bytes of `source` from `from` on.
    pub fn copy(&mut self, at: usize, source: &Self, from: usize, length: usize) {
        self.clear(at..at.saturating_add(length));
        let there = source.0.len().saturating_sub(from).min(length);
        if there > 0 {
            self.write(at, source.0[from..from + there].iter().copied());
        }
    }

    pub fn slice(&self, from: usize, length: usize) -> Self {
        let mut slice = Self::default();
        slice.copy(0, self, from, length);
        slice
    }

    pub fn word(&self, at: usize) -> [ByteOrigin; 32] {
        std::array::from_fn(|byte| self.get(at.saturating_add(byte)))
    }

    pub fn text(&self, bytes: &[u8], course: &Course<'_>) -> Text {
        let kept = self.0.len().min(bytes.len());
        text_of(&self.0[..kept], bytes, course)
    }
}

/// Bytes as a text: constants for bytes that are equal in every call of this path, parts of words for the rest.
pub fn text_of(origins: &[ByteOrigin], bytes: &[u8], course: &Course<'_>) -> Text {
    let mut text = Text { bytes: bytes.to_vec(), parts: Vec::new() };
    for (at, origin) in origins.iter().enumerate() {
        let origin = course.source(*origin);
        if origin == ByteOrigin::CONSTANT {
            continue;
        }
        text.bytes[at] = 0;
        match text.parts.last_mut() {
            Some(part)
                if part.node == origin.node()
                    && part.at as usize + usize::from(part.length) == at
                    && part.from + part.length == origin.byte() =>
            {
                part.length += 1;
            }
            _ => text.parts.push(Part { node: origin.node(), from: origin.byte(), length: 1, at: at as u32 }),
        }
    }
    text
}

impl Text {
    /// Where one of its bytes comes from.
    pub fn origin(&self, at: u8) -> ByteOrigin {
        let at = u32::from(at);
        let within = |part: &&Part| (part.at..part.at + u32::from(part.length)).contains(&at);
        let byte = |part: &Part| ByteOrigin::of(part.node, usize::from(part.from) + (at - part.at) as usize);
        self.parts.iter().find(within).map_or(ByteOrigin::CONSTANT, byte)
    }
}

/// The origin of 32 bytes that need no assembling: constant, or one whole word.
pub fn whole_word(origins: &[ByteOrigin; 32]) -> Option<Origin> {
    let first = origins[0];
    if first == ByteOrigin::CONSTANT {
        return origins.iter().all(|origin| *origin == ByteOrigin::CONSTANT).then_some(Origin::Constant);
    }
    let node = first.node();
    let whole = origins.iter().enumerate().all(|(byte, origin)| *origin == ByteOrigin::of(node, byte));
    whole.then_some(Origin::Computed(node))
}

/// One frame's shadows.
#[derive(Default)]
pub struct Frame {
    pub stack: Vec<Origin>,
    pub memory: Bytes,
    pub calldata: Bytes,
    /// What the last call of this frame returned.
    pub returned: Bytes,
    /// What this frame returns.
    pub output: Bytes,
    /// The call it is waiting for: its calldata, and where its output goes.
    pub pending: Option<(Bytes, Range<usize>)>,
    /// Whether the interpreter has run any of its code.
    pub ran: bool,
    /// Where a converted branch ends; until then there is nothing to follow.
    pub join: Option<Join>,
    /// The effects of the transaction when it began.
    pub checkpoint: Checkpoint,
    /// Whether its caller is the sender of the transaction.
    pub by_sender: bool,
}
