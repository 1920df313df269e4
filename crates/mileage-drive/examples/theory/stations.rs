//! Random reads against an exact model of the same stations, by both schedulings.

use super::drive_builder::{PAGE_BYTES, Sketch, Timing, Work};
use super::{Case, Row};
use mileage_drive::RequestKind::{self, Read, Write};
use mileage_drive::block_device::{BlockDevice, Decisions, Submission, Tag};
use mileage_drive::{ReadPriorityDrive, Request};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) fn cases() -> Vec<Case> {
    (0..GEOMETRIES.len()).map(|at| Case::new(at == 0, move || random_reads(&GEOMETRIES[at]))).collect()
}

/// A drive that reads: channels, dies on each, and the times of a page in each station that it passes, in ns.
struct Geometry {
    channels: u32,
    dies_per_channel: u32,
    controller_ns: u64,
    read_ns: u64,
    channel_ns: u64,
    link_ns: u64,
    /// How far first-come scheduling may be off. Its completions are announced at once and stay, so that gaps too short
    /// for a transfer are lost where many dies share a station that is nearly always busy.
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
const PAGES: u64 = 50_000;

fn sketch(geometry: &Geometry) -> Sketch {
    let mb_per_s = |page_ns: u64| 4096e3 / page_ns as f64;
    let timing = Timing {
        read_us: geometry.read_ns as f64 / 1e3,
        controller_us: geometry.controller_ns as f64 / 1e3,
        channel_mb_per_s: mb_per_s(geometry.channel_ns),
        link_mb_per_s: Some(mb_per_s(geometry.link_ns)),
        queue: 1024,
        ..Timing::default()
    };
    let Geometry { channels, dies_per_channel, .. } = *geometry;
    Sketch { channels, dies_per_channel, timing, ..Sketch::plane(64, 64, PAGES) }
}

/// Random reads of a page at every depth against an exact model of the same stations.
fn random_reads(geometry: &Geometry) -> Vec<Row> {
    let row = |depth: &usize| {
        let mut work = Work::new(&sketch(geometry), 23);
        let pages: Vec<u64> = (0..READS).map(|_| work.draw(PAGES)).collect();
        let rate = |last_ns: u64| READS as f64 / last_ns as f64 * 1e9;
        let theory = rate(exact(geometry, &pages, *depth));
        let name = format!(
            "random reads/s at depth {depth}, {} channels of {} dies",
            geometry.channels, geometry.dies_per_channel
        );
        let planned = rate(first_come(work, &pages, *depth));
        let served = rate(read_priority(geometry, &pages, *depth));
        [
            Row::within(geometry.tolerance, name.clone(), theory, planned),
            Row::within(1e-6, [&name, ", read priority"].concat(), theory, served),
        ]
    };
    DEPTHS.iter().flat_map(row).collect()
}

/// How long the reads take by first-come scheduling.
fn first_come(mut work: Work, pages: &[u64], depth: usize) -> u64 {
    work.write_all(0..PAGES);
    let start_ns = mileage_drive::Immediate::now_ns(&work.drive) + 1_000_000_000;
    mileage_drive::Immediate::advance_to(&mut work.drive, start_ns);
    let mut outstanding: BinaryHeap<Reverse<u64>> = (0..depth).map(|_| Reverse(start_ns)).collect();
    let mut last_ns = start_ns;
    for page in pages {
        let now_ns = outstanding.pop().map_or(start_ns, |Reverse(ns)| ns);
        let done_ns = work.submit(Read, *page, 1, now_ns).unwrap_or(now_ns);
        last_ns = last_ns.max(done_ns);
        outstanding.push(Reverse(done_ns));
    }
    last_ns - start_ns
}

/// How long the reads take by read priority.
fn read_priority(geometry: &Geometry, pages: &[u64], depth: usize) -> u64 {
    let sketch = sketch(geometry).with("scheduling", "\"read-priority\"");
    let mut drive = ReadPriorityDrive::new(sketch.profile());
    let written = closed_loop(&mut drive, 1, (0..PAGES).map(|page| (Write, page)));
    let start_ns = written + 1_000_000_000;
    if let Err(misuse) = drive.advance_to(start_ns, &mut Decisions::default()) {
        unreachable!("a device that keeps its contract: {misuse}");
    }
    closed_loop(&mut drive, depth, pages.iter().map(|page| (Read, *page))) - start_ns
}

/// Do these operations on pages with `depth` outstanding; when the last of them is complete.
fn closed_loop(
    drive: &mut impl BlockDevice,
    depth: usize,
    operations: impl Iterator<Item = (RequestKind, u64)>,
) -> u64 {
    let (mut out, mut tag, mut last_ns) = (Decisions::default(), 0, drive.now_ns());
    let mut next_ns: BinaryHeap<Reverse<u64>> = (0..depth).map(|_| Reverse(drive.now_ns())).collect();
    let mut operations = operations.peekable();
    loop {
        let event_ns = drive.next_event().map_or(u64::MAX, |event| event.at_ns);
        let place = next_ns.peek().map(|ns| ns.0).filter(|ns| *ns <= event_ns && operations.peek().is_some());
        let outcome = match (place, operations.peek()) {
            (Some(place_ns), Some((kind, page))) => {
                // A completion may be that of the instant that was decided, behind which the clock is by now.
                let submit_ns = place_ns.max(drive.now_ns());
                let (offset_bytes, length_bytes) = (*page * PAGE_BYTES, PAGE_BYTES);
                let request = Request { kind: *kind, fua: false, offset_bytes, length_bytes, submit_ns };
                next_ns.pop();
                operations.next();
                tag += 1;
                drive.advance_to(submit_ns, &mut out).and_then(|()| drive.submit(Submission::new(request, Tag(tag))))
            }
            _ if event_ns == u64::MAX => return last_ns,
            _ => drive.advance_to(event_ns + 1, &mut out),
        };
        if let Err(misuse) = outcome {
            unreachable!("a device that keeps its contract: {misuse}");
        }
        for end in out.completions.drain(..) {
            last_ns = last_ns.max(end.complete_ns);
            next_ns.push(Reverse(end.complete_ns));
        }
    }
}

/// When the last of these reads is complete, with `depth` of them outstanding from the instant 0 on: one event after the
/// other, each station serving what arrived first. Pages lie over the channels first, then over the dies.
fn exact(geometry: &Geometry, pages: &[u64], depth: usize) -> u64 {
    let Geometry { channels, dies_per_channel, .. } = *geometry;
    let dies = u64::from(channels * dies_per_channel);
    let takes_ns = [geometry.controller_ns, geometry.read_ns, geometry.channel_ns, geometry.link_ns];
    // The controller and the link, then every die, then every channel.
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
