//! Shingled disks: where the media cache is full, what a write costs behind that, and a published pattern of reading.

use super::disk::{closed_loop, disk};
use super::{Case, Row};
use mileage_drive::ShingledDrive;
use mileage_drive::block_device::{BlockDevice, Decisions};
use mileage_drive::device::RequestKind;
use mileage_drive::profile::{DiskProfile, Profile};
use mileage_drive::{Drive, Immediate};
use mileage_workload::{PatternKind, Stop, Workload};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(true, knees),
        Case::new(true, behind_the_knee),
        Case::new(true, published_readings),
        Case::new(false, readings_after_an_hour),
    ]
}

/// The disk of the checks with a media cache of 16 MiB and bands of 8 tracks, which is cleaned only when it is full.
fn shingled(changes: &[(&str, &str)]) -> ShingledDrive {
    let plain = disk(&[]);
    let capacity = (plain.basics.capacity_bytes - (16 << 20)).to_string();
    let figures = [
        ("capacity_bytes", capacity.as_str()),
        ("command_us", "0.0"),
        ("link_mb_per_s", "10000.0"),
        ("media_cache_bytes", "16777216"),
        ("media_cache_entries", "100000"),
        ("media_cache_journal_bytes", "4096"),
        ("band_tracks", "8"),
        ("cleaning_idle_ms", "1000000.0"),
        ("cleaning_high_percent", "100"),
        ("cleaning_chunk_bytes", "1073741824"),
        ("cleaning_pause_ms", "0.0"),
    ];
    let mut all: Vec<(&str, &str)> = figures.into();
    for (key, value) in changes {
        all.retain(|(known, _)| known != key);
        all.push((key, value));
    }
    let profile: DiskProfile = disk(&all);
    match ShingledDrive::new(profile) {
        Some(drive) => drive,
        None => unreachable!("a check's own profile is one of a shingled disk"),
    }
}

/// A counter by its name.
fn counter(drive: &ShingledDrive, name: &str) -> f64 {
    let names = drive.counter_names();
    let mut values = vec![0; names.len()];
    drive.counters(&mut values);
    names.iter().position(|known| *known == name).map_or(f64::NAN, |at| values[at] as f64)
}

/// The n-th of many bands that are far from the media cache and far from each other.
fn far_band(index: u64) -> u64 {
    let band = 8 * 2000;
    (1000 + 17 * (index % 1000)) * band
}

/// Small writes, each in a band of its own, until one is blocked: the smaller of bytes and entries decides.
fn knees() -> Vec<Row> {
    let writes_taken = |drive: &mut ShingledDrive| {
        let mut count = 0;
        while counter(drive, "writes_blocked") <= 0.0 {
            let lba = far_band(count % 1000) + 8 * (count / 1000);
            let end_ns = closed_loop(drive, RequestKind::Write, 1, 1, |_| (lba, 8))[0];
            let advanced = drive.advance_to(end_ns, &mut Decisions::default());
            debug_assert!(advanced.is_ok());
            count += 1;
        }
        (count - 1) as f64
    };
    let mut by_entries = shingled(&[("media_cache_entries", "1500")]);
    let mut by_bytes = shingled(&[]);
    vec![
        Row::exact("smr: 4 KiB writes until the map of 1,500 entries is full", 1500.0, writes_taken(&mut by_entries)),
        Row::exact(
            "smr: 4 KiB writes until the media cache of 16 MiB is full: 4 KiB and a journal of 4 KiB each",
            2048.0,
            writes_taken(&mut by_bytes),
        ),
        Row::exact(
            "smr: bytes logged per byte written, 4 KiB with a journal of 4 KiB",
            2.0,
            counter(&by_bytes, "media_cache_bytes_written") / counter(&by_bytes, "host_bytes_written"),
        ),
    ]
}

/// Behind the knee a write waits until a band is cleaned: read the band, read what was logged, write the band; then it is
/// logged itself. Four accesses with the way between media cache and band, half a revolution each, and the band twice.
fn behind_the_knee() -> Vec<Row> {
    let mut drive = shingled(&[("media_cache_entries", "100")]);
    let ends = closed_loop(&mut drive, RequestKind::Write, 1, 700, |index| (far_band(index), 8));
    let simulated_ms = (ends[699] - ends[199]) as f64 / 500.0 / 1e6;
    let profile = drive.profile();
    let revolution_ms = profile.revolution_ns as f64 / 1e6;
    let cache_cylinders = (16 << 20) / 512 / (4 * 2000);
    let mut theory_ms = 0.0;
    for index in 200..700 {
        let cylinder = (far_band(index) + (16 << 20) / 512) / (4 * 2000);
        let seek_ms = profile.seek.ns((cylinder - cache_cylinders / 2) as u32) as f64 / 1e6;
        // Eight tracks on two cylinders of four heads: five or six switches of heads and one or two of cylinders.
        let band_ms = 8.0 * revolution_ms + 6.0 * 0.9 + 1.0;
        theory_ms += 4.0 * (seek_ms + revolution_ms / 2.0) + 2.0 * band_ms + 3.0 * 8.0 / 2000.0 * revolution_ms;
    }
    let name = "smr: ms of a 4 KiB write behind the knee, one band each";
    vec![Row::within(0.03, name, theory_ms / 500.0, simulated_ms)]
}

/// The shipped profile that the published pattern is held against.
const ARCHIVE: &str = include_str!("../../../../profiles/drives/seagate-archive-8tb.toml");
const REGION_BYTES: u64 = 10_737_418_240;

fn archive() -> Drive {
    match Profile::parse(ARCHIVE) {
        Ok(profile) => Drive::new(profile),
        Err(error) => unreachable!("a profile that ships: {error}"),
    }
}

/// MB/s of the region, in order: written with 512 KiB and read with 128 KiB at depth 2, as the page cache does it.
fn pass(drive: &mut Drive, reads: bool) -> f64 {
    let workload = Workload {
        pattern: PatternKind::Sequential,
        read_percent: if reads { 100 } else { 0 },
        record_bytes: if reads { 131_072 } else { 524_288 },
        span_bytes: REGION_BYTES,
        depth: 2,
        stop: Stop { bytes: Some(REGION_BYTES), ..Stop::default() },
        ..Workload::default()
    };
    match drive.run_unobserved(&workload) {
        Ok(record) => REGION_BYTES as f64 / record.elapsed_ns as f64 * 1e3,
        Err(error) => unreachable!("a check's own workload: {error}"),
    }
}

/// Write the region, wait, and read it three times, with 5 s before each.
fn readings(drive: &mut Drive, wait_ns: u64) -> [f64; 3] {
    pass(drive, false);
    drive.idle_ns(wait_ns);
    [0, 1, 2].map(|_| {
        drive.idle_ns(5_000_000_000);
        pass(drive, true)
    })
}

/// 10.7 GB are written and read three times: 15, 31 and 200 MB/s; writing them again resets it. Cleaning of the bands takes
/// the arm from the host, until the media cache is empty in the third reading.
fn published_readings() -> Vec<Row> {
    let mut drive = archive();
    let first = readings(&mut drive, 0);
    let again = readings(&mut drive, 0);
    let row = |(index, published): (usize, f64)| {
        let name = format!("smr: MB/s of reading {} of a region just written, published", index + 1);
        Row::within(1.0 / 3.0, name, published, first[index])
    };
    let mut rows: Vec<Row> = [15.0, 31.0, 200.0].into_iter().enumerate().map(row).collect();
    rows.push(Row::within(1.0 / 3.0, "smr: MB/s of reading 1 after the region was written again", 15.0, again[0]));
    rows
}

/// With an hour without requests in between, cleaning is over before the first reading.
fn readings_after_an_hour() -> Vec<Row> {
    let found = readings(&mut archive(), 3_600_000_000_000);
    let name = "smr: MB/s of reading 1 an hour after the region was written, as reading 3";
    vec![Row::within(0.01, name, found[2], found[0])]
}
