//! Statistics of a server, as values.

use serde::Serialize;
use std::collections::BTreeMap;

/// How late answers were.
#[derive(Clone, Debug, Serialize)]
pub struct LatenessStats {
    /// Answers that had a modelled instant.
    pub answers: u64,
    /// Mean, in nanoseconds; `None` without answers.
    pub mean_ns: Option<u64>,
    /// Mean time from a request's arrival to its modelled instant, by the host's clock.
    pub modelled_ns_mean: Option<u64>,
    /// Median, in nanoseconds; `None` without answers.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Greatest.
    pub max_ns: Option<u64>,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RequestStats {
    /// Requests that the host sent.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// Statistics since the server began.
#[derive(Clone, Debug, Serialize)]
pub struct ServerStats {
    /// Short name of the drive.
    pub drive: String,
    /// Bytes that can be addressed.
    pub capacity_bytes: u64,
    /// Seconds since the server began, by the host's clock.
    pub served_s: f64,
    /// The drive's clock.
    pub drive_ns: u64,
    /// Whether the drive has power.
    pub is_on: bool,
    /// `working`, `read-only`, `dead` or `dropped off`.
    pub life: &'static str,
    /// Requests by kind.
    pub requests: BTreeMap<&'static str, RequestStats>,
    /// Requests that were not answered yet.
    pub outstanding: usize,
    /// Changes that a power cut could undo.
    pub undurable: usize,
    /// Whether the effect of a power cut is known.
    pub can_cut: bool,
    /// How late answers were.
    pub lateness: LatenessStats,
    /// Times at which the file that keeps the data could not be written.
    pub data_failures: u64,
    /// Description of the last of these failures.
    pub data_failure: Option<String>,
    /// Counters of the drive.
    pub counters: BTreeMap<&'static str, u64>,
    /// Gauges of the drive.
    pub gauges: BTreeMap<&'static str, u64>,
}

/// What a power cut did.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PowerCutResult {
    /// The instant, by the drive's clock.
    pub at_ns: u64,
    /// Requests that were outstanding and failed.
    pub failed_requests: u64,
    /// Parts of changes, as the drive lists them, that were lost.
    pub lost_parts: usize,
    /// Sectors of changes that are as they were before.
    pub old_sectors: u64,
    /// Sectors that are torn.
    pub torn_sectors: u64,
    /// Sectors that cannot be read.
    pub unreadable_sectors: u64,
}
