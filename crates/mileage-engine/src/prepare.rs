//! Brings a file to full size with real data, so that reads hit extents and not holes.

use crate::error::Error;
use crate::handle::{Handle, start};
use crate::options::Options;
use crate::target::write_tail;
use mileage_workload::{Blocks, Content, PatternKind, Stop, Sync, Workload, Writing};
use std::path::Path;

const RECORD_BYTES: u64 = 1 << 20;
/// What any direct I/O can carry, so that a small file is laid out with it as well.
const UNIT_BYTES: u64 = 4096;

/// Write the first `bytes` (at least 4 KiB) of a file once with incompressible data, in order, in records of 1 MiB, and
/// make it durable: a run like any other, to be watched and stopped by its handle. A missing file is created; a longer
/// one keeps its end. `direct` writes past the page cache; the last partial MiB is written through it in any case,
/// before the run and outside its record. What is written is generation 0 of `seed`, to be compared with it later.
///
/// # Errors
/// As [`start`], and what stopped the writing of the last partial MiB.
pub fn lay_out(path: &Path, bytes: u64, seed: u64, direct: bool) -> Result<Handle, Error> {
    if bytes < UNIT_BYTES {
        return Err(Error::NothingToLayOut { path: path.to_owned(), found: bytes, of: UNIT_BYTES });
    }
    let record_bytes = if bytes < RECORD_BYTES { bytes - bytes % UNIT_BYTES } else { RECORD_BYTES };
    let span_bytes = bytes - bytes % record_bytes;
    if bytes > span_bytes {
        let mut tail = vec![0; (bytes - span_bytes) as usize];
        if let Some(blocks) = Blocks::new(seed, &Content::Incompressible) {
            blocks.fill(Writing::default(), span_bytes, &mut tail);
        }
        write_tail(path, span_bytes, &tail)?;
    }
    let workload = Workload {
        pattern: PatternKind::Sequential,
        read_percent: 0,
        record_bytes: record_bytes as u32,
        span_start_bytes: 0,
        span_bytes,
        depth: 1,
        threads: 1,
        stop: Stop { bytes: Some(span_bytes), ..Stop::default() },
        seed,
        content: Content::Incompressible,
        sync: Sync::Fdatasync,
        sync_timed: true,
        ..Workload::default()
    };
    start(workload, Options { direct, create: true, ..Options::new(path) })
}
