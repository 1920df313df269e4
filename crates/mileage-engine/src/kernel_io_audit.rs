//! Read the kernel's count of bytes and calls per thread (`/proc/thread-self/io`), to compare it with the run record.

use crate::errno;
use crate::error::Error;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Input and output of one thread over the run, from `/proc/thread-self/io`; the reading of that file itself is
/// subtracted exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadIo {
    /// The operating system's thread number.
    pub tid: u32,
    /// Bytes returned by read system calls, from any source.
    pub rchar: u64,
    /// Bytes taken by write system calls, to any destination.
    pub wchar: u64,
    /// Read system calls.
    pub syscr: u64,
    /// Write system calls.
    pub syscw: u64,
    /// Bytes this thread made the kernel fetch from storage.
    pub read_bytes: u64,
    /// Bytes this thread made the kernel hand to storage, or left dirty in the page cache.
    pub write_bytes: u64,
}

/// The account at one instant, before the read that fetched it was booked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    io: ThreadIo,
    own_bytes: u64,
}

impl Snapshot {
    pub(crate) fn take() -> Result<Self, Error> {
        let refuse = |error: Errno| Error::NoAudit { kind: errno::name(error) };
        let file = rustix::fs::open("/proc/thread-self/io", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let mut text = [0_u8; 512];
        // One read and no more: its cost is then one call and the bytes it returned.
        let length = file.and_then(|file| rustix::io::read(&file, &mut text)).map_err(refuse)?;
        let mut io =
            ThreadIo { tid: rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(), ..Default::default() };
        for line in String::from_utf8_lossy(&text[..length]).lines() {
            let Some((key, value)) = line.split_once(": ") else { continue };
            let field = match key {
                "rchar" => &mut io.rchar,
                "wchar" => &mut io.wchar,
                "syscr" => &mut io.syscr,
                "syscw" => &mut io.syscw,
                "read_bytes" => &mut io.read_bytes,
                "write_bytes" => &mut io.write_bytes,
                _ => continue,
            };
            *field = value.trim().parse().map_err(|_| refuse(Errno::INVAL))?;
        }
        Ok(Self { io, own_bytes: length as u64 })
    }

    /// I/O of the thread since this snapshot, without the reading of the snapshot.
    pub(crate) fn until(&self, later: &Self) -> ThreadIo {
        let (before, after) = (&self.io, &later.io);
        ThreadIo {
            tid: after.tid,
            rchar: after.rchar - before.rchar - self.own_bytes,
            wchar: after.wchar - before.wchar,
            syscr: after.syscr - before.syscr - 1,
            syscw: after.syscw - before.syscw,
            read_bytes: after.read_bytes - before.read_bytes,
            write_bytes: after.write_bytes - before.write_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Snapshot, ThreadIo};

    #[test]
    fn taking_snapshots_costs_nothing_in_the_account() {
        let first = Snapshot::take().unwrap();
        for _ in 0..20 {
            let (a, b) = (Snapshot::take().unwrap(), Snapshot::take().unwrap());
            assert_eq!(a.until(&b), ThreadIo { tid: first.io.tid, ..ThreadIo::default() });
        }
    }
}
