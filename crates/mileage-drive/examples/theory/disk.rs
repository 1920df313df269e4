//! Disks: seeks, service times, rates and scheduling against closed forms, and against published gains of command queueing.

use super::splitmix::draw;
use super::{Case, Row};
use mileage_drive::DiskDrive;
use mileage_drive::block_device::{BlockDevice, Decisions, Submission, Tag};
use mileage_drive::device::{Request, RequestKind};
use mileage_drive::profile::DiskProfile;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(true, seeks),
        Case::new(true, service),
        Case::new(true, rates_of_zones),
        Case::new(true, write_through),
        Case::new(true, small_writes),
        Case::new(true, || never_slower(100)),
        Case::new(false, || never_slower(1000)),
        Case::new(true, || gains(&[2, 4, 8, 16, 32])),
        Case::new(true, published_gains),
    ]
}

/// A disk of 7,200 rpm with the seeks of its class, 0.8, 8.5 and 16.5 ms, 4 heads and 16 zones; some figures changed.
pub(super) fn disk(changes: &[(&str, &str)]) -> DiskProfile {
    let cylinders = 80_000;
    let zones: Vec<String> = (0..16).map(|zone| format!("{}:{}", zone * 5_000, 2000 - 64 * zone)).collect();
    let sectors: u64 = (0..16).map(|zone| 5_000 * 4 * (2000 - 64 * zone)).sum();
    let shingled = changes.iter().any(|(key, _)| *key == "band_tracks");
    let mut text = String::from("name = \"check\"\ntitle = \"Check\"\n");
    text += if shingled { "kind = \"smr-disk\"\n" } else { "kind = \"disk\"\n" };
    let figures = [
        ("capacity_bytes", (sectors * 512).to_string()),
        ("physical_sector_bytes", "512".to_owned()),
        ("rpm", "7200".to_owned()),
        ("heads", "4".to_owned()),
        ("cylinders", cylinders.to_string()),
        ("zones", format!("{:?}", zones.join(" "))),
        ("track_skew_us", "900.0".to_owned()),
        ("cylinder_skew_us", "1000.0".to_owned()),
        ("seek_track_us", "800.0".to_owned()),
        ("seek_average_us", "8500.0".to_owned()),
        ("seek_full_us", "16500.0".to_owned()),
        ("seek_knee_cylinders", "20000".to_owned()),
        ("head_switch_us", "800.0".to_owned()),
        ("write_settle_us", "0.0".to_owned()),
        ("command_us", "100.0".to_owned()),
        ("queue_depth_max", "64".to_owned()),
        ("scheduling", "\"fcfs\"".to_owned()),
        ("link_mb_per_s", "300.0".to_owned()),
        ("cache_bytes", "0".to_owned()),
        ("cache_segments", "0".to_owned()),
        ("read_ahead_bytes", "0".to_owned()),
        ("write_cache_bytes", "0".to_owned()),
    ];
    let replaced = |key: &str| changes.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
    let known = |key: &str| figures.iter().any(|(name, _)| *name == key);
    let stated = figures.iter().map(|(key, value)| (*key, replaced(key).unwrap_or_else(|| value.clone())));
    let added = changes.iter().filter(|(key, _)| !known(key)).map(|(key, value)| (*key, (*value).to_owned()));
    for (key, value) in stated.chain(added) {
        text += &[key, " = { value = ", &value, ", source = \"the check\", confidence = \"defined\" }\n"].concat();
    }
    match DiskProfile::parse(&text) {
        Ok(profile) => profile,
        Err(error) => unreachable!("a check's own profile: {error}"),
    }
}

/// First sector, sectors.
type Range = (u64, u64);

/// Keep `depth` requests of one kind outstanding for `count` of them; when each completes, in the order of completion.
pub(super) fn closed_loop(
    device: &mut impl BlockDevice,
    kind: RequestKind,
    depth: u64,
    count: u64,
    range: impl Fn(u64) -> Range,
) -> Vec<u64> {
    let mut ready: BinaryHeap<Reverse<(u64, u64)>> =
        (0..depth.min(count)).map(|tag| Reverse((device.now_ns(), tag))).collect();
    let (mut issued, mut ends, mut out) = (0, Vec::new(), Decisions::default());
    let start_ns = device.now_ns();
    while ends.len() < count as usize {
        let host_ns = ready.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
        if let Some(event) = device.next_event().filter(|event| event.at_ns < host_ns) {
            out.clear();
            let advanced = device.advance_to(event.at_ns + 1, &mut out);
            debug_assert!(advanced.is_ok());
            ready.extend(out.completions.iter().map(|it| Reverse((it.complete_ns, it.tag.0))));
            continue;
        }
        let Some(Reverse((end_ns, tag))) = ready.pop() else { break };
        // The clock may be a nanosecond behind a decision made for this very instant.
        let now_ns = end_ns.max(device.now_ns());
        if now_ns > start_ns || issued >= depth {
            ends.push(now_ns);
        }
        if issued == count {
            continue;
        }
        let advanced = device.advance_to(now_ns, &mut out);
        let (lba, sectors) = range(issued);
        let (offset_bytes, length_bytes) = (lba * 512, sectors * 512);
        let request = Request { kind, fua: false, offset_bytes, length_bytes, submit_ns: now_ns };
        let submitted = device.submit(Submission::new(request, Tag(tag)));
        debug_assert!(advanced.is_ok() && submitted.is_ok());
        issued += 1;
    }
    ends
}

/// Requests of 4 KiB at random over the whole disk.
fn at_random(profile: &DiskProfile, seed: u64) -> impl Fn(u64) -> Range {
    let sectors = profile.basics.capacity_bytes / 512 - 8;
    move |index| (((u128::from(draw(seed, index)) * u128::from(sectors)) >> 64) as u64, 8)
}

/// Requests per second of random 4 KiB reads.
fn random_rate(profile: &DiskProfile, depth: u64, count: u64, seed: u64) -> f64 {
    let mut device = DiskDrive::new(profile.clone());
    let ends = closed_loop(&mut device, RequestKind::Read, depth, count, at_random(profile, seed));
    let (from, to) = (ends.len() / 20, ends.len() - 1);
    (to - from) as f64 / (ends[to] - ends[from]) as f64 * 1e9
}

/// The curve passes through the three seeks of the data sheet.
fn seeks() -> Vec<Row> {
    let seek = disk(&[]).seek;
    let row = |(name, distance, ms): (&str, u32, f64)| {
        Row::within(1e-4, format!("disk: seek over {name}, ms"), ms, seek.ns(distance) as f64 / 1e6)
    };
    [("one cylinder", 1, 0.8), ("a third of the stroke", 26_666, 8.5), ("the whole stroke", 79_999, 16.5)]
        .map(row)
        .into()
}

/// First come, first served, one at a time: overhead, the mean seek over two uniform sectors of the zoned disk (integrated over
/// 800 rings), half a revolution, transfer.
fn service() -> Vec<Row> {
    let profile = disk(&[]);
    let rings: Vec<(f64, f64)> =
        (0..800).map(|ring| (f64::from(100 * ring + 50), f64::from(2000 - 64 * (ring / 50)))).collect();
    let total: f64 = rings.iter().map(|ring| ring.1).sum();
    let mut seek_ms = 0.0;
    for a in &rings {
        for b in &rings {
            seek_ms += a.1 * b.1 / total / total * profile.seek.ns((a.0 - b.0).abs() as u32) as f64 / 1e6;
        }
    }
    let revolution_ms = profile.revolution_ns as f64 / 1e6;
    let transfer_ms: f64 = rings.iter().map(|ring| ring.1 / total * 8.0 / ring.1 * revolution_ms).sum();
    let theory = 0.1 + seek_ms + revolution_ms / 2.0 + transfer_ms + 512.0 / 300e3;
    let simulated = 1e3 / random_rate(&profile, 1, 60_000, 1);
    vec![Row::within(0.005, "disk: ms of a random 4 KiB read, depth 1, fcfs", theory, simulated)]
}

/// In order, a zone gives a cylinder in as many revolutions as it has heads, and the skews.
fn rates_of_zones() -> Vec<Row> {
    let profile = disk(&[("command_us", "0.0"), ("link_mb_per_s", "10000.0")]);
    let rate = |zone: u64, kind| {
        let first: u64 = (0..zone).map(|zone| 5_000 * 4 * (2000 - 64 * zone)).sum();
        let cylinder = 4 * (2000 - 64 * zone);
        let mut device = DiskDrive::new(profile.clone());
        let ends = closed_loop(&mut device, kind, 4, 200, |index| (first + index * cylinder, cylinder));
        (ends.len() - 1) as f64 * cylinder as f64 * 512.0 / (ends[ends.len() - 1] - ends[0]) as f64 * 1e3
    };
    let cylinder_us = 4.0 * profile.revolution_ns as f64 / 1e3 + 3.0 * 900.0 + 1000.0;
    let theory = |zone: u64| 4.0 * (2000 - 64 * zone) as f64 * 512.0 / cylinder_us;
    let mut rows: Vec<Row> = [0, 7, 15]
        .map(|zone| {
            let name = format!("disk: MB/s of reads in order, zone {zone} of 16");
            Row::within(0.001, name, theory(zone), rate(zone, RequestKind::Read))
        })
        .into();
    let written = rate(3, RequestKind::Write);
    rows.push(Row::within(0.001, "disk: MB/s of queued writes in order, zone 3 of 16", theory(3), written));
    let ratio = rate(0, RequestKind::Read) / rate(15, RequestKind::Read);
    rows.push(Row::within(0.001, "disk: rate of the outer zone over that of the inner one", 2000.0 / 1040.0, ratio));
    rows
}

/// Without a write cache a write that is repeated passes every `ceil((transfer + turn-round) / revolution)` revolutions; one
/// that follows it waits a revolution less the turn-round.
fn write_through() -> Vec<Row> {
    let profile = disk(&[]);
    let revolution = profile.revolution_ns as f64;
    let period = |step: u64, sectors: u64| {
        let mut device = DiskDrive::new(profile.clone());
        let ends = closed_loop(&mut device, RequestKind::Write, 1, 12, |index| (index * step, sectors));
        (ends[11] - ends[1]) as f64 / 10.0 / revolution
    };
    let row = |sectors: u64| {
        let turn_ns = f64::max(100e3, sectors as f64 * 512e3 / 300.0);
        let theory = ((sectors as f64 / 2000.0 * revolution + turn_ns) / revolution).ceil();
        Row::within(
            1e-6,
            format!("disk: revolutions of {sectors} sectors written through again and again"),
            theory,
            period(0, sectors),
        )
    };
    let mut rows: Vec<Row> = [8, 1000, 1500].map(row).into();
    let theory = 1.0 + 128.0 / 2000.0;
    rows.push(Row::within(1e-6, "disk: revolutions of 64 KiB written through in order", theory, period(128, 128)));
    rows
}

/// A sector of 512 bytes in one of 4 KiB is read, and written a revolution later.
fn small_writes() -> Vec<Row> {
    let profile = disk(&[("physical_sector_bytes", "4096"), ("command_us", "0.0"), ("link_mb_per_s", "10000.0")]);
    let time = |lba: u64, sectors: u64| {
        let mut device = DiskDrive::new(profile.clone());
        closed_loop(&mut device, RequestKind::Write, 1, 1, |_| (lba, sectors))[0] as f64
    };
    let revolution = profile.revolution_ns as f64;
    let row = |name: &str, revolutions: f64, lba, sectors, whole: Range| {
        let name = format!("disk: revolutions that {name} costs");
        Row::exact(name, revolutions, (time(lba, sectors) - time(whole.0, whole.1)) / revolution)
    };
    vec![
        row("a sector of 512 in one of 4096 bytes", 1.0, 803, 1, (800, 8)),
        row("a range with both ends in sectors of 4096 bytes", 1.0, 803, 16, (800, 24)),
        row("the same over two tracks", 2.0, 1997, 10, (1992, 16)),
    ]
}

/// With `depth` commands waiting whenever the arm is free, which takes one more outstanding, shortest positioning first is never slower than first come, first served.
fn never_slower(trials: u64) -> Vec<Row> {
    let (sptf, fcfs) = (disk(&[("scheduling", "\"sptf\"")]), disk(&[]));
    let time = |profile: &DiskProfile, depth: u64, seed: u64| {
        let mut device = DiskDrive::new(profile.clone());
        // Keep the queue full until the hundredth completion, so that the depth is constant while it is measured.
        closed_loop(&mut device, RequestKind::Read, depth + 1, 101 + depth, at_random(profile, seed))[99]
    };
    let slower = |depth: u64| (0..trials).filter(|seed| time(&sptf, depth, *seed) > time(&fcfs, depth, *seed)).count();
    let row = |depth| {
        Row::exact(
            format!("disk: of {trials} trials slower with sptf than fcfs, depth {depth}"),
            0.0,
            slower(depth) as f64,
        )
    };
    [2, 8, 32].map(row).into()
}

/// Gain of ideal SPTF over FCFS at each queue depth, from a simulation that shares no code with this one (7,200 rpm,
/// seeks of 0.8, 8.5 and 16.5 ms, queue kept full).
const GAINS: [(u64, f64); 5] = [(2, 1.20), (4, 1.42), (8, 1.69), (16, 2.02), (32, 2.42)];

fn gains(depths: &[u64]) -> Vec<Row> {
    let (sptf, fcfs) = (disk(&[("scheduling", "\"sptf\"")]), disk(&[]));
    let alone = random_rate(&fcfs, 1, 20_000, 3);
    let row = |(depth, theory): (u64, f64)| {
        let gain = random_rate(&sptf, depth + 1, 20_000, 3) / alone;
        Row::within(0.05, format!("disk: gain of ideal sptf at depth {depth}"), theory, gain)
    };
    GAINS.into_iter().filter(|(depth, _)| depths.contains(depth)).map(row).collect()
}

/// Two published gains of reordering: reads of a SATA disk of 7,200 rpm by 32 threads, about half as fast again (ilsistemista.net,
/// article 41, page 4); and "nearly four times" the throughput of FCFS with very long queues (Seltzer, Chen and Ousterhout,
/// "Disk Scheduling Revisited", 1990; a disk of 3,600 rpm, its figures from memory, 1,000 requests of 8 KiB waiting).
fn published_gains() -> Vec<Row> {
    let ncq = [("scheduling", "\"sptf\""), ("scheduling_error_us", NCQ_2008_ERROR_US)];
    let gain = |scheduled: &DiskProfile, plain: &DiskProfile, depth| {
        random_rate(scheduled, depth, 20_000, 3) / random_rate(plain, 1, 20_000, 3)
    };
    let threads = gain(&disk(&ncq), &disk(&[]), 32);
    let eagle = |scheduling| {
        disk(&[
            ("rpm", "3600"),
            ("heads", "20"),
            ("cylinders", "842"),
            ("zones", "\"0:67\""),
            ("capacity_bytes", "577679360"),
            ("seek_track_us", "5470.0"),
            ("seek_average_us", "19160.0"),
            ("seek_full_us", "34860.0"),
            ("seek_knee_cylinders", "239"),
            ("scheduling", scheduling),
            ("queue_depth_max", "1001"),
        ])
    };
    let long = gain(&eagle("\"sptf\""), &eagle("\"fcfs\""), 1001);
    vec![
        Row::within(0.05, "disk: gain of ncq-2008 at depth 32, published about", 1.5, threads),
        Row::within(0.15, "disk: gain of sptf with 1,000 waiting, published nearly", 4.0, long),
    ]
}

/// The error with which SPTF gains what disks of 2008 gained; fitted to the first of the published gains.
const NCQ_2008_ERROR_US: &str = "47000.0";
