//! State proven by trie nodes.

pub mod proven;
pub mod trie;
pub mod witness;
