//! The media cache: a log of the host's writes, and the map of what is in it.
//!
//! Positions in the log are counted on and on; the place on the disk is the position modulo the size. Nothing that is
//! logged as one lies across the end of the zone. Space becomes free in the order of the log, when cleaning has brought
//! home what is there or when something newer that is durable has replaced it.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// A write in the log: the journal, and behind it the data of one band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogEntry {
    /// Position of the journal.
    pub position: u64,
    /// Sectors of the host.
    pub first: u64,
    pub end: u64,
    /// The data are in their band.
    pub is_home: bool,
}

/// Sectors of the host that follow each other in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extent {
    pub first: u64,
    pub end: u64,
    /// Position of the first one.
    pub position: u64,
}

/// The media cache: a log of writes on the disk, and the map of the sectors in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MediaCache {
    sectors: u64,
    entries: u64,
    journal: u64,
    unit: u64,
    /// For each first sector of the host: the sector after the last, and the position of the first in the log. Without
    /// overlaps. Nothing overlaps.
    map: BTreeMap<u64, (u64, u64)>,
    pub log: VecDeque<LogEntry>,
    /// Position at which the next write is logged.
    pub head: u64,
}

impl MediaCache {
    pub(super) fn new(sectors: u64, entries: u64, journal: u64, unit: u64) -> Self {
        Self { sectors, entries, journal, unit, map: BTreeMap::new(), log: VecDeque::new(), head: 0 }
    }

    /// The first sector on the disk of a position.
    pub(super) fn place(&self, position: u64) -> u64 {
        position % self.sectors
    }

    /// Sectors that a write takes in the log, the journal in front of it included.
    pub(super) fn logged_sectors(&self, sectors: u64) -> u64 {
        (self.journal + sectors).next_multiple_of(self.unit)
    }

    /// Sectors of the journal in front of each write.
    pub(super) fn journal(&self) -> u64 {
        self.journal
    }

    /// Sectors between the oldest write that is kept and the next one.
    pub(super) fn used(&self) -> u64 {
        self.head - self.log.front().map_or(self.head, |oldest| oldest.position)
    }

    pub(super) fn extents(&self) -> u64 {
        self.map.len() as u64
    }

    /// Position at which a write of this length would be logged.
    fn next_position(&self, sectors: u64) -> u64 {
        let left = self.sectors - self.head % self.sectors;
        if self.logged_sectors(sectors) > left { self.head + left } else { self.head }
    }

    /// Whether there is room for a write of this length.
    pub(super) fn has_room(&self, sectors: u64) -> bool {
        let behind = self.next_position(sectors) + self.logged_sectors(sectors);
        let tail = self.log.front().map_or(self.head, |oldest| oldest.position);
        behind - tail <= self.sectors && self.extents() < self.entries
    }

    /// Whether log or map are full to this percentage.
    pub(super) fn is_filled_to(&self, percent: u64) -> bool {
        self.used() * 100 >= self.sectors * percent || self.extents() * 100 >= self.entries * percent
    }

    /// Log a write for which there is room; the position of its journal.
    pub(super) fn append(&mut self, first: u64, end: u64) -> u64 {
        let position = self.next_position(end - first);
        self.head = position + self.logged_sectors(end - first);
        self.log.push_back(LogEntry { position, first, end, is_home: false });
        self.insert(first, end, position + self.journal);
        position
    }

    fn insert(&mut self, first: u64, end: u64, position: u64) {
        self.remove(first, end, u64::MAX);
        self.map.insert(first, (end, position));
    }

    /// The extents that overlap a range, cut to it, in the order of addresses.
    pub(super) fn overlapping(&self, first: u64, end: u64) -> impl Iterator<Item = Extent> + '_ {
        let before = self.map.range(..first).next_back().filter(|(_, (last, _))| *last > first);
        before.into_iter().chain(self.map.range(first..end)).map(move |(&from, &(last, position))| {
            let cut = from.max(first);
            Extent { first: cut, end: last.min(end), position: position + (cut - from) }
        })
    }

    /// Forget what was logged before `head` of a range.
    fn remove(&mut self, first: u64, end: u64, head: u64) {
        let before = self.map.range(..first).next_back().filter(|(_, (last, _))| *last > first);
        let touched = before.into_iter().chain(self.map.range(first..end));
        let touched: Vec<(u64, u64, u64)> = touched.map(|(&from, &(last, at))| (from, last, at)).collect();
        for (from, last, position) in touched {
            if position >= head {
                continue;
            }
            self.map.remove(&from);
            if from < first {
                self.map.insert(from, (first, position));
            }
            if last > end {
                self.map.insert(end, (last, position + (end - from)));
            }
        }
    }

    /// Cleaning has brought home what was logged of a band before `head`.
    pub(super) fn bring_home(&mut self, (first, end): (u64, u64), head: u64) {
        self.remove(first, end, head);
        let logged = self.log.iter_mut().take_while(|logged| logged.position < head);
        logged.filter(|logged| first <= logged.first && logged.first < end).for_each(|logged| logged.is_home = true);
    }

    /// Free what is at home and what was replaced by something that was logged before `head`, from the oldest on.
    pub(super) fn reclaim(&mut self, head: u64) {
        while let Some(oldest) = self.log.front().copied() {
            let behind = oldest.position + self.logged_sectors(oldest.end - oldest.first);
            // Sectors missing from the map were rewritten in their band, this write included: it is needed for mapped
            // ones only.
            let needed = |extent: Extent| extent.position < behind || extent.position >= head;
            if !oldest.is_home && self.overlapping(oldest.first, oldest.end).any(needed) {
                break;
            }
            self.log.pop_front();
        }
    }

    /// The power failed, and these positions were lost, in rising order: what the journal says now.
    pub(super) fn recover(&mut self, lost: &[(u64, u64)]) {
        self.map.clear();
        let mut log = std::mem::take(&mut self.log);
        for logged in log.iter_mut().filter(|logged| !logged.is_home) {
            let data = logged.position + self.journal;
            let begins = lost.partition_point(|(_, end)| *end <= logged.position);
            let behind = data + (logged.end - logged.first);
            let lost = lost[begins..].iter().take_while(|(from, _)| *from < behind);
            let mut at = data;
            for (from, to) in lost.copied() {
                if from < data {
                    // A write without its journal entry cannot be found after a power cut: the log ends before it.
                    at = behind;
                    break;
                }
                if from > at {
                    self.insert(logged.first + (at - data), logged.first + (from - data), at);
                }
                at = to.min(behind);
            }
            if at < behind {
                self.insert(logged.first + (at - data), logged.end, at);
            }
        }
        self.log = log;
    }

    /// Replace the map.
    pub(super) fn set_map(&mut self, extents: &[Extent]) {
        self.map = extents.iter().map(|it| (it.first, (it.end, it.position))).collect();
    }

    /// Forget everything.
    pub(super) fn clear(&mut self) {
        self.map.clear();
        self.log.clear();
    }
}
