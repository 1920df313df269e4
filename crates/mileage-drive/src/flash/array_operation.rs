//! Operations of arrays: their kinds, where pages are that they read, and how arrays order them.

use crate::profile::FlashProfile;
use crate::profile::flash::choices::{PlaneWork, Suspend};

/// Kinds of operations, for the rule of joint ones: a program, a read of any page, or below that the read of
/// the page at this place of its block.
pub(crate) const PROGRAM: u32 = u32::MAX;
pub(super) const ANY_READ: u32 = u32::MAX - 1;

/// Where a page is that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PagePlace {
    /// Its place in its block, in flash pages.
    pub row: u32,
    /// Whether the block is not full.
    pub open: bool,
}

impl PagePlace {
    /// In a full block, where no read depends on the place.
    pub(crate) const ANYWHERE: Self = Self { row: ANY_READ, open: false };
}

/// Work given to the array of a plane, or of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Array {
    /// Time at which all of it is done.
    pub busy_ns: u64,
    /// The last operation that other planes may join began then.
    pub joint_from_ns: u64,
    /// The planes in it; 0: none can be joined.
    pub joint_planes: u64,
    /// [`PROGRAM`], or which pages it reads.
    pub joint_kind: u32,
}

/// How arrays order their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayPolicy {
    /// One thing after the other.
    OneByOne,
    /// The planes of a die together, where they can.
    Together,
    /// One thing after the other, but reads interrupt erases.
    ErasesInterrupted,
    /// And programs.
    Interrupted,
}

impl ArrayPolicy {
    pub(super) fn of(profile: &FlashProfile) -> Self {
        match (profile.chip.suspend, profile.policies.plane_work) {
            (Suspend::Erase, _) => Self::ErasesInterrupted,
            (Suspend::EraseAndProgram, _) => Self::Interrupted,
            (Suspend::Off, PlaneWork::Together) => Self::Together,
            (Suspend::Off, _) => Self::OneByOne,
        }
    }
}
