//! Programs on many rows: calls, arithmetic, floats and time.

pub mod arithmetic;
pub mod crew;
pub mod fleet;
pub mod float_arrays;
pub mod floats;
pub mod job;
pub mod portable;
pub mod program;
