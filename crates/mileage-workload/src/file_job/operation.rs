//! Kinds of file operations, and the role of each system call within its operation.

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

/// Role of a system call within its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    /// Kind of the operation that this call ends, if any.
    pub ends: Option<FileOperationKind>,
    /// Whether `ENOENT` and `EEXIST` are accepted.
    pub tolerant: bool,
}

impl Role {
    pub(super) const PART: Self = Self { ends: None, tolerant: false };

    pub(super) fn ends(kind: FileOperationKind) -> Self {
        Self { ends: Some(kind), tolerant: false }
    }
}

/// Next action of a task within its work.
pub(super) enum Next {
    Call(FileCall, Role),
    WaitUntil(u64),
    End,
}
