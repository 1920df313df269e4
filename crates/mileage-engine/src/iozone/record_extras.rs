//! What IOzone does around the call of each record, inside the clock: short reads elsewhere (`-K`), a walk over the
//! processor's cache (`-p`), a line of offset and latency (`-Q`).

use super::manner::{CacheSize, Manner};
use super::suite::{Iozone, Test};
use crate::clock;
use crate::error::{Error, failed};
use crate::memory::Pages;
use crate::usage::ThreadUsage;
use rustix::fd::BorrowedFd;
use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// IOzone's distance from one disturbance to the next, in records.
const DISTANCE: u64 = 100;
const PAGE_BYTES: usize = 4096;
const HEAD: &str = "Offset in kBytes   Latency in microseconds  Transfer size in bytes\n";

/// The parts of one worker's test that are around its records.
#[derive(Debug)]
pub(super) struct RecordExtras {
    records: u64,
    jitter: Option<Pages>,
    jitter_bytes: usize,
    purge: Option<(Pages, CacheSize)>,
    log: Option<LatencyLog>,
}

#[derive(Debug)]
struct LatencyLog {
    file: BufWriter<File>,
    began_ns: u64,
    usage: Option<(ThreadUsage, u64)>,
}

impl RecordExtras {
    /// What the suite's manner has for this worker's test; `None` for nothing.
    pub(super) fn of(suite: &Iozone, test: Test, worker: u32) -> Result<Option<Self>, Error> {
        let Manner { jitter, purge, logs, .. } = &suite.manner;
        let together = suite.workers.is_some();
        let jitters = *jitter
            && (matches!(test, Test::Read | Test::Reread)
                || together && matches!(test, Test::Pread | Test::BackwardRead | Test::StrideRead));
        let names = logs.as_ref().map(|folder| (folder, log_names(test, suite.workers.map(|_| worker))));
        let mut log = None;
        if let Some((folder, names)) = names {
            // IOzone opens the file of the repeated test with that of the first.
            for name in names.iter().rev() {
                log = Some(LatencyLog::open(&folder.join(name), together)?);
            }
        }
        if !jitters && purge.is_none() && log.is_none() {
            return Ok(None);
        }
        let purge = match *purge {
            Some(cache) => Some((Pages::new(3 * cache.bytes as usize)?, cache)),
            None => None,
        };
        Ok(Some(Self {
            records: 0,
            jitter: if jitters { Some(Pages::new(PAGE_BYTES)?) } else { None },
            jitter_bytes: if suite.direct { PAGE_BYTES } else { 1 },
            purge,
            log,
        }))
    }

    /// Before a record of `length` bytes is moved; `file` as far as there is one.
    pub(super) fn before(&mut self, file: Option<BorrowedFd<'_>>, length: usize) -> Result<(), Errno> {
        let disturbed = self.records.is_multiple_of(DISTANCE);
        self.records += 1;
        if let (Some(buffer), true, Some(file)) = (&mut self.jitter, disturbed, file) {
            let at = rustix::fs::seek(file, SeekFrom::Current(0))?;
            for from in [0, PAGE_BYTES as u64] {
                rustix::fs::seek(file, SeekFrom::Start(from))?;
                rustix::io::read(file, buffer.part_mut(0..self.jitter_bytes))?;
            }
            rustix::fs::seek(file, SeekFrom::Start(at))?;
        }
        if let (Some(_), Some(file)) = (&self.log, file) {
            rustix::fs::seek(file, SeekFrom::Current(0))?;
        }
        if let Some((memory, cache)) = &self.purge {
            let lines = length.min(cache.bytes as usize) / cache.line_bytes as usize;
            for line in memory.bytes().chunks(cache.line_bytes as usize).take(lines) {
                std::hint::black_box(line[0]);
            }
        }
        if let Some(log) = &mut self.log {
            log.usage.get_or_insert_with(|| (ThreadUsage::now(), clock::now_ns()));
            log.began_ns = clock::now_ns();
        }
        Ok(())
    }

    /// After a record was moved.
    #[inline]
    pub(super) fn after(&mut self, offset_bytes: u64, length: usize) -> Result<(), Errno> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let us = (clock::now_ns() - log.began_ns + 500) / 1000;
        writeln!(log.file, "{:>10} {us:>10} {length:>10}", offset_bytes / 1024).map_err(errno_of)
    }

    /// After the last record: the line that ends a log.
    pub(super) fn finish(&mut self) -> Result<(), Errno> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let Some((before, began_ns)) = log.usage.take() else { return Ok(()) };
        let (user_s, system_s) = before.until(&ThreadUsage::now()).seconds();
        let real_s = (clock::now_ns() - began_ns) as f64 / 1e9;
        write!(log.file, "\nSystem time {system_s:10.3} User time {user_s:10.3} Real {real_s:10.3}  (seconds)\n")
            .and_then(|()| log.file.flush())
            .map_err(errno_of)
    }
}

impl LatencyLog {
    fn open(path: &Path, always_headed: bool) -> Result<Self, Error> {
        let cannot = |error| failed("open", path)(errno_of(error));
        // Who starts the suite has checked what is there; a link that took its place meanwhile is not followed.
        let mut options = OpenOptions::new();
        options.append(true).create(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let mut file = options.open(path).map_err(cannot)?;
        if always_headed || file.metadata().map_err(cannot)?.len() == 0 {
            file.write_all(HEAD.as_bytes()).map_err(cannot)?;
        }
        Ok(Self { file: BufWriter::with_capacity(PAGE_BYTES, file), began_ns: 0, usage: None })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err arrives owned")]
fn errno_of(error: std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

/// The test's own log first; then those that are opened with it.
fn log_names(test: Test, worker: Option<u32>) -> Vec<String> {
    let Some(worker) = worker else {
        let names: &[&str] = match test {
            Test::Write => &["wol.dat", "rwol.dat"],
            Test::Rewrite => &["rwol.dat"],
            Test::Read => &["rol.dat", "rrol.dat"],
            Test::Reread => &["rrol.dat"],
            _ => &[],
        };
        return names.iter().map(|name| (*name).to_owned()).collect();
    };
    let word = match test {
        Test::Write => "wol",
        Test::Rewrite => "rwol",
        Test::Read => "rol",
        Test::Reread => "rrol",
        Test::BackwardRead => "revol",
        Test::StrideRead => "strol",
        Test::RandomRead => "randrol",
        Test::RandomWrite => "randwol",
        Test::Pwrite => "pwol",
        Test::Pread => "prol",
        Test::Fwrite => "fwol",
        Test::Fread => "frol",
        _ => return Vec::new(),
    };
    vec![format!("Child_{worker}_{word}.dat")]
}
