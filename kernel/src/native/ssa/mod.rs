//! Functions over 256-bit words: their nodes, what is known of them, and the passes that make them smaller.

pub mod bits;
pub mod dump;
pub mod facts;
pub mod graph;
pub mod ir;
pub mod likely;
pub mod peepholes;
pub mod plan;
pub mod range;
pub mod reference;
pub mod stored;
pub mod transfer;
pub mod tree;
