//! A target that no longer answers: the run ends within its time-out, keeps what it measured, and leaves nothing behind
//! once the target lets go.

use crate::faults_server::{Answer, FILE_BYTES, Rule, Server, ServerCall, every, from, is_open, nth};
use crate::freezing::Freezable;
use crate::scratch::{finish, for_seconds, plain};
use mileage_engine::{Api, Options, start};
use mileage_measure::RunRecord;
use mileage_workload::{Load, PatternKind, Stop, Sync, Think, Workload};
use rustix::io::Errno;
use std::path::Path;
use std::time::{Duration, Instant};

const TIMEOUT_NS: u64 = 300_000_000;
/// Far beyond the time-out: the machine may be busy. A run that hung would hang for ever.
const HANGS: Duration = Duration::from_secs(30);

fn reads() -> Workload {
    Workload { read_percent: 100, span_bytes: FILE_BYTES, stop: for_seconds(600), ..plain() }
}

fn options(path: &Path) -> Options {
    Options { timeout_ns: TIMEOUT_NS, ..Options::new(path) }
}

/// Run until the time-out ends it.
fn overdue(workload: Workload, options: Options) -> RunRecord {
    let api = options.api;
    let handle = start(workload, options).unwrap();
    let finished = handle.wait(HANGS).unwrap_or_else(|| panic!("{api:?} hangs")).unwrap();
    let error = finished.record.error.as_ref().expect("the run has failed");
    assert_eq!(error.kind, "TIMEOUT", "{api:?}: {}", error.message);
    assert!(error.message.contains("/data") && error.message.contains("no longer answers"), "{}", error.message);
    finished.record
}

/// Whether a thread of this process is still there, by its number.
fn is_alive(tid: Option<u32>) -> bool {
    Path::new(&format!("/proc/self/task/{}", tid.expect("a real thread"))).exists()
}

/// All threads of the run end, and its descriptors and mappings go, once the target lets go of them.
fn nothing_is_left(server: &mut Server, record: &RunRecord) {
    server.kill();
    let began = Instant::now();
    let folder = server.file().parent().unwrap().to_owned();
    while record.threads.iter().any(|thread| is_alive(thread.tid)) || is_open(&folder) {
        assert!(began.elapsed() < HANGS, "a thread or a descriptor is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn reads_that_never_come_back_end_the_run_through_every_api() {
    let uring = Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false };
    let stdio = Api::Stdio { buffer_bytes: 0 };
    for api in [Api::Positioned, Api::Seek, Api::Vectored { parts: 2 }, stdio, Api::Mmap, uring] {
        // A mapping needs the page cache, which asks for more than is read.
        let cached = api == Api::Mmap;
        let Some(mut server) =
            Server::mount("reads_that_never_come_back", cached, &[from(ServerCall::Read, 20, Answer::Never)])
        else {
            return;
        };
        let record = overdue(reads(), Options { api, ..options(&server.file()) });
        if !cached {
            assert_eq!((record.ops_read, record.latency.read.count), (20, 20), "{api:?}");
            assert_eq!(record.series.ops.iter().sum::<u64>(), 20, "{api:?}");
        }
        assert!(record.ops_read > 0, "{api:?}");
        assert!(record.notes.iter().any(|note| note.contains("never came back")), "{api:?}: {:?}", record.notes);
        nothing_is_left(&mut server, &record);
    }
}

#[test]
fn writes_syncs_and_closing_are_watched_as_well() {
    let writes = Workload {
        read_percent: 0,
        sync: Sync::Fsync,
        stop: Stop { operations: Some(50), ..Stop::default() },
        ..reads()
    };
    // Descriptors are closed before a thread has one of its own (more of them while other tests start threads, which
    // copy the table), and that one behind the sync.
    for (kind, behind, words, written) in [
        (ServerCall::Write, None, "write of 4096 bytes at offset 0", 0),
        (ServerCall::Sync, None, "sync of", 50),
        (ServerCall::Flush, Some(ServerCall::Sync), "closing", 50),
        (ServerCall::Flush, None, "closing", 0),
    ] {
        let rules = [Rule { behind, ..every(kind, Answer::Never) }];
        let Some(mut server) = Server::mount("writes_syncs_and_closing", false, &rules) else { return };
        let record = overdue(writes.clone(), options(&server.file()));
        let message = record.error.as_ref().unwrap().message.clone();
        assert!(message.contains(words), "{message}");
        assert_eq!((record.ops_written, record.bytes_written), (written, written * 4096), "{message}");
        nothing_is_left(&mut server, &record);
    }
}

#[test]
fn a_target_that_does_not_even_open_is_refused() {
    let Some(server) =
        Server::mount("a_target_that_does_not_even_open", false, &[from(ServerCall::Open, 0, Answer::Never)])
    else {
        return;
    };
    let refused = start(reads(), options(&server.file())).unwrap_err();
    assert!(refused.is_refusal() && refused.to_string().contains("TIMEOUT"), "{refused}");
}

#[test]
fn one_thread_that_is_stuck_does_not_hold_the_others() {
    // Every request is answered but one.
    let rules = [nth(ServerCall::Read, 100, Answer::Never)];
    let Some(mut server) = Server::mount("one_thread_that_is_stuck", false, &rules) else { return };
    let workload = Workload { pattern: PatternKind::Random, threads: 4, ..reads() };
    let record = overdue(workload, options(&server.file()));
    assert_eq!(record.threads.len(), 4);
    assert!(record.ops_read >= 100, "{}", record.ops_read);
    assert_eq!(record.threads.iter().map(|thread| thread.ops_read).sum::<u64>(), record.ops_read);
    let note = record.notes.iter().find(|note| note.contains("never came back")).unwrap();
    assert!(note.starts_with("1 operations"), "{note}");
    // The others are on their way out.
    let left = || record.threads.iter().filter(|thread| is_alive(thread.tid)).count();
    let began = Instant::now();
    while left() > 1 && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(left(), 1, "only the stuck one is left");
    nothing_is_left(&mut server, &record);
}

#[test]
fn endless_interruptions_end_as_well() {
    let rules = [from(ServerCall::Read, 10, Answer::Error(Errno::INTR.raw_os_error()))];
    let Some(mut server) = Server::mount("endless_interruptions", false, &rules) else { return };
    let record = overdue(reads(), options(&server.file()));
    assert_eq!(record.ops_read, 10);
    nothing_is_left(&mut server, &record);
}

#[test]
fn a_stall_that_is_shorter_than_the_time_out_is_measured_and_no_failure() {
    let rules = [nth(ServerCall::Read, 50, Answer::Late(150))];
    let Some(server) = Server::mount("a_stall", false, &rules) else { return };
    let stop = Stop { operations: Some(100), ..Stop::default() };
    let patient = Options { timeout_ns: 30_000_000_000, ..options(&server.file()) };
    let handle = start(Workload { stop, ..reads() }, patient).unwrap();
    let record = finish(&handle).unwrap().record;
    assert_eq!((record.error, record.ops_read), (None, 100));
    assert!(record.latency.read.max_ns >= 150_000_000, "{}", record.latency.read.max_ns);
    let series = &record.series;
    assert_eq!(series.latency_max_ns.iter().max(), Some(&record.latency.read.max_ns));
    assert!(series.ops.iter().filter(|ops| **ops == 0).count() >= 10, "intervals without completions are kept");
    assert!(record.notes.is_empty(), "{:?}", record.notes);
}

#[test]
fn waiting_for_the_next_operation_is_not_a_stuck_one() {
    // Nothing is due for longer than the time-out, again and again.
    let Some(server) = Server::mount("waiting_for_the_next_operation", false, &[]) else { return };
    let load = Load { think: Some(Think { pause_ns: 400_000_000, every_operations: 2 }), ..Load::default() };
    let stop = Stop { operations: Some(6), ..Stop::default() };
    let impatient = Options { timeout_ns: 200_000_000, ..options(&server.file()) };
    let record = finish(&start(Workload { load, stop, ..reads() }, impatient).unwrap()).unwrap().record;
    assert_eq!((record.error, record.ops_read), (None, 6));
}

#[test]
fn a_file_system_that_is_frozen_lets_no_thread_go_and_the_run_ends_all_the_same() {
    let Some(target) = Freezable::ext4("a_file_system_that_is_frozen") else { return };
    let path = target.point().join("data");
    std::fs::write(&path, vec![1; 4 << 20]).unwrap();
    let workload = Workload { pattern: PatternKind::Random, threads: 2, stop: for_seconds(600), ..plain() };
    let handle = start(workload, options(&path)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    target.freeze();
    let finished = handle.wait(HANGS);
    // Whatever came of it, it must be thawed, or nothing here can be unmounted.
    assert!(target.thaw());
    let record = finished.expect("it does not hang").unwrap().record;
    assert_eq!(record.error.unwrap().kind, "TIMEOUT");
    assert!(record.ops_written > 0);
    let began = Instant::now();
    while record.threads.iter().any(|thread| is_alive(thread.tid)) {
        assert!(began.elapsed() < HANGS, "a thread outlives the thaw");
        std::thread::sleep(Duration::from_millis(5));
    }
}
