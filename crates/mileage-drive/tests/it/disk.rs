//! Disks against a simulation by brute force, against the contract, and against what their figures mean.

use crate::disk_reference::{Ask, Reference, Toy, Work};
use crate::drives::cases;
use crate::random_drives::Draw;
use mileage_drive::profile::{DiskProfile, Faults, Lost, Stall};
use mileage_drive::{
    BlockDevice, Decisions, DiskDrive, DisturbedDevice, Drive, Immediate, ManagedImmediate, Request, RequestKind,
    SingleHost, Submission, Tag, conformance, run_general,
};
use mileage_workload::{Completion, Observer, PatternKind, Stop, Workload};

/// The profile of a toy disk.
pub fn text(toy: &Toy, write_cache_sectors: u64) -> String {
    let mut text = String::from("name = \"toy\"\ntitle = \"Toy\"\nkind = \"disk\"\n");
    let mut figure = |key: &str, value: String| {
        text += &[key, " = { value = ", &value, ", source = \"a test\", confidence = \"defined\" }\n"].concat();
    };
    let us = |us: u64| format!("{us}.0");
    let zones: Vec<String> = toy.zones.iter().map(|zone| format!("{}:{}", zone.0, zone.1)).collect();
    let ends = toy.zones.iter().skip(1).map(|zone| zone.0).chain([toy.cylinders]);
    let sectors: u64 = toy.zones.iter().zip(ends).map(|(zone, end)| u64::from((end - zone.0) * zone.1)).sum();
    let seek = |distance: u32| us(toy.seek.0 + toy.seek.1 * u64::from(distance));
    figure("capacity_bytes", (sectors * u64::from(toy.heads) * 512).to_string());
    figure("physical_sector_bytes", (toy.physical * 512).to_string());
    figure("rpm", (60_000_000 / toy.revolution).to_string());
    figure("heads", toy.heads.to_string());
    figure("cylinders", toy.cylinders.to_string());
    figure("zones", format!("\"{}\"", zones.join(" ")));
    figure("track_skew_us", us(toy.track_skew));
    figure("cylinder_skew_us", us(toy.cylinder_skew));
    figure("seek_track_us", seek(1));
    figure("seek_average_us", seek((toy.cylinders - 1) / 3));
    figure("seek_full_us", seek(toy.cylinders - 1));
    figure("seek_knee_cylinders", "2".to_owned());
    figure("head_switch_us", us(toy.head_switch));
    figure("write_settle_us", us(toy.settle));
    figure("command_us", us(toy.command));
    figure("queue_depth_max", toy.depth.to_string());
    figure("scheduling", format!("\"{}\"", toy.scheduling));
    // A sector in a microsecond.
    figure("link_mb_per_s", us(512));
    figure("cache_bytes", (toy.segments as u64 * toy.segment * 512).to_string());
    figure("cache_segments", toy.segments.to_string());
    figure("read_ahead_bytes", (toy.read_ahead * 512).to_string());
    figure("write_cache_bytes", (write_cache_sectors * 512).to_string());
    text
}

/// A disk all of whose times are whole microseconds.
pub fn toy(draw: &mut Draw) -> Toy {
    let (segments, segment) = (draw.of(&[0, 1, 3]), draw.of(&[4, 12, 40]));
    Toy {
        zones: draw.of(&[&[(0, 16)][..], &[(0, 32), (3, 16)], &[(0, 32), (2, 16), (5, 8)]]).to_vec(),
        cylinders: 7,
        heads: draw.of(&[1, 2, 3]),
        revolution: 1600,
        track_skew: draw.of(&[0, 150, 300, 700]),
        cylinder_skew: draw.of(&[0, 250, 500]),
        seek: draw.of(&[(100, 50), (300, 0)]),
        head_switch: draw.of(&[0, 120, 250]),
        settle: draw.of(&[0, 60]),
        command: draw.of(&[0, 30, 210]),
        depth: draw.of(&[1, 2, 8, 32]),
        scheduling: draw.of(&["fcfs", "sstf", "sptf"]),
        physical: draw.of(&[1, 8]),
        segments,
        segment,
        read_ahead: if segments == 0 { 0 } else { draw.of(&[0, 3, segment]) },
    }
}

fn disk(toy: &Toy) -> DiskDrive {
    DiskDrive::new(DiskProfile::parse(&text(toy, 0)).unwrap())
}

/// 30 requests: at once, dense, or with idle times; a third follow the one before, a quarter write, some flush.
fn asks(draw: &mut Draw, toy: &Toy) -> Vec<Ask> {
    let sectors = disk(toy).capacity_bytes() / 512;
    let (mut at, mut last) = (0, 0);
    let gap = draw.of(&[1, 100, 3000]);
    let mut ask = || {
        at += draw.below(gap);
        if draw.below(12) == 0 {
            return (Work::Flush, 0, 0, at);
        }
        let length = 1 + draw.below(12);
        let first = if draw.below(3) == 0 { last } else { draw.below(sectors) }.min(sectors - length);
        last = (first + length) % sectors;
        (if draw.below(4) == 0 { Work::Write } else { Work::Read }, first, length, at)
    };
    (0..30).map(|_| ask()).collect()
}

/// When the disk completes each request, in us, exactly.
fn microseconds(disk: &mut DiskDrive, asks: &[Ask]) -> Vec<u64> {
    let exact = |ns: u64| if ns.is_multiple_of(1000) { ns / 1000 } else { panic!("{ns} ns") };
    completions(disk, asks).into_iter().map(exact).collect()
}

/// The same in ns, of any device.
pub fn completions(disk: &mut impl BlockDevice, asks: &[Ask]) -> Vec<u64> {
    let (mut out, mut ends) = (Decisions::default(), vec![0; asks.len()]);
    for (index, &(work, first, sectors, at)) in asks.iter().enumerate() {
        let kind = match work {
            Work::Read => RequestKind::Read,
            Work::Write => RequestKind::Write,
            Work::Flush => RequestKind::Flush,
        };
        let (offset_bytes, length_bytes, submit_ns) = (first * 512, sectors * 512, at * 1000);
        disk.advance_to(submit_ns, &mut out).unwrap();
        let request = Request { kind, fua: false, offset_bytes, length_bytes, submit_ns };
        disk.submit(Submission::new(request, Tag(index as u64))).unwrap();
    }
    while let Some(event) = disk.next_event() {
        disk.advance_to(event.at_ns + 1, &mut out).unwrap();
    }
    assert_eq!(out.completions.len(), asks.len());
    for completion in out.completions {
        ends[completion.tag.0 as usize] = completion.complete_ns;
    }
    ends
}

#[test]
fn a_disk_is_as_fast_as_one_that_is_simulated_microsecond_by_microsecond() {
    for seed in 0..cases(1000) {
        let mut draw = Draw::new(seed);
        let toy = toy(&mut draw);
        let asks = asks(&mut draw, &toy);
        let (expected, found) = (Reference::run(&toy, &asks), microseconds(&mut disk(&toy), &asks));
        assert_eq!(expected, found, "seed {seed}: {toy:?}, {asks:?}");
    }
}

type Change = fn(&mut Toy);

/// Each figure of the toy disk matters, and the reference notices it.
#[test]
fn another_figure_gives_other_times_than_the_reference_has() {
    let changes: [(&str, Change); 15] = [
        ("zones", |toy| toy.zones = vec![(0, 32), (4, 16)]),
        ("heads", |toy| toy.heads += 1),
        ("revolution", |toy| toy.revolution = 800),
        ("track skew", |toy| toy.track_skew += 10),
        ("cylinder skew", |toy| toy.cylinder_skew += 10),
        ("seek", |toy| toy.seek = (110, 50)),
        ("head switch", |toy| toy.head_switch = 900),
        ("settle", |toy| toy.settle = 700),
        ("command", |toy| toy.command = 700),
        ("depth", |toy| toy.depth = 3),
        ("scheduling", |toy| toy.scheduling = "sstf"),
        ("physical sector", |toy| toy.physical = 1),
        ("segments", |toy| toy.segments = 1),
        ("segment", |toy| toy.segment = 20),
        ("reading ahead", |toy| toy.read_ahead = 3),
    ];
    let base = Toy {
        zones: vec![(0, 32), (3, 16)],
        cylinders: 7,
        heads: 2,
        revolution: 1600,
        track_skew: 150,
        cylinder_skew: 250,
        seek: (100, 50),
        head_switch: 120,
        settle: 60,
        command: 30,
        depth: 8,
        scheduling: "sptf",
        physical: 8,
        segments: 3,
        segment: 40,
        read_ahead: 20,
    };
    for (name, change) in changes {
        let mut other = base.clone();
        change(&mut other);
        let differs = |seed| {
            let asks = asks(&mut Draw::new(seed), &base);
            microseconds(&mut disk(&other), &asks) != Reference::run(&base, &asks)
        };
        assert!((0..60).any(differs), "{name} changes nothing");
    }
}

#[test]
fn every_shape_of_disk_is_a_block_device() {
    for seed in 0..cases(60) {
        let text = text(&toy(&mut Draw::new(seed)), (seed % 3) * 12);
        conformance::general::check(seed, 2, 20, || DiskDrive::new(DiskProfile::parse(&text).unwrap()));
    }
}

fn faults() -> Faults {
    let stall = Some(Stall { every_ns: 30_000_000, length_ns: 12_000_000 });
    Faults { stall, lost: Some(Lost { every: 10, timeout_ns: 3_000_000 }), seed: Some(3), ..Faults::default() }
}

#[test]
fn a_disk_with_faults_is_a_block_device() {
    for seed in 0..cases(10) {
        let text = text(&toy(&mut Draw::new(seed)), (seed % 3) * 12);
        let fresh = || DisturbedDevice::faulty(DiskDrive::new(DiskProfile::parse(&text).unwrap()), faults());
        conformance::general::check(seed, 1, 20, fresh);
    }
}

/// When operations completed, and when they were submitted.
struct Order(Vec<(u64, u64)>);

impl Observer for Order {
    fn completed(&mut self, completion: &Completion) {
        self.0.push((completion.complete_ns, completion.submit_ns));
    }
}

/// A stall holds answers back until its end: the host learns of them in the order in which it submitted the operations, on
/// whichever place of its queue they were. The disk completes them in another order, so that the two differ.
#[test]
fn operations_that_complete_together_are_handed_over_in_the_order_of_their_submission() {
    let mut toy = toy(&mut Draw::new(1));
    (toy.depth, toy.scheduling, toy.cylinders) = (32, "sptf", 400);
    let disk = DiskDrive::new(DiskProfile::parse(&text(&toy, 0)).unwrap());
    let stalls = Faults { lost: None, ..faults() };
    let mut host = SingleHost::new(DisturbedDevice::faulty(disk, stalls));
    let workload = Workload {
        pattern: PatternKind::Random,
        read_percent: 100,
        record_bytes: 512,
        span_bytes: Immediate::capacity_bytes(&host),
        depth: 16,
        stop: Stop { bytes: Some(512 * 2000), ..Stop::default() },
        ..Workload::default()
    };
    let mut order = Order(Vec::new());
    run_general(&mut host, &workload, &mut order, &mut |_, _| false).unwrap();
    let ties = order.0.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1).count();
    assert!(ties > 50, "only {ties} operations completed together");
    assert!(order.0.is_sorted(), "{:?}", order.0.windows(2).find(|pair| pair[0] > pair[1]));
}

/// A drive of a profile with faults has them between the queues: it stalls, loses a command and drops off as one of flash does.
#[test]
fn faults_of_a_profile_reach_a_disk_with_commands_outstanding() {
    let mut toy = toy(&mut Draw::new(4));
    (toy.depth, toy.cylinders) = (32, 400);
    let figure = |key: &str, value: &str| {
        [key, " = { value = ", value, ", source = \"a test\", confidence = \"defined\" }\n"].concat()
    };
    let run = |faults: &[(&str, &str)]| {
        let faults: String = faults.iter().map(|(key, value)| figure(key, value)).collect();
        let profile = DiskProfile::parse(&(text(&toy, 0) + &faults)).unwrap();
        let mut drive = Drive::new(profile);
        let workload = Workload {
            pattern: PatternKind::Random,
            read_percent: 100,
            record_bytes: 512,
            span_bytes: Immediate::capacity_bytes(&drive),
            depth: 16,
            stop: Stop { bytes: Some(512 * 1000), ..Stop::default() },
            ..Workload::default()
        };
        drive.run(&workload, &mut Order(Vec::new()), &mut |_, _| false).unwrap()
    };
    let sound = run(&[]);
    let stalled = run(&[("stall_s", "0.5"), ("stall_every_s", "1.0")]);
    let slower = stalled.elapsed_ns as f64 / sound.elapsed_ns as f64;
    // During a stall the arm works until the 16 that it has are done; then it rests until the end of the stall.
    let busy_s = 0.5 + 16.0 * sound.elapsed_ns as f64 / 1e9 / 1000.0;
    assert!((slower * busy_s - 1.0).abs() < 0.1, "{slower} times slower, busy {busy_s} s of each second");
    let error = |record: &mileage_measure::RunRecord| record.error.as_ref().map(|it| it.kind.clone());
    assert_eq!(error(&stalled), None);
    let lost = run(&[("lost_command_every", "300"), ("command_timeout_s", "2.0")]);
    assert_eq!(error(&lost).as_deref(), Some("ETIMEDOUT"));
    let dropped = run(&[("drop_off_s", "0.2")]);
    assert_eq!(error(&dropped).as_deref(), Some("ENODEV"));
    assert_eq!(dropped.durable_ns, 200_000_000);
}

/// Streams that each read in order, in a random order of the streams, are a random pattern for the disk: the mean distance
/// between requests grows with their number, and the share that follows the one before falls.
#[test]
fn more_streams_are_more_random_for_the_disk() {
    let mut base = toy(&mut Draw::new(1));
    (base.depth, base.heads, base.cylinders) = (32, 3, 400);
    let mut before = (-1.0, 2.0);
    for streams in [1, 2, 4, 8, 16] {
        let (mut disk, mut draw) = (disk(&base), Draw::new(2));
        let part = disk.capacity_bytes() / 512 / streams;
        let mut read = vec![0; streams as usize];
        let mut ask = |index| {
            let stream = draw.below(streams);
            read[stream as usize] += 1;
            (Work::Read, stream * part + read[stream as usize], 1, index)
        };
        let asks: Vec<Ask> = (0..1000).map(&mut ask).collect();
        completions(&mut disk, &asks);
        let mut values = vec![0; disk.counter_names().len()];
        disk.counters(&mut values);
        let counter = |name| values[disk.counter_names().iter().position(|known| *known == name).unwrap()] as f64;
        let distance = counter("distance_sectors") / counter("commands");
        let sequential = counter("commands_sequential") / counter("commands");
        assert!(distance > before.0 && sequential < before.1, "{streams} streams: {distance}, {sequential}");
        before = (distance, sequential);
    }
}

/// The longest latency of a run.
struct Longest(u64);

impl Observer for Longest {
    fn completed(&mut self, completion: &Completion) {
        self.0 = self.0.max(completion.complete_ns - completion.submit_ns);
    }
}

/// Reading ahead makes the next read of a stream the nearest one, so that an order by position alone leaves another stream
/// waiting until the first ends. Disks that ship change to the other one at their age limit.
#[test]
fn one_of_two_streams_waits_for_the_age_limit_of_the_disk_and_no_longer() {
    for text in [
        include_str!("../../../../profiles/drives/sas-15k.toml"),
        include_str!("../../../../profiles/drives/sata-7k2.toml"),
        include_str!("../../../../profiles/drives/hpe-7k2-500gb.toml"),
    ] {
        let longest_s = |text: &str| {
            let mut drive = Drive::new(DiskProfile::parse(text).unwrap());
            let workload = Workload {
                pattern: PatternKind::Sequential,
                read_percent: 100,
                record_bytes: 131_072,
                span_bytes: 20 << 30,
                threads: 2,
                depth: 2,
                stop: Stop { bytes: Some(1 << 30), ..Stop::default() },
                ..Workload::default()
            };
            let mut longest = Longest(0);
            let record = drive.run(&workload, &mut longest, &mut |_, _| false).unwrap();
            (longest.0 as f64 / 1e9, record.elapsed_ns as f64 / 1e9)
        };
        let (waits_s, _) = longest_s(text);
        assert!((2.0..2.1).contains(&waits_s), "{waits_s} s");
        let (before, limit) = text.split_once("[age_limit_ms]").unwrap();
        let (waits_s, lasts_s) = longest_s(&[before, &limit[limit.find("[[rate]]").unwrap()..]].concat());
        assert!(waits_s > 0.4 * lasts_s, "{waits_s} s of {lasts_s} s");
    }
}

/// Requests of several batches at one instant are outstanding together, and erasing waits for all of them.
#[test]
fn batches_at_one_instant_and_a_purge_behind_them_are_served() {
    let text = text(&toy(&mut Draw::new(1)), 0);
    let mut drive = Drive::new(DiskProfile::parse(&text).unwrap());
    let read = Request { kind: RequestKind::Read, fua: false, offset_bytes: 0, length_bytes: 4096, submit_ns: 0 };
    let ends: Vec<u64> = (0..3).map(|_| drive.submit_one(&read).complete_ns).collect();
    assert!(ends.is_sorted() && ends[0] > 0, "{ends:?}");
    drive.purge();
    assert!(drive.now_ns() >= ends[2]);
}
