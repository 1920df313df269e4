//! Reads and writes past the page cache (`O_DIRECT`), and holes.

use super::{Active, CallError, HandleId, Progress, StepResult};
use crate::block_request::Kind;
use crate::host::Host;
use crate::page_cache::{FileId, PAGE_BYTES};
use crate::wait::Wait;

impl Host {
    /// What is dirty of a range goes to the drive first; `Some` while that lasts.
    fn flush_range(&mut self, file: FileId, from: u64, end: u64) -> Option<Progress> {
        let (first, last) = ((from / PAGE_BYTES) as u32, end.div_ceil(PAGE_BYTES) as u32);
        let is_there = |it: &Option<(u32, u32)>| it.is_some_and(|(page, _)| page < last);
        if is_there(&self.state.cache.next_dirty(file, first, 1)) {
            self.write_range(file, first, last);
        }
        let under_way = |it: &crate::wait::Pages| it.file == file && it.page < last && it.page + it.count > first;
        let newest = self.state.writes.iter().rev().find(|(_, pages)| under_way(pages)).map(|(io, _)| *io);
        newest.map(|io| Progress::Wait(Wait::Writeback(file, io)))
    }

    #[expect(clippy::unnecessary_wraps, reason = "as every step of a call")]
    pub(super) fn step_direct_read(
        &mut self,
        active: &mut Active,
        file: FileId,
        offset: u64,
        end: u64,
        cost_ns: &mut f64,
    ) -> StepResult {
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns;
        }
        if active.stage == 1 && offset < end {
            let requests = (end - offset).div_ceil(self.profile.queue.separate_bytes);
            if !active.spend(cost_ns, (requests * self.profile.request_ns) as f64) {
                return Ok(Progress::Again);
            }
            if self.state.cache.pages_of(file) > 0
                && let Some(progress) = self.flush_range(file, offset, end)
            {
                active.charged = true;
                return Ok(progress);
            }
            active.io = self.transfer(file, Kind::Read, offset, end, false);
            active.stage = 2;
            if !self.state.block.end_empty(active.io) {
                return Ok(Progress::Wait(Wait::Io(active.io)));
            }
        }
        self.state.counters.direct_bytes += end.saturating_sub(offset);
        Ok(Progress::Done(Ok(())))
    }

    /// Move a range of a file between the drive and the caller; parts without blocks are skipped.
    fn transfer(&mut self, file: FileId, kind: Kind, offset: u64, end: u64, fua: bool) -> u64 {
        let io = self.state.block.new_io();
        self.state.block.plug();
        let mut at = offset;
        while at < end {
            let page = (at / PAGE_BYTES) as u32;
            let wanted = (end.div_ceil(PAGE_BYTES) - u64::from(page)) as u32;
            let inside = at % PAGE_BYTES;
            let count = match self.state.files.map(file, page, wanted) {
                Ok((block, count)) => {
                    let length = (u64::from(count) * PAGE_BYTES - inside).min(end - at);
                    self.submit_separate(io, kind, block * PAGE_BYTES + inside, length, fua);
                    count
                }
                Err(count) => count,
            };
            at = (u64::from(page + count) * PAGE_BYTES).min(end);
        }
        self.state.block.unplug();
        self.dispatch();
        io
    }

    pub(super) fn step_direct_write(
        &mut self,
        active: &mut Active,
        file: FileId,
        offset: u64,
        length: u64,
        dsync: bool,
        cost_ns: &mut f64,
    ) -> StepResult {
        let end = offset + length;
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns;
        }
        if active.stage == 1 {
            let requests = length.div_ceil(self.profile.queue.separate_bytes);
            if !active.spend(cost_ns, (requests * self.profile.request_ns) as f64) {
                return Ok(Progress::Again);
            }
            if self.state.cache.pages_of(file) > 0 {
                if let Some(progress) = self.flush_range(file, offset, end) {
                    active.charged = true;
                    return Ok(progress);
                }
                let (first, last) = ((offset / PAGE_BYTES) as u32, end.div_ceil(PAGE_BYTES) as u32);
                self.state.cache.remove(file, first, last);
            }
            let (first, end_page) = ((offset / PAGE_BYTES) as u32, end.div_ceil(PAGE_BYTES) as u32);
            let missing = self.unmapped(file, first, end_page - first);
            if let Some(progress) = self.wait_for_room(missing, cost_ns)? {
                active.charged = true;
                return Ok(progress);
            }
            let extends = self.allocate_direct(file, offset, end)?;
            // A write that changes nothing but data is durable by FUA alone (iomap).
            let fua = dsync && !extends && self.profile.native_fua && self.profile.barrier;
            active.io = self.transfer(file, Kind::Write, offset, end, fua);
            active.stage = if dsync && !fua { 3 } else { 2 };
            self.state.counters.direct_bytes += length;
            if !self.state.block.end_empty(active.io) {
                return Ok(Progress::Wait(Wait::Io(active.io)));
            }
        }
        if active.stage == 2 {
            return Ok(Progress::Done(Ok(())));
        }
        self.sync_file(active, file, 3, true, cost_ns)
    }

    /// Give blocks to a range that is written directly; whether that or the file's length changed its metadata.
    fn allocate_direct(&mut self, file: FileId, offset: u64, end: u64) -> Result<bool, CallError> {
        let now_ns = self.state.now_ns;
        let (mut page, last) = ((offset / PAGE_BYTES) as u32, end.div_ceil(PAGE_BYTES) as u32);
        let mut extends = false;
        while page < last {
            match self.state.files.map(file, page, last - page) {
                Ok((_, count)) => page += count,
                Err(count) => {
                    extends = true;
                    page += self.state.files.allocate(file, page, count, now_ns).ok_or(CallError::Full)?;
                }
            }
        }
        let tick = now_ns / self.profile.tick_ns;
        let inode = self.state.files.inode_mut(file);
        let longer = end > inode.size;
        inode.size = inode.size.max(end);
        if longer || inode.tick != tick {
            (inode.tick, inode.atime_is_old) = (tick, true);
            self.state.files.log_inode(file, longer, now_ns);
        }
        Ok(extends || longer)
    }

    pub(super) fn step_punch(
        &mut self,
        active: &mut Active,
        handle: HandleId,
        offset: u64,
        length: u64,
        cost_ns: &mut f64,
    ) -> StepResult {
        let file = self.file_of(handle)?;
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns + self.profile.name_ns;
            return Ok(Progress::Again);
        }
        if let Some(progress) = self.flush_range(file, offset, offset + length) {
            return Ok(progress);
        }
        let (first, last) = (offset.div_ceil(PAGE_BYTES) as u32, ((offset + length) / PAGE_BYTES) as u32);
        if first < last {
            self.state.cache.remove(file, first, last);
            let now_ns = self.state.now_ns;
            self.state.files.punch(file, first, last, now_ns);
        }
        Ok(Progress::Done(Ok(())))
    }

    pub(super) fn step_truncate(
        &mut self,
        active: &mut Active,
        handle: HandleId,
        size: u64,
        cost_ns: &mut f64,
    ) -> StepResult {
        let file = self.file_of(handle)?;
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns + self.profile.name_ns;
        }
        if let Some(progress) = self.cut_file(file, size, cost_ns) {
            return Ok(progress);
        }
        Ok(Progress::Done(Ok(())))
    }

    /// Cut a file; `Some` while pages behind the new end are on their way.
    pub(super) fn cut_file(&mut self, file: FileId, size: u64, cost_ns: &mut f64) -> Option<Progress> {
        let page = size.div_ceil(PAGE_BYTES) as u32;
        let behind = |it: &crate::wait::Pages| it.file == file && it.page + it.count > page;
        let newest = self.state.writes.iter().rev().find(|(_, pages)| behind(pages)).map(|(io, _)| *io);
        let reading = self.state.reads.values().find(|it| behind(it)).map(|it| it.page.max(page));
        if (newest.is_some() || reading.is_some()) && *cost_ns > 0.0 {
            return Some(Progress::Again);
        }
        if let Some(io) = newest {
            return Some(Progress::Wait(Wait::Writeback(file, io)));
        }
        if let Some(page) = reading {
            return Some(Progress::Wait(Wait::Page(file, page)));
        }
        self.drop_pages(file, page);
        let now_ns = self.state.now_ns;
        self.state.files.resize(file, size, now_ns);
        None
    }

    /// Give up a file's pages from `page` on, dirty or not.
    pub(super) fn drop_pages(&mut self, file: FileId, page: u32) {
        let unplaced = self.count_delayed(file, page);
        self.state.files.delayed -= unplaced;
        let lost = self.state.cache.remove(file, page, u32::MAX);
        self.state.counters.pages_dropped += lost;
        self.note_clean(file);
    }

    /// Dirty pages from `page` on that have no block.
    fn count_delayed(&self, file: FileId, page: u32) -> u64 {
        let (mut at, mut without) = (page, 0);
        while let Some((start, count)) = self.state.cache.next_dirty(file, at, 1 << 16) {
            at = start;
            while at < start + count {
                match self.state.files.map(file, at, start + count - at) {
                    Ok((_, mapped)) => at += mapped,
                    Err(unmapped) => {
                        without += u64::from(unmapped);
                        at += unmapped;
                    }
                }
            }
        }
        without
    }
}
