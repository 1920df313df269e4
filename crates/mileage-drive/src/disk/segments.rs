//! The cache for reads: segments, each with sectors that follow each other, the least recently used one replaced first.

use serde::{Deserialize, Serialize};

/// One segment of the read cache: a range of consecutive sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    pub first: u64,
    /// Behind the last sector.
    pub end: u64,
    /// Time at which all of them have been read from the medium.
    pub ready_ns: u64,
    /// The count of uses when it was used last.
    pub used: u64,
}

/// The read cache of a disk: all its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segments {
    pub list: Vec<Segment>,
    pub uses: u64,
    /// The segment that was filled last; reading ahead goes into it.
    pub active: usize,
    sectors: u64,
}

impl Segments {
    pub(super) fn new(count: u32, sectors: u64) -> Self {
        Self { list: vec![Segment::default(); count as usize], uses: 0, active: 0, sectors }
    }

    pub(super) fn clear(&mut self) {
        self.list.fill(Segment::default());
    }

    /// Reading ahead has come to this sector.
    pub(super) fn reached(&mut self, end: u64, at_ns: u64) {
        let sectors = self.sectors;
        if let Some(segment) = self.list.get_mut(self.active)
            && end > segment.end
        {
            (segment.end, segment.ready_ns) = (end, at_ns);
            segment.first = segment.first.max(end.saturating_sub(sectors));
        }
    }

    /// The segment that holds the sector, and marks it as used.
    pub(super) fn find(&mut self, lba: u64) -> Option<usize> {
        let found = self.list.iter().position(|segment| segment.first <= lba && lba < segment.end)?;
        self.uses += 1;
        self.list[found].used = self.uses;
        Some(found)
    }

    /// Sectors up to `end` are read from the medium, where `lba` is the first; they extend the segment that ends there.
    pub(super) fn fill(&mut self, lba: u64, end: u64, ready_ns: u64) {
        let found = self.list.iter().position(|segment| segment.end == lba && segment.end > segment.first);
        let oldest = || (0..self.list.len()).min_by_key(|index| self.list[*index].used);
        let Some(index) = found.or_else(oldest) else { return };
        let first = if found.is_some() { self.list[index].first } else { lba };
        self.uses += 1;
        let first = first.max(end.saturating_sub(self.sectors));
        self.list[index] = Segment { first, end, ready_ns, used: self.uses };
        self.active = index;
    }

    /// Sectors are written: segments with any of them are dropped. Whether the active one was.
    pub(super) fn drop_range(&mut self, lba: u64, end: u64) -> bool {
        let mut active = false;
        for (index, segment) in self.list.iter_mut().enumerate() {
            if segment.first < end && lba < segment.end {
                active |= index == self.active;
                *segment = Segment { used: segment.used, ..Segment::default() };
            }
        }
        active
    }
}
