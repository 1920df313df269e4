//! Measurement of I/O: a mergeable latency histogram and a bounded interval series.
//!
//! # Invariant
//! Pure: no file, no clock, no globals; recording allocates nothing after construction and never fails.
//! *Guard:* this crate has no dependency that could reach the host; `series` proves its bound over random input.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[macro_use]
mod schema;
mod commit_times;
mod histogram;
mod record;
mod series;
mod sparse_histogram;

pub use commit_times::CommitTimes;
pub use histogram::{Histogram, HistogramData, SUB_BUCKETS_PER_OCTAVE};
pub use record::{
    Concurrency, ContentData, LatencyData, LogRecord, Mismatch, PackedData, RunError, RunRecord, SplitLatencyData,
    ThreadRecord, Usage,
};
pub use schema::{Fields, schema};
pub use series::{CompletedOperation, Series, SeriesData, SeriesState};
