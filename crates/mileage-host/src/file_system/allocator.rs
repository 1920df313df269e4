//! Free blocks of a device, in extents.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Extents that are looked at before the best one so far is taken (ext4's `mb_max_to_scan`).
const SCANNED: usize = 200;

/// Blocks one after another on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// First block.
    pub start: u64,
    /// How many.
    pub count: u64,
}

/// The free blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocator {
    free: BTreeMap<u64, u64>,
    free_blocks: u64,
}

impl Allocator {
    /// Free blocks.
    pub fn free_blocks(&self) -> u64 {
        self.free_blocks
    }

    /// The free extents in the order of addresses.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.free.iter().map(|(start, count)| Extent { start: *start, count: *count })
    }

    /// The block behind the free extent that this block is in; `None`: it is not free.
    pub fn end_of_free(&self, block: u64) -> Option<u64> {
        let (at, size) = self.free.range(..=block).next_back()?;
        (block < at + size).then_some(at + size)
    }

    /// Blocks become free; neighbours are joined.
    pub fn give(&mut self, Extent { start, count }: Extent) {
        if count == 0 {
            return;
        }
        self.free_blocks += count;
        let (mut first, mut length) = (start, count);
        if let Some((before, size)) = self.free.range(..start).next_back().map(|(at, size)| (*at, *size)) {
            debug_assert!(before + size <= start, "a block was freed twice");
            if before + size == start {
                (first, length) = (before, size + length);
            }
        }
        if let Some(size) = self.free.remove(&(start + count)) {
            length += size;
        }
        self.free.insert(first, length);
    }

    /// Take up to `wanted` blocks, at `goal` if they are free there, else behind it, else before it: the first extent that
    /// has all of them, or the largest of those that are looked at. `None`: no block is free.
    pub fn take(&mut self, goal: u64, wanted: u64) -> Option<Extent> {
        if let Some((at, size)) = self.free.range(..=goal).next_back().map(|(at, size)| (*at, *size))
            && goal < at + size
        {
            return Some(self.cut(at, goal, wanted.min(at + size - goal)));
        }
        let behind = self.free.range(goal..).chain(self.free.range(..goal)).take(SCANNED);
        let mut best: Option<(u64, u64)> = None;
        for (at, size) in behind {
            if *size >= wanted {
                best = Some((*at, *size));
                break;
            }
            if best.is_none_or(|(_, most)| *size > most) {
                best = Some((*at, *size));
            }
        }
        let (at, size) = best?;
        Some(self.cut(at, at, wanted.min(size)))
    }

    /// Take exactly these blocks, which are free.
    pub fn claim(&mut self, extent: Extent) {
        let Some((at, _)) = self.free.range(..=extent.start).next_back().map(|(at, size)| (*at, *size)) else { return };
        self.cut(at, extent.start, extent.count);
    }

    fn cut(&mut self, at: u64, start: u64, count: u64) -> Extent {
        let size = self.free.remove(&at).unwrap_or(0);
        debug_assert!(at <= start && start + count <= at + size, "blocks are taken that are not free");
        if start > at {
            self.free.insert(at, start - at);
        }
        if at + size > start + count {
            self.free.insert(start + count, at + size - start - count);
        }
        self.free_blocks -= count;
        Extent { start, count }
    }
}
