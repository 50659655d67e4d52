//! State proven by trie nodes, and state roots.

pub mod proven;
pub mod trie;
pub mod whole;
pub mod witness;
