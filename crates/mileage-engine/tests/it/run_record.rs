//! What a record says of the data that was really written, and of the time that making it took.

use crate::scratch::{folder, plain, run};
use mileage_engine::{Api, Generator, Options};
use mileage_measure::{ContentData, PackedData, RunRecord};
use mileage_workload::{Content, Files, PatternKind, Stop, Workload};
use std::collections::HashSet;
use std::io::Write;

fn of_bytes(bytes: u64, record_bytes: u32, content: Content) -> Workload {
    let stop = Stop { bytes: Some(bytes), ..Stop::default() };
    Workload { span_bytes: bytes, stop, record_bytes, content, ..plain() }
}

/// A run on a target that does nothing: data is made all the same.
fn nowhere(workload: Workload) -> RunRecord {
    run(workload, Options { api: Api::Null, ..Options::new("nowhere") }).record
}

fn mixed(compressible_percent: u8, duplicate_percent: u8) -> Content {
    Content::Mixed { compressible_percent, duplicate_percent }
}

fn saved_percent(content: &ContentData, packed: u64) -> f64 {
    100.0 * (1.0 - packed as f64 / content.sample_bytes as f64)
}

fn duplicate_percent(content: &ContentData) -> f64 {
    100.0 * (1.0 - content.blocks_distinct as f64 / content.blocks as f64)
}

#[test]
fn the_sample_of_a_small_run_is_the_whole_of_it() {
    let folder = folder();
    let path = folder.path().join("data");
    let workload = Workload { pattern: PatternKind::Sequential, ..of_bytes(128 << 10, 16_384, mixed(40, 0)) };
    let content = run(workload, Options { create: true, ..Options::new(&path) }).record.content.unwrap();
    let file = std::fs::read(path).unwrap();
    let zlib = |piece: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(1));
        encoder.write_all(piece).unwrap();
        encoder.finish().unwrap().len() as u64
    };
    let expected = |piece_bytes: usize| PackedData {
        piece_bytes: piece_bytes as u64,
        zlib_bytes: file.chunks(piece_bytes).map(zlib).sum(),
        zstd_bytes: file.chunks(piece_bytes).map(|piece| zstd::bulk::compress(piece, 1).unwrap().len() as u64).sum(),
        lz4_bytes: file
            .chunks(piece_bytes)
            .map(|piece| lz4::block::compress(piece, None, false).unwrap().len() as u64)
            .sum(),
    };
    assert_eq!((content.sample_bytes, content.blocks, content.blocks_distinct), (128 << 10, 32, 32));
    assert_eq!(content.packed, [expected(4096), expected(16_384)]);
}

#[test]
fn every_level_is_found_within_two_points_on_a_sample_of_a_long_run() {
    for level in [0, 2, 25, 50, 75, 98, 100] {
        for record_bytes in [4096, 65_536, 16 << 20] {
            let random =
                Workload { pattern: PatternKind::Random, ..of_bytes(256 << 20, record_bytes, mixed(level, 0)) };
            let content = nowhere(random).content.unwrap();
            assert!((64 << 10..=128 << 10).contains(&content.sample_bytes), "{content:?}");
            assert_eq!(content.packed.len(), 1 + usize::from(record_bytes > 4096));
            for packed in &content.packed {
                for bytes in [packed.zlib_bytes, packed.zstd_bytes, packed.lz4_bytes] {
                    let saved = saved_percent(&content, bytes);
                    assert!((saved - f64::from(level)).abs() < 2.0, "{saved:.2} of {level}: {packed:?}");
                }
            }
        }
    }
}

#[test]
fn duplicates_are_counted_over_all_that_was_written() {
    for (percent, threads) in [(0, 1), (30, 2), (50, 1), (100, 3)] {
        let workload = Workload { threads, ..of_bytes(3 << 30, 1 << 20, mixed(50, percent)) };
        let content = nowhere(workload).content.unwrap();
        assert_eq!(content.blocks, 786_432);
        let found = duplicate_percent(&content);
        // The count's own error adds to the point that the content promises.
        assert!((found - f64::from(percent)).abs() < 4.0, "{found:.2} of {percent}: {content:?}");
    }
}

/// Held against the file that the run leaves behind.
#[test]
fn places_that_are_written_again_are_no_duplicates() {
    let zipf = PatternKind::Zipf { theta_hundredths: 99 };
    let cases = [
        (zipf.clone(), mixed(50, 0)),
        (zipf.clone(), mixed(50, 60)),
        (zipf, Content::FioScrambled),
        (PatternKind::Random, mixed(50, 30)),
    ];
    for (pattern, content) in cases {
        for threads in [1, 3] {
            let folder = folder();
            let path = folder.path().join("data");
            std::fs::write(&path, vec![0; 24 << 20]).unwrap();
            // One lap, in which the same place gets the same bytes.
            let workload = Workload { threads, pattern: pattern.clone(), ..of_bytes(24 << 20, 4096, content) };
            let record = run(workload, Options::new(&path)).record;
            let content = record.content.unwrap();
            let file = std::fs::read(&path).unwrap();
            let written: Vec<&[u8]> = file.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).collect();
            let distinct = written.iter().collect::<HashSet<_>>().len() as u64;
            assert!(record.ops_written == 6144 && written.len() < 5000, "{} places are written", written.len());
            assert_eq!((content.blocks, content.blocks_distinct), (written.len() as u64, distinct), "{threads}");
        }
    }
}

#[test]
fn a_skewed_workload_has_the_duplicates_it_is_asked_for() {
    for (percent, tolerance) in [(0, 0.0), (50, 5.0)] {
        let pattern = PatternKind::Zipf { theta_hundredths: 120 };
        let workload = Workload { pattern, threads: 2, ..of_bytes(2 << 30, 4096, mixed(50, percent)) };
        let content = nowhere(workload).content.unwrap();
        let found = duplicate_percent(&content);
        assert!((found - f64::from(percent)).abs() <= tolerance, "{found:.2} of {percent}: {content:?}");
        assert!(content.blocks < 524_288, "most places are written again: {content:?}");
    }
}

#[test]
fn contents_that_are_always_the_same_are_counted_as_such() {
    let zeros = nowhere(of_bytes(64 << 20, 65_536, Content::Zeros)).content.unwrap();
    assert_eq!((zeros.blocks, zeros.blocks_distinct, zeros.sample_bytes), (16_384, 1, 65_536));
    assert!(saved_percent(&zeros, zeros.packed[1].zlib_bytes) > 99.0);
    let constant = Content::IozoneDedup { within_percent: 100, across_percent: 100, compress_percent: 0 };
    let constant = nowhere(of_bytes(256 << 20, 4096, constant)).content.unwrap();
    assert!(constant.blocks == 65_536 && constant.blocks_distinct == 1, "{constant:?}");
    let buffer = nowhere(of_bytes(64 << 20, 16_384, Content::FioConstant)).content.unwrap();
    assert_eq!((buffer.blocks, buffer.blocks_distinct, buffer.sample_bytes), (16_384, 4, 16_384));
    let sectors = nowhere(of_bytes(1 << 20, 512, Content::FioConstant)).content.unwrap();
    assert_eq!(sectors.sample_bytes, 4096);
    assert!(saved_percent(&sectors, sectors.packed[0].zlib_bytes) > 80.0, "a block is one sector eight times");
    let small = nowhere(of_bytes(1 << 20, 512, mixed(50, 0))).content.unwrap();
    assert_eq!((small.blocks, small.sample_bytes), (0, 128 << 10), "no whole block is ever in one buffer");
    let reads = Workload { read_percent: 100, ..of_bytes(1 << 20, 4096, Content::Incompressible) };
    assert_eq!(nowhere(reads).content, None);
}

#[test]
fn generating_data_is_recorded_and_counts_in_no_latency() {
    for depth in [1, 8] {
        let folder = folder();
        let path = folder.path().join("data");
        let api = if depth == 1 {
            Api::Null
        } else {
            Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false }
        };
        let workload = |content| Workload { depth, ..of_bytes(64 << 20, 1 << 20, content) };
        let options = || Options { api, create: depth > 1, ..Options::new(&path) };
        let record = run(workload(mixed(0, 0)), options()).record;
        let usage = &record.usage;
        assert!(usage.fill_ns > 0, "{usage:?}");
        if depth == 1 {
            // Nothing else happens here, and a record takes thousands of times longer to make than to do nothing with.
            let latency = &record.latency.write;
            assert!(latency.min_ns * 20 < usage.fill_ns / latency.count, "{latency:?} {usage:?}");
        }
        assert_eq!(run(workload(Content::Zeros), options()).record.usage.fill_ns, 0, "zeros cost nothing");
    }
}

#[test]
fn a_generator_makes_what_a_run_writes_and_measures_it() {
    let folder = folder();
    let path = folder.path().join("data");
    let dedup = Content::IozoneDedup { within_percent: 75, across_percent: 75, compress_percent: 75 };
    let contents =
        [mixed(60, 30), dedup, Content::IozoneDiagnostic, Content::FioScrambled, Content::FioConstant, Content::Zeros];
    for content in contents {
        let workload = Workload { record_bytes: 65_536, ..of_bytes(2 << 20, 65_536, content) };
        let written = run(workload.clone(), Options { create: true, ..Options::new(&path) }).record.content.unwrap();
        let generator = Generator::new(&workload).unwrap();
        let mut made = vec![0; 2 << 20];
        for (number, record) in made.chunks_mut(65_536).enumerate() {
            generator.fill(0, number as u64 * 65_536, record);
        }
        assert!(made == std::fs::read(&path).unwrap(), "{content:?}");
        let measured = generator.measure().unwrap();
        let saved = |content: &ContentData| {
            content.packed.iter().map(|packed| saved_percent(content, packed.zlib_bytes)).collect()
        };
        let (measured, written): (Vec<f64>, Vec<f64>) = (saved(&measured), saved(&written));
        assert!(measured.iter().zip(&written).all(|(a, b)| (a - b).abs() < 0.1), "{measured:?} {written:?}");
        assert!((measured[1] - content.saved_percent(65_536)).abs() < 2.0, "{content:?}: {measured:?}");
    }
}

#[test]
fn writes_from_one_buffer_that_is_changed_are_known_to_differ() {
    for (record_bytes, passes) in [(4096, 1), (65_536, 2)] {
        let workload = of_bytes(256 << 20, record_bytes, Content::FioScrambled);
        let stop = Stop { bytes: Some(passes * workload.span_bytes), ..Stop::default() };
        let content = nowhere(Workload { stop, ..workload }).content.unwrap();
        assert_eq!((content.blocks, content.blocks_distinct), (passes * 65_536, passes * 65_536), "{record_bytes}");
    }
    let of_each = Workload { threads: 3, files: Files::PerThread, ..of_bytes(3 << 20, 4096, Content::FioScrambled) };
    let content = nowhere(Workload { span_bytes: 1 << 20, ..of_each }).content.unwrap();
    assert_eq!((content.blocks, content.blocks_distinct), (768, 768), "the same places of three files");
}

#[test]
fn distinct_records_are_sampled_evenly() {
    let content = nowhere(of_bytes(1 << 30, 4096, mixed(0, 0))).content.unwrap();
    assert!((16 * 4096..=32 * 4096).contains(&content.sample_bytes), "{content:?}");
    assert!(content.blocks == 262_144 && content.blocks_distinct == content.blocks, "{content:?}");
    let seeds: HashSet<u64> = (0..4)
        .map(|seed| {
            let workload = Workload { seed, ..of_bytes(1 << 20, 4096, mixed(50, 0)) };
            nowhere(workload).content.unwrap().packed[0].zlib_bytes
        })
        .collect();
    assert!(seeds.len() > 1, "the sample does not follow the data");
}
