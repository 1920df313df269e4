//! A request of the host, and where its answer goes.

use std::sync::mpsc::Sender;

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRequestKind {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Write zeroes.
    WriteZeroes,
    /// Discard data.
    Discard,
    /// Make what was written durable.
    Flush,
}

/// A request of the host.
#[derive(Debug)]
pub struct HostRequest<A> {
    /// Operation.
    pub kind: HostRequestKind,
    /// A write that is durable when it completes.
    pub fua: bool,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes; 0 for a flush.
    pub length_bytes: u64,
    /// Data of a write; empty for all others.
    pub data: Vec<u8>,
    /// Where the answer goes.
    pub answer: A,
}

/// Reason why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The drive failed it, is off or is missing.
    Io,
    /// The drive does not know the command.
    Unsupported,
    /// Its range is not whole sectors, or lies outside the drive.
    Invalid,
    /// The file that keeps the data could not be written.
    NoSpace,
}

/// Where an answer goes.
pub(crate) trait Answer: Send {
    /// Give the answer: data of a read, nothing of all others.
    fn give(self: Box<Self>, result: Result<Vec<u8>, Failure>);
}

/// The answer of any kind of host.
pub(crate) type HostAnswer = Box<dyn Answer>;

/// An answer to a thread that waits for it.
pub(crate) struct Call(pub Sender<Result<Vec<u8>, Failure>>);

impl Answer for Call {
    fn give(self: Box<Self>, result: Result<Vec<u8>, Failure>) {
        // A thread that does not wait any more wants no answer.
        let _ = self.0.send(result);
    }
}
