//! The start barrier of the processes that do one run together: a file of one page that all of them map.
//!
//! Every thread of every process arrives when it is prepared; the last one sets the instant at which all begin, on the
//! kernel's monotonic clock, which is one for the machine. The page also carries the signals between the processes: stop,
//! failure, and the time at which the first thread was done.

use crate::clock;
use crate::errno;
use crate::error::Error;
use crate::thread_signals::{CacheAligned, FAILED, STOPPED, Signals};
use rustix::fs::{Mode, OFlags, ftruncate};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

const PAGE_BYTES: usize = 4096;
/// First bytes of the barrier's page; changed whenever the layout of the page changes.
const MARK: u64 = u64::from_le_bytes(*b"mileage2");
/// From the last arrival to the start: long enough for every process to poll several times (see [`LOOK`]).
const NOTICE_NS: u64 = 10_000_000;
const LOOK: Duration = Duration::from_millis(1);

/// Contents of the page. Everything but the first two is changed through atomics alone; those two are written before
/// anybody else can map the page.
#[derive(Debug)]
#[repr(C)]
struct Block {
    mark: u64,
    threads: u32,
    arrived: CacheAligned<AtomicU32>,
    /// Common start time on `CLOCK_MONOTONIC_RAW`; 0 until the last thread has arrived.
    start_ns: CacheAligned<AtomicU64>,
    signals: Signals,
}

const _: () = assert!(size_of::<Block>() <= PAGE_BYTES);

/// The start barrier of the processes of one run.
#[derive(Debug)]
pub struct StartBarrier {
    block: NonNull<Block>,
}

// SAFETY: the mapping is the `StartBarrier`'s own and, but for the two fields that never change, made of atomics.
unsafe impl Send for StartBarrier {}
// SAFETY: as above.
unsafe impl Sync for StartBarrier {}

impl StartBarrier {
    /// Create the barrier's file, for `threads` threads in all processes together. It serves one run; the caller removes it.
    ///
    /// # Errors
    /// The file exists already or cannot be made.
    pub fn create(path: &Path, threads: u32) -> Result<Self, Error> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let refuse = refused("make", path);
        let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map_err(&refuse)?;
        ftruncate(&file, PAGE_BYTES as u64).map_err(&refuse)?;
        let block = map(&file).map_err(&refuse)?;
        let fresh = Block {
            mark: MARK,
            threads,
            arrived: CacheAligned::default(),
            start_ns: CacheAligned::default(),
            signals: Signals::default(),
        };
        // SAFETY: the page is mapped for writing, large enough and aligned, and nobody else knows of it yet.
        unsafe { block.write(fresh) };
        Ok(Self { block })
    }

    /// Open a barrier that another process created.
    ///
    /// # Errors
    /// The file cannot be opened, or is not a start barrier.
    pub fn join(path: &Path) -> Result<Self, Error> {
        let refuse = refused("open", path);
        let file = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(&refuse)?;
        let length = rustix::fs::fstat(&file).map_err(&refuse)?.st_size;
        if length.cast_unsigned() != PAGE_BYTES as u64 {
            return Err(refuse(Errno::INVAL));
        }
        let barrier = Self { block: map(&file).map_err(&refuse)? };
        if barrier.block().mark == MARK { Ok(barrier) } else { Err(refuse(Errno::INVAL)) }
    }

    /// Interrupt the run, in all its processes.
    pub fn stop(&self) {
        self.signals().halt(STOPPED);
    }

    /// End the run in all its processes because one of them was lost: the work of the others is not a whole run.
    pub fn abandon(&self) {
        self.signals().halt(FAILED);
    }

    /// Threads of the run in all processes together.
    pub fn threads(&self) -> u32 {
        self.block().threads
    }

    /// Threads that are ready, or never will be.
    pub fn arrived(&self) -> u32 {
        self.block().arrived.0.load(Ordering::Acquire)
    }

    /// Set the instant at which the waiting threads begin, on `CLOCK_MONOTONIC_RAW` in nanoseconds (at once if that has
    /// passed): for runs with threads on other machines, which never map this page. The first call decides.
    pub fn begin_at(&self, start_ns: u64) {
        let start_ns = start_ns.max(1);
        let _ = self.block().start_ns.0.compare_exchange(0, start_ns, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(crate) fn signals(&self) -> &Signals {
        &self.block().signals
    }

    /// Report that one more thread is ready, or never will be; the last one sets the start time.
    pub(crate) fn arrive(&self) {
        let block = self.block();
        if block.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == block.threads {
            block.start_ns.0.store(clock::raw_ns() + NOTICE_NS, Ordering::Release);
        }
    }

    /// Wait until the start is set; `None` if the run was halted before.
    pub(crate) fn wait(&self) -> Option<u64> {
        loop {
            match self.block().start_ns.0.load(Ordering::Acquire) {
                0 if self.signals().halted() != 0 => return None,
                0 => std::thread::sleep(LOOK),
                start_ns => return Some(start_ns),
            }
        }
    }

    fn block(&self) -> &Block {
        // SAFETY: the page is mapped as long as `self` and holds a `Block`: `create` wrote it, `join` found its mark.
        unsafe { self.block.as_ref() }
    }
}

impl Drop for StartBarrier {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and every borrow of it has ended.
        let unmapped = unsafe { munmap(self.block.as_ptr().cast(), PAGE_BYTES) };
        debug_assert!(unmapped.is_ok(), "a whole mapping of our own can always be unmapped");
    }
}

fn map(file: &rustix::fd::OwnedFd) -> Result<NonNull<Block>, Errno> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice aliases no memory of this process; a page is aligned
    // for everything in it.
    let mapped = unsafe { mmap(std::ptr::null_mut(), PAGE_BYTES, access, MapFlags::SHARED, file, 0) };
    NonNull::new(mapped?.cast()).ok_or(Errno::NOMEM)
}

fn refused<'a>(what: &'static str, path: &'a Path) -> impl Fn(Errno) -> Error + 'a {
    move |error| Error::StartBarrier {
        what,
        path: path.to_owned(),
        reason: if error == Errno::INVAL {
            "it is not the file of a start barrier".to_owned()
        } else {
            format!("{} ({})", errno::sentence(error), errno::name(error))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::StartBarrier;
    use crate::clock::raw_ns;

    #[test]
    fn the_last_to_come_sets_one_instant_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("barrier");
        let made = StartBarrier::create(&path, 3).unwrap();
        assert!(StartBarrier::create(&path, 3).is_err(), "one run, one barrier");
        let others = [StartBarrier::join(&path).unwrap(), StartBarrier::join(&path).unwrap()];
        assert_eq!(others[0].threads(), 3);
        std::thread::scope(|scope| {
            let early: Vec<_> = others
                .iter()
                .map(|barrier| {
                    scope.spawn(|| {
                        barrier.arrive();
                        barrier.wait().unwrap()
                    })
                })
                .collect();
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(early.iter().all(|thread| !thread.is_finished()));
            let before_ns = raw_ns();
            made.arrive();
            let start_ns = made.wait().unwrap();
            assert!(start_ns > before_ns);
            assert!(early.into_iter().all(|thread| thread.join().unwrap() == start_ns));
        });
    }

    #[test]
    fn threads_on_other_machines_are_waited_for_by_whoever_says_when_all_begin() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("barrier");
        let made = StartBarrier::create(&path, 5).unwrap();
        let here = StartBarrier::join(&path).unwrap();
        assert_eq!(made.arrived(), 0);
        here.arrive();
        assert_eq!(made.arrived(), 1);
        made.begin_at(77);
        made.begin_at(99);
        assert_eq!(here.wait(), Some(77), "what was said first holds");
    }

    #[test]
    fn whoever_waits_for_a_run_that_is_abandoned_waits_no_longer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("barrier");
        let made = StartBarrier::create(&path, 2).unwrap();
        let other = StartBarrier::join(&path).unwrap();
        other.arrive();
        made.abandon();
        assert_eq!(other.wait(), None);
        std::fs::write(&path, vec![0; 4096]).unwrap();
        assert!(StartBarrier::join(&path).unwrap_err().to_string().contains("not the file of a start barrier"));
        std::fs::write(&path, "x").unwrap();
        assert!(StartBarrier::join(&path).is_err());
    }
}
