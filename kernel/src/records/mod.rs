//! Rows of a run by column: market figures as text, number and line of the digest, and tables as Parquet files.

pub mod figures;
mod numbers;
mod parquet;
pub mod parquet_columns;
pub mod snapshots;
mod thrift;
