//! A page map of a controller that compresses, or finds duplicates, or both: where the contents of pages are.
//!
//! # Model
//! A page that arrives is compressed and stored as a multiple of `compression_unit_bytes`, at least one. Contents lie
//! one behind the other in a plane's open block and may reach over the border of two flash pages, not of two blocks. A
//! flash page is programmed once it is full; until then what it will hold waits in the controller, which keeps it
//! when power fails. Writes proceed to the next plane with every page programmed. A plane without erased blocks to
//! spare collects the full block with the fewest valid bytes: flash pages that hold valid contents are read once
//! each, the contents are written to the block that the host's then fill, and the block is erased.
//!
//! With `dedupe_contents` the controller has a table of the fingerprints of that number of contents, the oldest
//! leaving first. A page whose content is in it is not stored; its content is removed with the last page that has it.
//!
//! # Not modelled
//! Time to compress: the controller does it as fast as the link. The map itself.

mod content;
mod garbage_collection;
mod saved_state;
mod table;
mod translation;

use super::map::NOWHERE;
use super::medium::Medium;
use crate::profile::FlashProfile;
pub(crate) use content::{Contents, IncomingPage};
use std::collections::VecDeque;
pub(crate) use table::Table;

/// Sizes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub units: u32,
    /// Block numbers of a unit.
    pub blocks: u32,
    pub page_bytes: u32,
    pub block_bytes: u32,
    /// Contents are stored as multiples of this number of bytes.
    pub step_bytes: u32,
    pub free_min: u32,
}

/// Location of a stored content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentLocation {
    /// [`NOWHERE`]: there is no such content.
    pub block: u32,
    pub offset_bytes: u32,
    pub bytes: u32,
}

pub(crate) const GONE: ContentLocation = ContentLocation { block: NOWHERE, offset_bytes: 0, bytes: 0 };

/// Further pages with the same content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedContent {
    pub print: u64,
    /// Logical pages that have it.
    pub pages: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Erased,
    Open,
    Full,
}

/// A block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub used: Use,
    pub erases: u32,
    pub valid_bytes: u32,
    /// Contents and their offsets, removed ones included.
    pub contents: Vec<(u32, u32)>,
}

/// Write frontier of a plane.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// The open block, or [`NOWHERE`].
    pub open: u32,
    /// Bytes of the open block that are used.
    pub filled_bytes: u32,
    /// Its erased blocks, the first freed first.
    pub free: VecDeque<u32>,
}

/// What a read of stored data takes from the flash: how many pages, on which unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadCost {
    pub unit: u32,
    /// Flash pages, 0 if the controller still has it.
    pub pages: u32,
}

/// The maps. See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct PackedMap {
    pub shape: Shape,
    order: Vec<u32>,
    /// Content of every logical page.
    pub holds: Vec<u32>,
    pub stored: Vec<ContentLocation>,
    /// As long as `stored` if duplicates are found, else empty.
    pub shared: Vec<SharedContent>,
    /// Numbers of no content; the last is taken next.
    pub vacant: Vec<u32>,
    pub blocks: Vec<Block>,
    pub units: Vec<Unit>,
    /// Next unit to write to, as an index of the order.
    pub turn: u32,
    /// Bytes gained by the last block that was opened.
    pub gain_bytes: u32,
    pub table: Option<Table>,
    pub mapped: u32,
    pub free_least: u32,
    /// Content of the current workload; not part of the saved state.
    pub contents: Contents,
}

impl PackedMap {
    /// Nothing written.
    pub(crate) fn new(profile: &FlashProfile) -> Self {
        let (units, logical) = (profile.planes() as u32, profile.logical_pages() as usize);
        let page_bytes = profile.page_bytes;
        let shape = Shape {
            units,
            blocks: profile.blocks_per_plane,
            page_bytes,
            block_bytes: page_bytes * profile.pages_per_block,
            step_bytes: profile.packing.unit_bytes.unwrap_or(page_bytes),
            free_min: profile.policies.free_blocks_min,
        };
        let block = Block { used: Use::Erased, erases: 0, valid_bytes: 0, contents: Vec::new() };
        let bad = profile.factory_bad_blocks();
        let unit = |unit: u32| {
            let first = unit * shape.blocks;
            let good = (0..shape.blocks).filter(|block| bad[unit as usize].binary_search(block).is_err());
            Unit { open: NOWHERE, filled_bytes: 0, free: good.map(|block| first + block).collect() }
        };
        let table = profile.packing.dedupe_contents.map(Table::new);
        let mut packed = Self {
            shape,
            order: super::map::order(profile),
            holds: vec![NOWHERE; logical],
            stored: vec![GONE; logical],
            shared: vec![SharedContent::default(); if table.is_some() { logical } else { 0 }],
            vacant: (0..logical as u32).rev().collect(),
            blocks: vec![block; (units * shape.blocks) as usize],
            units: (0..units).map(unit).collect(),
            turn: 0,
            gain_bytes: shape.block_bytes,
            table,
            mapped: 0,
            free_least: 0,
            contents: Contents::unknown(page_bytes),
        };
        packed.free_least = packed.free_blocks();
        packed
    }

    /// Erased blocks.
    pub(crate) fn free_blocks(&self) -> u32 {
        self.units.iter().map(|unit| unit.free.len() as u32).sum()
    }

    /// Flash pages to read for a logical page; `None` when it is not mapped.
    pub(crate) fn reading(&self, page: u32) -> Option<ReadCost> {
        let content = self.holds[page as usize];
        let ContentLocation { block, offset_bytes, bytes } = *self.stored.get(content as usize)?;
        let (unit, page_bytes) = (block / self.shape.blocks, self.shape.page_bytes);
        let Unit { open, filled_bytes, .. } = self.units[unit as usize];
        let programmed = if open == block { filled_bytes / page_bytes } else { u32::MAX };
        let (first, end) = (offset_bytes / page_bytes, (offset_bytes + bytes).div_ceil(page_bytes));
        Some(ReadCost { unit, pages: end.min(programmed).saturating_sub(first) })
    }

    /// Write a logical page; when what it completed is on the medium, and if it completed nothing, `ready_ns`.
    pub(crate) fn write(&mut self, page: u32, arriving: IncomingPage, ready_ns: u64, medium: &mut Medium) -> u64 {
        let IncomingPage { print, bytes } = arriving;
        medium.counters.packing_bytes_in += u64::from(self.shape.page_bytes);
        if let Some(content) = self.table.as_ref().and_then(|table| table.find(print)) {
            medium.counters.duplicate_pages_found += 1;
            if self.holds[page as usize] != content {
                self.forget(page);
                self.shared[content as usize].pages += 1;
                self.holds[page as usize] = content;
                self.mapped += 1;
            }
            return ready_ns;
        }
        self.forget(page);
        let bytes = bytes.max(1).next_multiple_of(self.shape.step_bytes).min(self.shape.page_bytes);
        medium.counters.packing_bytes_stored += u64::from(bytes);
        let unit = self.unit_with_room(bytes, ready_ns, medium);
        let content = self.vacant.pop().unwrap_or_else(|| unreachable!("no more contents than logical pages"));
        self.holds[page as usize] = content;
        self.mapped += 1;
        if let Some(table) = &mut self.table {
            table.remember(print, content);
            self.shared[content as usize] = SharedContent { print, pages: 1 };
        }
        let full = self.append(unit, content, bytes);
        if full > 0 {
            self.turn = self.after(self.turn);
        }
        (0..full).fold(ready_ns, |_, _| medium.program(unit, ready_ns))
    }

    /// Forget a logical page; whether it was mapped.
    pub(crate) fn forget(&mut self, page: u32) -> bool {
        let content = std::mem::replace(&mut self.holds[page as usize], NOWHERE);
        if content == NOWHERE {
            return false;
        }
        self.mapped -= 1;
        if let Some(shared) = self.shared.get_mut(content as usize) {
            shared.pages -= 1;
            if shared.pages > 0 {
                return true;
            }
            let print = shared.print;
            self.table.iter_mut().for_each(|table| table.forget(print, content));
        }
        let ContentLocation { block, bytes, .. } = std::mem::replace(&mut self.stored[content as usize], GONE);
        self.blocks[block as usize].valid_bytes -= bytes;
        self.vacant.push(content);
        true
    }

    /// Append a content to the unit's open block, and return the number of flash pages that it completed.
    fn append(&mut self, unit: u32, content: u32, bytes: u32) -> u32 {
        let Unit { open, filled_bytes, .. } = &mut self.units[unit as usize];
        let (offset_bytes, page_bytes) = (*filled_bytes, self.shape.page_bytes);
        *filled_bytes += bytes;
        let block = &mut self.blocks[*open as usize];
        block.contents.push((content, offset_bytes));
        block.valid_bytes += bytes;
        self.stored[content as usize] = ContentLocation { block: *open, offset_bytes, bytes };
        (offset_bytes + bytes) / page_bytes - offset_bytes / page_bytes
    }

    fn after(&self, turn: u32) -> u32 {
        if turn + 1 == self.shape.units { 0 } else { turn + 1 }
    }

    /// The next unit, from the present turn on, whose open block has room for `bytes`.
    fn unit_with_room(&mut self, bytes: u32, ready_ns: u64, medium: &mut Medium) -> u32 {
        let units = self.shape.units;
        for attempt in 0..2 * units {
            let unit = self.order[self.turn as usize];
            if self.has_room(unit, bytes) || self.open_next(unit, bytes, attempt >= units, ready_ns, medium) {
                return unit;
            }
            self.turn = self.after(self.turn);
        }
        unreachable!("the reserve leaves a page's worth of stale bytes in some full block");
    }

    fn has_room(&self, unit: u32, bytes: u32) -> bool {
        let Unit { open, filled_bytes, .. } = self.units[unit as usize];
        open != NOWHERE && self.shape.block_bytes - filled_bytes >= bytes
    }

    /// Everything is erased; counts of erases stay.
    pub(crate) fn erase_all(&mut self) {
        for unit in 0..self.shape.units {
            let first = unit * self.shape.blocks;
            let Unit { open, filled_bytes, free } = &mut self.units[unit as usize];
            (*open, *filled_bytes) = (NOWHERE, 0);
            for number in first..first + self.shape.blocks {
                let block = &mut self.blocks[number as usize];
                if block.used != Use::Erased {
                    free.push_back(number);
                    *block =
                        Block { used: Use::Erased, erases: block.erases + 1, valid_bytes: 0, contents: Vec::new() };
                }
            }
        }
        self.holds.fill(NOWHERE);
        self.stored.fill(GONE);
        self.shared.fill(SharedContent::default());
        self.vacant = (0..self.stored.len() as u32).rev().collect();
        self.table = self.table.as_ref().map(|table| Table::new(table.capacity()));
        (self.mapped, self.gain_bytes) = (0, self.shape.block_bytes);
    }

    /// Blocks of each unit that were written since they were last erased.
    pub(crate) fn blocks_written(&self) -> Vec<u32> {
        let used = |block: &&Block| block.used != Use::Erased;
        self.blocks.chunks(self.shape.blocks as usize).map(|unit| unit.iter().filter(used).count() as u32).collect()
    }

    /// Erases of the least and of the most worn good block.
    pub(crate) fn erase_spread(&self) -> (u32, u32) {
        // Bad blocks must not count: they are in no list of free blocks, and never used.
        let good = self.units.iter().flat_map(|unit| unit.free.iter().map(|block| &self.blocks[*block as usize]));
        let good = good.chain(self.blocks.iter().filter(|block| block.used != Use::Erased));
        let counts = good.map(|block| block.erases);
        let (least, most) = counts.fold((u32::MAX, 0), |(least, most), count| (least.min(count), most.max(count)));
        (least.min(most), most)
    }
}

#[cfg(test)]
mod tests;
