//! What a file job costs a driver: nanoseconds of processor time for each call that [`FileExecution`] gives, with the report
//! of its end.
//!
//! `cargo bench -p mileage-workload` measures, the least of 15 rounds; `cargo test --benches` only tries that it runs.

use mileage_workload::{
    FileExecution, FileJob, FilePhase, FileStep, FileWork, Metadata, MetadataOp, OpenFile, OpenHow, Place, SetUp, Stop,
    Workload,
};
use std::hint::black_box;
use std::io::Write;

/// This thread's processor time so far, in nanoseconds.
fn cpu_ns() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default()
}

/// Do all calls of a job of one task; nanoseconds per call.
fn ns_per_call(job: &FileJob) -> f64 {
    let mut execution = FileExecution::new(job.clone()).expect("a valid job");
    let (mut calls, mut now_ns) = (0_u64, 0);
    let began_ns = cpu_ns();
    loop {
        match execution.next(0, now_ns) {
            FileStep::Issue(call) => {
                black_box(&call);
                now_ns += 1;
                execution.complete(0, now_ns, Ok(0)).expect("no call fails");
                calls += 1;
            }
            FileStep::Done => break,
            FileStep::WaitUntil(at_ns) => now_ns = at_ns,
            FileStep::AwaitBarrier => {}
        }
    }
    (cpu_ns() - began_ns) / calls as f64
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (operations, rounds) = if full { (200_000, 15) } else { (100, 1) };
    let stat = Metadata {
        operation: MetadataOp::Stat,
        files: operations,
        threads: 1,
        place: Place::Given,
        set_up: SetUp::Existing,
        keep: true,
        ..Metadata::default()
    };
    let read = Workload {
        read_percent: 100,
        record_bytes: 4096,
        span_bytes: operations * 4096,
        stop: Stop { operations: Some(operations), ..Stop::default() },
        ..Workload::default()
    };
    let open = Some(OpenFile { path: "file".to_owned(), how: OpenHow::default() });
    let records = FileWork::Records { workload: Box::new(read), thread: 0, handle: 16, open, sync: false, close: true };
    let phase = FilePhase { name: "read".to_owned(), timed: true, work: vec![records] };
    let jobs = [
        ("stat of a name", FileJob::of_names("stat", &[(String::new(), stat)], 16).expect("a job")),
        ("read of a record", FileJob { phases: vec![phase] }),
    ];
    for (name, job) in jobs {
        let least = (0..rounds).map(|_| ns_per_call(&job)).fold(f64::INFINITY, f64::min);
        writeln!(std::io::stdout(), "{name:<20} {least:>8.1} ns a call").expect("standard output");
    }
}
