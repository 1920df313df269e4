//! Data: what was written is what is read, at every speed and through every kind of request.

use mileage_drive::{Drive, Immediate, Profile, Request, RequestKind};
use mileage_serve::{Failure, HostRequest, HostRequestKind, Server, ServerOptions, Speed};
use proptest::prelude::*;

pub const PAGE: u64 = 4096;

pub fn profile(name: &str) -> Profile {
    let path = format!("{}/../../profiles/drives/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Profile::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn serve(name: &str, speed: Speed) -> Server {
    Server::new(profile(name), &ServerOptions { state: None, data: None, speed, spins: false }).unwrap()
}

pub fn ask(server: &Server, kind: HostRequestKind, at: u64, length: u64, data: &[u8]) -> Result<Vec<u8>, Failure> {
    let data = data.to_vec();
    server.request(HostRequest { kind, fua: false, offset_bytes: at, length_bytes: length, data, answer: () })
}

#[test]
fn requests_outside_the_drive_or_off_its_sectors_are_refused() {
    let server = serve("plain-64gib", Speed::Unbounded);
    let end = server.capacity_bytes();
    for (at, length) in [(0, 511), (1, 512), (end, 512), (end - 512, 1024), (u64::MAX - 511, 512), (0, 0)] {
        assert_eq!(ask(&server, HostRequestKind::Read, at, length, &[]), Err(Failure::Invalid), "{at} {length}");
    }
    assert_eq!(server.stats().requests["read"].failed, 6);
}

#[test]
fn real_time_passes_on_a_disk_and_not_when_unbounded() {
    for (speed, is_real) in [(Speed::Times(1.0), true), (Speed::Unbounded, false)] {
        let server = serve("sata-7k2", speed);
        let began = std::time::Instant::now();
        for number in 0..5 {
            ask(
                &server,
                HostRequestKind::Read,
                number * 40_000_000_000 % server.capacity_bytes() / 512 * 512,
                4096,
                &[],
            )
            .unwrap();
        }
        let (passed, drive_ns) = (began.elapsed().as_nanos() as u64, server.stats().drive_ns);
        assert!(drive_ns > 10_000_000, "five seeks took {drive_ns} ns");
        assert_eq!(passed >= 10_000_000, is_real, "{passed} ns for {drive_ns} ns of the drive");
    }
}

#[test]
fn a_saved_state_continues_and_another_profile_refuses_it() {
    for name in ["intel-x25e-64gb", "sata-7k2", "optane-16gb"] {
        let server = serve(name, Speed::Unbounded);
        for page in 0..50 {
            ask(&server, HostRequestKind::Write, page * PAGE * 3, PAGE, &[page as u8; PAGE as usize]).unwrap();
        }
        let state = server.save().unwrap();
        let before = server.stats();
        let options = ServerOptions { state: Some(state.clone()), data: None, speed: Speed::Unbounded, spins: false };
        let again = Server::new(profile(name), &options).unwrap();
        assert_eq!(before.counters, again.stats().counters, "{name}");
        ask(&again, HostRequestKind::Write, 0, PAGE, &[1; PAGE as usize]).unwrap();
        assert!(Server::new(profile("samsung-pm1635-400gb"), &options).is_err());
        mileage_drive::Drive::restored(profile(name), &state).unwrap();
    }
}

#[test]
fn ageing_wears_the_drive_and_leaves_its_data() {
    let server = serve("intel-x25e-64gb", Speed::Times(1.0));
    ask(&server, HostRequestKind::Write, 0, PAGE, &[7; PAGE as usize]).unwrap();
    let before = server.stats().counters["host_bytes_written"];
    assert_eq!(server.age(64 << 20, 1, &mut |_| false).unwrap(), 64 << 20);
    assert_eq!(server.stats().counters["host_bytes_written"] - before, 64 << 20);
    assert_eq!(ask(&server, HostRequestKind::Read, 0, PAGE, &[]).unwrap(), [7; PAGE as usize]);
}

#[test]
fn damage_and_stall_and_drop_off_end_as_documented() {
    let server = serve("intel-x25e-64gb", Speed::Unbounded);
    assert_eq!(server.damage(0, 512).unwrap(), 1);
    assert_eq!(ask(&server, HostRequestKind::Read, 0, PAGE, &[]), Err(Failure::Io));
    assert!(ask(&server, HostRequestKind::Read, 512, 512, &[]).is_ok());
    ask(&server, HostRequestKind::Write, 0, 512, &[3; 512]).unwrap();
    assert_eq!(ask(&server, HostRequestKind::Read, 0, 512, &[]).unwrap(), [3; 512]);
    server.drop_off().unwrap();
    assert_eq!(ask(&server, HostRequestKind::Read, 0, 512, &[]), Err(Failure::Io));
    server.power_on().unwrap();
    assert_eq!(ask(&server, HostRequestKind::Read, 0, 512, &[]).unwrap(), [3; 512]);
}

#[test]
fn stall_ends_by_the_clock_of_the_host_at_every_speed() {
    for speed in [Speed::Unbounded, Speed::Times(0.001), Speed::Times(1000.0)] {
        let server = serve("optane-16gb", speed);
        let stall = std::time::Duration::from_millis(30);
        let began = std::time::Instant::now();
        server.stall(stall);
        ask(&server, HostRequestKind::Read, 0, 512, &[]).unwrap();
        assert!(began.elapsed() >= stall, "{speed:?}");
    }
    let server = serve("optane-16gb", Speed::Unbounded);
    server.stall(std::time::Duration::from_secs(3600));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&server, HostRequestKind::Read, 0, 512, &[]));
        while server.stats().outstanding == 0 {
            std::thread::yield_now();
        }
        server.heal();
        asked.join().unwrap().unwrap();
    });
}

#[test]
fn recent_lateness_is_that_since_it_was_asked_for() {
    let server = serve("optane-16gb", Speed::Times(1.0));
    let read = |times| (0..times).for_each(|_| drop(ask(&server, HostRequestKind::Read, 0, 512, &[]).unwrap()));
    read(3);
    assert_eq!(server.recent_lateness().answers, 3);
    read(2);
    let recent = server.recent_lateness();
    assert_eq!((recent.answers, server.recent_lateness().answers), (2, 0));
    assert!(recent.max_ns <= server.stats().lateness.max_ns);
    assert_eq!(server.stats().lateness.answers, 5);
}

#[test]
fn the_modelled_time_of_requests_is_that_of_the_drive() {
    let kinds = [HostRequestKind::Read, HostRequestKind::Write];
    for (speed, slower) in [(1.0, 1), (0.1, 10)] {
        let server = serve("optane-16gb", Speed::Times(speed));
        let mut drive = Drive::new(profile("optane-16gb"));
        for (kind, same) in kinds.into_iter().zip([RequestKind::Read, RequestKind::Write]) {
            ask(&server, kind, 0, PAGE, &[0; PAGE as usize]).unwrap();
            let submit_ns = drive.now_ns() + 1_000_000;
            let request = Request { kind: same, fua: false, offset_bytes: 0, length_bytes: PAGE, submit_ns };
            let mut out = Vec::new();
            drive.submit(&[request], &mut out);
            let expected_ns = (out[0].complete_ns - submit_ns) * slower;
            let found = server.recent_lateness();
            let modelled_ns = found.modelled_ns_mean.expect("an answer");
            assert!(modelled_ns.abs_diff(expected_ns) <= slower, "{same:?} {speed}: {modelled_ns} and {expected_ns}");
            assert_eq!(found.mean_ns, found.max_ns, "of one answer");
        }
        assert_eq!(server.recent_lateness().mean_ns, None);
    }
}

#[test]
fn damage_that_is_not_of_whole_sectors_of_the_drive_is_refused() {
    let server = serve("plain-64gib", Speed::Unbounded);
    let end = server.capacity_bytes();
    for (at, length) in [(1, 512), (0, 100), (end, 512), (end - 512, 1024), (u64::MAX - 511, 512), (0, 0)] {
        let refusal = server.damage(at, length).unwrap_err().to_string();
        assert!(refusal.contains("expected whole sectors of 512 bytes"), "{refusal}");
    }
    assert_eq!(server.damage(end - 4096, 4096).unwrap(), 8);
    assert_eq!(server.heal(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Compared with a plain array of bytes.
    #[test]
    fn reads_return_what_was_written(
        steps in prop::collection::vec((0_u8..5, 0_u64..600, 1_u64..300, any::<u8>()), 1..60),
        disk in any::<bool>(),
    ) {
        let server = serve(if disk { "sata-7k2" } else { "samsung-pm1635-400gb" }, Speed::Unbounded);
        let mut model = vec![0_u8; 1024 * 512];
        for (kind, from, sectors, fill) in steps {
            let (at, length) = (from * 512, sectors * 512);
            let range = at as usize..(at + length) as usize;
            match kind {
                0 | 1 => {
                    ask(&server, HostRequestKind::Write, at, length, &vec![fill; length as usize]).unwrap();
                    model[range].fill(fill);
                }
                2 => {
                    ask(&server, HostRequestKind::WriteZeroes, at, length, &[]).unwrap();
                    model[range].fill(0);
                }
                3 if !disk => {
                    ask(&server, HostRequestKind::Discard, at, length, &[]).unwrap();
                    model[range].fill(0);
                }
                _ => {
                    let found = ask(&server, HostRequestKind::Read, at, length, &[]).unwrap();
                    prop_assert!(found == model[range], "sectors {from} + {sectors}");
                }
            }
        }
    }
}
