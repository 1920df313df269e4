//! Saved states: what is refused, and a host above a drive that was used before.

use crate::calls::{do_run, small_host, workload};
use crate::conservation::started;
use crate::profiles::{drive_with, host};
use mileage_drive::{Drive, Immediate};
use mileage_host::{Host, HostStateError};
use mileage_workload::PatternKind;

#[test]
fn a_damaged_state_and_one_of_another_host_are_refused() {
    let mut host = started("ext4");
    let state = host.save();
    for at in [0, 9, 17, 30, 60, state.len() / 2, state.len() - 1] {
        let mut damaged = state.clone();
        damaged[at] ^= 0x40;
        host.restore(&damaged).expect_err("a damaged state");
    }
    host.restore(&state[..state.len() / 2]).expect_err("half a state");
    assert_eq!(host.save(), state, "a refused state changes nothing");
    let mut other = small_host(&[("commit_s", "7")]);
    assert!(matches!(other.restore(&state), Err(HostStateError::OtherProfile { .. })));
}

#[test]
fn a_host_on_a_used_drive_continues_with_its_counters_and_its_mapping() {
    let profile = drive_with("plain-64gib", &[("capacity_bytes", "1073741824"), ("blocks_per_plane", "64")]);
    let mut used = Drive::new(profile.clone());
    let mut age = workload(0, 4096, 1 << 30);
    age.pattern = PatternKind::Random;
    used.run_unobserved(&workload(0, 1 << 20, 1 << 30)).expect("a filled drive");
    used.run_unobserved(&age).expect("an aged drive");
    let state = used.save();
    let amplification = |host: &mut Host| {
        host.make_work_file(64 << 20).expect("a work file");
        let mut write = workload(0, 4096, 64 << 20);
        write.pattern = PatternKind::Random;
        let counters = do_run(host, &write, true).counters;
        counters["flash_bytes_programmed"] as f64 / counters["host_bytes_written"] as f64
    };
    let restored = Drive::restored(profile.clone(), &state).expect("its own state");
    let above = || host("server-2025", &[("journal_bytes", "16777216")]);
    let mut on_used = Host::on_used_drive(above(), restored);
    for (name, value) in used.named_counters() {
        let found = on_used.named_counters().iter().rev().find(|(other, _)| *other == name).map(|(_, value)| *value);
        assert_eq!(found, Some(value), "{name}");
    }
    let mut on_new = Host::on_used_drive(above(), Drive::new(profile));
    let (worn, fresh) = (amplification(&mut on_used), amplification(&mut on_new));
    println!("write amplification {worn:.2} on the used drive, {fresh:.2} on a new one");
    assert!(worn > 1.3 && fresh < 1.01, "{worn} {fresh}");
    let resumed = on_used.save();
    on_new.restore(&resumed).expect("the state of the same host and drive");
    assert_eq!(on_new.save(), resumed);
}
