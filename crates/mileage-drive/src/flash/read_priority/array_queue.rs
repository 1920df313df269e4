//! The queues of an array, and its operations.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What an array does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Activity {
    Read,
    Program,
    /// A page that is collected.
    Copy,
    Erase,
    /// The share of a collection that a page of the host carries.
    Share,
    /// It interrupts what it was doing.
    Suspending,
}

/// An operation in progress, or an interrupted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Operation {
    pub doing: Activity,
    /// Whose, if it is a read or a program.
    pub job: u32,
    /// When it ends; of an interrupted one what is left of it.
    pub end_ns: u64,
}

/// Programs and collections that wait for an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Work {
    /// The page to program, [`NONE`] for a collection.
    pub job: u32,
    /// Pages to copy, blocks to erase.
    pub copies: u32,
    pub erases: u32,
    /// The share of a collection that comes before the program.
    pub share_ns: u64,
}

/// The array of a plane, or of a die.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArrayQueue {
    pub reads: VecDeque<u32>,
    pub work: VecDeque<Work>,
    pub current: Option<Operation>,
    pub interrupted: Option<Operation>,
    pub version: u32,
}
