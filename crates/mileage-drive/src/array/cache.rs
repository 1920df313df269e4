//! The controller's cache: a write-back cache that is destaged in the order of addresses, and a read cache of pages of 4 KiB
//! that forgets the least recently used.

use super::layout::Layout;
use super::stripe::{Range, joined};
use super::work::{Operation, Part, Record};
use crate::content::Content;
use crate::profile::{CachePower, Controller};
use crate::saved_state::{Reader, StateError, Writer, reachable, saved_fields};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Most bytes of a destage without parity.
const DESTAGE_BYTES: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;

/// What a controller remembers.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub capacity: u64,
    power: CachePower,
    /// What was not destaged: first byte, byte behind the last, content; without overlaps.
    pub dirty: BTreeMap<u64, (u64, Content)>,
    pub dirty_bytes: u64,
    /// Room that destages in progress still need.
    pub held_bytes: u64,
    /// The parts of writes that dirty data is of, also of those that were overwritten in the cache, by (first byte, number);
    /// none with a battery, since nothing can be lost.
    pub log: BTreeMap<(u64, u64), Record>,
    /// No part in the log is longer.
    longest: u64,
    /// Writes that wait for room.
    pub waiting: VecDeque<u64>,
    /// Commands that wait until older data is destaged.
    pub bypasses: VecDeque<u64>,
    /// Operations that destage.
    pub destages: BTreeSet<u64>,
    /// Where destaging is.
    pub hand: u64,
    /// Whether [`What::Destage`] is due.
    pub is_due: bool,
    pages_max: usize,
    /// Pages by when they were used, and the reverse.
    pages: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
    uses: u64,
}

impl Cache {
    pub(crate) fn new(controller: &Controller) -> Self {
        Self {
            capacity: controller.write_cache_bytes,
            power: controller.cache_power,
            dirty: BTreeMap::new(),
            dirty_bytes: 0,
            held_bytes: 0,
            log: BTreeMap::new(),
            longest: 0,
            waiting: VecDeque::new(),
            bypasses: VecDeque::new(),
            destages: BTreeSet::new(),
            hand: 0,
            is_due: false,
            pages_max: (controller.read_cache_bytes / PAGE_BYTES) as usize,
            pages: BTreeMap::new(),
            used: BTreeMap::new(),
            uses: 0,
        }
    }

    pub(crate) fn dirty_bytes(&self) -> u64 {
        self.dirty_bytes + self.held_bytes
    }

    pub(crate) fn has_room(&self, length: u64) -> bool {
        self.dirty_bytes() + length <= self.capacity
    }

    /// Whether anything of a range was not destaged.
    pub(crate) fn overlaps(&self, operations: &BTreeMap<u64, Operation>, offset: u64, length: u64) -> bool {
        !self.ranges(operations, offset, length).is_empty()
    }

    /// What of a range was not destaged.
    fn ranges(&self, operations: &BTreeMap<u64, Operation>, offset: u64, length: u64) -> Vec<Range> {
        if self.capacity == 0 {
            return Vec::new();
        }
        let end = offset + length;
        let before = self.dirty.range(..offset).next_back();
        let dirty = before.into_iter().chain(self.dirty.range(offset..end)).map(|(from, (to, _))| (*from, *to));
        let parts = self.destages.iter().filter_map(|id| operations.get(id)).flat_map(|it| &it.parts);
        let all = dirty.chain(parts.map(|part| (part.offset, part.offset + part.length)));
        let clipped = all.map(|(from, to)| (from.max(offset), to.min(end))).filter(|(from, to)| from < to);
        joined(clipped.collect())
    }

    /// Whether a read needs no member.
    pub(crate) fn hits(&mut self, operations: &BTreeMap<u64, Operation>, offset: u64, length: u64) -> bool {
        if self.ranges(operations, offset, length) == [(offset, offset + length)] {
            return true;
        }
        let pages = (offset / PAGE_BYTES)..(offset + length).div_ceil(PAGE_BYTES);
        if self.pages_max == 0 || !pages.clone().all(|page| self.pages.contains_key(&page)) {
            return false;
        }
        pages.for_each(|page| self.use_page(page));
        true
    }

    fn use_page(&mut self, page: u64) {
        if let Some(before) = self.pages.insert(page, self.uses) {
            self.used.remove(&before);
        }
        self.used.insert(self.uses, page);
        self.uses += 1;
        if self.pages.len() > self.pages_max
            && let Some((_, oldest)) = self.used.pop_first()
        {
            self.pages.remove(&oldest);
        }
    }

    /// Whole pages of a range are in the read cache now.
    pub(crate) fn keep(&mut self, offset: u64, length: u64) {
        if self.pages_max > 0 {
            let pages = offset.div_ceil(PAGE_BYTES)..(offset + length) / PAGE_BYTES;
            pages.for_each(|page| self.use_page(page));
        }
    }

    /// Whether something older than a command was not destaged.
    pub(crate) fn has_before(&self, operations: &BTreeMap<u64, Operation>, command: u64) -> bool {
        let under_way = self.destages.iter().filter_map(|id| operations.get(id)).flat_map(|it| &it.records);
        self.log.values().chain(under_way).any(|record| record.command < command)
    }

    pub(crate) fn insert(&mut self, record: Record, content: Content, sector_bytes: u32) {
        let (from, to) = (record.offset, record.offset + record.length);
        self.cut_out(from, to, sector_bytes);
        self.dirty.insert(from, (to, content));
        self.dirty_bytes += to - from;
        self.note_write(record);
    }

    fn note_write(&mut self, record: Record) {
        if self.power == CachePower::Volatile && record.length > 0 {
            self.longest = self.longest.max(record.length);
            self.log.insert((record.offset, record.command), record);
        }
    }

    /// Take the parts of writes in a range out of the log.
    fn take_log(&mut self, from: u64, to: u64) -> Vec<Record> {
        let near = self.log.range((from.saturating_sub(self.longest), 0)..(to, 0));
        let touched: Vec<Record> = near.map(|(_, it)| *it).filter(|it| it.offset + it.length > from).collect();
        for record in &touched {
            self.log.remove(&(record.offset, record.command));
            let end = record.offset + record.length;
            self.note_write(Record { length: from.saturating_sub(record.offset), ..*record });
            self.note_write(Record { offset: to, length: end.saturating_sub(to), ..*record });
        }
        super::work::inside(&touched, from, to - from)
    }

    /// The parts of writes that lie in a range.
    pub(crate) fn logged(&self, from: u64, to: u64) -> Vec<Record> {
        let near = self.log.range((from.saturating_sub(self.longest), 0)..(to, 0));
        let near: Vec<Record> = near.map(|(_, it)| *it).collect();
        super::work::inside(&near, from, to - from)
    }

    /// Remove a range of what is dirty; what was there.
    fn cut_out(&mut self, from: u64, to: u64, sector_bytes: u32) -> Vec<Part> {
        let before = self.dirty.range(..from).next_back().filter(|(_, (end, _))| *end > from);
        let starts: Vec<u64> = before.into_iter().chain(self.dirty.range(from..to)).map(|(at, _)| *at).collect();
        let mut removed = Vec::new();
        for start in starts {
            let Some((end, content)) = self.dirty.remove(&start) else { continue };
            let sectors = |bytes: u64| bytes / u64::from(sector_bytes);
            let part = |at: u64, end: u64| content.part(sectors(at - start), sectors(end - at), sector_bytes);
            let (low, high) = (start.max(from), end.min(to));
            if start < low {
                self.dirty.insert(start, (low, part(start, low)));
            }
            if high < end {
                self.dirty.insert(high, (end, part(high, end)));
            }
            self.dirty_bytes -= high - low;
            removed.push(Part { offset: low, length: high - low, content: part(low, high) });
        }
        removed
    }

    /// Take what is to be destaged next.
    pub(crate) fn take(&mut self, layout: &Layout, sector_bytes: u32) -> Option<(Vec<Part>, Vec<Record>)> {
        let next = self.dirty.range(self.hand..).next().or_else(|| self.dirty.iter().next());
        let (start, mut end) = next.map(|(from, (to, _))| (*from, *to))?;
        let mut from = start;
        if layout.level.parities() > 0 {
            let row = layout.chunk * layout.data() as u64;
            from = start / row * row;
            end = from + row;
        } else {
            while let Some((to, _)) = self.dirty.get(&end) {
                end = *to;
            }
            end = end.min(start + DESTAGE_BYTES);
        }
        let mut parts = self.cut_out(from, end, sector_bytes);
        if parts.iter().all(|part| part.content == Content::Unknown) {
            let ranges = joined(parts.iter().map(|it| (it.offset, it.offset + it.length)).collect());
            let part = |(offset, end): (u64, u64)| Part { offset, length: end - offset, content: Content::Unknown };
            parts = ranges.into_iter().map(part).collect();
        }
        self.hand = end;
        self.held_bytes += parts.iter().map(|part| part.length).sum::<u64>();
        let records = self.take_log(from, end);
        Some((parts, records))
    }

    /// Nothing is in progress any more.
    pub(crate) fn forget_work(&mut self) {
        self.waiting.clear();
        self.bypasses.clear();
        self.destages.clear();
        self.held_bytes = 0;
        self.is_due = false;
    }

    /// Nothing is dirty and nothing remembered.
    pub(crate) fn clear(&mut self) {
        self.forget_work();
        self.dirty.clear();
        self.log.clear();
        self.dirty_bytes = 0;
        self.pages.clear();
        self.used.clear();
    }

    /// What was being destaged is dirty again, below what is dirty already.
    pub(crate) fn take_back(&mut self, operation: &Operation, sector_bytes: u32) {
        for part in &operation.parts {
            let newer: Vec<Part> = self.cut_out(part.offset, part.offset + part.length, sector_bytes);
            self.put_back(part.clone(), sector_bytes);
            newer.into_iter().for_each(|part| self.put_back(part, sector_bytes));
        }
        operation.records.iter().for_each(|record| self.note_write(*record));
    }

    fn put_back(&mut self, part: Part, sector_bytes: u32) {
        let end = part.offset + part.length;
        self.cut_out(part.offset, end, sector_bytes);
        self.dirty.insert(part.offset, (end, part.content));
        self.dirty_bytes += part.length;
    }

    saved_fields!(held_bytes, hand, is_due, waiting, bypasses, destages);

    pub(crate) fn save(&self, out: &mut Writer) {
        self.save_fields(out);
        out.value(&self.dirty);
        out.value(&self.log.values().collect::<Vec<_>>());
        out.value(&self.used.values().collect::<Vec<_>>());
    }

    pub(crate) fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        self.clear();
        self.restore_fields(reader)?;
        self.dirty = reader.value()?;
        reachable(self.dirty.iter().flat_map(|(from, (to, _))| [*from, *to]))?;
        self.dirty_bytes = self.dirty.iter().map(|(from, (to, _))| to.saturating_sub(*from)).sum();
        let (records, pages): (Vec<Record>, Vec<u64>) = (reader.value()?, reader.value()?);
        records.into_iter().for_each(|record| self.note_write(record));
        self.uses = 0;
        pages.into_iter().for_each(|page| self.use_page(page));
        Ok(())
    }
}
