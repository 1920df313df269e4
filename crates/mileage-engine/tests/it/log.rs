//! Every operation in a file: as many rows as the record counts, each what the record's histograms say.

use crate::scratch::{file_of, finish, folder, plain, run};
use mileage_engine::{Api, Options, Share, start, start_share};
use mileage_workload::{Load, Open, PatternKind, Spacing, Stop, Sync, Workload};
use std::path::Path;

struct Row {
    start_ns: u64,
    due_ns: Option<u64>,
    end_ns: u64,
    thread: u32,
    kind: String,
    offset_bytes: u64,
    length_bytes: u64,
}

fn rows(path: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("start_ns,due_ns,end_ns,thread,kind,offset_bytes,length_bytes"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), 7, "{line}");
        let number = |at: usize| cells[at].parse::<u64>().unwrap();
        Row {
            start_ns: number(0),
            due_ns: cells[1].parse().ok(),
            end_ns: number(2),
            thread: number(3) as u32,
            kind: cells[4].to_owned(),
            offset_bytes: number(5),
            length_bytes: number(6),
        }
    };
    lines.map(row).collect()
}

fn mixed() -> Workload {
    Workload {
        pattern: PatternKind::Random,
        read_percent: 60,
        discard_percent: 5,
        threads: 3,
        stop: Stop { operations: Some(9_000), ..Stop::default() },
        sync: Sync::Fdatasync,
        sync_every: 500,
        ..plain()
    }
}

#[test]
fn it_holds_what_the_record_counts() {
    let ring = Api::Uring { registered: true, batch: 0, sqpoll: false, iopoll: false };
    for (api, depth) in [(Api::Positioned, 1), (ring, 8)] {
        let (folder, path) = file_of(4 << 20);
        let log = folder.path().join("log.csv");
        let options = Options { api, log: Some(log.clone()), ..Options::new(&path) };
        let record = run(Workload { depth, ..mixed() }, options).record;
        assert_eq!(record.error, None);
        let kept = record.log.as_ref().unwrap();
        assert_eq!((kept.lost, kept.failure.as_str()), (0, ""), "{:?}", record.notes);
        let rows = rows(&log);
        assert_eq!((rows.len() as u64, record.operations()), (kept.written, kept.written));
        let of = |kind: &'static str| rows.iter().filter(move |row| row.kind == kind);
        assert_eq!(of("read").count() as u64, record.ops_read);
        assert_eq!(of("write").count() as u64, record.ops_written);
        assert_eq!(of("discard").count() as u64, record.ops_discarded);
        assert_eq!(of("sync").count() as u64, record.latency.sync.count);
        assert_eq!(of("write").map(|row| row.length_bytes).sum::<u64>(), record.bytes_written);
        assert!(of("read").all(|row| row.offset_bytes + row.length_bytes <= 4 << 20));
        let slowest = of("read").map(|row| row.end_ns - row.start_ns).max().unwrap();
        assert_eq!(slowest, record.latency.read.max_ns);
        for thread in 0..3 {
            let ends: Vec<u64> = rows.iter().filter(|row| row.thread == thread).map(|row| row.end_ns).collect();
            assert!(ends.len() > 2_000 && ends.is_sorted(), "a thread's rows are in the order of completion");
        }
        assert!(rows.iter().all(|row| row.due_ns.is_none()), "nothing is due in the closed loop");
    }
}

#[test]
fn what_is_due_stands_in_it_and_a_warm_up_does_not() {
    let (folder, path) = file_of(4 << 20);
    let log = folder.path().join("log.csv");
    let open = Open { operations_per_s: 2000, spacing: Spacing::Constant, ramp: None };
    let workload = Workload {
        read_percent: 100,
        stop: Stop { operations: Some(100), ..Stop::default() },
        load: Load { open: Some(open), warm_up_ns: 20_000_000, ..Load::default() },
        ..plain()
    };
    let record = run(workload, Options { log: Some(log.clone()), ..Options::new(&path) }).record;
    let rows = rows(&log);
    assert_eq!((rows.len(), record.operations()), (100, 100));
    assert!(rows.iter().all(|row| row.start_ns >= 20_000_000));
    let due: Vec<u64> = rows.iter().map(|row| row.due_ns.unwrap()).collect();
    assert!(due.windows(2).all(|two| two[1] - two[0] == 500_000), "one every 500 us");
    assert!(rows.iter().all(|row| row.due_ns.unwrap() <= row.start_ns));
}

#[test]
fn a_log_is_never_written_over_and_none_is_left_of_a_run_that_was_refused() {
    let (folder, path) = file_of(4 << 20);
    let log = folder.path().join("log.csv");
    let to_log = |path: &Path| Options { log: Some(log.clone()), ..Options::new(path) };
    let missing = start(plain(), to_log(&folder.path().join("missing"))).unwrap_err();
    assert!(missing.is_refusal() && !log.exists(), "{missing}");
    std::fs::write(&log, "mine").unwrap();
    let refused = start(plain(), to_log(&path)).unwrap_err();
    assert!(refused.is_refusal() && refused.to_string().contains("never written over"), "{refused}");
    assert_eq!(std::fs::read(&log).unwrap(), b"mine");
    let barrier = folder.path().join("barrier");
    mileage_engine::StartBarrier::create(&barrier, 1).unwrap();
    let share = Share { first_thread: 0, threads: 1, barrier };
    let refused =
        start_share(plain(), Options { log: Some(folder.path().join("other")), ..Options::new(&path) }, &share);
    assert!(refused.unwrap_err().to_string().contains("would be written by several processes"));
}

#[test]
fn a_log_that_its_disk_has_no_room_for_costs_the_run_nothing() {
    let (folder, path) = file_of(4 << 20);
    let small = folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&small).status();
    if !mounted.is_ok_and(|mounted| mounted.success()) {
        eprintln!("skipped a_log_that_its_disk_has_no_room_for_costs_the_run_nothing: no tmpfs can be mounted here");
        return;
    }
    let handle = start(mixed(), Options { log: Some(small.join("log.csv")), ..Options::new(&path) });
    let record = finish(&handle.unwrap()).unwrap().record;
    let unmounted = std::process::Command::new("umount").arg(&small).status().unwrap();
    let kept = record.log.as_ref().unwrap();
    assert!(kept.failure.contains("No space left"), "{kept:?}");
    assert_eq!((record.error.clone(), kept.lost), (None, record.operations()));
    assert!(record.notes.iter().any(|note| note.contains("not whole")), "{:?}", record.notes);
    assert!(unmounted.success());
}

#[test]
fn the_interval_of_the_series_is_the_one_asked_for() {
    let (_folder, path) = file_of(4 << 20);
    let record = run(plain(), Options { interval_ns: 1_000_000_000, ..Options::new(&path) }).record;
    assert_eq!(record.series.interval_ns, 1_000_000_000);
    assert_eq!(run(plain(), Options::new(&path)).record.series.interval_ns, 10_000_000);
    let refused = start(plain(), Options { interval_ns: 9_999_999, ..Options::new(folder().path()) }).unwrap_err();
    assert!(refused.to_string().starts_with("interval_ns is 9999999: expected 10000000 to"), "{refused}");
}
