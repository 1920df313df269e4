//! Calls on their way: how far each is, why it failed.

use crate::file_system::NameError;
use crate::wait::Wait;
use serde::{Deserialize, Serialize};

pub use mileage_workload::{FileCall as Call, HandleId, OpenHow};

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CallError {
    /// The name.
    #[error("{path}: {errno}")]
    Name {
        /// The path.
        path: String,
        /// What Linux calls it.
        errno: String,
    },
    /// No free block for what was written.
    #[error("no space left on the file system")]
    Full,
    /// The handle is not open.
    #[error("handle {0} is not open")]
    NotOpen(HandleId),
    /// The kernel has no such operation, or the drive refuses it.
    #[error("{0}")]
    Unsupported(String),
    /// The drive failed.
    #[error("{0}")]
    Drive(String),
}

impl CallError {
    /// What Linux calls it.
    pub fn errno(&self) -> &str {
        match self {
            Self::Name { errno, .. } => errno,
            Self::Full => "ENOSPC",
            Self::NotOpen(_) => "EBADF",
            Self::Unsupported(_) => "EOPNOTSUPP",
            Self::Drive(_) => "EIO",
        }
    }

    pub(crate) fn name(path: &str, error: NameError) -> Self {
        Self::Name { path: path.to_owned(), errno: error.errno().to_owned() }
    }
}

/// A call that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Active {
    pub call: Call,
    /// How far it is; what that means is the call's own business.
    pub stage: u8,
    /// Bytes of the range that are done.
    pub done: u64,
    /// The I/O that it waits for.
    pub io: u64,
    /// The time for the next request has been spent.
    pub charged: bool,
    /// The page that it waited for, so that it is counted as missing once.
    pub missed: Option<u32>,
    /// When it began to wait for memory.
    pub throttled_ns: u64,
}

impl Active {
    pub(crate) fn new(call: Call, now_ns: u64) -> Self {
        Self { call, stage: 0, done: 0, io: 0, charged: false, missed: None, throttled_ns: now_ns }
    }

    /// Whether the processor time before the next request was spent; if not, it is added now, and the call returns.
    pub(crate) fn spend(&mut self, cost_ns: &mut f64, more_ns: f64) -> bool {
        if !self.charged {
            self.charged = true;
            *cost_ns += more_ns;
            if *cost_ns > 0.0 {
                return false;
            }
        }
        self.charged = false;
        true
    }
}

/// How a call continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It ends when its processor time has passed.
    Done(Result<(), CallError>),
    /// It continues when its processor time has passed.
    Again,
    /// It continues when this is over.
    Wait(Wait),
}

/// An error ends a call.
pub(crate) type StepResult = Result<Progress, CallError>;
