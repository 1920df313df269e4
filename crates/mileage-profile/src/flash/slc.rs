//! Profile of the SLC cache: flash blocks that are programmed with one bit per cell to absorb writes quickly.

use super::FlashProfile;
use super::choices::{Allocation, Cell, Frontiers, Mapping, PlaneWork, SlcDesign};
use super::policies::Policies;
use super::text::Text;
use crate::figure::{ProfileError, impossible, microseconds, or_default};

/// Size of the SLC cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlcSize {
    /// A number of blocks of the whole drive, whatever the drive holds.
    Blocks(u32),
    /// This share of the space that holds no data of the host, in blocks.
    ShareOfFree(f64),
}

/// Properties of the SLC cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcCache {
    /// Size of the cache.
    pub size: SlcSize,
    /// Pages of a block that are used when its cells hold one bit.
    pub pages_per_block: u32,
    /// Treatment of a write when the cache is full.
    pub design: SlcDesign,
    /// Array read, in ns per page.
    pub read_ns: u64,
    /// Program, in ns per page.
    pub program_ns: u64,
    /// Idle time after which the cache is emptied, in ns; `None`: it is not emptied when idle.
    pub idle_after_ns: Option<u64>,
}

impl SlcCache {
    /// The cache that a profile describes, if any.
    pub(super) fn read(text: &Text, policies: &Policies) -> Result<Option<Self>, ProfileError> {
        let Some(key) = Self::key(text)? else { return Ok(None) };
        let bytes = text.slc_cache_bytes.as_ref().map(|figure| figure.value);
        let percent = text.slc_cache_percent.as_ref().map(|figure| figure.value);
        let bits = Self::bits(key, text, policies)?;
        let pages = text.pages_per_block.value / bits;
        if pages == 0 {
            return impossible(
                key,
                "given",
                format!("pages_per_block of {bits} or more, for a block with one bit in a cell"),
            );
        }
        let size = match (bytes, percent) {
            (_, Some(percent)) if !(1.0..=100.0).contains(&percent) => {
                return impossible(key, percent, "percent from 1 to 100");
            }
            (_, Some(percent)) => SlcSize::ShareOfFree(percent / 100.0),
            (bytes, _) => {
                SlcSize::Blocks(Self::blocks(key, bytes.unwrap_or(0), pages.saturating_mul(text.page_bytes.value))?)
            }
        };
        let time = |key, figure: &Option<crate::Figure<f64>>, least| {
            figure.as_ref().map_or(Ok(0), |figure| microseconds(key, figure, least))
        };
        Ok(Some(Self {
            size,
            pages_per_block: pages as u32,
            design: or_default(text.slc_design.as_ref()),
            read_ns: time("slc_read_us", &text.slc_read_us, 0.001)?,
            program_ns: time("slc_program_us", &text.slc_program_us, 0.001)?,
            idle_after_ns: match text.slc_idle_after_us {
                None => None,
                Some(_) => Some(time("slc_idle_after_us", &text.slc_idle_after_us, 0.0)?),
            },
        }))
    }

    /// The key that gives the size, if any; what belongs to a cache is refused without one, and needed with one.
    fn key(text: &Text) -> Result<Option<&'static str>, ProfileError> {
        let given = [
            ("slc_design", text.slc_design.is_some()),
            ("slc_read_us", text.slc_read_us.is_some()),
            ("slc_program_us", text.slc_program_us.is_some()),
            ("slc_idle_after_us", text.slc_idle_after_us.is_some()),
        ];
        let key = match (text.slc_cache_bytes.is_some(), text.slc_cache_percent.is_some()) {
            (false, false) => {
                let needless = given.iter().find(|(_, given)| *given);
                return needless.map_or(Ok(None), |(key, _)| {
                    impossible(
                        key,
                        "given",
                        "slc_cache_bytes or slc_cache_percent; without it the figure has no effect",
                    )
                });
            }
            (true, true) => {
                return impossible(
                    "slc_cache_percent",
                    "given with slc_cache_bytes",
                    "one of the two: static or dynamic",
                );
            }
            (true, false) => "slc_cache_bytes",
            (false, true) => "slc_cache_percent",
        };
        for (key, given) in given {
            // A cache that all writes pass is emptied by the writes themselves; only one that is bypassed needs an idle
            // time.
            let needed = key != "slc_idle_after_us"
                || text.slc_design.as_ref().is_some_and(|figure| figure.value == SlcDesign::Bypass);
            if needed && !given {
                let why = if key == "slc_idle_after_us" {
                    "a cache with a bypass is emptied at no other time"
                } else {
                    "an SLC cache needs it"
                };
                return impossible(key, "missing", format!("a value: {why}"));
            }
        }
        Ok(Some(key))
    }

    /// Whole blocks of a static cache, to the nearest.
    fn blocks(key: &'static str, bytes: u64, block_bytes: u64) -> Result<u32, ProfileError> {
        let blocks = (bytes + block_bytes / 2) / block_bytes.max(1);
        if (1..1 << 31).contains(&blocks) {
            Ok(blocks as u32)
        } else {
            impossible(key, bytes, format!("at least half of {block_bytes}, a block with one bit in a cell"))
        }
    }

    /// Bits in a cell, when the other choices allow a cache at all.
    fn bits(key: &'static str, text: &Text, policies: &Policies) -> Result<u64, ProfileError> {
        let needs =
            |what: &str| impossible(key, "given", format!("{what}; with other choices an SLC cache is not built"));
        if policies.mapping != Mapping::Page {
            return needs("mapping page");
        }
        if policies.allocation == Allocation::ByAddress {
            return needs("an allocation other than by-address");
        }
        if policies.frontiers == Frontiers::HotCold {
            return needs("frontiers other than hot-cold");
        }
        if policies.plane_work == PlaneWork::Together {
            return needs("plane_work independent or one");
        }
        if policies.idle_free_blocks > 0 {
            return needs("no gc_idle_free_blocks");
        }
        if text.compression_unit_bytes.is_some() || text.dedupe_contents.is_some() {
            return needs("no compression_unit_bytes and no dedupe_contents");
        }
        match text.cell.as_ref().map(|figure| figure.value) {
            Some(Cell::Mlc) => Ok(2),
            Some(Cell::Tlc) => Ok(3),
            Some(Cell::Qlc) => Ok(4),
            _ => impossible(key, "given", "cell mlc, tlc or qlc: only cells of more than one bit are faster with one"),
        }
    }
}

impl FlashProfile {
    /// Blocks of the flash that a static cache keeps for itself.
    pub(super) fn slc_blocks(&self) -> u64 {
        match self.slc_cache {
            Some(SlcCache { size: SlcSize::Blocks(blocks), .. }) => u64::from(blocks),
            _ => 0,
        }
    }

    /// Check that a static cache leaves enough room for the host's pages and for each plane.
    pub(super) fn slc_fits(&self, fewest_good: u64) -> Result<(), ProfileError> {
        let blocks = self.slc_blocks();
        if blocks == 0 {
            return Ok(());
        }
        let for_pages = self.basics.capacity_bytes / u64::from(self.page_bytes);
        let for_pages = for_pages.div_ceil(u64::from(self.pages_per_block));
        let others = self.reserve_blocks() - blocks;
        let left = self.good_blocks().saturating_sub(others + for_pages);
        let of_plane = fewest_good.saturating_sub(others / self.planes() + 1) * self.planes();
        let most = left.min(of_plane);
        if blocks > most {
            let of_block =
                self.slc_cache.map_or(0, |cache| u64::from(cache.pages_per_block)) * u64::from(self.page_bytes);
            let expected = format!("at most {}: {most} spare blocks with one bit in a cell", most * of_block);
            return impossible("slc_cache_bytes", blocks * of_block, expected);
        }
        Ok(())
    }
}
