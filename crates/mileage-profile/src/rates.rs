//! Published rates that a profile quotes: each with the state and the workload it is meant for, and with what the
//! simulated drive does, so that a test can hold both to it. They change nothing that a drive does.

use crate::figure::{Confidence, FigureText, ProfileError, impossible};
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
    /// Rate of the simulated drive; `None` where nobody has simulated it yet.
    #[serde(default)]
    pub simulated: Option<f64>,
    /// The figure that is fitted to this rate: the drive is given the value with which it does what was published.
    #[serde(default)]
    pub fits: Option<String>,
    /// Set aside before any figure was fitted: what the drive does of it is a prediction.
    #[serde(default)]
    pub held_out: bool,
    /// Simulated on a flash drive of this part of the size, 1/N of the blocks and of the capacity. Write amplification
    /// depends on shares, not on sizes, and a whole large drive takes long to write over and over.
    #[serde(default = "whole_drive")]
    pub size_divided_by: u64,
    /// Reason why the simulated rate is more than a tenth off.
    #[serde(default)]
    pub why_off: Option<String>,
}

const fn whole_drive() -> u64 {
    1
}

/// Checks the roles of the rates: a rate is fitted or held out, a figure is fitted to one rate, and only
/// figures that are marked as fitted are.
pub(crate) fn rates_hold(rates: &[PublishedRate], figures: &[FigureText]) -> Result<(), ProfileError> {
    let mut fitted: Vec<&str> = Vec::new();
    for rate in rates {
        if rate.size_divided_by == 0 {
            return impossible("rate.size_divided_by", 0, "1 or more");
        }
        let Some(name) = rate.fits.as_deref() else { continue };
        if rate.held_out {
            return impossible(
                "rate.held_out",
                format!("true, and fits = {name:?}"),
                "a rate that nothing is fitted to",
            );
        }
        let known = figures.iter().find(|figure| figure.name == name);
        if known.is_none_or(|figure| figure.confidence != Confidence::Fitted) {
            return impossible("rate.fits", format!("{name:?}"), "a figure of this profile whose confidence is fitted");
        }
        if fitted.contains(&name) {
            return impossible("rate.fits", format!("{name:?} twice"), "one rate for each fitted figure");
        }
        fitted.push(name);
    }
    Ok(())
}
