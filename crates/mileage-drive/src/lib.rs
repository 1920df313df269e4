//! Virtual block devices in virtual time.
//!
//! # Map
//! [`device`] is the block-device contract and [`conformance`] its suite; [`ManagedDevice`] adds power, erasing and life.
//! A [`Profile`] describes a drive of one kind; [`Device`] is a device of that kind, such as a [`FlashDrive`];
//! [`Faulty`] wraps a device with faults; [`Drive`] is what a whole profile describes; [`run()`] runs a workload on a
//! device.
//!
//! # A new kind of device
//! 1. Its profile: a file in [`profile`], a variant of [`Profile`] and a row of its kinds.
//! 2. The device: a file that implements [`BlockDevice`] and [`ManagedDevice`], a variant of [`Device`], and a test that
//!    runs [`conformance`] on it.
//!
//! # Invariant
//! The same profile and the same operations give the same completion times and the same saved state, byte for byte,
//! on every machine. *Guard:* `clippy.toml` of this crate bans the host's clock, unsafe code is forbidden, and the
//! property test of save and restore compares whole states.
//!
//! # Refused here
//! Disks, SMR, `XPoint` and arrays: not built yet; a profile of another `kind` than `flash` is refused.
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
mod management;
pub mod profile;
mod run;
mod saved_state;
mod tournament_tree;

pub use device::{BlockDevice, Completion, Life, Refusal, Request, RequestKind, Status, WornOut};
pub use drive::{Device, Drive};
pub use faulty::Faulty;
pub use flash::FlashDrive;
pub use management::{LostWrite, ManagedDevice, PowerCutError};
pub use profile::{FlashProfile, Profile, ProfileError};
pub use run::{Error, run};
pub use saved_state::StateError;
