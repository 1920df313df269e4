//! Run a workload on any [`crate::RunnerDevice`], for example on a modelled host above a drive.

use crate::run::run_on;
use crate::run_error::Error;
use crate::runner_device::RunnerDevice;
use mileage_measure::RunRecord;
use mileage_workload::{Observer, Workload};

/// As [`crate::run()`], on whatever is driven by the loop.
///
/// # Errors
/// Those of [`crate::run()`].
pub fn run_driven<S: RunnerDevice, O: Observer>(
    device: S,
    workload: &Workload,
    observer: &mut O,
    poll: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<RunRecord, Error> {
    run_on(device, workload, observer, poll)
}
