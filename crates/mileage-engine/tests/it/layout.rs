//! Laying out, creating and extending files.

use crate::scratch::{file_of, finish, folder, has_direct, plain, run};
use mileage_engine::{Options, lay_out};
use mileage_workload::{PatternKind, Stop, Workload};
use std::os::unix::fs::MetadataExt;

#[test]
fn every_byte_is_real_whatever_the_size() {
    let folder = folder();
    let direct = has_direct("every_byte_is_real_whatever_the_size, past the page cache", 4096);
    for bytes in [4096, 5000, 12_288, 1 << 20, (1 << 20) + 1, (3 << 20) + 4096, 10_000_000] {
        for direct in [false, direct] {
            let path = folder.path().join(format!("{bytes}-{direct}"));
            let record = finish(&lay_out(&path, bytes, 5, direct).unwrap()).unwrap().record;
            assert_eq!((record.error, record.ops_read), (None, 0));
            let facts = std::fs::metadata(&path).unwrap();
            assert_eq!(facts.len(), bytes);
            assert!(facts.blocks() * 512 >= bytes, "{bytes} bytes in {} blocks: holes", facts.blocks());
            let data = std::fs::read(&path).unwrap();
            let sectors = data.chunks(512).filter(|sector| sector.iter().any(|byte| *byte != 0)).count() as u64;
            assert_eq!(sectors, bytes.div_ceil(512), "no sector is empty");
        }
    }
}

#[test]
fn a_longer_file_keeps_its_end_and_the_rest_is_replaced() {
    let (_folder, path) = file_of(3 << 20);
    finish(&lay_out(&path, (1 << 20) + 700, 5, false).unwrap()).unwrap();
    let data = std::fs::read(path).unwrap();
    assert_eq!(data.len(), 3 << 20);
    assert!(data[(1 << 20) + 700..].iter().all(|byte| *byte == 0xA5));
    let kept = data[..(1 << 20) + 700].chunks(512).filter(|sector| sector.iter().all(|byte| *byte == 0xA5)).count();
    assert_eq!(kept, 0, "sectors of the old content");
}

#[test]
fn too_small_is_refused() {
    let folder = folder();
    let path = folder.path().join("small");
    let text = lay_out(&path, 4095, 1, false).unwrap_err().to_string();
    assert_eq!(text, format!("cannot lay out {} with 4095 bytes: expected at least 4096", path.display()));
    assert!(!path.exists());
}

#[test]
fn a_write_run_may_create_and_extend_its_file() {
    let folder = folder();
    let path = folder.path().join("new");
    let options = || Options { create: true, ..Options::new(&path) };
    run(plain(), options());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4 << 20);
    let span_bytes = 8 << 20;
    let stop = Stop { bytes: Some(span_bytes), ..Stop::default() };
    run(Workload { pattern: PatternKind::Shuffled, span_bytes, stop, threads: 2, ..plain() }, options());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), span_bytes);
    run(Workload { read_percent: 50, ..plain() }, options());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), span_bytes, "nothing is truncated");
}
