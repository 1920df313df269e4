//! `cargo run -p mileage-drive --example saved_state`: a worn drive is saved, and its copy does exactly what it does.
#![expect(clippy::print_stdout, reason = "what the program is for")]

use mileage_drive::{Drive, Immediate, Profile};
use mileage_workload::{PatternKind, Stop, Workload};
use std::error::Error;

const PROFILE: &str = include_str!("small.toml");

fn main() -> Result<(), Box<dyn Error>> {
    let mut drive = Drive::new(Profile::parse(PROFILE)?);
    let mixed = Workload {
        pattern: PatternKind::Random,
        read_percent: 30,
        span_bytes: drive.capacity_bytes(),
        depth: 4,
        stop: Stop { operations: Some(10_000), ..Stop::default() },
        ..Workload::default()
    };
    drive.run_unobserved(&mixed)?;
    let state = drive.save();
    let mut copy = Drive::restored(Profile::parse(PROFILE)?, &state)?;
    let later = Workload { seed: 2, ..mixed };
    let ours = drive.run_unobserved(&later)?;
    let theirs = copy.run_unobserved(&later)?;
    println!("state of {} bytes", state.len());
    println!("same record: {}, same state afterwards: {}", ours == theirs, drive.save() == copy.save());

    let damaged = Drive::restored(Profile::parse(PROFILE)?, &state[1..]);
    println!("a damaged state: {}", damaged.err().map_or_else(|| "accepted".into(), |refused| refused.to_string()));
    Ok(())
}
