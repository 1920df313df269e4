//! What one run leaves behind, as it is journalled. Made by every driver of the execution contract.

use crate::{HistogramData, SeriesData};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Latencies of one run, from submission to completion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyData {
    /// Of reads.
    pub read: HistogramData,
    /// Of writes; the final sync is not among them.
    pub write: HistogramData,
}

/// What one thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRecord {
    /// The operating system's thread number; `None` in virtual time.
    pub tid: Option<u32>,
    /// Reads completed.
    pub ops_read: u64,
    /// Writes completed.
    pub ops_written: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Read and write system calls made; more than the operations when the kernel transferred less than asked.
    pub calls: u64,
}

/// Why a run ended before its stop rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// The operating system's name for it, such as `ENOSPC`.
    pub kind: String,
    /// One line: what failed, where, and what to do.
    pub message: String,
}

/// One execution of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Reads completed.
    pub ops_read: u64,
    /// Writes completed.
    pub ops_written: u64,
    /// First submission to last completion without the final sync, in nanoseconds.
    pub submit_ns: u64,
    /// First submission to the end of the final sync, in nanoseconds; equal to `submit_ns` without one.
    pub durable_ns: u64,
    /// The denominator of every rate: `durable_ns` if the workload times its sync, else `submit_ns`.
    pub elapsed_ns: u64,
    /// Latency histograms.
    pub latency: LatencyData,
    /// Rate, latency and counters over time.
    pub series: SeriesData,
    /// What explains the result: each counter's change over the run.
    pub counters: BTreeMap<String, u64>,
    /// Each thread's part.
    pub threads: Vec<ThreadRecord>,
    /// Set when the run failed; what was done before stands above.
    pub error: Option<RunError>,
    /// Set when the user interrupted the run.
    pub interrupted: bool,
}
