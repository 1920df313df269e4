//! Shingled disks of every shape against the contract, and against a simulation by brute force.

use crate::disk::{completions, text, toy};
use crate::disk_reference::{Ask, Toy, Work};
use crate::drives::{cases, is_thorough};
use crate::random_drives::Draw;
use crate::smr_reference::ShingledReference;
use mileage_drive::profile::{DiskProfile, Faults, Stall};
use mileage_drive::{BlockDevice, DisturbedDevice, ShingledDrive, conformance};

/// What a shingled toy disk has in addition, in sectors and us.
#[derive(Clone, Debug)]
pub struct Shingles {
    pub cache: u64,
    pub entries: usize,
    pub journal: u64,
    pub tracks: u64,
    pub idle: u64,
    pub high: u64,
    pub chunk: u64,
    pub pause: u64,
}

fn shingles(draw: &mut Draw, toy: &Toy) -> Shingles {
    let unit = toy.physical;
    Shingles {
        cache: draw.of(&[16, 24, 40]) * 8,
        entries: draw.of(&[4, 9, 1000]) as usize,
        journal: draw.of(&[0, 1]) * unit,
        tracks: draw.of(&[1, 2, 3]),
        idle: draw.of(&[1500, 20_000]),
        high: draw.of(&[50, 100]),
        chunk: draw.of(&[8, 16, 40]),
        pause: draw.of(&[0, 700, 5000]),
    }
}

/// A toy disk that is large enough for a media cache and some bands. The distance of an average seek, a third of all cylinders,
/// is a whole number, or the curve of seek times would not be the straight line that the reference has.
fn large_toy(draw: &mut Draw) -> Toy {
    let zones = draw.of(&[&[(0, 32)][..], &[(0, 32), (11, 16)]]).to_vec();
    Toy { zones, cylinders: 25, ..toy(draw) }
}

fn profile(toy: &Toy, shingles: &Shingles, write_cache_sectors: u64) -> DiskProfile {
    let disk = text(toy, write_cache_sectors).replace("kind = \"disk\"", "kind = \"smr-disk\"");
    let of = |line: &str| line.split("value = ").nth(1).unwrap().split(',').next().unwrap().parse::<u64>().unwrap();
    let capacity = of(disk.lines().find(|line| line.starts_with("capacity_bytes")).unwrap());
    let mut text = disk.replace(&capacity.to_string(), &(capacity - shingles.cache * 512).to_string());
    for (key, value) in [
        ("media_cache_bytes", (shingles.cache * 512).to_string()),
        ("media_cache_entries", shingles.entries.to_string()),
        ("media_cache_journal_bytes", (shingles.journal * 512).to_string()),
        ("band_tracks", shingles.tracks.to_string()),
        ("cleaning_idle_ms", format!("{}.{:03}", shingles.idle / 1000, shingles.idle % 1000)),
        ("cleaning_high_percent", shingles.high.to_string()),
        ("cleaning_chunk_bytes", (shingles.chunk * 512).to_string()),
        ("cleaning_pause_ms", format!("{}.{:03}", shingles.pause / 1000, shingles.pause % 1000)),
    ] {
        text += &[key, " = { value = ", &value, ", source = \"a test\", confidence = \"defined\" }\n"].concat();
    }
    DiskProfile::parse(&text).unwrap()
}

#[test]
fn every_shape_of_shingled_disk_is_a_block_device() {
    for seed in 0..cases(60) {
        let mut draw = Draw::new(seed);
        let toy = large_toy(&mut draw);
        let shingles = shingles(&mut draw, &toy);
        let profile = profile(&toy, &shingles, (seed % 3) * 12);
        let fresh = || ShingledDrive::new(profile.clone()).unwrap();
        conformance::general::check(seed, 2, 20, fresh);
        if seed % 10 == 0 {
            let stall = Some(Stall { every_ns: 30_000_000, length_ns: 12_000_000 });
            let faults = Faults { stall, ..Faults::default() };
            conformance::general::check(seed, 1, 10, || DisturbedDevice::faulty(fresh(), faults));
        }
    }
}

/// 20 requests: at once, dense, or with idle times; half of them write, some to the same place.
fn asks(draw: &mut Draw, sectors: u64) -> Vec<Ask> {
    let (mut at, mut last) = (0, 0);
    let gap = draw.of(&[1, 100, 3000]);
    let mut ask = || {
        at += 10 * draw.below(gap);
        if draw.below(12) == 0 {
            return (Work::Flush, 0, 0, at);
        }
        let length = 1 + draw.below(12);
        let first = if draw.below(3) == 0 { last } else { draw.below(sectors) }.min(sectors - length);
        last = (first + draw.below(2) * length) % sectors;
        (if draw.below(2) == 0 { Work::Write } else { Work::Read }, first, length, at)
    };
    (0..20).map(|_| ask()).collect()
}

/// The disk decides a nanosecond later than the reference what follows a flush. No head arrives in that nanosecond: the
/// instants of the host, and all times but that of a command, are multiples of 10 us. A case takes a tenth of a second.
#[test]
fn a_shingled_disk_is_as_fast_as_one_that_is_simulated_microsecond_by_microsecond() {
    for seed in 0..if is_thorough() { 1000 } else { 50 } {
        let mut draw = Draw::new(seed);
        let toy = Toy { command: 3, ..large_toy(&mut draw) };
        let shingles = shingles(&mut draw, &toy);
        let mut disk = ShingledDrive::new(profile(&toy, &shingles, 0)).unwrap();
        let asks = asks(&mut draw, disk.capacity_bytes() / 512);
        let found: Vec<u64> = completions(&mut disk, &asks).into_iter().map(|ns| ns / 1000).collect();
        let expected = ShingledReference::run(&toy, &shingles, &asks);
        assert_eq!(expected, found, "seed {seed}: {toy:?}, {shingles:?}, {asks:?}");
    }
}
