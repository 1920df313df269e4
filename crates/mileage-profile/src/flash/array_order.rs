//! Scheduling policy of the flash arrays: in order of arrival, or reads first.

use super::choices::{Combining, EndOfLife, Mapping, PlaneWork, Reads, Scheduling};
use super::policies::Policies;
use super::text::Text;
use crate::figure::{ProfileError, impossible, or_default};

/// The scheduling that the profile names; refused next to what it does not have.
pub(super) fn scheduling(text: &Text, policies: &Policies, packs: bool) -> Result<Scheduling, ProfileError> {
    let scheduling = or_default(text.scheduling.as_ref());
    let parts = text.mapping_bytes.as_ref().is_some_and(|figure| figure.value != text.page_bytes.value);
    let cached = text.slc_cache_bytes.is_some() || text.slc_cache_percent.is_some();
    let combines = text.write_combining.as_ref().is_some_and(|figure| figure.value != Combining::Off);
    let finds = text.write_buffer_reads.as_ref().is_some_and(|figure| figure.value == Reads::Buffer);
    for (holds, expected) in [
        (policies.mapping == Mapping::Page && !packs && !parts, "a map of whole flash pages of full length, in memory"),
        (!cached, "no SLC cache"),
        (text.bit_error_rate.is_none(), "no bit_error_rate"),
        (text.open_block_read_us.is_none(), "no open_block_read_us"),
        (!combines, "write_combining none"),
        (policies.plane_work != PlaneWork::Together, "plane_work other than together"),
        (policies.idle_free_blocks == 0, "no gc_idle_free_blocks"),
        (policies.end_of_life == EndOfLife::Ignored, "end_of_life ignored"),
        (
            text.write_buffer_pages.value == 0 || finds,
            "write_buffer_reads buffer, for reads overtake the programs of what is in the buffer",
        ),
    ] {
        if scheduling == Scheduling::ReadPriority && !holds {
            return impossible("scheduling", scheduling.to_string(), expected);
        }
    }
    Ok(scheduling)
}
