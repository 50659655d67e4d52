//! From words to 64-bit limbs: what every code generator is given.

pub mod division;
pub mod float_steps;
pub mod limbs;
pub mod lower;
pub mod lower_division;
pub mod lower_float;
pub mod lower_pure;
#[cfg(test)]
pub mod scalar;
pub mod short_division;
