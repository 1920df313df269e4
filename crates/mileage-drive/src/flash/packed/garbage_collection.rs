//! Garbage collection: how a plane gets another block to write to.

use super::super::map::NOWHERE;
use super::super::medium::Medium;
use super::{PackedMap, Use};

impl PackedMap {
    /// Open the unit's next block if that gains room for `bytes`. A unit that would gain less than three quarters of
    /// what the best one would is skipped, unless it is asked `again`.
    pub(super) fn open_next(&mut self, unit: u32, bytes: u32, again: bool, ready_ns: u64, medium: &mut Medium) -> bool {
        self.close(unit, ready_ns, medium);
        let gain = self.gain_of(unit);
        let poor = |than: u32| u64::from(gain) * 4 < u64::from(than) * 3;
        if gain < bytes || (!again && poor(self.gain_bytes) && poor(self.best_gain())) {
            return false;
        }
        self.gain_bytes = gain;
        let victim = if self.has_erased(unit) { None } else { self.emptiest(unit) };
        self.take_free(unit);
        if let Some(victim) = victim {
            self.collect(unit, victim, ready_ns, medium);
        } else if medium.clocks.paces() {
            medium.share(unit, 0, 0, 0, 1);
        }
        true
    }

    fn has_erased(&self, unit: u32) -> bool {
        self.units[unit as usize].free.len() > self.shape.free_min as usize
    }

    /// The open block takes no more; its last page is programmed as it is.
    fn close(&mut self, unit: u32, ready_ns: u64, medium: &mut Medium) {
        let open = std::mem::replace(&mut self.units[unit as usize].open, NOWHERE);
        if open != NOWHERE {
            self.blocks[open as usize].used = Use::Full;
            if !self.units[unit as usize].filled_bytes.is_multiple_of(self.shape.page_bytes) {
                medium.program(unit, ready_ns);
            }
        }
    }

    fn take_free(&mut self, unit: u32) {
        let state = &mut self.units[unit as usize];
        let block = state.free.pop_front().unwrap_or_else(|| unreachable!("a unit keeps an erased block"));
        (state.open, state.filled_bytes) = (block, 0);
        self.blocks[block as usize].used = Use::Open;
        self.free_least = self.free_least.min(self.free_blocks());
    }

    /// The full block of the unit with the fewest valid bytes; of equal ones the first.
    fn emptiest(&self, unit: u32) -> Option<u32> {
        let numbers = unit * self.shape.blocks..(unit + 1) * self.shape.blocks;
        let full = numbers.filter(|block| self.blocks[*block as usize].used == Use::Full);
        full.min_by_key(|block| self.blocks[*block as usize].valid_bytes)
    }

    /// Bytes that the unit's next block would have room for.
    fn gain_of(&self, unit: u32) -> u32 {
        if self.has_erased(unit) {
            return self.shape.block_bytes;
        }
        self.emptiest(unit).map_or(0, |block| self.shape.block_bytes - self.blocks[block as usize].valid_bytes)
    }

    fn best_gain(&self) -> u32 {
        (0..self.shape.units).map(|unit| self.gain_of(unit)).max().unwrap_or(0)
    }

    /// Copy what is valid in a full block to the open one, and erase it; at once, or while the pages are written that the
    /// open block has left.
    fn collect(&mut self, unit: u32, victim: u32, ready_ns: u64, medium: &mut Medium) {
        let (page_bytes, paces) = (self.shape.page_bytes, medium.clocks.paces());
        let (mut read, mut there_ns, mut reads, mut programs) = (None, ready_ns, 0, 0);
        for (content, offset_bytes) in std::mem::take(&mut self.blocks[victim as usize].contents) {
            let stored = self.stored[content as usize];
            if stored.block != victim || stored.offset_bytes != offset_bytes {
                continue;
            }
            for page in offset_bytes / page_bytes..(offset_bytes + stored.bytes).div_ceil(page_bytes) {
                if read.is_none_or(|read| read < page) {
                    reads += 1;
                    if !paces {
                        there_ns = medium.fetch(unit, ready_ns);
                    }
                    read = Some(page);
                }
            }
            medium.counters.gc_pages_moved += 1;
            let full = self.append(unit, content, stored.bytes);
            programs += full;
            if !paces {
                for _ in 0..full {
                    medium.program(unit, there_ns);
                }
            }
        }
        if paces {
            let left = (self.shape.block_bytes - self.units[unit as usize].filled_bytes).div_ceil(page_bytes);
            medium.share(unit, reads, programs, 1, left.max(1));
        } else {
            medium.erase(unit, there_ns);
        }
        let block = &mut self.blocks[victim as usize];
        (block.used, block.valid_bytes) = (Use::Erased, 0);
        block.erases += 1;
        self.units[unit as usize].free.push_back(victim);
    }
}
