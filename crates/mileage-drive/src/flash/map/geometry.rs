//! Sizes of a page map, and the numbering of its blocks and pages.

use crate::profile::FlashProfile;
use crate::profile::flash::choices::Mapping;

/// Blocks that share one entry of the second level of the search for a victim: 32 counts of two bytes are 64 bytes.
pub(crate) const GROUP: u32 = 32;

/// Division by a number known only at run time, exact for every `u32`: a multiplication by 2^64 / d, rounded up (Lemire,
/// Kaser and Kurz, "Faster remainder by direct computation", 2019). A division instruction would be the slowest step of
/// a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divider {
    magic: u64,
}

impl Divider {
    /// Divide by `by`, at least 2.
    pub(super) fn new(by: u32) -> Self {
        Self { magic: u64::MAX / u64::from(by) + 1 }
    }

    #[inline]
    pub(super) fn divide(self, number: u32) -> u32 {
        ((u128::from(number) * u128::from(self.magic)) >> 64) as u32
    }
}

/// Sizes of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Planes.
    pub units: u32,
    /// Blocks in service in a unit without bad ones.
    pub blocks: u32,
    /// Blocks of a unit that replace worn ones; they come after those in service.
    pub replacements: u32,
    /// Pages in a block, in units of the map.
    pub pages: u32,
    /// Number of mapping units that one program writes, a power of two up to 64.
    pub per_program: u32,
    /// Pages that are mapped: the host's, and those of a map on flash.
    pub logical: u32,
}

impl Geometry {
    pub(crate) fn of(profile: &FlashProfile) -> Self {
        let replacements = profile.policies.replacement_blocks;
        let entries = profile.logical_pages();
        let map_pages = match profile.policies.mapping {
            Mapping::Demand => entries.div_ceil(u64::from(profile.entries_per_map_page())),
            _ => 0,
        };
        Self {
            units: profile.planes() as u32,
            blocks: profile.blocks_per_plane - replacements,
            replacements,
            pages: profile.pages_per_block * profile.mapped_per_program(),
            per_program: profile.mapped_per_program(),
            logical: (entries + map_pages) as u32,
        }
    }

    /// Block numbers from one unit to the next: rounded up to whole groups, so that no group spans two units.
    pub(crate) fn stride(&self) -> u32 {
        (self.blocks + self.replacements).next_multiple_of(GROUP)
    }

    /// Whether this number of pages fills flash pages to the end.
    #[inline]
    pub(crate) fn fills(&self, pages: u32) -> bool {
        pages & (self.per_program - 1) == 0
    }

    /// Words of 64 stale marks in a block.
    pub(super) fn words(&self) -> u32 {
        self.pages.div_ceil(64)
    }
}
