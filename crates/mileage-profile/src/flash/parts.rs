//! Mapping units smaller than a flash page: check which other choices of a profile they allow.

use super::FlashProfile;
use super::choices::{Allocation, Copies, Frontiers, Mapping};
use crate::figure::{ProfileError, impossible};

impl FlashProfile {
    /// Check that several mapping units per page can be combined with the rest of the profile.
    pub(super) fn parts_hold(&self) -> Result<(), ProfileError> {
        let parts = self.mapped_per_program();
        if parts == 1 {
            return Ok(());
        }
        let units = u64::from(self.pages_per_block) * u64::from(parts);
        let policies = &self.policies;
        for (holds, expected) in [
            (units <= 8192, "at most 8192 units of mapping in a block"),
            (policies.mapping == Mapping::Page, "mapping page, for the others map whole pages"),
            (!self.packing.packs(), "no compression_unit_bytes and no dedupe_contents, which have a unit of their own"),
            (policies.frontiers != Frontiers::HotCold, "frontiers other than hot-cold, of which each would wait alone"),
            (policies.allocation != Allocation::ByAddress, "an allocation other than by-address"),
            (self.chip.copies == Copies::Controller, "gc_copies controller, for what is valid is packed anew"),
            (self.bit_errors.is_none(), "no bit_error_rate, which is that of whole pages"),
            (
                !self.write_buffer.is_looked_into(),
                "write_buffer_power not volatile, write_buffer_reads flash and write_combining none, for a place in \
                 the buffer is known for whole pages only",
            ),
        ] {
            if !holds {
                return impossible("mapping_bytes", self.mapping_bytes, format!("page_bytes, or {expected}"));
            }
        }
        Ok(())
    }
}
