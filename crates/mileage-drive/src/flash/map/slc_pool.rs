//! Blocks that the map lends to a cache in front of it.
//!
//! A lent block is neither free nor open nor a victim. Pages of the host may lie in it, and only its first pages are
//! used. Blocks that are kept for the cache are erased, and the map does not open them itself.

use super::{Cells, Map, NO_VICTIM, NOWHERE, Unit};

/// A block that was lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheBlock {
    pub block: u32,
    /// Pages of it that were programmed.
    pub filled: u32,
}

impl Unit {
    /// Erased blocks, those kept for a cache included.
    pub(crate) fn erased(&self) -> u32 {
        self.blocks - self.fresh + self.free.len() as u32
    }
}

impl Map {
    /// Keep these blocks of each unit for a cache.
    pub(crate) fn keep(&mut self, blocks: impl Iterator<Item = u32>) {
        self.units.iter_mut().zip(blocks).for_each(|(unit, kept)| unit.kept = kept);
    }

    /// Lend one more block of a unit, one that was kept, or else one of those that the map can do without; false when
    /// there is none.
    pub(crate) fn lend(&mut self, unit: u32) -> bool {
        let state = &mut self.units[unit as usize];
        if state.kept > 0 {
            state.kept -= 1;
        } else if self.free_of(unit) <= self.rules.free_min {
            return false;
        }
        let block = self.take_erased(unit);
        self.units[unit as usize].lent.push(CacheBlock { block, filled: 0 });
        true
    }

    /// Write a logical page to the last block that its unit lent, which must have room; whether that filled a flash
    /// page.
    pub(crate) fn write_lent<C: Cells>(&mut self, unit: u32, logical: u32, cells: &mut C) -> bool {
        let Some(lent) = self.units[unit as usize].lent.last_mut() else { return true };
        let page = lent.block * self.geometry.pages + lent.filled;
        lent.filled += 1;
        let fills = self.geometry.fills(lent.filled);
        self.settle(logical, page, cells);
        fills
    }

    /// The rest of the flash page that a unit's last lent block was written to stays without data.
    pub(crate) fn fill_up_lent(&mut self, unit: u32) {
        let Some(CacheBlock { block, filled }) = self.units[unit as usize].lent.last().copied() else { return };
        let end = filled.next_multiple_of(self.geometry.per_program);
        for page in filled..end {
            self.invalidate(block * self.geometry.pages + page);
        }
        if let Some(lent) = self.units[unit as usize].lent.last_mut() {
            lent.filled = end;
        }
    }

    /// Valid pages of a lent block.
    pub(crate) fn valid_of(&self, lent: CacheBlock) -> u32 {
        lent.filled - (self.stale_count[lent.block as usize] - NO_VICTIM) as u32
    }

    /// The logical pages that a lent block holds are appended to `found`.
    pub(crate) fn pages_of(&self, lent: CacheBlock, found: &mut Vec<u32>) {
        let first = lent.block * self.geometry.pages;
        for page in first..first + lent.filled {
            let (word, bit) = self.word_of(page, lent.block);
            if self.stale[word] >> bit & 1 == 0 {
                found.push(self.reverse[page as usize]);
            }
        }
    }

    /// Erase a lent block, of which no page is valid any more, and have it back; `keep` it for the cache or not.
    pub(crate) fn take_back<C: Cells>(&mut self, unit: u32, lent: CacheBlock, keep: bool, cells: &mut C) {
        self.erase(lent.block, cells);
        self.release(lent.block);
        self.units[unit as usize].kept += u32::from(keep);
    }

    /// Whether collecting a unit for a cache would give it one erased block more.
    pub(crate) fn wants_room(&mut self, unit: u32, blocks: u32) -> bool {
        if self.free_of(unit) >= self.rules.free_min + blocks {
            return false;
        }
        self.close_full(unit);
        self.most_stale(unit) > 0
    }

    /// The physical place of a logical page.
    #[inline]
    pub(crate) fn place_of(&self, logical: u32) -> Option<(u32, u32)> {
        let page = self.forward[logical as usize];
        (page != NOWHERE).then(|| {
            let block = self.block_of(page);
            (self.by_stride.divide(block), block)
        })
    }
}
