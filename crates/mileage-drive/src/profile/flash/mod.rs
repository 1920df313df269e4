//! A drive's data sheet: every figure with its unit, its source and how far to trust it.
//!
//! A profile is a TOML text. `name`, `title` and `kind = "flash"` are plain; every other key is a figure:
//!
//! ```toml
//! read_us = { value = 25, source = "where it is written", confidence = "source" }
//! ```
//!
//! Every figure has an effect on the simulated drive or on what is judged of it (endurance); an unknown key is
//! refused. All errors are one line that names the key, what was found and what is expected.

pub mod buffer;
pub mod chip;
mod factory;
mod faults;
mod figures;
mod link;
mod packing;
pub mod policies;
mod rates;
mod reliability;
mod slc;

pub use buffer::WriteBuffer;
use buffer::{Combining, Flush, Power, Reads};
pub use chip::Chip;
use chip::{Copies, Suspend};
pub use factory::FactoryBad;
pub use faults::{Faults, Lost, Stall};
pub use figures::{FigureText, figure_names};
pub use link::Link;
use mileage_units::format_bytes;
pub use packing::Packing;
pub use policies::Policies;
use policies::{Allocation, Cell, EndOfLife, Frontiers, Levelling, Mapping, Pace, PlaneWork, Victim};
pub use rates::{PublishedRate, RateUnit, RateWorkload};
pub use reliability::BitErrors;
use serde::{Deserialize, Serialize};
pub use slc::{SlcCache, SlcDesign, SlcSize};

/// How far a figure can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Written down by the maker or measured by the named source.
    Source,
    /// Follows from written figures by the argument given.
    Inferred,
    /// Remembered by whoever wrote the profile; no text at hand.
    Memory,
    /// Chosen so that the simulated drive reproduces a written figure.
    Fitted,
    /// From the measurements that this project began with.
    Seed,
    /// An assumption that defines a drive that was never built.
    Defined,
    /// Nothing is known: the simplest choice. A policy that is only assumed yields to other choices that exclude it.
    Assumed,
    /// The profile does not state it: what every drive does that states nothing else.
    #[serde(skip)]
    Default,
}

/// One figure of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure<T> {
    /// The figure, in the unit that its key ends with.
    pub value: T,
    /// Where it comes from, in words.
    pub source: String,
    /// How far to trust it.
    pub confidence: Confidence,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Flash,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    title: String,
    #[serde(rename = "kind")]
    _kind: Kind,
    #[serde(default, rename = "rate")]
    rates: Vec<PublishedRate>,
    capacity_bytes: Figure<u64>,
    page_bytes: Figure<u64>,
    pages_per_block: Figure<u64>,
    blocks_per_plane: Figure<u64>,
    planes_per_die: Figure<u64>,
    dies_per_channel: Figure<u64>,
    channels: Figure<u64>,
    read_us: Figure<f64>,
    program_us: Figure<f64>,
    erase_us: Figure<f64>,
    controller_us: Figure<f64>,
    channel_mb_per_s: Figure<f64>,
    link: Option<Figure<String>>,
    link_mb_per_s: Option<Figure<f64>>,
    queue_depth_max: Figure<u64>,
    write_buffer_pages: Figure<u64>,
    write_buffer_power: Option<Figure<Power>>,
    write_buffer_flush: Option<Figure<Flush>>,
    write_buffer_reads: Option<Figure<Reads>>,
    write_combining: Option<Figure<Combining>>,
    flush_us: Option<Figure<f64>>,
    rated_endurance_bytes: Option<Figure<u64>>,
    pe_cycles: Option<Figure<u64>>,
    cell: Option<Figure<Cell>>,
    mapping: Option<Figure<Mapping>>,
    map_cache_entries: Option<Figure<u64>>,
    log_blocks: Option<Figure<u64>>,
    gc_victim: Option<Figure<Victim>>,
    gc_victim_choices: Option<Figure<u64>>,
    gc_pace: Option<Figure<Pace>>,
    gc_free_blocks_min: Option<Figure<u64>>,
    gc_idle_free_blocks: Option<Figure<u64>>,
    gc_idle_after_us: Option<Figure<f64>>,
    frontiers: Option<Figure<Frontiers>>,
    allocation: Option<Figure<Allocation>>,
    plane_work: Option<Figure<PlaneWork>>,
    levelling: Option<Figure<Levelling>>,
    levelling_gap: Option<Figure<u64>>,
    end_of_life: Option<Figure<EndOfLife>>,
    replacement_blocks: Option<Figure<u64>>,
    pe_spread_percent: Option<Figure<f64>>,
    factory_bad_blocks_per_die: Option<Figure<u64>>,
    factory_bad_seed: Option<Figure<u64>>,
    compression_unit_bytes: Option<Figure<u64>>,
    dedupe_contents: Option<Figure<u64>>,
    slc_cache_bytes: Option<Figure<u64>>,
    slc_cache_percent: Option<Figure<f64>>,
    slc_design: Option<Figure<SlcDesign>>,
    slc_read_us: Option<Figure<f64>>,
    slc_program_us: Option<Figure<f64>>,
    slc_idle_after_us: Option<Figure<f64>>,
    bit_error_rate: Option<Figure<f64>>,
    bit_error_rate_worn: Option<Figure<f64>>,
    bit_error_growth_per_year: Option<Figure<f64>>,
    ecc_codeword_bytes: Option<Figure<u64>>,
    ecc_correctable_bits: Option<Figure<u64>>,
    read_retries_max: Option<Figure<u64>>,
    read_retry_leaves: Option<Figure<f64>>,
    suspend: Option<Figure<Suspend>>,
    suspend_us: Option<Figure<f64>>,
    gc_copies: Option<Figure<Copies>>,
    stall_s: Option<Figure<f64>>,
    stall_every_s: Option<Figure<f64>>,
    lost_command_every: Option<Figure<u64>>,
    command_timeout_s: Option<Figure<f64>>,
    drop_off_s: Option<Figure<f64>>,
    fault_seed: Option<Figure<u64>>,
}

/// A flash drive's data sheet, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Short name, as in `virtual:NAME`.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Bytes that the host can address; a multiple of the page.
    pub capacity_bytes: u64,
    /// Unit of mapping and programming, in bytes.
    pub page_bytes: u32,
    /// Pages that are erased together, 2 to 8192.
    pub pages_per_block: u32,
    /// Blocks in a plane, 3 or more.
    pub blocks_per_plane: u32,
    /// Planes in a die; they work independently of each other.
    pub planes_per_die: u32,
    /// Dies on a channel.
    pub dies_per_channel: u32,
    /// Channels.
    pub channels: u32,
    /// From the array into a plane's register, in ns per page.
    pub read_ns: u64,
    /// From the register into the array, in ns per page.
    pub program_ns: u64,
    /// In ns per block.
    pub erase_ns: u64,
    /// The controller's serial work for one command, in ns.
    pub controller_ns: u64,
    /// One page over a channel, in ns.
    pub channel_page_ns: u64,
    /// The link's standard, where the profile names it.
    pub link: Option<Link>,
    /// Payload rate between host and drive, one direction at a time, in MB/s (10^6 bytes).
    pub link_mb_per_s: f64,
    /// Commands that the drive takes at a time; further ones wait.
    pub queue_depth_max: u32,
    /// Pages that the drive accepts before they are programmed; 0: a write waits for its program.
    pub write_buffer_pages: u32,
    /// How the write buffer works.
    pub write_buffer: WriteBuffer,
    /// What the maker warrants, in bytes written by the host.
    pub rated_write_bytes: Option<u64>,
    /// Program and erase cycles that a block is rated for; where the profile names only the cell, its usual rating.
    pub pe_cycles: Option<u64>,
    /// Blocks that no drive of this profile ever uses.
    pub factory_bad: FactoryBad,
    /// How the controller stores less than it was given.
    pub packing: Packing,
    /// How often bits are read wrongly; `None`: never.
    pub bit_errors: Option<BitErrors>,
    /// What its chips can do.
    pub chip: Chip,
    /// Faults that it is given on purpose; [`crate::Drive`] honours them.
    pub faults: Faults,
    /// How the drive works.
    pub policies: Policies,
    /// Blocks that take writes with one bit in a cell.
    pub slc_cache: Option<SlcCache>,
    figures: Vec<FigureText>,
    rates: Vec<PublishedRate>,
}

/// Why a text is not a profile: one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("drive profile, line {line} ({text:?}): {what}")]
    Text {
        /// Line, from 1.
        line: usize,
        /// That line, trimmed.
        text: String,
        /// What is wrong with it.
        what: String,
    },
    /// A value that no drive can have.
    #[error("drive profile: {key} is {found}: expected {expected}")]
    Impossible {
        /// The key.
        key: &'static str,
        /// What was found.
        found: String,
        /// What is expected.
        expected: String,
    },
}

fn impossible<T>(
    key: &'static str,
    found: impl std::fmt::Display,
    expected: impl Into<String>,
) -> Result<T, ProfileError> {
    Err(ProfileError::Impossible { key, found: format!("{found}"), expected: expected.into() })
}

fn whole(key: &'static str, figure: &Figure<u64>, min: u64, max: u64) -> Result<u32, ProfileError> {
    if (min..=max).contains(&figure.value) {
        Ok(figure.value as u32)
    } else {
        impossible(key, figure.value, format!("a whole number from {min} to {max}"))
    }
}

fn microseconds(key: &'static str, figure: &Figure<f64>, min_us: f64) -> Result<u64, ProfileError> {
    if (min_us..=1e6).contains(&figure.value) {
        Ok((figure.value * 1e3).round() as u64)
    } else {
        impossible(key, figure.value, format!("microseconds from {min_us} to 1000000"))
    }
}

fn megabytes_per_s(key: &'static str, figure: &Figure<f64>) -> Result<f64, ProfileError> {
    if (0.1..=1e6).contains(&figure.value) {
        Ok(figure.value)
    } else {
        impossible(key, figure.value, "MB/s from 0.1 to 1000000")
    }
}

impl Profile {
    /// The profile that a TOML text describes.
    ///
    /// # Errors
    /// One line: which key, what was found, what is expected.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let raw: Text = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
        let raw = raw.with_defaults();
        let link = raw.link.as_ref().map(Link::parse).transpose()?;
        let policies = Policies::read(&raw)?;
        let (packing, slc_cache) = (Packing::read(&raw, &policies)?, SlcCache::read(&raw, &policies)?);
        let profile = Self {
            slc_cache,
            bit_errors: BitErrors::read(&raw, &policies, packing.packs() || slc_cache.is_some())?,
            write_buffer: WriteBuffer::read(&raw, &policies, packing.packs())?,
            packing,
            chip: Chip::read(&raw, &policies, packing.packs())?,
            faults: Faults::read(&raw)?,
            policies,
            factory_bad: FactoryBad::read(&raw)?,
            link_mb_per_s: link_rate(link.as_ref(), raw.link_mb_per_s.as_ref())?,
            queue_depth_max: queue_depth(link.as_ref(), &raw.queue_depth_max)?,
            link,
            figures: raw.figures(),
            rates: raw.rates.clone(),
            page_bytes: page_bytes(&raw)?,
            capacity_bytes: raw.capacity_bytes.value,
            pages_per_block: whole("pages_per_block", &raw.pages_per_block, 2, 8192)?,
            blocks_per_plane: whole("blocks_per_plane", &raw.blocks_per_plane, 3, 1 << 31)?,
            planes_per_die: whole("planes_per_die", &raw.planes_per_die, 1, 64)?,
            dies_per_channel: whole("dies_per_channel", &raw.dies_per_channel, 1, 1024)?,
            channels: whole("channels", &raw.channels, 1, 1024)?,
            read_ns: microseconds("read_us", &raw.read_us, 0.001)?,
            program_ns: microseconds("program_us", &raw.program_us, 0.001)?,
            erase_ns: microseconds("erase_us", &raw.erase_us, 0.001)?,
            controller_ns: microseconds("controller_us", &raw.controller_us, 0.0)?,
            channel_page_ns: (raw.page_bytes.value as f64 * 1e3
                / megabytes_per_s("channel_mb_per_s", &raw.channel_mb_per_s)?)
            .round() as u64,
            write_buffer_pages: whole("write_buffer_pages", &raw.write_buffer_pages, 0, 1 << 24)?,
            rated_write_bytes: rated("rated_endurance_bytes", raw.rated_endurance_bytes.as_ref())?,
            pe_cycles: rated("pe_cycles", raw.pe_cycles.as_ref())?
                .or_else(|| raw.cell.as_ref().map(|cell| cell.value.pe_cycles())),
            name: raw.name,
            title: raw.title,
        };
        profile.fits()?;
        Ok(profile)
    }

    /// Whether the capacity fits the flash with what the drive needs for itself.
    fn fits(&self) -> Result<(), ProfileError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return impossible("name", format!("{:?}", self.name), "lower-case letters, digits and hyphens");
        }
        let (capacity, page) = (self.capacity_bytes, u64::from(self.page_bytes));
        if capacity == 0 || !capacity.is_multiple_of(page) {
            return impossible("capacity_bytes", capacity, format!("a multiple of page_bytes ({page}), at least one"));
        }
        let planes = self.planes();
        let pages = planes.checked_mul(u64::from(self.blocks_per_plane.next_multiple_of(32)));
        let pages = pages.and_then(|blocks| blocks.checked_mul(u64::from(self.pages_per_block)));
        if pages.is_none_or(|pages| pages >= u64::from(u32::MAX)) {
            let found =
                format!("{} in {planes} planes of blocks of {} pages", self.blocks_per_plane, self.pages_per_block);
            return impossible(
                "blocks_per_plane",
                found,
                "fewer than 2^32 pages in all (blocks rounded up to 32 a plane)",
            );
        }
        // Where the address decides the plane, the one with the fewest good blocks is full first.
        let fewest = self.fewest_good()?;
        self.slc_fits(fewest)?;
        let by_address = self.policies.allocation == Allocation::ByAddress;
        let good = if by_address { planes * fewest } else { self.good_blocks() };
        // Contents of many lengths leave up to a page of each block empty.
        let of_block = u64::from(self.pages_per_block) - u64::from(self.packing.packs());
        let most = good.saturating_sub(self.reserve_blocks()) * of_block * page;
        let rounded = self.mapped_pages() * page;
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
        self.capacity_bytes / u64::from(self.page_bytes)
    }

    /// Pages that a translation page describes: four bytes for each.
    pub(crate) fn entries_per_map_page(&self) -> u32 {
        self.page_bytes / 4
    }

    /// Pages that need a place: those of the host, those of a map that lies on flash, and what rounding to whole
    /// blocks, or to equal shares of all planes, adds.
    pub(crate) fn mapped_pages(&self) -> u64 {
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
        u64::from(self.channels) * u64::from(self.dies_per_channel) * u64::from(self.planes_per_die)
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
        self.raw_bytes() as f64 / self.capacity_bytes as f64 - 1.0
    }

    /// What the drive is said to endure, in bytes written by the host; `None` when nobody says.
    pub fn rated_write_bytes(&self) -> Option<u64> {
        self.rated_write_bytes
    }

    /// Every figure with its source and confidence, in the order of the data sheet; a policy that the profile does not
    /// state has the confidence [`Confidence::Default`].
    pub fn describe(&self) -> &[FigureText] {
        &self.figures
    }

    /// The published rates that the drive is held to, and what it does.
    pub fn rates(&self) -> &[PublishedRate] {
        &self.rates
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

fn rated(key: &'static str, figure: Option<&Figure<u64>>) -> Result<Option<u64>, ProfileError> {
    match figure {
        Some(figure) if figure.value == 0 => impossible(key, 0, "at least 1, or no such key"),
        Some(figure) => Ok(Some(figure.value)),
        None => Ok(None),
    }
}

/// The rate of the link: what its standard carries, unless the drive is slower.
fn link_rate(link: Option<&Link>, figure: Option<&Figure<f64>>) -> Result<f64, ProfileError> {
    match (link, figure) {
        (None, None) => impossible("link_mb_per_s", "missing", "a rate in MB/s, or a link by its name"),
        (Some(link), None) => Ok(link.payload_mb_per_s),
        (Some(link), Some(figure)) if figure.value > link.payload_mb_per_s => {
            let expected = format!("at most {} MB/s, what the link carries", link.payload_mb_per_s);
            impossible("link_mb_per_s", figure.value, expected)
        }
        (_, Some(figure)) => megabytes_per_s("link_mb_per_s", figure),
    }
}

fn queue_depth(link: Option<&Link>, figure: &Figure<u64>) -> Result<u32, ProfileError> {
    whole("queue_depth_max", figure, 1, link.map_or(65536, |link| u64::from(link.queue_depth_max)))
}

/// The TOML reader's error, with the line it is about.
fn in_one_line(text: &str, error: &toml::de::Error) -> ProfileError {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.get(..at).unwrap_or(text).matches('\n').count();
    ProfileError::Text {
        line: line + 1,
        text: text.lines().nth(line).unwrap_or("").trim().chars().take(80).collect(),
        what: error.message().lines().collect::<Vec<_>>().join(", "),
    }
}
