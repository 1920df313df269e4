//! One I/O operation (offset, length, kind) and the kinds of operations.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

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
    /// Every kind, in the order of [`PerKind`].
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Sync, Self::Discard];

    /// The word for it in traces, logs, run records and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Discard => "discard",
        }
    }

    /// Whether bytes go to the target or come from it; the others are commands.
    #[inline]
    pub const fn moves_bytes(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Whether the operation changes the target.
    #[inline]
    pub const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Discard)
    }
}

/// A value for each kind of operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerKind<T>([T; OpKind::ALL.len()]);

impl<T> Index<OpKind> for PerKind<T> {
    type Output = T;

    #[inline]
    fn index(&self, kind: OpKind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> IndexMut<OpKind> for PerKind<T> {
    #[inline]
    fn index_mut(&mut self, kind: OpKind) -> &mut T {
        &mut self.0[kind as usize]
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

#[cfg(test)]
mod tests {
    use super::{OpKind, PerKind};

    #[test]
    fn a_table_has_a_place_for_every_kind_and_names_are_those_of_json() {
        let mut table = PerKind::<usize>::default();
        for (number, kind) in OpKind::ALL.into_iter().enumerate() {
            table[kind] = number + 1;
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(OpKind::ALL.map(|kind| table[kind]), [1, 2, 3, 4]);
    }
}
