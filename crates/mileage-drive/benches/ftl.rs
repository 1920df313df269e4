//! Speed and write amplification of uniform random 4 KiB overwrites on the plain drive, against theory.
//!
//! `cargo bench -p mileage-drive` uses 64 GiB of flash (0.2 GB of memory, some minutes): a sequential fill in 128 KiB,
//! two random overwrites to settle, five overwrites measured, of which the median rate is shown. The lines below are the
//! same with mechanisms on whose amplification no formula gives, all of the page map's first, then those of caches,
//! chips, errors, faults and contents each alone. Without `--bench` it is 1 GiB and one overwrite. Words that follow
//! `--` choose lines by their names, `plain` the first ones.
//! Rates are host pages per second of this thread's CPU time, timing, counters and histograms on.

#[path = "../examples/theory/formulas.rs"]
#[expect(dead_code, reason = "the example `theory` uses all of them")]
mod formulas;

use mileage_drive::{Drive, FlashProfile, Immediate};
use mileage_workload::{Content, PatternKind, Stop, Sync, Workload};
use std::fmt::Write;

const PLAIN: &str = include_str!("../../../profiles/drives/plain-64gib.toml");

/// This thread's CPU time so far, in seconds.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures the host")]
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()) {
        Some(ns) => ns / 1e9,
        None => std::time::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_secs_f64()),
    }
}

/// Memory that this process holds now, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn workload(pattern: PatternKind, seed: u64, span_bytes: u64, passes: u64) -> Workload {
    let stop = Stop { bytes: Some(passes * span_bytes), ..Stop::default() };
    Workload {
        pattern,
        read_percent: 0,
        record_bytes: 4096,
        span_start_bytes: 0,
        span_bytes,
        depth: 32,
        threads: 1,
        stop,
        seed,
        content: Content::Incompressible,
        sync: Sync::None,
        sync_timed: false,
        ..Workload::default()
    }
}

/// Every optional mechanism of a page map.
const EVERYTHING: &str = r#"
gc_pace = { value = "paced", source = "everything on", confidence = "defined" }
gc_victim = { value = "cost-benefit", source = "everything on", confidence = "defined" }
gc_free_blocks_min = { value = 2, source = "everything on", confidence = "defined" }
gc_idle_free_blocks = { value = 8, source = "everything on", confidence = "defined" }
gc_idle_after_us = { value = 1000, source = "everything on", confidence = "defined" }
frontiers = { value = "hot-cold", source = "everything on", confidence = "defined" }
allocation = { value = "die-first", source = "everything on", confidence = "defined" }
levelling = { value = "static", source = "everything on", confidence = "defined" }
levelling_gap = { value = 32, source = "everything on", confidence = "defined" }
cell = { value = "slc", source = "everything on", confidence = "defined" }
end_of_life = { value = "read-only-then-dead", source = "everything on", confidence = "defined" }
replacement_blocks = { value = 1, source = "everything on", confidence = "defined" }
pe_spread_percent = { value = 5, source = "everything on", confidence = "defined" }
"#;

/// A cache of one-bit cells that every page passes.
const CACHE: &str = r#"
cell = { value = "tlc", source = "everything cached", confidence = "defined" }
slc_cache_bytes = { value = 16_000_000, source = "everything cached", confidence = "defined" }
slc_design = { value = "through", source = "everything cached", confidence = "defined" }
slc_read_us = { value = 20, source = "everything cached", confidence = "defined" }
slc_program_us = { value = 100, source = "everything cached", confidence = "defined" }
"#;

/// A volatile write buffer that combines rewrites and serves reads.
const BUFFER: &str = r#"
write_buffer_power = { value = "volatile", source = "buffer on", confidence = "defined" }
write_combining = { value = "rewrites", source = "buffer on", confidence = "defined" }
write_buffer_reads = { value = "buffer", source = "buffer on", confidence = "defined" }
"#;

/// Cells that err more with every erase and every year.
const ERRORS: &str = r#"
cell = { value = "mlc", source = "errors on", confidence = "defined" }
bit_error_rate = { value = 1e-5, source = "errors on", confidence = "defined" }
bit_error_rate_worn = { value = 1e-3, source = "errors on", confidence = "defined" }
bit_error_growth_per_year = { value = 1.0, source = "errors on", confidence = "defined" }
ecc_codeword_bytes = { value = 1024, source = "errors on", confidence = "defined" }
ecc_correctable_bits = { value = 24, source = "errors on", confidence = "defined" }
"#;

/// Reads interrupt erases and programs.
const SUSPEND: &str = r#"
suspend = { value = "erase-and-program", source = "suspend on", confidence = "defined" }
suspend_us = { value = 20.0, source = "suspend on", confidence = "defined" }
"#;

const COPY_BACK: &str = r#"
gc_copies = { value = "copy-back", source = "copy-back on", confidence = "defined" }
"#;

/// Stalls of a hundredth of the time.
const STALLS: &str = r#"
stall_s = { value = 0.1, source = "stalls on", confidence = "defined" }
stall_every_s = { value = 10.0, source = "stalls on", confidence = "defined" }
fault_seed = { value = 1, source = "stalls on", confidence = "defined" }
"#;

/// The content of every page is kept track of: compressed, and looked for among all others.
const CONTENT: &str = r#"
compression_unit_bytes = { value = 512, source = "content tracked", confidence = "defined" }
dedupe_contents = { value = 16_777_216, source = "content tracked", confidence = "defined" }
"#;

/// The plain drive with this over-provisioning, its flash cut by `divisor`.
fn plain(over_provisioning: f64, divisor: u64, more: &str) -> FlashProfile {
    let raw_bytes = (64_u64 << 30) / divisor;
    let capacity_bytes = (raw_bytes as f64 / (1.0 + over_provisioning)) as u64 / 4096 * 4096;
    let text = PLAIN
        .replace("59_756_064_768", &capacity_bytes.to_string())
        .replace("value = 2048", &format!("value = {}", 2048 / divisor));
    let buffered = text.replace("write_buffer_pages = { value = 0", "write_buffer_pages = { value = 4096");
    let text = if more == BUFFER { buffered } else { text };
    // What is added replaces what the plain drive assumes.
    let key = |line: &str| line.split(" =").next().unwrap_or("").to_owned();
    let added: Vec<String> = more.lines().map(key).collect();
    let kept = text.lines().filter(|line| line.is_empty() || !added.contains(&key(line)));
    let text = kept.flat_map(|line| [line, "\n"]).collect::<String>() + more;
    FlashProfile::parse(&text).expect("the plain drive is valid")
}

/// One line; `more` is a name and the figures that are added.
fn measure(over_provisioning: f64, divisor: u64, (name, more): (&str, &str)) -> String {
    let profile = plain(over_provisioning, divisor, more);
    let capacity = profile.basics.capacity_bytes;
    let raw_bytes = profile.raw_bytes();
    let predicted = formulas::of_drive(&profile);
    let mut drive = Drive::new(profile);
    let mut go = |workload: &Workload| {
        let start_s = cpu_s();
        let record = drive.run_unobserved(workload).expect("the span is the drive");
        (record, cpu_s() - start_s)
    };
    let mut fill = workload(PatternKind::Sequential, 1, capacity / (128 << 10) * (128 << 10), 1);
    fill.record_bytes = 128 << 10;
    let (filled, fill_s) = go(&fill);
    go(&workload(PatternKind::Random, 2, capacity, 2));
    let passes = if divisor == 1 { 5 } else { 1 };
    let runs: Vec<_> = (0..passes).map(|pass| go(&workload(PatternKind::Random, 3 + pass, capacity, 1))).collect();
    let mut rates: Vec<f64> = runs.iter().map(|(record, seconds)| record.ops_written as f64 / seconds / 1e6).collect();
    rates.sort_by(f64::total_cmp);
    let sum = |name: &str| runs.iter().map(|(record, _)| record.counters[name] as f64).sum::<f64>();
    let obtained = sum("flash_pages_programmed") / sum("host_pages_written");
    let mut line = String::new();
    let _ = write!(line, "{:>4.0} %  {obtained:>7.4} ", 100.0 * over_provisioning);
    if more.is_empty() {
        let _ = write!(line, "{predicted:>7.4} {:>+6.2} %", 100.0 * (obtained / predicted - 1.0));
    } else {
        let _ = write!(line, "{name:>16}");
    }
    let _ = write!(
        line,
        "  {:>6.2} M/s ({:.2} to {:.2})  fill {:>5.1} GB/s",
        rates[rates.len() / 2],
        rates[0],
        rates[rates.len() - 1],
        filled.bytes_written as f64 / fill_s / 1e9,
    );
    let bytes_per_kib = resident_kib() as f64 * 1024.0 / (raw_bytes / 1024) as f64;
    let _ = write!(line, "  {bytes_per_kib:.2} B/KiB");
    let start_s = cpu_s();
    let state = drive.save();
    let saved_s = cpu_s() - start_s;
    let start_s = cpu_s();
    let restored = drive.restore(&state);
    let _ =
        write!(line, "  save {saved_s:.3} s {:.1} MB, restore {:.3} s", state.len() as f64 / 1e6, cpu_s() - start_s);
    restored.expect("a state that was just saved");
    line
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn main() {
    let divisor = if std::env::args().any(|argument| argument == "--bench") { 1 } else { 64 };
    println!("  OP        WA  theory    diff     host writes");
    // A small drive has no room for the reserves of every mechanism at once unless much is spare.
    let roomy: &[f64] = if divisor == 1 { &[0.07, 0.15, 0.28] } else { &[0.28] };
    let plainly = [0.07, 0.15, 0.28].as_slice();
    let lines = [
        (("plain", ""), plainly),
        (("all on", EVERYTHING), roomy),
        (("SLC cache", CACHE), roomy),
        (("write buffer", BUFFER), roomy),
        (("errors", ERRORS), &[0.28]),
        (("suspend", SUSPEND), &[0.28]),
        (("copy-back", COPY_BACK), &[0.28]),
        (("stalls", STALLS), &[0.28]),
        (("content tracked", CONTENT), &[0.28]),
    ];
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for (more, spares) in lines {
        if !asked.is_empty() && !asked.iter().any(|word| more.0.contains(word.as_str())) {
            continue;
        }
        for &over_provisioning in spares {
            println!("{}", measure(over_provisioning, divisor, more));
        }
    }
}
