//! A request to a device, and what it belongs to.

use mileage_drive::RequestKind;
use serde::{Deserialize, Serialize};

/// A piece of work whose end somebody waits for: several requests may belong to it, and several to one request.
pub type IoId = u64;

/// What a request does; [`RequestKind`] as a state that can be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard.
    Discard,
    /// Flush the drive's cache.
    Flush,
}

impl Kind {
    pub(crate) fn of_device(self) -> RequestKind {
        match self {
            Self::Read => RequestKind::Read,
            Self::Write => RequestKind::Write,
            Self::Discard => RequestKind::Discard,
            Self::Flush => RequestKind::Flush,
        }
    }
}

/// A request as the device sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRequest {
    /// What it does.
    pub kind: Kind,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Force unit access.
    pub fua: bool,
    /// Its pages are separate in memory.
    pub separate: bool,
    /// When it was queued.
    pub queued_ns: u64,
    /// What it belongs to.
    pub(crate) ios: Vec<IoId>,
}

impl BlockRequest {
    /// A request that belongs to nothing yet.
    pub fn new(kind: Kind, offset: u64, length: u64, fua: bool, queued_ns: u64) -> Self {
        Self { kind, offset, length, fua, separate: false, queued_ns, ios: Vec::new() }
    }

    /// Whether it waits with the writes: all but reads do.
    pub fn is_write(&self) -> bool {
        self.kind != Kind::Read
    }
}
