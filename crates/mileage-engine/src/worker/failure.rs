//! Describe a failed operation in words for the run record.

use crate::errno;
use mileage_measure::RunError;
use mileage_workload::{Op, OpKind, Sync};
use rustix::io::Errno;
use std::path::Path;

/// Stands for the writing of what a stream still held back at the end: a write of nothing at nowhere.
pub(crate) const FLUSH: Op = Op { kind: OpKind::Write, length_bytes: 0, offset_bytes: 0 };

/// Error of an operation that did not complete, and its progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) op: Op,
    /// `None` when the call moved nothing and gave no reason.
    pub(crate) errno: Option<Errno>,
    /// Bytes that were moved before.
    pub(crate) done: usize,
}

impl Failure {
    /// Name and one line for the record, of a thread that works on `path`, through a mapping or not.
    #[cold]
    pub(super) fn describe(&self, path: &Path, mapped: bool, sync: Sync) -> RunError {
        let Self { op, errno, done } = self;
        let path = path.display();
        let what = match (op.kind, sync) {
            (OpKind::Write, _) if *op == FLUSH => format!("fflush of {path}"),
            (OpKind::Sync, _) if mapped => format!("msync of {path}"),
            (OpKind::Sync, Sync::Fsync) => format!("fsync of {path}"),
            (OpKind::Sync, _) => format!("fdatasync of {path}"),
            (kind, _) => {
                let (verb, length, offset) = (kind.name(), op.length_bytes, op.offset_bytes);
                format!("{verb} of {length} bytes at offset {offset} of {path} failed after {done} bytes")
            }
        };
        // Direct I/O cannot continue from the middle of a sector, where a file that has become shorter ends.
        let ended = op.kind == OpKind::Read && *done > 0 && *errno == Some(Errno::INVAL);
        match errno {
            None if op.kind == OpKind::Write && !mapped => RunError {
                kind: "EIO".to_owned(),
                message: format!("{what}: the kernel took nothing and gave no reason"),
            },
            Some(errno) if !ended => {
                let (kind, sentence, advice) = (errno::name(*errno), errno::sentence(*errno), errno::advice(*errno));
                RunError { message: format!("{what}: {sentence} ({kind}){advice}"), kind }
            }
            _ => RunError {
                kind: "EOF".to_owned(),
                message: format!("{what}: the target ends there; it has become shorter since the run began"),
            },
        }
    }
}

/// An operation that has not come back after `after_ns`, in words.
#[cold]
pub(crate) fn overdue(op: &Op, after_ns: u64, path: &Path) -> RunError {
    let (what, length, offset) = (op.kind.name(), op.length_bytes, op.offset_bytes);
    match op.kind {
        OpKind::Sync => no_answer(&format!("{what} of"), after_ns, path),
        _ if *op == FLUSH => no_answer("fflush of", after_ns, path),
        _ => no_answer(&format!("{what} of {length} bytes at offset {offset} of"), after_ns, path),
    }
}

/// Something that has not come back after `after_ns`, in words.
#[cold]
pub(crate) fn no_answer(what: &str, after_ns: u64, path: &Path) -> RunError {
    let (path, waited_s) = (path.display(), after_ns as f64 * 1e-9);
    let message = format!("{what} {path} did not come back within {waited_s:.1} s: the target no longer answers");
    RunError { kind: "TIMEOUT".to_owned(), message }
}
