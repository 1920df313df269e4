//! Policies of a drive, apart from its geometry: every policy that a profile may choose, and which choices exclude
//! others.
//!
//! A choice that would have no effect (a collection policy for a mapping that does not collect, a number of choices
//! for a policy that does not draw) is refused, so that no line of a data sheet is decoration.

use super::choices::{Allocation, EndOfLife, Frontiers, Levelling, Mapping, Pace, PlaneReads, PlaneWork, Victim};
use super::text::Text;
use crate::figure::{Figure, ProfileError, impossible, microseconds, or_default, whole};

/// Erased blocks that a plane keeps unless the profile says otherwise.
pub(super) const FREE_BLOCKS_MIN: u64 = 1;

/// Every policy of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    /// Kind of mapping from logical to physical pages.
    pub mapping: Mapping,
    /// Map entries that are cached, with [`Mapping::Demand`].
    pub map_cache_entries: u32,
    /// Log blocks, with [`Mapping::Bast`] and [`Mapping::Fast`]; the latter's sequential one among them.
    pub log_blocks: u32,
    /// Victim selection of garbage collection.
    pub victim: Victim,
    /// Blocks drawn, with [`Victim::DChoices`].
    pub victim_choices: u32,
    /// When garbage collection is done.
    pub pace: Pace,
    /// Erased blocks that a plane keeps; with no more than these a write collects first.
    pub free_blocks_min: u32,
    /// Erased blocks that a plane collects up to while the drive is idle; 0: it does not.
    pub idle_free_blocks: u32,
    /// The drive is idle when nothing was outstanding for this long, in ns.
    pub idle_after_ns: u64,
    /// Which data shares a block.
    pub frontiers: Frontiers,
    /// In which order pages are laid over the planes.
    pub allocation: Allocation,
    /// Operations that the planes of a die do at the same time.
    pub plane_work: PlaneWork,
    /// Which pages they read together, with [`PlaneWork::Together`].
    pub plane_reads: PlaneReads,
    /// Wear levelling.
    pub levelling: Levelling,
    /// Static levelling acts when a block just erased has this many erases more than the plane's least worn.
    pub levelling_gap: u32,
    /// Behaviour at the end of life.
    pub end_of_life: EndOfLife,
    /// Blocks of each plane that only replace worn ones.
    pub replacement_blocks: u32,
    /// Spread of single blocks' limits around the rated cycles, in percent, uniform.
    pub pe_spread_percent: f64,
}

impl Policies {
    /// Blocks of a plane that are open at a time.
    pub(crate) fn open_blocks(&self) -> u32 {
        if self.frontiers == Frontiers::Shared { 1 } else { 2 }
    }

    /// Whether pages are mapped one by one.
    #[inline]
    pub fn by_page(&self) -> bool {
        matches!(self.mapping, Mapping::Page | Mapping::Demand)
    }

    pub(super) fn read(text: &Text) -> Result<Self, ProfileError> {
        let policies = Self {
            mapping: or_default(text.mapping.as_ref()),
            map_cache_entries: count("map_cache_entries", text.map_cache_entries.as_ref(), 1, 0)?,
            log_blocks: count("log_blocks", text.log_blocks.as_ref(), 2, 0)?,
            victim: or_default(text.gc_victim.as_ref()),
            victim_choices: count("gc_victim_choices", text.gc_victim_choices.as_ref(), 2, 0)?,
            pace: or_default(text.gc_pace.as_ref()),
            free_blocks_min: count("gc_free_blocks_min", text.gc_free_blocks_min.as_ref(), 1, FREE_BLOCKS_MIN as u32)?,
            idle_free_blocks: count("gc_idle_free_blocks", text.gc_idle_free_blocks.as_ref(), 0, 0)?,
            idle_after_ns: text
                .gc_idle_after_us
                .as_ref()
                .map_or(Ok(0), |figure| microseconds("gc_idle_after_us", figure, 0.0))?,
            frontiers: or_default(text.frontiers.as_ref()),
            allocation: or_default(text.allocation.as_ref()),
            plane_work: or_default(text.plane_work.as_ref()),
            plane_reads: or_default(text.plane_reads.as_ref()),
            levelling: or_default(text.levelling.as_ref()),
            levelling_gap: count("levelling_gap", text.levelling_gap.as_ref(), 1, 0)?,
            end_of_life: or_default(text.end_of_life.as_ref()),
            replacement_blocks: count("replacement_blocks", text.replacement_blocks.as_ref(), 0, 0)?,
            pe_spread_percent: spread(text.pe_spread_percent.as_ref())?,
        };
        policies.each_has_an_effect(text)?;
        Ok(policies)
    }

    /// Refuse what would change nothing with the other choices, and what is missing for them.
    fn each_has_an_effect(&self, text: &Text) -> Result<(), ProfileError> {
        let by_page = self.by_page();
        let logs = matches!(self.mapping, Mapping::Bast | Mapping::Fast);
        let blockwise = format!("a mapping by pages, for {} has no such choice", self.mapping);
        let rules: [(&'static str, bool, bool, &str); 17] = [
            ("map_cache_entries", text.map_cache_entries.is_some(), self.mapping == Mapping::Demand, "mapping demand"),
            ("log_blocks", text.log_blocks.is_some(), logs, "mapping bast or fast"),
            ("gc_victim", text.gc_victim.is_some(), by_page, &blockwise),
            (
                "gc_victim_choices",
                text.gc_victim_choices.is_some(),
                self.victim == Victim::DChoices,
                "gc_victim d-choices",
            ),
            ("gc_pace", text.gc_pace.is_some(), by_page, &blockwise),
            ("gc_free_blocks_min", text.gc_free_blocks_min.is_some(), by_page, &blockwise),
            ("gc_idle_free_blocks", text.gc_idle_free_blocks.is_some(), by_page, &blockwise),
            ("gc_idle_after_us", text.gc_idle_after_us.is_some(), self.idle_free_blocks > 0, "gc_idle_free_blocks"),
            ("frontiers", text.frontiers.is_some(), by_page, &blockwise),
            ("allocation", text.allocation.is_some(), by_page, &blockwise),
            ("plane_work", text.plane_work.is_some(), text.planes_per_die.value > 1, "planes_per_die above 1"),
            (
                "plane_reads",
                text.plane_reads.is_some(),
                self.plane_work == PlaneWork::Together
                    && self.mapping == Mapping::Page
                    && text.compression_unit_bytes.is_none()
                    && text.dedupe_contents.is_none(),
                "plane_work together and a map of pages of full length in memory",
            ),
            ("levelling", text.levelling.is_some(), by_page, &blockwise),
            ("levelling_gap", text.levelling_gap.is_some(), self.levelling == Levelling::Static, "levelling static"),
            (
                "replacement_blocks",
                text.replacement_blocks.is_some(),
                self.end_of_life != EndOfLife::Ignored,
                "an end_of_life",
            ),
            (
                "pe_spread_percent",
                text.pe_spread_percent.is_some(),
                self.end_of_life != EndOfLife::Ignored,
                "an end_of_life",
            ),
            (
                "end_of_life",
                self.end_of_life != EndOfLife::Ignored,
                text.pe_cycles.is_some() || text.cell.is_some(),
                "pe_cycles or cell, to know when",
            ),
        ];
        for (key, given, has_effect, needs) in rules {
            if given && !has_effect {
                return impossible(key, "given", format!("{needs}; without it the figure has no effect"));
            }
        }
        for (key, missing, whose) in [
            ("map_cache_entries", self.mapping == Mapping::Demand && self.map_cache_entries == 0, "mapping demand"),
            ("log_blocks", logs && self.log_blocks == 0, "mapping bast and fast"),
            ("gc_victim_choices", self.victim == Victim::DChoices && self.victim_choices == 0, "gc_victim d-choices"),
            ("levelling_gap", self.levelling == Levelling::Static && self.levelling_gap == 0, "levelling static"),
        ] {
            if missing {
                return impossible(key, "missing", format!("a whole number: {whose} needs it"));
            }
        }
        if self.idle_free_blocks > 0 && self.idle_free_blocks <= self.free_blocks_min {
            let expected = format!("more than gc_free_blocks_min ({})", self.free_blocks_min);
            return impossible("gc_idle_free_blocks", self.idle_free_blocks, expected);
        }
        Ok(())
    }
}

fn count(key: &'static str, figure: Option<&Figure<u64>>, min: u64, default: u32) -> Result<u32, ProfileError> {
    figure.map_or(Ok(default), |figure| whole(key, figure, min, 1 << 30))
}

fn spread(figure: Option<&Figure<f64>>) -> Result<f64, ProfileError> {
    match figure {
        Some(figure) if !(0.0..=90.0).contains(&figure.value) => {
            impossible("pe_spread_percent", figure.value, "percent from 0 to 90")
        }
        Some(figure) => Ok(figure.value),
        None => Ok(0.0),
    }
}
