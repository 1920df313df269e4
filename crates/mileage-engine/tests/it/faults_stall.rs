//! Open loop on a target that stalls: the response shows it, the service time alone does not.

use crate::faults_server::{Answer, FILE_BYTES, Rule, Server, ServerCall, every};
use crate::scratch::plain;
use mileage_engine::{Options, start};
use mileage_measure::{Histogram, HistogramData, RunRecord};
use mileage_workload::{Load, Open, PatternKind, Spacing, Stop, Workload};
use std::time::Duration;

const SERVICE_MS: u64 = 1;
const STALL_MS: u64 = 1000;

fn p99_ms(latency: &HistogramData) -> f64 {
    Histogram::from_data(latency).unwrap().quantile_ns(0.99).unwrap() as f64 / 1e6
}

/// Random reads of a file whose server takes a millisecond for each and stalls for a second once in `seconds`.
fn run_with_a_stall(test: &str, seconds: u64, load: Load) -> Option<RunRecord> {
    let stall = Rule { after_ms: seconds * 1000 / 3, times: 1, ..every(ServerCall::Read, Answer::Late(STALL_MS)) };
    let server = Server::mount(test, false, &[stall, every(ServerCall::Read, Answer::Late(SERVICE_MS))])?;
    let workload = Workload {
        pattern: PatternKind::Random,
        read_percent: 100,
        span_bytes: FILE_BYTES,
        stop: Stop { time_ns: Some(seconds * 1_000_000_000), ..Stop::default() },
        load,
        ..plain()
    };
    let options = Options { timeout_ns: 20_000_000_000, ..Options::new(server.file()) };
    let handle = start(workload, options).unwrap();
    let record = handle.wait(Duration::from_secs(seconds + 60)).expect("ends").unwrap().record;
    assert_eq!(record.error, None);
    Some(record)
}

/// At half of capacity a backlog of a second takes another second to drain: of `seconds`, two are late by half a
/// second on average.
fn shows_in_the_response_alone(test: &str, seconds: u64) {
    let open = Open { operations_per_s: 400, spacing: Spacing::Constant, ramp: None };
    let Some(record) = run_with_a_stall(test, seconds, Load { open: Some(open), ..Load::default() }) else { return };
    let (service_ms, response_ms) = (p99_ms(&record.latency.read), p99_ms(&record.latency.response));
    eprintln!("{test}: p99 of the service {service_ms:.2} ms, of the response {response_ms:.0} ms");
    assert!(response_ms > 500.0, "{response_ms}");
    assert!(service_ms < 250.0, "one operation of hundreds saw the stall: {service_ms}");
    assert_eq!(record.latency.response.count, record.latency.read.count);
}

#[test]
fn a_stall_shows_in_the_response_of_an_open_loop() {
    shows_in_the_response_alone("a_stall_shows_in_the_response_of_an_open_loop", 10);
}

#[test]
#[ignore = "takes 30 s: the same stall in thirty seconds"]
fn a_stall_of_a_second_in_thirty_shows_in_the_response() {
    shows_in_the_response_alone("a_stall_of_a_second_in_thirty_shows_in_the_response", 30);
}
