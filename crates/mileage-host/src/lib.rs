//! A host above a virtual drive, in virtual time: page cache, read-ahead, write-back, block layer, file system, processors.
//!
//! # Map
//! [`HostProfile`] describes a host; [`Host`] is one, above any device of `mileage-drive`. A program does a [`Call`];
//! [`run()`] does a whole workload on a file.
//!
//! # Invariant
//! The same profile and the same calls give the same times and the same saved state, on every machine. *Guard:*
//! `clippy.toml` of this crate bans the machine's clock, unsafe code is forbidden, and a property test compares the states of
//! a host that was saved and restored in the middle with those of one that was not.
//!
//! # Refused here
//! What a kernel does and this one does not: CFQ, `mmap`, memory pressure by anything but file pages. A profile that asks
//! for these is refused.
#![forbid(unsafe_code)]

pub mod block_layer;
pub mod block_request;
mod call;
mod calls;
mod chunk;
mod counters;
mod durability;
mod file_run;
pub mod file_system;
mod flusher;
mod folios;
mod host;
mod host_counters;
pub mod kernel_set;
mod lru;
mod page_bits;
pub mod page_cache;
mod processors;
pub mod profile;
mod random_cuts;
pub mod read_ahead;
pub mod request_queue;
mod saved_state;
mod slot_walk;
mod wait;
mod work_file;
mod write_back;
mod write_log;
mod written_content;

pub use call::{Call, CallError, HandleId, OpenHow};
pub use file_run::{FileJobResult, PhaseRecord, TaskSpans, run_job};
pub use host::Host;
pub use profile::{HostProfile, HostProfileError};
pub use random_cuts::{CutCounts, RandomCutsError};
pub use saved_state::HostStateError;
pub use work_file::{FIRST_HANDLE, OpenMode, WORK_FILE, WorkFileError, run};
pub use write_log::Survival;
