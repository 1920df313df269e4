//! What happens at an instant, what calls wait for, and what is on its way.

use crate::block_request::IoId;
use crate::page_cache::FileId;
use crate::read_ahead::ReadAhead;
use serde::{Deserialize, Serialize};

/// An open file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handle {
    /// Which file.
    pub file: FileId,
    /// What its reads have been.
    pub read_ahead: ReadAhead,
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_DSYNC`: each write is synced.
    pub dsync: bool,
}

/// What happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A call continues.
    Call(u32),
    /// The flusher looks for old pages.
    FlusherPeriod,
    /// The flusher continues.
    Flusher,
    /// This transaction is old enough to commit.
    CommitTimer(u64),
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Wait {
    /// The end of a piece of I/O.
    Io(IoId),
    /// A page that is being read.
    Page(FileId, u32),
    /// The write-backs of a file that were begun up to this piece of I/O.
    Writeback(FileId, IoId),
    /// A commit.
    Commit(u64),
    /// Fewer dirty pages.
    Dirty,
}

/// Neighbouring pages of a file that are on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pages {
    pub file: FileId,
    pub page: u32,
    pub count: u32,
}
