//! The write cache: extents that were acknowledged and are not yet on the medium. No two overlap: what is written again is
//! merged with what it overlaps, so that the order in which extents reach the medium never matters.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A range of cached sectors that are not yet on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extent {
    pub first: u64,
    /// Behind the last sector.
    pub end: u64,
    /// The submission that began it.
    pub sequence: u64,
}

/// All extents of the write cache, ordered by address and by age.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dirty {
    /// Sector behind the last and submission, by the first sector.
    by_place: BTreeMap<u64, (u64, u64)>,
    /// First sector and the one behind the last, by the submission that began the extent.
    by_age: BTreeMap<u64, (u64, u64)>,
    /// Sectors of all extents.
    pub sectors: u64,
}

impl Dirty {
    /// The extents, oldest first.
    pub(super) fn by_age(&self) -> impl Iterator<Item = Extent> + '_ {
        self.by_age.iter().map(|(&sequence, &(first, end))| Extent { first, end, sequence })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_age.is_empty()
    }

    /// Whether all sectors of a range are in one extent.
    pub(super) fn holds(&self, first: u64, end: u64) -> bool {
        self.by_place.range(..=first).next_back().is_some_and(|(_, (last, _))| *last >= end)
    }

    /// Whether any sector of a range is in an extent.
    pub(super) fn overlaps(&self, first: u64, end: u64) -> bool {
        self.by_place.range(..end).next_back().is_some_and(|(_, (last, _))| *last > first)
    }

    /// The extents that overlap a range.
    fn overlapping(&self, first: u64, end: u64) -> Vec<Extent> {
        let extents = self.by_place.range(..end).rev().take_while(|(_, (last, _))| *last > first);
        extents.map(|(&first, &(end, sequence))| Extent { first, end, sequence }).collect()
    }

    /// Add sectors; what overlaps them is merged, and so is an extent that ends where they begin while both together have at
    /// most `longest` sectors. A merged extent is as old as its oldest part. Sectors that were not there before.
    pub(super) fn add(&mut self, first: u64, end: u64, sequence: u64, longest: u64) -> u64 {
        let before = self.sectors;
        let mut merged = Extent { first, end, sequence };
        let mut parts = self.overlapping(first, end);
        if let Some((&at, &(last, sequence))) = self.by_place.range(..first).next_back()
            && last == first
            && end - at <= longest
        {
            parts.push(Extent { first: at, end: last, sequence });
        }
        for part in parts {
            self.remove(&part);
            merged.first = merged.first.min(part.first);
            merged.end = merged.end.max(part.end);
            merged.sequence = merged.sequence.min(part.sequence);
        }
        self.insert(merged);
        self.sectors - before
    }

    pub(super) fn insert(&mut self, extent: Extent) {
        self.by_place.insert(extent.first, (extent.end, extent.sequence));
        self.by_age.insert(extent.sequence, (extent.first, extent.end));
        self.sectors += extent.end - extent.first;
    }

    /// Take out an extent.
    pub(super) fn remove(&mut self, extent: &Extent) {
        self.by_place.remove(&extent.first);
        self.by_age.remove(&extent.sequence);
        self.sectors -= extent.end - extent.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random writes, against one flag for each sector.
    #[test]
    fn extents_are_the_sectors_that_were_added_and_not_removed() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut dirty, mut flags) = (Dirty::default(), [false; 200]);
        for sequence in 0..5000 {
            let first = draw(190);
            let end = first + 1 + draw(10);
            let range = first as usize..end as usize;
            assert_eq!(dirty.overlaps(first, end), flags[range.clone()].contains(&true));
            if draw(4) == 0 {
                let oldest = dirty.by_age().next();
                if let Some(oldest) = oldest {
                    dirty.remove(&oldest);
                    flags[oldest.first as usize..oldest.end as usize].fill(false);
                }
            } else {
                let new = flags[range.clone()].iter().filter(|flag| !**flag).count() as u64;
                assert_eq!(dirty.add(first, end, 10 * sequence, 15), new);
                flags[range].fill(true);
            }
            let mut found = [false; 200];
            for extent in dirty.by_age() {
                assert!(found[extent.first as usize..extent.end as usize].iter().all(|flag| !flag), "overlap");
                found[extent.first as usize..extent.end as usize].fill(true);
                assert!(dirty.holds(extent.first, extent.end));
            }
            assert_eq!(found, flags);
            assert_eq!(dirty.sectors, flags.iter().filter(|flag| **flag).count() as u64);
        }
    }
}
