//! Losses of a power cut: the writes of the host that are not on the medium, and the progress of the arm with the one
//! it is writing.
//!
//! Sectors that have passed under the head are durable. The physical sector that is under it when the power fails has
//! neither the old data nor the new, and its checksum is wrong: reading it fails.

use super::geometry::Geometry;
use crate::block_device::{DurableExtent, Fate, Loss, Tag};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A write of the host, or a part of one, that a power cut would lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    pub tag: u64,
    pub first: u64,
    /// Behind the last sector.
    pub end: u64,
    /// Number of the write among those that the write cache took, from 1; 0: not taken yet.
    pub accepted: u64,
}

/// Source of the data that the arm writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Source {
    /// A write past the cache, by its submission.
    Host(u64),
    /// The cache, of what it had taken up to this one.
    Cache(u64),
}

/// The write that the arm is doing, or the last one that it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CurrentWrite {
    /// Whole physical sectors.
    pub first: u64,
    pub end: u64,
    /// The first sector passes to be written.
    pub begin_ns: u64,
    pub end_ns: u64,
    pub source: Source,
}

impl CurrentWrite {
    fn is_of(&self, sequence: u64, part: &Part) -> bool {
        match self.source {
            Source::Host(written) => written == sequence,
            Source::Cache(last) => {
                (1..=last).contains(&part.accepted) && self.first <= part.first && part.end <= self.end
            }
        }
    }

    /// The first sector that is not written at this instant.
    fn reached(&self, geometry: &Geometry, at_ns: u64) -> u64 {
        let (mut lba, mut begin_ns) = (self.first, self.begin_ns);
        while begin_ns <= at_ns && lba < self.end {
            let place = geometry.place(lba);
            let count = u64::from(place.left).min(self.end - lba) as u32;
            let passed = geometry.passed(&place, at_ns - begin_ns).min(count);
            lba += u64::from(passed);
            if passed < count || lba == self.end {
                break;
            }
            let next = geometry.place(lba);
            let moved_ns = begin_ns + geometry.pass_ns(&place, count);
            let moved_ns = moved_ns + geometry.move_ns((place.cylinder, place.head), (next.cylinder, next.head), true);
            begin_ns = moved_ns + geometry.wait_ns(next.angle_ns, moved_ns);
        }
        lba
    }
}

/// All writes that a power cut would lose now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Volatile {
    /// Parts of writes that are not durable, by submission.
    pub parts: BTreeMap<u64, Part>,
    /// Of those that the cache has taken, first sector and submission. An access finds what it writes here: to look through
    /// all parts would take as long as the cache has places.
    cached: BTreeSet<(u64, u64)>,
    /// Writes that the cache has taken.
    pub accepted: u64,
    pub writing: Option<CurrentWrite>,
    pub reports: bool,
    /// Not yet collected.
    pub persisted: Vec<DurableExtent>,
}

impl Volatile {
    /// The write cache takes a write.
    pub(super) fn accept(&mut self, sequence: u64) {
        self.accepted += 1;
        if let Some(part) = self.parts.get_mut(&sequence) {
            part.accepted = self.accepted;
            self.cached.insert((part.first, sequence));
        }
    }

    /// Parts of a saved state, by submission.
    pub(super) fn restore(&mut self, parts: BTreeMap<u64, Part>) {
        let cached = parts.iter().filter(|(_, part)| part.accepted > 0);
        self.cached = cached.map(|(sequence, part)| (part.first, *sequence)).collect();
        self.parts = parts;
    }

    /// Forget all parts; whether durable ones are reported stays.
    pub(super) fn forget(&mut self) {
        *self = Self { reports: self.reports, ..Self::default() };
    }

    /// Forget the parts that the cache has not taken.
    pub(super) fn forget_uncached(&mut self) {
        self.parts.retain(|_, part| part.accepted > 0);
    }

    /// All that the cache has taken so far.
    pub(super) fn taken_so_far(&self) -> Source {
        Source::Cache(self.accepted)
    }

    /// Mark the sectors that the arm has written until `now_ns` as durable.
    pub(super) fn settle(&mut self, now_ns: u64) {
        let Some(writing) = self.writing.filter(|writing| writing.end_ns <= now_ns) else { return };
        self.writing = None;
        let (reports, persisted) = (self.reports, &mut self.persisted);
        let mut done = |part: &Part| {
            if reports {
                let (offset_bytes, length_bytes) = (part.first * 512, (part.end - part.first) * 512);
                persisted.push(DurableExtent { tag: Tag(part.tag), offset_bytes, length_bytes, at_ns: writing.end_ns });
            }
        };
        if let Source::Host(sequence) = writing.source {
            self.parts.remove(&sequence).iter().for_each(&mut done);
            return;
        }
        let begin_within = self.cached.range((writing.first, 0)..(writing.end, 0)).map(|(_, sequence)| *sequence);
        let is_written = |sequence: &u64| self.parts.get(sequence).is_some_and(|part| writing.is_of(*sequence, part));
        let mut written: Vec<u64> = begin_within.filter(is_written).collect();
        written.sort_unstable();
        for part in written.iter().filter_map(|sequence| self.parts.remove_entry(sequence)) {
            self.cached.remove(&(part.1.first, part.0));
            done(&part.1);
        }
    }

    /// Losses of a power cut at `at_ns` among the sectors from `within.0` up to `within.1`; `unit` is a physical
    /// sector.
    pub(super) fn losses(&self, geometry: &Geometry, within: (u64, u64), unit: u64, at_ns: u64) -> Vec<Loss> {
        let mut losses = Vec::new();
        let mut lose = |tag, first: u64, end: u64, fate| {
            let (first, end) = (first.max(within.0), end.min(within.1));
            if first < end {
                let (offset_bytes, length_bytes) = (first * 512, (end - first) * 512);
                losses.push(Loss { tag: Tag(tag), offset_bytes, length_bytes, fate });
            }
        };
        for (sequence, part) in &self.parts {
            let Part { tag, first, end, .. } = *part;
            let writing = self.writing.filter(|writing| writing.is_of(*sequence, part) && writing.begin_ns <= at_ns);
            let Some(writing) = writing else {
                lose(tag, first, end, Fate::Old);
                continue;
            };
            if writing.end_ns <= at_ns {
                continue;
            }
            let reached = writing.reached(geometry, at_ns);
            let broken = reached - reached % unit;
            lose(tag, first.max(broken), end.min(broken + unit), Fate::Unreadable);
            lose(tag, first.max(broken + unit), end, Fate::Old);
        }
        losses
    }
}
