//! One run from the command line: `one_run FILE WORKLOAD_JSON [direct|OPTIONS_JSON]` prints what it leaves behind as
//! JSON. Small enough to be watched by a tracer of system calls; the tests do so.

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
    let handle = start(serde_json::from_str(workload)?, options)?;
    loop {
        if let Some(finished) = handle.wait(Duration::from_millis(50)) {
            writeln!(std::io::stdout(), "{}", serde_json::to_string(&finished?)?)?;
            return Ok(());
        }
    }
}
