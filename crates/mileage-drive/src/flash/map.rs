//! Where every page is: a page-mapped translation layer with greedy garbage collection.
//!
//! # Model
//! A *unit* is a plane. Writes go round the units, one page each; the first units are on different channels. A
//! unit programs one open block from its first page to its last; when it is full the unit opens its next block.
//! As long as it has blocks that were never written it takes those; then it collects: its full block with the
//! fewest valid pages (the lowest-numbered of equals) is copied to the head of its one spare block, which becomes
//! the open block, and is erased, which makes it the spare. Survivors and new pages thus share a block.
//!
//! A unit whose next block would gain less than three quarters of what the best unit's would is passed over until
//! some unit has opened a block. Under uniform traffic that is rare; under a stride that spares some units it keeps
//! them from filling up.
//!
//! # Not modelled
//! Wear-out, read disturb, static wear levelling, collection in the background, map pages on flash.

/// Not a page.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// Blocks that share one entry of the second level of the search for a victim.
const GROUP: u32 = 32;
/// Added to the stale count of a block that cannot be a victim: open, spare or never written.
const NO_VICTIM: i16 = -0x4000;

/// Division by a number known only at run time, exact for every `u32`.
#[derive(Clone, Copy, Debug)]
struct Divider {
    magic: u64,
}

impl Divider {
    /// Divide by `by`, at least 2.
    fn new(by: u32) -> Self {
        Self { magic: u64::MAX / u64::from(by) + 1 }
    }

    #[inline]
    fn divide(self, number: u32) -> u32 {
        ((u128::from(number) * u128::from(self.magic)) >> 64) as u32
    }
}

/// Sizes of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Planes.
    pub units: u32,
    /// Blocks in a unit.
    pub blocks: u32,
    /// Pages in a block.
    pub pages: u32,
    /// Pages that the host sees.
    pub logical: u32,
}

impl Geometry {
    /// Block numbers from one unit to the next.
    pub(crate) fn stride(&self) -> u32 {
        self.blocks.next_multiple_of(GROUP)
    }

    /// Words of 64 stale marks in a block.
    fn words(&self) -> u32 {
        self.pages.div_ceil(64)
    }
}

/// Where a unit writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    /// The open block, [`NOWHERE`] when the last one is full and none was opened since.
    pub open: u32,
    /// Pages of the open block that are not yet written.
    pub left: u32,
    /// Blocks of the unit below this index have been opened at least once; the last block is the first spare.
    pub fresh: u32,
    /// The erased block that the next collection fills.
    pub spare: u32,
    /// The count of opened blocks when this unit was passed over.
    pub passed_at: u64,
}

/// What a write cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The unit that programs the page.
    pub unit: u32,
    /// What was collected first.
    pub collected: Option<Collected>,
}

/// One collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collected {
    /// Pages that were copied.
    pub moved: u32,
}

/// What became of a unit that needs another block.
enum Opening {
    /// It gets none now.
    PassedOver,
    /// It took a block that was never written.
    Fresh,
    /// It collected one.
    After(Collected),
}

/// The maps. See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(super) geometry: Geometry,
    by_pages: Divider,
    by_stride: Divider,
    /// Physical page of every logical page.
    pub(super) forward: Vec<u32>,
    /// Logical page of every physical page; what it says of a stale page means nothing.
    reverse: Vec<u32>,
    /// One bit for every physical page that was written and is no longer valid.
    stale: Vec<u64>,
    /// Stale pages of every block, plus [`NO_VICTIM`].
    stale_count: Vec<i16>,
    /// Most stale pages of a victim, by group of blocks.
    group_best: Vec<i16>,
    pub(super) frontiers: Vec<Frontier>,
    /// The unit whose turn it is.
    pub(super) turn: u32,
    /// Blocks opened, ever.
    pub(super) opened: u64,
    /// Pages gained by the last block that was opened.
    pub(super) gain: u32,
}

impl Map {
    /// Nothing mapped, nothing written.
    pub(crate) fn new(geometry: Geometry) -> Self {
        let blocks = (geometry.units * geometry.stride()) as usize;
        let mut map = Self {
            geometry,
            by_pages: Divider::new(geometry.pages),
            by_stride: Divider::new(geometry.stride()),
            forward: vec![NOWHERE; geometry.logical as usize],
            reverse: vec![0; blocks * geometry.pages as usize],
            stale: vec![0; blocks * geometry.words() as usize],
            stale_count: vec![NO_VICTIM; blocks],
            group_best: vec![NO_VICTIM; blocks / GROUP as usize],
            frontiers: Vec::new(),
            turn: 0,
            opened: 0,
            gain: geometry.pages,
        };
        map.frontiers = (0..geometry.units).map(|unit| map.new_frontier(unit)).collect();
        map
    }

    fn new_frontier(&self, unit: u32) -> Frontier {
        let spare = unit * self.geometry.stride() + self.geometry.blocks - 1;
        Frontier { open: NOWHERE, left: 0, fresh: 0, spare, passed_at: u64::MAX }
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

    /// Bring the entries that a write of these pages (the first 64) needs into the cache: first all places, so that their loads
    /// overlap, then the marks and counts of what is there. The sum keeps the loads from being dropped.
    #[inline]
    pub(crate) fn touch(&self, logical: &[u32]) -> u64 {
        let mut places = [NOWHERE; 64];
        for (place, page) in places.iter_mut().zip(logical) {
            *place = self.forward.get(*page as usize).copied().unwrap_or(NOWHERE);
        }
        let mapped = places.iter().filter(|place| **place != NOWHERE);
        mapped.fold(0, |sum, place| {
            let block = self.block_of(*place);
            sum ^ self.stale[self.word_of(*place, block).0] ^ self.stale_count[block as usize] as u64
        })
    }

    /// Word and bit of a page's stale mark.
    #[inline]
    fn word_of(&self, page: u32, block: u32) -> (usize, u32) {
        let in_block = page - block * self.geometry.pages;
        ((block * self.geometry.words() + in_block / 64) as usize, in_block % 64)
    }

    /// Write a logical page: find it a new place, forget the old one.
    #[inline]
    pub(crate) fn write(&mut self, logical: u32) -> Placement {
        let (mut unit, mut collected) = (self.turn, None);
        if self.frontiers[unit as usize].left == 0 {
            (unit, collected) = self.find_open();
        }
        self.turn = self.after(unit);
        let frontier = &mut self.frontiers[unit as usize];
        let page = (frontier.open + 1) * self.geometry.pages - frontier.left;
        frontier.left -= 1;
        let old = std::mem::replace(&mut self.forward[logical as usize], page);
        self.reverse[page as usize] = logical;
        if old != NOWHERE {
            self.invalidate(old);
        }
        Placement { unit, collected }
    }

    #[inline]
    fn after(&self, unit: u32) -> u32 {
        if unit + 1 == self.geometry.units { 0 } else { unit + 1 }
    }

    /// Forget a logical page; whether it was mapped.
    #[inline]
    pub(crate) fn discard(&mut self, logical: u32) -> bool {
        let old = std::mem::replace(&mut self.forward[logical as usize], NOWHERE);
        if old != NOWHERE {
            self.invalidate(old);
        }
        old != NOWHERE
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        let block = self.block_of(page);
        let (word, bit) = self.word_of(page, block);
        self.stale[word] |= 1 << bit;
        let count = &mut self.stale_count[block as usize];
        *count += 1;
        let best = &mut self.group_best[(block / GROUP) as usize];
        *best = (*best).max(*count);
    }

    /// The next unit, from the one whose turn it is, that has an open block or may open one.
    #[inline(never)]
    fn find_open(&mut self) -> (u32, Option<Collected>) {
        let mut unit = self.turn;
        for attempt in 0..2 * self.geometry.units {
            if self.frontiers[unit as usize].left > 0 {
                return (unit, None);
            }
            match self.open_next(unit, attempt >= self.geometry.units) {
                Opening::PassedOver => unit = self.after(unit),
                Opening::Fresh => return (unit, None),
                Opening::After(collected) => return (unit, Some(collected)),
            }
        }
        unreachable!("the reserve of two blocks a unit leaves a stale page in some full block");
    }

    /// Open the unit's next block. `again`: whoever was passed over since the last opening is judged afresh.
    fn open_next(&mut self, unit: u32, again: bool) -> Opening {
        self.close(unit);
        if self.frontiers[unit as usize].passed_at == self.opened && !again {
            return Opening::PassedOver;
        }
        let gain = self.gain_of(unit);
        let poor = 4 * gain < 3 * self.gain && 4 * gain < 3 * self.best_gain();
        if poor || gain == 0 {
            self.frontiers[unit as usize].passed_at = self.opened;
            return Opening::PassedOver;
        }
        self.opened += 1;
        self.gain = gain;
        let first = unit * self.geometry.stride();
        let frontier = &mut self.frontiers[unit as usize];
        frontier.left = gain;
        if frontier.fresh + 1 < self.geometry.blocks {
            frontier.open = first + frontier.fresh;
            frontier.fresh += 1;
            return Opening::Fresh;
        }
        let victim = self.victim_of(unit);
        let moved = self.copy_valid(victim, self.frontiers[unit as usize].spare);
        debug_assert_eq!(moved, self.geometry.pages - gain);
        self.erase(victim);
        let frontier = &mut self.frontiers[unit as usize];
        frontier.open = std::mem::replace(&mut frontier.spare, victim);
        Opening::After(Collected { moved })
    }

    /// A full open block becomes a possible victim.
    fn close(&mut self, unit: u32) {
        let open = std::mem::replace(&mut self.frontiers[unit as usize].open, NOWHERE);
        if open != NOWHERE {
            let count = &mut self.stale_count[open as usize];
            *count -= NO_VICTIM;
            let best = &mut self.group_best[(open / GROUP) as usize];
            *best = (*best).max(*count);
        }
    }

    fn groups_of(&self, unit: u32) -> std::ops::Range<usize> {
        let groups = self.geometry.stride() / GROUP;
        (unit * groups) as usize..((unit + 1) * groups) as usize
    }

    /// Pages that the unit's next block would have room for.
    fn gain_of(&self, unit: u32) -> u32 {
        if self.frontiers[unit as usize].fresh + 1 < self.geometry.blocks {
            return self.geometry.pages;
        }
        let best = self.group_best[self.groups_of(unit)].iter().fold(0, |best, count| best.max(*count));
        best as u32
    }

    fn best_gain(&self) -> u32 {
        (0..self.geometry.units).map(|unit| self.gain_of(unit)).max().unwrap_or(0)
    }

    /// The unit's full block with the most stale pages.
    fn victim_of(&self, unit: u32) -> u32 {
        let groups = self.groups_of(unit);
        let counts = &self.group_best[groups.clone()];
        let most = counts.iter().fold(NO_VICTIM, |most, count| most.max(*count));
        let group = groups.start + counts.iter().position(|count| *count == most).unwrap_or(0);
        let blocks = &self.stale_count[group * GROUP as usize..(group + 1) * GROUP as usize];
        group as u32 * GROUP + blocks.iter().position(|count| *count == most).unwrap_or(0) as u32
    }

    /// Copy the valid pages of a block to the head of an erased one; how many.
    fn copy_valid(&mut self, from: u32, to: u32) -> u32 {
        let pages = self.geometry.pages;
        let (source, target) = (from * pages, to * pages);
        let mut moved = 0;
        for word in 0..self.geometry.words() {
            let mut live = !self.stale[(from * self.geometry.words() + word) as usize];
            if pages - 64 * word < 64 {
                live &= (1 << (pages - 64 * word)) - 1;
            }
            while live != 0 {
                let logical = self.reverse[(source + 64 * word + live.trailing_zeros()) as usize];
                live &= live - 1;
                self.reverse[(target + moved) as usize] = logical;
                self.forward[logical as usize] = target + moved;
                moved += 1;
            }
        }
        moved
    }

    fn erase(&mut self, block: u32) {
        let words = self.geometry.words();
        self.stale[(block * words) as usize..((block + 1) * words) as usize].fill(0);
        self.stale_count[block as usize] = NO_VICTIM;
        let group = (block / GROUP) as usize;
        let blocks = &self.stale_count[group * GROUP as usize..(group + 1) * GROUP as usize];
        self.group_best[group] = blocks.iter().fold(NO_VICTIM, |most, count| most.max(*count));
    }

    /// Derive the reverse map, the stale marks and their counts from the forward map and the frontiers; false when
    /// a page is mapped to a place that is not written or that another page has.
    pub(super) fn derive(&mut self) -> bool {
        let Geometry { units, blocks, pages, .. } = self.geometry;
        for unit in 0..units {
            let frontier = self.frontiers[unit as usize];
            for index in 0..blocks {
                let block = unit * self.geometry.stride() + index;
                let written = match block {
                    block if block == frontier.spare => 0,
                    block if block == frontier.open => pages - frontier.left,
                    _ if index < frontier.fresh || index + 1 == blocks => pages,
                    _ => 0,
                };
                let full = written == pages && block != frontier.open;
                self.stale_count[block as usize] = written as i16 + if full { 0 } else { NO_VICTIM };
                for page in 0..written {
                    self.stale[(block * self.geometry.words() + page / 64) as usize] |= 1 << (page % 64);
                }
            }
        }
        for logical in 0..self.forward.len() {
            let page = self.forward[logical];
            if page == NOWHERE {
                continue;
            }
            let block = self.block_of(page);
            let (word, bit) = self.word_of(page, block);
            match self.stale.get_mut(word) {
                Some(marks) if *marks >> bit & 1 == 1 => *marks &= !(1 << bit),
                _ => return false,
            }
            self.stale_count[block as usize] -= 1;
            self.reverse[page as usize] = logical as u32;
        }
        for (group, best) in self.group_best.iter_mut().enumerate() {
            let counts = &self.stale_count[group * GROUP as usize..(group + 1) * GROUP as usize];
            *best = counts.iter().fold(NO_VICTIM, |most, count| most.max(*count));
        }
        true
    }

    /// Blocks that were written since they were last erased.
    pub(crate) fn written_blocks(&self) -> u64 {
        self.frontiers.iter().map(|frontier| u64::from(frontier.fresh)).sum()
    }

    /// Logical pages that are mapped.
    pub(crate) fn mapped(&self) -> u64 {
        self.forward.iter().filter(|page| **page != NOWHERE).count() as u64
    }
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
