//! The modelled host above a virtual drive.
//!
//! # Contract
//! A [`Host`] owns a block device and offers file operations on it, in the device's time. Whoever does block
//! operations passes the host by: they reach the device with their offsets unchanged.
//!
//! # Model
//! [`PassThrough`] is the only host yet: block operations pass, file operations are refused by name.
//!
//! # Refused here
//! Page cache, file system, scheduler and CPU cost: not built yet; there is no parameter to ask for them.
//!
//! # Invariant
//! The same bans as the drives: no host clock, no unsafe code. *Guard:* `clippy.toml` of this crate; the suite of the
//! block-device contract runs on [`PassThrough`].
#![forbid(unsafe_code)]

use mileage_drive::{BlockDevice, Completion, Request, StateError};
use mileage_workload::Op;
use std::fmt;

/// What a file operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileOperationKind {
    /// Make a file.
    Create,
    /// Open a file that is there.
    Open,
    /// Read bytes of a file.
    Read,
    /// Write bytes of a file.
    Write,
    /// Put a file on the medium.
    Sync,
    /// Ask for a file's size and times.
    Stat,
    /// Remove a file.
    Remove,
}

impl fmt::Display for FileOperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Stat => "stat",
            Self::Remove => "remove",
        })
    }
}

/// One file operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOperation {
    /// What to do.
    pub kind: FileOperationKind,
    /// On which file.
    pub path: String,
}

/// Why a host does not do a file operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no file system between the operation and the drive.
    #[error(
        "{kind} {path:?}: file operations need a modelled host; virtual:NAME@HOST is not built yet; use dir: or file:, or a block workload"
    )]
    NoFileSystem {
        /// What was asked for.
        kind: FileOperationKind,
        /// Of which file.
        path: String,
    },
}

/// File operations over a block device. The crate's text is the contract.
pub trait Host {
    /// What the host stores its files on.
    type Device: BlockDevice;

    /// The device below.
    fn device(&self) -> &Self::Device;

    /// The device below, to do block operations on.
    fn device_mut(&mut self) -> &mut Self::Device;

    /// Do a file operation that is submitted at `submit_ns` of the device's clock; when it completes.
    ///
    /// # Errors
    /// What the host cannot do, by name.
    fn file(&mut self, operation: &FileOperation, submit_ns: u64) -> Result<u64, HostError>;
}

/// No host at all: what is asked of it reaches the drive as it is.
#[derive(Clone, Debug)]
pub struct PassThrough<D> {
    device: D,
}

impl<D: BlockDevice> PassThrough<D> {
    /// A host above this device.
    pub fn new(device: D) -> Self {
        Self { device }
    }

    /// The device, given back.
    pub fn into_device(self) -> D {
        self.device
    }
}

impl<D: BlockDevice> Host for PassThrough<D> {
    type Device = D;

    fn device(&self) -> &D {
        &self.device
    }

    fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    fn file(&mut self, operation: &FileOperation, _submit_ns: u64) -> Result<u64, HostError> {
        Err(HostError::NoFileSystem { kind: operation.kind, path: operation.path.clone() })
    }
}

impl<D: BlockDevice> BlockDevice for PassThrough<D> {
    fn capacity_bytes(&self) -> u64 {
        self.device.capacity_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        self.device.sector_bytes()
    }

    fn page_bytes(&self) -> u32 {
        self.device.page_bytes()
    }

    fn now_ns(&self) -> u64 {
        self.device.now_ns()
    }

    fn advance_to(&mut self, now_ns: u64) {
        self.device.advance_to(now_ns);
    }

    fn submit_one(&mut self, request: &Request) -> Completion {
        self.device.submit_one(request)
    }

    fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        self.device.prefetch(later, soon);
    }

    fn counter_names(&self) -> &'static [&'static str] {
        self.device.counter_names()
    }

    fn counters(&self, out: &mut [u64]) {
        self.device.counters(out);
    }

    fn save(&self) -> Vec<u8> {
        self.device.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        self.device.restore(state)
    }
}
