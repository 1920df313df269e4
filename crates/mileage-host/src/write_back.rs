//! From dirty pages to the drive: the flusher, the journal's commits, and what both submit.

use crate::block_request::Kind;
use crate::file_system::{Commit, CommitPhase, Extent, Family};
use crate::host::Host;
use crate::kernel_set::KernelSet;
use crate::page_cache::{DEVICE_FILE, FileId, PAGE_BYTES};
use crate::wait::{Event, Pages};

/// Pages of one piece of I/O; the block layer splits and merges them.
const PIECE: u32 = 2048;
/// Pages that the flusher writes of a file before it takes the next (`MAX_WRITEBACK_PAGES`).
const PASS: u32 = 1024;
/// What a descriptor block has room for: tags of 8 bytes, and of 16 since checksums are in them.
const TAGS: u64 = 500;
/// A log buffer of xfs (`logbsize`, 32 KiB by default).
const LOG_BUFFER_BYTES: u64 = 32 << 10;
/// See [`TAGS`].
const TAGS_NOW: u64 = 254;

impl Host {
    fn dirty_share(&self, percent: u64) -> u64 {
        self.profile.cache_pages * percent / 100
    }

    /// Whether the flusher works because of the number of dirty pages.
    pub(crate) fn above_background(&self) -> bool {
        self.state.cache.dirty() > self.dirty_share(self.profile.dirty_background_percent)
    }

    /// Whether writers must wait: since 3.2 they are slowed down around the middle between the free run and the limit,
    /// before that they are stopped at the limit.
    pub(crate) fn must_throttle(&self) -> bool {
        let (background, limit) =
            (self.dirty_share(self.profile.dirty_background_percent), self.dirty_share(self.profile.dirty_percent));
        let free_run = u64::midpoint(background, limit);
        let threshold = if self.profile.kernel == KernelSet::V6 { u64::midpoint(free_run, limit) } else { limit };
        self.state.cache.dirty() + self.state.cache.writeback() >= threshold
    }

    /// The flusher has work, perhaps.
    pub(crate) fn start_flusher(&mut self) {
        if !self.state.flusher.is_running {
            self.state.flusher.is_running = true;
            self.state.at(self.state.now_ns, Event::Flusher);
        }
    }

    /// The queue has room again, perhaps.
    pub(crate) fn resume_flusher(&mut self) {
        if self.state.flusher.is_blocked && !self.state.block.is_congested(&self.profile.queue) {
            self.state.flusher.is_blocked = false;
            self.state.at(self.state.now_ns, Event::Flusher);
        }
    }

    /// The flusher's next file, and whether it is written because of the threshold.
    fn next_file(&self) -> Option<(FileId, bool)> {
        let (since_ns, file) = *self.state.dirty_files.first()?;
        let is_background = self.above_background();
        let is_old = since_ns + self.profile.dirty_age_ns <= self.state.now_ns;
        (is_background || is_old).then_some((file, is_background))
    }

    pub(crate) fn run_flusher(&mut self) {
        let Some((file, is_background)) = self.next_file() else {
            self.state.flusher.is_running = false;
            return;
        };
        if self.state.block.is_congested(&self.profile.queue) {
            self.state.flusher.is_blocked = true;
            return;
        }
        let from = self.writeback_page(file);
        let before = self.state.block.counters.requests[1];
        let (pages, next) = self.write_some(file, from, PASS);
        *self.writeback_page_mut(file) = next;
        if file == DEVICE_FILE {
            self.state.counters.metadata_pages_written += u64::from(pages);
        } else if is_background {
            self.state.counters.written_background += u64::from(pages);
        } else {
            self.state.counters.written_old += u64::from(pages);
        }
        if self.state.cache.dirty_of(file) == 0 {
            self.note_clean(file);
            if file != DEVICE_FILE && self.state.files.inode(file).open == 0 {
                self.state.files.release_reserved(file);
            }
        } else if pages == 0 && from == 0 {
            // All that is dirty is being written already: look again when that is done.
            self.state.flusher.is_blocked = true;
            return;
        }
        let requests = self.state.block.counters.requests[1] - before + 1;
        let cost_ns = (f64::from(pages) * self.profile.page_ns) as u64 + requests * self.profile.request_ns;
        let now_ns = self.state.now_ns;
        let next_ns = self.state.processors.work(now_ns, cost_ns);
        self.state.at(next_ns, Event::Flusher);
    }

    fn writeback_page(&self, file: FileId) -> u32 {
        if file == DEVICE_FILE {
            return self.state.flusher.metadata_page;
        }
        self.state.files.inode(file).writeback_page
    }

    fn writeback_page_mut(&mut self, file: FileId) -> &mut u32 {
        if file == DEVICE_FILE {
            return &mut self.state.flusher.metadata_page;
        }
        &mut self.state.files.inode_mut(file).writeback_page
    }

    /// Write up to `most` dirty pages of a file from a page on; how many, and where to continue (0: from the start).
    fn write_some(&mut self, file: FileId, from: u32, most: u32) -> (u32, u32) {
        let (mut at, mut written) = (from, 0);
        self.state.block.plug();
        while written < most {
            let Some((page, count)) = self.state.cache.next_dirty(file, at, PIECE.min(most - written)) else {
                at = 0;
                break;
            };
            let count = self.write_piece(file, page, count);
            if count == 0 {
                break;
            }
            written += count;
            at = page + count;
        }
        self.state.block.unplug();
        self.dispatch();
        (written, at)
    }

    /// Write all dirty pages of a range, because somebody waits for them; how many.
    pub(crate) fn write_range(&mut self, file: FileId, first: u32, last: u32) -> u32 {
        let (mut at, mut written) = (first, 0);
        self.state.block.plug();
        while let Some((page, count)) = self.state.cache.next_dirty(file, at, PIECE)
            && page < last
        {
            let count = self.write_piece(file, page, count.min(last - page));
            if count == 0 {
                break;
            }
            written += count;
            at = page + count;
        }
        self.state.block.unplug();
        self.dispatch();
        if file == DEVICE_FILE {
            self.state.counters.metadata_pages_written += u64::from(written);
        } else {
            self.state.counters.written_sync += u64::from(written);
        }
        self.note_clean(file);
        written
    }

    /// Submit dirty pages that lie behind each other on the drive, after giving them blocks if they have none; how many. 0: the
    /// file system is full.
    fn write_piece(&mut self, file: FileId, page: u32, count: u32) -> u32 {
        let now_ns = self.state.now_ns;
        let (block, count) = match self.state.files.map(file, page, count) {
            Ok(found) => found,
            Err(without) => {
                let Some(got) = self.state.files.allocate(file, page, without, now_ns) else { return 0 };
                self.state.files.delayed -= u64::from(got);
                self.read_bitmaps();
                match self.state.files.map(file, page, got) {
                    Ok(found) => found,
                    Err(_) => return 0,
                }
            }
        };
        let io = self.state.block.new_io();
        self.state.cache.begin_writeback(file, page, count);
        let (pages, offset, length) = (Pages { file, page, count }, block * PAGE_BYTES, u64::from(count) * PAGE_BYTES);
        self.state.writes.insert(io, pages);
        if let Some(tracking) = &mut self.tracking {
            tracking.note_data(io, pages, offset, length);
        }
        // Metadata lies in buffers, each of which is a segment.
        if file == DEVICE_FILE {
            self.submit_separate(io, Kind::Write, offset, length, false);
        } else {
            self.submit(io, Kind::Write, offset, length, false);
        }
        count
    }

    /// Bitmaps that are changed for the first time are read. Nobody waits here, as a caller of the kernel would.
    pub(crate) fn read_bitmaps(&mut self) {
        for (block, on_drive) in std::mem::take(&mut self.state.files.touched_bitmaps) {
            if !on_drive {
                self.state.cache.insert_read(DEVICE_FILE, block as u32, 1);
                continue;
            }
            let missing = self.state.cache.missing(DEVICE_FILE, block as u32, 1) > 0;
            if missing {
                self.state.counters.metadata_pages_read += 1;
                self.read_pages(DEVICE_FILE, block as u32, 1, None);
            }
        }
    }

    /// Discard free blocks for a piece of I/O.
    pub(crate) fn discard(&mut self, io: u64, extent: Extent) {
        self.submit(io, Kind::Discard, extent.start * PAGE_BYTES, extent.count * PAGE_BYTES, false);
    }

    /// Somebody waits for a transaction.
    pub(crate) fn request_commit(&mut self, id: u64) {
        let journal = &mut self.state.files.journal;
        journal.wanted = journal.wanted.max(id);
        self.step_commit();
    }

    /// Begin the commit of the running transaction.
    fn begin_commit(&mut self) {
        let data_sequence = self.state.block.new_io();
        self.state.block.end_empty(data_sequence);
        let journal = &mut self.state.files.journal;
        let id = journal.running.id;
        let transaction = std::mem::take(&mut journal.running);
        journal.running.id = id + 1;
        journal.commit = Some(Commit { transaction, phase: CommitPhase::Data, io: 0, data_sequence });
    }

    /// Take the commit as far as it goes.
    pub(crate) fn step_commit(&mut self) {
        loop {
            if self.state.files.journal.commit.is_none() {
                let journal = &self.state.files.journal;
                if journal.wanted < journal.running.id {
                    return;
                }
                if journal.running.is_empty() {
                    // Nothing was changed: it is durable as it is.
                    self.state.files.journal.committed = self.state.files.journal.running.id;
                    self.state.files.journal.running.id += 1;
                    return;
                }
                self.begin_commit();
            }
            let Some(commit) = self.state.files.journal.commit.take() else { return };
            let Some(next) = self.next_phase(commit) else { return };
            self.state.files.journal.commit = next;
        }
    }

    /// Begin the next phase of a commit, if the one before is over. `None`: it is not, and the commit is in its place again;
    /// `Some(None)`: it is done.
    #[expect(clippy::option_option, reason = "two questions: is the phase over, and is there another")]
    fn next_phase(&mut self, mut commit: Commit) -> Option<Option<Commit>> {
        let drains = self.profile.kernel.drains() && self.profile.barrier;
        let waits = match commit.phase {
            // A barrier of the older kernels waits until nothing else is outstanding.
            CommitPhase::Blocks if drains => !self.state.block.is_idle(),
            CommitPhase::Data => {
                let ordered = &commit.transaction.ordered;
                self.state.writes.range(..=commit.data_sequence).any(|(_, pages)| ordered.contains(&pages.file))
            }
            _ => self.state.block.is_pending(commit.io),
        };
        if waits {
            self.state.files.journal.commit = Some(commit);
            return None;
        }
        let has_blocks = self.state.files.family() == Family::Ext4;
        commit.phase = match commit.phase {
            CommitPhase::Data if has_blocks => CommitPhase::Blocks,
            CommitPhase::Data | CommitPhase::Blocks if self.profile.barrier => CommitPhase::PreFlush,
            CommitPhase::Data | CommitPhase::Blocks | CommitPhase::PreFlush => CommitPhase::Record,
            CommitPhase::Record if self.profile.barrier && !self.profile.native_fua => CommitPhase::PostFlush,
            CommitPhase::Record | CommitPhase::PostFlush => {
                self.finish_commit(commit);
                return Some(None);
            }
        };
        commit.io = self.state.block.new_io();
        match commit.phase {
            CommitPhase::Data => {}
            CommitPhase::Blocks => {
                if std::mem::take(&mut self.state.files.journal.is_empty) {
                    // Its superblock says from now on where the first transaction begins.
                    let first = self.state.files.journal.first;
                    self.submit_separate(commit.io, Kind::Write, first * PAGE_BYTES, PAGE_BYTES, false);
                }
                let blocks = commit.transaction.blocks.len() as u64;
                let tags = if self.profile.kernel == KernelSet::V6 { TAGS_NOW } else { TAGS };
                self.write_journal(&commit, (blocks + blocks.div_ceil(tags)) * PAGE_BYTES, false);
            }
            CommitPhase::PreFlush | CommitPhase::PostFlush => self.submit(commit.io, Kind::Flush, 0, 0, false),
            CommitPhase::Record => {
                let bytes =
                    if has_blocks { PAGE_BYTES } else { (commit.transaction.log_bytes + 512).next_multiple_of(512) };
                self.write_journal(&commit, bytes, self.profile.barrier && self.profile.native_fua);
            }
        }
        self.dispatch();
        Some(Some(commit))
    }

    /// Write into the journal: ext4's blocks as they lie, xfs's log one buffer at a time. The last has the FUA.
    fn write_journal(&mut self, commit: &Commit, bytes: u64, fua: bool) {
        let is_log = self.state.files.family() == Family::Xfs;
        let piece = if is_log { LOG_BUFFER_BYTES } else { u64::MAX };
        let mut left = bytes;
        if !is_log {
            self.state.block.plug();
        }
        for Extent { start, count } in self.state.files.journal.advance(bytes.div_ceil(PAGE_BYTES)) {
            let (mut offset, end) = (start * PAGE_BYTES, start * PAGE_BYTES + left.min(count * PAGE_BYTES));
            while offset < end {
                let length = piece.min(end - offset);
                if let Some(tracking) = &mut self.tracking {
                    tracking.note_journal(commit.io, commit.transaction.id, offset, length);
                }
                left -= length;
                self.submit_separate(commit.io, Kind::Write, offset, length, fua && left == 0);
                if is_log {
                    self.dispatch();
                }
                offset += length;
            }
        }
        if !is_log {
            self.state.block.unplug();
        }
    }

    /// A transaction is durable: what it freed is free, and its blocks are to be written in place some time.
    fn finish_commit(&mut self, commit: Commit) {
        let journal = &mut self.state.files.journal;
        journal.committed = commit.transaction.id;
        journal.commits += 1;
        journal.pinned.extend(&commit.transaction.blocks);
        for block in &commit.transaction.blocks {
            let newly = self.state.cache.write(DEVICE_FILE, *block as u32, 1);
            self.note_dirty(DEVICE_FILE, newly);
        }
        let io = self.state.block.new_io();
        commit.transaction.freed.iter().for_each(|extent| self.state.files.allocator.give(*extent));
        if self.profile.discard {
            let discarded = self.state.files.discards_of(commit.transaction.freed);
            discarded.into_iter().for_each(|extent| self.discard(io, extent));
        }
        self.state.block.end_empty(io);
        self.dispatch();
        self.wake();
    }
}
