//! Garbage collection: which block is the victim, and where its valid pages go.
//!
//! A victim is a full block of the plane that needs room. Ties go to the lowest block number and draws come from a
//! sequence that is part of the state, so that equal writes collect equal blocks on every machine.

use super::geometry::GROUP;
use super::{BlockOpening, Cells, Map, NO_VICTIM};
use crate::profile::flash::choices::{Frontiers, Victim};

impl Map {
    /// Collect one block of a unit; false when no block of it has a stale page.
    pub(super) fn collect<C: Cells>(&mut self, unit: u32, cost: &mut BlockOpening, cells: &mut C) -> bool {
        if self.most_stale(unit) == 0 {
            return false;
        }
        let victim = self.victim_of(unit);
        cost.slot = 2 * unit + self.rules.survivors();
        let (waiting, reads) = (self.waiting_in(cost.slot), self.reads_of(victim));
        let moved = self.copy_valid(victim, unit, cells);
        cost.moved += moved;
        (cost.reads, cost.programs) = match reads {
            Some(reads) => (cost.reads + reads, cost.programs + (waiting + moved) / self.geometry.per_program),
            None => (cost.reads + moved, cost.programs + moved),
        };
        self.erase(victim, cells);
        self.release(victim);
        cost.erased += 1;
        if let Some(gap) = self.rules.wear.static_gap {
            self.level(unit, self.erases[victim as usize], gap, cost, cells);
        }
        true
    }

    /// Whether a unit should be collected when the drive is idle: it has too few erased blocks, and a stale page.
    pub(crate) fn wants_idle(&mut self, unit: u32) -> bool {
        if self.free_of(unit) >= self.rules.idle_free {
            return false;
        }
        self.close_full(unit);
        self.most_stale(unit) > 0
    }

    /// Full open blocks of a unit become possible victims now, not when the next is opened.
    pub(super) fn close_full(&mut self, unit: u32) {
        for slot in [2 * unit, 2 * unit + 1] {
            if self.frontiers[slot as usize].left == 0 {
                self.close(slot);
            }
        }
    }

    /// Collect one block of a unit while the drive is idle; `None` when the unit does not want it.
    pub(crate) fn collect_idle<C: Cells>(&mut self, unit: u32, cells: &mut C) -> Option<BlockOpening> {
        if self.wants_idle(unit) { self.collect_now(unit, cells) } else { None }
    }

    /// Collect one block of a unit; `None` when no block of it has a stale page.
    pub(crate) fn collect_now<C: Cells>(&mut self, unit: u32, cells: &mut C) -> Option<BlockOpening> {
        let mut cost = BlockOpening::default();
        if !self.collect(unit, &mut cost, cells) {
            return None;
        }
        self.opened += 1;
        Some(cost)
    }

    fn victim_of(&mut self, unit: u32) -> u32 {
        let stream = (self.rules.frontiers == Frontiers::HotCold).then(|| self.stream_to_collect(unit));
        match self.rules.victim {
            Victim::Greedy => self.emptiest(unit, stream),
            Victim::Random => self.drawn(unit, stream, 1),
            Victim::DChoices => self.drawn(unit, stream, self.rules.choices),
            Victim::Fifo => self.oldest(unit, stream),
            Victim::CostBenefit => self.most_beneficial(unit, stream),
        }
    }

    /// The unit's full block with the most stale pages; of equals the lowest-numbered one, or, when wear is levelled,
    /// the least worn.
    fn emptiest(&self, unit: u32, stream: Option<u8>) -> u32 {
        if self.rules.wear.dynamic {
            let key = |block: &u32| (-self.stale_count[*block as usize], self.erases[*block as usize]);
            return self.candidates(unit, stream).min_by_key(key).unwrap_or_default();
        }
        if let Some(stream) = stream {
            return self.emptiest_of(unit, stream);
        }
        // Two levels: the best group, then the block in it. A plane of 2,048 blocks costs 64 + 32 counts, not 2,048.
        let groups = self.groups_of(unit);
        let counts = &self.group_best[groups.clone()];
        let most = counts.iter().fold(NO_VICTIM, |most, count| most.max(*count));
        let group = groups.start + counts.iter().position(|count| *count == most).unwrap_or(0);
        let blocks = &self.stale_count[group * GROUP as usize..(group + 1) * GROUP as usize];
        group as u32 * GROUP + blocks.iter().position(|count| *count == most).unwrap_or(0) as u32
    }

    fn blocks_of(&self, unit: u32) -> std::ops::Range<u32> {
        unit * self.geometry.stride()..(unit + 1) * self.geometry.stride()
    }

    /// Whether a block is full and belongs to this stream, so that it can be a victim.
    fn is_candidate(&self, block: u32, stream: Option<u8>) -> bool {
        let of = |stream| self.heat.streams[block as usize] == stream;
        self.stale_count[block as usize] >= 0 && stream.is_none_or(of)
    }

    fn candidates(&self, unit: u32, stream: Option<u8>) -> impl Iterator<Item = u32> + '_ {
        self.blocks_of(unit).filter(move |block| self.is_candidate(*block, stream))
    }

    fn oldest(&self, unit: u32, stream: Option<u8>) -> u32 {
        self.candidates(unit, stream).min_by_key(|block| self.opened_as[*block as usize]).unwrap_or_default()
    }

    /// Largest age x stale / valid (Kawaguchi, Nishioka and Motoda, "A flash-memory based file system", USENIX 1995, after
    /// the log-structured file system of Rosenblum and Ousterhout); a block without a valid page beats all. Age is in
    /// pages written, not in time: an idle drive does not age its data.
    fn most_beneficial(&self, unit: u32, stream: Option<u8>) -> u32 {
        let score = |block: u32| {
            let stale = f64::from(self.stale_count[block as usize]);
            let age = self.written.saturating_sub(self.opened_at[block as usize]) as f64;
            let valid = f64::from(self.geometry.pages) - stale;
            // Add one, so that among blocks opened just now the one with more stale pages wins.
            (age + 1.0) * stale / valid
        };
        self.candidates(unit, stream).max_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap_or_default()
    }

    /// The emptiest of `choices` full blocks, drawn with equal chances and with replacement (the d-choices policy of Van
    /// Houdt, "A mean field model for a class of garbage collection algorithms", SIGMETRICS 2013).
    fn drawn(&mut self, unit: u32, stream: Option<u8>, choices: u32) -> u32 {
        let first = self.blocks_of(unit).start;
        let state = &self.units[unit as usize];
        let span = u64::from(state.blocks + state.bad.len() as u32);
        let (mut best, mut found, mut misses) = (first, 0, 0);
        while found < choices {
            // A product instead of a remainder: no division, and a bias below span / 2^32.
            let block = first + (((self.draw() >> 32) * span) >> 32) as u32;
            if self.is_candidate(block, stream) {
                if found == 0 || self.stale_count[block as usize] > self.stale_count[best as usize] {
                    best = block;
                }
                found += 1;
            } else {
                // Hardly any block is full: look at them all instead. With half of them full 64 misses in a row have a
                // chance of 2^-64.
                misses += 1;
                if misses > 64 * choices {
                    return self.emptiest(unit, stream);
                }
            }
        }
        best
    }

    /// The next of a fixed sequence of 64-bit numbers (`SplitMix64` of Steele, Lea and Flood).
    fn draw(&mut self) -> u64 {
        self.draws = self.draws.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.draws ^ (self.draws >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Copy the valid pages of a block to the frontiers of their streams; how many. One erased block is opened for them
    /// at most: when both frontiers are full the pages of either stream go there.
    fn copy_by_heat<C: Cells>(&mut self, from: u32, unit: u32, cells: &mut C) -> u32 {
        let (pages, words) = (self.geometry.pages, self.geometry.words());
        let (mut moved, mut opened) = (0, false);
        for word in 0..words {
            let mut live = !self.stale[(from * words + word) as usize];
            if pages - 64 * word < 64 {
                live &= (1 << (pages - 64 * word)) - 1;
            }
            let first = from * pages + 64 * word;
            // All marks are looked up before any of them decides, so that the look-ups overlap.
            let hot = self.hot_of(first, live);
            while live != 0 {
                let bit = live.trailing_zeros();
                live &= live - 1;
                let mut slot = 2 * unit + u32::from(hot >> bit & 1 == 0);
                if self.frontiers[slot as usize].left == 0 {
                    if opened {
                        slot ^= 1;
                    } else {
                        self.take_free(slot);
                        opened = true;
                    }
                }
                let frontier = &mut self.frontiers[slot as usize];
                let target = (frontier.open + 1) * pages - frontier.left;
                frontier.left -= 1;
                let logical = self.reverse[(first + bit) as usize];
                self.reverse[target as usize] = logical;
                self.forward[logical as usize] = target;
                cells.copied(first + bit, target);
                moved += 1;
            }
        }
        moved
    }

    /// Pages of a frontier's open flash page that were written and wait for its program.
    pub(super) fn waiting_in(&self, slot: u32) -> u32 {
        self.frontiers[slot as usize].left.wrapping_neg() & (self.geometry.per_program - 1)
    }

    /// Flash pages of a block that hold something valid; `None` where each is one page of the map.
    fn reads_of(&self, block: u32) -> Option<u32> {
        let (per, words) = (self.geometry.per_program, self.geometry.words());
        if per == 1 {
            return None;
        }
        let mut reads = 0;
        for word in 0..words {
            let mut live = !self.stale[(block * words + word) as usize];
            let left = self.geometry.pages - 64 * word;
            live &= if left < 64 { (1 << left) - 1 } else { u64::MAX };
            while live != 0 {
                reads += 1;
                let first = live.trailing_zeros() / per * per;
                live &= u64::MAX.checked_shl(first + per).unwrap_or(0);
            }
        }
        Some(reads)
    }

    /// Copy the valid pages of a block to where survivors go; how many.
    fn copy_valid<C: Cells>(&mut self, from: u32, unit: u32, cells: &mut C) -> u32 {
        if self.rules.frontiers == Frontiers::HotCold {
            return self.copy_by_heat(from, unit, cells);
        }
        let slot = 2 * unit + self.rules.survivors();
        let (pages, words) = (self.geometry.pages, self.geometry.words());
        let source = from * pages;
        let mut room = self.frontiers[slot as usize].left;
        let mut target = if room > 0 { (self.frontiers[slot as usize].open + 1) * pages - room } else { 0 };
        let mut moved = 0;
        // By words of 64 marks and their lowest set bit, so that the stale pages of a victim, which are most, cost nothing.
        for word in 0..words {
            let mut live = !self.stale[(from * words + word) as usize];
            if pages - 64 * word < 64 {
                live &= (1 << (pages - 64 * word)) - 1;
            }
            while live != 0 {
                if room == 0 {
                    self.take_free(slot);
                    (target, room) = (self.frontiers[slot as usize].open * pages, pages);
                }
                let page = source + 64 * word + live.trailing_zeros();
                let logical = self.reverse[page as usize];
                live &= live - 1;
                self.reverse[target as usize] = logical;
                self.forward[logical as usize] = target;
                cells.copied(page, target);
                target += 1;
                room -= 1;
                moved += 1;
            }
        }
        self.frontiers[slot as usize].left = room;
        moved
    }

    pub(super) fn erase<C: Cells>(&mut self, block: u32, cells: &mut C) {
        let words = self.geometry.words();
        self.stale[(block * words) as usize..((block + 1) * words) as usize].fill(0);
        self.stale_count[block as usize] = NO_VICTIM;
        // Only an erase lowers a count: everywhere else a comparison with the group's best is enough.
        self.refresh_group(block / GROUP);
        self.wear(block);
        cells.erased(block);
    }

    fn refresh_group(&mut self, group: u32) {
        let blocks = &self.stale_count[(group * GROUP) as usize..((group + 1) * GROUP) as usize];
        self.group_best[group as usize] = blocks.iter().fold(NO_VICTIM, |most, count| most.max(*count));
    }

    /// Static wear levelling: when a block just erased has been erased `erases` times, `gap` or more above the least worn
    /// full block of its unit that was opened as many pages ago as the drive has, the cold data there moves to the most
    /// worn erased block. The rest of that block is not written until it is erased again.
    ///
    /// The age keeps a block out whose data was written lately: it will be erased soon without help, and levelling it
    /// would only add writes. The copy keeps the age of the data, not that of the block it moves to.
    fn level<C: Cells>(&mut self, unit: u32, erases: u32, gap: u32, cost: &mut BlockOpening, cells: &mut C) {
        let old = self.candidates(unit, None).filter(|block| self.age_of(*block) >= u64::from(self.geometry.logical));
        let Some(quiet) = old.min_by_key(|block| self.erases[*block as usize]) else { return };
        let free = &self.units[unit as usize].free;
        let Some(index) = (0..free.len()).max_by_key(|index| self.erases[free[*index] as usize]) else { return };
        let valid = self.geometry.pages - self.stale_count[quiet as usize] as u32;
        if erases < self.erases[quiet as usize].saturating_add(gap) || valid == 0 {
            return;
        }
        cost.reads += self.reads_of(quiet).unwrap_or(valid);
        cost.programs += valid.div_ceil(self.geometry.per_program);
        let onto = self.units[unit as usize].free.remove(index);
        let (pages, words) = (self.geometry.pages, self.geometry.words());
        let mut moved = 0;
        for page in 0..pages {
            let (word, bit) = self.word_of(quiet * pages + page, quiet);
            if self.stale[word] >> bit & 1 == 0 {
                let logical = self.reverse[(quiet * pages + page) as usize];
                self.reverse[(onto * pages + moved) as usize] = logical;
                self.forward[logical as usize] = onto * pages + moved;
                cells.copied(quiet * pages + page, onto * pages + moved);
                moved += 1;
            }
        }
        // No frontier will ever write the rest of this block, so it counts as stale: the next collection frees it.
        for page in moved..pages {
            self.stale[(onto * words + page / 64) as usize] |= 1 << (page % 64);
        }
        self.stale_count[onto as usize] = (pages - moved) as i16;
        self.refresh_group(onto / GROUP);
        self.mark_opened(onto, self.opened_at[quiet as usize]);
        if !self.heat.streams.is_empty() {
            self.heat.streams[onto as usize] = self.heat.streams[quiet as usize];
        }
        self.free_blocks -= 1;
        self.erase(quiet, cells);
        self.release(quiet);
        cost.levelled += moved;
        cost.erased += 1;
    }
}
