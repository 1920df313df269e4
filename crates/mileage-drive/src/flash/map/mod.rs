//! Where every page is: a page-mapped translation layer.
//!
//! # Model
//! A *unit* is a plane. Writes go round the units in the order of allocation, one page each. A unit programs an open
//! block from its first page to its last; when it is full the unit opens another. As long as it has more erased
//! blocks than it keeps free it takes one of those; else it collects ([`garbage_collection`]): the valid pages of a full block
//! are copied to where survivors go and the block is erased. With one frontier the survivors are the head of the
//! block that the host's pages then fill; with two they have an open block of their own.
//!
//! Where a program writes several pages of the map, a unit takes that many before it is the next one's turn.
//!
//! A unit whose next block would gain less than three quarters of what the best unit's would is skipped until
//! some unit has opened a block. Under uniform traffic that is rare; under a stride that spares some units it keeps
//! them from filling up. Where the address decides the unit, none is skipped.
//!
//! # Hot and cold
//! Where the profile asks for it, pages that are written often have a frontier, and blocks, apart from the others
//! ([`heat`]).
//!
//! # Not modelled
//! Read disturb, retention.

mod garbage_collection;
mod geometry;
mod heat;
mod reconstruction;
mod rules;
pub(crate) mod saved_state;
mod slc_pool;
mod streams;
mod translation;
mod wear;

use super::cells::Cells;
use super::wear_policy::EraseSpread;
use crate::profile::flash::choices::Frontiers;
pub(crate) use geometry::Geometry;
use geometry::{Divider, GROUP};
use heat::Heat;
use mileage_memory::{begin_load, in_large_pages};
pub(crate) use rules::{Rules, order};
pub(crate) use slc_pool::CacheBlock;

/// Not a page, not a block.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// Added to the stale count of a block that cannot be a victim: open, erased, worn out or not in service. A block has at
/// most 2^13 pages, so that such a count stays negative: one comparison of 16 bits finds the best victim and skips
/// what is none.
pub(super) const NO_VICTIM: i16 = -0x4000;

/// An open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    /// The block, [`NOWHERE`] when the last one is full and none was opened since.
    pub open: u32,
    /// Pages of it that are not yet written.
    pub left: u32,
}

/// The blocks of a unit, a plane, that hold no data: erased, worn out, or kept for a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Blocks in service. Those bad from the factory have no number: which of the places they take is of no effect.
    pub blocks: u32,
    /// Blocks in service from this index on were never written since the last purge.
    pub fresh: u32,
    /// Other erased blocks, the first freed first.
    pub free: Vec<u32>,
    /// Blocks that are worn out; as many replacements are in service.
    pub bad: Vec<u32>,
    /// The count of opened blocks when this unit was skipped.
    pub skipped_at: u64,
    /// Erased blocks that are kept for a cache.
    pub kept: u32,
    /// Blocks lent to a cache, the first lent first; only the last may have room.
    pub lent: Vec<CacheBlock>,
}

/// Place of a written page, and the cost of the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The unit that programs the page.
    pub unit: u32,
    /// The frontier that it was written to.
    pub slot: u32,
    /// Whether it completes a flash page, which can be programmed now.
    pub fills: bool,
    /// Cost of opening a block, if one had to be opened.
    pub opening: Option<BlockOpening>,
}

/// Cost of opening a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockOpening {
    /// Pages that the block has room for.
    pub gained: u32,
    /// Valid pages that were copied to make room.
    pub moved: u32,
    /// Pages that were copied to level wear.
    pub levelled: u32,
    /// Blocks that were erased.
    pub erased: u32,
    /// Array reads of the copies.
    pub reads: u32,
    /// Flash pages that the copies filled.
    pub programs: u32,
    /// The frontier that the survivors went to.
    pub slot: u32,
}

impl BlockOpening {
    /// Everything that two openings took; room and frontier of the later one.
    fn and(self, later: Self) -> Self {
        Self {
            moved: self.moved + later.moved,
            levelled: self.levelled + later.levelled,
            erased: self.erased + later.erased,
            reads: self.reads + later.reads,
            programs: self.programs + later.programs,
            ..later
        }
    }
}

/// The maps. See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(super) geometry: Geometry,
    pub(super) rules: Rules,
    by_pages: Divider,
    by_stride: Divider,
    /// Physical page of every logical page.
    pub(super) forward: Vec<u32>,
    /// Logical page of every physical page; what it says of a stale page means nothing.
    reverse: Vec<u32>,
    /// Stale marks: one bit for every physical page that was written and is no longer valid.
    stale: Vec<u64>,
    /// Stale pages of every block, plus [`NO_VICTIM`].
    stale_count: Vec<i16>,
    /// Most stale pages of a victim, by group of blocks.
    group_best: Vec<i16>,
    /// Two for every unit; the second is for survivors when they have one of their own.
    pub(super) frontiers: Vec<Frontier>,
    pub(super) units: Vec<Unit>,
    /// Next unit to write to, as an index of the order.
    pub(super) turn: u32,
    /// Decisions to open a block, ever.
    pub(super) opened: u64,
    /// Pages gained by the last block that was opened.
    pub(super) gain: u32,
    /// Blocks opened, ever, and for every block which of them it was.
    pub(super) sequence: u64,
    pub(super) opened_as: Vec<u64>,
    /// Pages written, ever, and for every block how many when it was opened.
    pub(super) written: u64,
    pub(super) opened_at: Vec<u64>,
    /// Times every block was erased.
    pub(super) erases: Vec<u32>,
    /// Their least and most, by group of blocks.
    group_erases: Vec<EraseSpread>,
    /// State of the draws of victims.
    pub(super) draws: u64,
    /// Erased blocks of all units, and the least there ever were.
    pub(super) free_blocks: u32,
    pub(super) free_blocks_least: u32,
    /// How often pages are written, with frontiers for hot and cold ones.
    pub(super) heat: Heat,
    /// Logical pages that are mapped.
    mapped: u32,
    /// A block is past its limit and no replacement is left.
    pub(super) worn_out: bool,
}

impl Map {
    /// Nothing mapped, nothing written.
    pub(crate) fn new(geometry: Geometry, rules: Rules) -> Self {
        let blocks = (geometry.units * geometry.stride()) as usize;
        let unit = |bad: &u32| Unit {
            blocks: geometry.blocks - bad,
            fresh: 0,
            free: Vec::new(),
            bad: Vec::new(),
            skipped_at: u64::MAX,
            kept: 0,
            lent: Vec::new(),
        };
        let units: Vec<Unit> = rules.factory_bad.iter().map(unit).collect();
        let free_blocks = units.iter().map(|unit| unit.blocks).sum();
        let hot_cold = rules.frontiers == Frontiers::HotCold;
        let mut forward = in_large_pages(Vec::with_capacity(geometry.logical as usize));
        forward.resize(geometry.logical as usize, NOWHERE);
        Self {
            heat: if hot_cold { Heat::new(geometry.logical, blocks) } else { Heat::default() },
            geometry,
            rules,
            by_pages: Divider::new(geometry.pages),
            by_stride: Divider::new(geometry.stride()),
            forward,
            reverse: in_large_pages(vec![0; blocks * geometry.pages as usize]),
            stale: in_large_pages(vec![0; blocks * geometry.words() as usize]),
            stale_count: vec![NO_VICTIM; blocks],
            group_best: vec![NO_VICTIM; blocks / GROUP as usize],
            frontiers: vec![Frontier { open: NOWHERE, left: 0 }; 2 * geometry.units as usize],
            units,
            turn: 0,
            opened: 0,
            gain: geometry.pages,
            sequence: 0,
            opened_as: vec![0; blocks],
            written: 0,
            opened_at: vec![0; blocks],
            erases: vec![0; blocks],
            group_erases: vec![EraseSpread::default(); blocks / GROUP as usize],
            draws: 0,
            free_blocks,
            free_blocks_least: free_blocks,
            mapped: 0,
            worn_out: false,
        }
    }

    #[inline]
    fn block_of(&self, page: u32) -> u32 {
        self.by_pages.divide(page)
    }

    /// The unit that holds a logical page; `None` when it is not mapped.
    #[inline]
    pub(crate) fn unit_holding(&self, logical: u32) -> Option<u32> {
        let page = self.forward[logical as usize];
        (page != NOWHERE).then(|| self.by_stride.divide(self.block_of(page)))
    }

    /// The block that holds a logical page; `None` when it is not mapped.
    pub(crate) fn block_holding(&self, logical: u32) -> Option<u32> {
        let page = self.forward[logical as usize];
        (page != NOWHERE).then(|| self.block_of(page))
    }

    /// A logical page will be looked up in a while.
    #[inline]
    pub(crate) fn begin_look_up(&self, logical: u64) {
        begin_load(&self.forward, logical as usize);
        if self.rules.frontiers == Frontiers::HotCold {
            begin_load(&self.heat.marks, logical as usize);
        }
    }

    /// A logical page whose place has been loaded by now will be overwritten soon.
    #[inline]
    pub(crate) fn begin_overwrite(&self, logical: u64) {
        if let Some(page) = self.forward.get(logical as usize)
            && *page != NOWHERE
        {
            let block = self.block_of(*page);
            begin_load(&self.stale, self.word_of(*page, block).0);
            begin_load(&self.stale_count, block as usize);
        }
    }

    /// Word and bit of a page's stale mark.
    #[inline]
    fn word_of(&self, page: u32, block: u32) -> (usize, u32) {
        let in_block = page - block * self.geometry.pages;
        ((block * self.geometry.words() + in_block / 64) as usize, in_block % 64)
    }

    /// Write a logical page: find it a new place, forget the old one.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "both callers are hot; as a call it costs 3 ns more, the placement going through memory"
    )]
    pub(crate) fn write<C: Cells>(&mut self, logical: u32, cells: &mut C) -> Placement {
        let class = if self.rules.frontiers == Frontiers::HotCold { self.class_of(logical) } else { 0 };
        let mut turn = if self.rules.by_address { logical % self.geometry.units } else { self.turn };
        let mut slot = 2 * self.rules.order[turn as usize] + class;
        let mut opening = None;
        if self.frontiers[slot as usize].left == 0 {
            (turn, slot, opening) = self.find_open(turn, class, cells);
        }
        let frontier = &mut self.frontiers[slot as usize];
        // Flash programs the pages of a block in order, so the pages left are the last ones and say which is next.
        let page = (frontier.open + 1) * self.geometry.pages - frontier.left;
        frontier.left -= 1;
        let fills = self.geometry.fills(frontier.left);
        self.turn = if fills { self.after(turn) } else { turn };
        self.settle(logical, page, cells);
        Placement { unit: slot / 2, slot, fills, opening }
    }

    /// The host's data of `logical` goes to the erased page `page`; where it was before is stale.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "`write` is hot; as a call it costs 3 ns more")]
    fn settle<C: Cells>(&mut self, logical: u32, page: u32, cells: &mut C) {
        self.written += 1;
        let old = std::mem::replace(&mut self.forward[logical as usize], page);
        self.reverse[page as usize] = logical;
        cells.programmed(page, logical);
        if old == NOWHERE {
            self.mapped += 1;
        } else {
            self.invalidate(old);
        }
    }

    #[inline]
    fn after(&self, turn: u32) -> u32 {
        if turn + 1 == self.geometry.units { 0 } else { turn + 1 }
    }

    /// The frontier for a page of the host that is about to be written.
    #[inline]
    fn class_of(&mut self, logical: u32) -> u32 {
        let known = self.forward[logical as usize] != NOWHERE;
        u32::from(self.heat.note(logical, known))
    }

    /// Pages written since a block was opened.
    #[inline]
    fn age_of(&self, block: u32) -> u64 {
        self.written.saturating_sub(self.opened_at[block as usize])
    }

    /// Forget a logical page; whether it was mapped.
    #[inline]
    pub(crate) fn discard(&mut self, logical: u32) -> bool {
        let old = std::mem::replace(&mut self.forward[logical as usize], NOWHERE);
        if old != NOWHERE {
            self.mapped -= 1;
            self.invalidate(old);
        }
        old != NOWHERE
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        let block = self.block_of(page);
        let (word, bit) = self.word_of(page, block);
        self.stale[word] |= 1 << bit;
        // The best of a group only rises here, and is counted anew when a block of it is erased.
        let count = &mut self.stale_count[block as usize];
        *count += 1;
        let best = &mut self.group_best[(block / GROUP) as usize];
        *best = (*best).max(*count);
    }

    /// The next turn, from this one on, whose unit has an open block or may open one; its frontier.
    #[inline(never)]
    fn find_open<C: Cells>(&mut self, from: u32, class: u32, cells: &mut C) -> (u32, u32, Option<BlockOpening>) {
        let mut cost: Option<BlockOpening> = None;
        let units = self.geometry.units;
        let mut turn = from;
        // The first round skips the units that were skipped since the last opening; the second asks them again,
        // for it may be that none else is left.
        for attempt in 0..if self.rules.by_address { 1 } else { 2 * units } {
            let slot = 2 * self.rules.order[turn as usize] + class;
            if self.frontiers[slot as usize].left > 0 {
                return (turn, slot, cost);
            }
            if let Some(opening) = self.open_next(slot, attempt >= units || self.rules.by_address, cells) {
                // The room is that of the last block alone, but the write waits for the work on all units tried before.
                cost = Some(cost.unwrap_or_default().and(opening));
                if opening.gained > 0 {
                    return (turn, slot, cost);
                }
            }
            turn = self.after(turn);
        }
        // Compacting freed no whole block anywhere: what is left of the other frontier's block has to do.
        turn = from;
        for _ in 0..if self.rules.by_address { 1 } else { units } {
            let slot = 2 * self.rules.order[turn as usize] + 1 - class;
            if self.frontiers[slot as usize].left > 0 {
                return (turn, slot, cost);
            }
            turn = self.after(turn);
        }
        unreachable!("the reserve leaves a stale page in some full block");
    }

    /// Open the next block of a frontier. `again`: a unit that was skipped since the last opening is judged anew.
    /// `None` when the unit is skipped.
    fn open_next<C: Cells>(&mut self, slot: u32, again: bool, cells: &mut C) -> Option<BlockOpening> {
        let unit = slot / 2;
        self.close(slot);
        if self.units[unit as usize].skipped_at == self.opened && !again {
            return None;
        }
        let gain = self.gain_of(unit);
        // Three quarters of what the best unit would gain, as the module's text says. The search for the best one
        // reads all groups, so that it is made only if this unit gains less than the last one that opened a block.
        let poor = !self.rules.by_address && 4 * gain < 3 * self.gain && 4 * gain < 3 * self.best_gain();
        if poor || gain == 0 {
            self.units[unit as usize].skipped_at = self.opened;
            return None;
        }
        self.opened += 1;
        self.gain = gain;
        let mut cost = BlockOpening::default();
        while self.frontiers[slot as usize].left == 0 {
            if self.free_of(unit) > self.rules.free_min {
                self.take_free(slot);
            } else if !self.collect(unit, &mut cost, cells) {
                break;
            }
        }
        cost.gained = self.frontiers[slot as usize].left;
        Some(cost)
    }

    /// A full open block becomes a possible victim.
    fn close(&mut self, slot: u32) {
        let open = std::mem::replace(&mut self.frontiers[slot as usize].open, NOWHERE);
        if open != NOWHERE {
            let count = &mut self.stale_count[open as usize];
            // Without the mark the count takes part in the search for a victim; open blocks must not.
            *count -= NO_VICTIM;
            let best = &mut self.group_best[(open / GROUP) as usize];
            *best = (*best).max(*count);
        }
    }

    /// Erased blocks of a unit that may be opened.
    pub(super) fn free_of(&self, unit: u32) -> u32 {
        let state = &self.units[unit as usize];
        state.erased() - state.kept
    }

    /// Let a frontier write into an erased block.
    fn take_free(&mut self, slot: u32) {
        self.close(slot);
        let block = self.take_erased(slot / 2);
        self.frontiers[slot as usize] = Frontier { open: block, left: self.geometry.pages };
        if self.rules.frontiers == Frontiers::HotCold {
            self.heat.streams[block as usize] = (slot % 2) as u8;
        }
    }

    /// The erased block of a unit that is next.
    fn take_erased(&mut self, unit: u32) -> u32 {
        let first = unit * self.geometry.stride();
        let unit = &mut self.units[unit as usize];
        // Blocks never written come first and in order: a counter stands for their list, and a purged drive is filled
        // in the same order every time.
        let block = if unit.fresh < unit.blocks {
            unit.fresh += 1;
            first + unit.fresh - 1
        } else {
            let erases = &self.erases;
            let least = (0..unit.free.len()).min_by_key(|index| erases[unit.free[*index] as usize]);
            unit.free.remove(if self.rules.wear.dynamic { least.unwrap_or(0) } else { 0 })
        };
        self.mark_opened(block, self.written);
        self.free_blocks -= 1;
        self.free_blocks_least = self.free_blocks_least.min(self.free_blocks);
        block
    }

    fn mark_opened(&mut self, block: u32, at: u64) {
        self.sequence += 1;
        self.opened_as[block as usize] = self.sequence;
        self.opened_at[block as usize] = at;
    }

    fn groups_of(&self, unit: u32) -> std::ops::Range<usize> {
        let groups = self.geometry.stride() / GROUP;
        (unit * groups) as usize..((unit + 1) * groups) as usize
    }

    /// Most stale pages of a full block of the unit; 0 when there is none.
    fn most_stale(&self, unit: u32) -> u32 {
        self.group_best[self.groups_of(unit)].iter().fold(0, |best, count| best.max(*count)) as u32
    }

    /// Pages that the unit's next block would have room for, if the best were collected.
    fn gain_of(&self, unit: u32) -> u32 {
        if self.free_of(unit) > self.rules.free_min { self.geometry.pages } else { self.most_stale(unit) }
    }

    fn best_gain(&self) -> u32 {
        (0..self.geometry.units).map(|unit| self.gain_of(unit)).max().unwrap_or(0)
    }

    /// Blocks of each unit that were written since they were last erased.
    pub(crate) fn blocks_written(&self) -> impl Iterator<Item = u32> + '_ {
        // A worn block and its replacement cancel out.
        self.units.iter().map(|unit| unit.fresh - unit.free.len() as u32)
    }

    /// Pages of these blocks that were programmed.
    pub(crate) fn written_pages(&self) -> u64 {
        let pages: u64 = self.blocks_written().map(|blocks| u64::from(blocks) * u64::from(self.geometry.pages)).sum();
        let lent = self.units.iter().flat_map(|unit| &unit.lent);
        let unused: u64 = lent.map(|lent| u64::from(self.geometry.pages - lent.filled)).sum();
        pages - unused - self.frontiers.iter().map(|frontier| u64::from(frontier.left)).sum::<u64>()
    }

    /// Logical pages that are mapped.
    pub(crate) fn mapped(&self) -> u64 {
        u64::from(self.mapped)
    }
}

#[cfg(test)]
pub(super) mod tests;
