//! Published rates that a profile quotes: each with the state and the workload it is meant for, and with what the
//! simulated drive does, so that a test can hold both to it. They change nothing that a drive does.

use super::figure::Confidence;
use serde::{Deserialize, Serialize};

/// Workload of a published rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateWorkload {
    /// Reads at random.
    RandomRead,
    /// Writes at random.
    RandomWrite,
    /// Reads in order.
    SequentialRead,
    /// Writes in order.
    SequentialWrite,
}

/// Unit of a published rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateUnit {
    /// Operations per second.
    Iops,
    /// 10^6 bytes per second.
    MbPerS,
    /// Mean latency in microseconds.
    MeanUs,
}

/// One published rate (`[[rate]]` in a profile).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRate {
    /// Workload.
    pub workload: RateWorkload,
    /// Bytes of an operation.
    pub record_bytes: u64,
    /// Outstanding operations (queue depth).
    pub depth: u32,
    /// The part of the drive that is visited.
    pub span_bytes: u64,
    /// Bytes that are read or written there.
    pub moved_bytes: u64,
    /// Bytes that were written in order before, to a new drive: what is read lies there, and sequential writes continue
    /// behind them. 0: the drive is new.
    #[serde(default)]
    pub written_before_bytes: u64,
    /// Times that the span was overwritten at random before, 4 KiB at a time.
    #[serde(default)]
    pub overwritten_before_times: u64,
    /// Share of the content that compression saves, in percent.
    #[serde(default)]
    pub compressible_percent: u8,
    /// The published figure.
    pub value: f64,
    /// Unit of the rate.
    pub unit: RateUnit,
    /// Publisher of the rate.
    pub source: String,
    /// Degree of confidence.
    pub confidence: Confidence,
    /// Rate of the simulated drive.
    pub simulated: f64,
    /// Reason why the simulated rate is more than a tenth off.
    #[serde(default)]
    pub why_off: Option<String>,
}
