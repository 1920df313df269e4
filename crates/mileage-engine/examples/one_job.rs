//! One job from the command line: `one_job metadata DIRECTORY JSON` or `one_job iozone FILE JSON` prints what it leaves
//! behind as JSON. Small enough to be watched by a tracer of system calls; the tests do so.

use mileage_engine::{Job, MetadataOptions, start_iozone, start_metadata};
use std::io::Write;
use std::time::Duration;

fn print_the_end_of<T: Clone + Send + serde::Serialize + 'static>(
    job: &Job<T>,
) -> Result<(), Box<dyn std::error::Error>> {
    loop {
        if let Some(left) = job.wait(Duration::from_millis(50)) {
            writeln!(std::io::stdout(), "{}", serde_json::to_string(&left?)?)?;
            return Ok(());
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["metadata", directory, json] => {
            print_the_end_of(&start_metadata(serde_json::from_str(json)?, *directory, MetadataOptions::default())?)
        }
        ["iozone", path, json] => print_the_end_of(&start_iozone(serde_json::from_str(json)?, *path)?),
        _ => Err("expected metadata DIRECTORY JSON, or iozone FILE JSON".into()),
    }
}
