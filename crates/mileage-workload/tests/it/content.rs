//! What the two knobs promise, measured with real compressors and a counter of duplicates.

use mileage_workload::{BLOCK_BYTES, Blocks, Content, WriteIdentity};
use proptest::prelude::*;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;

type Compress = fn(&[u8]) -> usize;

pub fn zlib(bytes: &[u8]) -> usize {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(1));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

fn zstd(bytes: &[u8]) -> usize {
    zstd::bulk::compress(bytes, 1).unwrap().len()
}

fn lz4(bytes: &[u8]) -> usize {
    lz4::block::compress(bytes, None, false).unwrap().len()
}

fn mixed(compressible_percent: u8, duplicate_percent: u8) -> Content {
    Content::Mixed { compressible_percent, duplicate_percent }
}

fn writing(generation: u32, lap: u32) -> WriteIdentity {
    WriteIdentity { file: 0, generation, lap }
}

fn made(content: Content, seed: u64, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    Blocks::new(seed, &content).unwrap().fill(writing(1, 0), 0, &mut out);
    out
}

/// Every level and every compressor, on single blocks and on whole records; with half of the blocks duplicates too.
#[test]
fn compressors_save_the_nominal_share_within_two_points() {
    let compressors: [(&str, Compress); 3] = [("zlib-1", zlib), ("zstd-1", zstd), ("lz4", lz4)];
    let levels = [(0, 0), (1, 0), (2, 0), (10, 0), (25, 0), (50, 0), (75, 0), (98, 0), (100, 0), (50, 50), (98, 100)];
    for (level, duplicates) in levels {
        let bytes = made(mixed(level, duplicates), 11, 16 << 20);
        for piece in [4096, 16_384, 65_536, 1 << 20, 16 << 20] {
            let sample = &bytes[..piece.max(2 << 20)];
            for (name, compress) in compressors {
                let packed: usize = sample.chunks(piece).map(compress).sum();
                let saved = 100.0 * (1.0 - packed as f64 / sample.len() as f64);
                let off = saved - f64::from(level);
                assert!(off.abs() < 2.0, "{name}, pieces of {piece}: {saved:.2} saved of {level} (dup {duplicates})");
            }
        }
    }
}

/// Two of five contents, or all with `MILEAGE_TEST_PROFILE=thorough`: each is a gibibyte.
#[test]
fn a_counter_of_duplicates_finds_the_nominal_share_within_a_point() {
    let hasher = RandomState::new();
    let thorough = std::env::var_os("MILEAGE_TEST_PROFILE").is_some_and(|profile| profile == "thorough");
    let contents = [(25, 50), (75, 98), (0, 0), (50, 0), (100, 0)];
    for &(percent, compressible) in if thorough { &contents[..] } else { &contents[..2] } {
        let blocks = Blocks::new(5, &mixed(compressible, percent)).unwrap();
        let (mut seen, total, mut piece) = (HashSet::new(), 1 << 18, vec![0; 1 << 20]);
        for first in (0..total).step_by(256) {
            blocks.fill(writing(0, 0), first * BLOCK_BYTES as u64, &mut piece);
            seen.extend(piece.chunks(BLOCK_BYTES).map(|block| hasher.hash_one(block)));
        }
        let saved = 100.0 * (1.0 - seen.len() as f64 / total as f64);
        assert!((saved - f64::from(percent)).abs() < 1.0, "{saved:.2} of {percent}");
    }
}

#[test]
fn two_copies_are_multiples_of_four_mebibytes_apart() {
    let bytes = made(mixed(0, 60), 8, 32 << 20);
    let mut seen = std::collections::HashMap::new();
    for (number, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
        if let Some(before) = seen.insert(block, number) {
            assert_eq!((number - before) % 1024, 0, "blocks {before} and {number}");
        }
    }
}

/// Chi-square of the byte values, uniform bytes expected: 255 degrees of freedom, standard deviation 22.6.
fn chi_square(bytes: &[u8]) -> f64 {
    let mut counts = [0_u64; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let expected = bytes.len() as f64 / 256.0;
    counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum()
}

#[test]
fn incompressible_bytes_look_drawn_at_random() {
    let bytes = made(Content::Incompressible, 2, 16 << 20);
    let chi = chi_square(&bytes);
    assert!((140.0..390.0).contains(&chi), "chi-square {chi}");
    for position in 0..8 {
        let column: Vec<u8> = bytes.iter().copied().skip(position).step_by(8).collect();
        let chi = chi_square(&column);
        assert!((140.0..390.0).contains(&chi), "byte {position} of the words: chi-square {chi}");
    }
    let words: HashSet<[u8; 8]> = bytes.as_chunks::<8>().0.iter().copied().collect();
    assert_eq!(words.len(), bytes.len() / 8, "a word came twice");
    assert!(zstd::bulk::compress(&bytes[..4 << 20], 19).unwrap().len() > 4 << 20, "zstd-19 finds something");
    assert_eq!(bytes, made(mixed(0, 0), 2, 16 << 20), "incompressible is both knobs at zero");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_range_is_a_slice_of_the_whole(
        seed in any::<u64>(), level in 0_u8..=100, duplicates in 0_u8..=100, lap in 0_u32..9,
        first in 0_u64..1 << 40, from in 0_usize..40_000, length in 0_usize..40_000, sectors in any::<bool>(),
    ) {
        let (from, length) = if sectors { (from / 512 * 512, length / 512 * 512) } else { (from, length) };
        let blocks = Blocks::new(seed, &mixed(level, duplicates)).unwrap();
        let start = first * BLOCK_BYTES as u64;
        let (mut whole, mut part) = (vec![0; 20 * BLOCK_BYTES], vec![0xEE; length]);
        blocks.fill(writing(3, lap), start, &mut whole);
        blocks.fill(writing(3, lap), start + from as u64, &mut part);
        prop_assert_eq!(&part[..], &whole[from..from + length]);
    }

    #[test]
    fn seed_file_generation_lap_and_block_each_change_every_sector(
        seed in any::<u64>(), level in 0_u8..=100, block in 0_u64..1 << 47, change in 0..5,
    ) {
        let sectors = |seed, writing, block| {
            let mut out = [0; BLOCK_BYTES];
            Blocks::new(seed, &mixed(level, 0)).unwrap().fill(writing, block * BLOCK_BYTES as u64, &mut out);
            out
        };
        let (mut then, mut other, mut there) = (writing(7, 1), seed, block);
        match change {
            0 => other ^= 1 << (block % 64),
            1 => then.file += 1,
            2 => then.generation += 1,
            3 => then.lap += 1,
            _ => there += 1,
        }
        let (a, b) = (sectors(seed, writing(7, 1), block), sectors(other, then, there));
        prop_assert!(a.chunks(512).zip(b.chunks(512)).all(|(a, b)| a != b));
    }
}
