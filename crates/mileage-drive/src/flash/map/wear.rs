//! Wear of a page map: which block replaces one that is worn out, and how evenly erases are spread.

use super::Map;
use super::geometry::GROUP;
use crate::flash::wear_policy::EraseSpread;

impl Map {
    /// A block has been erased once more.
    pub(super) fn wear(&mut self, block: u32) {
        self.erases[block as usize] = self.erases[block as usize].saturating_add(1);
        let group = (block / GROUP) as usize;
        self.group_erases[group] = EraseSpread::of(&self.erases[group * GROUP as usize..(group + 1) * GROUP as usize]);
    }

    /// Recompute derived data after all erase counts may have changed.
    pub(super) fn refresh_wear(&mut self) {
        let groups = self.erases.chunks_exact(GROUP as usize).map(EraseSpread::of);
        self.group_erases.iter_mut().zip(groups).for_each(|(spread, group)| *spread = group);
    }

    /// An erased block waits to be used again, or is replaced when it is past its limit.
    pub(super) fn release(&mut self, block: u32) {
        let unit = block / self.geometry.stride();
        let mut next = block;
        if let Some(limit) = self.rules.wear.limit_of(block)
            && self.erases[block as usize] >= limit
        {
            let state = &mut self.units[unit as usize];
            if (state.bad.len() as u32) < self.geometry.replacements {
                state.bad.push(block);
                next = unit * self.geometry.stride() + state.blocks + state.bad.len() as u32 - 1;
            } else {
                self.worn_out = true;
            }
        }
        self.units[unit as usize].free.push(next);
        self.free_blocks += 1;
    }

    /// The least and the most erases of a block in service.
    pub(crate) fn erase_spread(&self) -> EraseSpread {
        let mut spread = EraseSpread::NONE;
        for (unit, state) in self.units.iter().enumerate() {
            let first = unit as u32 * self.geometry.stride();
            if state.bad.is_empty() {
                let behind = first + state.blocks;
                let (group, groups_behind) = (first / GROUP, behind / GROUP);
                let groups = &self.group_erases[group as usize..groups_behind as usize];
                spread = groups.iter().fold(spread, |spread, group| spread.and(*group));
                let rest = &self.erases[(groups_behind * GROUP) as usize..behind as usize];
                spread = spread.and(EraseSpread::of(rest));
                continue;
            }
            for block in first..first + state.blocks + state.bad.len() as u32 {
                if !state.bad.contains(&block) {
                    spread = spread.and(EraseSpread::of(&self.erases[block as usize..=block as usize]));
                }
            }
        }
        spread
    }

    /// Number of blocks that went bad in use and were replaced by spare blocks.
    pub(crate) fn bad_blocks(&self) -> u64 {
        self.units.iter().map(|unit| unit.bad.len() as u64).sum()
    }

    /// Every block that was written is erased; what is worn stays worn.
    pub(crate) fn erase_all(&mut self) {
        let mut fresh = Self::new(self.geometry, self.rules.clone());
        fresh.erases = std::mem::take(&mut self.erases);
        for unit in 0..self.geometry.units {
            let state = &self.units[unit as usize];
            let first = unit * self.geometry.stride();
            let written = |block: u32| {
                !state.bad.contains(&block)
                    && !state.free.contains(&block)
                    && !(state.fresh..state.blocks).contains(&(block - first))
            };
            let in_service = state.blocks + state.bad.len() as u32;
            for block in (first..first + in_service).filter(|block| written(*block)) {
                fresh.erases[block as usize] = fresh.erases[block as usize].saturating_add(1);
            }
            if !state.bad.is_empty() {
                let blocks = first..first + in_service;
                let emptied = &mut fresh.units[unit as usize];
                emptied.fresh = state.blocks;
                emptied.free = blocks.filter(|block| !state.bad.contains(block)).collect();
                emptied.bad.clone_from(&state.bad);
            }
        }
        fresh.worn_out = self.worn_out;
        fresh.refresh_wear();
        *self = fresh;
    }
}
