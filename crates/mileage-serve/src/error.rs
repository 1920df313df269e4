//! Reasons why a server cannot do something.

use mileage_drive::{ManagementError, Misuse, StateError};
use std::io;

/// Reason why a server cannot do something.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The drive has no power.
    #[error("the drive has no power: switch it on first")]
    Off,
    /// The drive has power.
    #[error("the drive has power already")]
    On,
    /// A state that is not one of this drive.
    #[error("the state does not fit this drive: {0}")]
    State(#[from] StateError),
    /// The drive cannot be managed now.
    #[error(transparent)]
    Management(#[from] ManagementError),
    /// The drive broke its contract.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// A range that is not one of whole sectors of the drive.
    #[error(
        "{length_bytes} bytes at {offset_bytes}: expected whole sectors of {sector_bytes} bytes within the {capacity_bytes} bytes of the drive"
    )]
    Range {
        /// First byte.
        offset_bytes: u64,
        /// Length.
        length_bytes: u64,
        /// Size of a sector.
        sector_bytes: u64,
        /// Size of the drive.
        capacity_bytes: u64,
    },
    /// The drive ended while it was aged.
    #[error("ageing ended: {0}")]
    Ageing(String),
    /// The system failed.
    #[error(transparent)]
    System(#[from] io::Error),
}
