//! A target that answers wrongly: errors, short counts, interruptions, an end where none was, a server that dies.

use crate::account::agrees_with_the_kernel;
use crate::faults_server::{Answer, Rule, Server, ServerCall, every, nth};
use crate::scratch::{finish, folder, for_seconds, plain, run};
use mileage_engine::{Api, Options, start};
use mileage_measure::RunRecord;
use mileage_workload::{PatternKind, Stop, Sync, Workload};
use rustix::io::Errno;
use std::process::Command;
use std::time::Duration;

/// Sequential reads of 16 KiB.
fn reads(operations: u64) -> Workload {
    let stop = Stop { operations: Some(operations), ..Stop::default() };
    Workload { read_percent: 100, record_bytes: 16384, span_bytes: 16 << 20, stop, ..plain() }
}

fn writes(operations: u64) -> Workload {
    Workload { read_percent: 0, ..reads(operations) }
}

fn watched(server: &Server) -> Options {
    Options { timeout_ns: 20_000_000_000, audit: true, ..Options::new(server.file()) }
}

fn ends_with(record: &RunRecord, kind: &str, words: &str) {
    let error = record.error.as_ref().expect("the run has failed");
    assert_eq!(error.kind, kind, "{}", error.message);
    assert!(error.message.contains(words) && error.message.contains("/data"), "{}", error.message);
    assert!(!record.interrupted);
}

#[test]
fn an_error_of_the_medium_ends_the_run_and_keeps_what_was_read() {
    let rules = [nth(ServerCall::Read, 37, Answer::Error(Errno::IO.raw_os_error()))];
    let Some(server) = Server::mount("an_error_of_the_medium", false, &rules) else { return };
    let finished = run(reads(1000), watched(&server));
    agrees_with_the_kernel(&finished);
    let record = finished.record;
    ends_with(&record, "EIO", "read of 16384 bytes at offset 606208");
    assert_eq!((record.ops_read, record.latency.read.count), (37, 37));
    assert_eq!((record.series.ops.iter().sum::<u64>(), record.bytes_read), (37, 37 * 16384));
}

#[test]
fn every_error_has_its_own_name() {
    for (errno, kind) in [
        (Errno::NOSPC, "ENOSPC"),
        (Errno::DQUOT, "EDQUOT"),
        (Errno::ROFS, "EROFS"),
        (Errno::NODEV, "ENODEV"),
        (Errno::TIMEDOUT, "ETIMEDOUT"),
        (Errno::IO, "EIO"),
    ] {
        let rules = [nth(ServerCall::Write, 3, Answer::Error(errno.raw_os_error()))];
        let Some(server) = Server::mount("every_error_has_its_own_name", false, &rules) else { return };
        let record = run(writes(100), watched(&server)).record;
        ends_with(&record, kind, "write of 16384 bytes at offset 49152");
        assert_eq!((record.ops_written, record.bytes_written), (3, 3 * 16384));
    }
}

#[test]
fn a_failing_sync_is_the_runs_failure() {
    let rules = [every(ServerCall::Sync, Answer::Error(Errno::IO.raw_os_error()))];
    let Some(server) = Server::mount("a_failing_sync", false, &rules) else { return };
    let record = run(Workload { sync: Sync::Fsync, ..writes(10) }, watched(&server)).record;
    ends_with(&record, "EIO", "fsync of");
    assert_eq!((record.ops_written, record.durable_ns), (10, record.submit_ns));
}

#[test]
fn short_counts_are_continued_to_the_last_byte() {
    for most in [16383, 4096, 5000, 1] {
        let rules = [every(ServerCall::Read, Answer::Short(most)), every(ServerCall::Write, Answer::Short(most))];
        let Some(server) = Server::mount("short_counts", false, &rules) else { return };
        let calls = 16384_u64.div_ceil(u64::from(most));
        let operations = if most == 1 { 2 } else { 40 };
        for workload in [reads(operations), writes(operations)] {
            let finished = run(workload, watched(&server));
            agrees_with_the_kernel(&finished);
            let record = finished.record;
            assert_eq!(record.error, None);
            assert_eq!(record.ops_read + record.ops_written, operations);
            assert_eq!(record.bytes_read + record.bytes_written, operations * 16384);
            assert_eq!(record.threads[0].calls, operations * calls, "{most} bytes at most");
        }
    }
}

#[test]
fn a_short_count_and_then_nothing_is_the_end_of_the_target() {
    let rules = [nth(ServerCall::Read, 5, Answer::Short(100)), nth(ServerCall::Read, 6, Answer::Short(0))];
    let Some(server) = Server::mount("a_short_count_and_then_nothing", false, &rules) else { return };
    let record = run(reads(100), watched(&server)).record;
    ends_with(&record, "EOF", "failed after 100 bytes");
    assert_eq!((record.ops_read, record.bytes_read), (5, 5 * 16384 + 100));
}

#[test]
fn interrupted_calls_are_made_again() {
    let interrupt = |asked| Rule { two_of_three: true, ..every(asked, Answer::Error(Errno::INTR.raw_os_error())) };
    let rules = [interrupt(ServerCall::Read), interrupt(ServerCall::Write)];
    let Some(server) = Server::mount("interrupted_calls", false, &rules) else { return };
    for workload in [reads(50), writes(50)] {
        let record = run(workload, watched(&server)).record;
        assert_eq!((record.error, record.ops_read + record.ops_written), (None, 50));
        assert_eq!(record.threads[0].calls, 150);
    }
}

#[test]
fn a_ring_names_the_same_failures() {
    let api = Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false };
    let short = Rule { until: 10, ..every(ServerCall::Read, Answer::Short(1000)) };
    let rules = [short, nth(ServerCall::Read, 20, Answer::Error(Errno::IO.raw_os_error()))];
    let Some(server) = Server::mount("a_ring_names_the_same_failures", false, &rules) else { return };
    let options = Options { api, timeout_ns: 20_000_000_000, ..Options::new(server.file()) };
    let record = run(Workload { depth: 4, ..reads(1000) }, options).record;
    ends_with(&record, "EIO", "read of 16384 bytes at offset");
    assert!((1..=20).contains(&record.ops_read), "{}", record.ops_read);
}

#[test]
fn a_file_system_that_fills() {
    let test = "a_file_system_that_fills";
    let folder = folder();
    let (image, at) = (folder.path().join("image"), folder.path().join("at"));
    std::fs::create_dir(&at).unwrap();
    std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let done = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    if !done(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(&image)) {
        return eprintln!("skipped {test}: no mkfs.ext4");
    }
    if !done(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&at)) {
        return eprintln!("skipped {test}: no loop devices, or not root");
    }
    for direct in [false, true] {
        let path = at.join("data");
        let options = Options { create: true, direct, timeout_ns: 20_000_000_000, ..Options::new(&path) };
        let workload = Workload { threads: 2, span_bytes: 64 << 20, stop: for_seconds(60), ..writes(1) };
        let record = run(workload, options).record;
        ends_with(&record, "ENOSPC", "free space on the target");
        assert!(record.bytes_written > 8 << 20 && record.bytes_written < 16 << 20, "{}", record.bytes_written);
        std::fs::remove_file(path).unwrap();
    }
    assert!(done(Command::new("umount").arg(&at)), "nothing of the runs holds the file system");
}

#[test]
fn a_server_killed_under_its_mount() {
    let Some(mut server) = Server::mount("a_server_killed_under_its_mount", false, &[]) else { return };
    let workload = Workload { pattern: PatternKind::Random, threads: 2, stop: for_seconds(60), ..reads(1) };
    let options = Options { timeout_ns: 5_000_000_000, ..Options::new(server.file()) };
    let handle = start(workload.clone(), options.clone()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(handle.wait(Duration::ZERO), None);
    server.kill();
    let record = finish(&handle).unwrap().record;
    let error = record.error.expect("nobody serves any more");
    assert!(["ENOTCONN", "ECONNABORTED"].contains(&error.kind.as_str()), "{error:?}");
    assert!(record.ops_read > 0, "what was read before is kept");
    // And a run that begins then is refused by the same name.
    let refused = start(workload, options).unwrap_err();
    assert!(refused.is_refusal() && refused.to_string().contains("ENOTCONN"), "{refused}");
}
