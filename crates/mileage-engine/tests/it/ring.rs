//! `io_uring`: the contract of execution at depth, what is refused, and what ends a run.

use crate::conformance::{TARGET_BYTES, cases, drive, seed};
use crate::freezing::Freezable;
use crate::scratch::{file_of, finish, for_seconds, has_direct, plain, run, start_observed};
use mileage_engine::{Api, Options, start};
use mileage_workload::conformance::{Scope, check};
use mileage_workload::{Completion, Observer, PatternKind, Stop, Sync, Verify, Workload};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const REGISTERED: Api = Api::Uring { registered: true, batch: 0, sqpoll: false, iopoll: false };
const PLAIN: Api = Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false };

/// What the suite may ask of the ring.
const RING: Scope = Scope::whole(TARGET_BYTES, 64);

fn over_ring(path: &Path) -> Options {
    Options { api: REGISTERED, ..Options::new(path) }
}

fn random_reads(depth: u32) -> Workload {
    Workload { pattern: PatternKind::Random, read_percent: 100, depth, stop: for_seconds(1), ..plain() }
}

/// A folder in memory, where a ring is handed to kernel threads; says so by name when there is none.
fn in_memory(test: &str) -> Option<tempfile::TempDir> {
    let mounted = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let there = mounted.lines().any(|line| line.contains(" /dev/shm tmpfs "));
    let folder = there.then(|| tempfile::tempdir_in("/dev/shm").ok()).flatten();
    if folder.is_none() {
        eprintln!("skipped {test}: no tmpfs at /dev/shm");
    }
    folder
}

#[test]
fn the_contract_holds_through_the_page_cache() {
    let (_folder, path) = file_of(TARGET_BYTES as usize);
    check(seed(), cases(120), &RING, |workload| drive(workload, over_ring(&path)));
}

#[test]
fn the_contract_holds_past_the_page_cache() {
    if !has_direct("the_contract_holds_past_the_page_cache", 512) {
        return;
    }
    let (_folder, path) = file_of(TARGET_BYTES as usize);
    check(seed(), 60, &RING, |workload| drive(workload, Options { direct: true, ..over_ring(&path) }));
}

#[test]
fn the_contract_holds_without_registration_and_in_batches() {
    let (_folder, path) = file_of(TARGET_BYTES as usize);
    check(seed(), 40, &RING, |workload| drive(workload, Options { api: PLAIN, ..over_ring(&path) }));
    check(seed(), 60, &RING, |workload| {
        let batch = 1 + workload.seed as u32 % workload.depth;
        let api = Api::Uring { registered: true, batch, sqpoll: false, iopoll: false };
        drive(workload, Options { api, ..over_ring(&path) })
    });
}

#[test]
fn the_contract_holds_when_a_kernel_thread_submits() {
    let (_folder, path) = file_of(TARGET_BYTES as usize);
    let api = Api::Uring { registered: true, batch: 0, sqpoll: true, iopoll: false };
    check(seed(), 20, &RING, |workload| drive(workload, Options { api, ..over_ring(&path) }));
}

#[test]
fn the_contract_holds_where_kernel_threads_do_the_work() {
    let Some(folder) = in_memory("the_contract_holds_where_kernel_threads_do_the_work") else { return };
    let path = folder.path().join("data");
    std::fs::write(&path, vec![0xA5; TARGET_BYTES as usize]).unwrap();
    check(seed(), 40, &RING, |workload| drive(workload, over_ring(&path)));
}

#[test]
fn one_call_submits_a_whole_depth_of_cached_reads() {
    let (_folder, path) = file_of(4 << 20);
    let workload = Workload { stop: Stop { operations: Some(32_000), ..Stop::default() }, ..random_reads(32) };
    let finished = run(workload, over_ring(&path));
    assert_eq!(finished.record.error, None);
    assert_eq!(finished.record.ops_read, 32_000);
    assert_eq!(finished.record.threads[0].calls, 1_000);
    let singly = Api::Uring { registered: true, batch: 1, sqpoll: false, iopoll: false };
    let workload = Workload { stop: Stop { operations: Some(3_200), ..Stop::default() }, ..random_reads(32) };
    let finished = run(workload, Options { api: singly, ..over_ring(&path) });
    assert!(finished.record.threads[0].calls >= 3_200, "one call submits one operation when the batch is 1");
}

#[test]
fn a_target_that_needs_kernel_threads_is_noticed() {
    let Some(folder) = in_memory("a_target_that_needs_kernel_threads_is_noticed") else { return };
    let path = folder.path().join("data");
    std::fs::write(&path, vec![0xA5; 4 << 20]).unwrap();
    let record = run(random_reads(16), over_ring(&path)).record;
    assert!(record.usage.kernel_workers_ns > 0, "{:?}", record.usage);
    assert!(record.notes.iter().any(|note| note.contains("kernel thread")), "{:?}", record.notes);
    let (_folder, path) = file_of(4 << 20);
    std::fs::read(&path).unwrap();
    let record = run(random_reads(16), over_ring(&path)).record;
    assert_eq!((record.usage.kernel_workers_ns, record.notes), (0, vec![]), "cached reads are done at once");
}

#[test]
fn a_sync_alone_is_no_sign_of_a_slow_target() {
    if !has_direct("a_sync_alone_is_no_sign_of_a_slow_target", 4096) {
        return;
    }
    let (_folder, path) = file_of(4 << 20);
    // A write past a page cache that holds the same bytes cannot be done at once.
    let file = std::fs::File::open(&path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let workload = Workload { depth: 8, sync: Sync::Fdatasync, ..plain() };
    let record = run(workload, Options { direct: true, ..over_ring(&path) }).record;
    assert_eq!(record.notes, Vec::<String>::new());
    assert!(record.usage.kernel_workers_ns > 0, "a kernel thread did the sync");
}

#[test]
fn what_a_ring_cannot_do_here_is_refused() {
    let (_folder, path) = file_of(4 << 20);
    let refusal = |api, direct| start(random_reads(4), Options { api, direct, ..Options::new(&path) }).unwrap_err();
    let too_large = refusal(Api::Uring { registered: true, batch: 5, sqpoll: false, iopoll: false }, false);
    assert!(too_large.is_refusal() && too_large.to_string().starts_with("batch for "), "{too_large}");
    let polling = Api::Uring { registered: true, batch: 0, sqpoll: false, iopoll: true };
    let cached = refusal(polling, false);
    assert!(cached.is_refusal() && cached.to_string().contains("direct"), "{cached}");
    let vast = Workload { record_bytes: 1 << 30, span_bytes: 1 << 40, depth: 4096, ..random_reads(4) };
    let sparse = path.with_file_name("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
    let no_memory = start(vast, over_ring(&sparse)).unwrap_err();
    assert!(no_memory.is_refusal() && no_memory.to_string().contains("of memory is available"), "{no_memory}");
    match start(random_reads(4), Options { api: polling, direct: true, ..Options::new(&path) }) {
        Ok(handle) => assert_eq!(finish(&handle).unwrap().record.error, None, "not refused, so it must work"),
        Err(error) => assert!(error.is_refusal() && error.to_string().starts_with("iopoll for "), "{error}"),
    }
}

#[test]
fn a_file_that_becomes_shorter_ends_the_run_as_such() {
    let (_folder, path) = file_of(4 << 20);
    let handle = start(random_reads(32), over_ring(&path)).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    let record = finish(&handle).unwrap().record;
    assert_eq!(record.error.unwrap().kind, "EOF");
    assert_eq!(record.ops_read, record.latency.read.count);
}

#[test]
fn a_full_file_system_ends_the_run_as_such() {
    let Some(folder) = in_memory("a_full_file_system_ends_the_run_as_such") else { return };
    let Some(_mount) = Mount::of(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], folder.path()) else { return };
    let path = folder.path().join("data");
    let record = run(Workload { depth: 16, ..plain() }, Options { create: true, ..over_ring(&path) }).record;
    let error = record.error.unwrap();
    assert_eq!(error.kind, "ENOSPC", "{}", error.message);
    assert!(record.bytes_written <= 2 << 20 && record.bytes_written >= record.ops_written * 4096);
    let unmounted = Command::new("umount").arg(folder.path()).status().unwrap();
    assert!(unmounted.success(), "a run that has ended holds its target no longer");
}

/// Something mounted for a test.
struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    fn of(what: &[&str], at: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount").args(what).arg(at).status().is_ok_and(|status| status.success());
        if !mounted {
            eprintln!("skipped: mounting needs root");
        }
        mounted.then_some(Self(at))
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

#[test]
fn a_target_that_stops_answering_ends_the_run_in_time() {
    let Some(target) = Freezable::ext4("a_target_that_stops_answering_ends_the_run_in_time") else { return };
    let path = target.point().join("data");
    std::fs::write(&path, vec![1; 4 << 20]).unwrap();
    let workload = Workload { pattern: PatternKind::Random, depth: 4, stop: for_seconds(60), ..plain() };
    let options = Options { timeout_ns: 300_000_000, ..over_ring(&path) };
    let handle = start(workload, options).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    // Writes into a frozen file system wait, and nothing but a thaw wakes them.
    target.freeze();
    let frozen = Instant::now();
    let record = finish(&handle).unwrap().record;
    assert!(frozen.elapsed() < Duration::from_secs(5), "{:?}", frozen.elapsed());
    let error = record.error.unwrap();
    assert_eq!(error.kind, "TIMEOUT", "{}", error.message);
    assert!(record.ops_written > 0, "what was done before is kept");
    assert!(record.notes.iter().any(|note| note.contains("never came back")), "{:?}", record.notes);
}

#[test]
fn blocks_of_a_device_are_given_up_through_the_ring() {
    let (folder, path) = file_of(4 << 20);
    let attached = Command::new("losetup").args(["--find", "--show"]).arg(&path).output();
    let Some(device) = attached.ok().filter(|output| output.status.success()) else {
        eprintln!("skipped blocks_of_a_device_are_given_up_through_the_ring: no loop device");
        return;
    };
    let device = String::from_utf8(device.stdout).unwrap();
    // The first MiB is given up, the rest stays.
    let discards = Workload { discard_percent: 100, span_bytes: 1 << 20, stop: blocks(256), depth: 16, ..plain() };
    let outcome = start(discards, over_ring(Path::new(device.trim()))).map(|handle| finish(&handle).unwrap().record);
    Command::new("losetup").arg("-d").arg(device.trim()).status().unwrap();
    match outcome {
        Ok(record) => {
            assert_eq!((record.error, record.ops_discarded, record.bytes_discarded), (None, 256, 1 << 20));
            let now = std::fs::read(&path).unwrap();
            assert!(now[..1 << 20].iter().all(|byte| *byte == 0) && now[1 << 20..].iter().all(|byte| *byte == 0xA5));
        }
        Err(error) => assert!(error.is_refusal() && error.to_string().contains("discard"), "{error}"),
    }
    drop(folder);
}

fn blocks(count: u64) -> Stop {
    Stop { operations: Some(count), ..Stop::default() }
}

#[test]
fn a_run_that_is_stopped_books_what_was_outstanding() {
    if !has_direct("a_run_that_is_stopped_books_what_was_outstanding", 4096) {
        return;
    }
    let (_folder, path) = file_of(4 << 20);
    let workload = Workload { stop: for_seconds(60), ..random_reads(32) };
    let handle = start(workload, Options { direct: true, ..over_ring(&path) }).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    handle.stop();
    let record = finish(&handle).unwrap().record;
    assert_eq!((record.interrupted, record.error), (true, None));
    assert_eq!((record.ops_read, record.bytes_read), (record.latency.read.count, record.ops_read * 4096));
}

/// Breaks at the hundredth completion, while others are outstanding.
struct BreakAfter(u32);

impl Observer for BreakAfter {
    fn completed(&mut self, _completion: &Completion) {
        self.0 += 1;
        assert!(self.0 < 100, "planted");
    }
}

#[test]
fn a_worker_that_breaks_leaves_the_kernel_its_buffers() {
    if !has_direct("a_worker_that_breaks_leaves_the_kernel_its_buffers", 4096) {
        return;
    }
    let (_folder, path) = file_of(4 << 20);
    for _ in 0..5 {
        let options = Options { direct: true, ..over_ring(&path) };
        let handle = start_observed(random_reads(32), options, |_| BreakAfter(0)).unwrap();
        let broken = finish(&handle).unwrap_err();
        assert!(broken.to_string().contains("planted"), "{broken}");
    }
}

#[test]
fn what_the_ring_writes_is_what_any_api_compares() {
    let (_folder, path) = file_of(4 << 20);
    let writes = Workload { pattern: PatternKind::Shuffled, depth: 16, seed: seed(), ..plain() };
    let written = run(writes.clone(), over_ring(&path)).record;
    assert_eq!((written.error, written.ops_written), (None, 1024));
    let reads = Workload { read_percent: 100, verify: Verify::All, ..writes };
    assert_eq!(run(reads.clone(), over_ring(&path)).record.error, None);
    assert_eq!(run(Workload { depth: 1, ..reads.clone() }, Options::new(&path)).record.error, None);
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 1_234_567).unwrap();
    file.write_all_at(&[byte[0] ^ 4], 1_234_567).unwrap();
    let record = run(reads, over_ring(&path)).record;
    assert_eq!(record.error.unwrap().kind, "VERIFY");
    assert_eq!(record.mismatches[0].offset_bytes, 1_234_567);
}
