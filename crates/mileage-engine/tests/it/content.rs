//! What the written bytes are.

use crate::scratch::{folder, plain, run};
use mileage_engine::Options;
use mileage_workload::{Content, Stop, Workload};
use std::collections::HashSet;

fn written(workload: Workload) -> Vec<u8> {
    let folder = folder();
    let path = folder.path().join("new");
    run(workload, Options { create: true, ..Options::new(&path) });
    std::fs::read(path).unwrap()
}

fn of_bytes(bytes: u64) -> Workload {
    Workload { span_bytes: bytes, stop: Stop { bytes: Some(bytes), ..Stop::default() }, ..plain() }
}

/// Shannon's entropy of the byte values, in bits per byte.
fn entropy_bits(data: &[u8]) -> f64 {
    let mut counts = [0_u64; 256];
    data.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let shares = counts.iter().filter(|count| **count > 0).map(|count| *count as f64 / data.len() as f64);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

#[test]
fn nothing_to_compress_or_to_deduplicate() {
    let data = written(of_bytes(16 << 20));
    assert_eq!(data.len(), 16 << 20);
    assert!(entropy_bits(&data) > 7.999, "{}", entropy_bits(&data));
    let sectors: HashSet<&[u8]> = data[..8 << 20].chunks(512).collect();
    assert_eq!(sectors.len(), (8 << 20) / 512, "a sector came twice within the pool");
    let blocks: HashSet<&[u8]> = data.chunks(4096).collect();
    assert_eq!(blocks.len(), data.len() / 4096, "a block came twice");
}

#[test]
fn threads_write_different_bytes() {
    let data = written(Workload { threads: 2, ..of_bytes(8 << 20) });
    assert_eq!(data.chunks(512).collect::<HashSet<_>>().len(), data.len() / 512);
}

#[test]
fn zeros_are_zeros() {
    let data = written(Workload { content: Content::Zeros, ..of_bytes(4 << 20) });
    assert!(data.len() == 4 << 20 && data.iter().all(|byte| *byte == 0));
}

/// Contents of which a buffer is filled once: one whose blocks are all equal, and one whose blocks all differ.
#[test]
fn blocks_of_a_long_record_of_fixed_content_are_all_counted() {
    for content in [Content::IozonePattern { byte: 7, whole: true }, Content::IozoneDefault, Content::FioConstant] {
        let folder = folder();
        let path = folder.path().join("new");
        let workload = Workload { content, record_bytes: 8 << 20, ..of_bytes(16 << 20) };
        let record = run(workload, Options { create: true, ..Options::new(&path) }).record;
        let file = std::fs::read(path).unwrap();
        let different: HashSet<&[u8]> = file.chunks(4096).collect();
        let counted = record.content.expect("content was written");
        let expected = ((16 << 20) / 4096, different.len() as u64);
        assert_eq!((counted.blocks, counted.blocks_distinct), expected, "{content:?}");
    }
}

#[test]
fn a_seed_gives_its_bytes_again_and_another_gives_others() {
    let of_seed = |seed| written(Workload { seed, threads: 3, record_bytes: 12_288, ..of_bytes(12_288 * 99) });
    let first = of_seed(7);
    assert!(first == of_seed(7), "the same seed gave other bytes");
    let other = of_seed(8);
    let shared = first.chunks(512).collect::<HashSet<_>>().intersection(&other.chunks(512).collect()).count();
    assert_eq!(shared, 0, "sectors in common between two seeds");
}
