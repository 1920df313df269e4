//! Shingled disks of every shape against the contract.

use crate::disk::{text, toy};
use crate::disk_reference::Toy;
use crate::drives::cases;
use crate::random_drives::Draw;
use mileage_drive::profile::{DiskProfile, Faults, Stall};
use mileage_drive::{Disturbed, ShingledDrive, conformance};

/// What a shingled toy disk has in addition, in sectors and us.
#[derive(Clone, Debug)]
struct Shingles {
    cache: u64,
    entries: usize,
    journal: u64,
    tracks: u64,
    idle: u64,
    high: u64,
    chunk: u64,
    pause: u64,
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

/// A toy disk that is large enough for a media cache and some bands.
fn large_toy(draw: &mut Draw) -> Toy {
    let zones = draw.of(&[&[(0, 32)][..], &[(0, 32), (11, 16)]]).to_vec();
    Toy { zones, cylinders: 24, ..toy(draw) }
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
            conformance::general::check(seed, 1, 10, || Disturbed::faulty(fresh(), faults));
        }
    }
}
