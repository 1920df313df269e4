//! System calls on files, as values: what an execution issues, and what a driver does.

use serde::{Deserialize, Serialize};

/// Number of an open file.
pub type HandleId = u32;

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FileCall {
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
