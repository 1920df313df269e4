//! File jobs: work on files by several tasks, in phases with barriers between them.
//!
//! # Contract
//! [`FileExecution`] is to files what [`Execution`](crate::Execution) is to the span of one target: a pure state machine.
//! A driver asks [`FileExecution::next`] for each task, does the call that it returns, and reports its end to
//! [`FileExecution::complete`].
//!
//! 1. **Order.** A task has one call outstanding. Its calls come in one order, which depends on the job alone.
//! 2. **Barriers.** No task begins a phase before all have ended the one before ([`FileStep::AwaitBarrier`]). After a
//!    completion, and when [`FileExecution::phase`] has changed, a driver asks all tasks again that wait at the barrier.
//! 3. **Operations.** Calls form operations: opening, filling and closing a file is one operation, a read another. An
//!    operation lasts from the end of the operation before it, or from the start of the phase.
//! 4. **Errors.** A call that fails ends the job, unless its errno is tolerated: an item that is to be made and is there, or to
//!    be removed and is missing.
//!
//! # Invariant
//! The same job gives the same calls in every task, on every driver. *Guard:* `tests/it/file_jobs.rs`; that the engine makes these
//! calls on real files, `tests/execute/test_file_calls.py` of the repository shows.

mod execution;
mod file_call;
mod name_calls;
mod operation;
mod record_calls;

pub use execution::{FileExecution, FileFailure, FileOperation, FileStep};
pub use file_call::{FileCall, HandleId, OpenHow};
pub use operation::FileOperationKind;

use crate::error::{Error, in_range};
use crate::metadata::{Metadata, MetadataOp, Place, SetUp};
use crate::metadata_names::MetadataLayout;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// Phases that the tasks do one after the other. Valid once [`FileJob::check`] has passed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileJob {
    /// The phases.
    pub phases: Vec<FilePhase>,
}

/// What the tasks do between two barriers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePhase {
    /// What a record of the phase is called.
    pub name: String,
    /// Whether it is measured; else it makes or removes what other phases need.
    pub timed: bool,
    /// The work of each task; tasks without work wait.
    pub work: Vec<FileWork>,
}

/// The work of one task in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum FileWork {
    /// Nothing: the task waits for the others.
    Rest,
    /// Nothing for this number of nanoseconds; the others wait for the task.
    Pause(u64),
    /// Calls, each an operation.
    Calls {
        /// In this order.
        calls: Vec<FileCall>,
        /// An item that is missing, or there already, is no error.
        #[serde(default)]
        tolerant: bool,
    },
    /// Operations on names.
    Names {
        /// The directory, with a slash at its end; empty for the root.
        base: String,
        /// Which operation, on which names.
        metadata: Box<Metadata>,
        /// What of it.
        part: NamesPart,
        /// A free handle.
        handle: HandleId,
    },
    /// Operations on the records of one file.
    Records {
        /// What is read and written.
        workload: Box<Workload>,
        /// Whose part of the workload.
        thread: u32,
        /// The open file, or the handle that it gets.
        handle: HandleId,
        /// Open this path first; `None`: the handle is open.
        open: Option<OpenFile>,
        /// `fsync` after the last operation, whether or not the workload syncs.
        #[serde(default)]
        sync: bool,
        /// Close it at the end.
        close: bool,
    },
}

/// A file that is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenFile {
    /// The path.
    pub path: String,
    /// Flags of the call.
    #[serde(default)]
    pub how: OpenHow,
}

/// The part of a metadata operation that a task does: set-up, the timed calls, or removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum NamesPart {
    /// The operation itself, as this worker.
    Operate {
        /// The worker.
        worker: u32,
    },
    /// Make the items that these workers need, in this order.
    Make {
        /// The workers.
        owners: Vec<u32>,
    },
    /// Remove what this worker's items have become.
    Remove {
        /// The worker.
        worker: u32,
    },
}

impl FileJob {
    /// Tasks.
    pub const TASKS_MAX: u32 = 1024;

    /// Number of tasks.
    pub fn tasks(&self) -> u32 {
        self.phases.iter().map(|phase| phase.work.len()).max().unwrap_or(0) as u32
    }

    /// Check that this can be done at all.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn check(&self) -> Result<(), Error> {
        in_range("tasks", u64::from(self.tasks()), 1, u64::from(Self::TASKS_MAX))?;
        for work in self.phases.iter().flat_map(|phase| &phase.work) {
            match work {
                FileWork::Rest | FileWork::Pause(_) | FileWork::Calls { .. } => {}
                FileWork::Names { metadata, part, .. } => {
                    metadata.check()?;
                    let last = u64::from(metadata.threads) - 1;
                    match part {
                        NamesPart::Operate { worker } | NamesPart::Remove { worker } => {
                            in_range("worker", u64::from(*worker), 0, last)?;
                        }
                        NamesPart::Make { owners } => {
                            owners.iter().try_for_each(|owner| in_range("owners", u64::from(*owner), 0, last))?;
                        }
                    }
                }
                FileWork::Records { workload, thread, .. } => {
                    workload.check()?;
                    in_range("depth of work on files", u64::from(workload.depth), 1, 1)?;
                    in_range("thread", u64::from(*thread), 0, u64::from(workload.threads) - 1)?;
                }
            }
        }
        Ok(())
    }

    /// A metadata workload, or one for each of several tasks, with what must be made before and removed after it. Each comes
    /// with its directory: empty, or ending in a slash. Every worker of each is a task. `first_handle`: of free handles, one
    /// for each task.
    ///
    /// # Errors
    /// The rule that a workload breaks; a workload in a fresh directory is given one by its caller.
    pub fn of_names(name: &str, shares: &[(String, Metadata)], first_handle: HandleId) -> Result<Self, Error> {
        let mut tasks = Vec::new();
        let (mut make, mut unmake) = (Vec::new(), Vec::new());
        for (base, metadata) in shares {
            metadata.check()?;
            if metadata.place == Place::Fresh {
                let expected = "given: whoever asks gives the directory";
                return Err(Error::Refused { what: "place", found: "fresh".to_owned(), expected });
            }
            let layout = MetadataLayout::new(metadata)?;
            let path = |directory: &str| format!("{base}{}", directory.trim_end_matches('/'));
            if metadata.set_up != SetUp::Existing {
                make.extend(layout.to_make().map(|directory| FileCall::Mkdir { path: path(directory) }));
            }
            if !metadata.keep {
                let removed = layout.to_make().rev();
                unmake.extend(removed.map(|it| FileCall::Unlink { path: path(it), directory: true }));
            }
            tasks.extend((0..metadata.threads).map(|worker| (base, metadata, worker)));
        }
        let phase = |name: &str, timed, part: &dyn Fn(&Metadata, u32) -> Option<NamesPart>| {
            let of_task = |((base, metadata, worker), handle): (&(&String, &Metadata, u32), _)| {
                let part = part(metadata, *worker);
                let names = |part| FileWork::Names {
                    base: (*base).clone(),
                    metadata: Box::new((*metadata).clone()),
                    part,
                    handle,
                };
                part.map_or(FileWork::Rest, names)
            };
            FilePhase { name: name.to_owned(), timed, work: tasks.iter().zip(first_handle..).map(of_task).collect() }
        };
        let alone = |name: &str, calls| FilePhase {
            name: name.to_owned(),
            timed: false,
            work: vec![FileWork::Calls { calls, tolerant: true }],
        };
        let mut phases = vec![alone("make directories", make)];
        phases.push(phase("set-up", false, &made_by));
        phases.push(phase(name, true, &|_, worker| Some(NamesPart::Operate { worker })));
        phases.push(phase("clean-up", false, &|metadata, worker| {
            let is_gone = matches!(metadata.operation, MetadataOp::Unlink | MetadataOp::Rmdir);
            (!metadata.keep && !is_gone).then_some(NamesPart::Remove { worker })
        }));
        phases.push(alone("remove directories", unmake));
        Ok(Self { phases })
    }
}

/// What a worker makes before a metadata workload begins.
fn made_by(metadata: &Metadata, worker: u32) -> Option<NamesPart> {
    if !metadata.operation.needs_items() {
        return None;
    }
    let owners = match metadata.set_up {
        SetUp::Owner => vec![worker],
        // metarates: the first makes everybody's, those of the last worker first.
        SetUp::First if worker == 0 => (0..metadata.threads).rev().collect(),
        SetUp::First | SetUp::Existing => return None,
    };
    Some(NamesPart::Make { owners })
}
