//! Measure how well compressors and deduplication reduce the written bytes.
//!
//! The compressors are the reference ones, built into the wheel (half a megabyte; the Python packages for zstd and lz4
//! would be ten times that for each installation, and the record is whole when the engine hands it over).

use super::distinct_blocks::DistinctBlocks;
use super::sample::ContentSample;
use mileage_measure::{ContentData, PackedData};
use std::io::Write;

const PIECE_BYTES: usize = 4096;

/// The threads' samples as one; `None` when nothing was written.
pub(crate) fn measure_compression(mut kept: Vec<ContentSample>) -> Option<ContentData> {
    let records: Vec<Vec<u8>> = kept.iter_mut().flat_map(|kept| std::mem::take(&mut kept.records)).collect();
    let sample_bytes: u64 = records.iter().map(|record| record.len() as u64).sum();
    let longest = records.iter().map(Vec::len).max().filter(|longest| *longest > 0)?;
    let mut packed = vec![compress(&records, PIECE_BYTES)];
    if longest > PIECE_BYTES {
        packed.push(compress(&records, longest));
    }
    let (blocks, blocks_distinct) = kept
        .iter()
        .fold(DistinctBlocks::new(1), |mut all, kept| {
            all.merge(&kept.distinct_blocks);
            all
        })
        .blocks_and_distinct();
    Some(ContentData { sample_bytes, packed, blocks, blocks_distinct })
}

fn compress(records: &[Vec<u8>], piece_bytes: usize) -> PackedData {
    let sum = |measure_compression: fn(&[u8]) -> usize| {
        let pieces = records.iter().flat_map(|record| record.chunks(piece_bytes));
        pieces.map(|piece| measure_compression(piece) as u64).sum()
    };
    let piece_bytes = piece_bytes as u64;
    PackedData { piece_bytes, zlib_bytes: sum(zlib_1), zstd_bytes: sum(zstd_1), lz4_bytes: sum(lz4) }
}

/// Bytes that zlib makes of a piece at level 1, header and checksum included.
fn zlib_1(piece: &[u8]) -> usize {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::with_capacity(piece.len()), flate2::Compression::new(1));
    let written = encoder.write_all(piece).and_then(|()| encoder.finish());
    written.map_or(piece.len(), |packed| packed.len())
}

/// Bytes that zstd makes of a piece at level 1, header included.
fn zstd_1(piece: &[u8]) -> usize {
    zstd::bulk::compress(piece, 1).map_or(piece.len(), |packed| packed.len())
}

/// Bytes of an LZ4 block, without a frame.
fn lz4(piece: &[u8]) -> usize {
    lz4::block::compress(piece, None, false).map_or(piece.len(), |packed| packed.len())
}
