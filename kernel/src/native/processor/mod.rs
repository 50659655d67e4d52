//! Functions on the processor: machine code by Cranelift, or the batch interpreter.

pub mod calls;
pub mod cranelift;
pub mod emit;
mod emit_calls;
pub mod emit_float;
pub mod executable;
pub mod interpreter;
pub mod kernels;
pub mod registers;
pub mod row_loop;
pub mod rows;
pub mod target;
