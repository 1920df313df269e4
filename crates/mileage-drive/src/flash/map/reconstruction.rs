//! Rebuild derived data after a state was loaded: reverse map, stale marks, counts.

use super::geometry::GROUP;
use super::{Frontier, Geometry, Map, NO_VICTIM, NOWHERE, Unit};

impl Map {
    /// Whether frontiers, erased blocks and worn blocks agree with each other and with the geometry.
    pub(crate) fn units_hold(&self) -> bool {
        (0..self.geometry.units).all(|unit| self.unit_holds(unit).is_some())
    }

    fn unit_holds(&self, unit: u32) -> Option<()> {
        let Geometry { replacements, pages, .. } = self.geometry;
        let state = &self.units[unit as usize];
        let blocks = state.blocks;
        let first = unit * self.geometry.stride();
        let require = |holds: bool| holds.then_some(());
        require(state.fresh <= blocks && state.bad.len() as u32 <= replacements)?;
        let in_service = blocks + state.bad.len() as u32;
        let mut seen = vec![false; in_service as usize];
        seen[state.fresh as usize..blocks as usize].fill(true);
        let open = [0, 1].map(|class| self.frontiers[(2 * unit + class) as usize]);
        require(state.kept <= state.erased())?;
        for Frontier { open, left } in open {
            require(if open == NOWHERE { left == 0 } else { left <= pages })?;
        }
        let opened = open.iter().map(|frontier| frontier.open).filter(|open| *open != NOWHERE);
        let lent = state.lent.iter().map(|lent| lent.block);
        for block in state.free.iter().chain(&state.bad).copied().chain(opened).chain(lent) {
            let mark = seen.get_mut(block.checked_sub(first)? as usize)?;
            require(!std::mem::replace(mark, true))?;
        }
        let one_frontier = self.rules.survivors() == 0;
        require(!one_frontier || open[1].open == NOWHERE)?;
        // Nothing is collected while there are blocks that were never written.
        require(self.free_of(unit) >= self.rules.free_min)
    }

    /// Derive the reverse map, the stale marks and their counts from the forward map and the units; false when a page
    /// is mapped to a place that is not written, that another page has, or that is not for it.
    pub(crate) fn derive(&mut self) -> bool {
        let Geometry { units, pages, .. } = self.geometry;
        let words = self.geometry.words();
        self.refresh_wear();
        self.free_blocks = self.units.iter().map(Unit::erased).sum();
        for unit in 0..units {
            let state = &self.units[unit as usize];
            let first = unit * self.geometry.stride();
            let mut written = vec![0; self.geometry.stride() as usize];
            written[..state.fresh as usize].fill(pages);
            written[state.blocks as usize..state.blocks as usize + state.bad.len()].fill(pages);
            for block in state.free.iter().chain(&state.bad) {
                written[(block - first) as usize] = 0;
            }
            let frontiers = [0, 1].map(|class| self.frontiers[(2 * unit + class) as usize]);
            let open = frontiers.map(|frontier| frontier.open);
            for frontier in frontiers {
                if frontier.open != NOWHERE {
                    written[(frontier.open - first) as usize] = pages - frontier.left;
                }
            }
            for lent in &state.lent {
                written[(lent.block - first) as usize] = lent.filled;
            }
            for (block, written) in (first..).zip(written) {
                let full = written == pages && !open.contains(&block);
                self.stale_count[block as usize] = written as i16 + if full { 0 } else { NO_VICTIM };
                for page in 0..written {
                    self.stale[(block * words + page / 64) as usize] |= 1 << (page % 64);
                }
            }
        }
        self.place_all()
    }

    fn place_all(&mut self) -> bool {
        self.mapped = 0;
        for logical in 0..self.forward.len() {
            let page = self.forward[logical];
            if page == NOWHERE {
                continue;
            }
            let block = self.block_of(page);
            let unit = block / self.geometry.stride();
            let (word, bit) = self.word_of(page, block);
            if self.rules.by_address && unit != logical as u32 % self.geometry.units {
                return false;
            }
            match self.stale.get_mut(word) {
                Some(marks) if *marks >> bit & 1 == 1 => *marks &= !(1 << bit),
                _ => return false,
            }
            self.stale_count[block as usize] -= 1;
            self.reverse[page as usize] = logical as u32;
            self.mapped += 1;
        }
        for (group, best) in self.group_best.iter_mut().enumerate() {
            let counts = &self.stale_count[group * GROUP as usize..(group + 1) * GROUP as usize];
            *best = counts.iter().fold(NO_VICTIM, |most, count| most.max(*count));
        }
        true
    }
}
