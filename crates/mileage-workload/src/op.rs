//! One operation, and its kind.

use serde::{Deserialize, Serialize};

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Read `length_bytes` at `offset_bytes`.
    Read,
    /// Write `length_bytes` at `offset_bytes`.
    Write,
    /// Make all completed writes durable; offset and length are 0.
    Sync,
    /// Give up `length_bytes` at `offset_bytes`: TRIM on a device, a hole in a file.
    Discard,
}

impl OpKind {
    /// Whether the operation changes the target.
    #[inline]
    pub(crate) fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Discard)
    }
}

/// One operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Kind of the operation.
    pub kind: OpKind,
    /// Size in bytes.
    pub length_bytes: u32,
    /// First byte, from the start of the target.
    pub offset_bytes: u64,
}
