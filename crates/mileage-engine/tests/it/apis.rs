//! Every API moves the same bytes, by the calls it is named after.

use crate::scratch::{file_of, finish, folder, has_direct, plain, run};
use crate::trace::run_traced;
use mileage_engine::{Api, Options, start};
use mileage_workload::{PatternKind, Stop, Sync, Workload};
use std::path::Path;

const EVERY: [Api; 7] = [
    Api::Seek,
    Api::Vectored { parts: 1 },
    Api::Vectored { parts: 8 },
    Api::Mmap,
    Api::Stdio { buffer_bytes: 0 },
    Api::Stdio { buffer_bytes: 1 << 20 },
    Api::Stdio { buffer_bytes: 1000 },
];
const CALLS: &str = "open,openat,read,write,pread64,pwrite64,preadv,pwritev,lseek,mmap,msync,munmap,fsync,fdatasync";

fn through(api: Api, path: &Path) -> Options {
    Options { api, ..Options::new(path) }
}

#[test]
fn what_one_writes_is_what_another_writes() {
    for pattern in [PatternKind::Sequential, PatternKind::Shuffled] {
        for (threads, record_bytes) in [(1, 4096), (3, 12_800), (1, 1 << 20)] {
            let span_bytes = 96 * 12_800 * 4096 / u64::from(record_bytes) * u64::from(record_bytes) / 1024;
            let span_bytes = span_bytes / u64::from(record_bytes) * u64::from(record_bytes);
            let stop = Stop { bytes: Some(span_bytes), ..Stop::default() };
            let workload = Workload {
                pattern: pattern.clone(),
                threads,
                record_bytes,
                span_start_bytes: u64::from(record_bytes),
                span_bytes,
                stop,
                ..plain()
            };
            let bytes = (span_bytes + 2 * u64::from(record_bytes)) as usize;
            let (_folder, path) = file_of(bytes);
            let finished = run(workload.clone(), Options::new(&path));
            assert_eq!(finished.record.error, None);
            let expected = std::fs::read(&path).unwrap();
            for api in EVERY {
                let (_folder, path) = file_of(bytes);
                let finished = run(workload.clone(), through(api, &path));
                assert_eq!(finished.record.error, None);
                assert_eq!(finished.record.bytes_written, span_bytes, "{api:?}");
                assert!(std::fs::read(&path).unwrap() == expected, "{api:?} wrote something else: {workload:?}");
            }
        }
    }
}

#[test]
fn reads_and_writes_may_alternate_in_every_api() {
    let stop = Stop { operations: Some(2_000), ..Stop::default() };
    let workload = Workload { pattern: PatternKind::Random, read_percent: 50, stop, sync: Sync::Fsync, ..plain() };
    let (_folder, path) = file_of(4 << 20);
    run(workload.clone(), Options::new(&path));
    let expected = std::fs::read(&path).unwrap();
    for api in EVERY {
        let (_folder, path) = file_of(4 << 20);
        let record = run(workload.clone(), through(api, &path)).record;
        assert_eq!((record.error, record.ops_read + record.ops_written), (None, 2_000), "{api:?}");
        assert!(std::fs::read(&path).unwrap() == expected, "{api:?} wrote something else");
    }
}

/// The calls that move bytes or the position of one thread over 16 records of 4 KiB, as name and numbers; what is
/// looked at when the target is opened is skipped.
fn moves(test: &str, api: Api, pattern: PatternKind, read_percent: u8) -> Option<Vec<String>> {
    let (_folder, path) = file_of(16 * 4096);
    let stop = Stop { operations: Some(16), ..Stop::default() };
    let workload = Workload { pattern, read_percent, span_bytes: 16 * 4096, stop, ..plain() };
    let (finished, calls) = run_traced(test, CALLS, &workload, &through(api, &path))?;
    assert_eq!(finished.record.error, None);
    let named = |call: &crate::strace::Call| match call.name.as_str() {
        "open" | "openat" => None,
        "lseek" if call.arguments.ends_with("0, SEEK_END") => None,
        "lseek" => Some(format!("lseek {}", call.number(1))),
        "read" | "write" => Some(format!("{} {}", call.name, call.arguments.rsplit_once(", ").unwrap().1)),
        // The buffers' contents are of no interest, their lengths are.
        name => {
            let lengths = call.arguments.matches("iov_len=1024").count();
            Some(format!("{name} {lengths} of 1024, {}", call.arguments.rsplit_once("], ").unwrap().1))
        }
    };
    Some(calls.iter().filter_map(named).collect())
}

#[test]
fn each_makes_the_calls_it_is_named_after() {
    let test = "each_makes_the_calls_it_is_named_after";
    // In order nobody has to seek, but once to the start.
    for api in [Api::Seek, Api::Stdio { buffer_bytes: 0 }] {
        for (read_percent, call) in [(100, "read 4096"), (0, "write 4096")] {
            let Some(calls) = moves(test, api, PatternKind::Sequential, read_percent) else { return };
            let calls: Vec<String> = calls.into_iter().filter(|call| call != "lseek 0").collect();
            assert_eq!(calls, vec![call; 16], "{api:?}");
        }
    }
    // Shuffled, a record is sought where the one before did not end there.
    let calls = moves(test, Api::Seek, PatternKind::Shuffled, 0).unwrap();
    let (mut at, mut written) = (None, Vec::new());
    for call in &calls {
        if let Some(to) = call.strip_prefix("lseek ") {
            assert_ne!(at, to.parse::<u64>().ok(), "a needless seek");
            at = to.parse::<u64>().ok();
        } else {
            assert_eq!(call, "write 4096");
            written.push(at.unwrap());
            at = at.map(|at| at + 4096);
        }
    }
    written.sort_unstable();
    assert_eq!(written, (0..16).map(|record| record * 4096).collect::<Vec<u64>>());
    let vectored = moves(test, Api::Vectored { parts: 4 }, PatternKind::Sequential, 100).unwrap();
    assert_eq!(vectored, (0..16).map(|record| format!("preadv 4 of 1024, 4, {}", record * 4096)).collect::<Vec<_>>());
    let vectored = moves(test, Api::Vectored { parts: 4 }, PatternKind::Sequential, 0).unwrap();
    assert_eq!(vectored, (0..16).map(|record| format!("pwritev 4 of 1024, 4, {}", record * 4096)).collect::<Vec<_>>());
}

#[test]
fn a_streams_buffer_decides_its_calls() {
    let test = "a_streams_buffer_decides_its_calls";
    let big = |buffer_bytes, read_percent| {
        let calls = moves(test, Api::Stdio { buffer_bytes }, PatternKind::Sequential, read_percent)?;
        Some(calls.into_iter().filter(|call| !call.starts_with("lseek")).collect::<Vec<_>>())
    };
    let Some(calls) = big(16 * 4096, 0) else { return };
    assert_eq!(calls, ["write 65536"], "sixteen records, one call");
    assert_eq!(big(8 * 4096, 100).unwrap(), vec!["read 32768"; 2]);
}

#[test]
fn a_mapping_makes_no_calls_but_its_syncs_and_null_makes_none() {
    let test = "a_mapping_makes_no_calls_but_its_syncs_and_null_makes_none";
    let (_folder, path) = file_of(4 << 20);
    let workload = Workload { sync: Sync::Fsync, pattern: PatternKind::Random, ..plain() };
    let Some((finished, calls)) = run_traced(test, CALLS, &workload, &through(Api::Mmap, &path)) else { return };
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names[1..], ["lseek", "mmap", "msync"], "{calls:?}");
    assert!(names[0].starts_with("open"));
    assert!(calls[2].text().contains("4194304, PROT_READ|PROT_WRITE, MAP_SHARED"), "{calls:?}");
    assert!(calls[3].text().contains("4194304, MS_SYNC"), "{calls:?}");
    assert_eq!((finished.record.ops_written, finished.record.threads[0].calls), (1024, 0));
    assert_eq!(finished.record.latency.sync.count, 1);
    let (finished, calls) = run_traced(test, CALLS, &workload, &through(Api::Null, &path)).unwrap();
    assert_eq!((finished.record.ops_written, finished.record.latency.write.count), (1024, 1024));
    assert_eq!(calls, []);
}

#[test]
fn flags_reach_the_kernel() {
    let (_folder, path) = file_of(4 << 20);
    let options = Options { dsync: true, ..Options::new(&path) };
    let workload = Workload { threads: 2, ..plain() };
    let Some((_, calls)) = run_traced("flags_reach_the_kernel", "open,openat", &workload, &options) else { return };
    let durable = |call: &&crate::strace::Call| call.text().contains("O_WRONLY") && call.text().contains("O_DSYNC");
    assert_eq!(calls.iter().filter(durable).count(), 2, "{calls:?}");
}

#[test]
fn a_mapped_file_that_shrinks_ends_the_run_by_name() {
    for (read_percent, verb) in [(100, "read"), (0, "write")] {
        let (_folder, path) = file_of(8 << 20);
        let stop = Stop { time_ns: Some(30_000_000_000), ..Stop::default() };
        let workload = Workload {
            read_percent,
            span_bytes: 8 << 20,
            record_bytes: 65_536,
            stop,
            pattern: PatternKind::Random,
            ..plain()
        };
        let handle = start(workload, through(Api::Mmap, &path)).unwrap();
        while handle.progress().operations == 0 {
            std::thread::yield_now();
        }
        std::fs::File::options().write(true).open(&path).unwrap().set_len((1 << 20) + 4096 + 7).unwrap();
        let record = finish(&handle).unwrap().record;
        let error = record.error.expect("the run fails");
        assert_eq!(error.kind, "EOF", "{}", error.message);
        assert!(error.message.starts_with(&format!("{verb} of 65536 bytes at offset ")), "{}", error.message);
        assert!(error.message.ends_with("the target ends there; it has become shorter since the run began"));
        assert!(record.ops_read + record.ops_written > 0);
    }
}

#[test]
fn what_an_api_cannot_do_is_refused() {
    let (folder, path) = file_of(4 << 20);
    let wide = Workload { depth: 4, ..plain() };
    let refusals = [
        (
            Api::Seek,
            wide.clone(),
            "depth is 4: seek keeps one operation per thread outstanding; use threads = 4, or the API uring",
        ),
        (
            Api::Vectored { parts: 0 },
            plain(),
            "parts is 0: not with the API vectored, which takes 1 to 1024 buffers in a call",
        ),
        (
            Api::Vectored { parts: 1025 },
            plain(),
            "parts is 1025: not with the API vectored, which takes 1 to 1024 buffers in a call",
        ),
        (
            Api::Vectored { parts: 3 },
            plain(),
            "parts is 3: not with the API vectored, which cuts every record into equal parts: choose a divisor of the record",
        ),
        (
            Api::Stdio { buffer_bytes: 1 << 31 },
            plain(),
            "buffer_bytes is 2147483648: not with the API stdio, whose buffer is at most 1 GiB",
        ),
    ];
    for (api, workload, expected) in refusals {
        let refused = start(workload, through(api, &path)).unwrap_err();
        assert!(refused.is_refusal());
        assert_eq!(refused.to_string(), expected);
    }
    let direct = Options { direct: true, ..Options::new(&path) };
    let durable = Options { dsync: true, ..Options::new(&path) };
    let fresh = Options { create: true, ..Options::new(folder.path().join("fresh")) };
    for (api, options, expected) in [
        (Api::Mmap, &direct, "direct is true: not with the API mmap, a mapping is the page cache"),
        (
            Api::Mmap,
            &durable,
            "dsync is true: not with the API mmap, whose writes make no call: let it sync with sync_every",
        ),
        (Api::Mmap, &fresh, "create is true: not with the API mmap, a mapping cannot extend a file: lay it out first"),
        (
            Api::Stdio { buffer_bytes: 0 },
            &direct,
            "direct is true: not with the API stdio, whose buffer the C library aligns as it likes",
        ),
        (Api::Null, &direct, "direct is true: not with the API null, which opens nothing"),
        (Api::Null, &durable, "dsync is true: not with the API null, which opens nothing"),
        (Api::Null, &fresh, "create is true: not with the API null, which opens nothing"),
    ] {
        let refused = start(plain(), Options { api, ..options.clone() }).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    let beyond = Workload { span_bytes: 8 << 20, ..plain() };
    assert!(start(beyond, through(Api::Mmap, &path)).unwrap_err().to_string().contains("lay the file out first"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
}

#[test]
fn a_block_device_is_written_and_read_through_every_api() {
    let folder = folder();
    let disk = folder.path().join("disk");
    let Some(device) = crate::refusals::Loop::attach(&disk) else { return };
    let span = 8 << 20;
    let stop = Stop { bytes: Some(span), ..Stop::default() };
    let workload = Workload {
        pattern: PatternKind::Shuffled,
        span_bytes: span,
        record_bytes: 16_384,
        stop,
        sync: Sync::Fsync,
        ..plain()
    };
    let mut written = Vec::new();
    let rings = [false, true].map(|registered| Api::Uring { registered, batch: 0, sqpoll: false, iopoll: false });
    for api in EVERY.into_iter().chain([Api::Positioned]).chain(rings) {
        let record = run(workload.clone(), through(api, Path::new(&device.0))).record;
        assert_eq!((record.error, record.bytes_written), (None, span), "{api:?}");
        written.push(std::fs::read(&disk).unwrap());
        let record = run(Workload { read_percent: 100, ..workload.clone() }, through(api, Path::new(&device.0))).record;
        assert_eq!((record.error, record.bytes_read), (None, span), "{api:?}");
        std::fs::write(&device.0, vec![0; 8 << 20]).unwrap();
    }
    assert!(written.iter().all(|bytes| *bytes == written[0] && bytes.len() == 8 << 20), "all write the same");
}

#[test]
fn past_the_page_cache_too() {
    if !has_direct("past_the_page_cache_too", 512) {
        return;
    }
    let workload = Workload { record_bytes: 8192, pattern: PatternKind::Shuffled, ..plain() };
    let (_folder, path) = file_of(4 << 20);
    run(workload.clone(), Options::new(&path));
    let expected = std::fs::read(&path).unwrap();
    for api in [Api::Seek, Api::Vectored { parts: 2 }] {
        let (_folder, path) = file_of(4 << 20);
        let direct = Options { direct: true, ..through(api, &path) };
        assert_eq!(run(workload.clone(), direct.clone()).record.error, None);
        assert!(std::fs::read(&path).unwrap() == expected, "{api:?} wrote something else");
        // What a part would not be a whole sector of is refused.
        let small = Workload {
            record_bytes: 512,
            span_bytes: 1 << 20,
            stop: Stop { bytes: Some(1 << 20), ..Stop::default() },
            ..plain()
        };
        let started = start(small, direct);
        match api {
            Api::Seek => assert_eq!(finish(&started.unwrap()).unwrap().record.error, None),
            _ => assert!(
                started.unwrap_err().to_string().starts_with("one of the parts of a record is 256 bytes, O_DIRECT")
            ),
        }
    }
}

/// A file system in memory of 1 MiB, unmounted whatever happens.
struct Small(tempfile::TempDir);

impl Small {
    fn mount(test: &str) -> Option<Self> {
        let folder = folder();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("skipped {test}: a tmpfs cannot be mounted here");
        }
        mounted.then_some(Self(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmounted = std::process::Command::new("umount").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking(), "{:?} is mounted", self.0);
    }
}

#[test]
fn a_full_file_system_under_a_mapping_ends_the_run_by_name() {
    let Some(small) = Small::mount("a_full_file_system_under_a_mapping_ends_the_run_by_name") else { return };
    let path = small.0.path().join("sparse");
    std::fs::File::create(&path).unwrap().set_len(4 << 20).unwrap();
    let record = run(plain(), through(Api::Mmap, &path)).record;
    let error = record.error.expect("the run fails");
    assert_eq!(error.kind, "ENOSPC", "{}", error.message);
    assert!(record.bytes_written <= 1 << 20 && record.ops_written > 100, "{}", record.bytes_written);
    assert!(error.message.contains("free space on the target"), "{}", error.message);
}
