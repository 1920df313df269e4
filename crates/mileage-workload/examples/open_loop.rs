//! `cargo run -p mileage-workload --example open_loop`: response times of a device that takes 100 us for each operation
//! when operations arrive by a clock, at rates from a tenth of what it can do to more than it can do.
#![expect(clippy::print_stdout, reason = "what the program is for")]

use mileage_workload::{Error, Execution, Load, Open, PatternKind, Spacing, Step, Stop, Workload};

const SERVICE_NS: u64 = 100_000;

/// Mean response time in nanoseconds, from when an operation is due to its completion, of 10,000 Poisson arrivals.
fn response_ns(operations_per_s: u64) -> Result<f64, Error> {
    let workload = Workload {
        pattern: PatternKind::Random,
        span_bytes: 1 << 30,
        load: Load { open: Some(Open { operations_per_s, spacing: Spacing::Poisson, ramp: None }), ..Load::default() },
        stop: Stop { operations: Some(10_000), ..Stop::default() },
        ..Workload::default()
    };
    let (mut execution, mut issued) = (Execution::new(&workload, 0)?, Vec::new());
    let (mut now_ns, mut waited_ns, mut done) = (0, 0, 0_u32);
    let mut due_ns = 0;
    loop {
        match execution.next(now_ns, &mut issued) {
            Step::Issue => due_ns = execution.due_ns().first().copied().unwrap_or(now_ns),
            Step::WaitUntil(until_ns) => now_ns = until_ns,
            Step::AwaitCompletion => {
                now_ns += SERVICE_NS;
                waited_ns += now_ns - due_ns;
                done += 1;
                execution.complete(now_ns);
            }
            Step::Done => return Ok(waited_ns as f64 / f64::from(done)),
        }
    }
}

fn main() -> Result<(), Error> {
    println!("arrivals/s   mean response us");
    for operations_per_s in [1_000, 5_000, 8_000, 9_500, 12_000] {
        println!("{operations_per_s:>10} {:>18.0}", response_ns(operations_per_s)? / 1e3);
    }
    Ok(())
}
