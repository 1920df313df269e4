//! A run in several processes is the run of as many threads in one.

use crate::scratch::{file_of, finish, plain, run};
use mileage_engine::{Api, Error, Options, Share, ShareResult, StartBarrier, merge_shares, start_share};
use mileage_workload::{Files, PatternKind, Stop, Verify, Workload};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The example that does a share, built with this test by `cargo test` (not with a filter).
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/one_share")
}

fn is_here(test: &str) -> bool {
    let here = example().exists();
    if !here {
        eprintln!("skipped {test}: no {}", example().display());
    }
    here
}

fn begin(workload: &Workload, options: &Options, first_thread: u32, threads: u32, barrier: &Path) -> Child {
    let share = Share { first_thread, threads, barrier: barrier.to_owned() };
    let json = [
        serde_json::to_string(workload).unwrap(),
        serde_json::to_string(options).unwrap(),
        serde_json::to_string(&share).unwrap(),
    ];
    Command::new(example()).args(json).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(child: Child) -> Result<ShareResult, String> {
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The shares of a run, each in a process of its own; `parts` says how many threads each has.
fn shares(workload: &Workload, options: &Options, parts: &[u32]) -> Vec<Result<ShareResult, String>> {
    let barrier = options.path.with_extension("barrier");
    let made = StartBarrier::create(&barrier, workload.threads).unwrap();
    let mut first = 0;
    let children: Vec<Child> = parts
        .iter()
        .map(|threads| {
            first += threads;
            begin(workload, options, first - threads, *threads, &barrier)
        })
        .collect();
    let finished = children.into_iter().map(end).collect();
    drop(made);
    std::fs::remove_file(barrier).unwrap();
    finished
}

fn five_threads() -> Workload {
    let stop = Stop { operations: Some(2_000), ..Stop::default() };
    Workload { threads: 5, pattern: PatternKind::Shuffled, read_percent: 30, stop, ..plain() }
}

#[test]
fn processes_do_what_threads_do() {
    if !is_here("processes_do_what_threads_do") {
        return;
    }
    let (_folder, path) = file_of(4 << 20);
    let options = Options { audit: true, ..Options::new(&path) };
    let threads = run(five_threads(), options.clone());
    let expected = std::fs::read(&path).unwrap();
    std::fs::write(&path, vec![0xA5; 4 << 20]).unwrap();
    let shares: Vec<ShareResult> =
        shares(&five_threads(), &options, &[2, 1, 2]).into_iter().map(Result::unwrap).collect();
    let processes = merge_shares(&five_threads(), &shares).unwrap();
    assert!(std::fs::read(&path).unwrap() == expected, "the processes wrote something else than the threads");
    let (one, several) = (&threads.record, &processes.record);
    assert_eq!((several.ops_read, several.bytes_read), (one.ops_read, one.bytes_read));
    assert_eq!((several.ops_written, several.bytes_written), (one.ops_written, one.bytes_written));
    let done = |record: &mileage_measure::RunRecord| -> Vec<(u64, u64)> {
        record.threads.iter().map(|thread| (thread.ops_read, thread.ops_written)).collect()
    };
    assert_eq!(done(several), done(one));
    assert_eq!(several.latency.read.count + several.latency.write.count, 2_000);
    assert_eq!(several.series.ops.iter().sum::<u64>(), 2_000);
    assert_eq!(
        several.series.latency_sum_ns.iter().sum::<u64>(),
        several.latency.read.sum_ns + several.latency.write.sum_ns
    );
    let audited: u64 = processes.audit.unwrap().iter().map(|io| io.rchar).sum();
    assert_eq!(audited, several.bytes_read);
    let concurrency = several.concurrency.as_ref().unwrap();
    assert!(concurrency.first_done_ns <= several.submit_ns && concurrency.first_done_ops <= 2_000);
    // The same in any order, and not at all if one is missing or there twice.
    let turned: Vec<ShareResult> = shares.iter().rev().cloned().collect();
    assert_eq!(merge_shares(&five_threads(), &turned).unwrap().record, *several);
    assert!(merge_shares(&five_threads(), &shares[1..]).unwrap_err().to_string().contains("end at 0"));
    assert!(merge_shares(&five_threads(), &shares[..2]).unwrap_err().to_string().contains("are not all threads"));
    let twice: Vec<ShareResult> = shares.iter().chain(&shares[..1]).cloned().collect();
    assert!(merge_shares(&five_threads(), &twice).is_err());
}

#[test]
fn processes_begin_together_and_work_at_the_same_time() {
    if !is_here("processes_begin_together_and_work_at_the_same_time") {
        return;
    }
    let (_folder, path) = file_of(4 << 20);
    let stop = Stop { time_ns: Some(1_000_000_000), ..Stop::default() };
    let workload = Workload { threads: 2, stop, ..five_threads() };
    let options = Options { api: Api::Null, ..Options::new(&path) };
    let shares: Vec<ShareResult> = shares(&workload, &options, &[1, 1]).into_iter().map(Result::unwrap).collect();
    let record = merge_shares(&workload, &shares).unwrap().record;
    // Had one begun after the other, the run would have lasted as long as its threads together.
    let each_ns: Vec<u64> = record.threads.iter().map(|thread| thread.elapsed_ns).collect();
    assert!(each_ns.iter().all(|elapsed_ns| *elapsed_ns > 900_000_000), "{each_ns:?}");
    assert!(record.submit_ns < each_ns.iter().sum(), "{} against {each_ns:?}", record.submit_ns);
}

#[test]
fn each_process_may_have_a_file_of_its_own() {
    if !is_here("each_process_may_have_a_file_of_its_own") {
        return;
    }
    let (_folder, path) = file_of(4096);
    let stop = Stop { bytes: Some(12 << 20), ..Stop::default() };
    let workload = Workload { files: Files::PerThread, threads: 3, stop, ..plain() };
    let options = Options { create: true, ..Options::new(&path) };
    let shares: Vec<ShareResult> = shares(&workload, &options, &[1, 2]).into_iter().map(Result::unwrap).collect();
    let record = merge_shares(&workload, &shares).unwrap().record;
    assert_eq!((record.error, record.interrupted, record.bytes_written), (None, false, 12 << 20));
    for thread in 0..3 {
        let own = PathBuf::from(format!("{}.{thread}", path.display()));
        assert_eq!(std::fs::metadata(own).unwrap().len(), 4 << 20);
    }
    // Each compares what it writes itself, since nobody else writes its file.
    let stop = Stop { operations: Some(6_000), ..Stop::default() };
    let mixed = Workload { pattern: PatternKind::Random, read_percent: 60, verify: Verify::All, stop, ..workload };
    let options = Options::new(&path);
    let shares: Vec<ShareResult> = self::shares(&mixed, &options, &[1, 2]).into_iter().map(Result::unwrap).collect();
    let record = merge_shares(&mixed, &shares).unwrap().record;
    assert_eq!((record.error, record.ops_compared, record.ops_mismatched), (None, record.ops_read, 0));
}

#[test]
fn a_share_that_fails_ends_the_others() {
    if !is_here("a_share_that_fails_ends_the_others") {
        return;
    }
    let (_folder, path) = file_of(4 << 20);
    let stop = Stop { time_ns: Some(60_000_000_000), ..Stop::default() };
    let workload = Workload { files: Files::PerThread, threads: 2, stop, read_percent: 100, ..plain() };
    std::fs::copy(&path, path.with_file_name("data.0")).unwrap();
    let began = Instant::now();
    let shares = shares(&workload, &Options::new(&path), &[1, 1]);
    assert!(began.elapsed() < Duration::from_secs(30), "nobody waits for the share that is refused");
    assert!(shares[1].as_ref().unwrap_err().contains("ENOENT"));
    assert!(shares[0].is_ok());
    std::fs::copy(&path, path.with_file_name("data.1")).unwrap();
    let barrier = path.with_extension("barrier");
    let made = StartBarrier::create(&barrier, 2).unwrap();
    let children = [0, 1].map(|thread| begin(&workload, &Options::new(&path), thread, 1, &barrier));
    std::thread::sleep(Duration::from_millis(200));
    made.stop();
    let ended: Vec<ShareResult> = children.into_iter().map(|child| end(child).unwrap()).collect();
    assert!(merge_shares(&workload, &ended).unwrap().record.interrupted);
}

#[test]
fn a_share_that_is_none_is_refused() {
    let (_folder, path) = file_of(4 << 20);
    let barrier = path.with_extension("barrier");
    let share = |first_thread, threads| Share { first_thread, threads, barrier: barrier.clone() };
    let refusal = |workload: Workload, share: &Share| {
        let error = start_share(workload, Options::new(&path), share).unwrap_err();
        assert!(error.is_refusal());
        error
    };
    assert!(matches!(refusal(plain(), &share(0, 1)), Error::StartBarrier { .. }), "nobody made it");
    let _made = StartBarrier::create(&barrier, 5).unwrap();
    assert!(matches!(refusal(five_threads(), &share(4, 2)), Error::Share { first_thread: 4, threads: 2, of: 5, .. }));
    assert!(matches!(refusal(five_threads(), &share(0, 0)), Error::Share { .. }));
    assert!(refusal(plain(), &share(0, 1)).to_string().contains("the barrier was made for 5 threads"));
    let mixed = Workload { verify: Verify::All, ..five_threads() };
    assert!(refusal(mixed, &share(0, 2)).to_string().contains("give each thread a file of its own"));
    std::fs::remove_file(&barrier).unwrap();
    // All threads in one process meet as well.
    let _made = StartBarrier::create(&barrier, 5).unwrap();
    let handle = start_share(five_threads(), Options::new(&path), &share(0, 5)).unwrap();
    assert_eq!(finish(&handle).unwrap().record.ops_read + finish(&handle).unwrap().record.ops_written, 2_000);
    assert!(handle.wait_share(Duration::ZERO).unwrap().is_ok());
}
