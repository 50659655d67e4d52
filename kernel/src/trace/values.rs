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
        let word = values[part.node as usize].to_be_bytes::<32>();
        match <&mut [u8; 32]>::try_from(&mut into[at..at + length]) {
            Ok(place) => *place = word,
            Err(_) => into[at..at + length].copy_from_slice(&word[from..from + length]),
        }
    }
}
