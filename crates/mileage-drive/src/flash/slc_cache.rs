//! A page map behind a cache of blocks that are programmed with one bit in a cell.
//!
//! # Model
//! Pages of the host go round the planes into blocks that the map lends ([`super::map::CacheBlock`]); such a block holds a
//! half or a third of the pages, and is programmed and read faster. *Folding* a block copies its valid pages, by
//! internal reads and programs, to where the map puts pages, and erases it. Blocks of which no page is valid any more
//! are only erased.
//!
//! A write that finds the cache full goes to the map directly (`bypass`), or every plane first folds the block that it
//! lent first, and the write waits for its plane (`through`). A drive that has been idle for as long as the profile says
//! folds everything; a cache whose size follows the free space then has blocks collected for it too.
//!
//! A cache that may not have one block, because the drive is full, is not there: its writes go to the map.
//!
//! # Not modelled
//! An erase wears such a block as much as any. The erase of a folded block waits for its reads, not for the programs on
//! other planes: the controller holds the pages meanwhile.

use super::cells::{Cells, NoWatch};
use super::map::{CacheBlock, Map, Placement, saved_state};
use super::medium::Medium;
use super::part_pages::ReadFrom;
use super::translation::{Levels, Run, TranslationLayer};
use crate::profile::flash::choices::SlcDesign;
use crate::profile::flash::{SlcCache, SlcSize};
use crate::saved_state::{Reader, StateError, Writer, corrupt};

/// The map and its cache.
#[derive(Clone, Debug)]
pub(crate) struct MapWithCache {
    pub(super) map: Map,
    cache: SlcCache,
    /// For each block whether it is lent to the SLC cache.
    lent: Vec<bool>,
    /// Next unit to write to, as an index of the order.
    pub(super) turn: u32,
    /// Whether no plane had room at the last search.
    pub(super) full: bool,
    /// Block that is being folded; kept to reuse its memory.
    folding: FoldBuffers,
}

#[derive(Clone, Debug, Default)]
struct FoldBuffers {
    blocks: Vec<(u32, CacheBlock)>,
    pages: Vec<u32>,
    there_ns: Vec<u64>,
}

impl MapWithCache {
    /// The map of this profile behind this cache.
    pub(crate) fn new(map: Map, profile: SlcCache) -> Self {
        let cache = SlcCache { pages_per_block: profile.pages_per_block * map.geometry.per_program, ..profile };
        let blocks = (map.geometry.units * map.geometry.stride()) as usize;
        let mut cached =
            Self { map, cache, lent: vec![false; blocks], turn: 0, full: false, folding: FoldBuffers::default() };
        cached.keep();
        cached
    }

    fn fixed(&self) -> bool {
        matches!(self.cache.size, SlcSize::Blocks(_))
    }

    /// Blocks that the cache may have now.
    fn quota(&self) -> u32 {
        match self.cache.size {
            SlcSize::Blocks(blocks) => blocks,
            SlcSize::ShareOfFree(share) => {
                let free = f64::from(self.map.geometry.logical) - self.map.mapped() as f64;
                // Subtract one block per plane, because that many may fill up before the limit is checked again.
                ((share * free / f64::from(self.map.geometry.pages)) as u32).saturating_sub(self.map.geometry.units)
            }
        }
    }

    /// Blocks of one unit that the cache may have, of `quota` in all.
    fn share_of(&self, unit: u32, quota: u32) -> u32 {
        let units = self.map.geometry.units;
        quota / units + u32::from(unit < quota % units)
    }

    fn held(&self, unit: u32) -> u32 {
        self.map.units[unit as usize].lent.len() as u32
    }

    /// The erased blocks that a static cache does not use now are kept for it; false when it has more than it may.
    pub(super) fn keep(&mut self) -> bool {
        if !self.fixed() {
            return true;
        }
        let quota = self.quota();
        // None for a unit that holds more than its share, which a forged state may claim.
        let kept = |unit| self.share_of(unit, quota).checked_sub(self.held(unit));
        let Some(kept) = (0..self.map.geometry.units).map(kept).collect::<Option<Vec<u32>>>() else { return false };
        self.map.keep(kept.into_iter());
        true
    }

    /// Pages that the cache has room for now.
    pub(crate) fn free_pages(&self) -> u64 {
        let filled: u64 = self.map.units.iter().flat_map(|unit| &unit.lent).map(|lent| u64::from(lent.filled)).sum();
        (u64::from(self.quota()) * u64::from(self.cache.pages_per_block)).saturating_sub(filled)
    }

    /// A page is read; when it is at the controller.
    #[inline]
    pub(crate) fn fetch(&self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        if self.map.geometry.per_program > 1 {
            return self.fetch_part(page, ready_ns, medium);
        }
        match self.map.place_of(page) {
            Some((unit, block)) if self.lent[block as usize] => medium.fetch_slc(unit, ready_ns),
            Some((unit, _)) => medium.fetch(unit, ready_ns),
            None => ready_ns,
        }
    }

    /// Write a page that is at the controller at `ready_ns`; when it is on the medium.
    #[inline]
    pub(crate) fn write<C: Cells>(&mut self, page: u32, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> u64 {
        if let Some(unit) = self.find_room(ready_ns, medium, cells) {
            let fills = self.map.write_lent(unit, page, cells);
            return medium.place_slc(unit, fills, ready_ns);
        }
        let placement = self.place(page, cells);
        let done_ns = medium.place(&placement, ready_ns);
        if placement.opening.is_some() {
            self.full = false;
            self.shrink(ready_ns, medium, cells);
        }
        done_ns
    }

    /// Read a page as `fetch` does, where it is part of a flash page.
    fn fetch_part(&self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        let Some((unit, block)) = self.map.place_of(page) else { return ready_ns };
        if !self.lent[block as usize] {
            return self.map.read_part(page, ready_ns, medium);
        }
        let flash_page = self.map.flash_page_of(page);
        let per = self.map.geometry.per_program;
        let waits = |lent: &CacheBlock| {
            let next = lent.block * self.map.geometry.pages + lent.filled;
            lent.block == block && !self.map.geometry.fills(lent.filled) && next / per == flash_page
        };
        // The flash page is not full and so not programmed yet: its data is still in the controller.
        if self.map.units[unit as usize].lent.last().is_some_and(waits) {
            return ready_ns;
        }
        medium.fetch_part(unit, flash_page, ReadFrom::OneBit, ready_ns)
    }

    /// Forget a page; whether it was mapped.
    pub(crate) fn discard(&mut self, page: u32) -> bool {
        self.full = false;
        self.map.discard(page)
    }

    /// Everything was erased.
    pub(crate) fn erase_all(&mut self) {
        self.map.erase_all();
        self.lent.fill(false);
        (self.turn, self.full) = (0, false);
        self.keep();
    }

    #[inline(never)]
    fn place<C: Cells>(&mut self, page: u32, cells: &mut C) -> Placement {
        self.map.write(page, cells)
    }

    /// The unit whose cache takes the next page.
    #[inline]
    fn find_room<C: Cells>(&mut self, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> Option<u32> {
        if self.full {
            return None;
        }
        let units = self.map.geometry.units;
        loop {
            for _ in 0..units {
                let unit = self.map.rules.order[self.turn as usize];
                let found = self.has_room(unit) || self.open(unit, ready_ns, medium, cells);
                // Stay on a unit until its flash page is full: parts of a page that lie in different planes could not
                // be programmed together.
                if !found || self.next_fills(unit) {
                    self.turn = if self.turn + 1 == units { 0 } else { self.turn + 1 };
                }
                if found {
                    return Some(unit);
                }
            }
            if self.cache.design == SlcDesign::Bypass || !self.fold_round(ready_ns, medium, cells) {
                self.full = true;
                return None;
            }
        }
    }

    /// The turn that comes behind that of a unit.
    fn turn_after(&self, unit: u32) -> u32 {
        let at = self.map.rules.order.iter().position(|other| *other == unit).unwrap_or(0) as u32 + 1;
        if at == self.map.geometry.units { 0 } else { at }
    }

    #[inline]
    fn has_room(&self, unit: u32) -> bool {
        self.map.units[unit as usize].lent.last().is_some_and(|lent| lent.filled < self.cache.pages_per_block)
    }

    /// Whether the next page of a unit's last block completes a flash page.
    #[inline]
    fn next_fills(&self, unit: u32) -> bool {
        let lent = self.map.units[unit as usize].lent.last();
        lent.is_none_or(|lent| self.map.geometry.fills(lent.filled + 1))
    }

    /// Have one more block of a unit; false when there is none to be had.
    #[inline(never)]
    fn open<C: Cells>(&mut self, unit: u32, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> bool {
        let share = self.share_of(unit, self.quota());
        // A block whose pages were all overwritten needs no folding: erase it and take it again, which is the cheapest
        // room.
        let useless = |lent: &CacheBlock| self.map.valid_of(*lent) == 0;
        if self.held(unit) >= share
            && let Some(index) = self.map.units[unit as usize].lent.iter().position(useless)
        {
            let lent = self.map.units[unit as usize].lent.remove(index);
            self.give_back(unit, lent, cells);
            medium.erase(unit, ready_ns);
        }
        let opened = self.held(unit) < share && self.map.lend(unit);
        if opened && let Some(lent) = self.map.units[unit as usize].lent.last() {
            self.lent[lent.block as usize] = true;
        }
        opened
    }

    fn give_back<C: Cells>(&mut self, unit: u32, lent: CacheBlock, cells: &mut C) {
        self.lent[lent.block as usize] = false;
        self.map.take_back(unit, lent, self.fixed(), cells);
    }

    /// Every unit folds the block that it lent first; false when none lent any.
    fn fold_round<C: Cells>(&mut self, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> bool {
        for unit in 0..self.map.geometry.units {
            self.choose(unit);
        }
        self.fold(ready_ns, medium, cells)
    }

    /// The block that a unit lent first shall be folded.
    fn choose(&mut self, unit: u32) {
        let lent = &mut self.map.units[unit as usize].lent;
        if !lent.is_empty() {
            // The oldest block first: its data had the most time to be overwritten, so the fewest pages are left to
            // copy.
            self.folding.blocks.push((unit, lent.remove(0)));
        }
    }

    /// Give blocks back that the cache may not have any more.
    fn shrink<C: Cells>(&mut self, ready_ns: u64, medium: &mut Medium, cells: &mut C) {
        if self.fixed() {
            return;
        }
        let quota = self.quota();
        for unit in 0..self.map.geometry.units {
            while self.held(unit) > self.share_of(unit, quota) {
                self.choose(unit);
            }
        }
        self.fold(ready_ns, medium, cells);
    }

    /// Fold the chosen blocks together: read them all, then program, then erase. False when none was chosen.
    fn fold<C: Cells>(&mut self, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> bool {
        let mut folding = std::mem::take(&mut self.folding);
        for (unit, lent) in &folding.blocks {
            let from = folding.pages.len();
            self.map.pages_of(*lent, &mut folding.pages);
            // Program a partly filled flash page first, because its pages are read from the flash below.
            if !self.map.geometry.fills(lent.filled) {
                medium.program_slc(*unit, ready_ns);
            }
            let parts = self.map.geometry.per_program > 1;
            folding.there_ns.extend(folding.pages[from..].iter().map(|page| {
                if parts {
                    medium.fetch_part(*unit, self.map.flash_page_of(*page), ReadFrom::OneBit, ready_ns)
                } else {
                    medium.fetch_slc(*unit, ready_ns)
                }
            }));
        }
        for (page, there_ns) in folding.pages.drain(..).zip(folding.there_ns.drain(..)) {
            let placement = self.place(page, cells);
            medium.place_folded(&placement, there_ns);
        }
        let any = !folding.blocks.is_empty();
        // Erase last: until all pages are programmed elsewhere, the cache holds their only copy.
        for (unit, lent) in folding.blocks.drain(..) {
            self.give_back(unit, lent, cells);
            medium.erase(unit, ready_ns);
        }
        self.folding = folding;
        any
    }

    /// The drive is idle from `idle_ns` to `now_ns`: empty the cache as far as that is begun before then.
    pub(crate) fn drain<C: Cells>(&mut self, idle_ns: u64, now_ns: u64, medium: &mut Medium, cells: &mut C) {
        let Some(after_ns) = self.cache.idle_after_ns else { return };
        let units = self.map.geometry.units;
        loop {
            // Advance all planes together, so that the result does not depend on how many steps the time passes in.
            let from_ns = (0..units).map(|unit| medium.clocks.idle_from(unit)).fold(idle_ns + after_ns, u64::max);
            if from_ns >= now_ns {
                return;
            }
            if self.fold_round(from_ns, medium, cells) {
                self.full = false;
            } else if !self.make_room(from_ns, medium, cells) {
                return;
            }
        }
    }

    /// Collect a block of every unit that has fewer erased ones than the cache may have; false when none has.
    fn make_room<C: Cells>(&mut self, from_ns: u64, medium: &mut Medium, cells: &mut C) -> bool {
        if self.fixed() {
            return false;
        }
        let quota = self.quota();
        let mut any = false;
        for unit in 0..self.map.geometry.units {
            if self.map.wants_room(unit, self.share_of(unit, quota))
                && let Some(opening) = self.map.collect_now(unit, cells)
            {
                medium.open(unit, &opening, from_ns);
                medium.counters.idle_collections += 1;
                any = true;
            }
        }
        self.full &= !any;
        any
    }

    /// Pages that a block of the cache holds.
    pub(super) fn pages_per_block(&self) -> u32 {
        self.cache.pages_per_block
    }

    /// Blocks are lent as the map's units say.
    pub(super) fn note_lent(&mut self) {
        self.lent.fill(false);
        for lent in self.map.units.iter().flat_map(|unit| &unit.lent) {
            self.lent[lent.block as usize] = true;
        }
    }
}

impl TranslationLayer for MapWithCache {
    #[inline]
    fn read_page(&mut self, page: u32, ready_ns: u64, medium: &mut Medium) -> u64 {
        self.fetch(page, ready_ns, medium)
    }

    #[inline]
    fn write_pages(&mut self, run: Run, ready_ns: u64, medium: &mut Medium) -> u64 {
        self.write(run.page, ready_ns, medium, &mut NoWatch)
    }

    fn program_open(&mut self, ready_ns: u64, medium: &mut Medium) {
        self.map.program_partly_filled(ready_ns, medium);
        for unit in 0..self.map.geometry.units {
            if medium.clocks.waits_in(medium.clocks.slc_slot(unit)) {
                self.map.fill_up_lent(unit);
                medium.program_slc(unit, ready_ns);
                self.turn = self.turn_after(unit);
            }
        }
    }

    fn discard_page(&mut self, page: u32, _: u64, _: &mut Medium) -> bool {
        self.discard(page)
    }

    fn purge(&mut self) {
        self.erase_all();
    }

    fn work_while_idle(&mut self, idle_ns: u64, now_ns: u64, medium: &mut Medium) {
        self.drain(idle_ns, now_ns, medium, &mut NoWatch);
    }

    fn is_worn_out(&self) -> bool {
        self.map.worn_out
    }

    fn mapped_pages(&self) -> u64 {
        self.map.mapped()
    }

    fn written_blocks(&self) -> Vec<u32> {
        self.map.written_blocks()
    }

    fn levels(&self) -> Levels {
        Levels { slc_free_pages: self.free_pages(), ..self.map.levels() }
    }

    fn page_map(&self) -> Option<&Map> {
        Some(&self.map)
    }

    fn save(&self, out: &mut Writer) {
        out.half(self.turn);
        out.half(u32::from(self.full));
        for unit in &self.map.units {
            out.list(unit.lent.iter().map(|lent| lent.block));
            out.list(unit.lent.iter().map(|lent| lent.filled));
        }
        saved_state::save(out, &self.map);
    }

    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        self.turn = reader.half()?;
        self.full = reader.half()? != 0;
        let (geometry, most) = (self.map.geometry, self.pages_per_block());
        for unit in &mut self.map.units {
            let (blocks, filled) = (reader.list(geometry.stride())?, reader.list(geometry.stride())?);
            if blocks.len() != filled.len() || filled.iter().any(|pages| *pages == 0 || *pages > most) {
                return corrupt("blocks of the SLC cache without pages, or with too many");
            }
            unit.lent = blocks.into_iter().zip(filled).map(|(block, filled)| CacheBlock { block, filled }).collect();
        }
        if self.turn >= geometry.units || !self.keep() {
            return corrupt("more blocks in the SLC cache than it may have");
        }
        saved_state::restore(reader, &mut self.map)?;
        self.note_lent();
        Ok(())
    }
}

#[cfg(test)]
#[path = "slc_cache_tests.rs"]
mod tests;
