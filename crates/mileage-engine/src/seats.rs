//! Which threads of a run are in this process, and where it meets the processes of the others.

use crate::start_barrier::Meeting;
use mileage_workload::Workload;
use std::sync::Arc;

/// The seats of one process at a run.
#[derive(Debug)]
pub(crate) struct Seats {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) meeting: Option<Arc<Meeting>>,
}

impl Seats {
    /// All threads of the workload, in this process.
    pub(crate) fn all(workload: &Workload) -> Self {
        Self { first: 0, count: workload.threads, meeting: None }
    }
}
