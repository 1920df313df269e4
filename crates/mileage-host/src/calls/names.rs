//! Calls on names: the blocks of directories and inodes are read if they are not in memory, then changed there, and the
//! journal makes the change durable.

use super::{Active, CallError, HandleId, OpenHow, Progress, StepResult};
use crate::host::Host;
use crate::page_cache::{DEVICE_FILE, FileId, Found};
use crate::read_ahead::ReadAhead;
use crate::wait::{Handle, Wait};

/// Where a path leads: its directory, its last name and the file that has it.
type Place<'a> = (FileId, &'a str, Option<FileId>);

impl Host {
    /// Look a path up; `Err(progress)` while its blocks are read.
    fn look_up<'a>(
        &mut self,
        active: &mut Active,
        path: &'a str,
        cost_ns: &mut f64,
    ) -> Result<Result<Place<'a>, Progress>, CallError> {
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns + self.profile.name_ns;
        }
        let (directory, name, file) = self.state.files.resolve(path).map_err(|error| CallError::name(path, error))?;
        let blocks = self.state.files.blocks_of_name(directory, name, file);
        Ok(match self.need_blocks(&blocks, cost_ns) {
            Some(progress) => Err(progress),
            None => Ok((directory, name, file)),
        })
    }

    /// Blocks of metadata must be in memory; `Some` while they are read.
    pub(super) fn need_blocks(&mut self, blocks: &[u64], cost_ns: &mut f64) -> Option<Progress> {
        for block in blocks {
            let page = *block as u32;
            match self.state.cache.look(DEVICE_FILE, page, 1) {
                Found::Present(_) | Found::Marked => self.state.cache.touch(DEVICE_FILE, page, 1),
                _ if *cost_ns > 0.0 => return Some(Progress::Again),
                Found::Locked => return Some(Progress::Wait(Wait::Page(DEVICE_FILE, page))),
                Found::Missing(_) => {
                    self.state.counters.metadata_pages_read += 1;
                    self.read_pages(DEVICE_FILE, page, 1, None);
                    return Some(Progress::Wait(Wait::Page(DEVICE_FILE, page)));
                }
            }
        }
        None
    }

    /// Blocks that were changed in memory are there.
    fn hold_blocks(&mut self, blocks: &[u64]) {
        for block in blocks {
            self.state.cache.insert_read(DEVICE_FILE, *block as u32, 1);
        }
    }

    fn hold_name(&mut self, directory: FileId, name: &str, file: Option<FileId>) {
        self.read_bitmaps();
        let blocks = self.state.files.blocks_of_name(directory, name, file);
        self.hold_blocks(&blocks);
    }

    pub(super) fn step_look_up(
        &mut self,
        active: &mut Active,
        path: &str,
        utime: bool,
        cost_ns: &mut f64,
    ) -> StepResult {
        let (_, _, file) = match self.look_up(active, path, cost_ns)? {
            Ok(place) => place,
            Err(progress) => return Ok(progress),
        };
        let file = file.ok_or_else(|| CallError::name(path, crate::file_system::NameError::Missing))?;
        if utime {
            let now_ns = self.state.now_ns;
            self.state.files.log_inode(file, false, now_ns);
        }
        Ok(Progress::Done(Ok(())))
    }

    pub(super) fn step_open(
        &mut self,
        active: &mut Active,
        path: &str,
        handle: HandleId,
        how: OpenHow,
        cost_ns: &mut f64,
    ) -> StepResult {
        use crate::file_system::NameError;
        let (directory, name, file) = match self.look_up(active, path, cost_ns)? {
            Ok(place) => place,
            Err(progress) => return Ok(progress),
        };
        let file = match file {
            Some(_) if how.create && how.exclusive => return Err(CallError::name(path, NameError::Exists)),
            Some(file) if self.state.files.inode(file).directory.is_some() => {
                return Err(CallError::name(path, NameError::IsADirectory));
            }
            Some(file) => file,
            None if how.create => {
                let now_ns = self.state.now_ns;
                let made = self.state.files.create(directory, name, false, now_ns);
                let file = made.map_err(|error| CallError::name(path, error))?;
                *cost_ns += self.profile.name_ns;
                self.hold_name(directory, name, Some(file));
                file
            }
            None => return Err(CallError::name(path, NameError::Missing)),
        };
        if how.truncate
            && self.state.files.inode(file).size > 0
            && let Some(progress) = self.cut_file(file, 0, cost_ns)
        {
            return Ok(progress);
        }
        let slot = handle as usize;
        if self.state.handles.len() <= slot {
            self.state.handles.resize(slot + 1, None);
        }
        if self.state.handles[slot].is_some() {
            return Err(CallError::Unsupported(format!("handle {handle} is open already: expected a free one")));
        }
        let (direct, dsync) = (how.direct, how.dsync);
        self.state.handles[slot] = Some(Handle { file, read_ahead: ReadAhead::default(), direct, dsync });
        self.state.files.inode_mut(file).open += 1;
        Ok(Progress::Done(Ok(())))
    }

    pub(super) fn step_close(&mut self, active: &mut Active, handle: HandleId, cost_ns: &mut f64) -> StepResult {
        let file = self.file_of(handle)?;
        if active.stage == 0 {
            active.stage = 1;
            *cost_ns += self.profile.call_ns;
        }
        let inode = self.state.files.inode(file);
        if inode.open == 1 {
            if inode.is_unlinked
                && let Some(progress) = self.cut_file(file, 0, cost_ns)
            {
                return Ok(progress);
            }
            // With dirty pages the reservation stays until they are written.
            if self.state.cache.dirty_of(file) == 0 {
                self.state.files.release_reserved(file);
            }
        }
        self.state.handles[handle as usize] = None;
        self.state.files.inode_mut(file).open -= 1;
        self.drop_if_unused(file);
        Ok(Progress::Done(Ok(())))
    }

    fn drop_if_unused(&mut self, file: FileId) {
        let now_ns = self.state.now_ns;
        if self.state.files.drop_if_unused(file, now_ns) {
            self.state.cache.forget(file);
        }
    }

    pub(super) fn step_unlink(
        &mut self,
        active: &mut Active,
        path: &str,
        is_directory: bool,
        cost_ns: &mut f64,
    ) -> StepResult {
        use crate::file_system::NameError;
        let (directory, name, file) = match self.look_up(active, path, cost_ns)? {
            Ok(place) => place,
            Err(progress) => return Ok(progress),
        };
        let file = file.ok_or_else(|| CallError::name(path, NameError::Missing))?;
        let inode = self.state.files.inode(file);
        if !is_directory
            && inode.directory.is_none()
            && inode.open == 0
            && inode.size > 0
            && let Some(progress) = self.cut_file(file, 0, cost_ns)
        {
            return Ok(progress);
        }
        self.hold_name(directory, name, Some(file));
        let now_ns = self.state.now_ns;
        let (file, is_gone) = self
            .state
            .files
            .unlink(directory, name, is_directory, now_ns)
            .map_err(|error| CallError::name(path, error))?;
        if is_gone {
            self.state.cache.forget(file);
        }
        self.read_bitmaps();
        Ok(Progress::Done(Ok(())))
    }

    pub(super) fn step_mkdir(&mut self, active: &mut Active, path: &str, cost_ns: &mut f64) -> StepResult {
        let (directory, name, _) = match self.look_up(active, path, cost_ns)? {
            Ok(place) => place,
            Err(progress) => return Ok(progress),
        };
        let now_ns = self.state.now_ns;
        let made = self.state.files.create(directory, name, true, now_ns);
        let file = made.map_err(|error| CallError::name(path, error))?;
        *cost_ns += self.profile.name_ns;
        self.hold_name(directory, name, Some(file));
        let own = self.state.files.blocks_of_directory(file).to_vec();
        self.hold_blocks(&own);
        Ok(Progress::Done(Ok(())))
    }

    pub(super) fn step_rename(&mut self, active: &mut Active, from: &str, to: &str, cost_ns: &mut f64) -> StepResult {
        use crate::file_system::NameError;
        let (old_directory, old_name, file) = match self.look_up(active, from, cost_ns)? {
            Ok(place) => place,
            Err(progress) => return Ok(progress),
        };
        if file.is_none() {
            return Err(CallError::name(from, NameError::Missing));
        }
        let (directory, name, there) = match self.look_up(active, to, cost_ns)? {
            Ok(place) => place,
            Err(progress) => return Ok(progress),
        };
        let now_ns = self.state.now_ns;
        if let Some(there) = there.filter(|there| Some(*there) != file) {
            if self.state.files.inode(there).open == 0
                && let Some(progress) = self.cut_file(there, 0, cost_ns)
            {
                return Ok(progress);
            }
            let is_directory = self.state.files.inode(there).directory.is_some();
            let removed = self.state.files.unlink(directory, name, is_directory, now_ns);
            let (gone, is_gone) = removed.map_err(|error| CallError::name(to, error))?;
            if is_gone {
                self.state.cache.forget(gone);
            }
        }
        let renamed = self.state.files.rename((old_directory, old_name), (directory, name), now_ns);
        renamed.map_err(|error| CallError::name(from, error))?;
        self.hold_name(directory, name, file);
        Ok(Progress::Done(Ok(())))
    }

    pub(super) fn step_readdir(&mut self, active: &mut Active, path: &str, cost_ns: &mut f64) -> StepResult {
        use crate::file_system::NameError;
        let (_, _, file) = match self.look_up(active, path, cost_ns)? {
            Ok(place) => place,
            Err(progress) => return Ok(progress),
        };
        let file = file.ok_or_else(|| CallError::name(path, NameError::Missing))?;
        let folder = self.state.files.inode(file).directory.as_deref();
        let folder = folder.ok_or_else(|| CallError::name(path, NameError::NotADirectory))?;
        let (blocks, entries) = (folder.blocks.clone(), folder.entries.len());
        if let Some(progress) = self.need_blocks(&blocks, cost_ns) {
            return Ok(progress);
        }
        // Each entry is copied out; a block of them costs a call.
        *cost_ns += blocks.len() as f64 * self.profile.call_ns + entries as f64 * self.profile.page_ns;
        Ok(Progress::Done(Ok(())))
    }
}
