//! Optional abilities of chips: to be interrupted for a read, and to copy without the channel.

use super::drive_builder::{PAGE_BYTES, Sketch, Timing, Work};
use super::{Case, Row};
use mileage_drive::{Immediate, RequestKind};

pub(super) fn cases() -> Vec<Case> {
    let suspend = ["none", "erase", "erase-and-program"].map(|what| Case::new(true, move || reads_during_writes(what)));
    suspend.into_iter().chain([Case::new(true, copies)]).collect()
}

/// One plane: a page is written in order every `period`, which erases a block of b before each b-th, and pages are read
/// at instants spread evenly, far apart. A read meets the plane at a program with a probability of program / period, and so
/// on. A read that meets work of duration t at a random instant waits t / 2 for its end on average, or for the
/// interruption where the chip can be interrupted. A read in an erase that is not interrupted also waits for the program behind it.
fn reads_during_writes(what: &str) -> Vec<Row> {
    let (erase_us, program_us, read_us, suspend_us, apart_us) = (3000.0, 200.0, 50.0, 10.0, 4000.0);
    let pages = 8_u64;
    let timing = Timing { read_us, program_us, erase_us, ..Timing::default() };
    let mut sketch = Sketch { timing, ..Sketch::plane(64, pages as u32, 400) };
    if what != "none" {
        sketch = sketch.with("suspend", format!("{what:?}")).with("suspend_us", format!("{suspend_us:?}"));
    }
    let mut work = Work::new(&sketch, 3);
    // Write two laps first: an overwrite in order leaves blocks without valid pages, so that no copies disturb.
    work.write_all((0..2 * 400).map(|page| page % 400));
    let start_ns = work.drive.now_ns() + 1_000_000_000;
    let (mut reads, mut waited_ns, mut longest_ns) = (0_u64, 0.0, 0_f64);
    let alone_ns = 1e3 * read_us + 4.0 + 4.0;
    for index in 0..40_000_u64 {
        let period_ns = (apart_us * 1e3) as u64;
        let at_ns = start_ns + index * period_ns;
        work.submit(RequestKind::Write, index % 400, 1, at_ns);
        // Read once in five periods at a random instant, so that reads do not meet each other; avoid pages written
        // lately, which the buffer may hold.
        if index % 5 == 0 {
            let asked_ns = at_ns + spread(reads, period_ns);
            let page = (index + 200) % 400;
            let done_ns = work.submit(RequestKind::Read, page, 1, asked_ns).unwrap_or(asked_ns);
            let wait_ns = (done_ns - asked_ns) as f64 - alone_ns;
            reads += 1;
            waited_ns += wait_ns;
            longest_ns = longest_ns.max(wait_ns);
        }
    }
    let (b, half) = (pages as f64, |us: f64| us * us / 2.0);
    let (sum, worst_us) = match what {
        "none" => ((b - 1.0) * half(program_us) + half(erase_us + program_us), erase_us + program_us),
        "erase" => (b * half(program_us) + erase_us * suspend_us, program_us),
        _ => ((b * program_us + erase_us) * suspend_us, suspend_us),
    };
    let name = |text: &str| format!("{text} during writes, us, suspend {what}");
    vec![
        Row::within(0.02, name("mean wait of reads"), sum / (b * apart_us), waited_ns / reads as f64 / 1e3),
        Row::within(0.02, name("longest of them"), worst_us, longest_ns / 1e3),
    ]
}

/// The `index`-th of instants that lie evenly in `period_ns`: multiples of the golden section (Kronecker sequence).
fn spread(index: u64, period_ns: u64) -> u64 {
    ((u128::from(index.wrapping_mul(0x9E37_79B9_7F4A_7C15)) * u128::from(period_ns)) >> 64) as u64
}

/// Copies inside a plane and through the controller, where only the channel takes time: a page that is written crosses
/// the channel once, a page that is copied twice, or not at all with copy-back.
fn copies() -> Vec<Row> {
    let logical = 64 * 40;
    let row = |how: &str| {
        let transfer_us = 1000.0;
        let channel_mb_per_s = PAGE_BYTES as f64 / transfer_us;
        let timing =
            Timing { read_us: 0.001, program_us: 0.001, erase_us: 0.001, channel_mb_per_s, ..Timing::default() };
        let sketch = Sketch { timing, ..Sketch::plane(48, 64, logical) }.with("gc_copies", format!("{how:?}"));
        let mut work = Work::new(&sketch, 9);
        work.write_all(0..logical);
        let before = (work.drive.now_ns(), work.counter("gc_pages_moved"));
        let writes = 4 * logical;
        for _ in 0..writes {
            let page = work.draw(logical);
            work.write(page);
        }
        let moved = work.counter("gc_pages_moved") - before.1;
        let transfers = writes as f64 + if how == "copy-back" { 0.0 } else { 2.0 * moved };
        let took_us = (work.drive.now_ns() - before.0) as f64 / 1e3;
        Row::within(1e-4, format!("ms on the channel, copies {how}"), transfers * transfer_us / 1e3, took_us / 1e3)
    };
    vec![row("controller"), row("copy-back")]
}
