//! A descriptor table of its own for every worker thread.
//!
//! Threads of a process share one table of open files, and while they do the kernel counts a reference up and down on
//! every call: some 30 ns, three in a hundred of a read from the page cache. A thread that has its table for itself is
//! spared that, as a process of one thread is. The new table holds standard input, output and error and the thread's
//! own file; nothing else of the process is held open by it.
//!
//! What a worker thread uses it must therefore open itself or get by [`take`]: a descriptor opened by another thread
//! means nothing to it.

use crate::identity::Identity;
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// The first descriptor that is neither standard input, output nor error.
const FIRST: RawFd = 3;

/// Leave the process's table for a new one, and have the file there; where the kernel cannot (before Linux 5.9, or in
/// a sandbox), stay and have the file under a number of its own. `file` is of the process's table: only a thread that
/// stayed there can close it.
///
/// # Errors
/// No number is free for the file, or the kernel changed its mind half-way.
pub(crate) fn take(file: &OwnedFd) -> Result<OwnedFd, Errno> {
    let number = file.as_raw_fd();
    // The trial finds out whether the kernel allows this, and whether the file is in the process's table.
    let reachable = fetch(number).and_then(|trial| is_same(file, &trial)).unwrap_or(false);
    if !reachable || unshare().is_err() {
        return fcntl_dupfd_cloexec(file, FIRST);
    }
    fetch(number)
}

/// Leave the process's table for a new one, where the kernel can: for a thread that opens all it needs itself, after
/// this.
pub(crate) fn leave() {
    // On failure the thread keeps the shared table, and only loses the time that its own table would save.
    let _ = unshare();
}

/// The file that has this number in the table of the process's first thread.
fn fetch(number: RawFd) -> Result<OwnedFd, Errno> {
    let process = pidfd_open(getpid(), PidfdFlags::empty())?;
    pidfd_getfd(process, number, PidfdGetfdFlags::empty())
}

fn is_same(one: &OwnedFd, other: &OwnedFd) -> Result<bool, Errno> {
    Ok(Identity::of(one)? == Identity::of(other)?)
}

/// A new table for the calling thread, with standard input, output and error alone. What is not copied is not closed
/// either: a close may have effects of its own, on network file systems for one.
fn unshare() -> Result<(), Errno> {
    let flags = libc::CLOSE_RANGE_UNSHARE;
    // SAFETY: nothing in a thread that has just begun uses a descriptor above standard error: it owns no file, and
    // opens what it needs after this.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, flags) };
    if answer == 0 { Ok(()) } else { Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)) }
}

#[cfg(test)]
mod tests {
    use super::take;
    use rustix::fd::{AsRawFd, OwnedFd};
    use std::fs::File;
    use std::io::Read;

    #[test]
    fn a_thread_has_the_file_and_nothing_else_of_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, b"mine").unwrap();
        let (file, other) = (OwnedFd::from(File::open(&path).unwrap()), File::open(&path).unwrap());
        let others = other.as_raw_fd();
        let (text, here, file) = std::thread::spawn(move || {
            let mut taken = File::from(take(&file).unwrap());
            let mut text = String::new();
            taken.read_to_string(&mut text).unwrap();
            let listing = std::fs::read_dir("/proc/thread-self/fd").unwrap();
            let numbers = listing.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<i32>().ok());
            let here: Vec<i32> = numbers.filter(|number| *number > 2).collect();
            (text, here, file)
        })
        .join()
        .unwrap();
        assert_eq!(text, "mine");
        // Two descriptors: the file, and the directory that is being read to count them.
        assert_eq!(here.len(), 2, "{here:?}, while the process has {others} open too");
        drop((file, other));
    }
}
