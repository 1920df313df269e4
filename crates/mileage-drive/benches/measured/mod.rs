//! What the benchmarks of this crate share: processor time, and the rate of a workload in it.

use mileage_drive::Drive;
use mileage_workload::{PatternKind, Stop, Workload};

/// This thread's CPU time so far, in seconds.
pub fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).map_or(0.0, |ns| ns / 1e9)
}

/// Requests of random 4 KiB accesses to the first 4 GiB per second of CPU time.
pub fn rate(drive: &mut Drive, read_percent: u8, depth: u32, requests: u64) -> f64 {
    let workload = Workload {
        pattern: PatternKind::Random,
        read_percent,
        record_bytes: 4096,
        span_bytes: 1 << 32,
        depth,
        stop: Stop { bytes: Some(requests * 4096), ..Stop::default() },
        ..Workload::default()
    };
    let start_s = cpu_s();
    let record = drive.run_unobserved(&workload).expect("the span fits");
    (record.ops_read + record.ops_written) as f64 / (cpu_s() - start_s).max(1e-9)
}

/// Rates of several runs in millions of requests per second of CPU time, in order.
pub fn rates(drive: &mut Drive, read_percent: u8, depth: u32, requests: u64, runs: usize) -> Vec<f64> {
    let mut rates: Vec<f64> = (0..runs).map(|_| rate(drive, read_percent, depth, requests) / 1e6).collect();
    rates.sort_by(f64::total_cmp);
    rates
}
