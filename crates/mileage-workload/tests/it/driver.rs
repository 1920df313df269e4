//! A driver of the execution contract: a device in virtual time whose service time depends on the operation.

use mileage_workload::conformance::Log;
use mileage_workload::{Completion, Execution, Op, Step, Workload};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Everything a workload does on a device that takes `latency_ns` of each operation, all threads beginning at
/// `start_ns`.
pub fn simulate_from(start_ns: u64, workload: &Workload, latency_ns: impl Fn(&Op) -> u64) -> Log {
    simulate_asking(Execution::next, start_ns, workload, latency_ns)
}

/// The same where `next` asks what to do at a time, appending operations.
pub fn simulate_asking(
    mut next: impl FnMut(&mut Execution, u64, &mut Vec<Op>) -> Step,
    start_ns: u64,
    workload: &Workload,
    latency_ns: impl Fn(&Op) -> u64,
) -> Log {
    let mut log = Log::default();
    for thread in 0..workload.threads {
        let mut execution = Execution::new(workload, thread).unwrap();
        let (mut now_ns, mut out, mut waiting) = (start_ns, Vec::new(), BinaryHeap::new());
        loop {
            let will_count = execution.will_count(now_ns);
            let step = next(&mut execution, now_ns, &mut out);
            assert_eq!(execution.counted(), will_count, "said before and after one call");
            let first_done_ns = waiting.peek().map(|Reverse(at_ns)| *at_ns);
            match (step, first_done_ns) {
                (Step::Done, _) => break,
                (Step::Issue, _) => {
                    for (index, op) in out.drain(..).enumerate() {
                        let complete_ns = now_ns + latency_ns(&op);
                        let due_ns = execution.due_ns().get(index).copied().unwrap_or(now_ns);
                        let counted = execution.counted();
                        log.0.push(Completion { thread, op, due_ns, submit_ns: now_ns, complete_ns, counted });
                        waiting.push(Reverse(complete_ns));
                    }
                }
                (Step::WaitUntil(until_ns), None) => now_ns = until_ns,
                (Step::WaitUntil(until_ns), Some(done_ns)) if until_ns < done_ns => now_ns = until_ns,
                (Step::AwaitCompletion | Step::WaitUntil(_), _) => {
                    now_ns = waiting.pop().expect("something is outstanding").0;
                    execution.complete(now_ns);
                }
            }
        }
    }
    log
}

pub fn simulate(workload: &Workload, latency_ns: impl Fn(&Op) -> u64) -> Log {
    simulate_from(0, workload, latency_ns)
}

/// Some microseconds, by the operation.
pub fn uneven(op: &Op) -> u64 {
    1_000 + op.offset_bytes % 7_919
}

/// Numbers of the records in the order of their submission, one thread after the other.
pub fn offsets(workload: &Workload) -> Vec<u64> {
    simulate(workload, |_| 0).0.iter().map(|done| done.op.offset_bytes / u64::from(workload.record_bytes)).collect()
}

pub fn seed() -> u64 {
    let seed = std::env::var("MILEAGE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_100_101);
    eprintln!("MILEAGE_SEED={seed}");
    seed
}
