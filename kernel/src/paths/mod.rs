//! A call recorded for many accounts, as functions of what differs between accounts and between scenarios.
//!
//! Scenarios change some slots of the state and the time of the block; everything else is constant. What an account
//! reads of the state is read once, here: after that a function needs no state.

mod call;
mod function;
mod recorder;

pub use recorder::PathRecorder;
