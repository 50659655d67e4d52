//! State of a chain: a frozen world, and the writes of a run over it.

pub mod canonical;
pub mod changes;
pub mod database;
pub mod digest;
pub mod dump;
pub mod identity;
pub mod overlay;
pub mod plane;
pub mod state;
pub mod world;
