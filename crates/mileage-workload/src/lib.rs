//! I/O workloads: the [`Workload`] value, which describes the operations and their times, and the one execution
//! contract, [`Execution`].
//!
//! # Contract of execution
//! A workload on one thread is a pure state machine. Given the time, [`Execution::next`] appends the operations to
//! issue now, or says to wait for a completion or for a time, or that it is done; given a completion, it advances. Stop
//! rules, depth, arrivals, pauses and syncs live here and nowhere else: the engine turns the machine with the wall
//! clock, a virtual drive with virtual time, and neither adds a rule of its own.
//!
//! 1. **Order.** Operations are issued in one order, which depends on the workload and the thread alone, never on
//!    time.
//! 2. **Depth.** At most `depth` operations of a thread are outstanding.
//! 3. **End.** A byte or operation limit is met exactly; a time limit stops issuing at the first call at or after it,
//!    and what is outstanding is waited for. With a warm-up all limits count from its end, and
//!    [`Execution::counted`] is false for its operations: they are done, and count in no figure.
//! 4. **Syncs.** After every `sync_every` writes, and at the end if anything was changed since, comes one
//!    [`OpKind::Sync`] when everything before it has completed, alone; nothing is issued until it has completed.
//! 5. **Place.** Every operation lies inside the span.
//! 6. **Open loop.** An operation is issued at the first call at or after its due time at which the depth has room,
//!    in the order of the due times. [`Execution::due_ns`] returns them; a response time runs from there, whatever
//!    kept the operation waiting.
//! 7. **Caps and pauses.** [`Step::WaitUntil`] says when something can be issued next, unless an outstanding
//!    operation completes before: a driver then asks again. Asking early is harmless.
//!
//! After [`Step::Issue`] a driver asks again at once if [`Workload::waits`]; otherwise nothing more can come before a
//! completion, and it need not. A driver that prepares its operations uses [`Execution::next_shown`], and always does.
//!
//! # Invariant
//! Touches no file and no clock; all randomness comes from the workload's seed. *Guard:* `clippy.toml` of this crate
//! bans the host's clock and files; [`conformance`] is run by every implementation.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod conformance;
mod content;
mod error;
mod execution;
mod file_job;
mod issue_gates;
mod load_model;
mod metadata;
mod metadata_names;
mod name_template;
mod operation;
mod pace;
mod pattern;
mod target_demand;
mod workload;

pub use content::{
    BLOCK_BYTES, Blocks, Content, ExpectedContent, Finding, FioBuffer, Identity, IozoneBytes, Kind, Lap, WriteIdentity,
    plain_findings,
};
pub use error::Error;
pub use execution::{Completion, Execution, NoObserver, Observer, Step};
pub use file_job::{
    FileCall, FileExecution, FileFailure, FileJob, FileOperation, FileOperationKind, FilePhase, FileStep, FileWork,
    HandleId, NamesPart, OpenFile, OpenHow,
};
pub use load_model::{Cap, Load, Open, Ramp, Spacing, Think};
pub use metadata::{
    CreateCall, Directories, Items, Metadata, MetadataOp, MetadataOrder, Names, Paths, Place, SetUp, Tree,
};
pub use metadata_names::{MetadataLayout, MetadataPaths, MetadataVisits};
pub use operation::{Op, OpKind, PerKind};
pub use pattern::{AccessLine, IorOrder, PatternKind, TraceOp};
pub use workload::{Files, Stop, Sync, Verify, Workload};
