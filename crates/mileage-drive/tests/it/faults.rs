//! Drives with faults, against the same drive without any and a plain list of the windows in which it is silent.

use crate::drives::{Sketch, request, workload};
use mileage_drive::conformance::{self, Requests, completions};
use mileage_drive::{
    Device, Drive, FlashProfile, Immediate, Life, ManagedImmediate, PowerCutError, Refusal, Request, RequestKind,
    Status,
};
use mileage_measure::RunRecord;
use mileage_workload::{PatternKind, Workload};

const STALL: [(&str, &str); 2] = [("stall_s", "0.002"), ("stall_every_s", "0.007")];
const LOST: [(&str, &str); 2] = [("lost_command_every", "5"), ("command_timeout_s", "0.05")];
const SEED: (&str, &str) = ("fault_seed", "7");

fn faulty(more: &[(&'static str, &'static str)]) -> Drive {
    Drive::new(Sketch::tiny().with(more).profile())
}

fn run(drive: &mut Drive, wanted: &Workload) -> RunRecord {
    drive.run_unobserved(wanted).unwrap()
}

#[test]
fn a_drive_that_stalls_is_a_block_device() {
    let buffered = Sketch { buffer: 8, ..Sketch::tiny() };
    let idle = [("gc_idle_free_blocks", "3"), ("gc_idle_after_us", "100.0")];
    for sketch in [Sketch::tiny(), buffered, Sketch { blocks: 14, ..Sketch::tiny() }.with(&idle)] {
        let profile = sketch.with(&STALL).with(&[SEED]).profile();
        conformance::check(44, 8, || Drive::new(profile.clone()));
    }
}

/// The ends of the windows in which a drive that stalls at the end of each 7 ms for 2 ms is silent, looked up in a list.
fn after_stalls(windows: &[(u64, u64)], at_ns: u64) -> u64 {
    windows.iter().find(|(from, to)| (*from..*to).contains(&at_ns)).map_or(at_ns, |(_, to)| *to)
}

#[test]
fn a_stalled_drive_is_the_sound_one_with_its_times_moved_out_of_the_stalls() {
    let windows: Vec<(u64, u64)> = (1..5000).map(|end| (end * 7_000_000 - 2_000_000, end * 7_000_000)).collect();
    for seed in 0..20 {
        let (mut sound, mut stalling) = (Sketch::tiny().drive(), faulty(&STALL));
        let requests = Requests::new(seed, &sound).take(400);
        let found = completions(&mut stalling, &requests);
        let mut waited_ns = 0;
        for (request, found) in requests.iter().zip(found) {
            let begins_ns = after_stalls(&windows, request.submit_ns);
            let plain = sound.submit_one(&Request { submit_ns: begins_ns, ..*request });
            assert_eq!(found.complete_ns, after_stalls(&windows, plain.complete_ns), "seed {seed}");
            waited_ns += begins_ns - request.submit_ns + (found.complete_ns - plain.complete_ns);
        }
        let counters = stalling.named_counters();
        assert!(waited_ns > 0 && counters.contains(&("stall_wait_ns", waited_ns)), "seed {seed}");
    }
}

/// A window is found wherever nothing is answered: with a seed there is one of its length in every period.
#[test]
fn drawn_stalls_are_one_in_every_period_and_differ_with_the_seed() {
    let silences = |seed: &'static str| {
        let mut drive = faulty(&[STALL[0], STALL[1], ("fault_seed", seed)]);
        // Reading what was never written takes 11 us: a read every 200 us shows when the drive was silent.
        let asked = (0..1050).map(|step| request(RequestKind::Read, 0, 4096, step * 200));
        let mut silences: Vec<(u64, u64)> = Vec::new();
        for request in asked {
            let answered_ns = drive.submit_one(&request).complete_ns;
            if answered_ns - request.submit_ns > 1_000_000
                && silences.last().is_none_or(|last| last.1 < request.submit_ns)
            {
                silences.push((request.submit_ns, answered_ns));
            }
        }
        silences
    };
    let (one, other) = (silences("1"), silences("2"));
    assert_eq!(one, silences("1"));
    assert_ne!(one, other);
    assert!((28..=30).contains(&one.len()), "{}", one.len());
    let in_turn = one.iter().enumerate().filter(|(period, (from, _))| from / 7_000_000 == *period as u64).count();
    assert!(in_turn + 2 >= one.len(), "{one:?}");
}

/// Of every five commands one is lost, changes nothing, and is given up after 50 ms; the others are as without it.
#[test]
fn a_lost_command_never_reached_the_drive() {
    for seed in [None, Some(SEED)] {
        let (mut sound, mut losing) = (Sketch::tiny().drive(), faulty(&LOST));
        if let Some(seed) = seed {
            losing = faulty(&[LOST[0], LOST[1], seed]);
        }
        let requests = Requests::new(3, &sound).take(500);
        let found = completions(&mut losing, &requests);
        let lost = |found: &mileage_drive::Completion| found.status == Status::TimedOut { timeout_ns: 50_000_000 };
        for five in found.chunks(5) {
            assert_eq!(five.iter().filter(|found| lost(found)).count(), 1);
        }
        assert_eq!(found.iter().skip(4).step_by(5).all(lost), seed.is_none(), "without a seed the last of five");
        for (request, found) in requests.iter().zip(&found) {
            if lost(found) {
                assert_eq!(found.complete_ns, request.submit_ns + 50_000_000);
            } else {
                assert_eq!(*found, sound.submit_one(request));
            }
        }
        sound.advance_to(losing.now_ns());
        let Device::FaultyFlash(faulty) = losing.device() else { unreachable!("it loses commands") };
        assert_eq!(faulty.inner().inner().save().len(), sound.save().len());
        assert!(losing.named_counters().contains(&("commands_lost", 100)));
    }
}

#[test]
fn a_drive_that_drops_off_fails_what_is_in_flight_and_refuses_the_rest() {
    let gone_ns = 3_000_000;
    let (mut sound, mut dropping) = (Sketch::tiny().drive(), faulty(&[("drop_off_s", "0.003")]));
    let requests = Requests::new(5, &sound).take(300);
    let (mut done, mut in_flight, mut refused) = (0, 0, 0);
    for (request, found) in requests.iter().zip(completions(&mut dropping, &requests)) {
        let plain = sound.submit_one(request);
        if request.submit_ns >= gone_ns {
            assert_eq!(found.status, Status::Refused(Refusal::DroppedOff { at_ns: gone_ns }));
            assert_eq!(found.complete_ns, request.submit_ns);
            refused += 1;
        } else if plain.complete_ns > gone_ns {
            assert_eq!((found.complete_ns, found.status), (gone_ns, Status::DroppedOff { at_ns: gone_ns }));
            in_flight += 1;
        } else {
            assert_eq!(found, plain);
            done += 1;
        }
    }
    assert!(done > 0 && in_flight > 0 && refused > 0, "{done} {in_flight} {refused}");
    assert!(dropping.named_counters().contains(&("commands_dropped", in_flight)));
    dropping.advance_to(gone_ns);
    assert_eq!(dropping.life(), Life::DroppedOff);
    let state = dropping.save();
    dropping.power_cycle();
    dropping.purge();
    dropping.discard_all();
    assert!(dropping.save() == state, "nothing brings it back");
    assert_eq!(dropping.power_cut(gone_ns), Ok(Vec::new()), "nothing is volatile");
    assert_eq!(dropping.life(), Life::DroppedOff);
}

/// A write whose answer a stall holds back is not acknowledged: a cut in the stall loses it without breaking a promise. A
/// command that waits for the end of a stall may not have reached the drive: a cut before that is refused.
#[test]
fn a_power_cut_counts_as_lost_what_the_faults_let_the_host_know() {
    let more = [("write_buffer_power", "\"volatile\""), ("stall_s", "0.002"), ("stall_every_s", "0.01")];
    let volatile = Sketch { buffer: 8, ..Sketch::tiny() };
    let mut sound = volatile.clone().with(&more[..1]).drive();
    let mut faulty = Drive::new(volatile.with(&more).profile());
    // The stall is the last 2 of each 10 ms; the write ends 2 us after its beginning.
    let write = Request { fua: false, ..request(RequestKind::Write, 0, 4096, 7_998) };
    let done_ns = sound.submit_one(&write).complete_ns;
    let cut_ns = done_ns + 1000;
    assert_eq!(faulty.submit_one(&write).complete_ns, 10_000_000, "the answer waits for the end of the stall");
    assert_eq!(sound.power_cut(cut_ns).unwrap().len(), 1);
    assert_eq!(faulty.clone().power_cut(cut_ns), Ok(Vec::new()));
    faulty.submit_one(&Request { submit_ns: cut_ns, ..write });
    let error = faulty.clone().power_cut(cut_ns + 1).unwrap_err();
    assert_eq!(error, PowerCutError::Stalled { at_ns: cut_ns + 1, until_ns: 10_000_000 });
    assert!(error.to_string().contains("expected 10000000 ns"), "{error}");
    assert!(faulty.power_cut(10_100_000).is_ok());
}

/// All three at once: the record names what ended the run, and holds all that came before, silence included.
#[test]
fn a_run_ends_with_its_first_failure_and_keeps_what_it_measured() {
    let wanted = workload(PatternKind::Random, 0, 64 * 4096, 1e4, 1);
    let mut drive = faulty(&[STALL[0], STALL[1], ("lost_command_every", "3000"), ("command_timeout_s", "0.5")]);
    let record = run(&mut drive, &wanted);
    let error = record.error.unwrap();
    assert_eq!(error.kind, "ETIMEDOUT");
    assert!(error.message.contains("did not answer within 0.5 s"), "{}", error.message);
    // The 31 others in the queue continue until the host notices.
    assert!(record.ops_written > 3000 && record.counters["commands_lost"] >= 1, "{}", record.ops_written);
    assert!(record.counters["commands_stalled"] > 0 && record.latency.write.max_ns > 2_000_000);
    assert_eq!(record.series.ops.iter().sum::<u64>(), record.ops_written);
    assert!(record.durable_ns >= 500_000_000);

    let mut drive = faulty(&[STALL[0], STALL[1], ("drop_off_s", "0.1")]);
    let record = run(&mut drive, &wanted);
    let error = record.error.unwrap();
    assert_eq!(error.kind, "ENODEV");
    assert!(error.message.contains("dropped off 0.1 s after"), "{}", error.message);
    assert_eq!((record.durable_ns, drive.now_ns()), (100_000_000, 100_000_000));
    assert!(record.ops_written > 500 && record.counters["commands_dropped"] > 0);
    assert!(record.series.counters.contains_key("free_blocks") && record.series.counters.contains_key("stall_wait_ns"));
    let again = run(&mut drive, &wanted);
    assert_eq!((again.ops_written, again.error.unwrap().kind.as_str()), (0, "ENODEV"));
}

#[test]
fn a_drive_without_faults_is_flash_and_nothing_else() {
    assert!(matches!(faulty(&[]).device(), Device::Flash(_)));
    let names = faulty(&[]).counter_names().len();
    assert_eq!(faulty(&STALL).counter_names().len(), names + 4);
    assert!(std::ptr::eq(faulty(&STALL).counter_names(), faulty(&LOST).counter_names()), "made once");
}

#[test]
fn faults_without_effect_are_refused() {
    for (more, found) in [
        (vec![STALL[0]], "stall_every_s with it"),
        (vec![STALL[1]], "stall_s with it"),
        (vec![STALL[0], ("stall_every_s", "0.002")], "less than stall_every_s"),
        (vec![("stall_s", "0.0"), STALL[1]], "seconds from"),
        (vec![LOST[0]], "command_timeout_s with it"),
        (vec![LOST[1]], "lost_command_every with it"),
        (vec![("lost_command_every", "0"), LOST[1]], "at least 1"),
        (vec![SEED], "nothing is drawn"),
        (vec![SEED, ("drop_off_s", "1.0")], "nothing is drawn"),
        (vec![("drop_off_s", "-1.0")], "seconds from"),
    ] {
        let error = FlashProfile::parse(&Sketch::tiny().with(&more).text()).unwrap_err().to_string();
        assert!(error.contains(found) && !error.contains('\n'), "{found}: {error}");
    }
}
