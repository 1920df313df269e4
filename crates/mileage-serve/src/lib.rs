//! A virtual drive served to the kernel in real time, with real data.
//!
//! # Map
//! [`Server`] owns a drive, its data and its clock, behind one lock. Requests reach it through `fuse` (a file system with one
//! file, over which a loop device can stand) or `nbd` (a unix socket); each is answered at its modelled instant ([`Speed`]).
//! [`Medium`] keeps the data in a sparse file, and what a power cut could bring back next to it.
//!
//! # Invariant
//! A power cut leaves exactly the sectors that the drive's model does not lose, and no request that was answered with success
//! is lost unless the model says so. *Guard:* `tests/it/power.rs` compares the medium after random cuts with
//! [`mileage_drive::ContentStore`], an independent implementation.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they look at"))]
#![forbid(unsafe_code)]

mod clock;
mod core;
mod error;
mod fuse;
mod lateness;
#[expect(clippy::disallowed_methods, reason = "the data of a served drive")]
mod medium;
mod monitor;
#[expect(clippy::disallowed_methods, reason = "the socket of a served drive, which must not exist")]
mod nbd;
mod request;
mod server;
mod stats;

pub use clock::Speed;
pub use error::ServeError;
pub use fuse::FILE_NAME;
pub use medium::{Change, CutSectors, DataFile, Medium};
pub use request::{Failure, HostRequest, HostRequestKind};
pub use server::{DriveMount, Server, ServerOptions};
pub use stats::{LatenessStats, PowerCutResult, ServerStats};
