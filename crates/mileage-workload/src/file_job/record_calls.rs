//! Calls on the records of one file.

use super::OpenFile;
use super::file_call::{FileCall, HandleId};
use super::operation::{FileOperationKind, Next, Role};
use crate::error::Error;
use crate::execution::{Execution, Step};
use crate::operation::{Op, OpKind};
use crate::workload::{Sync, Workload};

/// The calls of one task on one file: open, the operations of a workload's thread, `fsync`, close.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a call that is made or not")]
pub(super) struct RecordCalls {
    execution: Execution,
    handle: HandleId,
    data_only: bool,
    open: Option<OpenFile>,
    syncs: bool,
    closes: bool,
    is_outstanding: bool,
    ops: Vec<Op>,
}

impl RecordCalls {
    pub(super) fn new(
        workload: &Workload,
        thread: u32,
        handle: HandleId,
        open: Option<OpenFile>,
    ) -> Result<Self, Error> {
        Ok(Self {
            execution: Execution::new(workload, thread)?,
            handle,
            data_only: workload.sync == Sync::Fdatasync,
            open,
            syncs: false,
            closes: false,
            is_outstanding: false,
            ops: Vec::with_capacity(1),
        })
    }

    /// With these calls at the end.
    pub(super) fn ending_in(self, syncs: bool, closes: bool) -> Self {
        Self { syncs, closes, ..self }
    }

    pub(super) fn next(&mut self, now_ns: u64) -> Next {
        let handle = self.handle;
        if let Some(OpenFile { path, how }) = self.open.take() {
            return Next::Call(FileCall::Open { path, handle, how }, Role::ends(FileOperationKind::Open));
        }
        if std::mem::take(&mut self.is_outstanding) {
            self.execution.complete(now_ns);
        }
        self.ops.clear();
        match self.execution.next(now_ns, &mut self.ops) {
            Step::Issue => self.is_outstanding = true,
            Step::WaitUntil(at_ns) => return Next::WaitUntil(at_ns),
            Step::AwaitCompletion | Step::Done if std::mem::take(&mut self.syncs) => {
                return Next::Call(FileCall::Sync { handle, data_only: false }, Role::ends(FileOperationKind::Sync));
            }
            Step::AwaitCompletion | Step::Done if self.closes => {
                self.closes = false;
                return Next::Call(FileCall::Close { handle }, Role::ends(FileOperationKind::Close));
            }
            Step::AwaitCompletion | Step::Done => return Next::End,
        }
        let Op { kind, length_bytes, offset_bytes: offset } = self.ops[0];
        let length = u64::from(length_bytes);
        let (call, kind) = match kind {
            OpKind::Read => (FileCall::Read { handle, offset, length }, FileOperationKind::Read),
            OpKind::Write => (FileCall::Write { handle, offset, length }, FileOperationKind::Write),
            OpKind::Sync => (FileCall::Sync { handle, data_only: self.data_only }, FileOperationKind::Sync),
            OpKind::Discard => (FileCall::Punch { handle, offset, length }, FileOperationKind::Metadata),
        };
        Next::Call(call, Role::ends(kind))
    }
}
