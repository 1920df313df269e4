//! The state machine of a file job: which system call each task makes next.

use super::file_call::{FileCall, HandleId};
use super::name_calls::NameCalls;
use super::operation::{FileOperationKind, Next, Role};
use super::record_calls::RecordCalls;
use super::{FileJob, FileWork};
use crate::error::Error;
use std::collections::{BTreeSet, VecDeque};

/// Next action of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileStep {
    /// Do this call, then report its end.
    Issue(FileCall),
    /// Nothing can be issued before this time: wait, then ask again.
    WaitUntil(u64),
    /// Other tasks have not ended the phase.
    AwaitBarrier,
    /// The job is done.
    Done,
}

/// An operation that has ended. Times are the driver's, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOperation {
    /// Which phase, from 0.
    pub phase: usize,
    /// Which task.
    pub task: u32,
    /// Its kind.
    pub kind: FileOperationKind,
    /// When it began: the end of the operation before it, or when its first call was issued after a pause.
    pub began_ns: u64,
    /// When its last call ended.
    pub ended_ns: u64,
    /// Bytes that it read.
    pub bytes_read: u64,
    /// Bytes that it wrote.
    pub bytes_written: u64,
    /// Entries of directories that it found.
    pub entries: u64,
    /// What a sync took that is a part of it, in nanoseconds.
    pub sync_ns: Option<u64>,
    /// Whether it wrote to a file whose writes are durable when they complete.
    pub is_durable: bool,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFailure {
    /// Which phase, from 0.
    pub phase: usize,
    /// Which task.
    pub task: u32,
    /// The call.
    pub call: FileCall,
    /// What Linux calls the error.
    pub errno: String,
}

#[derive(Debug)]
enum Calls {
    Listed(VecDeque<FileCall>, bool),
    /// Its length, until it has begun.
    Pause(Option<u64>),
    Names(Box<NameCalls>),
    Records(Box<RecordCalls>),
}

impl Calls {
    fn new(work: Option<&FileWork>) -> Result<Self, Error> {
        Ok(match work {
            None | Some(FileWork::Rest) => Self::Listed(VecDeque::new(), false),
            Some(FileWork::Calls { calls, tolerant }) => Self::Listed(calls.iter().cloned().collect(), *tolerant),
            Some(FileWork::Names { base, metadata, part, handle }) => {
                Self::Names(Box::new(NameCalls::new(base, metadata, part, *handle)?))
            }
            Some(FileWork::Pause(ns)) => Self::Pause(Some(*ns)),
            Some(FileWork::Records { workload, thread, handle, open, sync, close }) => {
                let records = RecordCalls::new(workload, *thread, *handle, open.clone())?;
                Self::Records(Box::new(records.ending_in(*sync, *close)))
            }
        })
    }

    fn next(&mut self, now_ns: u64) -> Next {
        match self {
            Self::Names(names) => names.next(now_ns),
            Self::Records(records) => records.next(now_ns),
            Self::Pause(ns) => ns.take().map_or(Next::End, |ns| Next::WaitUntil(now_ns.saturating_add(ns))),
            Self::Listed(calls, tolerant) => calls.pop_front().map_or(Next::End, |call| {
                let kind = kind_of(&call);
                Next::Call(call, Role { ends: Some(kind), tolerant: *tolerant })
            }),
        }
    }
}

/// The kind of an operation that is one call.
fn kind_of(call: &FileCall) -> FileOperationKind {
    match call {
        FileCall::Read { .. } => FileOperationKind::Read,
        FileCall::Write { .. } => FileOperationKind::Write,
        FileCall::Sync { .. } | FileCall::SyncAll => FileOperationKind::Sync,
        FileCall::Open { .. } => FileOperationKind::Open,
        FileCall::Close { .. } => FileOperationKind::Close,
        _ => FileOperationKind::Metadata,
    }
}

#[derive(Debug)]
struct Task {
    calls: Calls,
    is_at_barrier: bool,
    outstanding: Option<(FileCall, Role)>,
    /// When the call that is outstanding began.
    call_ns: u64,
    /// What a sync within the operation took.
    sync_ns: Option<u64>,
    /// When the operation began whose calls are being done.
    began_ns: Option<u64>,
    last_ns: Option<u64>,
    bytes: (u64, u64),
    entries: u64,
}

/// The state machine of a file job; the module states how a driver uses it.
#[derive(Debug)]
pub struct FileExecution {
    job: FileJob,
    phase: usize,
    tasks: Vec<Task>,
    /// Handles whose writes are durable when they complete.
    durable: BTreeSet<HandleId>,
}

impl FileExecution {
    /// A job at its beginning.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn new(job: FileJob) -> Result<Self, Error> {
        job.check()?;
        let mut made = Self { tasks: Vec::new(), phase: 0, job, durable: BTreeSet::new() };
        made.enter(0)?;
        Ok(made)
    }

    fn enter(&mut self, phase: usize) -> Result<(), Error> {
        self.phase = phase;
        let work = self.job.phases.get(phase).map(|phase| phase.work.as_slice()).unwrap_or_default();
        let task = |at: usize| {
            Ok(Task {
                calls: Calls::new(work.get(at))?,
                is_at_barrier: false,
                outstanding: None,
                call_ns: 0,
                sync_ns: None,
                began_ns: None,
                last_ns: None,
                bytes: (0, 0),
                entries: 0,
            })
        };
        self.tasks = (0..self.job.tasks() as usize).map(task).collect::<Result<_, Error>>()?;
        Ok(())
    }

    /// The job.
    pub fn job(&self) -> &FileJob {
        &self.job
    }

    /// The phase that is being done, from 0; their number at the end.
    pub fn phase(&self) -> usize {
        self.phase
    }

    /// The call of a task that has not ended.
    pub fn outstanding(&self, task: u32) -> Option<&FileCall> {
        self.tasks.get(task as usize)?.outstanding.as_ref().map(|(call, _)| call)
    }

    /// Next action of a task at `now_ns`, of any origin and never running backwards.
    ///
    /// # Panics
    /// When the task's call has not ended: a programmer's mistake.
    pub fn next(&mut self, task: u32, now_ns: u64) -> FileStep {
        if self.phase >= self.job.phases.len() {
            return FileStep::Done;
        }
        let own = &mut self.tasks[task as usize];
        assert!(own.outstanding.is_none(), "task {task} is asked while its call is outstanding");
        if !own.is_at_barrier {
            match own.calls.next(now_ns) {
                Next::Call(call, role) => {
                    own.began_ns = own.began_ns.or(own.last_ns).or(Some(now_ns));
                    own.outstanding = Some((call.clone(), role));
                    own.call_ns = now_ns;
                    return FileStep::Issue(call);
                }
                Next::WaitUntil(at_ns) => {
                    own.last_ns = Some(at_ns);
                    return FileStep::WaitUntil(at_ns);
                }
                Next::End => own.is_at_barrier = true,
            }
        }
        if self.tasks.iter().any(|task| !task.is_at_barrier) {
            return FileStep::AwaitBarrier;
        }
        // Checked when the job was: every work of it can begin.
        if self.enter(self.phase + 1).is_err() {
            self.phase = self.job.phases.len();
        }
        self.next(task, now_ns)
    }

    /// A task's call has ended at `now_ns`, with the number of entries that it found or with what Linux calls its error. The
    /// operation that ended with it, if one did.
    ///
    /// # Errors
    /// The call failed, which ends the job.
    ///
    /// # Panics
    /// When no call of the task is outstanding: a programmer's mistake.
    pub fn complete(
        &mut self,
        task: u32,
        now_ns: u64,
        outcome: Result<u64, &str>,
    ) -> Result<Option<FileOperation>, FileFailure> {
        let phase = self.phase;
        let own = &mut self.tasks[task as usize];
        let Some((call, role)) = own.outstanding.take() else { panic!("task {task} has no call outstanding") };
        match outcome {
            Ok(entries) => own.entries += entries,
            Err("ENOENT" | "EEXIST") if role.tolerant => {}
            Err(errno) => {
                let errno = errno.to_owned();
                self.phase = self.job.phases.len();
                return Err(FileFailure { phase, task, call, errno });
            }
        }
        match call {
            FileCall::Read { length, .. } => own.bytes.0 += length,
            FileCall::Write { length, .. } => own.bytes.1 += length,
            FileCall::Sync { .. } if role.ends.is_none() => own.sync_ns = Some(now_ns - own.call_ns),
            FileCall::Open { handle, how, .. } if how.dsync => _ = self.durable.insert(handle),
            FileCall::Open { handle, .. } => _ = self.durable.remove(&handle),
            _ => {}
        }
        let is_durable = matches!(call, FileCall::Write { handle, .. } if self.durable.contains(&handle));
        let Some(kind) = role.ends else { return Ok(None) };
        let began_ns = own.began_ns.take().unwrap_or(now_ns);
        own.last_ns = Some(now_ns);
        let (bytes_read, bytes_written) = std::mem::take(&mut own.bytes);
        let entries = std::mem::take(&mut own.entries);
        let sync_ns = own.sync_ns.take();
        let ended_ns = now_ns;
        Ok(Some(FileOperation {
            phase,
            task,
            kind,
            began_ns,
            ended_ns,
            bytes_read,
            bytes_written,
            entries,
            sync_ns,
            is_durable,
        }))
    }

    /// Begin no further operation of timed phases: tasks end after the calls that are outstanding. Phases that are not timed are done, so that
    /// what was made is removed.
    pub fn stop(&mut self) {
        let is_timed = self.job.phases.get(self.phase).is_some_and(|phase| phase.timed);
        if is_timed {
            self.tasks.iter_mut().for_each(|task| task.calls = Calls::Listed(VecDeque::new(), false));
        }
        let later = self.job.phases.iter_mut().skip(self.phase + 1).filter(|phase| phase.timed);
        later.for_each(|phase| phase.work.iter_mut().for_each(|work| *work = FileWork::Rest));
    }
}
