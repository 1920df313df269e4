//! Pages of files in memory: which are there, which are dirty, which are being read or written.
//!
//! A file's pages are kept in chunks of 64, each state a bit, so that a page costs little more than a byte; `Lru` adds the
//! order in which pages are given up.
//!
//! # Invariant
//! A page that is dirty, locked or under write-back is present; the counters equal the bits. *Guard:* [`PageCache::check`],
//! called by the tests after random calls.

use crate::chunk::Chunk;
use crate::lru::{Lru, Run};
use crate::page_bits::{CHUNK, bits, parts, runs};
use serde::{Deserialize, Serialize};

/// Bytes of a page and of a file-system block.
pub const PAGE_BYTES: u64 = 4096;

/// Pages that move from the active list to the inactive one at a time (`SWAP_CLUSTER_MAX`).
const DEACTIVATED: u32 = 32;

/// Number of a file: never used twice; 0 is the device's own mapping, which holds metadata.
pub type FileId = u32;

/// The mapping of the block device itself.
pub const DEVICE_FILE: FileId = 0;

/// What is cached of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct FilePages {
    /// Place of each chunk in the slab, plus one; 0 for none.
    chunks: Vec<u32>,
    pages: u64,
    dirty: u64,
    writeback: u64,
    /// No dirty page lies in chunks outside of these.
    dirty_chunks: (u32, u32),
}

/// What stands at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// This number of pages is there.
    Present(u32),
    /// The page is there, and it is a read-ahead marker.
    Marked,
    /// The page is being read.
    Locked,
    /// This number of pages is missing.
    Missing(u32),
}

/// All cached pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCache {
    pub(crate) slab: Vec<Chunk>,
    free: Vec<u32>,
    mappings: Vec<Option<Box<FilePages>>>,
    lru: Lru,
    /// Pages that there may be.
    limit: u64,
    /// How many times as long as the inactive list the active one may be, in hundredths.
    active_percent: u64,
    present: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    activated: u64,
}

impl PageCache {
    /// An empty cache of at most `limit` pages; the active list may be `active_percent` percent of the inactive one.
    pub fn new(limit: u64, active_percent: u64) -> Self {
        Self {
            slab: Vec::new(),
            free: Vec::new(),
            mappings: Vec::new(),
            lru: Lru::default(),
            limit,
            active_percent,
            present: 0,
            dirty: 0,
            writeback: 0,
            evicted: 0,
            activated: 0,
        }
    }

    /// Pages that are there.
    pub fn present(&self) -> u64 {
        self.present
    }

    /// Pages that are there and on the active list.
    pub fn active(&self) -> u64 {
        self.lru.active_pages
    }

    /// Pages that may be there.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Dirty pages, those under write-back apart.
    pub fn dirty(&self) -> u64 {
        self.dirty
    }

    /// Pages under write-back.
    pub fn writeback(&self) -> u64 {
        self.writeback
    }

    /// Pages given up for others, so far.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Pages moved to the active list, so far.
    pub fn activated(&self) -> u64 {
        self.activated
    }

    /// Dirty pages of a file.
    pub fn dirty_of(&self, file: FileId) -> u64 {
        self.mapping(file).map_or(0, |mapping| mapping.dirty)
    }

    /// Cached pages of a file.
    pub fn pages_of(&self, file: FileId) -> u64 {
        self.mapping(file).map_or(0, |mapping| mapping.pages)
    }

    /// Bytes of memory that the cache takes here.
    pub fn memory_bytes(&self) -> usize {
        let chunks =
            self.mappings.iter().flatten().map(|mapping| mapping.chunks.capacity() * 4 + size_of::<FilePages>());
        self.slab.capacity() * size_of::<Chunk>() + chunks.sum::<usize>() + self.lru.memory_bytes()
    }

    fn mapping(&self, file: FileId) -> Option<&FilePages> {
        self.mappings.get(file as usize)?.as_deref()
    }

    fn mapping_mut(&mut self, file: FileId) -> &mut FilePages {
        let file = file as usize;
        if self.mappings.len() <= file {
            self.mappings.resize_with(file + 1, || None);
        }
        self.mappings[file].get_or_insert_default()
    }

    #[inline]
    pub(crate) fn place(&self, file: FileId, chunk: u32) -> Option<usize> {
        let place = *self.mapping(file)?.chunks.get(chunk as usize)?;
        place.checked_sub(1).map(|place| place as usize)
    }

    fn place_or_new(&mut self, file: FileId, chunk: u32) -> usize {
        if let Some(place) = self.place(file, chunk) {
            return place;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            if self.slab.len() == self.slab.capacity() {
                self.slab.reserve_exact(self.slab.len() / 8 + 64);
            }
            self.slab.push(Chunk::default());
            self.slab.len() as u32 - 1
        });
        let it = &mut self.slab[place as usize];
        (it.file, it.number) = (file, chunk);
        let mapping = self.mapping_mut(file);
        if mapping.chunks.len() <= chunk as usize {
            mapping.chunks.resize(chunk as usize + 1, 0);
        }
        mapping.chunks[chunk as usize] = place + 1;
        place as usize
    }

    /// A chunk without pages gives its place up.
    fn give_up(&mut self, place: usize) {
        let Chunk { file, number, generation, .. } = self.slab[place];
        self.slab[place] = Chunk { generation: generation.wrapping_add(1), ..Chunk::default() };
        self.free.push(place as u32);
        self.mapping_mut(file).chunks[number as usize] = 0;
    }

    /// What stands at `page`, looking no further than `count` pages.
    #[inline]
    pub fn look(&self, file: FileId, page: u32, count: u32) -> Found {
        let mut found = 0;
        for (chunk, wanted) in parts(page, count) {
            let Some(place) = self.place(file, chunk) else { break };
            let Chunk { present, locked, marker, .. } = self.slab[place];
            let lacking = wanted & !(present & !locked & !marker);
            if lacking == 0 {
                found += wanted.count_ones();
                continue;
            }
            found += (lacking.trailing_zeros() - wanted.trailing_zeros()).min(CHUNK);
            if found == 0 {
                let bit = lacking & lacking.wrapping_neg();
                if locked & bit != 0 {
                    return Found::Locked;
                }
                if marker & bit != 0 {
                    return Found::Marked;
                }
            }
            break;
        }
        if found > 0 { Found::Present(found) } else { Found::Missing(self.missing(file, page, count)) }
    }

    /// How many pages from `page` on are not there, at most `count`.
    pub fn missing(&self, file: FileId, page: u32, count: u32) -> u32 {
        let mut missing = 0;
        for (chunk, wanted) in parts(page, count) {
            let present = self.place(file, chunk).map_or(0, |place| self.slab[place].present & wanted);
            if present != 0 {
                return missing + present.trailing_zeros() - wanted.trailing_zeros();
            }
            missing += wanted.count_ones();
        }
        missing
    }

    /// Whether a page is there, read or not.
    pub fn is_present(&self, file: FileId, page: u32) -> bool {
        self.missing(file, page, 1) == 0
    }

    /// Whether a page is under write-back.
    pub fn is_under_writeback(&self, file: FileId, page: u32) -> bool {
        let place = self.place(file, page / CHUNK);
        place.is_some_and(|place| self.slab[place].writeback & bits(page % CHUNK, 1) != 0)
    }

    /// Whether a page is dirty.
    pub fn is_dirty(&self, file: FileId, page: u32) -> bool {
        let place = self.place(file, page / CHUNK);
        place.is_some_and(|place| self.slab[place].dirty & bits(page % CHUNK, 1) != 0)
    }

    /// How many pages before `page` are there without a gap, at most `most`.
    pub fn history(&self, file: FileId, page: u32, most: u32) -> u32 {
        (0..most.min(page)).take_while(|back| self.is_present(file, page - 1 - back)).count() as u32
    }

    /// The first page from `page` on that is not there, looking at `most` pages.
    pub fn next_hole(&self, file: FileId, page: u32, most: u32) -> u32 {
        page + (0..most).take_while(|ahead| self.is_present(file, page + ahead)).count() as u32
    }

    /// Pages that are there were used.
    #[inline]
    pub fn touch(&mut self, file: FileId, page: u32, count: u32) {
        for (chunk, wanted) in parts(page, count) {
            let Some(place) = self.place(file, chunk) else { continue };
            let it = &mut self.slab[place];
            let second = wanted & it.referenced & !it.active & it.present;
            it.referenced |= wanted & it.present;
            if second != 0 {
                it.active |= second;
                it.referenced &= !second;
                self.activated += u64::from(second.count_ones());
                self.enqueue(place, second, true);
            }
        }
    }

    /// Put pages at the end of a list.
    fn enqueue(&mut self, place: usize, pages: u64, active: bool) {
        let generation = self.slab[place].generation;
        let before = self.slab[place].turn;
        for turn in 0..4u8 {
            let [low, high] = [0, 1].map(|bit| if turn >> bit & 1 == 1 { before[bit] } else { !before[bit] });
            let these = pages & low & high;
            if these == 0 {
                continue;
            }
            let next = (turn + 1) & 3;
            for bit in 0..2 {
                let word = &mut self.slab[place].turn[bit];
                *word = if next >> bit & 1 == 1 { *word | these } else { *word & !these };
            }
            for (first, length) in runs(these) {
                self.lru.push(active, Run::new(place as u32, (first, length), next, generation));
            }
        }
        if self.lru.is_long() {
            let slab = &self.slab;
            self.lru.drop_stale(|run, active| Chunk::pages_of(slab, run, active) != 0);
        }
        self.lru.count(active, i64::from(pages.count_ones()));
        if active {
            self.lru.count(false, -i64::from(pages.count_ones()));
        }
    }

    /// Pages that were not there are, locked until they are read; `marker` becomes a read-ahead marker if it is one of
    /// them. None of the pages may be there.
    pub fn insert_locked(&mut self, file: FileId, page: u32, count: u32, marker: Option<u32>) {
        self.insert(file, page, count, |it, pages| it.locked |= pages);
        if let Some(marker) = marker.filter(|marker| (page..page + count).contains(marker)) {
            let place = self.place_or_new(file, marker / CHUNK);
            self.slab[place].marker |= bits(marker % CHUNK, 1);
        }
    }

    fn insert(&mut self, file: FileId, page: u32, count: u32, set: impl Fn(&mut Chunk, u64)) {
        for (chunk, wanted) in parts(page, count) {
            let place = self.place_or_new(file, chunk);
            let new = wanted & !self.slab[place].present;
            set(&mut self.slab[place], wanted);
            if new != 0 {
                self.slab[place].present |= new;
                let added = u64::from(new.count_ones());
                self.mapping_mut(file).pages += added;
                self.present += added;
                self.enqueue(place, new, false);
            }
        }
        if self.present > self.limit {
            self.reclaim();
        }
    }

    /// Pages are there that were not read from the drive, clean.
    pub fn insert_read(&mut self, file: FileId, page: u32, count: u32) {
        self.insert(file, page, count, |_, _| {});
    }

    /// Locked pages were read.
    pub fn unlock(&mut self, file: FileId, page: u32, count: u32) {
        for (chunk, wanted) in parts(page, count) {
            if let Some(place) = self.place(file, chunk) {
                self.slab[place].locked &= !wanted;
            }
        }
    }

    /// Whole pages are written into the cache; those that were not there are made. How many became dirty.
    pub fn write(&mut self, file: FileId, page: u32, count: u32) -> u64 {
        let mut newly = 0;
        for (chunk, wanted) in parts(page, count) {
            let place = self.place_or_new(file, chunk);
            let it = &mut self.slab[place];
            newly += u64::from((wanted & !it.dirty).count_ones());
            it.dirty |= wanted;
        }
        let mapping = self.mapping_mut(file);
        let (first, last) = (page / CHUNK, (page + count - 1) / CHUNK);
        mapping.dirty_chunks = match mapping.dirty {
            0 => (first, last),
            _ => (mapping.dirty_chunks.0.min(first), mapping.dirty_chunks.1.max(last)),
        };
        mapping.dirty += newly;
        self.dirty += newly;
        // Dirty before they are there: where all others are busy, new clean pages would be given up at once.
        self.insert(file, page, count, |_, _| {});
        self.touch(file, page, count);
        newly
    }

    /// The first run of dirty pages at or behind `page`, no longer than `most`; pages that are written just now are none.
    pub fn next_dirty(&self, file: FileId, page: u32, most: u32) -> Option<(u32, u32)> {
        let mapping = self.mapping(file).filter(|mapping| mapping.dirty > 0)?;
        let (first, last) = mapping.dirty_chunks;
        let mut found: Option<(u32, u32)> = None;
        for chunk in (page / CHUNK).max(first)..=last {
            let word = self.place(file, chunk).map_or(0, |place| self.slab[place].dirty & !self.slab[place].writeback);
            let word = if chunk == page / CHUNK { word & (u64::MAX << (page % CHUNK)) } else { word };
            match found {
                None if word == 0 => continue,
                None => {
                    let start = word.trailing_zeros();
                    found = Some((chunk * CHUNK + start, (word >> start).trailing_ones()));
                }
                // The run ended with the chunk before.
                Some(_) if word & 1 == 0 => break,
                Some((start, length)) => found = Some((start, length + word.trailing_ones())),
            }
            let Some((start, length)) = found else { continue };
            if length >= most {
                return Some((start, most));
            }
            if (start + length) % CHUNK != 0 {
                break;
            }
        }
        found
    }

    /// Dirty pages go to the device.
    pub fn begin_writeback(&mut self, file: FileId, page: u32, count: u32) {
        let (mut cleaned, mut begun) = (0, 0);
        for (chunk, wanted) in parts(page, count) {
            let Some(place) = self.place(file, chunk) else { continue };
            let it = &mut self.slab[place];
            cleaned += u64::from((wanted & it.dirty).count_ones());
            begun += u64::from((wanted & !it.writeback).count_ones());
            it.dirty &= !wanted;
            it.writeback |= wanted;
        }
        self.dirty -= cleaned;
        self.writeback += begun;
        let mapping = self.mapping_mut(file);
        mapping.dirty -= cleaned;
        mapping.writeback += begun;
    }

    /// Pages have reached the device.
    pub fn end_writeback(&mut self, file: FileId, page: u32, count: u32) {
        let mut ended = 0;
        for (chunk, wanted) in parts(page, count) {
            let Some(place) = self.place(file, chunk) else { continue };
            let it = &mut self.slab[place];
            ended += u64::from((wanted & it.writeback).count_ones());
            it.writeback &= !wanted;
        }
        self.writeback -= ended;
        self.mapping_mut(file).writeback -= ended;
    }

    /// Give up pages of a file whatever they hold, except those that are on their way; how many dirty ones were lost.
    pub fn remove(&mut self, file: FileId, from: u32, end: u32) -> u64 {
        let Some(mapping) = self.mapping(file) else { return 0 };
        let end = end.min(mapping.chunks.len() as u32 * CHUNK);
        if from >= end || mapping.pages == 0 {
            return 0;
        }
        let (mut gone, mut lost) = (0, 0);
        for (chunk, wanted) in parts(from, end - from) {
            let Some(place) = self.place(file, chunk) else { continue };
            let it = &mut self.slab[place];
            let pages = wanted & it.present & !it.locked & !it.writeback;
            let active = (pages & it.active).count_ones();
            let all = pages.count_ones();
            lost += u64::from((pages & it.dirty).count_ones());
            gone += u64::from(all);
            let words =
                [&mut it.present, &mut it.dirty, &mut it.referenced, &mut it.active, &mut it.marker, &mut it.tails];
            for word in words {
                *word &= !pages;
            }
            let is_empty = it.present == 0;
            self.lru.count(true, -i64::from(active));
            self.lru.count(false, -i64::from(all - active));
            if is_empty {
                self.give_up(place);
            }
        }
        self.present -= gone;
        self.dirty -= lost;
        let mapping = self.mapping_mut(file);
        mapping.pages -= gone;
        mapping.dirty -= lost;
        lost
    }

    /// Forget a file that has no page left: its number is never used again.
    pub fn forget(&mut self, file: FileId) {
        let Some(slot) = self.mappings.get_mut(file as usize) else { return };
        if slot.as_ref().is_some_and(|mapping| mapping.pages > 0) {
            return;
        }
        *slot = None;
    }

    /// Give up every clean page, as writing 1 into `drop_caches` does, except blocks of metadata that `is_pinned`.
    pub fn drop_clean(&mut self, is_pinned: impl Fn(u64) -> bool) {
        for file in 0..self.mappings.len() as u32 {
            let Some(mapping) = self.mapping(file) else { continue };
            for chunk in 0..mapping.chunks.len() as u32 {
                let Some(place) = self.place(file, chunk) else { continue };
                let keep = self.slab[place].dirty;
                let mut keep = keep;
                if file == DEVICE_FILE {
                    let pinned = (0..CHUNK).filter(|bit| is_pinned(u64::from(chunk * CHUNK + bit)));
                    keep |= pinned.fold(0, |word, bit| word | 1 << bit);
                }
                for (first, length) in runs(self.slab[place].present & !keep) {
                    self.remove(file, chunk * CHUNK + first, chunk * CHUNK + first + length);
                }
            }
        }
    }

    /// Give up the oldest pages of the inactive list until the limit holds; dirty ones go round once more.
    fn reclaim(&mut self) {
        let mut attempts = self.lru.runs(false) + 1;
        while self.present > self.limit && attempts > 0 {
            attempts -= 1;
            if self.lru.active_pages * 100 > self.lru.inactive_pages * self.active_percent {
                self.deactivate();
            }
            let wanted = (self.present - self.limit).min(u64::from(CHUNK)) as u32;
            let Some(run) = self.lru.pop(false, wanted) else { break };
            self.evict(run);
        }
    }

    /// Move the oldest run of the active list to the inactive one.
    fn deactivate(&mut self) {
        let Some(run) = self.lru.pop(true, DEACTIVATED) else { return };
        let pages = Chunk::pages_of(&self.slab, run, true);
        if pages != 0 {
            let place = run.place as usize;
            self.slab[place].active &= !pages;
            self.slab[place].referenced &= !pages;
            self.lru.count(true, -i64::from(pages.count_ones()));
            self.enqueue(place, pages, false);
        }
    }

    fn evict(&mut self, run: Run) {
        let pages = Chunk::pages_of(&self.slab, run, false);
        if pages == 0 {
            return;
        }
        let place = run.place as usize;
        let it = &mut self.slab[place];
        let file = it.file;
        let busy = pages & (it.dirty | it.writeback | it.locked);
        let clean = pages & !busy;
        for word in [&mut it.present, &mut it.referenced, &mut it.marker, &mut it.tails] {
            *word &= !clean;
        }
        let is_empty = it.present == 0;
        let gone = u64::from(clean.count_ones());
        self.lru.count(false, -i64::from(pages.count_ones()));
        if busy != 0 {
            self.enqueue(place, busy, false);
        }
        if is_empty {
            self.give_up(place);
        }
        self.present -= gone;
        self.evicted += gone;
        if gone > 0 {
            self.mapping_mut(file).pages -= gone;
        }
    }

    /// Whether the counters equal the bits; for tests.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let mut sums = [0u64; 4];
        for (file, mapping) in self.mappings.iter().enumerate().filter_map(|(at, it)| Some((at, it.as_deref()?))) {
            let mut own = [0u64; 4];
            for place in mapping.chunks.iter().filter_map(|place| place.checked_sub(1)) {
                let it = &self.slab[place as usize];
                if (it.dirty | it.writeback | it.locked | it.active) & !it.present != 0 {
                    return Err(format!("file {file}: a state without a page"));
                }
                for (sum, word) in own.iter_mut().zip([it.present, it.dirty, it.writeback, it.active]) {
                    *sum += u64::from(word.count_ones());
                }
            }
            if [mapping.pages, mapping.dirty, mapping.writeback] != own[..3] {
                return Err(format!("file {file}: counters {mapping:?} and bits {own:?} differ"));
            }
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        let counted = [self.present, self.dirty, self.writeback, self.lru.active_pages];
        let lists = self.lru.active_pages + self.lru.inactive_pages;
        if sums == counted && lists == self.present {
            Ok(())
        } else {
            Err(format!("all files: counters {counted:?} and bits {sums:?} differ; the lists hold {lists}"))
        }
    }
}
