//! Speed of arrays: random 4 KiB reads and writes of RAID 0 of eight flash drives, next to the rate that one of them reaches
//! alone in the same way, and reads of sixteen disks. Requests per second of this thread's CPU time, the median of five runs
//! with the slowest and the fastest. Without `--bench` it is one run of a thousandth.

mod measured;

use measured::{rate, rates};
use mileage_drive::{Drive, Profile};

const FLASH: &str = include_str!("../../../profiles/drives/plain-64gib.toml");
const DISK: &str = include_str!("../../../profiles/drives/sas-15k.toml");

/// The text of a RAID 0 of equal members: their text becomes a table of it.
fn raid0(member: &str, count: u32) -> String {
    let figure = |value: &str| format!("{{ value = {value}, source = \"the benchmark\", confidence = \"defined\" }}");
    let own = member.split("[[rate]]").next().unwrap_or(member);
    let nested = |line: &str| match line.strip_prefix('[') {
        Some(table) => format!("[member.profile.{table}"),
        None => line.to_owned(),
    };
    let nested: Vec<String> = own.lines().map(nested).collect();
    format!(
        "name = \"bench\"\ntitle = \"Bench\"\nkind = \"array\"\nlevel = {}\n[[member]]\ncount = {count}\n\
        [member.profile]\n{}\n",
        figure("\"raid0\""),
        nested.join("\n")
    )
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (requests, runs) = if full { (500_000, 5) } else { (500, 1) };
    let drive = |text: &str| Drive::new(Profile::parse(text).expect("a profile that ships, or an array of it"));
    let (mut alone, mut eight, mut disks) = (drive(FLASH), drive(&raid0(FLASH, 8)), drive(&raid0(DISK, 16)));
    // What is read has been written.
    rate(&mut alone, 0, 32, requests / 2);
    rate(&mut eight, 0, 256, requests / 2);
    let line = |name: &str, drive: &mut Drive, read_percent, depth, whole: Option<f64>| {
        let rates = rates(drive, read_percent, depth, requests, runs);
        let (median, low, high) = (rates[runs / 2], rates[0], rates[runs - 1]);
        let share = whole.map_or_else(String::new, |whole| format!(", {:.1} % of it", 100.0 * median / whole));
        println!("{name:<42} {median:>6.2} M/s ({low:.2} to {high:.2}){share}");
        median
    };
    for (what, read_percent) in [("reads", 100), ("writes", 0)] {
        let one = line(&format!("{what} of one flash drive, depth 32"), &mut alone, read_percent, 32, None);
        line(&format!("{what} of eight in raid0, depth 256"), &mut eight, read_percent, 256, Some(one));
    }
    line("reads of sixteen disks in raid0, depth 256", &mut disks, 100, 256, None);
}
