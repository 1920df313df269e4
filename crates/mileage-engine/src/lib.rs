//! The I/O engine: run a workload on real storage, by positioned reads and writes (`pread`, `pwrite`), one operation
//! outstanding per thread, or `io_uring` with many, on a regular file or a block device.
//!
//! [`start`] refuses what the target cannot honour, then returns a [`Handle`] at once; every thread turns its own
//! [`Execution`](mileage_workload::Execution) with the wall clock. [`start_metadata`] does a
//! [`Metadata`](mileage_workload::Metadata) workload in a directory, [`start_iozone`] a set of IOzone's tests; both answer
//! a [`Job`]. [`Generator`] makes what a workload writes, without a run.
//!
//! # What is timed
//! The clock is the processor's invariant time stamp counter where the kernel keeps time by it, else
//! `CLOCK_MONOTONIC_RAW` (the record says which), read once at each boundary between operations: an operation's latency is its
//! system calls plus the few tens of nanoseconds in which the engine counted the one before. Choosing offsets is
//! outside the latencies (it is done for 64 operations at a time), though inside the run's time: a shuffle of a
//! further pass is a pause between two operations. So are generating what is written, before the operation is released,
//! and comparing what was read, after it has completed; `usage.fill_ns` and `usage.verify_ns` say how long they took.
//!
//! # Invariants
//! * The loop allocates nothing, locks nothing and formats nothing. *Guard:* the bench `pread_loop` prints its cost
//!   over a bare loop, and `steps` counts its instructions (`docs/decisions/0010`).
//! * The system call of a positioned or vectored read or write, of an operation on names that is one call, and of
//!   entering a ring is an instruction of the function that holds the loop (`docs/decisions/0009`). *Guard:*
//!   `make bench-peers`, above all its row of unlinking.
//! * What the record says is what the kernel was asked. *Guard:* the tests compare it with the kernel's own counts
//!   per thread (`Options::audit`) and with a trace of the system calls.
//! * Unsafe code is confined to the modules that say so where they are declared, each with its reason. *Guard:*
//!   `unsafe_code` is denied everywhere else.
//!
//! # Refused here
//! Depth above 1 without a ring, settings of a ring that kernel or target cannot, anything that is neither a regular
//! file nor a block device, a span beyond the target's end, records that direct I/O cannot carry, a block device that
//! is mounted or held (when writing).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they look at"))]
#![deny(unsafe_code)]

mod api;
mod bottleneck;
mod clock;
mod cpu_affinity;
mod data;
#[expect(unsafe_code, reason = "leaves the process's table of open files")]
mod descriptor_table;
mod device_counters;
mod errno;
mod error;
#[expect(unsafe_code, reason = "asks for the sequence number of a disk")]
#[expect(clippy::disallowed_methods, reason = "removes a file that it has compared")]
mod identity;
#[expect(unsafe_code, reason = "hands a box from thread to thread")]
mod in_flight;
mod iozone;
mod job;
#[expect(clippy::disallowed_methods, reason = "opens a file of the kernel for reading")]
mod kernel_io_audit;
#[expect(clippy::disallowed_methods, reason = "makes the log of a run, which must not exist")]
mod log;
mod loop_overhead;
#[expect(unsafe_code, reason = "maps the buffers")]
mod memory;
mod merge;
mod metadata;
mod option_checks;
mod options;
mod process_share;
mod run_context;
mod run_handle;
#[expect(unsafe_code, reason = "maps the page that processes share")]
#[expect(clippy::disallowed_methods, reason = "makes the page that processes share, which must not exist")]
mod start_barrier;
mod start_gate;
#[expect(clippy::disallowed_methods, reason = "opens what the caller has checked, and compares it")]
mod target;
mod thread_range;
mod thread_signals;
mod time_limit;
mod tool_calls;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "reads the time stamp counter")]
mod tsc;
#[expect(unsafe_code, reason = "calls getrusage")]
mod usage;
mod watchdog;
mod worker;

pub use clock::now_ns as clock_ns;
pub use cpu_affinity::cpus_of_node;
pub use data::{FileDuplicates, Generator, file_duplicates};
pub use error::Error;
pub use identity::{Identity, birth_time_ns};
pub use iozone::{
    CacheSize, Group, Iozone, IozoneResults, Manner, MappedFlush, Mode, Test, TestResult, TestShare, TestShareHandle,
    TestShareResult, TimedBytes, Transport, WorkerRates, iozone_differences, iozone_file_job, iozone_results,
    iozone_steps, merge_test_shares, remove_test_files, start_iozone, start_iozone_watched, start_test_share,
};
pub use job::{Job, Progress};
pub use kernel_io_audit::ThreadIo;
pub use merge::{RunResult, ShareResult, merge_shares};
pub use metadata::{MetadataOptions, MetadataShare, merge_metadata_shares, start_metadata, start_metadata_share};
pub use option_checks::check;
pub use options::{Advice, Api, Options};
pub use process_share::{Share, start_share};
pub use run_handle::{Handle, start, start_observed};
pub use start_barrier::StartBarrier;
pub use tool_calls::{NameWork, NamesDone, TaskFile, TransferWork, TransfersDone, library_random, shuffled_offsets};
