//! Mappings by whole blocks: the plain one of the first drives, and the two hybrids with log blocks.
//!
//! # Model
//! A logical block has a data block, in which each page has its own place. A page that is written for the first time
//! and comes behind all that is written in its data block goes there. Otherwise:
//!
//! - *block*: the data block is read, merged with what is written, and programmed into an erased block, of the same
//!   plane if there is one; then the old one is erased. A request that covers several pages of a block does it once.
//! - *bast* (Kim and others, 2002): the page is appended to the log block of its logical block. When that is full, or
//!   another logical block needs a log block and this one was taken longest ago, the two are merged.
//! - *fast* (Lee and others, 2007): the first page of a logical block begins the sequential log block, the next ones
//!   follow there; all other pages are appended to log blocks that every logical block shares. When all of these are
//!   full the one filled first is emptied: each logical block with a valid page there is merged.
//!
//! Merges: *switch*, when the log block holds all pages in order: it becomes the data block; *partial*, when it holds
//! the first ones in order: the rest is copied behind them; *full*: the newest version of every page is copied to an
//! erased block. A logical block that is discarded as a whole is erased.
//!
//! Erased blocks are used in the order in which they were erased, which levels wear as far as data moves at all. A
//! block past its limit is replaced ([`wear`]).

mod translation;
mod wear;

use super::cells::Cells;
use super::map::NOWHERE;
use super::medium::Medium;
use super::wear_policy::Wear;
use crate::profile::FlashProfile;
use crate::profile::flash::choices::Mapping;
use std::collections::VecDeque;

/// The maps of a mapping by blocks. Physical block p is in unit p modulo the units.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    pub(super) mapping: Mapping,
    pub(super) units: u32,
    pub(super) pages: u32,
    pub(super) logs_max: u32,
    /// Physical page of every logical page; [`NOWHERE`]: not mapped.
    pub(super) place: Vec<u32>,
    /// Logical page that was programmed into a physical one since its block was erased.
    pub(super) reverse: Vec<u32>,
    /// For each physical block the first unwritten page.
    pub(super) next: Vec<u32>,
    /// Data block of every logical block.
    pub(super) data: Vec<u32>,
    /// Mapped pages of every logical block.
    pub(super) mapped_in: Vec<u32>,
    /// Erased blocks, in the order of their use.
    pub(super) free: VecDeque<u32>,
    /// Log blocks in the order in which they were taken, with the logical block of each for BAST.
    pub(super) logs: VecDeque<(u32, u32)>,
    /// The sequential log block of FAST, with its logical block.
    pub(super) stream: Option<(u32, u32)>,
    pub(super) erases: Vec<u32>,
    pub(super) wear: Wear,
    /// Blocks that were bad from the factory.
    pub(super) factory_bad: Vec<u32>,
    /// Replacements that are not yet in service, in the order of their use.
    pub(super) spare: VecDeque<u32>,
    /// Blocks that were replaced.
    pub(super) bad: Vec<u32>,
    /// A block is past its limit and no replacement is left.
    pub(super) worn_out: bool,
    pub(super) free_least: u32,
}

impl Blocks {
    pub(crate) fn new(profile: &FlashProfile) -> Self {
        let units = profile.planes() as u32;
        let blocks = units * profile.blocks_per_plane;
        let pages = profile.pages_per_block;
        let logical = profile.mapped_pages() as u32;
        let (factory_bad, spare, free) = wear::sort_out(profile);
        Self {
            mapping: profile.policies.mapping,
            units,
            pages,
            logs_max: profile.policies.log_blocks,
            place: vec![NOWHERE; logical as usize],
            reverse: vec![NOWHERE; (blocks * pages) as usize],
            next: vec![0; blocks as usize],
            data: vec![NOWHERE; (logical / pages) as usize],
            mapped_in: vec![0; (logical / pages) as usize],
            free_least: free.len() as u32,
            free,
            wear: Wear::of(profile),
            factory_bad,
            spare,
            bad: Vec::new(),
            worn_out: false,
            logs: VecDeque::new(),
            stream: None,
            erases: vec![0; blocks as usize],
        }
    }

    /// The unit that holds a logical page; `None` when it is not mapped.
    pub(crate) fn unit_holding(&self, page: u32) -> Option<u32> {
        let place = self.place[page as usize];
        (place != NOWHERE).then(|| self.unit_of(place / self.pages))
    }

    fn unit_of(&self, block: u32) -> u32 {
        block % self.units
    }

    /// Logical pages that are mapped.
    pub(crate) fn mapped(&self) -> u64 {
        self.mapped_in.iter().map(|pages| u64::from(*pages)).sum()
    }

    /// Pages of one logical block from `page` on that one merge may take, of `count` to be written.
    pub(crate) fn pages_of_one_merge(&self, page: u32, count: u32) -> u32 {
        match self.mapping {
            Mapping::Block => count.min(self.pages - page % self.pages),
            _ => 1,
        }
    }

    /// Write pages of one logical block that are at the controller at `ready_ns`; when they are on the medium.
    pub(crate) fn write<C: Cells>(
        &mut self,
        page: u32,
        count: u32,
        ready_ns: u64,
        medium: &mut Medium,
        cells: &mut C,
    ) -> u64 {
        let block = page / self.pages;
        let first = page % self.pages;
        if self.data[block as usize] == NOWHERE {
            self.data[block as usize] = self.take_free(block % self.units);
        }
        let data = self.data[block as usize];
        // Flash programs the pages of a block in order: a page behind all written ones can still go to its own place.
        if first >= self.next[data as usize] {
            let pages = page..page + count;
            return pages.fold(ready_ns, |done_ns, page| {
                done_ns.max(self.put(data, page % self.pages, page, ready_ns, medium, cells))
            });
        }
        match self.mapping {
            Mapping::Bast => self.write_to_own_log(page, ready_ns, medium, cells),
            Mapping::Fast => self.write_to_shared_log(page, ready_ns, medium, cells),
            _ => self.rebuild(block, first..first + count, ready_ns, medium, cells),
        }
    }

    /// Forget a logical page; whether it was mapped. The last one of a logical block without log blocks erases it.
    pub(crate) fn discard<C: Cells>(&mut self, page: u32, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> bool {
        let was_mapped = std::mem::replace(&mut self.place[page as usize], NOWHERE) != NOWHERE;
        let block = page / self.pages;
        if was_mapped {
            self.mapped_in[block as usize] -= 1;
            if self.mapped_in[block as usize] == 0 && self.mapping == Mapping::Block {
                let data = std::mem::replace(&mut self.data[block as usize], NOWHERE);
                self.erase(data, ready_ns, medium, cells);
            }
        }
        was_mapped
    }

    fn write_to_own_log<C: Cells>(&mut self, page: u32, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> u64 {
        let block = page / self.pages;
        let mut from_ns = ready_ns;
        let mut found = self.logs.iter().position(|(_, owner)| *owner == block);
        if let Some(index) = found
            && self.next[self.logs[index].0 as usize] == self.pages
        {
            from_ns = self.merge_own_log(index, ready_ns, medium, cells);
            found = None;
            // The merge may have made a data block that takes this page in place: then no log block is needed.
            let data = self.data[block as usize];
            if page % self.pages >= self.next[data as usize] {
                return self.put(data, page % self.pages, page, from_ns, medium, cells);
            }
        }
        if found.is_none() {
            if self.logs.len() as u32 == self.logs_max {
                from_ns = from_ns.max(self.merge_own_log(0, ready_ns, medium, cells));
            }
            let log = self.take_free(block % self.units);
            self.logs.push_back((log, block));
        }
        let log = self.logs[found.unwrap_or(self.logs.len() - 1)].0;
        self.put(log, self.next[log as usize], page, from_ns, medium, cells)
    }

    fn merge_own_log<C: Cells>(&mut self, index: usize, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> u64 {
        let (log, block) = self.logs.remove(index).unwrap_or((NOWHERE, NOWHERE));
        self.merge(log, block, ready_ns, medium, cells)
    }

    fn write_to_shared_log<C: Cells>(&mut self, page: u32, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> u64 {
        let (block, offset) = (page / self.pages, page % self.pages);
        let mut from_ns = ready_ns;
        // FAST takes a write of a block's first page for the start of a sequential stream, and gives the stream a log
        // block of its own, which can replace the data block without a copy.
        if offset == 0 {
            if let Some((log, owner)) = self.stream.take() {
                from_ns = self.merge(log, owner, ready_ns, medium, cells);
            }
            self.stream = Some((self.take_free(block % self.units), block));
        }
        if let Some((log, owner)) = self.stream
            && owner == block
            && self.next[log as usize] == offset
        {
            let done_ns = self.put(log, offset, page, from_ns, medium, cells);
            if offset + 1 < self.pages {
                return done_ns;
            }
            self.stream = None;
            return self.merge(log, block, done_ns, medium, cells).max(done_ns);
        }
        if self.logs.back().is_none_or(|(log, _)| self.next[*log as usize] == self.pages) {
            // Keep one more block free, for the log block of the stream.
            if self.logs.len() as u32 + 1 == self.logs_max {
                from_ns = from_ns.max(self.empty_oldest(ready_ns, medium, cells));
            }
            let log = self.take_free(block % self.units);
            self.logs.push_back((log, NOWHERE));
        }
        let log = self.logs[self.logs.len() - 1].0;
        self.put(log, self.next[log as usize], page, from_ns, medium, cells)
    }

    /// Merge every logical block that has a valid page in the shared log block that was filled first, and erase it.
    fn empty_oldest<C: Cells>(&mut self, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> u64 {
        let (log, _) = self.logs.pop_front().unwrap_or((NOWHERE, NOWHERE));
        let mut done_ns = ready_ns;
        for place in log * self.pages..log * self.pages + self.next[log as usize] {
            let page = self.reverse[place as usize];
            // A merge takes all pages of a logical block along: its later pages in this log block are stale then.
            if self.place.get(page as usize) == Some(&place) {
                done_ns = done_ns.max(self.rebuild(page / self.pages, 0..0, ready_ns, medium, cells));
            }
        }
        self.erase(log, done_ns, medium, cells);
        done_ns
    }

    /// Merge a log block that was meant for one logical block with its data block.
    fn merge<C: Cells>(&mut self, log: u32, block: u32, ready_ns: u64, medium: &mut Medium, cells: &mut C) -> u64 {
        let (pages, filled) = (self.pages, self.next[log as usize]);
        // A log block that was written in order from page 0 can become the data block: only the rest is copied.
        let in_order = (0..filled).all(|offset| self.place[(block * pages + offset) as usize] == log * pages + offset);
        if !in_order {
            let done_ns = self.rebuild(block, 0..0, ready_ns, medium, cells);
            self.erase(log, done_ns, medium, cells);
            return done_ns;
        }
        let mut done_ns = ready_ns;
        for offset in filled..pages {
            done_ns = done_ns.max(self.bring(log, block, offset, ready_ns, medium, cells));
        }
        if filled == pages {
            medium.counters.switch_merges += 1;
        } else {
            medium.counters.partial_merges += 1;
        }
        let old = std::mem::replace(&mut self.data[block as usize], log);
        self.erase(old, done_ns, medium, cells);
        done_ns
    }

    /// Build a logical block anew in an erased block, `fresh` pages of it from the controller; when it is on the
    /// medium. The old data block is erased after that.
    fn rebuild<C: Cells>(
        &mut self,
        block: u32,
        fresh: std::ops::Range<u32>,
        ready_ns: u64,
        medium: &mut Medium,
        cells: &mut C,
    ) -> u64 {
        medium.counters.full_merges += 1;
        let old = self.data[block as usize];
        let target = self.take_free(self.unit_of(old));
        let mut done_ns = ready_ns;
        for offset in 0..self.pages {
            let at_ns = if fresh.contains(&offset) {
                self.put(target, offset, block * self.pages + offset, ready_ns, medium, cells)
            } else {
                self.bring(target, block, offset, ready_ns, medium, cells)
            };
            done_ns = done_ns.max(at_ns);
        }
        self.data[block as usize] = target;
        self.erase(old, done_ns, medium, cells);
        done_ns
    }

    /// Copy the newest version of a page to its place in a block, if it is mapped.
    fn bring<C: Cells>(
        &mut self,
        target: u32,
        block: u32,
        offset: u32,
        ready_ns: u64,
        medium: &mut Medium,
        cells: &mut C,
    ) -> u64 {
        let page = block * self.pages + offset;
        let from = self.place[page as usize];
        if from == NOWHERE {
            return ready_ns;
        }
        let to = target * self.pages + offset;
        self.next[target as usize] = offset + 1;
        self.place[page as usize] = to;
        self.reverse[to as usize] = page;
        cells.copied(from, to);
        medium.copy(self.unit_of(from / self.pages), self.unit_of(target), ready_ns)
    }

    /// Program a page of the host.
    fn put<C: Cells>(
        &mut self,
        target: u32,
        offset: u32,
        page: u32,
        ready_ns: u64,
        medium: &mut Medium,
        cells: &mut C,
    ) -> u64 {
        let to = target * self.pages + offset;
        self.next[target as usize] = offset + 1;
        if std::mem::replace(&mut self.place[page as usize], to) == NOWHERE {
            self.mapped_in[(page / self.pages) as usize] += 1;
        }
        self.reverse[to as usize] = page;
        cells.programmed(to, page);
        medium.program(self.unit_of(target), ready_ns)
    }

    /// The erased block that waits longest in this unit, or anywhere if there is none.
    fn take_free(&mut self, unit: u32) -> u32 {
        let index = self.free.iter().position(|block| block % self.units == unit).unwrap_or(0);
        let block = self.free.remove(index);
        self.free_least = self.free_least.min(self.free.len() as u32);
        block.unwrap_or_else(|| unreachable!("the reserve holds all log blocks and two more"))
    }

    fn erase<C: Cells>(&mut self, block: u32, ready_ns: u64, medium: &mut Medium, cells: &mut C) {
        let first = (block * self.pages) as usize;
        self.reverse[first..first + self.pages as usize].fill(NOWHERE);
        self.next[block as usize] = 0;
        self.erases[block as usize] = self.erases[block as usize].saturating_add(1);
        let next = self.in_service(block);
        self.free.push_back(next);
        cells.erased(block);
        medium.erase(self.unit_of(block), ready_ns);
    }

    /// Blocks of each unit that were written since they were last erased.
    pub(crate) fn blocks_written(&self) -> Vec<u32> {
        let mut written = vec![0; self.units as usize];
        for (block, next) in self.next.iter().enumerate() {
            written[block % self.units as usize] += u32::from(*next > 0);
        }
        written
    }

    /// Nothing is mapped, nothing written.
    fn clear(&mut self) {
        self.place.fill(NOWHERE);
        self.reverse.fill(NOWHERE);
        self.next.fill(0);
        self.data.fill(NOWHERE);
        self.mapped_in.fill(0);
        self.logs.clear();
        self.stream = None;
    }
}

/// What follows from a saved state.
impl Blocks {
    /// Derive the reverse map and the counts; false when a block has two uses or none, or a page a place that is not
    /// its own.
    pub(super) fn derive(&mut self) -> bool {
        self.uses_hold() && self.places_hold()
    }

    fn uses_hold(&self) -> bool {
        let mut used = vec![false; self.next.len()];
        let mut take = |block: u32| used.get_mut(block as usize).is_some_and(|used| !std::mem::replace(used, true));
        let owners = self.logs.iter().chain(&self.stream);
        let room = self.logs.len() + usize::from(self.mapping == Mapping::Fast) <= self.logs_max as usize;
        let owned = owners.clone().all(|(_, owner)| {
            let known = self.data.get(*owner as usize).is_some_and(|data| *data != NOWHERE);
            known || (self.mapping == Mapping::Fast && *owner == NOWHERE)
        });
        let streamed = self.stream.is_none_or(|(_, owner)| self.mapping == Mapping::Fast && owner != NOWHERE);
        let logs = self.logs.is_empty() || self.mapping != Mapping::Block;
        let free = self.free.iter().all(|block| take(*block) && self.next[*block as usize] == 0);
        let data = self.data.iter().filter(|block| **block != NOWHERE).all(|block| take(*block));
        let logged = owners.into_iter().all(|(log, _)| take(*log));
        let erased = |block: &u32| self.next[*block as usize] == 0;
        let out =
            self.factory_bad.iter().chain(&self.spare).chain(&self.bad).all(|block| take(*block) && erased(block));
        room && out && owned && streamed && logs && free && data && logged && used.iter().all(|used| *used)
    }

    fn places_hold(&mut self) -> bool {
        let data: std::collections::HashSet<u32> = self.data.iter().copied().collect();
        self.mapped_in.fill(0);
        for page in 0..self.place.len() as u32 {
            let place = self.place[page as usize];
            if place == NOWHERE {
                continue;
            }
            let (block, offset) = (place / self.pages, place % self.pages);
            let written = self.next.get(block as usize).is_some_and(|next| offset < *next);
            let own = self.data[(page / self.pages) as usize] == block && offset == page % self.pages;
            let logical = (page / self.pages) as usize;
            let logged = !data.contains(&block);
            if !written || self.data[logical] == NOWHERE || !(own || logged) {
                return false;
            }
            if std::mem::replace(&mut self.reverse[place as usize], page) != NOWHERE {
                return false;
            }
            self.mapped_in[logical] += 1;
        }
        true
    }
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
