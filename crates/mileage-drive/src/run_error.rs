//! Reasons why a workload cannot run on a virtual device.

use crate::block_device::Misuse;
use mileage_units::format_bytes;

/// Reason why a workload cannot run on a virtual device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The workload itself is not valid.
    #[error(transparent)]
    Workload(#[from] mileage_workload::Error),
    /// The span ends behind the device.
    #[error(
        "the workload's span ends at byte {end_bytes} ({}), but the drive has {capacity_bytes} ({}): choose a smaller span_bytes or span_start_bytes",
        format_bytes(*.end_bytes), format_bytes(*.capacity_bytes)
    )]
    SpanBehindDrive {
        /// End of the span.
        end_bytes: u64,
        /// Capacity of the drive.
        capacity_bytes: u64,
    },
    /// Records that the device cannot address.
    #[error("record_bytes is {record_bytes}: expected a multiple of the drive's sector of {sector_bytes} bytes")]
    RecordNotSectors {
        /// The record.
        record_bytes: u32,
        /// The sector.
        sector_bytes: u32,
    },
    /// The device broke the block-device contract.
    #[error("the device failed: {0}")]
    Device(Misuse),
    /// Something that only a real target has.
    #[error("{what} is {found}: a virtual drive {why}")]
    NotVirtual {
        /// Name of the field.
        what: &'static str,
        /// What was given.
        found: String,
        /// Reason, and the remedy.
        why: &'static str,
    },
}
