//! The threads of a run that are in this process, and the start barrier that it shares with the other processes.

use crate::start_barrier::StartBarrier;
use mileage_workload::Workload;
use std::sync::Arc;

/// The threads that one process has of a run.
#[derive(Debug)]
pub(crate) struct ThreadRange {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) barrier: Option<Arc<StartBarrier>>,
}

impl ThreadRange {
    /// All threads of the workload, in this process.
    pub(crate) fn all(workload: &Workload) -> Self {
        Self { first: 0, count: workload.threads, barrier: None }
    }
}
