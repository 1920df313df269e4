//! Virtual block devices in virtual time.
//!
//! # Map
//! [`device`] is the block-device contract and [`conformance`] its suite; [`Profile`] is a
//! drive's data sheet; [`FlashDrive`] is the flash that obeys it; [`Faulty`] wraps a device with faults; [`Drive`] is
//! what a whole profile describes; [`run()`] turns a workload on a device.
//!
//! # Invariant
//! The same profile and the same operations give the same completion times and the same saved state, byte for byte,
//! on every machine. *Guard:* `clippy.toml` of this crate bans the host's clock, unsafe code is forbidden, and the
//! property test of save and restore compares whole states.
//!
//! # Refused here
//! Disks, SMR, `XPoint` and arrays: not built yet; a profile of another `kind` than `flash` is refused by name.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod check;
pub mod conformance;
pub mod device;
mod drive;
mod faulty;
mod flash;
pub mod profile;
mod run;
mod tournament_tree;

pub use device::{BlockDevice, Completion, Refusal, Request, RequestKind, Status, WornOut};
pub use drive::Drive;
pub use faulty::Faulty;
pub use flash::{FlashDrive, Life, LostWrite, PowerCutError, StateError};
pub use profile::{Policies, Profile, ProfileError};
pub use run::{Error, run};
