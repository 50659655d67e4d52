//! From straight-line code over 256-bit words to machine code for whole batches of rows.
//!
//! A recorder builds a [`ssa::ir::Function`]; [`ssa::plan::Plan`] is what is left of it after the passes.

pub mod binding;
pub mod lowering;
pub mod processor;
pub mod ptx;
#[cfg(test)]
mod quotient_tests;
#[cfg(test)]
pub mod samples;
#[cfg(test)]
mod size_tests;
pub mod ssa;
#[cfg(test)]
mod tests;
