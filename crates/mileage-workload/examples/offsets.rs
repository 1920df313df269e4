//! `cargo run -p mileage-workload --example offsets -- stride`: the records that a pattern visits, in their order.
#![expect(clippy::print_stdout, reason = "what the program is for")]

use mileage_workload::{Error, Execution, PatternKind, Step, Stop, Workload};

const RECORDS: u64 = 16;

/// All that a workload on one thread issues, where every operation completes at once.
fn visited(workload: &Workload) -> Result<Vec<u64>, Error> {
    let (mut execution, mut issued) = (Execution::new(workload, 0)?, Vec::new());
    loop {
        match execution.next(0, &mut issued) {
            Step::Done => break,
            Step::AwaitCompletion => execution.complete(0),
            Step::Issue | Step::WaitUntil(_) => {}
        }
    }
    Ok(issued.iter().map(|op| op.offset_bytes / u64::from(workload.record_bytes)).collect())
}

fn main() -> Result<(), Error> {
    let patterns = [
        ("sequential", PatternKind::Sequential),
        ("backward", PatternKind::Backward),
        ("stride", PatternKind::Stride { step_records: 5 }),
        ("shuffled", PatternKind::Shuffled),
        ("random", PatternKind::Random),
        ("zipf", PatternKind::Zipf { theta_hundredths: 99 }),
    ];
    let wanted = std::env::args().nth(1);
    for (name, pattern) in patterns {
        if wanted.as_deref().is_none_or(|wanted| wanted == name) {
            let stop = Stop { operations: Some(RECORDS), ..Stop::default() };
            let workload = Workload { pattern, span_bytes: RECORDS * 4096, stop, seed: 1, ..Workload::default() };
            println!("{name:>10} {:?}", visited(&workload)?);
        }
    }
    Ok(())
}
