//! Content of the host's writes, as far as a controller with compression or deduplication can know it: the identity of
//! a page, and the size to which it compresses.
//!
//! Contents made of blocks are known by their identity; they compress by their share, which zlib-1, zstd-1 and lz4
//! confirm within 2 points on the real bytes (`mileage-workload`). Of fio's, one page is made and compressed with LZ4,
//! since all compress alike. IOzone's records are constant here and random there, so that all their pages are made. A
//! page that was written in part, and what was not said to be of a workload, is like no other page; the latter compresses
//! as a layer above says ([`PageSizes`]), at first not at all.

use crate::page_sizes::{PageSizes, compressed_size, fio_page_size, size_after_saving};
use mileage_workload::{BLOCK_BYTES, Blocks, Content, IozoneBytes, Workload, WriteIdentity};

/// A page as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IncomingPage {
    /// Equal for equal contents; of different ones two in 2^64 are equal.
    pub print: u64,
    /// Bytes after compression.
    pub bytes: u32,
}

#[derive(Clone, Debug)]
enum Source {
    Unknown,
    Blocks { blocks: Blocks, seed: u64, saved_percent: u32 },
    Fio { seed: u64, is_scrambled: bool, compressed_bytes: u32 },
    Zeros,
    Iozone(Box<Records>),
}

/// IOzone's records, and the one made last.
#[derive(Clone, Debug)]
struct Records {
    bytes: IozoneBytes,
    record: Vec<u8>,
    number: u64,
}

/// Content of the current workload's writes.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    source: Source,
    /// Of pages whose source is unknown.
    pub sizes: PageSizes,
    page_bytes: u32,
    generation: u32,
    lap: u32,
    /// First byte and length of the operation in progress.
    operation: (u64, u64),
}

/// Leaves no trace of order; the same number for the same two.
fn join(state: u64, word: u64) -> u64 {
    let x = (state.rotate_left(29) ^ word).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let x = (x ^ (x >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^ (x >> 29)
}

const UNIQUE: u64 = 0x5851_F42D_4C95_7F2D;
const ZEROS: u64 = 0x1405_7B7E_F767_814F;

impl Contents {
    /// Content of which nothing is known, as long as nobody says its sizes.
    pub(crate) fn unknown(page_bytes: u32) -> Self {
        Self {
            source: Source::Unknown,
            sizes: PageSizes::default(),
            page_bytes,
            generation: 0,
            lap: 0,
            operation: (0, 0),
        }
    }

    /// Content of a workload's writes, from its first lap on.
    pub(crate) fn of(workload: &Workload, page_bytes: u32) -> Self {
        let (content, seed) = (&workload.content, workload.seed);
        let records = (workload.span_start_bytes + workload.span_bytes) / u64::from(workload.record_bytes);
        let source = if let Some(blocks) = Blocks::new(seed, content) {
            let saved_percent = match content {
                Content::Mixed { compressible_percent, .. } => u32::from(*compressible_percent),
                _ => 0,
            };
            Source::Blocks { blocks, seed, saved_percent }
        } else if let Some(compressed_bytes) = fio_page_size(workload, page_bytes) {
            Source::Fio { seed, is_scrambled: *content == Content::FioScrambled, compressed_bytes }
        } else if let Some(bytes) = IozoneBytes::new(content, seed, workload.length_bytes_max(), records) {
            Source::Iozone(Box::new(Records { bytes, record: Vec::new(), number: 0 }))
        } else {
            Source::Zeros
        };
        Self { source, generation: workload.generation, ..Self::unknown(page_bytes) }
    }

    /// The next operations belong to this lap.
    pub(crate) fn set_lap(&mut self, lap: u32) {
        self.lap = lap;
    }

    /// A write of this range begins.
    pub(crate) fn begin(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.operation = (offset_bytes, length_bytes);
        if let Source::Iozone(records) = &mut self.source {
            records.make(offset_bytes, length_bytes);
        }
    }

    /// A page of it of which `covered_bytes` are written; `number` distinguishes it from all others if nothing else does.
    pub(crate) fn page(&self, page: u32, covered_bytes: u32, number: u64) -> IncomingPage {
        let (whole, from) = (self.page_bytes, u64::from(page) * u64::from(self.page_bytes));
        let in_part = covered_bytes < whole;
        let unique = join(UNIQUE, number);
        match &self.source {
            Source::Unknown => IncomingPage { print: unique, bytes: self.sizes.size_of(number, whole) },
            Source::Zeros => IncomingPage { print: if in_part { unique } else { ZEROS }, bytes: 0 },
            Source::Blocks { blocks, seed, saved_percent } => {
                let print = if in_part { unique } else { self.identity(blocks, *seed, from) };
                IncomingPage { print, bytes: size_after_saving(whole, *saved_percent) }
            }
            Source::Fio { seed, is_scrambled, compressed_bytes } => {
                let of_buffer = join(*seed, from.saturating_sub(self.operation.0));
                let writing = u64::from(self.generation) << 32 | u64::from(self.lap);
                let of_write = || join(join(of_buffer, from), writing);
                let print = if *is_scrambled { of_write() } else { of_buffer };
                IncomingPage { print: if in_part { unique } else { print }, bytes: *compressed_bytes }
            }
            Source::Iozone(records) => {
                let (offset_bytes, _) = self.operation;
                let Some(bytes) = records.record.get((from.max(offset_bytes) - offset_bytes) as usize..) else {
                    return IncomingPage { print: unique, bytes: whole };
                };
                let bytes = &bytes[..bytes.len().min(covered_bytes as usize)];
                let print = if in_part {
                    unique
                } else {
                    bytes.as_chunks().0.iter().fold(1, |state, word| join(state, u64::from_le_bytes(*word)))
                };
                IncomingPage { print, bytes: compressed_size(bytes, whole) }
            }
        }
    }

    /// Combined identity of the blocks in the page at byte `from`, and its position within a block.
    fn identity(&self, blocks: &Blocks, seed: u64, from: u64) -> u64 {
        let writing = WriteIdentity { file: 0, generation: self.generation, lap: self.lap };
        let block_bytes = BLOCK_BYTES as u64;
        let first = from / block_bytes;
        let end = (from + u64::from(self.page_bytes)).div_ceil(block_bytes);
        (first..end).fold(join(seed, from % block_bytes), |state, block| {
            let identity = blocks.identity(writing, block);
            let time = u64::from(self.generation) << 32 | u64::from(self.lap) << 1 | u64::from(identity.shared);
            join(join(state, identity.block), time)
        })
    }
}

impl Records {
    fn make(&mut self, offset_bytes: u64, length_bytes: u64) {
        let number = offset_bytes / length_bytes.max(1);
        if self.record.len() as u64 != length_bytes || self.number != number {
            self.record.resize(length_bytes as usize, 0);
            self.bytes.fill(0, number, &mut self.record);
            self.number = number;
        }
    }
}
