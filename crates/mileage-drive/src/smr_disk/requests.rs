//! Outstanding work: commands of the host, and the requests to the disk that they and cleaning need.

use serde::{Deserialize, Serialize};

/// A command of the host that has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Command {
    pub sequence: u64,
    pub submit_ns: u64,
    pub fua: bool,
    /// For a write: the first sector that is not logged.
    pub next: u64,
    /// Behind the last sector.
    pub end: u64,
    /// Requests for it that the disk has not decided.
    pub pending: u64,
    /// Completion time of the decided ones.
    pub decided_ns: u64,
    /// [`NEVER`] until it is decided.
    pub complete_ns: u64,
}

/// Purpose of a request to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Owner {
    /// A command of the host, by its tag.
    Host(u64),
    Cleaning,
}

/// A write to the log that is not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoggedPart {
    /// Tag of the host's write.
    pub tag: u64,
    /// Position of its journal entry in the log.
    pub position: u64,
    /// Sectors of the host.
    pub first: u64,
    pub end: u64,
}
