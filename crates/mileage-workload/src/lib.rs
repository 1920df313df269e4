//! What I/O to do, and when: the [`Workload`] value and the one execution contract, [`Execution`].
//!
//! # Contract of execution
//! A workload on one thread is a pure state machine. Given the time, [`Execution::next`] appends the operations to
//! issue now, or says to wait for a completion, or that it is done; given a completion, it advances. Stop rules,
//! depth and the final sync live here and nowhere else: the engine turns the machine with the wall clock, a virtual
//! drive with virtual time, and neither adds a rule of its own.
//!
//! 1. Operations are issued in one order, which depends on the workload and the thread alone, never on time.
//! 2. At most `depth` operations of a thread are outstanding.
//! 3. A byte or operation limit is met exactly; a time limit stops issuing at the first call at or after it, and
//!    what is outstanding is waited for.
//! 4. If the workload asks for a sync and the thread has written, one [`OpKind::Sync`] follows when everything else
//!    has completed, alone; then the machine is done.
//! 5. Every operation lies inside the span, on a multiple of the record from the span's start.
//!
//! # Invariant
//! Touches no file and no clock; all randomness comes from the workload's seed. *Guard:* `clippy.toml` of this crate
//! bans the host's clock and files; [`conformance`] (feature of that name) is run by every implementation.
//!
//! # Refused here
//! Open-loop arrivals, think time, bursts and ramps: not built yet; there is no field to ask for them.
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod content;
mod demand;
mod execution;
mod load;
mod metadata;
mod metadata_names;
mod pattern;
mod workload;

pub use content::Content;
pub use execution::{Execution, Observer, Op, OpKind, Step, Unobserved};
pub use load::{Cap, Load, Open, Ramp, Spacing, Think};
pub use metadata::{
    CreateCall, Directories, Items, Metadata, MetadataOp, MetadataOrder, Names, Paths, Place, SetUp, Tree,
};
pub use metadata_names::{MetadataLayout, MetadataPaths, MetadataVisits};
pub use pattern::{AccessLine, IorOrder, PatternKind, TraceOp};
pub use workload::{Error, Files, Stop, Sync, Verify, Workload};
