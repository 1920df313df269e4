//! Measure how well compressors and deduplication reduce the written bytes.
//!
//! The compressors are the reference ones, built into the wheel (half a megabyte; the Python packages for zstd and lz4
//! would be ten times that for each installation, and the record is whole when the engine hands it over).

use super::distinct_blocks::DistinctBlocks;
use super::sample::ContentSample;
use flate2::{Compress, Compression, FlushCompress, Status};
use mileage_measure::{ContentData, PackedData};
use zstd::bulk::Compressor;

const PIECE_BYTES: usize = 4096;

/// The threads' samples as one; `None` when nothing was written.
pub(crate) fn measure_compression(kept: &[&ContentSample]) -> Option<ContentData> {
    let records: Vec<&[u8]> = kept.iter().flat_map(|kept| &kept.records).map(Vec::as_slice).collect();
    let sample_bytes: u64 = records.iter().map(|record| record.len() as u64).sum();
    let longest = records.iter().map(|record| record.len()).max().filter(|longest| *longest > 0)?;
    let mut packed = vec![compress(&records, PIECE_BYTES)];
    if longest > PIECE_BYTES {
        packed.push(compress(&records, longest));
    }
    let counts: Vec<&DistinctBlocks> = kept.iter().map(|kept| &kept.distinct_blocks).collect();
    let (blocks, blocks_distinct) = DistinctBlocks::blocks_and_distinct_of(&counts);
    Some(ContentData { sample_bytes, packed, blocks, blocks_distinct })
}

fn compress(records: &[&[u8]], piece_bytes: usize) -> PackedData {
    let mut compressors = Compressors::new(piece_bytes);
    let (mut sum, mut last) = (PackedSizes::default(), (&[][..], PackedSizes::default()));
    for piece in records.iter().flat_map(|record| record.chunks(piece_bytes)) {
        // Of contents that repeat a page it is one piece again and again.
        if last.0 != piece {
            last = (piece, compressors.sizes(piece));
        }
        sum.iter_mut().zip(last.1).for_each(|(sum, bytes)| *sum += bytes);
    }
    let [zlib_bytes, zstd_bytes, lz4_bytes] = sum;
    PackedData { piece_bytes: piece_bytes as u64, zlib_bytes, zstd_bytes, lz4_bytes }
}

/// Bytes that zlib, zstd and lz4 make of a piece.
type PackedSizes = [u64; 3];

/// The compressors, which use their memory again for each piece; what one cannot compress counts in full.
struct Compressors {
    zlib: Compress,
    zstd: Option<Compressor<'static>>,
    out: Vec<u8>,
}

impl Compressors {
    fn new(piece_bytes: usize) -> Self {
        // More than any of them needs for a piece of random bytes.
        let out = vec![0; piece_bytes + piece_bytes / 64 + 1024];
        Self { zlib: Compress::new(Compression::new(1), true), zstd: Compressor::new(1).ok(), out }
    }

    fn sizes(&mut self, piece: &[u8]) -> PackedSizes {
        [self.zlib_1(piece), self.zstd_1(piece), self.lz4(piece)].map(|bytes| bytes.unwrap_or(piece.len()) as u64)
    }

    /// Bytes that zlib makes of a piece at level 1, header and checksum included.
    fn zlib_1(&mut self, piece: &[u8]) -> Option<usize> {
        self.zlib.reset();
        let done = self.zlib.compress(piece, &mut self.out, FlushCompress::Finish).ok()?;
        (done == Status::StreamEnd).then_some(self.zlib.total_out() as usize)
    }

    /// Bytes that zstd makes of a piece at level 1, header included.
    fn zstd_1(&mut self, piece: &[u8]) -> Option<usize> {
        self.zstd.as_mut()?.compress_to_buffer(piece, &mut self.out[..]).ok()
    }

    /// Bytes of an LZ4 block, without a frame.
    fn lz4(&mut self, piece: &[u8]) -> Option<usize> {
        lz4::block::compress_to_buffer(piece, None, false, &mut self.out).ok()
    }
}
