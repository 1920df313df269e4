//! Speed of the disk model: random 4 KiB reads of `sata-7k2` at depth 32 (31 places of its queue), shortest positioning first
//! and first come, first served; reads in order; random writes through the write cache. Requests per second of this
//! thread's CPU time, the median of five runs. Without `--bench` it is one run of a thousandth.

use mileage_drive::{Drive, Profile};
use mileage_workload::{PatternKind, Stop, Workload};

const SATA: &str = include_str!("../../../profiles/drives/sata-7k2.toml");

/// This thread's CPU time so far, in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).map_or(0.0, |ns| ns / 1e9)
}

/// Requests per second of CPU time.
fn rate(text: &str, pattern: &PatternKind, read_percent: u8, requests: u64) -> f64 {
    let mut drive = Drive::new(Profile::parse(text).expect("a profile that ships"));
    let workload = Workload {
        pattern: pattern.clone(),
        read_percent,
        record_bytes: 4096,
        span_bytes: 1 << 39,
        depth: 32,
        stop: Stop { bytes: Some(requests * 4096), ..Stop::default() },
        ..Workload::default()
    };
    let start_s = cpu_s();
    let record = drive.run_unobserved(&workload).expect("the span fits");
    (record.ops_read + record.ops_written) as f64 / (cpu_s() - start_s).max(1e-9)
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (requests, runs) = if full { (1_000_000, 5) } else { (1_000, 1) };
    let exact = SATA.replace("value = 47000.0", "value = 0.0");
    let fcfs = SATA.replace("\"sptf\"", "\"fcfs\"");
    let fcfs = fcfs.split("[scheduling_error_us]").next().unwrap_or_default();
    for (name, text, pattern, read_percent) in [
        ("random reads, sptf", exact.as_str(), PatternKind::Random, 100),
        ("random reads, sptf with an error", SATA, PatternKind::Random, 100),
        ("random reads, fcfs", fcfs, PatternKind::Random, 100),
        ("reads in order, sptf", SATA, PatternKind::Sequential, 100),
        ("random writes, sptf, write cache", SATA, PatternKind::Random, 0),
    ] {
        let mut rates: Vec<f64> = (0..runs).map(|_| rate(text, &pattern, read_percent, requests) / 1e6).collect();
        rates.sort_by(f64::total_cmp);
        println!("{name:<34} {:>6.2} M/s ({:.2} to {:.2})", rates[runs / 2], rates[0], rates[runs - 1]);
    }
}
