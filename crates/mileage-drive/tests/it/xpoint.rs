//! `XPoint` drives against both contracts, and against arithmetic by hand.

use crate::random_drives::Draw;
use mileage_drive::{Immediate, Queued, Request, RequestKind, Status, XpointDrive, XpointProfile, conformance};

fn text(capacity_bytes: u64, dies: u64, stripe_bytes: u64, queue: u64) -> String {
    let mut text = String::from("name = \"x\"\ntitle = \"X\"\nkind = \"xpoint\"\n");
    for (key, value) in [
        ("capacity_bytes", capacity_bytes.to_string()),
        ("dies", dies.to_string()),
        ("stripe_bytes", stripe_bytes.to_string()),
        ("read_us", "2.0".to_owned()),
        ("write_us", "3.0".to_owned()),
        ("read_mb_per_s", "512.0".to_owned()),
        ("write_mb_per_s", "128.0".to_owned()),
        ("command_interval_us", "1.0".to_owned()),
        ("queue_depth_max", queue.to_string()),
        ("regions", "8".to_owned()),
        ("link_mb_per_s", "1024.0".to_owned()),
    ] {
        text += &[key, " = { value = ", &value, ", source = \"a test\", confidence = \"defined\" }\n"].concat();
    }
    text
}

fn drive(capacity_bytes: u64, dies: u64, stripe_bytes: u64, queue: u64) -> XpointDrive {
    XpointDrive::new(XpointProfile::parse(&text(capacity_bytes, dies, stripe_bytes, queue)).unwrap())
}

#[test]
fn every_shape_of_xpoint_keeps_both_contracts() {
    for seed in 0..20 {
        let mut draw = Draw::new(seed);
        let (dies, stripe, queue) = (draw.of(&[1, 2, 5, 8]), draw.of(&[512, 4096]), draw.of(&[1, 2, 32]));
        let fresh = || drive(1 << 18, dies, stripe, queue);
        conformance::check(seed, 2, fresh);
        conformance::general::check(seed, 1, 10, || Queued::new(fresh()));
    }
}

/// A stripe of 512 bytes takes 1 us on all dies of 512 MB/s together, so 4 us on one of four; a write four times that.
#[test]
fn times_are_those_of_arithmetic() {
    let mut drive = drive(1 << 20, 4, 512, 2);
    let mut at = |kind, offset_bytes, length_bytes, submit_us: u64| {
        let request = Request { kind, fua: false, offset_bytes, length_bytes, submit_ns: submit_us * 1000 };
        let completion = drive.submit_one(&request);
        assert_eq!(completion.status, Status::Done);
        completion.complete_ns / 1000
    };
    assert_eq!(at(RequestKind::Read, 0, 512, 0), 6, "4 on its die, and 2");
    assert_eq!(at(RequestKind::Read, 0, 2048, 100), 106, "four dies at the same time");
    assert_eq!(at(RequestKind::Read, 512, 2560, 200), 210, "five stripes, two of them on one die");
    assert_eq!(at(RequestKind::Write, 0, 2048, 300), 319, "16, and 3");
    assert_eq!(at(RequestKind::Read, 0, 512, 400), 406);
    assert_eq!(at(RequestKind::Read, 2048, 512, 400), 410, "behind the other on the same die");
    assert_eq!(at(RequestKind::Read, 512, 512, 400), 412, "the third of two places waits for the first");
    assert_eq!(at(RequestKind::Flush, 0, 0, 400), 412);
}

/// Bytes written to each eighth of the drive.
#[test]
fn regions_count_what_was_written_to_them() {
    let mut drive = drive(1 << 20, 4, 512, 2);
    let write = |offset_bytes, length_bytes| Request {
        kind: RequestKind::Write,
        fua: false,
        offset_bytes,
        length_bytes,
        submit_ns: 0,
    };
    drive.submit_one(&write(0, 1 << 20));
    drive.submit_one(&write((1 << 17) - 512, 1024));
    let mut gauges = [0; 2];
    drive.gauges(&mut gauges);
    assert_eq!(gauges, [1 << 17, (1 << 17) + 512]);
}
