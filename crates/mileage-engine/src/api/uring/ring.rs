//! One thread's ring: queue, submit, reap.

use super::setup::{self, Settings, discard, passing};
use super::slots::Slots;
use crate::error::Error;
use io_uring::squeue::Entry;
use io_uring::types::{CancelBuilder, Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::io_uring::{IoringEnterFlags, io_uring_enter_arg, io_uring_getevents_arg, io_uring_ptr};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::time::Duration;

/// Time-out for cancelled operations when a ring is given up.
const CANCEL_WAIT: Duration = Duration::from_millis(100);

/// A system call that is submitted to the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Read into the slot.
    Read,
    /// Write from the slot.
    Write,
    /// Make data and metadata durable.
    Fsync,
    /// Make data durable.
    Fdatasync,
    /// `fallocate` with this mode, such as that which makes a hole in a file.
    Allocate(i32),
    /// Give up blocks of a device.
    Discard,
}

/// A completed call and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReturnedCall {
    /// The slot it was queued for.
    pub(crate) slot: u32,
    /// Return value: a count, or the error.
    pub(crate) result: Result<u32, Errno>,
}

/// A ring, the file it works on, and the buffers.
pub(crate) struct Ring {
    queues: ManuallyDrop<IoUring>,
    file: ManuallyDrop<OwnedFd>,
    slots: ManuallyDrop<Slots>,
    /// For each slot whether the kernel owns its memory.
    busy: Box<[bool]>,
    outstanding: u32,
    /// Number of these that are not yet submitted.
    queued: u32,
    registered: bool,
    polls: bool,
    /// A kernel thread submits.
    sqpoll: bool,
}

impl Ring {
    /// A ring for `depth` operations at a time, each with one of `slots` buffers of `length_bytes`, on `file`, to be used
    /// by the calling thread alone. `path` is for messages.
    pub(crate) fn new(
        settings: Settings,
        depth: u32,
        slots: u32,
        length_bytes: u32,
        file: OwnedFd,
        path: &Path,
    ) -> Result<Self, Error> {
        let ring = setup::build(settings, depth, path)?;
        let slots_made = Slots::new(slots, length_bytes as usize)?;
        if settings.registered {
            setup::register(&ring, &file, &slots_made.vectors(), path)?;
        }
        setup::log(&ring, settings, depth, &slots_made.vectors(), path);
        Ok(Self {
            queues: ManuallyDrop::new(ring),
            file: ManuallyDrop::new(file),
            slots: ManuallyDrop::new(slots_made),
            busy: vec![false; slots as usize].into(),
            outstanding: 0,
            queued: 0,
            registered: settings.registered,
            polls: settings.iopoll,
            sqpoll: settings.sqpoll,
        })
    }

    /// The file itself, for what a ring cannot do.
    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Calls that were queued and not reaped.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// The first `length` bytes of a slot that nothing is outstanding for.
    ///
    /// # Panics
    /// When a call is outstanding for it: the bytes are the kernel's.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, slot: u32, length: usize) -> &mut [u8] {
        assert!(!self.busy[slot as usize], "slot {slot} belongs to the kernel");
        self.slots.bytes_mut(slot as usize, length)
    }

    /// Queue a call for a slot; nothing is submitted. The first `skip` bytes of the slot are skipped, for an operation that
    /// is continued; `offset_bytes` is that of the call itself.
    ///
    /// # Panics
    /// When a call is outstanding for the slot, or it holds fewer than `skip + length` bytes.
    #[expect(clippy::inline_always, reason = "the entry would go through memory twice, for every operation")]
    #[inline(always)]
    pub(crate) fn queue(&mut self, slot: u32, call: Call, offset_bytes: u64, skip: u32, length: u32) {
        assert!(!self.busy[slot as usize], "slot {slot} belongs to the kernel");
        let entry = self.entry(slot, call, offset_bytes, skip, length).user_data(u64::from(slot));
        // SAFETY: the entry's memory is a range of the slot (`entry` asserts that), which belongs to this ring, is lent
        // to nobody while it is busy, and is unmapped only when nothing is outstanding; the file is as long-lived.
        let queued = unsafe { self.queues.submission().push(&entry) };
        queued.expect("a ring has an entry for each operation of its depth");
        self.busy[slot as usize] = true;
        self.outstanding += 1;
        self.queued += 1;
    }

    #[expect(clippy::inline_always, reason = "as `queue`")]
    #[inline(always)]
    fn entry(&self, slot: u32, call: Call, offset_bytes: u64, skip: u32, length: u32) -> Entry {
        let fd = Fd(self.file.as_raw_fd());
        match call {
            Call::Read | Call::Write => {
                assert!(length > 0, "a transfer of nothing");
                let last = self.slots.address(slot as usize, (skip + length - 1) as usize);
                let address = last.wrapping_sub(length as usize - 1);
                match (call, self.registered) {
                    (Call::Read, true) => {
                        opcode::ReadFixed::new(Fixed(0), address, length, slot as u16).offset(offset_bytes).build()
                    }
                    (Call::Read, false) => opcode::Read::new(fd, address, length).offset(offset_bytes).build(),
                    (_, true) => {
                        opcode::WriteFixed::new(Fixed(0), address, length, slot as u16).offset(offset_bytes).build()
                    }
                    (_, false) => opcode::Write::new(fd, address, length).offset(offset_bytes).build(),
                }
            }
            Call::Fsync => opcode::Fsync::new(fd).build(),
            Call::Fdatasync => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
            Call::Allocate(mode) => {
                opcode::Fallocate::new(fd, u64::from(length)).offset(offset_bytes).mode(mode).build()
            }
            Call::Discard => discard(fd, offset_bytes, u64::from(length)),
        }
    }

    /// Submit what is queued and wait until `want` calls can be reaped, for no longer than `at_most`.
    ///
    /// # Errors
    /// What the kernel answered, if it is neither a passing shortage nor the end of the wait.
    #[expect(clippy::inline_always, reason = "made in the loop's own function: docs/decisions/0009")]
    #[inline(always)]
    pub(crate) fn enter(&mut self, want: u32, at_most: Duration) -> Result<(), Errno> {
        self.queued = 0;
        // A ring that polls waits inside the call, and accepts no time limit there.
        let want = if self.polls { 0 } else { want };
        if self.sqpoll {
            return self.wake(want, at_most);
        }
        let queue = self.queues.submission();
        let mut flags = IoringEnterFlags::EXT_ARG;
        // Deferred work is done by a call that asks for completions.
        flags.set(IoringEnterFlags::GETEVENTS, want > 0 || self.polls || queue.taskrun() || queue.cq_overflow());
        let queued = queue.len() as u32;
        drop(queue);
        let limit = Timespec::from(at_most);
        let arguments = io_uring_getevents_arg {
            ts: io_uring_ptr::new((&raw const limit).cast_mut().cast()),
            ..io_uring_getevents_arg::default()
        };
        // SAFETY: the ring is open; what its entries refer to lives as `queue` says, the limit until the call returns.
        let entered = unsafe { io_uring_enter_arg(&*self.queues, queued, want, flags, Some(&arguments)) };
        entered.map(drop).or_else(passing)
    }

    /// Submit where a kernel thread polls the queue: wake it if it sleeps.
    #[cold]
    fn wake(&mut self, want: u32, at_most: Duration) -> Result<(), Errno> {
        let limit = Timespec::from(at_most);
        let entered = self.queues.submitter().submit_with_args(want as usize, &SubmitArgs::new().timespec(&limit));
        entered.map(drop).or_else(|error| passing(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
    }

    /// Whether an operation waits to be submitted.
    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        self.queued > 0
    }

    /// Whether [`Ring::enter`] would find something to do without waiting.
    #[inline]
    pub(crate) fn has_news(&mut self) -> bool {
        self.queued > 0 || self.polls || !self.queues.completion().is_empty() || self.queues.submission().taskrun()
    }

    /// Move the calls that have returned to `into`.
    #[inline]
    pub(crate) fn reap(&mut self, into: &mut Vec<ReturnedCall>) {
        for entry in self.queues.completion() {
            let (slot, result) = (entry.user_data() as u32, entry.result());
            self.busy[slot as usize] = false;
            self.outstanding -= 1;
            let result = u32::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
            into.push(ReturnedCall { slot, result });
        }
    }

    /// Ask the kernel to give up everything outstanding, and wait for that a little. What it could not give up stays
    /// outstanding.
    #[cold]
    pub(crate) fn cancel(&mut self) {
        // Failures need no answer here: what could not be submitted, cancelled or waited for stays outstanding.
        let _ = self.enter(0, Duration::ZERO);
        let _ = self.queues.submitter().register_sync_cancel(Some(Timespec::from(CANCEL_WAIT)), CancelBuilder::any());
        let _ = self.enter(self.outstanding, CANCEL_WAIT);
        self.reap(&mut Vec::new());
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.outstanding > 0 {
            self.cancel();
        }
        if self.outstanding > 0 {
            // The buffers are leaked: the kernel may still write there. The queues are memory of the kernel's own, and
            // left mapped they would hold the target as long as this process lives, even when the operations have come
            // back at last. The file is closed with the thread, which nobody waits for.
            // SAFETY: dropped here and nowhere else, and nothing refers to them any more.
            unsafe { ManuallyDrop::drop(&mut self.queues) };
            return;
        }
        if self.registered {
            // A closed ring lets go of its file some time later; the target is to be free, to be unmounted, at once.
            let _ = self.queues.submitter().unregister_files();
        }
        // SAFETY: dropped here and nowhere else, and nothing refers to them any more: the kernel has no call in flight.
        unsafe {
            ManuallyDrop::drop(&mut self.queues);
            ManuallyDrop::drop(&mut self.file);
            ManuallyDrop::drop(&mut self.slots);
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { slots, outstanding, registered, .. } = self;
        formatter
            .debug_struct("Ring")
            .field("slots", slots)
            .field("outstanding", outstanding)
            .field("registered", registered)
            .finish_non_exhaustive()
    }
}
