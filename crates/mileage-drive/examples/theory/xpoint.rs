//! `XPoint` against its rates: one byte rate explains random and sequential writes, the controller's interval random reads, and
//! nothing depends on what was written before.

use super::splitmix::draw;
use super::{Case, Row};
use mileage_drive::XpointDrive;
use mileage_drive::device::{Request, RequestKind};
use mileage_drive::immediate_device::Immediate;
use mileage_drive::profile::XpointProfile;

pub(super) fn cases() -> Vec<Case> {
    vec![Case::new(true, rows)]
}

const CAPACITY: u64 = 1 << 30;

/// 8 dies in stripes of 512 bytes: 900 MB/s to read, 145 to write; a command every 5.26 us; 2.45 us more for a read.
fn drive() -> XpointDrive {
    let mut text = String::from("name = \"check\"\ntitle = \"Check\"\nkind = \"xpoint\"\n");
    for (key, value) in [
        ("capacity_bytes", "1_073_741_824"),
        ("dies", "8"),
        ("stripe_bytes", "512"),
        ("read_us", "2.45"),
        ("write_us", "2.0"),
        ("read_mb_per_s", "900.0"),
        ("write_mb_per_s", "145.0"),
        ("command_interval_us", "5.26"),
        ("queue_depth_max", "256"),
        ("regions", "64"),
        ("link", "\"pcie-3-x2\""),
    ] {
        text += &[key, " = { value = ", value, ", source = \"the check\", confidence = \"defined\" }\n"].concat();
    }
    match XpointProfile::parse(&text) {
        Ok(profile) => XpointDrive::new(profile),
        Err(error) => unreachable!("a check's own profile: {error}"),
    }
}

/// Operations per second with `depth` outstanding.
fn rate(drive: &mut XpointDrive, kind: RequestKind, bytes: u64, depth: usize, random: bool) -> f64 {
    let (count, start_ns) = (20_000, drive.now_ns());
    let mut ends = vec![start_ns; depth];
    for index in 0..count {
        let place = index as usize % depth;
        let at = if random { draw(7, index) } else { index } % (CAPACITY / bytes) * bytes;
        // Submission order is completion order, because all operations take equally long.
        let submit_ns = ends[place].max(drive.now_ns());
        let request = Request { kind, fua: false, offset_bytes: at, length_bytes: bytes, submit_ns };
        ends[place] = drive.submit_one(&request).complete_ns;
    }
    let last_ns = ends.iter().copied().max().unwrap_or(start_ns);
    drive.advance_to(last_ns);
    count as f64 / (last_ns - start_ns) as f64 * 1e9
}

fn rows() -> Vec<Row> {
    let fresh = |kind, bytes, depth, random| rate(&mut drive(), kind, bytes, depth, random);
    let (write, read) = (RequestKind::Write, RequestKind::Read);
    let mut worn = drive();
    (0..20).for_each(|_| {
        rate(&mut worn, write, 4096, 32, true);
    });
    let latency_us = 2.45 + 4096.0 / 900.0;
    vec![
        Row::within(
            0.002,
            "xpoint: random 4 KiB writes/s, depth 32: the byte rate",
            145e6 / 4096.0,
            fresh(write, 4096, 32, true),
        ),
        Row::within(
            0.002,
            "xpoint: MB/s of 128 KiB writes in order, depth 4",
            145.0,
            fresh(write, 131_072, 4, false) * 0.131_072,
        ),
        Row::within(
            0.002,
            "xpoint: random 4 KiB reads/s, depth 32: the controller",
            1e6 / 5.26,
            fresh(read, 4096, 32, true),
        ),
        Row::within(
            0.002,
            "xpoint: MB/s of 128 KiB reads in order, depth 4",
            900.0,
            fresh(read, 131_072, 4, false) * 0.131_072,
        ),
        Row::within(0.002, "xpoint: us of a random 4 KiB read, depth 1", latency_us, 1e6 / fresh(read, 4096, 1, true)),
        Row::within(
            1e-6,
            "xpoint: random writes/s after 400,000 random writes, as before",
            fresh(write, 4096, 32, true),
            rate(&mut worn, write, 4096, 32, true),
        ),
    ]
}
