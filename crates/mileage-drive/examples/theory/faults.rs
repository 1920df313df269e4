//! Injected faults: what a stall does to whoever waits for an answer, and to whoever waits for his turn; commands
//! that are lost; a drive that drops off.

use super::drive_builder::{PAGE_BYTES, Sketch, Timing};
use super::{Case, Row};
use mileage_drive::Drive;
use mileage_measure::{Histogram, RunRecord};
use mileage_workload::{Load, Open, PatternKind, Spacing, Stop, Workload};

/// Duration of one command in ns; commands are served one after the other.
const SERVICE_NS: u64 = 100_000;
/// The stall, and how often it comes, in s.
const STALL_S: f64 = 1.0;
const EVERY_S: f64 = 30.0;

pub(super) fn cases() -> Vec<Case> {
    vec![Case::new(true, closed_loop), Case::new(true, open_loop), Case::new(true, ends)]
}

/// A drive of which only the controller takes time.
fn sketch() -> Sketch {
    let timing = Timing { controller_us: SERVICE_NS as f64 / 1e3, ..Timing::default() };
    Sketch { timing, ..Sketch::plane(64, 64, 3000) }
}

fn stalls(seed: Option<u64>) -> Sketch {
    let sketch = sketch().with("stall_s", format!("{STALL_S:?}")).with("stall_every_s", format!("{EVERY_S:?}"));
    seed.map_or(sketch.clone(), |seed| sketch.with("fault_seed", seed))
}

/// Read pages that were never written, which is the controller's time and no more.
fn read(sketch: &Sketch, seconds: u64, load: Load, depth: u32) -> RunRecord {
    let workload = Workload {
        pattern: PatternKind::Random,
        read_percent: 100,
        record_bytes: PAGE_BYTES as u32,
        span_bytes: 3000 * PAGE_BYTES,
        depth,
        load,
        stop: Stop { time_ns: Some(seconds * 1_000_000_000), ..Stop::default() },
        ..Workload::default()
    };
    match Drive::new(sketch.profile()).run_unobserved(&workload) {
        Ok(record) => record,
        Err(error) => unreachable!("a check's own workload: {error}"),
    }
}

/// One command at a time: each stall is met once in its period, and costs its length.
fn closed_loop() -> Vec<Row> {
    let row = |seed: Option<u64>, when: &str| {
        let record = read(&stalls(seed), 300, Load::default(), 1);
        let commands = 10.0 * (EVERY_S - STALL_S) * 1e9 / (SERVICE_NS + 4) as f64;
        vec![
            Row::within(
                1e-4,
                format!("commands in 300 s, 1 s of 30 stalled, {when}"),
                commands,
                record.ops_read as f64,
            ),
            Row::within(1e-3, format!("longest of them, s, {when}"), STALL_S, record.latency.read.max_ns as f64 / 1e9),
            Row::within(1e-3, format!("s of waiting for a stall's end, {when}"), 10.0, {
                record.counters["stall_wait_ns"] as f64 / 1e9
            }),
        ]
    };
    [row(None, "at its end"), row(Some(7), "anywhere")].concat()
}

/// Arrivals at a rate that takes a share r of the server: who arrives u behind the beginning of a stall of s waits
/// s - u (1 - r), as long as that is positive. The mean over a period n is s^2 / (2 n (1 - r)), and a share p waits
/// longer than s - p n (1 - r).
fn open_loop() -> Vec<Row> {
    let rows = |per_s: u64| {
        let open = Open { operations_per_s: per_s, spacing: Spacing::Constant, ramp: None };
        let record = read(&stalls(Some(1)), 300, Load { open: Some(open), ..Load::default() }, 4096);
        let idle = 1.0 - per_s as f64 * SERVICE_NS as f64 / 1e9;
        let response = &record.latency.response;
        let p99_ns = Histogram::from_data(response).and_then(|all| all.quantile_ns(0.99)).unwrap_or(0);
        let mean_ms = (response.sum_ns as f64 / response.count as f64 - SERVICE_NS as f64) / 1e6;
        vec![
            Row::within(
                0.01,
                format!("p99 of {per_s} arrivals/s, 1 s of 30 stalled, ms"),
                (STALL_S - 0.01 * EVERY_S * idle) * 1e3,
                p99_ns as f64 / 1e6,
            ),
            Row::within(
                0.01,
                format!("their mean wait, ms, {per_s}/s"),
                STALL_S * STALL_S / (2.0 * EVERY_S * idle) * 1e3,
                mean_ms,
            ),
        ]
    };
    [rows(1000), rows(5000)].concat()
}

/// A run ends with the command that is lost, or with the drive; what came before is in its record.
fn ends() -> Vec<Row> {
    let lost = sketch().with("lost_command_every", 1000).with("command_timeout_s", "30.0");
    let lost = read(&lost, 300, Load::default(), 1);
    let gone = read(&sketch().with("drop_off_s", "2.0"), 300, Load::default(), 1);
    let kind = |record: &RunRecord, kind: &str| {
        f64::from(u8::from(record.error.as_ref().is_some_and(|error| error.kind == kind)))
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    vec![
        Row::exact("commands before the one of 1000 that is lost", 999.0, lost.ops_read as f64),
        Row::within(1e-4, "s until its time-out ends the run", 30.0999, seconds(lost.durable_ns)),
        Row::exact("whose error is ETIMEDOUT", 1.0, kind(&lost, "ETIMEDOUT")),
        Row::within(
            1e-4,
            "commands until a drive drops off at 2 s",
            2e9 / (SERVICE_NS + 4) as f64,
            gone.ops_read as f64,
        ),
        Row::exact("when that ends the run, s", 2.0, seconds(gone.durable_ns)),
        Row::exact("whose error is ENODEV", 1.0, kind(&gone, "ENODEV")),
    ]
}
