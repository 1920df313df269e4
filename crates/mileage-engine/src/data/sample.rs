//! Keeps some of what was really written, to be measured after the run.
//!
//! Two samples are taken from the buffers as they go to the kernel. Of whole records every n-th is copied, where n
//! doubles whenever the room is full, so that the copies are spread evenly over the run. Of blocks of 4 KiB a fingerprint
//! is kept if a number drawn from a few of their bytes falls below a bound, which is halved whenever there are too many:
//! equal blocks are kept or dropped together, so the share of duplicates among those kept is the share among all.

use super::fill::Filler;
use crate::error::Error;
use crate::memory::Pages;
use mileage_workload::{BLOCK_BYTES, Op, Workload};
use serde::{Deserialize, Serialize};

/// Bytes that the threads of a run copy together: 512 blocks give each share to a few tenths of a percent, since all
/// blocks of a level are made alike, and compressing them three times takes less than a tenth of a second.
const SAMPLE_BYTES: usize = 2 << 20;
/// Fingerprints that a thread keeps.
const PRINTS: usize = 8192;

/// What a thread kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Records as they were written, or as much of each as there was room for.
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) prints: Prints,
    /// Writes that each fingerprint stands for.
    pub(crate) times: u64,
}

/// Fingerprints of blocks whose key is 0 under the mask.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Prints {
    pub(crate) mask: u64,
    /// Key and fingerprint.
    pub(crate) blocks: Vec<(u64, u64)>,
    /// All that could be kept are the same: no more are looked at.
    full: bool,
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
    prints: Prints,
}

impl Sampler {
    pub(super) fn new(workload: &Workload) -> Result<Self, Error> {
        let room = (SAMPLE_BYTES / workload.threads as usize).max(BLOCK_BYTES);
        let record = workload.length_bytes_max() as usize;
        let slot_bytes = record.clamp(BLOCK_BYTES, room);
        let slots = room / slot_bytes;
        Ok(Self {
            pages: Pages::new(slots * slot_bytes)?,
            slot_bytes,
            used: Vec::with_capacity(slots),
            free: (0..slots).rev().collect(),
            group: (BLOCK_BYTES / record).max(1) as u64,
            stride: 1,
            writes: 0,
            prints: Prints { blocks: Vec::with_capacity(PRINTS), ..Prints::default() },
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
        if op.offset_bytes.is_multiple_of(BLOCK_BYTES as u64) && !self.prints.full {
            for block in bytes.as_chunks::<BLOCK_BYTES>().0 {
                let key = key(block);
                if key & self.prints.mask == 0 {
                    self.prints.keep(key, block);
                }
            }
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
            // One slot alone: the next one replaces it.
            self.free.extend(self.used.pop().map(|(place, _)| place));
        }
    }

    /// What was kept.
    pub(super) fn into_kept(self) -> Kept {
        let bytes = self.pages.bytes();
        let record = |(place, used): &(usize, usize)| bytes[place * self.slot_bytes..][..*used].to_vec();
        Kept { records: self.used.iter().map(record).collect(), prints: self.prints, times: 1 }
    }
}

impl Kept {
    /// Of `writes` writes that all carried the same bytes.
    pub(super) fn of_fixed(filler: &Filler, record_bytes: usize, writes: u64) -> Self {
        let mut record = vec![0; if writes > 0 { record_bytes.min(SAMPLE_BYTES) } else { 0 }];
        filler.prime(&mut record);
        let mut prints = Prints::default();
        prints.keep_all(&record);
        Self { records: vec![record], prints, times: writes }
    }
}

impl Prints {
    #[cold]
    fn keep(&mut self, key: u64, block: &[u8; BLOCK_BYTES]) {
        if self.blocks.len() == PRINTS {
            let wider = self.mask << 1 | 1;
            let left = self.blocks.iter().filter(|(key, _)| key & wider == 0).count();
            // Blocks that are all the same cannot be thinned out: the first ones have to do.
            if left == 0 || left == PRINTS {
                self.full = true;
                return;
            }
            self.narrow(wider);
        }
        if key & self.mask == 0 {
            self.blocks.push((key, fingerprint(block)));
        }
    }

    /// Keep all blocks of a record.
    pub(super) fn keep_all(&mut self, record: &[u8]) {
        let blocks = record.as_chunks::<BLOCK_BYTES>().0.iter();
        self.blocks.extend(blocks.map(|block| (key(block), fingerprint(block))));
    }

    /// Keep only those whose key is 0 under a wider mask.
    pub(crate) fn narrow(&mut self, mask: u64) {
        self.mask |= mask;
        self.blocks.retain(|(key, _)| key & self.mask == 0);
    }
}

fn word(block: &[u8; BLOCK_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| block[at + byte]))
}

fn fold(sum: u64, word: u64) -> u64 {
    let product = u128::from(sum ^ word) * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

/// Drawn from a word of each sector, never the same one.
#[inline]
fn key(block: &[u8; BLOCK_BYTES]) -> u64 {
    (0..8).fold(0x6A09_E667_F3BC_C908, |sum, sector| fold(sum, word(block, sector * 520)))
}

/// Of all bytes, in eight lanes.
fn fingerprint(block: &[u8; BLOCK_BYTES]) -> u64 {
    let mut lanes: [u64; 8] = std::array::from_fn(|lane| lane as u64);
    for stripe in (0..BLOCK_BYTES).step_by(64) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum = (*sum ^ word(block, stripe + 8 * lane)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
    }
    lanes.into_iter().fold(0, fold)
}
