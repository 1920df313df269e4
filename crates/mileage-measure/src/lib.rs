//! Measurement of I/O: a mergeable latency histogram, a bounded interval series, and the distributions of its statistics.
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
mod distributions;
mod histogram;
mod record;
mod series;
mod sparse_histogram;

pub use commit_times::CommitTimes;
pub use distributions::{beta_quantile, binomial_tail, chi_square_below, noncentral_t_above, t_quantile, t_two_sided};
pub use histogram::{Histogram, HistogramData, SUB_BUCKETS_PER_OCTAVE};
pub use record::{
    Concurrency, ContentData, LatencyData, LogRecord, Mismatch, PackedData, RunError, RunRecord, SplitLatencyData,
    ThreadRecord, Usage,
};
pub use schema::{Fields, schema};
pub use series::{CompletedOperation, Series, SeriesData, SeriesState};
