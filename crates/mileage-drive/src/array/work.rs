//! What an array does: commands of the host, the operations that they become, requests to members, and what happens when.

use super::layout::Piece;
use super::stripe::Plan;
use crate::block_device::Tag;
use crate::content::Content;
use crate::device::{Request, RequestKind, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What stands at a place of the array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Slot {
    /// A device that holds all it should.
    Working { device: usize },
    /// Nothing that can be used.
    Failed,
    /// A spare that holds these rows: all before `done`, and those `ahead`.
    Rebuilding { device: usize, done: u64, ahead: BTreeSet<u64>, next: u64, under_way: u32 },
}

/// A write or discard of the host, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Number of the host's command.
    pub command: u64,
    pub tag: Tag,
    pub offset: u64,
    pub length: u64,
}

/// Data on its way to the members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub offset: u64,
    pub length: u64,
    pub content: Content,
}

/// A command of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Command {
    pub tag: Tag,
    pub request: Request,
    pub content: Content,
    /// Operations that have not ended.
    pub pending: u32,
    pub status: Status,
    /// The data of a write has passed from the host to the controller.
    pub has_arrived: bool,
    /// Whether operations of it exist, or its data is in the cache.
    pub is_under_way: bool,
}

/// What an operation is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Reads of members that hold the data.
    Read,
    /// A read of what a missing member held.
    Recover { piece: Piece },
    /// A write without parity.
    Write { fua: bool },
    /// A write to a row with parity.
    Row { row: u64, fua: bool, plan: Option<Plan> },
    /// A discard that is passed on.
    Discard,
    /// A flush that is passed on.
    Flush,
    /// A row of the member at a place, for its spare.
    Rebuild { slot: usize, row: u64 },
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// Another one holds the same row or range.
    Waiting,
    Reading,
    Writing,
}

/// Something that the array does with its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Operation {
    /// The commands that wait for it.
    pub commands: Vec<u64>,
    pub task: Task,
    pub phase: Phase,
    /// Requests to members that have not ended.
    pub pending: u32,
    pub parts: Vec<Part>,
    pub records: Vec<Record>,
    /// Whether its data comes from the cache, which keeps it until then.
    pub from_cache: bool,
    pub failed: Option<Status>,
}

/// A request to a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemberRequest {
    pub operation: u64,
    pub device: usize,
    pub slot: usize,
    pub kind: RequestKind,
    pub fua: bool,
    pub offset: u64,
    pub length: u64,
    pub content: Content,
    /// Whether the request was handed to the member drive.
    pub is_sent: bool,
    /// How it ended, once the device said so.
    pub end: Option<Status>,
    /// Its data has passed the controller's limits.
    pub has_passed: bool,
}

/// Which part of which commands a write to a member was, for as long as the member may lose it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub slot: usize,
    pub records: Vec<Record>,
    /// What can no longer be recovered if the member loses any of it: the content of a missing member.
    pub holes: Vec<Record>,
}

/// What happens at an instant. The order of the variants and fields is that of what happens at the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum What {
    /// The controller has begun a command.
    Start { command: u64 },
    /// Data for a member has passed the limits.
    Send { request: u64 },
    /// A member answered.
    Answer { device: usize, request: u64 },
    /// The next row of a rebuild.
    Rebuild { slot: usize },
    /// The cache may write what it holds.
    Destage,
}

/// An instant at which something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Due {
    pub at_ns: u64,
    pub what: What,
}

/// The parts of records inside a range.
pub(crate) fn inside(records: &[Record], offset: u64, length: u64) -> Vec<Record> {
    let clipped = records.iter().filter_map(|record| {
        let (from, to) = (record.offset.max(offset), (record.offset + record.length).min(offset + length));
        (from < to).then(|| Record { offset: from, length: to - from, ..*record })
    });
    clipped.collect()
}

/// Tags are compared by nobody but the host.
pub(crate) fn tag_of(request: u64) -> Tag {
    Tag(request)
}
