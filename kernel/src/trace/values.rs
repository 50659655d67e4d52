//! The values of expressions while one call is replayed.

use revm::primitives::U256;

use super::graph::{Expression, Graph, Node, Text};

/// The values of a graph's expressions while one call is replayed.
#[derive(Default)]
pub struct Values {
    pub words: Vec<U256>,
    pub scratch: Vec<u8>,
}

impl Values {
    #[inline]
    pub fn get(&self, node: Node) -> U256 {
        self.words[node as usize]
    }

    /// Take in what the graph has gained since: constants have their values from here on.
    #[inline]
    pub fn grow(&mut self, graph: &Graph) {
        for expression in &graph.expressions()[self.words.len()..] {
            self.words.push(if let Expression::Constant(value) = expression { *value } else { U256::ZERO });
        }
    }

    /// A text with the values of its words.
    pub fn write(&self, text: &Text) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.bytes.len());
        self.write_into(text, &mut bytes);
        bytes
    }

    /// Put a text with the values of its words behind `into`.
    pub fn write_into(&self, text: &Text, into: &mut Vec<u8>) {
        write(text, &self.words, into);
    }
}

/// Put a text with the values of its words behind `into`.
pub fn write(text: &Text, values: &[U256], into: &mut Vec<u8>) {
    into.extend_from_slice(&text.bytes);
    for part in &text.parts {
        let (from, at, length) = (usize::from(part.from), part.at as usize, usize::from(part.length));
        put(values[part.node as usize].as_limbs(), from, &mut into[at..at + length]);
    }
}

/// Put bytes of a word, from its byte `from` on, where they belong.
#[inline]
pub fn put(limbs: &[u64; 4], from: usize, into: &mut [u8]) {
    // A whole word goes limb by limb: in one piece it would wait for its limbs to arrive in memory.
    if let ([a, b, c, d], []) = into.as_chunks_mut::<8>()
        && from == 0
    {
        (*a, *b) = (limbs[3].to_be_bytes(), limbs[2].to_be_bytes());
        (*c, *d) = (limbs[1].to_be_bytes(), limbs[0].to_be_bytes());
        return;
    }
    let word = U256::from_limbs(*limbs).to_be_bytes::<32>();
    into.copy_from_slice(&word[from..from + into.len()]);
}
