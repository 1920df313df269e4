//! What a call means to the operation that it belongs to.

use super::file_call::FileCall;

/// Kind of an operation on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileOperationKind {
    /// Open the file of records.
    Open,
    /// Read a record.
    Read,
    /// Write a record.
    Write,
    /// Make what was written durable.
    Sync,
    /// Close the file of records.
    Close,
    /// Anything with a name, an inode or a length.
    Metadata,
}

/// What a call means to its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    /// It ends the operation.
    pub ends: Option<FileOperationKind>,
    /// `ENOENT` and `EEXIST` are no failures.
    pub tolerant: bool,
}

impl Role {
    pub(super) const PART: Self = Self { ends: None, tolerant: false };

    pub(super) fn ends(kind: FileOperationKind) -> Self {
        Self { ends: Some(kind), tolerant: false }
    }
}

/// Next call of a work.
pub(super) enum Next {
    Call(FileCall, Role),
    WaitUntil(u64),
    End,
}
