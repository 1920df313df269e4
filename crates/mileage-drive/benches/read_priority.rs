//! Speed of flash that serves reads first: random 4 KiB reads of `plain-64gib` at depths 32 and 256, half reads and half
//! writes of a drive in use, with paced collections and interruptions. Requests per second of this thread's CPU time, the
//! median of five runs. Without `--bench` it is one run of a thousandth.

mod measured;

use measured::{rate, rates};
use mileage_drive::{Drive, Profile};

const PLAIN: &str = include_str!("../../../profiles/drives/plain-64gib.toml");

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (requests, runs) = if full { (2_000_000, 5) } else { (1_000, 1) };
    let more = "scheduling = { value = \"read-priority\", source = \"the benchmark\", confidence = \"defined\" }\n\
        suspend = { value = \"erase-and-program\", source = \"the benchmark\", confidence = \"defined\" }\n";
    let kept: Vec<&str> =
        PLAIN.lines().filter(|line| !line.starts_with("gc_pace") && !line.starts_with("suspend")).collect();
    let paced = "gc_pace = { value = \"paced\", source = \"the benchmark\", confidence = \"defined\" }\n";
    let text = [&kept.join("\n"), "\n", more, paced].concat();
    let mut drive = Drive::new(Profile::parse(&text).expect("the profile that ships, with other choices"));
    // What is read has been written, in order and then at random.
    rate(&mut drive, 0, 32, requests / 2);
    for (name, read_percent, depth) in [
        ("random reads, depth 32", 100, 32),
        ("random reads, depth 256", 100, 256),
        ("half reads, half writes, depth 32", 50, 32),
    ] {
        let rates = rates(&mut drive, read_percent, depth, requests, runs);
        println!("{name:<34} {:>6.2} M/s ({:.2} to {:.2})", rates[runs / 2], rates[0], rates[runs - 1]);
    }
}
