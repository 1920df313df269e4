//! Speed and write amplification of uniform random 4 KiB overwrites on the plain drive, against theory.
//!
//! `cargo bench -p mileage-drive` uses 64 GiB of flash (0.2 GB of memory, about two minutes): a sequential fill, two
//! random overwrites to settle, one overwrite measured. Without `--bench` it is 1 GiB and shows only that it runs.
//! Rates are host pages per second of this thread's CPU time, timing, counters and histograms on.

use mileage_drive::check::theory;
use mileage_drive::{BlockDevice, FlashDrive, Profile, run};
use mileage_workload::{Content, PatternKind, Stop, Sync, Unobserved, Workload};
use std::fmt::Write;

const PLAIN: &str = include_str!("../../../drives/plain-64gib.toml");

/// This thread's CPU time so far, in seconds.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures the host")]
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()) {
        Some(ns) => ns / 1e9,
        None => std::time::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_secs_f64()),
    }
}

/// Memory that this process holds now, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn workload(pattern: PatternKind, seed: u64, span_bytes: u64, passes: u64) -> Workload {
    let stop = Stop { bytes: Some(passes * span_bytes), ..Stop::default() };
    Workload {
        pattern,
        read_percent: 0,
        record_bytes: 4096,
        span_start_bytes: 0,
        span_bytes,
        depth: 32,
        threads: 1,
        stop,
        seed,
        content: Content::Incompressible,
        sync: Sync::None,
        sync_timed: false,
        ..Workload::default()
    }
}

/// The plain drive with this over-provisioning, its flash cut by `divisor`.
fn plain(over_provisioning: f64, divisor: u64) -> Profile {
    let raw_bytes = (64_u64 << 30) / divisor;
    let capacity_bytes = (raw_bytes as f64 / (1.0 + over_provisioning)) as u64 / 4096 * 4096;
    let text = PLAIN
        .replace("59_756_064_768", &capacity_bytes.to_string())
        .replace("value = 2048", &format!("value = {}", 2048 / divisor));
    Profile::parse(&text).expect("the plain drive is valid")
}

fn measure(over_provisioning: f64, divisor: u64) -> String {
    let profile = plain(over_provisioning, divisor);
    let capacity = profile.capacity_bytes;
    let predicted = theory::of_drive(&profile);
    let mut drive = FlashDrive::new(profile);
    let mut go = |workload: &Workload| {
        let start_s = cpu_s();
        let record = run(&mut drive, workload, &mut Unobserved, &mut |_, _| false).expect("the span is the drive");
        (record, cpu_s() - start_s)
    };
    go(&workload(PatternKind::Sequential, 1, capacity, 1));
    go(&workload(PatternKind::Random, 2, capacity, 2));
    let (record, seconds) = go(&workload(PatternKind::Random, 3, capacity, 1));
    let programs = record.counters["flash_pages_programmed"] as f64;
    let obtained = programs / record.counters["host_pages_written"] as f64;
    let mut line = String::new();
    let _ = write!(
        line,
        "{:>4.0} %  {obtained:>7.4} {predicted:>7.4} {:>+6.2} %  {:>7.2} M/s  virtual {:>7.0} s",
        100.0 * over_provisioning,
        100.0 * (obtained / predicted - 1.0),
        record.ops_written as f64 / seconds / 1e6,
        record.elapsed_ns as f64 / 1e9,
    );
    let bytes_per_kib = resident_kib() as f64 * 1024.0 / (drive.profile().raw_bytes() / 1024) as f64;
    let _ = write!(line, "  {bytes_per_kib:.2} B/KiB");
    let start_s = cpu_s();
    let state = drive.save();
    let saved_s = cpu_s() - start_s;
    let start_s = cpu_s();
    let restored = drive.restore(&state);
    let _ =
        write!(line, "  save {saved_s:.3} s {:.1} MB, restore {:.3} s", state.len() as f64 / 1e6, cpu_s() - start_s);
    restored.expect("a state that was just saved");
    line
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn main() {
    let divisor = if std::env::args().any(|argument| argument == "--bench") { 1 } else { 64 };
    println!("  OP        WA  theory    diff     host writes");
    for over_provisioning in [0.07, 0.15, 0.28] {
        println!("{}", measure(over_provisioning, divisor));
    }
}
