//! System calls as machines: each runs until it must wait, and continues where it stopped.
//!
//! A call adds up processor time while it works in memory. Before it gives the drive anything it lets that time pass
//! ([`Progress::Again`]), so that what it submits is submitted when the processor has come so far.

mod direct;
mod names;
mod read;
mod sync;
mod write;

pub(crate) use crate::call::{Active, Call, CallError, HandleId, OpenHow, Progress, StepResult};
use crate::host::Host;

impl Host {
    /// Let a call run.
    #[inline]
    pub(crate) fn step(&mut self, active: &mut Active, cost_ns: &mut f64) -> Progress {
        let stepped = match active.call {
            Call::Read { handle, offset, length } => self.step_read(active, handle, offset, length, cost_ns),
            Call::Write { handle, offset, length } => self.step_write(active, handle, offset, length, cost_ns),
            Call::Sync { handle, data_only } => self.step_sync(active, handle, data_only, cost_ns),
            _ => self.step_other(active, cost_ns),
        };
        stepped.unwrap_or_else(|error| Progress::Done(Err(error)))
    }

    #[inline(never)]
    fn step_other(&mut self, active: &mut Active, cost_ns: &mut f64) -> StepResult {
        match active.call.clone() {
            Call::Punch { handle, offset, length } => self.step_punch(active, handle, offset, length, cost_ns),
            Call::Truncate { handle, size } => self.step_truncate(active, handle, size, cost_ns),
            Call::Open { path, handle, how } => self.step_open(active, &path, handle, how, cost_ns),
            Call::Close { handle } => self.step_close(active, handle, cost_ns),
            Call::Stat { path } => self.step_look_up(active, &path, false, cost_ns),
            Call::Utime { path } => self.step_look_up(active, &path, true, cost_ns),
            Call::Rename { from, to } => self.step_rename(active, &from, &to, cost_ns),
            Call::Unlink { path, directory } => self.step_unlink(active, &path, directory, cost_ns),
            Call::Mkdir { path } => self.step_mkdir(active, &path, cost_ns),
            Call::Readdir { path } => self.step_readdir(active, &path, cost_ns),
            Call::SyncAll => self.step_sync_all(active, cost_ns),
            Call::DropCaches => {
                let pinned = &self.state.files.journal.pinned;
                self.state.cache.drop_clean(|block| pinned.contains(&block));
                *cost_ns += self.profile.call_ns;
                Ok(Progress::Done(Ok(())))
            }
            Call::TrimFree => self.step_trim(active, cost_ns),
            Call::Read { .. } | Call::Write { .. } | Call::Sync { .. } => unreachable!("handled before"),
        }
    }

    /// The file of a handle.
    fn file_of(&self, handle: HandleId) -> Result<u32, CallError> {
        let found = self.state.handles.get(handle as usize).and_then(Option::as_ref);
        found.map(|handle| handle.file).ok_or(CallError::NotOpen(handle))
    }
}
