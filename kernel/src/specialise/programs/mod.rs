//! Whole programs of a fleet's rows, replayed as one path.

pub mod branches;
pub mod device;
pub mod growth;
pub mod keys;
pub mod program_site;
pub mod recording;
pub mod running;
pub mod twin;
pub mod whole;
