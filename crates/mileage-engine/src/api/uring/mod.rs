//! `io_uring`: many operations of one thread outstanding at once.
//!
//! `setup` makes rings and refuses, before anything is done, what the kernel or the target cannot; [`Ring`] queues,
//! submits and reaps, and owns the memory that the kernel works on; `workers` accounts for the kernel threads to which
//! operations are handed that cannot be done at once.
//!
//! # Who owns the memory
//! The kernel reads and writes a buffer until its operation has completed, whatever becomes of the thread. A ring
//! therefore owns its buffers, a slot for each operation that may be outstanding and some to fill, and lends a slot's
//! bytes only while no operation uses it. A ring that is dropped while operations are outstanding cancels what can be
//! cancelled and leaks the rest: memory that the kernel may still write is never given back.

mod ring;
#[expect(clippy::disallowed_methods, reason = "opens the target for reading, to see whether it can be polled")]
mod setup;
mod slots;
pub(crate) mod workers;

pub(crate) use ring::{Call, ReturnedCall, Ring};
pub(crate) use setup::{Settings, check};
pub(crate) use slots::slots_of;
