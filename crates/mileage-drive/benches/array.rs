//! Speed of arrays: random 4 KiB reads of RAID 0 of eight flash drives, next to the rate that one of them reaches alone in the
//! same way, and of sixteen disks. Requests per second of this thread's CPU time, the median of five runs. Without
//! `--bench` it is one run of a thousandth.

use mileage_drive::{Drive, Profile};
use mileage_workload::{PatternKind, Stop, Unobserved, Workload};

const FLASH: &str = include_str!("../../../profiles/drives/plain-64gib.toml");
const DISK: &str = include_str!("../../../profiles/drives/sas-15k.toml");

/// This thread's CPU time so far, in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).map_or(0.0, |ns| ns / 1e9)
}

/// The text of a RAID 0 of equal members: their text becomes a table of it.
fn raid0(member: &str, count: u32) -> String {
    let figure = |value: &str| format!("{{ value = {value}, source = \"the benchmark\", confidence = \"defined\" }}");
    let own = member.split("[[rate]]").next().unwrap_or(member);
    let nested = |line: &str| match line.strip_prefix('[') {
        Some(table) => format!("[member.profile.{table}"),
        None => line.to_owned(),
    };
    let nested: Vec<String> = own.lines().map(nested).collect();
    format!(
        "name = \"bench\"\ntitle = \"Bench\"\nkind = \"array\"\nlevel = {}\n[[member]]\ncount = {count}\n\
        [member.profile]\n{}\n",
        figure("\"raid0\""),
        nested.join("\n")
    )
}

/// Requests per second of CPU time.
fn rate(drive: &mut Drive, read_percent: u8, depth: u32, requests: u64) -> f64 {
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
    let record = drive.run(&workload, &mut Unobserved, &mut |_, _| false).expect("the span fits");
    (record.ops_read + record.ops_written) as f64 / (cpu_s() - start_s).max(1e-9)
}

fn median(drive: &mut Drive, depth: u32, requests: u64, runs: usize) -> f64 {
    let mut rates: Vec<f64> = (0..runs).map(|_| rate(drive, 100, depth, requests) / 1e6).collect();
    rates.sort_by(f64::total_cmp);
    rates[runs / 2]
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (requests, runs) = if full { (500_000, 5) } else { (500, 1) };
    let drive = |text: &str| Drive::new(Profile::parse(text).expect("a profile that ships, or an array of it"));
    let (mut alone, mut eight, mut disks) = (drive(FLASH), drive(&raid0(FLASH, 8)), drive(&raid0(DISK, 16)));
    // What is read has been written.
    rate(&mut alone, 0, 32, requests / 2);
    rate(&mut eight, 0, 256, requests / 2);
    let one = median(&mut alone, 32, requests, runs);
    let all = median(&mut eight, 256, requests, runs);
    println!("one flash drive, depth 32          {one:>6.2} M/s");
    println!("eight in raid0, depth 256          {all:>6.2} M/s, {:.1} % of it", 100.0 * all / one);
    println!("sixteen disks in raid0, depth 256  {:>6.2} M/s", median(&mut disks, 256, requests, runs));
}
