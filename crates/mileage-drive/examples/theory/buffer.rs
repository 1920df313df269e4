//! The write buffer: how long it hides the flash, what it absorbs, and what safety costs.

use super::drive_builder::{PAGE_BYTES, Sketch, Timing, Work};
use super::{Case, Row};
use mileage_drive::{Immediate, ManagedImmediate, Request, RequestKind};

/// Largest difference between the arithmetic of fluids and pages that are counted one by one.
const TOLERANCE: f64 = 0.02;

pub(super) fn cases() -> Vec<Case> {
    vec![Case::new(true, burst), Case::new(true, absorbed), Case::new(true, safety)]
}

/// Write pages in order, one at a time, into a drive that is new: at the rate of the link as long as the buffer has
/// room. With K places, a page each l at the link and each f at the flash, that ends after K / (1 - l / f) pages;
/// behind it pages are accepted as the flash makes room.
fn burst() -> Vec<Row> {
    let (places, link_mb_per_s, dies) = (2000.0, 400.0, 4_u32);
    let timing = Timing { link_mb_per_s: Some(link_mb_per_s), ..Timing::default() };
    let sketch = Sketch { channels: dies, timing, ..Sketch::plane(256, 64, 40_000) };
    let mut work = Work::new(&sketch.with("write_buffer_pages", places), 1);
    let page_us = PAGE_BYTES as f64 / link_mb_per_s;
    let flash_us = timing.program_us / f64::from(dies);
    let mut acknowledged_ns = vec![0];
    for page in 0..12_000 {
        work.write(page);
        acknowledged_ns.push(work.drive.now_ns());
    }
    let slower = |pair: &[u64]| (pair[1] - pair[0]) as f64 > 1500.0 * page_us;
    let full = acknowledged_ns.windows(2).position(slower).unwrap_or(acknowledged_ns.len() - 1);
    let (last, rate) =
        (acknowledged_ns.len() - 1, |pages: usize, ns: u64| pages as f64 * PAGE_BYTES as f64 * 1e3 / ns as f64);
    let sustained = rate(last - full, acknowledged_ns[last] - acknowledged_ns[full]);
    vec![
        Row::within(
            TOLERANCE,
            "MB/s into a write buffer that has room",
            link_mb_per_s,
            rate(full, acknowledged_ns[full]),
        ),
        Row::within(
            TOLERANCE,
            "pages until a buffer of 2000 is full",
            places / (1.0 - page_us / flash_us),
            full as f64,
        ),
        Row::within(TOLERANCE, "MB/s behind a full write buffer", PAGE_BYTES as f64 / flash_us, sustained),
    ]
}

/// A full buffer of K of the U pages that are overwritten at random absorbs a share of K / U.
fn absorbed() -> Vec<Row> {
    let logical = 5000;
    let row = |places: u64| {
        let sketch = Sketch::plane(160, 64, logical).with("write_combining", "\"rewrites\"");
        let mut work = Work::new(&sketch.with("write_buffer_pages", places), places);
        work.write_all(0..logical);
        let counters = |work: &Work| [work.counter("buffer_pages_combined"), work.counter("host_pages_written")];
        let before = counters(&work);
        for _ in 0..400_000 {
            let page = work.draw(logical);
            work.write(page);
        }
        let after = counters(&work);
        let name = format!("share of writes that a buffer of {places} of {logical} pages absorbs");
        let simulated = (after[0] - before[0]) / (after[1] - before[1]);
        Row::within(TOLERANCE, name, places as f64 / logical as f64, simulated)
    };
    [250, 500, 1000].into_iter().map(row).collect()
}

/// The way in which the host makes its writes durable.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    Nothing,
    Flush,
    Fua,
}

/// Rate of durable writes, and acknowledged writes lost when the power fails at the end: one write at a time, made
/// durable by a flush, by FUA or not at all. On one die, a write takes its way over link and channel and a program,
/// and a flush its own time behind that; where nobody waits for the flash its programs alone count, and the buffer is
/// lost full.
fn safety() -> Vec<Row> {
    let (places, link_us, channel_us, program_us) = (64.0, 10.0, 20.0, 2500.0 / 3.0);
    let way_us = link_us + channel_us + program_us;
    let flush_us = 20_000.0 - way_us;
    let (off, volatile, protected) = (None, Some("volatile"), Some("protected"));
    let mut rows = Vec::new();
    for (power, honoured, asks, takes_us, lost) in [
        (off, true, Asks::Nothing, way_us, 0.0),
        (off, true, Asks::Flush, way_us + flush_us, 0.0),
        (volatile, true, Asks::Nothing, program_us, places),
        (volatile, true, Asks::Flush, way_us + flush_us, 0.0),
        (volatile, true, Asks::Fua, way_us, 0.0),
        (volatile, false, Asks::Flush, program_us, places),
        (protected, true, Asks::Nothing, program_us, 0.0),
        (protected, true, Asks::Flush, way_us + flush_us, 0.0),
        (protected, false, Asks::Flush, program_us, 0.0),
    ] {
        let (mb_per_s, page) = (|us: f64| PAGE_BYTES as f64 / us, PAGE_BYTES as f64);
        let (channel_mb_per_s, link_mb_per_s) = (mb_per_s(channel_us), Some(page / link_us));
        let timing = Timing { program_us, channel_mb_per_s, link_mb_per_s, ..Timing::default() };
        let mut sketch = Sketch { timing, ..Sketch::plane(160, 64, 5000) };
        if let Some(power) = power {
            sketch = sketch.with("write_buffer_pages", places).with("write_buffer_power", format!("{power:?}"));
        }
        sketch = if honoured {
            sketch.with("flush_us", format!("{flush_us:?}"))
        } else {
            sketch.with("write_buffer_flush", "\"ignored\"")
        };
        let (per_s, gone) = one_safe_write_after_the_other(&sketch, asks);
        let cache = match power {
            None => "no buffer".to_owned(),
            Some(power) => format!("{power} buffer"),
        };
        let how = match (asks, honoured) {
            (Asks::Nothing, _) => "no flush",
            (Asks::Flush, true) => "flush after each",
            (Asks::Flush, false) => "flush ignored",
            (Asks::Fua, _) => "FUA",
        };
        rows.push(Row::within(TOLERANCE, format!("sync writes/s, {cache}, {how}"), 1e6 / takes_us, per_s));
        rows.push(Row::exact(format!("acknowledged writes lost, {cache}, {how}"), lost, gone));
    }
    rows
}

/// Writes per second, and those lost.
fn one_safe_write_after_the_other(sketch: &Sketch, asks: Asks) -> (f64, f64) {
    let (mut work, mut out, count) = (Work::new(sketch, 1), Vec::new(), 4000);
    let (mut now_ns, mut measured_from_ns) = (0, 0);
    for index in 0..count {
        // Discard the first writes, which the buffer takes faster than the rate that lasts.
        if index == count / 2 {
            measured_from_ns = now_ns;
        }
        let (fua, offset_bytes) = (asks == Asks::Fua, index * PAGE_BYTES);
        let write =
            Request { kind: RequestKind::Write, fua, offset_bytes, length_bytes: PAGE_BYTES, submit_ns: now_ns };
        work.drive.submit(&[write], &mut out);
        now_ns = out.last().map_or(now_ns, |done| done.complete_ns);
        if asks == Asks::Flush {
            now_ns = work.submit(RequestKind::Flush, 0, 0, now_ns).unwrap_or(now_ns);
        }
    }
    let lost = work.drive.power_cut(now_ns).map_or(f64::NAN, |lost| lost.len() as f64);
    (count as f64 / 2.0 / (now_ns - measured_from_ns) as f64 * 1e9, lost)
}
