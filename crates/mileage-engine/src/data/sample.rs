//! Keeps some of what was really written, to be measured after the run.
//!
//! The buffers are looked at as they go to the kernel. Of whole records every n-th is copied, where n doubles whenever the
//! room is full, so that the copies are spread evenly over the run. Blocks of 4 KiB are counted by [`DistinctBlocks`].

use super::distinct_blocks::{DistinctBlocks, IdentityPlace};
use super::fill::file_of;
use crate::error::Error;
use crate::memory::Pages;
use mileage_workload::{BLOCK_BYTES, Content, Op, Workload};
use serde::{Deserialize, Serialize};

/// Bytes that the threads of a run copy together of a content whose blocks are all made alike: 16 to 32 blocks give each
/// share within 0.3 points of what 512 give, and compressing them takes some milliseconds.
const ALIKE_BYTES: usize = 128 << 10;
/// The same of other contents, where a record has parts that compress and parts that do not: a tenth of a second.
const SAMPLE_BYTES: usize = 2 << 20;

/// Blocks of a record, up to which its table is as small as that of one thread of `FIXED_TABLES`, which has room for them.
const FIXED_BLOCKS: usize = 1024;
const FIXED_TABLES: u32 = 8;

/// Bytes that are copied together, and of each record at most.
fn room_of(content: Content) -> (usize, usize) {
    match content {
        Content::IozoneDedup { .. } | Content::IozoneDiagnostic => (SAMPLE_BYTES, SAMPLE_BYTES),
        // Of records that are longer, so that more than one has room.
        _ => (ALIKE_BYTES, ALIKE_BYTES / 2),
    }
}

/// Sample of the blocks that a thread wrote.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ContentSample {
    /// Records as they were written, or as much of each as there was room for.
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) distinct_blocks: DistinctBlocks,
}

/// Takes the samples of one thread.
#[derive(Debug)]
pub(super) struct Sampler {
    pages: Pages,
    slot_bytes: usize,
    /// Bytes used of each slot, in the order of the writes they hold.
    used: Vec<(usize, usize)>,
    free: Vec<usize>,
    /// Writes that make one slot: more than one where records are smaller than a block.
    group: u64,
    stride: u64,
    writes: u64,
    /// The file, in the upper bits of a place.
    file: u64,
    distinct_blocks: DistinctBlocks,
}

impl Sampler {
    /// For a thread of the workload.
    pub(super) fn new(workload: &Workload, thread: u32) -> Result<Self, Error> {
        let (room, most) = room_of(workload.content);
        let room = (room / workload.threads as usize / BLOCK_BYTES * BLOCK_BYTES).max(BLOCK_BYTES);
        let record = workload.length_bytes_max() as usize;
        let slot_bytes = record.clamp(BLOCK_BYTES, room.min(most));
        let slots = room / slot_bytes;
        Ok(Self {
            pages: Pages::new(slots * slot_bytes)?,
            slot_bytes,
            used: Vec::with_capacity(slots),
            free: (0..slots).rev().collect(),
            group: (BLOCK_BYTES / record).max(1) as u64,
            stride: 1,
            writes: 0,
            file: u64::from(file_of(workload, thread)) << 48,
            distinct_blocks: DistinctBlocks::new(workload.threads, IdentityPlace::of(workload.content)),
        })
    }

    /// A write of these bytes is about to be submitted.
    #[inline]
    pub(super) fn take(&mut self, op: &Op, bytes: &[u8]) {
        let (slot, part) = (self.writes / self.group, self.writes % self.group);
        self.writes += 1;
        if slot.is_multiple_of(self.stride) {
            self.copy(slot, part, bytes);
        }
        if op.offset_bytes.is_multiple_of(BLOCK_BYTES as u64) {
            let places = self.file + op.offset_bytes / BLOCK_BYTES as u64..;
            bytes
                .as_chunks::<BLOCK_BYTES>()
                .0
                .iter()
                .zip(places)
                .for_each(|(block, at)| self.distinct_blocks.count(block, at));
        }
    }

    #[cold]
    fn copy(&mut self, slot: u64, part: u64, bytes: &[u8]) {
        if part == 0 {
            let Some(place) = self.free.pop() else {
                self.thin_out();
                if slot.is_multiple_of(self.stride) {
                    self.copy(slot, part, bytes);
                }
                return;
            };
            self.used.push((place, 0));
        }
        let Some((place, used)) = self.used.last_mut() else { return };
        let room = &mut self.pages.bytes_mut()[*place * self.slot_bytes..][..self.slot_bytes];
        let length = bytes.len().min(room.len() - *used);
        room[*used..*used + length].copy_from_slice(&bytes[..length]);
        *used += length;
    }

    /// Keep every other slot only.
    fn thin_out(&mut self) {
        self.stride *= 2;
        let mut number = 0;
        let free = &mut self.free;
        self.used.retain(|(place, _)| {
            number += 1;
            let kept = number % 2 == 1;
            if !kept {
                free.push(*place);
            }
            kept
        });
        if self.free.is_empty() {
            // With a single slot nothing can be thinned: the next content replaces the one that is there.
            self.free.extend(self.used.pop().map(|(place, _)| place));
        }
    }

    /// Return the sample.
    pub(super) fn into_kept(self) -> ContentSample {
        let bytes = self.pages.bytes();
        let record = |(place, used): &(usize, usize)| bytes[place * self.slot_bytes..][..*used].to_vec();
        ContentSample { records: self.used.iter().map(record).collect(), distinct_blocks: self.distinct_blocks }
    }
}

impl ContentSample {
    /// Sample of `writes` writes that all had the bytes of `record`.
    pub(super) fn of_fixed(record: &[u8], content: Content, writes: u64) -> Self {
        let blocks = record.as_chunks::<BLOCK_BYTES>().0;
        let tables = if blocks.len() > FIXED_BLOCKS { 1 } else { FIXED_TABLES };
        let mut distinct_blocks = DistinctBlocks::new(tables, IdentityPlace::Unknown);
        blocks.iter().zip(0..).for_each(|(block, at)| distinct_blocks.count(block, at));
        distinct_blocks.multiply(writes);
        let kept = &record[..record.len().min(room_of(content).1)];
        // Shorter records lie behind one another in a block of the file.
        Self { records: vec![kept.repeat((BLOCK_BYTES / record.len()).max(1))], distinct_blocks }
    }
}
