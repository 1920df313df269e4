//! Limits that no drive exceeds: the rates of planes, channels, link and controller, and the depth of the queue.

use super::drive_builder::{Sketch, Timing, Work};
use super::{Case, Row};
use crate::RequestKind::{self, Read, Write};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> =
        (0..4).map(|part| Case::new(true, move || vec![saturated(part, "paced", false)])).collect();
    cases.push(Case::new(false, || vec![saturated(0, "at-once", false), saturated(1, "at-once", false)]));
    cases.push(Case::new(true, || vec![saturated(0, "paced", true), saturated(1, "paced", true)]));
    cases.push(Case::new(true, links));
    cases.push(Case::new(true, queue));
    cases.extend((0..GEOMETRIES.len()).map(|at| Case::new(at == 0, move || random_reads(&GEOMETRIES[at]))));
    cases
}

/// Operations of one kind on `pages` pages each, of `logical` in all, at random or one after the other.
#[derive(Clone, Copy)]
struct Load {
    kind: RequestKind,
    pages: u64,
    logical: u64,
    random: bool,
}

/// Do `count` operations with `depth` outstanding; operations per second, from the first submission to the
/// last completion.
fn closed_loop(work: &mut Work, load: Load, depth: usize, count: u64) -> f64 {
    let Load { kind, pages, logical, random } = load;
    let start_ns = crate::Immediate::now_ns(&work.drive);
    let mut outstanding: BinaryHeap<Reverse<u64>> = (0..depth).map(|_| Reverse(start_ns)).collect();
    let mut last_ns = start_ns;
    for index in 0..count {
        let now_ns = outstanding.pop().map_or(start_ns, |Reverse(ns)| ns);
        let page = if random { work.draw(logical / pages) } else { index % (logical / pages) } * pages;
        let done_ns = work.submit(kind, page, pages, now_ns).unwrap_or(now_ns);
        last_ns = last_ns.max(done_ns);
        outstanding.push(Reverse(done_ns));
    }
    crate::Immediate::advance_to(&mut work.drive, last_ns);
    count as f64 / (last_ns - start_ns) as f64 * 1e9
}

/// Random writes at a depth of 8 for each die, collections paced or at once: with A the amplification that was seen, D dies do
/// D / (A program + (A - 1) read + (A / b) erase), C channels C / ((2 A - 1) transfers), the link its rate over a
/// page, the controller one command after the other. The scarcest of them (`part`) is approached and never exceeded.
/// A controller that `packs` contents of which none compresses is bound by the same.
fn saturated(part: usize, pace: &str, packs: bool) -> Row {
    let (names, dies, channels, pages) = (["dies", "channels", "link", "controller"], 8_u32, 4_u32, 64_u32);
    let mut timing = Timing::default();
    match part {
        1 => timing.channel_mb_per_s = 20.0,
        2 => timing.link_mb_per_s = Some(25.0),
        3 => timing.controller_us = 200.0,
        _ => {}
    }
    // Use enough blocks that the planes differ little in their shares of valid pages.
    let blocks = 1024;
    let logical = u64::from(dies * blocks * pages) * 5 / 6;
    let sketch = Sketch { channels, dies_per_channel: 2, timing, ..Sketch::plane(blocks, pages, logical) };
    let mut sketch = sketch.with("gc_pace", format!("{pace:?}"));
    if packs {
        sketch = sketch.with("compression_unit_bytes", 512);
    }
    let mut work = Work::new(&sketch, 11);
    let depth = 8 * dies as usize;
    work.write_all(0..logical);
    let load = Load { kind: Write, pages: 1, logical, random: true };
    closed_loop(&mut work, load, depth, 3 * logical);
    let mut rate = 0.0;
    let a = work.amplification_of(|work| rate = closed_loop(work, load, depth, 2 * logical));
    let plane_us = a * timing.program_us + (a - 1.0) * timing.read_us + a / f64::from(pages) * timing.erase_us;
    let bounds = [
        f64::from(dies) / plane_us * 1e6,
        f64::from(channels) * timing.channel_mb_per_s * 1e6 / 4096.0 / (2.0 * a - 1.0),
        timing.link_mb_per_s.unwrap_or(f64::INFINITY) * 1e6 / 4096.0,
        if timing.controller_us > 0.0 { 1e6 / timing.controller_us } else { f64::INFINITY },
    ];
    let theory = bounds.into_iter().fold(f64::INFINITY, f64::min);
    // Work that was begun before the measurement, and a block's worth of erases, may fall to either side of it.
    let bound = Some(theory * 1.002);
    let name = format!(
        "random writes/s at depth {depth}, {pace}, bound by the {}{}",
        names[part],
        if packs { ", packed" } else { "" }
    );
    Row { name, theory, simulated: rate, tolerance: 0.05, bound }
}

/// Large reads of a fresh fast drive run at the payload rate of the link.
fn links() -> Vec<Row> {
    let links = [
        ("sata-1", 150.0),
        ("sata-2", 300.0),
        ("sata-3", 600.0),
        ("sas-1", 300.0),
        ("sas-2", 600.0),
        ("sas-3", 1200.0),
        ("pcie-1-x1", 250.0),
        ("pcie-2-x2", 1000.0),
        ("pcie-3-x4", 3940.0),
    ];
    let row = |(link, mb_per_s): (&str, f64)| {
        let timing = Timing { read_us: 1.0, link_mb_per_s: None, queue: 32, ..Timing::default() };
        let sketch = Sketch { channels: 16, timing, ..Sketch::plane(64, 64, 40_000) }.with("link", format!("{link:?}"));
        let mut work = Work::new(&sketch, 5);
        work.write_all(0..40_000);
        let load = Load { kind: Read, pages: 32, logical: 40_000, random: true };
        let rate = closed_loop(&mut work, load, 32, 5000) * 32.0 * 4096.0 / 1e6;
        // A page's time on the link is a whole number of nanoseconds, which at 4 GB/s is half of 1/1000.
        let (name, bound) = (format!("MB/s of reads over {link}"), Some(mb_per_s * 1.0006));
        Row { name, theory: mb_per_s, simulated: rate, tolerance: 0.01, bound }
    };
    links.into_iter().map(row).collect()
}

/// Reads of 400 us each, one after the other on many dies: no more than the queue holds are
/// outstanding, whatever the host's depth.
fn queue() -> Vec<Row> {
    let row = |(link, places): (&str, u32)| {
        let timing = Timing { read_us: 400.0, queue: places, link_mb_per_s: None, ..Timing::default() };
        let sketch = Sketch { channels: 256, dies_per_channel: 8, timing, ..Sketch::plane(8, 16, 100_000) };
        let mut work = Work::new(&sketch.with("link", format!("{link:?}")), 5);
        work.write_all(0..100_000);
        let start_ns = crate::Immediate::now_ns(&work.drive) + 1_000_000_000;
        crate::Immediate::advance_to(&mut work.drive, start_ns);
        // First one read at a time, for the latency, then as many as the queue takes, for the rate.
        let load = Load { kind: Read, pages: 1, logical: 100_000, random: false };
        let alone_s = 1.0 / closed_loop(&mut work, load, 1, 500);
        let rate = closed_loop(&mut work, load, 1024, 50_000);
        let theory = f64::from(places) / alone_s;
        let name = format!("reads/s at depth 1024 over {link} with {places} places");
        Row { name, theory, simulated: rate, tolerance: 0.05, bound: Some(theory * 1.002) }
    };
    [("sata-3", 32), ("sata-3", 8), ("pcie-3-x16", 64)].into_iter().map(row).collect()
}

/// A drive that reads: channels, dies on each, and the times of a page in each station that it passes, in ns.
struct Geometry {
    channels: u32,
    dies_per_channel: u32,
    controller_ns: u64,
    read_ns: u64,
    channel_ns: u64,
    link_ns: u64,
    /// Permitted relative deviation of the drive. Its completions are announced at once and stay, so that gaps too
    /// short for a transfer are lost where many dies share a station that is nearly always busy.
    tolerance: f64,
}

const fn geometry(channels: u32, dies_per_channel: u32, times_ns: [u64; 4], tolerance: f64) -> Geometry {
    let [controller_ns, read_ns, channel_ns, link_ns] = times_ns;
    Geometry { channels, dies_per_channel, controller_ns, read_ns, channel_ns, link_ns, tolerance }
}

/// Bound by the dies, by slow channels with many dies on each, by the controller, by the link, and by the dies again.
const GEOMETRIES: [Geometry; 5] = [
    geometry(8, 4, [1000, 50_000, 5120, 1024], 0.02),
    geometry(8, 8, [500, 50_000, 8192, 512], 0.06),
    geometry(10, 2, [28_400, 25_000, 20_480, 16_384], 0.02),
    geometry(4, 16, [500, 60_000, 2048, 2048], 0.04),
    geometry(4, 8, [1000, 90_000, 10_240, 1024], 0.02),
];
const DEPTHS: [usize; 9] = [1, 4, 8, 16, 32, 64, 128, 256, 1024];
const READS: usize = 20_000;

/// Random reads of a page at every depth against an exact model of the same stations.
fn random_reads(geometry: &Geometry) -> Vec<Row> {
    let Geometry { channels, dies_per_channel, .. } = *geometry;
    let mb_per_s = |page_ns: u64| 4096e3 / page_ns as f64;
    let timing = Timing {
        read_us: geometry.read_ns as f64 / 1e3,
        controller_us: geometry.controller_ns as f64 / 1e3,
        channel_mb_per_s: mb_per_s(geometry.channel_ns),
        link_mb_per_s: Some(mb_per_s(geometry.link_ns)),
        queue: 1024,
        ..Timing::default()
    };
    let row = |depth: &usize| {
        let sketch = Sketch { channels, dies_per_channel, timing, ..Sketch::plane(64, 64, 50_000) };
        let mut work = Work::new(&sketch, 23);
        work.write_all(0..50_000);
        let pages: Vec<u64> = (0..READS).map(|_| work.draw(50_000)).collect();
        let start_ns = crate::Immediate::now_ns(&work.drive) + 1_000_000_000;
        crate::Immediate::advance_to(&mut work.drive, start_ns);
        let mut outstanding: BinaryHeap<Reverse<u64>> = (0..*depth).map(|_| Reverse(start_ns)).collect();
        let mut last_ns = start_ns;
        for page in &pages {
            let now_ns = outstanding.pop().map_or(start_ns, |Reverse(ns)| ns);
            let done_ns = work.submit(Read, *page, 1, now_ns).unwrap_or(now_ns);
            last_ns = last_ns.max(done_ns);
            outstanding.push(Reverse(done_ns));
        }
        let simulated = READS as f64 / (last_ns - start_ns) as f64 * 1e9;
        let theory = READS as f64 / first_come(geometry, &pages, *depth) as f64 * 1e9;
        let name = format!("random reads/s at depth {depth}, {channels} channels of {dies_per_channel} dies");
        Row::within(geometry.tolerance, name, theory, simulated)
    };
    DEPTHS.iter().map(row).collect()
}

/// Completion time of the last of these reads, with `depth` of them outstanding from the instant 0 on: an event
/// simulation in which each station serves first come, first served. Pages lie over the channels first, then over the
/// dies.
fn first_come(geometry: &Geometry, pages: &[u64], depth: usize) -> u64 {
    let Geometry { channels, dies_per_channel, .. } = *geometry;
    let dies = u64::from(channels * dies_per_channel);
    let takes_ns = [geometry.controller_ns, geometry.read_ns, geometry.channel_ns, geometry.link_ns];
    // In the order in which a read passes them: controller and link, then every die, then every channel.
    let mut free_ns = vec![0_u64; 2 + dies as usize + channels as usize];
    let mut events: BinaryHeap<Reverse<(u64, usize, usize)>> =
        (0..depth.min(pages.len())).map(|read| Reverse((0, read, 0))).collect();
    let (mut next, mut last_ns) = (events.len(), 0);
    while let Some(Reverse((now_ns, read, stage))) = events.pop() {
        if stage == takes_ns.len() {
            last_ns = now_ns;
            if next < pages.len() {
                events.push(Reverse((now_ns, next, 0)));
                next += 1;
            }
            continue;
        }
        let die = pages[read] % dies;
        let station = match stage {
            0 => 0,
            1 => 2 + die as usize,
            2 => 2 + dies as usize + (die % u64::from(channels)) as usize,
            _ => 1,
        };
        free_ns[station] = free_ns[station].max(now_ns) + takes_ns[stage];
        events.push(Reverse((free_ns[station], read, stage + 1)));
    }
    last_ns
}
