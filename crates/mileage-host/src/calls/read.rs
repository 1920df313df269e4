//! `read` through the page cache.

use super::{Active, CallError, HandleId, Progress, StepResult};
use crate::host::Host;
use crate::page_cache::{FileId, Found, PAGE_BYTES};
use crate::read_ahead::Window;
use crate::wait::Wait;

impl Host {
    #[inline]
    pub(super) fn step_read(
        &mut self,
        active: &mut Active,
        handle: HandleId,
        offset: u64,
        length: u64,
        cost_ns: &mut f64,
    ) -> StepResult {
        let opened = self.state.handles.get(handle as usize).and_then(Option::as_ref);
        let opened = opened.ok_or(CallError::NotOpen(handle))?;
        let (file, direct) = (opened.file, opened.direct);
        let size = self.state.files.inode(file).size;
        let end = (offset + length).min(size);
        if direct {
            return self.step_direct_read(active, file, offset, end, cost_ns);
        }
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns;
        }
        let end_page = end.div_ceil(PAGE_BYTES) as u32;
        while offset + active.done < end {
            let at = offset + active.done;
            let page = (at / PAGE_BYTES) as u32;
            match self.state.cache.look(file, page, end_page - page) {
                Found::Present(count) => {
                    let until = (u64::from(page + count) * PAGE_BYTES).min(end);
                    self.copy_out(active, handle, file, at, until, cost_ns);
                }
                Found::Locked => {
                    if *cost_ns > 0.0 {
                        return Ok(Progress::Again);
                    }
                    self.note_missed(active, page);
                    return Ok(Progress::Wait(Wait::Page(file, page)));
                }
                Found::Marked => {
                    if !active.spend(cost_ns, self.profile.request_ns as f64) {
                        return Ok(Progress::Again);
                    }
                    self.read_ahead(handle, file, page, end_page - page, true);
                }
                Found::Missing(_) => {
                    if !active.spend(cost_ns, self.profile.request_ns as f64) {
                        return Ok(Progress::Again);
                    }
                    self.note_missed(active, page);
                    self.read_ahead(handle, file, page, end_page - page, false);
                }
            }
        }
        if end > offset {
            self.note_access(file);
        }
        Ok(Progress::Done(Ok(())))
    }

    /// Copy cached pages to the caller.
    #[inline]
    fn copy_out(
        &mut self,
        active: &mut Active,
        handle: HandleId,
        file: FileId,
        at: u64,
        until: u64,
        cost_ns: &mut f64,
    ) {
        let (page, last) = ((at / PAGE_BYTES) as u32, ((until - 1) / PAGE_BYTES) as u32);
        let missed = active.missed.take();
        let Some(opened) = self.state.handles[handle as usize].as_mut() else { return };
        // A page that is read in small pieces is touched once.
        let first =
            if opened.read_ahead.previous == Some(page) && !at.is_multiple_of(PAGE_BYTES) { page + 1 } else { page };
        opened.read_ahead.previous = Some(last);
        opened.read_ahead.behind = Some((until / PAGE_BYTES) as u32);
        if first <= last {
            self.state.cache.touch(file, first, last - first + 1);
        }
        let pages = u64::from(last - page + 1);
        let waited = missed.is_some_and(|missed| (page..=last).contains(&missed));
        self.state.counters.pages_hit += pages - u64::from(waited);
        *cost_ns += pages as f64 * self.profile.page_ns + (until - at) as f64 * self.profile.copy_ns_per_byte;
        active.done += until - at;
    }

    fn note_missed(&mut self, active: &mut Active, page: u32) {
        if active.missed != Some(page) {
            active.missed = Some(page);
            self.state.counters.pages_missed += 1;
        }
    }

    /// Read ahead at a page that is missing, or that has a marker.
    fn read_ahead(&mut self, handle: HandleId, file: FileId, page: u32, request: u32, marked: bool) {
        let limits = self.profile.read_ahead_limits();
        let file_pages = self.state.files.inode(file).pages();
        let Some(opened) = self.state.handles[handle as usize].as_mut() else { return };
        let cache = &self.state.cache;
        let folio = cache.folio_of(file, page);
        let window = if marked {
            opened.read_ahead.hit(&limits, cache, file, folio, request + page - folio.0)
        } else {
            Some(opened.read_ahead.miss(&limits, cache, file, page, request))
        };
        if marked {
            self.state.cache.clear_marker(file, folio);
            self.state.counters.windows_async += u64::from(window.is_some());
        } else {
            self.state.counters.windows_sync += 1;
        }
        let Some(mut window) = window.filter(|window| window.start < file_pages) else { return };
        window.count = window.count.min(file_pages - window.start);
        let Window { start, count, marker, order } = window;
        let together = if order > 0 { self.state.cache.missing(file, start, count) } else { 0 };
        self.read_pages(file, start, count, marker);
        self.state.cache.join(file, &window, together);
    }

    /// The access time of a file that was read, if it is kept.
    fn note_access(&mut self, file: FileId) {
        if self.profile.relatime && self.state.files.inode(file).atime_is_old {
            self.state.files.inode_mut(file).atime_is_old = false;
            let now_ns = self.state.now_ns;
            self.state.files.log_inode(file, false, now_ns);
        }
    }
}
