//! Options and fields of the workload that change how a target is used have their effect on the kernel's side.

use crate::scratch::{file_of, finish, folder, plain, run, start_observed};
use crate::trace::run_traced;
use mileage_engine::{Api, Error, Options, start};
use mileage_measure::Histogram;
use mileage_workload::{Completion, Files, Load, Observer, OpKind, Open, PatternKind, Spacing, Stop, Sync, Workload};
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

fn per_thread() -> Workload {
    Workload { files: Files::PerThread, threads: 3, stop: Stop { bytes: Some(12 << 20), ..Stop::default() }, ..plain() }
}

#[test]
fn each_thread_may_have_a_file_of_its_own() {
    let folder = folder();
    let path = folder.path().join("data");
    let options = Options { create: true, ..Options::new(&path) };
    let record = run(per_thread(), options.clone()).record;
    assert_eq!((record.error, record.bytes_written), (None, 12 << 20));
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["data.0", "data.1", "data.2"]);
    let contents: HashSet<Vec<u8>> =
        names.iter().map(|name| std::fs::read(folder.path().join(name)).unwrap()).collect();
    assert!(contents.len() == 3 && contents.iter().all(|bytes| bytes.len() == 4 << 20), "each whole, no two alike");
    // And back: every thread reads the whole of its own.
    let reads = Workload { read_percent: 100, pattern: PatternKind::Shuffled, ..per_thread() };
    let finished = run(reads, Options { audit: true, ..Options::new(&path) });
    assert!(finished.audit.unwrap().iter().all(|io| io.rchar == 4 << 20));
}

#[test]
fn one_file_of_several_that_cannot_be_had_refuses_all() {
    let folder = folder();
    let path = folder.path().join("data");
    std::fs::create_dir(folder.path().join("data.2")).unwrap();
    let refused = start(per_thread(), Options { create: true, ..Options::new(&path) }).unwrap_err();
    assert!(matches!(refused, Error::NotStorage { .. }), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "what was created for the others was removed");
    let (_folder, path) = file_of(4096);
    let text = start(per_thread(), Options::new(&path)).unwrap_err().to_string();
    assert!(text.contains("data.0"), "{text}");
}

#[test]
fn a_failure_names_the_threads_own_file() {
    let folder = folder();
    let path = folder.path().join("data");
    for thread in 0..3 {
        std::fs::write(folder.path().join(format!("data.{thread}")), vec![1; 4 << 20]).unwrap();
    }
    let stop = Stop { time_ns: Some(60_000_000_000), ..Stop::default() };
    let handle = start(Workload { read_percent: 100, stop, ..per_thread() }, Options::new(&path)).unwrap();
    while handle.progress().operations == 0 {
        std::thread::yield_now();
    }
    std::fs::File::options().write(true).open(folder.path().join("data.1")).unwrap().set_len(4096).unwrap();
    let error = finish(&handle).unwrap().record.error.unwrap();
    assert!(error.kind == "EOF" && error.message.contains("data.1 "), "{}", error.message);
}

/// Notes the processor that each operation was done on.
struct Where(Arc<Mutex<Vec<(u32, usize)>>>);

impl Observer for Where {
    fn completed(&mut self, completion: &Completion) {
        self.0.lock().unwrap().push((completion.thread, rustix::thread::sched_getcpu()));
    }
}

#[test]
fn threads_stay_on_the_processors_they_are_bound_to() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpus: Vec<u32> = (0..1024).filter(|cpu| allowed.is_set(*cpu)).take(2).map(|cpu| cpu as u32).collect();
    let (_folder, path) = file_of(4 << 20);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let options = Options { pin_cpus: cpus.clone(), ..Options::new(&path) };
    let handle = start_observed(Workload { threads: 4, ..plain() }, options, |_| Where(Arc::clone(&seen))).unwrap();
    assert_eq!(finish(&handle).unwrap().record.error, None);
    let seen = seen.lock().unwrap();
    let expected = |thread: u32| cpus[thread as usize % cpus.len()] as usize;
    assert!(seen.len() == 1024 && seen.iter().all(|(thread, cpu)| *cpu == expected(*thread)), "{cpus:?}");
    let refused = start(plain(), Options { pin_cpus: vec![0, 4000], ..Options::new(&path) }).unwrap_err();
    assert!(refused.to_string().starts_with("pin_cpus names processor 4000: this process may run on "), "{refused}");
}

#[test]
fn discards_punch_holes_and_are_counted_apart() {
    let (_folder, path) = file_of(4 << 20);
    let before = std::fs::metadata(&path).unwrap().blocks();
    let workload = Workload { discard_percent: 100, pattern: PatternKind::Shuffled, ..plain() };
    let record = run(workload, Options::new(&path)).record;
    if let Some(error) = record.error {
        panic!("{}", error.message);
    }
    assert_eq!((record.ops_discarded, record.bytes_discarded), (1024, 4 << 20));
    assert_eq!((record.ops_written, record.latency.discard.count, record.latency.write.count), (0, 1024, 0));
    assert_eq!(record.series.ops.iter().sum::<u64>(), 1024);
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((after.len(), after.blocks() < before / 10), (4 << 20, true));
    assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn discards_on_a_block_device_and_where_there_are_none() {
    let folder = folder();
    let Some(device) = crate::refusals::Loop::attach(&folder.path().join("disk")) else { return };
    let workload = Workload { discard_percent: 50, pattern: PatternKind::Shuffled, ..plain() };
    let calls = run_traced("discards_on_a_block_device", "ioctl,pwrite64", &workload, &Options::new(&device.0));
    let Some((finished, calls)) = calls else { return };
    let discarded: HashSet<u64> = calls
        .iter()
        .filter(|call| call.name == "ioctl" && call.arguments.contains("BLKDISCARD, [") && call.result == "0")
        .map(|call| call.arguments.split('[').nth(1).unwrap().split(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(discarded.len() as u64, finished.record.ops_discarded, "{calls:?}");
    let written = calls.iter().filter(|call| call.name == "pwrite64").count() as u64;
    assert_eq!((written, written + finished.record.ops_discarded), (finished.record.ops_written, 1024));
    let refused = start(workload, Options { api: Api::Stdio { buffer_bytes: 0 }, ..Options::new(&device.0) });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "discard_percent is 50: not with the API stdio, whose buffer would not know of them"
    );
}

#[test]
fn syncs_on_the_way_come_after_every_n_writes() {
    let (_folder, path) = file_of(4 << 20);
    let workload = Workload { sync: Sync::Fdatasync, sync_every: 100, ..plain() };
    let traced = run_traced("syncs_on_the_way", "pwrite64,fdatasync", &workload, &Options::new(&path));
    let Some((finished, calls)) = traced else { return };
    let runs: Vec<usize> = calls.split(|call| call.name == "fdatasync").map(<[_]>::len).collect();
    assert_eq!(runs, [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 24, 0]);
    assert_eq!((finished.record.ops_written, finished.record.latency.sync.count), (1024, 11));
}

/// Notes what was counted.
struct CompletionLog(Arc<Mutex<Vec<Completion>>>);

impl Observer for CompletionLog {
    fn completed(&mut self, completion: &Completion) {
        self.0.lock().unwrap().push(*completion);
    }
}

#[test]
fn the_warm_up_is_done_and_not_counted() {
    let (_folder, path) = file_of(4 << 20);
    for api in [Api::Positioned, Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false }] {
        let load = Load { warm_up_ns: 20_000_000, ..Load::default() };
        let stop = Stop { operations: Some(3_000), ..Stop::default() };
        let workload = Workload { threads: 2, pattern: PatternKind::Random, read_percent: 100, load, stop, ..plain() };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let options = Options { api, audit: true, ..Options::new(&path) };
        let handle = match start_observed(workload, options, |_| CompletionLog(Arc::clone(&seen))) {
            Err(error) if api != Api::Positioned => return eprintln!("skipped the part on io_uring: {error}"),
            started => started.unwrap(),
        };
        let finished = finish(&handle).unwrap();
        let seen = seen.lock().unwrap();
        let counted: Vec<&Completion> = seen.iter().filter(|completion| completion.counted).collect();
        let record = &finished.record;
        assert!(seen.len() > counted.len(), "something was done in the warm-up");
        assert_eq!((record.ops_read, counted.len(), record.latency.read.count), (3_000, 3_000, 3_000));
        assert_eq!(record.series.ops.iter().sum::<u64>(), 3_000);
        let first_ns = counted.iter().map(|completion| completion.submit_ns).min().unwrap();
        let last_ns = counted.iter().map(|completion| completion.complete_ns).max().unwrap();
        assert_eq!(record.submit_ns, last_ns - first_ns);
        assert!(first_ns >= 20_000_000);
        let warm_up = record.warm_up.as_ref().expect("a series of the warm-up");
        let warm: Vec<&Completion> = seen.iter().filter(|completion| !completion.counted).collect();
        assert_eq!(warm_up.ops.iter().sum::<u64>(), warm.len() as u64);
        let bytes: u64 = warm.iter().map(|completion| u64::from(completion.op.length_bytes)).sum();
        assert_eq!((warm_up.bytes_read.iter().sum::<u64>(), warm_up.bytes_written.iter().sum()), (bytes, 0));
        let waited: u64 = warm.iter().map(|completion| completion.complete_ns - completion.submit_ns).sum();
        assert_eq!(warm_up.latency_sum_ns.iter().sum::<u64>(), waited);
        let slowest = warm.iter().map(|completion| completion.complete_ns - completion.submit_ns).max();
        assert_eq!(warm_up.latency_max_ns.iter().max().copied(), slowest);
        let intervals = (last_ns - 20_000_000) / record.series.interval_ns + 1;
        assert_eq!(record.series.ops.len() as u64, intervals, "the series begins where the warm-up ends");
        if api == Api::Positioned {
            let audited: u64 = finished.audit.unwrap().iter().map(|io| io.rchar).sum();
            assert_eq!(audited, record.bytes_read, "the kernel's account has no warm-up either");
        }
    }
}

#[test]
fn latencies_stand_by_kind_whether_a_run_does_one_kind_or_several() {
    let (_folder, path) = file_of(4 << 20);
    // Reads, writes, discards alone; reads and writes; all three. Two threads, so that intervals are merged too.
    for (read_percent, discard_percent) in [(100, 0), (0, 0), (0, 100), (40, 0), (40, 30)] {
        for api in [Api::Positioned, Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false }] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let stop = Stop { operations: Some(2_000), ..Stop::default() };
            let random = Workload { pattern: PatternKind::Random, threads: 2, read_percent, stop, ..plain() };
            let workload = Workload { discard_percent, sync: Sync::Fdatasync, ..random };
            let options = Options { api, interval_ns: 10_000_000, ..Options::new(&path) };
            let record = match start_observed(workload, options, |_| CompletionLog(Arc::clone(&seen))) {
                Err(error) if api != Api::Positioned => return eprintln!("skipped the part on io_uring: {error}"),
                started => finish(&started.unwrap()).unwrap().record,
            };
            assert_eq!(record.error, None);
            let of = |kind: OpKind| {
                let mut all = Histogram::default();
                let seen = seen.lock().unwrap();
                seen.iter().filter(|it| it.op.kind == kind).for_each(|it| all.record(it.complete_ns - it.submit_ns));
                all.to_data()
            };
            let latency = &record.latency;
            assert_eq!(
                [&latency.read, &latency.write, &latency.discard, &latency.sync],
                [&of(OpKind::Read), &of(OpKind::Write), &of(OpKind::Discard), &of(OpKind::Sync)],
                "{read_percent} % reads, {discard_percent} % discards, {api:?}"
            );
        }
    }
}

#[test]
fn the_first_thread_done_stops_the_clock_for_all() {
    let (_folder, path) = file_of(4 << 20);
    let seen = Arc::new(Mutex::new(Vec::new()));
    // Milliseconds apart, so that a thread hears of the first one's end before it completes much more.
    let open = Open { operations_per_s: 600, spacing: Spacing::Poisson, ramp: None };
    let workload = Workload {
        threads: 3,
        read_percent: 40,
        stop: Stop { operations: Some(180), ..Stop::default() },
        load: Load { open: Some(open), ..Load::default() },
        ..plain()
    };
    let handle = start_observed(workload.clone(), Options::new(&path), |_| CompletionLog(Arc::clone(&seen))).unwrap();
    let record = finish(&handle).unwrap().record;
    let seen = seen.lock().unwrap();
    let of = |thread: u32| {
        seen.iter().filter(move |completion| completion.thread == thread && completion.op.kind != OpKind::Sync)
    };
    let begin_ns = seen.iter().map(|completion| completion.submit_ns).min().unwrap();
    let ends: Vec<u64> =
        (0..3).map(|thread| of(thread).map(|completion| completion.complete_ns).max().unwrap()).collect();
    let first_done_ns = *ends.iter().min().unwrap();
    let by_then: Vec<&Completion> = seen.iter().filter(|completion| completion.complete_ns <= first_done_ns).collect();
    let concurrency = record.concurrency.expect("several threads");
    assert_eq!(concurrency.first_done_ns, first_done_ns - begin_ns);
    let late = concurrency.first_done_ops.checked_sub(by_then.len() as u64).expect("what was complete by then counts");
    assert!(late <= 2, "{late} operations of the two others counted that came later");
    let bytes: u64 = by_then.iter().map(|completion| u64::from(completion.op.length_bytes)).sum();
    assert_eq!(concurrency.first_done_bytes, bytes + late * u64::from(workload.record_bytes));
    assert!(record.ops_read + record.ops_written > concurrency.first_done_ops, "the others continued");
    for (thread, end_ns) in (0..3).zip(ends) {
        let own_ns = of(thread).map(|completion| completion.submit_ns).min().unwrap();
        assert_eq!(record.threads[thread as usize].elapsed_ns, end_ns - own_ns);
    }
    assert_eq!(run(Workload { threads: 1, ..workload }, Options::new(&path)).record.concurrency, None);
}
