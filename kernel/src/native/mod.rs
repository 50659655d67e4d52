//! From straight-line code over 256-bit words to machine code for whole batches of rows.
//!
//! A recorder builds a [`ir::Function`]; [`plan::Plan`] is what is left of it after the passes.

pub mod binding;
mod bits;
mod calls;
mod cranelift;
mod division;
pub mod dump;
mod emit;
mod emit_float;
pub mod executable;
mod facts;
mod faults;
mod float_steps;
mod graph;
mod interpreter;
pub mod ir;
mod kernels;
pub mod likely;
mod limbs;
mod lower;
mod lower_division;
mod lower_float;
mod lower_pure;
mod peepholes;
pub mod plan;
pub mod ptx;
mod range;
pub mod reference;
pub mod rows;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod scalar;
pub mod stored;
#[cfg(test)]
mod tests;
mod transfer;
pub mod tree;
