//! Virtual block devices in virtual time.
//!
//! # Map
//! [`block_device`] is the block-device contract, [`immediate_device`] its form for devices that know a completion at submission,
//! and [`QueueAdapter`] turns the second into the first; [`conformance`] has a suite for both. [`ManagedDevice`] and
//! [`ManagedImmediate`] add power, erasing and life.
//! A [`Profile`] describes a drive of one kind; [`Device`] is a device of that kind: a [`FlashDrive`], a [`DiskDrive`],
//! a [`ShingledDrive`], an [`XpointDrive`], or an [`Array`] of such devices;
//! [`Faulty`] and [`DisturbedDevice`] wrap a device with faults; [`Drive`] is a device and its only user; [`run()`] runs a
//! workload on a device.
//!
//! # A new kind of device
//! 1. Its profile: a file in `mileage-profile`, which is [`profile`] here, a variant of [`Profile`] and a row of its kinds.
//! 2. The device: a file that implements [`BlockDevice`] and [`ManagedDevice`] ([`ConstantTime`] is the smallest example),
//!    or [`Immediate`] and [`ManagedImmediate`]; a line of `device_kinds.rs` and an arm of [`Device::new`]; and a test that
//!    runs [`conformance`] on it.
//!
//! # Invariant
//! The same profile and the same operations give the same completion times and the same saved state, byte for byte,
//! on every machine. *Guard:* `clippy.toml` of this crate bans the host's clock, unsafe code is forbidden, and the
//! property test of save and restore compares whole states.
//!
//! # Refused here
//! A profile of another `kind` than `flash`, `disk`, `smr-disk`, `xpoint` or `array`.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod adapter;
mod array;
mod array_reliability;
pub mod block_device;
pub mod conformance;
mod constant_time;
pub mod content;
mod content_store;
pub mod counter_name_lists;
pub mod device;
mod device_kinds;
mod disk;
mod disturbance;
mod drive;
mod fault_injector;
mod faulty_device;
mod flash;
mod forward;
pub mod immediate_device;
mod lap;
mod lookahead;
mod management;
mod number_hasher;
mod page_sizes;
mod run;
mod run_error;
mod runner_device;
mod saved_state;
mod single_host;
mod smr_disk;
mod splitmix;
mod tournament_tree;
mod xpoint;

pub use adapter::QueueAdapter;
pub use array::{Array, ArrayParts};
pub use array_reliability::{Estimate, Reliability};
pub use block_device::{
    BlockDevice, Decisions, DurableExtent, Event, EventClass, Fate, Loss, ManagedDevice, ManagementError, Misuse,
    PowerCut, Submission, Tag, TaggedCompletion,
};
pub use constant_time::ConstantTime;
pub use content::Content;
pub use content_store::{ContentStore, StoredContent};
pub use device::{Completion, Life, Refusal, Request, RequestKind, Status, WornOut};
pub use device_kinds::Device;
pub use disk::DiskDrive;
pub use disturbance::DisturbedDevice;
pub use drive::Drive;
pub use faulty_device::Faulty;
pub use flash::FlashDrive;
pub use flash::read_priority::ReadPriorityDrive;
pub use immediate_device::Immediate;
pub use management::{LostWrite, ManagedImmediate, PowerCutError, Undurable, UndurablePart};
pub use mileage_profile as profile;
pub use page_sizes::PageSizes;
pub use profile::{ArrayProfile, DiskProfile, FlashProfile, Profile, ProfileError, XpointProfile};
pub use run::{run, run_driven, run_general};
pub use run_error::Error;
pub use runner_device::RunnerDevice;
pub use saved_state::StateError;
pub use single_host::SingleHost;
pub use smr_disk::ShingledDrive;
pub use xpoint::XpointDrive;
