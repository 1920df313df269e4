//! Reads are compared with what was written, and what is wrong is named.

use crate::scratch::{finish, folder, has_direct, plain, run};
use mileage_engine::{Api, Options, start};
use mileage_measure::RunRecord;
use mileage_workload::{
    Blocks, Content, Files, IorOrder, OpKind, PatternKind, Stop, Sync, TraceOp, Verify, Workload, WriteIdentity,
};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;
const SPAN: u64 = 8 << 20;
const CONTENT: Content = Content::Mixed { compressible_percent: 60, duplicate_percent: 0 };

fn writes(generation: u32) -> Workload {
    let stop = Stop { bytes: Some(SPAN), ..Stop::default() };
    Workload { span_bytes: SPAN, stop, content: CONTENT, generation, seed: 77, ..plain() }
}

fn reads(generation: u32) -> Workload {
    Workload { read_percent: 100, verify: Verify::All, ..writes(generation) }
}

fn write(path: &Path, workload: Workload) {
    let record = run(workload, Options { create: true, ..Options::new(path) }).record;
    assert_eq!(record.error, None);
}

fn read(path: &Path, workload: Workload) -> RunRecord {
    run(workload, Options::new(path)).record
}

fn ring() -> Api {
    Api::Uring { registered: true, batch: 0, sqpoll: false, iopoll: false }
}

/// Change some bytes of a file.
fn damage(path: &Path, offset: u64, change: impl FnOnce(&mut Vec<u8>), length: usize) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset).unwrap();
    change(&mut bytes);
    file.write_all_at(&bytes, offset).unwrap();
}

/// What the blocks of the workload's content are in a writing.
fn bytes_of(generation: u32, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let writing = WriteIdentity { file: 0, generation, lap: 0 };
    Blocks::new(77, &CONTENT).unwrap().fill(writing, offset, &mut bytes);
    bytes
}

#[track_caller]
fn passes(record: &RunRecord, compared: u64) {
    assert_eq!(record.error, None);
    assert_eq!((record.ops_compared, record.ops_mismatched, record.mismatches.len()), (compared, 0, 0));
    assert!(record.usage.verify_ns > 0);
}

/// The one mismatch of a failed run: kind, offset, message.
#[track_caller]
fn only_mismatch(record: &RunRecord) -> (&str, u64, &str) {
    assert_eq!((record.ops_mismatched, record.mismatches.len()), (1, 1), "{:?}", record.mismatches);
    let error = record.error.as_ref().expect("wrong data fails a run");
    assert!(error.kind == "VERIFY" && error.message.contains(&record.mismatches[0].message), "{error:?}");
    let mismatch = &record.mismatches[0];
    (&mismatch.kind, mismatch.offset_bytes, &mismatch.message)
}

#[test]
fn what_was_written_is_found_by_any_later_run_of_its_seed_and_generation() {
    let folder = folder();
    let path = folder.path().join("data");
    write(&path, writes(3));
    passes(&read(&path, reads(3)), SPAN / 4096);
    passes(&read(&path, Workload { pattern: PatternKind::Random, ..reads(3) }), SPAN / 4096);
    passes(&read(&path, Workload { record_bytes: 1 << 20, ..reads(3) }), 8);
    passes(&read(&path, Workload { record_bytes: 512, threads: 2, ..reads(3) }), SPAN / 512);
    let deep = run(Workload { depth: 16, ..reads(3) }, Options { api: ring(), ..Options::new(&path) });
    passes(&deep.record, SPAN / 4096);
}

#[test]
fn each_corruption_is_named_as_what_it_is() {
    let folder = folder();
    let path = folder.path().join("data");
    let at = 5 * BLOCK as u64;
    for api in [Api::Positioned, ring()] {
        let find = |change: &dyn Fn(&mut Vec<u8>)| {
            write(&path, writes(2));
            damage(&path, at, change, BLOCK);
            run(reads(2), Options { api, ..Options::new(&path) }).record
        };
        let flipped = find(&|bytes| bytes[100] ^= 0x10);
        let (kind, offset, message) = only_mismatch(&flipped);
        assert_eq!((kind, offset), ("flipped", at + 100));
        assert!(message.contains("1 bit flipped") && message.contains("(bit 4)"), "{message}");

        let stale = find(&|bytes| *bytes = bytes_of(1, at, BLOCK));
        let (kind, offset, message) = only_mismatch(&stale);
        assert_eq!((kind, offset / 64 * 64), ("stale", at));
        assert!(
            message.contains("block 5 of generation 2") && message.contains("block 5 of generation 1"),
            "{message}"
        );

        let misplaced = find(&|bytes| *bytes = bytes_of(2, 9 * BLOCK as u64, BLOCK));
        let (kind, offset, message) = only_mismatch(&misplaced);
        assert_eq!((kind, offset / 64 * 64), ("misplaced", at));
        assert!(message.contains("expected block 5 ") && message.contains("found block 9 "), "{message}");

        let torn = find(&|bytes| bytes[1536..].copy_from_slice(&bytes_of(1, at, BLOCK)[1536..]));
        let (kind, offset, message) = only_mismatch(&torn);
        assert_eq!((kind, offset / 64 * 64), ("torn", at + 1536));
        assert!(message.contains("generation 1"), "{message}");

        let foreign = find(&|bytes| bytes.fill(0xA5));
        let (kind, offset, message) = only_mismatch(&foreign);
        assert_eq!((kind, offset), ("foreign", at));
        assert!(message.contains("no writing with this seed"), "{message}");
    }
}

#[test]
fn a_torn_record_of_several_blocks_is_torn() {
    let folder = folder();
    let path = folder.path().join("data");
    let (record, at) = (65_536, 3 * 65_536);
    write(&path, Workload { record_bytes: record, ..writes(2) });
    let old = bytes_of(1, at, record as usize);
    damage(&path, at, |bytes| bytes[5 * BLOCK..].copy_from_slice(&old[5 * BLOCK..]), record as usize);
    let found = read(&path, Workload { record_bytes: record, ..reads(2) });
    let (kind, offset, _) = only_mismatch(&found);
    assert_eq!((kind, offset / 64 * 64), ("torn", at + 5 * BLOCK as u64));
}

#[test]
fn another_generation_or_seed_fails_everywhere_and_a_hundred_are_kept() {
    let folder = folder();
    let path = folder.path().join("data");
    write(&path, writes(4));
    for (workload, kind) in [
        (reads(5), "stale"),
        (reads(3), "foreign"),
        (Workload { seed: 78, ..reads(4) }, "foreign"),
        (Workload { content: Content::Incompressible, ..reads(4) }, "foreign"),
    ] {
        let record = read(&path, workload);
        assert_eq!((record.ops_compared, record.ops_mismatched), (SPAN / 4096, SPAN / 4096));
        assert_eq!(record.mismatches.len(), 100);
        let kinds: Vec<&str> = record.mismatches.iter().map(|mismatch| mismatch.kind.as_str()).collect();
        assert!(kinds.iter().all(|found| *found == kind), "{kind}: {:?}", record.mismatches[0]);
        assert_eq!(record.error.map(|error| error.kind), Some("VERIFY".to_owned()));
    }
}

#[test]
fn a_sample_compares_its_share_and_the_same_reads_each_time() {
    let folder = folder();
    let path = folder.path().join("data");
    write(&path, writes(1));
    let sampled = Workload { verify: Verify::Sampled { one_in: 8 }, ..reads(1) };
    let count = read(&path, sampled.clone()).ops_compared;
    assert!((192..320).contains(&count), "{count} of 2048, one in 8");
    assert_eq!(read(&path, sampled).ops_compared, count);
}

#[test]
fn laps_differ_and_the_last_one_is_accepted() {
    let folder = folder();
    let path = folder.path().join("data");
    let first_block = |laps: u64| {
        let stop = Stop { bytes: Some(laps * SPAN), ..Stop::default() };
        write(&path, Workload { stop, ..writes(1) });
        passes(&read(&path, reads(1)), SPAN / 4096);
        std::fs::read(&path).unwrap()[..BLOCK].to_vec()
    };
    assert!(first_block(1) != first_block(3), "a place holds the same bytes after three laps as after one");
}

#[test]
fn each_file_has_bytes_of_its_own() {
    let folder = folder();
    let path = folder.path().join("data");
    let own = |workload| Workload { files: Files::PerThread, threads: 2, ..workload };
    let stop = Stop { bytes: Some(2 * SPAN), ..Stop::default() };
    write(&path, Workload { stop, ..own(writes(1)) });
    let file = |number: u32| folder.path().join(format!("data.{number}"));
    assert!(std::fs::read(file(0)).unwrap() != std::fs::read(file(1)).unwrap());
    let reads = Workload { stop, ..own(reads(1)) };
    passes(&read(&path, reads.clone()), 2 * SPAN / 4096);
    std::fs::copy(file(1), file(0)).unwrap();
    let swapped = read(&path, reads);
    let mismatch = &swapped.mismatches[0];
    assert!(mismatch.kind == "misplaced" && mismatch.message.contains("file 1"), "{mismatch:?}");
}

#[test]
fn a_reordered_thread_opens_the_file_of_the_thread_it_follows() {
    let folder = folder();
    let path = folder.path().join("data");
    let stop = Stop { bytes: Some(3 * SPAN), ..Stop::default() };
    let own = |workload| Workload { files: Files::PerThread, threads: 3, stop, ..workload };
    write(&path, own(writes(1)));
    let pattern = PatternKind::Ior { block_bytes: SPAN, order: IorOrder::Reordered { tasks: 1 } };
    passes(&read(&path, Workload { pattern, ..own(reads(1)) }), 3 * SPAN / 4096);
}

/// Past the page cache the buffers of the next writes are filled while the device works on others.
#[test]
fn what_is_filled_ahead_is_what_is_written() {
    if !has_direct("what_is_filled_ahead_is_what_is_written", 4096) {
        return;
    }
    let folder = folder();
    let path = folder.path().join("data");
    let shuffled = |workload| Workload { pattern: PatternKind::Shuffled, ..workload };
    for (generation, (depth, record_bytes, sync_every, batch)) in
        [(1, 4096, 0, 0), (2, 1 << 20, 0, 0), (32, 4096, 5, 0), (32, 4096, 0, 7), (3, 4 << 20, 1, 0), (200, 8192, 0, 0)]
            .into_iter()
            .enumerate()
    {
        let sync = if sync_every > 0 { Sync::Fdatasync } else { Sync::None };
        let writes = writes(generation as u32);
        let workload = Workload { depth, record_bytes, sync, sync_every, sync_timed: sync_every > 0, ..writes };
        let api = Api::Uring { registered: true, batch, sqpoll: false, iopoll: false };
        let options = Options { create: true, direct: true, api, ..Options::new(&path) };
        let record = run(shuffled(workload), options).record;
        assert_eq!((record.error, record.bytes_written), (None, SPAN), "{depth} x {record_bytes}");
        passes(&read(&path, reads(generation as u32)), SPAN / 4096);
    }
}

/// A run that reads and writes knows what it wrote itself, whatever the API, the threads and what is outstanding.
#[test]
fn a_run_that_reads_and_writes_agrees_with_itself() {
    let folder = folder();
    let path = folder.path().join("data");
    let can_direct = has_direct("a_run_that_reads_and_writes_agrees_with_itself", 4096);
    write(&path, writes(1));
    for pattern in [PatternKind::Random, PatternKind::Shuffled, PatternKind::Sequential] {
        for (api, depth, threads) in [(Api::Positioned, 1, 1), (Api::Positioned, 1, 3), (ring(), 32, 1), (ring(), 8, 3)]
        {
            let stop = Stop { operations: Some(4_000), ..Stop::default() };
            let mixed = Workload { pattern: pattern.clone(), read_percent: 60, depth, threads, stop, ..reads(2) };
            let mixed = Workload { span_bytes: SPAN / 8, discard_percent: 5, ..mixed };
            for direct in [false, true] {
                let options = Options { api, direct: direct && can_direct, ..Options::new(&path) };
                let record = run(mixed.clone(), options).record;
                assert_eq!(record.error, None, "{pattern:?} {api:?} {depth} {threads} {direct}");
                assert_eq!((record.ops_compared, record.ops_mismatched), (record.ops_read, 0));
                write(&path, writes(1));
            }
        }
    }
}

/// A target that loses a write: somebody else puts an old block back during the run.
#[test]
fn a_run_that_reads_and_writes_notices_lost_writes() {
    let folder = folder();
    let path = folder.path().join("data");
    write(&path, writes(1));
    let stop = Stop { time_ns: Some(2_000_000_000), ..Stop::default() };
    let mixed = Workload { pattern: PatternKind::Random, read_percent: 50, stop, ..reads(2) };
    let handle = start(Workload { span_bytes: 16 * 4096, ..mixed }, Options::new(&path)).unwrap();
    let (file, old) = (OpenOptions::new().write(true).open(&path).unwrap(), bytes_of(1, 3 * 4096, BLOCK));
    let until = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < until && handle.wait(Duration::ZERO).is_none() {
        file.write_all_at(&old, 3 * 4096).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let record = finish(&handle).unwrap().record;
    assert!(record.ops_mismatched > 0 && record.error.is_some_and(|error| error.kind == "VERIFY"));
    assert!(record.mismatches.iter().any(|mismatch| ["stale", "torn"].contains(&mismatch.kind.as_str())));
    for mismatch in &record.mismatches {
        assert_eq!(mismatch.offset_bytes / 4096, 3);
        // The page cache may be read while the block is being put back; a sector in which the copy had come half way is
        // neither the old one nor the new one.
        assert_ne!(mismatch.kind, "misplaced", "{mismatch:?}");
    }
}

#[test]
fn contents_without_identity_are_compared_as_they_are() {
    let folder = folder();
    let path = folder.path().join("data");
    let dedup = Content::IozoneDedup { within_percent: 50, across_percent: 50, compress_percent: 50 };
    for content in [Content::Zeros, Content::IozoneDefault, dedup, Content::IozoneDiagnostic] {
        let shaped = |workload| Workload { content, generation: 0, ..workload };
        write(&path, shaped(writes(0)));
        passes(&read(&path, shaped(reads(0))), SPAN / 4096);
        damage(&path, 8192, |bytes| bytes[7] ^= 1, 4096);
        let flipped = read(&path, shaped(reads(0)));
        assert_eq!(only_mismatch(&flipped).0, "flipped", "{content:?}");
        damage(&path, 8192, |bytes| bytes.fill(0x5A), 4096);
        let foreign = read(&path, shaped(reads(0)));
        assert!(foreign.ops_mismatched == 1 && foreign.mismatches.iter().all(|mismatch| mismatch.kind == "foreign"));
    }
}

/// Threads that have files of their own know each its own file: what one writes says nothing of the other's.
#[test]
fn own_files_are_compared_each_with_its_own_writes() {
    let folder = folder();
    let path = folder.path().join("data");
    let stop = Stop { bytes: Some(3 * SPAN / 8), ..Stop::default() };
    let own = |workload| Workload { files: Files::PerThread, threads: 3, span_bytes: SPAN / 8, ..workload };
    for pattern in [PatternKind::Random, PatternKind::Shuffled, PatternKind::Sequential] {
        for (api, depth) in [(Api::Positioned, 1), (ring(), 8)] {
            write(&path, own(Workload { stop, ..writes(1) }));
            let stop = Stop { operations: Some(9000), ..Stop::default() };
            let mixed = Workload { pattern: pattern.clone(), read_percent: 60, depth, stop, ..reads(2) };
            for discard_percent in [0, 5] {
                let mixed = own(Workload { discard_percent, ..mixed.clone() });
                let record = run(mixed, Options { api, ..Options::new(&path) }).record;
                assert_eq!(record.error, None, "{pattern:?} {api:?} {depth} {discard_percent}");
                assert_eq!((record.ops_compared, record.ops_mismatched), (record.ops_read, 0));
            }
        }
    }
}

/// A thread writes its file and loses the write; meanwhile the other thread discards the same place of its own file,
/// where anything may be found from then on.
#[test]
fn a_discard_in_one_file_hides_no_lost_write_in_another() {
    let folder = folder();
    let path = folder.path().join("data");
    let own = |workload| Workload { files: Files::PerThread, threads: 2, span_bytes: 2 * 4096, ..workload };
    let stop = Stop { bytes: Some(4 * 4096), ..Stop::default() };
    write(&path, own(Workload { stop, ..writes(1) }));
    let lost = folder.path().join("data.1");
    let old = std::fs::read(&lost).unwrap()[..BLOCK].to_vec();
    let op = |at_ms: u64, kind, block: u64| TraceOp {
        at_ns: at_ms * 1_000_000,
        kind,
        offset_bytes: block * 4096,
        length_bytes: 4096,
    };
    // Thread 0 does the first, third and fifth, thread 1 the others.
    let operations = [
        op(0, OpKind::Read, 1),
        op(0, OpKind::Write, 0),
        op(100, OpKind::Discard, 0),
        op(100, OpKind::Read, 1),
        op(1000, OpKind::Read, 1),
        op(1000, OpKind::Read, 0),
    ];
    let pattern = PatternKind::Trace { operations: operations.into(), timed: true };
    let workload = own(Workload { pattern, stop: Stop::default(), ..reads(2) });
    let handle = start(workload, Options::new(&path)).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    damage(&lost, 0, |bytes| bytes.copy_from_slice(&old), BLOCK);
    let record = finish(&handle).unwrap().record;
    let (kind, offset, message) = only_mismatch(&record);
    assert_eq!((kind, offset / 64 * 64), ("stale", 0), "{message}");
    assert_eq!(record.ops_compared, 4);
}
