//! Speed of the modelled host, next to the goals: a file of 16 GiB written and read in records of 1 MiB on a host of 8 GiB,
//! cached operations of 4 KiB, and the memory that a cached page takes. Bytes and operations per second of this thread's CPU
//! time, the best of three runs. Without `--bench` it is one run of a small file.

use mileage_drive::{Device, Profile};
use mileage_host::{Host, HostProfile, OpenMode, run};
use mileage_workload::{NoObserver, PatternKind, Stop, Workload};

const HOST: &str = include_str!("../../../profiles/hosts/phenom-8gib.toml");
const DRIVE: &str = include_str!("../../../profiles/drives/plain-64gib.toml");

/// This thread's CPU time so far, in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).map_or(0.0, |ns| ns / 1e9)
}

fn fresh() -> Host {
    let profile = HostProfile::parse(HOST).expect("a profile that ships");
    Host::new(profile, Device::new(Profile::parse(DRIVE).expect("a profile that ships")))
}

fn timed(host: &mut Host, workload: &Workload) -> f64 {
    let start_s = cpu_s();
    let record = run(host, workload, OpenMode::default(), &mut NoObserver, &mut |_, _| false).expect("the file fits");
    assert!(record.error.is_none());
    (cpu_s() - start_s).max(1e-9)
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn memory(host: &Host, after: &str) {
    let bytes = host.cache().memory_bytes() as f64 / host.cache().present() as f64;
    println!("{:<32} {bytes:>8.2} bytes a cached page (goal: 16)", format!("after {after}"));
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (large, small, operations, runs): (u64, u64, u64, usize) =
        if full { (16 << 30, 1 << 30, 10_000_000, 3) } else { (64 << 20, 16 << 20, 1_000, 1) };
    let stream = |read_percent, span_bytes| Workload {
        read_percent,
        record_bytes: 1 << 20,
        span_bytes,
        stop: Stop { bytes: Some(span_bytes), ..Stop::default() },
        ..Workload::default()
    };
    let random = |read_percent| Workload {
        pattern: PatternKind::Random,
        read_percent,
        record_bytes: 4096,
        span_bytes: small,
        stop: Stop { operations: Some(operations), ..Stop::default() },
        ..Workload::default()
    };
    let mut host = fresh();
    host.make_work_file(large).expect("the file fits");
    let best =
        |host: &mut Host, workload: &Workload| (0..runs).map(|_| timed(host, workload)).fold(f64::INFINITY, f64::min);
    for (name, read_percent) in [("write 16 GiB, 1 MiB records", 0), ("read 16 GiB, 1 MiB records", 100)] {
        let taken_s = best(&mut host, &stream(read_percent, large));
        println!("{name:<32} {:>8.2} GB/s (goal: 20)", large as f64 / taken_s / 1e9);
    }
    let sparse = Workload { span_bytes: large, ..random(100) };
    timed(&mut host, &sparse);
    memory(&host, "random reads of 16 GiB");
    // Every page is written back by itself, so that thousands of requests wait for each other.
    let single =
        Workload { read_percent: 0, stop: Stop { operations: Some(operations / 4), ..Stop::default() }, ..sparse };
    let taken_s = timed(&mut host, &single);
    println!("{:<32} {:>8.2} M/s", "random writes of 4 KiB, 16 GiB", operations as f64 / 4.0 / taken_s / 1e6);
    let mut host = fresh();
    host.make_work_file(small).expect("the file fits");
    host.fill_cache().expect("a work file");
    memory(&host, "a sequential read");
    for (name, read_percent) in [("cached reads, 4 KiB, random", 100), ("cached writes, 4 KiB, random", 0)] {
        let taken_s = best(&mut host, &random(read_percent));
        println!("{name:<32} {:>8.2} M/s (goal: 5)", operations as f64 / taken_s / 1e6);
    }
    memory(&host, "random operations");
}
