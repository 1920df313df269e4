//! Flash: [`FlashDrive`] joins a mapping (where pages are), the clocks (when things are done) and the counters.
//!
//! # Model
//! Pages that were never written, or were discarded, are read without the flash. A write that covers part of a
//! mapped page reads the page first. Collection is in the foreground, where the write that needs it waits (behind
//! the write buffer if there is one), and, where the profile says so, in the background while the drive is idle. A
//! discard costs the controller's time for one command, also where the drive ignores it.
//!
//! The map's pages may be smaller than those of the flash ([`part_pages`]): "page" without "flash" is one of the map.
//!
//! # End of life
//! Where the profile says so, writes and discards are refused once the mean of all erase counts reaches the rated
//! cycles, or a block is past its own limit and none is left to replace it; blocks that were bad from the factory do
//! not count. A power cycle may then end the drive.
//!
//! # Not modelled
//! What data the pages hold is not kept: a power cut says which writes are lost, and the map keeps the
//! places that were chosen for them.

mod array_operation;
mod array_rules;
mod blocks;
mod buffer;
mod cells;
mod counters;
mod dftl;
mod errors;
mod lane;
mod layer;
mod map;
mod medium;
mod operations;
mod packed;
mod part_pages;
mod queue;
pub mod read_priority;
mod saved_mapping;
mod saved_state;
#[cfg(test)]
pub(crate) mod shadow;
mod slc_cache;
mod suspend;
mod timing;
mod translation;
mod wear_policy;

use crate::device::{Completion, Life, Refusal, Request, RequestKind, WornOut};
use crate::immediate_device::Immediate;
use crate::management::{LostWrite, ManagedImmediate, PowerCutError, Undurable};
use crate::page_sizes::PageSizes;
use crate::profile::flash::choices::{EndOfLife, Power, Trim};
use crate::profile::{Basics, FlashProfile};
use crate::saved_state::StateError;
use buffer::Buffer;
use counters::{COUNTER_NAMES, Counters, GAUGE_NAMES, SERIES_NAMES};
use errors::Errors;
use layer::{Layer, each};
use map::Map;
use medium::Medium;
use mileage_workload::{Op, OpKind, Workload};
use packed::Contents;
use timing::Clocks;
use translation::TranslationLayer;

const SECTOR_BYTES: u32 = 512;

/// A flash drive in virtual time. The module's text says what it models.
#[derive(Clone, Debug)]
pub struct FlashDrive {
    profile: FlashProfile,
    page_shift: u32,
    layer: Layer,
    medium: Medium,
    life: Life,
    /// Bits that are read wrongly, where the profile has such.
    errors: Option<Box<Errors>>,
    /// Contents of the write buffer, if anything depends on them.
    buffer: Option<Box<Buffer>>,
    /// Writes go another way than straight to a page map: they look into the buffer, or the mapping is by blocks.
    writes_detour: bool,
    /// Flash pages hold several pages of the map, which wait for each other.
    waits_for_pages: bool,
    /// Good blocks of the drive times their rated cycles; the life is over with as many erases, if not before.
    erases_max: u64,
    /// Whether the drive works in the background when it is idle.
    works_when_idle: bool,
}

impl FlashDrive {
    /// A drive as it leaves the factory: nothing written, its clock at 0.
    pub fn new(profile: FlashProfile) -> Self {
        let blocks = profile.good_blocks();
        let ends = profile.policies.end_of_life != EndOfLife::Ignored;
        let layer = Layer::new(&profile);
        let buffer = profile.write_buffer.is_looked_into().then(|| Box::new(Buffer::new(&profile)));
        Self {
            errors: Errors::of(&profile),
            writes_detour: buffer.is_some() || profile.packing.packs() || !profile.policies.by_page(),
            buffer,
            page_shift: profile.mapping_bytes.trailing_zeros(),
            layer,
            medium: Medium { clocks: Clocks::new(&profile), counters: Counters::default() },
            life: Life::Working,
            waits_for_pages: profile.mapped_per_program() > 1,
            works_when_idle: profile.policies.idle_free_blocks > 0
                || profile.slc_cache.is_some_and(|cache| cache.idle_after_ns.is_some()),
            erases_max: profile.pe_cycles.filter(|_| ends).map_or(u64::MAX, |cycles| cycles.saturating_mul(blocks)),
            profile,
        }
    }

    /// The drive that continues where a saved one of the same profile stopped.
    ///
    /// # Errors
    /// What is wrong with the state: another profile or version, truncated, corrupt.
    pub fn restored(profile: FlashProfile, state: &[u8]) -> Result<Self, StateError> {
        let mut drive = Self::new(profile);
        drive.restore(state)?;
        Ok(drive)
    }

    /// The data sheet.
    pub fn profile(&self) -> &FlashProfile {
        &self.profile
    }

    /// The counters with their names, since the drive was first powered on.
    pub fn named_counters(&self) -> Vec<(&'static str, u64)> {
        COUNTER_NAMES.iter().copied().zip(self.counted().values()).collect()
    }

    /// The gauges with their names: how things stand now.
    pub fn named_gauges(&self) -> Vec<(&'static str, u64)> {
        let mut values = vec![0; GAUGE_NAMES.len()];
        self.gauges(&mut values);
        GAUGE_NAMES.iter().copied().zip(values).collect()
    }

    /// Pages that hold data of the host now.
    pub fn mapped_pages(&self) -> u64 {
        each!(&self.layer, layer => layer.mapped_pages())
    }

    /// Pages that were programmed and whose blocks were not erased since; 0 for a mapping by blocks, which does not
    /// fill every block, and for a drive that packs.
    pub fn written_pages(&self) -> u64 {
        self.page_map().map_or(0, Map::written_pages)
    }

    /// The page map, if pages are mapped one by one.
    #[inline]
    fn page_map(&self) -> Option<&Map> {
        // A comparison for the commonest, then a table for the others.
        match &self.layer {
            Layer::Page(map) => Some(map),
            other => each!(other, layer => layer.page_map()),
        }
    }

    /// Share of the rated program and erase cycles that are used up on average (0 new, 1 at the rating); `None`
    /// when the profile does not know the rating.
    pub fn life_used(&self) -> Option<f64> {
        let blocks = self.profile.good_blocks();
        self.profile.pe_cycles.map(|cycles| self.medium.counters.blocks_erased as f64 / (blocks as f64 * cycles as f64))
    }

    /// The media wear-out indicator: 100 new, 0 when the rated cycles are used up; 100 as well when the profile does
    /// not know the rating.
    pub fn wear_indicator_percent(&self) -> u64 {
        self.life_used().map_or(100, |used| (100.0 * (1.0 - used)).ceil().max(0.0) as u64)
    }

    /// Power is back.
    fn restart(&mut self) {
        self.buffer.iter_mut().for_each(|buffer| buffer.clear());
        if self.life == Life::ReadOnly && self.profile.policies.end_of_life == EndOfLife::ReadOnlyThenDead {
            self.life = Life::Dead;
        }
    }

    /// Detect that the life of the drive has just ended.
    #[inline]
    fn note_wear(&mut self) {
        let no_block_left = match &self.layer {
            Layer::Page(map) => map.worn_out,
            other => each!(other, layer => layer.is_worn_out()),
        };
        if (no_block_left || self.medium.counters.blocks_erased >= self.erases_max) && self.life == Life::Working {
            self.life = Life::ReadOnly;
        }
    }

    /// Refusal of an operation at this stage of the drive's life.
    #[cold]
    fn refused(&self, kind: RequestKind) -> Option<Refusal> {
        match (self.life, kind) {
            (Life::Working, RequestKind::Discard) if self.profile.trim == Trim::Refused => Some(Refusal::NoDiscard),
            (Life::Dead, _) => Some(Refusal::Dead(self.why_worn_out())),
            (Life::ReadOnly, RequestKind::Write | RequestKind::Discard) => Some(Refusal::ReadOnly(self.why_worn_out())),
            _ => None,
        }
    }

    /// Reason why this drive, whose life is over, is worn out.
    fn why_worn_out(&self) -> WornOut {
        if each!(&self.layer, layer => layer.is_worn_out()) {
            let used_percent = (100.0 * self.life_used().unwrap_or(0.0)) as u64;
            WornOut::NoReplacement { used_percent }
        } else {
            WornOut::RatingUsedUp
        }
    }

    /// The counters; the bytes programmed follow from the pages.
    fn counted(&self) -> Counters {
        let pages = self.medium.counters.flash_pages_programmed;
        let flash_bytes_programmed = pages.wrapping_mul(u64::from(self.profile.page_bytes));
        Counters { flash_bytes_programmed, ..self.medium.counters }
    }
}

impl Immediate for FlashDrive {
    fn capacity_bytes(&self) -> u64 {
        self.profile.basics.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    #[expect(clippy::misnamed_getters, reason = "to a host, a page is what can be written without reading the rest")]
    fn page_bytes(&self) -> u32 {
        self.profile.mapping_bytes
    }

    fn now_ns(&self) -> u64 {
        self.medium.clocks.now_ns
    }

    fn advance_to(&mut self, now_ns: u64) {
        // Collections first: they begin while time passes, and nothing may be ready before the clock.
        self.collect_while_idle(now_ns);
        self.medium.clocks.now_ns = self.medium.clocks.now_ns.max(now_ns);
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn submit_one(&mut self, request: &Request) -> Completion {
        self.one(request)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        let Some(map) = self.page_map() else { return };
        for op in later {
            map.begin_look_up(op.offset_bytes >> self.page_shift);
        }
        for op in soon.iter().filter(|op| op.kind != OpKind::Read) {
            map.begin_overwrite(op.offset_bytes >> self.page_shift);
        }
    }

    fn look_at_content(&mut self, workload: Option<&Workload>) -> bool {
        let Some(contents) = each!(&mut self.layer, layer => layer.contents()) else { return false };
        let page_bytes = self.profile.page_bytes;
        *contents =
            workload.map_or_else(|| Contents::unknown(page_bytes), |workload| Contents::of(workload, page_bytes));
        workload.is_some()
    }

    fn begin_lap(&mut self, lap: u32) {
        if let Some(contents) = each!(&mut self.layer, layer => layer.contents()) {
            contents.set_lap(lap);
        }
    }

    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        each!(&mut self.layer, layer => layer.contents()).map(|contents| &mut contents.sizes)
    }

    fn counter_names(&self) -> &'static [&'static str] {
        COUNTER_NAMES
    }

    fn counters(&self, out: &mut [u64]) {
        out.copy_from_slice(&self.counted().values());
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        GAUGE_NAMES
    }

    fn series_names(&self) -> &'static [&'static str] {
        &SERIES_NAMES
    }

    fn gauges(&self, out: &mut [u64]) {
        let levels = each!(&self.layer, layer => layer.levels());
        out.copy_from_slice(&[
            u64::from(levels.free_blocks),
            u64::from(levels.free_blocks_least),
            self.mapped_pages(),
            levels.replaced_blocks,
            u64::from(levels.erases.0),
            u64::from(levels.erases.1),
            self.wear_indicator_percent(),
            levels.slc_free_pages,
            self.medium.clocks.pages_in_buffer() * u64::from(self.profile.mapping_bytes),
        ]);
    }

    fn save(&self) -> Vec<u8> {
        self.to_state()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        *self = Self::from_state(&self.profile, state)?;
        Ok(())
    }
}

impl ManagedImmediate for FlashDrive {
    fn basics(&self) -> &Basics {
        &self.profile.basics
    }

    fn life(&self) -> Life {
        self.life
    }

    /// Every block that was written is erased, all planes at the same time. Counters and wear stay.
    fn purge(&mut self) {
        if self.life != Life::Working {
            return;
        }
        let written = each!(&self.layer, layer => layer.written_blocks());
        self.medium.counters.blocks_erased += written.iter().map(|blocks| u64::from(*blocks)).sum::<u64>();
        self.medium.clocks.erase_everything(written.into_iter());
        each!(&mut self.layer, layer => layer.purge());
        self.buffer.iter_mut().for_each(|buffer| buffer.clear());
        self.note_wear();
    }

    fn power_cycle(&mut self) {
        self.program_open(self.now_ns());
        let clocks = &mut self.medium.clocks;
        clocks.now_ns = clocks.now_ns.max(clocks.durable_ns).max(clocks.last_ns);
        self.restart();
    }

    fn undurable_at(&self, at_ns: u64) -> Result<Option<Undurable>, PowerCutError> {
        let now_ns = self.now_ns();
        if at_ns < now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns });
        }
        if self.profile.packing.packs() {
            return Err(PowerCutError::Packed);
        }
        if self.profile.write_buffer_pages > 0 && self.profile.write_buffer.power.is_none() {
            return Err(PowerCutError::Unknown);
        }
        let loses = self.profile.write_buffer.power == Some(Power::Volatile);
        Ok(self.buffer.as_ref().filter(|_| loses).map(|buffer| buffer.undurable_at(at_ns)))
    }

    fn power_cut(&mut self, at_ns: u64) -> Result<Vec<LostWrite>, PowerCutError> {
        let undurable = self.undurable_at(at_ns)?;
        self.advance_to(at_ns);
        self.program_open(at_ns);
        self.medium.clocks.fail(at_ns);
        self.restart();
        Ok(undurable.map_or_else(Vec::new, |undurable| undurable.lost_at(at_ns)))
    }
}
