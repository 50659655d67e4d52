//! Whole blocks: decoded, executed and compared with their header.

pub mod block;
pub mod block_trace;
pub mod hardfork;
pub mod receipt;
pub mod replay;
pub mod requests;
#[cfg(test)]
mod tests;
