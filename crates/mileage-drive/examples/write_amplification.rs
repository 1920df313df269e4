//! `cargo run --release -p mileage-drive --example write_amplification`: a new drive is written at random until it is in
//! steady state; rate and write amplification of each pass through its capacity.
#![expect(clippy::print_stdout, reason = "what the program is for")]

use mileage_drive::{Drive, Immediate, Profile};
use mileage_workload::{PatternKind, Stop, Workload};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut drive = Drive::new(Profile::parse(include_str!("small.toml"))?);
    let capacity_bytes = drive.capacity_bytes();
    println!("pass      MB/s   write amplification");
    for pass in 1..=8 {
        let writes = Workload {
            pattern: PatternKind::Random,
            read_percent: 0,
            span_bytes: capacity_bytes,
            depth: 8,
            stop: Stop { bytes: Some(capacity_bytes), ..Stop::default() },
            seed: pass,
            ..Workload::default()
        };
        let record = drive.run_unobserved(&writes)?;
        let mb_per_s = record.bytes_written as f64 * 1e3 / record.elapsed_ns as f64;
        let amplification = record.counters["flash_bytes_programmed"] as f64 / record.bytes_written as f64;
        println!("{pass:>4} {mb_per_s:>9.1} {amplification:>21.2}");
    }
    Ok(())
}
