//! `write` through the page cache: pages become dirty, blocks are allocated when they are written back.

use super::{Active, CallError, HandleId, Progress, StepResult};
use crate::host::Host;
use crate::page_cache::{DEVICE_FILE, FileId, Found, PAGE_BYTES};
use crate::wait::Wait;

/// Pages that a writer makes dirty before it looks whether there are too many.
const BETWEEN_CHECKS: u32 = 256;

impl Host {
    #[inline]
    pub(super) fn step_write(
        &mut self,
        active: &mut Active,
        handle: HandleId,
        offset: u64,
        length: u64,
        cost_ns: &mut f64,
    ) -> StepResult {
        let opened = self.state.handles.get(handle as usize).and_then(Option::as_ref);
        let opened = opened.ok_or(CallError::NotOpen(handle))?;
        let (file, direct, dsync) = (opened.file, opened.direct, opened.dsync);
        if direct {
            return self.step_direct_write(active, file, offset, length, dsync, cost_ns);
        }
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns;
        }
        if active.stage == 1 {
            if let Some(progress) = self.copy_in(active, file, offset, length, cost_ns)? {
                return Ok(progress);
            }
            if !dsync {
                return Ok(Progress::Done(Ok(())));
            }
            active.stage = 2;
        }
        self.sync_file(active, file, 2, true, cost_ns)
    }

    /// Copy from the caller into the cache; `None` when all was copied.
    fn copy_in(
        &mut self,
        active: &mut Active,
        file: FileId,
        offset: u64,
        length: u64,
        cost_ns: &mut f64,
    ) -> Result<Option<Progress>, CallError> {
        let end = offset + length;
        while active.done < length {
            if self.must_throttle() {
                if *cost_ns > 0.0 {
                    return Ok(Some(Progress::Again));
                }
                active.throttled_ns = self.state.now_ns;
                active.charged = true;
                self.start_flusher();
                if self.must_throttle() {
                    self.state.counters.throttled += 1;
                    active.stage = 1;
                    return Ok(Some(Progress::Wait(Wait::Dirty)));
                }
            }
            if std::mem::take(&mut active.charged) {
                self.state.counters.throttled_ns += self.state.now_ns - active.throttled_ns;
            }
            let at = offset + active.done;
            let page = (at / PAGE_BYTES) as u32;
            let last = ((end - 1) / PAGE_BYTES) as u32;
            let count = (last - page + 1).min(BETWEEN_CHECKS);
            let until = (u64::from(page + count) * PAGE_BYTES).min(end);
            if let Some(progress) = self.fill_partial(file, at, until, cost_ns) {
                return Ok(Some(progress));
            }
            let missing = self.unmapped(file, page, count);
            if let Some(progress) = self.wait_for_room(missing, cost_ns)? {
                return Ok(Some(progress));
            }
            self.dirty_pages(file, page, count, until, missing);
            *cost_ns += f64::from(count) * self.profile.page_ns + (until - at) as f64 * self.profile.copy_ns_per_byte;
            active.done += until - at;
        }
        if self.above_background() {
            self.start_flusher();
        }
        Ok(None)
    }

    /// A page that is written in part must be read first, if the file has it and it is not cached.
    fn fill_partial(&mut self, file: FileId, at: u64, until: u64, cost_ns: &mut f64) -> Option<Progress> {
        if at.is_multiple_of(PAGE_BYTES) && until.is_multiple_of(PAGE_BYTES) {
            return None;
        }
        let size = self.state.files.inode(file).size;
        let (first, last) = ((at / PAGE_BYTES) as u32, ((until - 1) / PAGE_BYTES) as u32);
        let partial_first = (!at.is_multiple_of(PAGE_BYTES)).then_some(first);
        let partial_last = (!until.is_multiple_of(PAGE_BYTES) && until < size).then_some(last);
        for page in [partial_first, partial_last].into_iter().flatten() {
            if u64::from(page) * PAGE_BYTES >= size {
                continue;
            }
            match self.state.cache.look(file, page, 1) {
                Found::Present(_) | Found::Marked => {}
                _ if *cost_ns > 0.0 => return Some(Progress::Again),
                Found::Locked => return Some(Progress::Wait(Wait::Page(file, page))),
                Found::Missing(_) => {
                    self.read_pages(file, page, 1, None);
                    if self.state.cache.look(file, page, 1) == Found::Locked {
                        return Some(Progress::Wait(Wait::Page(file, page)));
                    }
                }
            }
        }
        None
    }

    /// Pages of a file become dirty, and the file at least so long.
    fn dirty_pages(&mut self, file: FileId, page: u32, count: u32, until: u64, missing: u64) {
        let now_ns = self.state.now_ns;
        let newly = self.state.cache.write(file, page, count);
        self.state.files.delayed += missing;
        self.state.counters.pages_dirtied += newly;
        self.state.counters.pages_absorbed += u64::from(count) - newly;
        self.note_dirty(file, newly);
        if let Some(tracking) = &mut self.tracking {
            tracking.note_written(file, page, count);
        }
        let tick = now_ns / self.profile.tick_ns;
        let inode = self.state.files.inode_mut(file);
        let longer = until > inode.size;
        inode.size = inode.size.max(until);
        if longer || inode.tick != tick {
            (inode.tick, inode.atime_is_old) = (tick, true);
            self.state.files.log_inode(file, longer, now_ns);
        }
    }

    /// Wait until the missing pages can get blocks. Blocks of removed files are free once their transaction has committed, so a
    /// full file system commits before it gives up, as ext4 and xfs do.
    pub(super) fn wait_for_room(&mut self, missing: u64, cost_ns: &mut f64) -> Result<Option<Progress>, CallError> {
        if missing == 0 || self.state.files.delayed + missing <= self.state.files.allocator.free_blocks() {
            return Ok(None);
        }
        if *cost_ns > 0.0 {
            return Ok(Some(Progress::Again));
        }
        let journal = &self.state.files.journal;
        let frees = journal.commit.as_ref().filter(|commit| !commit.transaction.freed.is_empty());
        if let Some(commit) = frees {
            return Ok(Some(Progress::Wait(Wait::Commit(commit.transaction.id))));
        }
        if journal.running.freed.is_empty() {
            return Err(CallError::Full);
        }
        let id = journal.running.id;
        self.request_commit(id);
        Ok(Some(Progress::Wait(Wait::Commit(id))))
    }

    /// Pages in a range that have no block and are not dirty: each needs one once it is.
    pub(super) fn unmapped(&self, file: FileId, page: u32, count: u32) -> u64 {
        let inode = self.state.files.inode(file);
        if let Ok((_, mapped)) = inode.map(page, count)
            && mapped == count
        {
            return 0;
        }
        let without = (page..page + count).filter(|page| inode.map(*page, 1).is_err());
        without.filter(|page| !self.state.cache.is_dirty(file, *page)).count() as u64
    }

    /// A file has dirty pages; `newly`: how many more.
    pub(crate) fn note_dirty(&mut self, file: FileId, newly: u64) {
        if newly == 0 {
            return;
        }
        let now_ns = self.state.now_ns;
        if file == DEVICE_FILE {
            if self.state.flusher.metadata_dirtied_ns.is_none() {
                self.state.flusher.metadata_dirtied_ns = Some(now_ns);
                self.state.dirty_files.insert((now_ns, file));
            }
            return;
        }
        let inode = self.state.files.inode_mut(file);
        if inode.dirtied_ns == u64::MAX {
            inode.dirtied_ns = now_ns;
            self.state.dirty_files.insert((now_ns, file));
        }
    }
}
