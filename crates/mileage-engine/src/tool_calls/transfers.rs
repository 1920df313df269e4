//! Transfers as IOR makes them: `lseek` and `read` or `write` on one file, one after the other.

use super::glibc_random::Random;
use super::ior_content::Content;
use crate::memory::Pages;
use rustix::fs::{SeekFrom, fsync, seek};
use rustix::io::{Errno, read, write};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// What one task does on its open file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent flag of IOR")]
pub struct TransferWork {
    write: bool,
    /// After each read the data is compared.
    compare: bool,
    /// `fsync` after every write.
    sync_each: bool,
    /// A short transfer is an error (`-x`).
    single_attempt: bool,
    transfer_bytes: usize,
    segments: u64,
    /// From one segment to the next.
    segment_bytes: u64,
    /// Offset of this task's block in its segment.
    first_bytes: u64,
    /// Transfers of a block in order, unless `offsets` are given.
    transfers: u64,
    /// Offsets within a segment, in the order in which they are visited; empty: in order.
    offsets: Vec<u64>,
    content: Content,
    /// Transfers that were made before: where to continue.
    done: u64,
    /// Transfers after which it ends, those before included; 0: none.
    most: u64,
    /// Seconds after which it ends; 0: never.
    deadline_s: f64,
    /// Seconds for which all segments are repeated.
    least_s: f64,
    /// Nanoseconds of rest after each transfer.
    rest_ns: u64,
}

/// What was moved.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TransfersDone {
    bytes: u64,
    /// Transfers, those before included.
    transfers: u64,
    /// Transfers whose data differed.
    errors: u64,
    seconds: f64,
}

/// An open file of a task, with its buffer.
#[derive(Debug)]
pub struct TaskFile {
    file: OwnedFd,
    buffer: Pages,
    filled: bool,
}

impl TaskFile {
    /// Take over an open file.
    ///
    /// # Errors
    /// Too little memory; the file is closed then.
    pub fn new(file: OwnedFd, buffer_bytes: usize) -> std::io::Result<Self> {
        let buffer = Pages::new(buffer_bytes).map_err(|_| Errno::NOMEM)?;
        Ok(Self { file, buffer, filled: false })
    }

    /// `fsync`.
    ///
    /// # Errors
    /// Those of `fsync`.
    pub fn sync(&self) -> std::io::Result<()> {
        Ok(fsync(&self.file)?)
    }

    /// Make the transfers.
    ///
    /// # Errors
    /// Those of the calls; a transfer at the end of the file is `ENODATA`.
    pub fn transfer(&mut self, work: &TransferWork) -> std::io::Result<TransfersDone> {
        let own = if work.offsets.is_empty() { work.transfers } else { work.offsets.len() as u64 };
        let mut done = TransfersDone { bytes: 0, transfers: work.done, errors: 0, seconds: 0.0 };
        if !self.filled {
            work.content.fill(self.buffer.part_mut(0..work.transfer_bytes));
            self.filled = true;
        }
        let began = Instant::now();
        if own == 0 || work.segments == 0 {
            return Ok(done);
        }
        // A continued run ends by `most`; it may wrap over the last segment, as IOR does.
        let whole = own * work.segments;
        loop {
            let at = done.transfers % whole;
            if done.transfers >= work.done + whole && at == 0 && work.most <= done.transfers {
                break;
            }
            let (segment, place) = (at / own, at % own);
            let offset = segment * work.segment_bytes
                + if work.offsets.is_empty() {
                    work.first_bytes + place * work.transfer_bytes as u64
                } else {
                    work.offsets[place as usize]
                };
            self.one(work, offset, &mut done)?;
            done.transfers += 1;
            let elapsed_s = if work.deadline_s > 0.0 { began.elapsed().as_secs_f64() } else { 0.0 };
            if (work.deadline_s > 0.0 && elapsed_s > work.deadline_s) || done.transfers == work.most {
                break;
            }
            if done.transfers.is_multiple_of(whole) && work.most == 0 && began.elapsed().as_secs_f64() >= work.least_s {
                break;
            }
        }
        done.seconds = began.elapsed().as_secs_f64();
        Ok(done)
    }

    fn one(&mut self, work: &TransferWork, offset: u64, done: &mut TransfersDone) -> std::io::Result<()> {
        let buffer = self.buffer.part_mut(0..work.transfer_bytes);
        if work.write {
            work.content.stamp(buffer, offset);
        } else if work.compare {
            buffer[0] = !buffer[0];
        }
        seek(&self.file, SeekFrom::Start(offset))?;
        let mut moved = 0;
        while moved < work.transfer_bytes {
            let step =
                if work.write { write(&self.file, &buffer[moved..]) } else { read(&self.file, &mut buffer[moved..]) }?;
            if step == 0 || (work.single_attempt && step < work.transfer_bytes) {
                return Err(Errno::NODATA.into());
            }
            moved += step;
        }
        if work.write && work.sync_each {
            // Twice, as IOR 4.0: its POSIX backend after the transfer, and its loop after the backend.
            fsync(&self.file)?;
            fsync(&self.file)?;
        }
        if work.compare && !work.write && !work.content.holds(buffer, offset) {
            done.errors += 1;
        }
        done.bytes += work.transfer_bytes as u64;
        if work.rest_ns > 0 {
            std::thread::sleep(Duration::from_nanos(work.rest_ns));
        }
        Ok(())
    }
}

/// Offsets of `-z`: with a file for each task its block's transfers in another order; in a shared file those of the
/// tasks' blocks that are dealt to `rank`, also in another order.
pub fn shuffled_offsets(seed: u32, rank: u32, tasks: u32, own_file: bool, block: u64, transfer: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let places = if own_file { block } else { block * u64::from(tasks) } / transfer;
    let mut found: Vec<u64> =
        (0..places).filter(|_| own_file || random.next() % tasks == rank).map(|place| place * transfer).collect();
    let count = found.len();
    for at in 0..count {
        let other = random.next() as usize % count;
        found.swap(at, other);
    }
    found
}
