//! Profile of compression and deduplication in the controller, and the choices that they cannot be combined with.

use super::choices::{Allocation, EndOfLife, Frontiers, Levelling, Mapping, Victim};
use super::policies::Policies;
use super::text::Text;
use crate::figure::{Figure, ProfileError, impossible, whole};

/// Compression and deduplication by the controller; neither by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// Pages are compressed and stored as multiples of this number of bytes; `None`: as they are.
    pub unit_bytes: Option<u32>,
    /// Contents whose fingerprints the controller keeps to find duplicates; `None`: it does not look for any.
    pub dedupe_contents: Option<u32>,
}

impl Packing {
    /// Whether a page may be stored in less than a page.
    pub fn packs(&self) -> bool {
        self.unit_bytes.is_some() || self.dedupe_contents.is_some()
    }

    pub(super) fn read(text: &Text, policies: &Policies) -> Result<Self, ProfileError> {
        let figure = |key, figure: &Option<Figure<u64>>, min, max| {
            figure.as_ref().map(|figure| whole(key, figure, min, max)).transpose()
        };
        let page_bytes = text.page_bytes.value;
        let packing = Self {
            unit_bytes: figure("compression_unit_bytes", &text.compression_unit_bytes, 16, page_bytes / 2)?,
            dedupe_contents: figure("dedupe_contents", &text.dedupe_contents, 1, 1 << 31)?,
        };
        if let Some(unit) = packing.unit_bytes
            && !unit.is_power_of_two()
        {
            return impossible("compression_unit_bytes", unit, "a power of two");
        }
        if packing.packs() {
            packing.holds_with(text, policies)?;
        }
        Ok(packing)
    }

    /// Refuse what the map of a controller that packs does not do.
    fn holds_with(self, text: &Text, policies: &Policies) -> Result<(), ProfileError> {
        let key = if self.unit_bytes.is_some() { "compression_unit_bytes" } else { "dedupe_contents" };
        let others: [(&str, bool); 8] = [
            ("mapping page", policies.mapping == Mapping::Page),
            ("gc_victim greedy", policies.victim == Victim::Greedy),
            ("no gc_idle_free_blocks", policies.idle_free_blocks == 0),
            ("frontiers shared", policies.frontiers == Frontiers::Shared),
            ("an allocation other than by-address", policies.allocation != Allocation::ByAddress),
            ("levelling none", policies.levelling == Levelling::Off),
            ("no replacement_blocks", policies.replacement_blocks == 0),
            ("no pe_spread_percent", policies.end_of_life == EndOfLife::Ignored || text.pe_spread_percent.is_none()),
        ];
        for (expected, holds) in others {
            if !holds {
                return impossible(
                    key,
                    "given",
                    format!("{expected}: contents of many lengths have no other choice yet"),
                );
            }
        }
        let block_bytes = text.page_bytes.value.saturating_mul(text.pages_per_block.value);
        if block_bytes > 1 << 31 {
            return impossible(key, format!("given with blocks of {block_bytes} bytes"), "blocks of at most 2 GiB");
        }
        Ok(())
    }
}
