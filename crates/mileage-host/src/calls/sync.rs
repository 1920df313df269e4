//! `fsync`, `fdatasync` and `sync`.

use super::{Active, HandleId, Progress, StepResult};
use crate::block_request::Kind;
use crate::file_system::Family;
use crate::host::Host;
use crate::page_cache::{DEVICE_FILE, FileId};
use crate::wait::Wait;

impl Host {
    #[inline]
    pub(super) fn step_sync(
        &mut self,
        active: &mut Active,
        handle: HandleId,
        data_only: bool,
        cost_ns: &mut f64,
    ) -> StepResult {
        let file = self.file_of(handle)?;
        self.sync_file(active, file, 0, data_only, cost_ns)
    }

    /// Make a file durable: its pages, then the transaction that changed it, or the drive's cache alone. The stages begin at
    /// `base`.
    #[expect(clippy::unnecessary_wraps, reason = "as every step of a call")]
    pub(super) fn sync_file(
        &mut self,
        active: &mut Active,
        file: FileId,
        base: u8,
        data_only: bool,
        cost_ns: &mut f64,
    ) -> StepResult {
        if active.stage == base {
            if base == 0 {
                *cost_ns += self.profile.call_ns;
            }
            active.stage = base + 1;
            if *cost_ns > 0.0 {
                return Ok(Progress::Again);
            }
        }
        if active.stage == base + 1 {
            active.stage = base + 2;
            if self.state.cache.dirty_of(file) > 0 {
                self.write_range(file, 0, u32::MAX);
            }
            let newest = self.state.writes.iter().rev().find(|(_, pages)| pages.file == file).map(|(io, _)| *io);
            if let Some(io) = newest {
                return Ok(Progress::Wait(Wait::Writeback(file, io)));
            }
        }
        if active.stage == base + 2 {
            let inode = self.state.files.inode(file);
            let id = if data_only { inode.data_changed_in } else { inode.changed_in };
            if id > self.state.files.journal.committed {
                active.stage = base + 4;
                self.request_commit(id);
                if self.state.files.journal.committed < id {
                    return Ok(Progress::Wait(Wait::Commit(id)));
                }
            } else if self.profile.barrier {
                active.stage = base + 3;
                active.io = self.state.block.new_io();
                self.submit(active.io, Kind::Flush, 0, 0, false);
                self.dispatch();
                return Ok(Progress::Wait(Wait::Io(active.io)));
            }
        }
        let id = self.state.files.inode(file).data_changed_in;
        if let Some(tracking) = &mut self.tracking {
            tracking.acknowledge(file, id.min(self.state.files.journal.committed));
        }
        Ok(Progress::Done(Ok(())))
    }

    pub(super) fn step_sync_all(&mut self, active: &mut Active, cost_ns: &mut f64) -> StepResult {
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns;
            return Ok(Progress::Again);
        }
        loop {
            // Files are written one after the other; metadata last, since writing files changes it. xfs keeps its metadata in
            // buffers of its own, which no sync writes: its log has them.
            let own = self.state.files.family() == Family::Xfs;
            let listed = self.state.dirty_files.iter().map(|(_, file)| *file);
            let first = listed.filter(|file| !own || *file != DEVICE_FILE).max();
            if let Some(file) = first {
                self.write_range(file, 0, u32::MAX);
                if let Some((io, pages)) = self.state.writes.last_key_value() {
                    return Ok(Progress::Wait(Wait::Writeback(pages.file, *io)));
                }
                if self.state.cache.dirty_of(file) > 0 {
                    // Nothing could be written, and nothing is on its way.
                    return Err(super::CallError::Full);
                }
                continue;
            }
            if let Some((io, pages)) = self.state.writes.last_key_value() {
                return Ok(Progress::Wait(Wait::Writeback(pages.file, *io)));
            }
            let running = &self.state.files.journal.running;
            if !running.is_empty() {
                let id = running.id;
                // A commit flushes the drive's cache itself.
                active.stage = 2;
                self.request_commit(id);
                return Ok(Progress::Wait(Wait::Commit(id)));
            }
            if let Some(commit) = &self.state.files.journal.commit {
                return Ok(Progress::Wait(Wait::Commit(commit.transaction.id)));
            }
            if active.stage == 1 && self.profile.barrier {
                active.stage = 2;
                active.io = self.state.block.new_io();
                self.submit(active.io, Kind::Flush, 0, 0, false);
                self.dispatch();
                return Ok(Progress::Wait(Wait::Io(active.io)));
            }
            self.state.files.journal.is_empty = true;
            return Ok(Progress::Done(Ok(())));
        }
    }

    pub(super) fn step_trim(&mut self, active: &mut Active, cost_ns: &mut f64) -> StepResult {
        if !self.profile.kernel.trims_free_blocks() {
            let words = format!("fstrim: kernel {} has no FITRIM", self.profile.kernel);
            return Err(super::CallError::Unsupported(words));
        }
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns;
            return Ok(Progress::Again);
        }
        if active.stage == 1 {
            let bitmaps = self.state.files.bitmaps_on_drive();
            if let Some(progress) = self.need_blocks(&bitmaps, cost_ns) {
                return Ok(progress);
            }
            if *cost_ns > 0.0 {
                return Ok(Progress::Again);
            }
            active.stage = 2;
            active.io = self.state.block.new_io();
            let free = self.state.files.free_by_group();
            free.into_iter().for_each(|extent| self.discard(active.io, extent));
            self.dispatch();
            if !self.state.block.end_empty(active.io) {
                return Ok(Progress::Wait(Wait::Io(active.io)));
            }
        }
        Ok(Progress::Done(Ok(())))
    }

    /// A file without dirty pages is no longer on the flusher's list.
    pub(crate) fn note_clean(&mut self, file: FileId) {
        if self.state.cache.dirty_of(file) > 0 {
            return;
        }
        let since = if file == crate::page_cache::DEVICE_FILE {
            self.state.flusher.metadata_dirtied_ns.take()
        } else if self.state.files.find(file).is_some() {
            let inode = self.state.files.inode_mut(file);
            Some(std::mem::replace(&mut inode.dirtied_ns, u64::MAX))
        } else {
            None
        };
        if let Some(since) = since {
            self.state.dirty_files.remove(&(since, file));
        }
    }
}
