//! One run from the command line: `one_run FILE WORKLOAD_JSON [direct|OPTIONS_JSON]` prints what it leaves behind as
//! JSON, and beside it the processor time of this whole process. Small enough to be watched by a tracer of system calls; the tests do so.

use mileage_engine::{Options, start};
use std::io::Write;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, workload, rest @ ..] = arguments.as_slice() else {
        return Err("expected FILE WORKLOAD_JSON [direct|OPTIONS_JSON]".into());
    };
    let options = match rest {
        [] => Options { audit: true, ..Options::new(path) },
        [word] if word == "direct" => Options { direct: true, audit: true, ..Options::new(path) },
        [json, ..] => Options { path: path.into(), ..serde_json::from_str(json)? },
    };
    let workload = serde_json::from_str(workload)?;
    let before_ns = processor_ns();
    let handle = start(workload, options)?;
    loop {
        if let Some(finished) = handle.wait(Duration::from_millis(50)) {
            let mut left = serde_json::to_value(&finished?)?;
            left["processor_ns"] = (processor_ns() - before_ns).into();
            writeln!(std::io::stdout(), "{left}")?;
            return Ok(());
        }
    }
}

/// Processor time of all threads of this process, kernel threads that work for them included, in nanoseconds.
fn processor_ns() -> u64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}
