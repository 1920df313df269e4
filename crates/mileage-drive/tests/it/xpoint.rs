//! `XPoint` drives against both contracts, and against arithmetic by hand.

use crate::drives::cases;
use crate::random_drives::Draw;
use mileage_drive::{Immediate, QueueAdapter, Request, RequestKind, Status, XpointDrive, XpointProfile, conformance};

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
        conformance::general::check(seed, 1, 10, || QueueAdapter::new(fresh()));
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

/// A command of the slow simulation.
#[derive(Clone, Copy, Debug)]
struct Slow {
    request: Request,
    /// Stripes and link transfers that are not over.
    left: u64,
    begun: bool,
    /// When the last of them was over, then when it is complete; in us.
    ends_us: u64,
    complete: bool,
}

/// What is done in each die and in each direction of the link: which command, and for how many microseconds more.
type Lanes = Vec<std::collections::VecDeque<(usize, u64)>>;

/// The drive of `drive(_, dies, 512, queue)`, in which each die and each direction of the link works for a microsecond at a
/// time: 1 us for a sector on the link, `dies` us to read a stripe, four times that to write it.
fn brute_force(dies: u64, queue: usize, requests: &[Request]) -> Vec<u64> {
    let mut commands: Vec<Slow> = requests
        .iter()
        .map(|request| Slow { request: *request, left: 0, begun: false, ends_us: 0, complete: false })
        .collect();
    let mut lanes: Lanes = vec![std::collections::VecDeque::new(); dies as usize + 2];
    let mut now_us = 0;
    while commands.iter().any(|it| !it.complete) {
        let in_drive = commands.iter().filter(|it| it.begun && (!it.complete || it.ends_us > now_us)).count();
        let next = commands.iter().position(|it| !it.begun);
        let next = next.filter(|at| commands[*at].request.submit_ns / 1000 <= now_us && in_drive < queue);
        if let Some(at) = next {
            commands[at].begun = true;
            let Request { kind, offset_bytes, length_bytes, .. } = commands[at].request;
            let writes = kind == RequestKind::Write;
            let sectors = offset_bytes / 512..(offset_bytes + length_bytes) / 512;
            commands[at].left = 2 * (sectors.end - sectors.start);
            for sector in sectors {
                lanes[(sector % dies) as usize].push_back((at, if writes { 4 * dies } else { dies }));
                lanes[dies as usize + usize::from(writes)].push_back((at, 1));
            }
        }
        now_us += 1;
        for lane in &mut lanes {
            let Some((at, left_us)) = lane.front_mut() else { continue };
            *left_us -= 1;
            if *left_us == 0 {
                let command = &mut commands[*at];
                command.left -= 1;
                if command.left == 0 {
                    let fixed_us = if command.request.kind == RequestKind::Write { 3 } else { 2 };
                    (command.ends_us, command.complete) = (now_us + fixed_us, true);
                }
                lane.pop_front();
            }
        }
    }
    commands.iter().map(|it| it.ends_us).collect()
}

#[test]
fn random_requests_end_when_a_simulation_by_brute_force_says() {
    for seed in 0..cases(1000) {
        let mut draw = Draw::new(seed);
        let (dies, queue) = (draw.of(&[1, 2, 4]), draw.of(&[1, 2, 5, 64]));
        let text = text(1 << 18, dies, 512, queue).replace("1024.0", "512.0");
        let mut drive = XpointDrive::new(XpointProfile::parse(&text).unwrap());
        let mut now_us = 0;
        let requests: Vec<Request> = (0..60)
            .map(|_| {
                now_us += draw.below(2) * draw.below(40);
                let kind = draw.of(&[RequestKind::Read, RequestKind::Write]);
                let (offset_bytes, length_bytes) = (draw.below(500) * 512, (1 + draw.below(6)) * 512);
                Request { kind, fua: false, offset_bytes, length_bytes, submit_ns: now_us * 1000 }
            })
            .collect();
        let found: Vec<u64> = requests.iter().map(|it| drive.submit_one(it).complete_ns / 1000).collect();
        assert_eq!(found, brute_force(dies, queue as usize, &requests), "seed {seed}: {dies} dies, {queue} places");
    }
}
