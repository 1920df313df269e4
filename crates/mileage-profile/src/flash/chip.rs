//! Capabilities of the chips in addition to reading, programming and erasing.

use super::choices::{Copies, Mapping, Pace, PlaneWork, Reads, Scheduling, Suspend};
use super::policies::Policies;
use super::text::Text;
use crate::figure::{ProfileError, impossible, microseconds, or_default};

/// Capabilities of the chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// Operations that a read interrupts.
    pub suspend: Suspend,
    /// Interrupting it and resuming it, in ns.
    pub suspend_ns: u64,
    /// Path of copies.
    pub copies: Copies,
    /// From the array of a block that is not full, in ns per page.
    pub open_block_read_ns: u64,
}

impl Chip {
    pub(super) fn read(text: &Text, policies: &Policies, packs: bool) -> Result<Self, ProfileError> {
        let suspend_us = text.suspend_us.as_ref();
        let chip = Self {
            suspend: or_default(text.suspend.as_ref()),
            suspend_ns: suspend_us.map_or(Ok(0), |figure| microseconds("suspend_us", figure, 0.0))?,
            copies: or_default(text.gc_copies.as_ref()),
            open_block_read_ns: microseconds(
                "open_block_read_us",
                text.open_block_read_us.as_ref().unwrap_or(&text.read_us),
                0.001,
            )?,
        };
        let (suspends, copies) = (chip.suspend != Suspend::Off, chip.copies == Copies::CopyBack);
        let reads_first = text.scheduling.as_ref().is_some_and(|figure| figure.value == Scheduling::ReadPriority);
        let cached = text.slc_cache_bytes.is_some() || text.slc_cache_percent.is_some();
        let buffered = text.write_buffer_pages.value > 0;
        let finds = text.write_buffer_reads.as_ref().is_some_and(|figure| figure.value == Reads::Buffer);
        for (key, given, holds, expected) in [
            ("suspend_us", suspend_us.is_some(), suspends, "a suspend; without it the figure has no effect"),
            (
                "suspend",
                suspends,
                policies.pace == Pace::AtOnce || reads_first,
                "gc_pace at-once, for a paced erase is in small pieces, or scheduling read-priority",
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
            (
                "open_block_read_us",
                text.open_block_read_us.is_some(),
                policies.mapping == Mapping::Page && !packs && !cached && text.bit_error_rate.is_none(),
                "a map of pages of full length in memory, no SLC cache and no bit errors",
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
