//! The profile of a flash drive: geometry, times, and how the controller works.

mod array_order;
mod buffer;
mod chip;
pub mod choices;
mod factory;
mod figures;
mod packing;
mod parts;
mod policies;
mod reliability;
mod slc;
mod text;

use super::basics::Basics;
use super::faults::{Faults, fault_figures};
use super::figure::{
    Figure, ProfileError, impossible, in_one_line, megabytes_per_s, microseconds, or_default, rated, whole,
};
use super::link::{Link, link_rate, link_write_rate, queue_depth};
pub use buffer::WriteBuffer;
pub use chip::Chip;
use choices::{Allocation, Duplex, Mapping, Scheduling, Trim};
pub use factory::FactoryBad;
use mileage_units::format_bytes;
pub use packing::Packing;
pub use policies::Policies;
pub use reliability::BitErrors;
pub use slc::{SlcCache, SlcSize};
use text::Text;
pub use text::figure_names;

/// A valid profile of a flash drive: its geometry, timings and policies.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashProfile {
    /// Properties of drives of all kinds; the capacity is a multiple of the page.
    pub basics: Basics,
    /// What one program writes and one array read reads, in bytes.
    pub page_bytes: u32,
    /// Unit of mapping, in bytes: a page, or a part of one.
    pub mapping_bytes: u32,
    /// Pages that are erased together, 2 to 8192.
    pub pages_per_block: u32,
    /// Blocks in a plane, 3 or more.
    pub blocks_per_plane: u32,
    /// Planes in a die; they work independently of each other.
    pub planes_per_die: u32,
    /// Dies of the drive; die d is on channel d % `channels`, so that channels may have one more than others.
    pub dies: u32,
    /// Channels.
    pub channels: u32,
    /// From the array into a plane's register, in ns per page.
    pub read_ns: u64,
    /// From the register into the array, in ns per page.
    pub program_ns: u64,
    /// In ns per block.
    pub erase_ns: u64,
    /// The controller begins commands at least this far apart, in ns.
    pub controller_ns: u64,
    /// What a command takes in the controller, in ns.
    pub controller_latency_ns: u64,
    /// Transfer time of one page over a channel, in ns.
    pub channel_page_ns: u64,
    /// The link's standard, where the profile names it.
    pub link: Option<Link>,
    /// Payload rate from the drive to the host, in MB/s (10^6 bytes).
    pub link_mb_per_s: f64,
    /// Payload rate from the host to the drive, in MB/s.
    pub link_write_mb_per_s: f64,
    /// Whether the link carries both ways at the same time.
    pub link_duplex: Duplex,
    /// Commands that the drive takes at a time; further ones wait.
    pub queue_depth_max: u32,
    /// Pages that the drive accepts before they are programmed; 0: a write waits for its program.
    pub write_buffer_pages: u32,
    /// Behaviour of the write buffer.
    pub write_buffer: WriteBuffer,
    /// Program and erase cycles that a block is rated for; where the profile names only the cell, its usual rating.
    pub pe_cycles: Option<u64>,
    /// Blocks that no drive of this profile ever uses.
    pub factory_bad: FactoryBad,
    /// Compression and deduplication by the controller.
    pub packing: Packing,
    /// Rate of bit errors; `None`: none.
    pub bit_errors: Option<BitErrors>,
    /// In which order the arrays do what they are asked.
    pub scheduling: Scheduling,
    /// Capabilities of its chips.
    pub chip: Chip,
    /// Treatment of a discard.
    pub trim: Trim,
    /// Policies of the drive.
    pub policies: Policies,
    /// Blocks that take writes with one bit in a cell.
    pub slc_cache: Option<SlcCache>,
}

impl FlashProfile {
    /// The flash profile that a TOML text describes.
    ///
    /// # Errors
    /// One line: which key, what was found, what is expected.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let raw: Text = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
        let raw = raw.with_defaults();
        let link = raw.link.as_ref().map(Link::parse).transpose()?;
        let policies = Policies::read(&raw)?;
        let link_mb_per_s = link_rate(link.as_ref(), raw.link_mb_per_s.as_ref())?;
        let channels = whole("channels", &raw.channels, 1, 1024)?;
        let (packing, slc_cache) = (Packing::read(&raw, &policies)?, SlcCache::read(&raw, &policies)?);
        let profile = Self {
            slc_cache,
            bit_errors: BitErrors::read(&raw, &policies, packing.packs() || slc_cache.is_some())?,
            write_buffer: WriteBuffer::read(&raw, &policies, packing.packs())?,
            packing,
            chip: Chip::read(&raw, &policies, packing.packs())?,
            scheduling: array_order::scheduling(&raw, &policies, packing.packs())?,
            policies,
            factory_bad: FactoryBad::read(&raw)?,
            link_mb_per_s,
            link_write_mb_per_s: link_write_rate(link.as_ref(), raw.link_write_mb_per_s.as_ref(), link_mb_per_s)?,
            link_duplex: or_default(raw.link_duplex.as_ref()),
            queue_depth_max: queue_depth(link.as_ref(), &raw.queue_depth_max)?,
            link,
            page_bytes: page_bytes(&raw)?,
            mapping_bytes: mapping_bytes(&raw)?,
            pages_per_block: whole("pages_per_block", &raw.pages_per_block, 2, 8192)?,
            blocks_per_plane: whole("blocks_per_plane", &raw.blocks_per_plane, 3, 1 << 31)?,
            planes_per_die: whole("planes_per_die", &raw.planes_per_die, 1, 64)?,
            dies: dies(&raw.dies_per_channel, channels)?,
            channels,
            read_ns: microseconds("read_us", &raw.read_us, 0.001)?,
            program_ns: microseconds("program_us", &raw.program_us, 0.001)?,
            erase_ns: microseconds("erase_us", &raw.erase_us, 0.001)?,
            controller_ns: microseconds("controller_us", &raw.controller_us, 0.0)?,
            controller_latency_ns: microseconds(
                "controller_latency_us",
                raw.controller_latency_us.as_ref().unwrap_or(&raw.controller_us),
                0.0,
            )?,
            channel_page_ns: (raw.page_bytes.value as f64 * 1e3
                / megabytes_per_s("channel_mb_per_s", &raw.channel_mb_per_s)?)
            .round() as u64,
            trim: or_default(raw.trim.as_ref()),
            write_buffer_pages: whole("write_buffer_pages", &raw.write_buffer_pages, 0, 1 << 24)?,
            pe_cycles: rated("pe_cycles", raw.pe_cycles.as_ref())?
                .or_else(|| raw.cell.as_ref().map(|cell| cell.value.pe_cycles())),
            basics: Basics {
                figures: raw.figures(),
                faults: Faults::read(&fault_figures!(raw))?,
                rated_write_bytes: rated("rated_endurance_bytes", raw.rated_endurance_bytes.as_ref())?,
                capacity_bytes: raw.capacity_bytes.value,
                rates: raw.rates,
                name: raw.name,
                title: raw.title,
            },
        };
        profile.fits()?;
        Ok(profile)
    }

    /// Check that the capacity fits the flash, with the blocks that the drive needs for itself.
    fn fits(&self) -> Result<(), ProfileError> {
        self.basics.holds()?;
        self.parts_hold()?;
        let (capacity, page) = (self.basics.capacity_bytes, u64::from(self.page_bytes));
        if capacity == 0 || !capacity.is_multiple_of(page) {
            return impossible("capacity_bytes", capacity, format!("a multiple of page_bytes ({page}), at least one"));
        }
        let planes = self.planes();
        let pages = planes.checked_mul(u64::from(self.blocks_per_plane.next_multiple_of(32)));
        let per_block = u64::from(self.pages_per_block) * u64::from(self.mapped_per_program());
        let pages = pages.and_then(|blocks| blocks.checked_mul(per_block));
        if pages.is_none_or(|pages| pages >= u64::from(u32::MAX)) {
            let found = format!("{} in {planes} planes of blocks of {per_block} pages", self.blocks_per_plane);
            return impossible(
                "blocks_per_plane",
                found,
                "fewer than 2^32 pages in all (blocks rounded up to 32 a plane)",
            );
        }
        // With a fixed plane per address, the plane with the fewest good blocks fills up first and limits the capacity.
        let fewest = self.fewest_good()?;
        self.slc_fits(fewest)?;
        let by_address = self.policies.allocation == Allocation::ByAddress;
        let good = if by_address { planes * fewest } else { self.good_blocks() };
        // Contents of different lengths leave up to a page of each block unused.
        let of_block = u64::from(self.pages_per_block) - u64::from(self.packing.packs());
        let most = good.saturating_sub(self.reserve_blocks()) * of_block * page;
        let rounded = self.mapped_pages() * u64::from(self.mapping_bytes);
        if rounded > most {
            let raw = format_bytes(self.raw_bytes());
            let with =
                if rounded == capacity { String::new() } else { format!(" (with its map and rounding {rounded})") };
            let expected = format!(
                "at most {most}: raw {raw} minus the free, open, log, replacement and SLC blocks of the {planes} planes ({}){}",
                format_bytes(self.reserve_bytes()),
                if self.factory_bad.per_die > 0 { " and the bad ones" } else { "" }
            );
            return impossible("capacity_bytes", format!("{capacity}{with}"), expected);
        }
        Ok(())
    }

    /// Pages that the host sees.
    pub fn logical_pages(&self) -> u64 {
        self.basics.capacity_bytes / u64::from(self.mapping_bytes)
    }

    /// Units of mapping in a page.
    #[inline]
    pub fn mapped_per_program(&self) -> u32 {
        self.page_bytes / self.mapping_bytes
    }

    /// Pages that a translation page describes: four bytes for each.
    pub fn entries_per_map_page(&self) -> u32 {
        self.page_bytes / 4
    }

    /// Pages that need a place: those of the host, those of a map that lies on flash, and what rounding to whole
    /// blocks, or to equal shares of all planes, adds.
    pub fn mapped_pages(&self) -> u64 {
        let logical = self.logical_pages();
        match self.policies.mapping {
            Mapping::Demand => self.in_equal_shares(logical + logical.div_ceil(u64::from(self.entries_per_map_page()))),
            Mapping::Page => self.in_equal_shares(logical),
            Mapping::Block | Mapping::Bast | Mapping::Fast => logical.next_multiple_of(u64::from(self.pages_per_block)),
        }
    }

    fn in_equal_shares(&self, pages: u64) -> u64 {
        if self.policies.allocation == Allocation::ByAddress { pages.next_multiple_of(self.planes()) } else { pages }
    }

    /// Blocks that hold no data for good.
    fn reserve_blocks(&self) -> u64 {
        let policies = &self.policies;
        let replacements = self.planes() * u64::from(policies.replacement_blocks);
        replacements
            + self.slc_blocks()
            + if policies.by_page() {
                self.planes() * u64::from(policies.free_blocks_min + policies.open_blocks())
            } else {
                2 + u64::from(policies.log_blocks)
            }
    }

    /// Planes of the whole drive: what can work at the same time.
    pub fn planes(&self) -> u64 {
        u64::from(self.dies) * u64::from(self.planes_per_die)
    }

    /// Bytes of flash.
    pub fn raw_bytes(&self) -> u64 {
        self.planes() * u64::from(self.blocks_per_plane) * u64::from(self.pages_per_block) * u64::from(self.page_bytes)
    }

    /// Bytes that hold no data for good: in every plane the blocks that stay free, are open, or replace worn ones, and a static SLC cache; of
    /// a mapping by blocks the log blocks, two more, and those that replace worn ones.
    pub fn reserve_bytes(&self) -> u64 {
        self.reserve_blocks() * u64::from(self.pages_per_block) * u64::from(self.page_bytes)
    }

    /// Spare flash over capacity, (raw - capacity) / capacity.
    pub fn over_provisioning(&self) -> f64 {
        self.raw_bytes() as f64 / self.basics.capacity_bytes as f64 - 1.0
    }
}

/// Dies of the drive, from those of a channel: a mean, so that channels may differ by one.
fn dies(per_channel: &Figure<f64>, channels: u32) -> Result<u32, ProfileError> {
    let dies = per_channel.value * f64::from(channels);
    let whole = dies.round();
    // The mean may be rounded: 1.333 for four dies on three channels.
    let is_whole = (dies - whole).abs() < 0.01 && (1.0..=1_048_576.0).contains(&whole);
    if is_whole && (1.0..=1024.0).contains(&per_channel.value.ceil()) && whole >= f64::from(channels) {
        Ok(whole as u32)
    } else {
        let expected = format!("a number from 1 to 1024 that gives a whole number of dies on {channels} channels");
        impossible("dies_per_channel", per_channel.value, expected)
    }
}

/// The unit of mapping: the page, unless the profile says otherwise.
fn mapping_bytes(raw: &Text) -> Result<u32, ProfileError> {
    let page = page_bytes(raw)?;
    let Some(figure) = &raw.mapping_bytes else { return Ok(page) };
    let least = (page / 64).max(512);
    let fits = figure.value.is_power_of_two() && (u64::from(least)..=u64::from(page)).contains(&figure.value);
    if fits {
        Ok(figure.value as u32)
    } else {
        impossible("mapping_bytes", figure.value, format!("a power of two from {least} to page_bytes ({page})"))
    }
}

fn page_bytes(raw: &Text) -> Result<u32, ProfileError> {
    let found = raw.page_bytes.value;
    if found.is_power_of_two() && (512..=1 << 20).contains(&found) {
        Ok(found as u32)
    } else {
        impossible("page_bytes", found, "a power of two from 512 to 1048576")
    }
}
