//! Calls as values: what is asked, how far it is, why it failed.

use crate::file_system::NameError;
use crate::wait::Wait;
use serde::{Deserialize, Serialize};

/// Number of an open file.
pub type HandleId = u32;

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    /// `pread`.
    Read {
        /// Open file.
        handle: HandleId,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// `pwrite`.
    Write {
        /// Open file.
        handle: HandleId,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// `fsync`, or `fdatasync`.
    Sync {
        /// Open file.
        handle: HandleId,
        /// `fdatasync`.
        data_only: bool,
    },
    /// `fallocate` that punches a hole.
    Punch {
        /// Open file.
        handle: HandleId,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// `ftruncate`.
    Truncate {
        /// Open file.
        handle: HandleId,
        /// New length.
        size: u64,
    },
    /// `open`: the handle must be free.
    Open {
        /// The path.
        path: String,
        /// The handle that it gets.
        handle: HandleId,
        /// Flags of the call.
        how: OpenHow,
    },
    /// `close`.
    Close {
        /// Open file.
        handle: HandleId,
    },
    /// `stat`.
    Stat {
        /// The path.
        path: String,
    },
    /// `utime` to now.
    Utime {
        /// The path.
        path: String,
    },
    /// `rename`.
    Rename {
        /// The old path.
        from: String,
        /// The new one.
        to: String,
    },
    /// `unlink`, or `rmdir`.
    Unlink {
        /// The path.
        path: String,
        /// `rmdir`.
        directory: bool,
    },
    /// `mkdir`.
    Mkdir {
        /// The path.
        path: String,
    },
    /// `opendir`, `readdir` to the end, `closedir`.
    Readdir {
        /// The path.
        path: String,
    },
    /// `sync`: everything that is dirty, and a commit.
    SyncAll,
    /// Clean pages are given up, as writing 1 into `drop_caches` does.
    DropCaches,
    /// `fstrim`: every free block is discarded.
    TrimFree,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the call")]
pub struct OpenHow {
    /// `O_CREAT`.
    pub create: bool,
    /// `O_EXCL`.
    pub exclusive: bool,
    /// `O_TRUNC`.
    pub truncate: bool,
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_DSYNC`.
    pub dsync: bool,
}

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
pub(crate) type Stepped = Result<Progress, CallError>;
