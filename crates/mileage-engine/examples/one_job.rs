//! One job from the command line: `one_job metadata DIRECTORY JSON` prints what it leaves behind as JSON. Small enough
//! to be watched by a tracer of system calls; the tests do so.

use mileage_engine::start_metadata;
use std::io::Write;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path, json] = arguments.as_slice() else {
        return Err("expected metadata DIRECTORY JSON".into());
    };
    if kind != "metadata" {
        return Err(format!("{kind}: expected metadata").into());
    }
    let job = start_metadata(serde_json::from_str(json)?, path)?;
    loop {
        if let Some(record) = job.wait(Duration::from_millis(50)) {
            writeln!(std::io::stdout(), "{}", serde_json::to_string(&record?)?)?;
            return Ok(());
        }
    }
}
