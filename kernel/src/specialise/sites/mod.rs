//! Transactions of one template, replayed by the paths of its call site.

pub mod code;
pub mod compare;
pub mod paths;
pub mod shape;
pub mod show;
pub mod site;
