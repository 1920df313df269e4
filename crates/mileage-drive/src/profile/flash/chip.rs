//! Capabilities of the chips in addition to reading, programming and erasing.

use super::choices::{Copies, Pace, PlaneWork, Reads, Suspend};
use super::policies::Policies;
use super::text::Text;
use crate::profile::figure::{ProfileError, impossible, microseconds, or_default};

/// Capabilities of the chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// Operations that a read interrupts.
    pub suspend: Suspend,
    /// Interrupting it and resuming it, in ns.
    pub suspend_ns: u64,
    /// Path of copies.
    pub copies: Copies,
}

impl Chip {
    pub(super) fn read(text: &Text, policies: &Policies, packs: bool) -> Result<Self, ProfileError> {
        let suspend_us = text.suspend_us.as_ref();
        let chip = Self {
            suspend: or_default(text.suspend.as_ref()),
            suspend_ns: suspend_us.map_or(Ok(0), |figure| microseconds("suspend_us", figure, 0.0))?,
            copies: or_default(text.gc_copies.as_ref()),
        };
        let (suspends, copies) = (chip.suspend != Suspend::Off, chip.copies == Copies::CopyBack);
        let buffered = text.write_buffer_pages.value > 0;
        let finds = text.write_buffer_reads.as_ref().is_some_and(|figure| figure.value == Reads::Buffer);
        for (key, given, holds, expected) in [
            ("suspend_us", suspend_us.is_some(), suspends, "a suspend; without it the figure has no effect"),
            (
                "suspend",
                suspends,
                policies.pace == Pace::AtOnce,
                "gc_pace at-once, for a paced erase is in small pieces",
            ),
            (
                "suspend",
                suspends,
                policies.plane_work != PlaneWork::Together,
                "plane_work other than together, for what planes do together is not interrupted",
            ),
            (
                "suspend",
                chip.suspend == Suspend::EraseAndProgram,
                !buffered || finds,
                "write_buffer_reads buffer, for a page must be read while its program is interrupted",
            ),
            ("gc_copies", copies, !packs, "pages of full length, for the controller packs what is valid anew"),
            (
                "gc_copies",
                copies,
                text.bit_error_rate.is_none(),
                "no bit_error_rate, for what is copied inside a chip is not corrected",
            ),
        ] {
            if given && !holds {
                return impossible(key, "given", expected);
            }
        }
        Ok(chip)
    }
}
