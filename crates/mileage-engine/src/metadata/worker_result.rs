//! Result of one worker of a metadata run.

use crate::usage::ThreadUsage;
use mileage_measure::{Histogram, RunError, Series, ThreadRecord};
use serde::{Deserialize, Serialize};

/// Result of a worker. Times are in nanoseconds since the gate opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) record: ThreadRecord,
    pub(crate) series: Series,
    /// Latencies of the syncs of created files, each of which is a part of its creation's.
    pub(crate) sync: Histogram,
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: u64,
    /// Operations and bytes when the first worker was done.
    pub(crate) when_first_done: Option<(u64, u64)>,
    pub(crate) was_first_done: bool,
    /// Resources that the worker used while the run was timed.
    pub(crate) spent: ThreadUsage,
    pub(crate) interrupted: bool,
    pub(crate) failure: Option<(u64, RunError)>,
    /// Names found by readdir.
    pub(crate) entries: u64,
    /// Files that could not be removed or were not, and the first reason.
    pub(crate) left: u64,
    pub(crate) left_because: Option<String>,
}

impl Part {
    /// Shift all times to a clock that was zero `by_ns` earlier; the series counts from its own start.
    pub(super) fn shift(&mut self, by_ns: u64) {
        self.last_ns += if self.first_ns.is_some() { by_ns } else { 0 };
        self.first_ns = self.first_ns.map(|first_ns| first_ns + by_ns);
        if let Some((at_ns, _)) = &mut self.failure {
            *at_ns += by_ns;
        }
    }
}
