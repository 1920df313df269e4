//! Save and restore: what continues, what is refused, and what it costs.

use crate::drives::{PLAIN, Sketch, X25E, do_workload, forge, workload};
use mileage_drive::conformance::{Requests, completions};
use mileage_drive::{Drive, FlashDrive, FlashProfile, Immediate, Profile, StateError};
use mileage_workload::PatternKind::Random;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_restored_drive_continues_byte_for_byte(
        seed in any::<u64>(), before in 0_usize..600, after in 1_usize..300, channels in 1_u32..4, buffer in 0_u32..9, queue in 1_u32..40
    ) {
        let sketch = Sketch { channels, dies: 1, blocks: 12, buffer, queue, ..Sketch::tiny() }.with_spare(0.6);
        let mut drive = sketch.drive();
        let mut requests = Requests::new(seed, &drive);
        completions(&mut drive, &requests.take(before));
        let mut other = FlashDrive::restored(sketch.profile(), &drive.save()).unwrap();
        let next = requests.take(after);
        prop_assert_eq!(completions(&mut drive, &next), completions(&mut other, &next));
        prop_assert_eq!(drive.save(), other.save());
        prop_assert_eq!(drive.named_counters(), other.named_counters());
    }

    /// Bytes changed at random with the checksum made right again: refused or taken, but never a panic, and what
    /// was taken still works.
    #[test]
    fn a_forged_state_never_panics(seed in any::<u64>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let sketch = Sketch::tiny();
        forge(&sketch, seed, |body| changes.into_iter().map(|(at, value)| (at.index(body), value)).collect());
    }

    #[test]
    fn random_bytes_are_no_state(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Sketch::tiny().drive().restore(&bytes).is_err());
    }
}

#[test]
fn every_refusal_says_what_is_wrong() {
    let mut drive = Sketch::tiny().drive();
    do_workload(&mut drive, &workload(Random, 0, 64 * 4096, 3.0, 1));
    let state = drive.save();
    let changed = |at: usize, value: u8| {
        let mut state = state.clone();
        state[at] = value;
        state
    };
    let refused = |bytes: &[u8]| Sketch::tiny().drive().restore(bytes).unwrap_err();
    assert_eq!(refused(b""), StateError::NotAState { found: String::new(), expected: "MILEDRIV" });
    assert_eq!(
        refused(&changed(0, b'X')),
        StateError::NotAState { found: "XILEDRIV".to_owned(), expected: "MILEDRIV" }
    );
    let version = u64::from_le_bytes(*state[8..].first_chunk().unwrap());
    assert_eq!(refused(&changed(8, 99)), StateError::OtherVersion { found: 99, expected: version });
    assert_eq!(refused(&state[..20]), StateError::Truncated { found: 20, expected: 24 });
    assert!(matches!(refused(&state[..state.len() - 1]), StateError::Checksum { .. }));
    assert!(matches!(refused(&changed(state.len() - 3, 0xEE)), StateError::Checksum { .. }));
    let other = Sketch { program_us: 201.0, ..Sketch::tiny() };
    let error = other.drive().restore(&state).unwrap_err();
    assert_eq!(error, StateError::OtherProfile { expected: "sketch".to_owned() });
    for error in [refused(b""), refused(&state[..20]), refused(&changed(8, 99)), error] {
        let text = error.to_string();
        assert!(text.len() > 20 && !text.contains('\n'), "{text}");
    }
}

#[test]
fn a_new_drive_is_a_small_state() {
    for text in [PLAIN, X25E] {
        let mut drive = FlashDrive::new(FlashProfile::parse(text).unwrap());
        assert!(drive.save().len() < 10_000, "{}", drive.save().len());
        // A hundredth written: a small state still.
        let span_bytes = drive.capacity_bytes();
        do_workload(&mut drive, &workload(Random, 0, span_bytes, 0.01, 1));
        let bytes = drive.save().len() as u64;
        assert!(bytes < 16 * drive.mapped_pages() + 10_000, "{bytes}");
    }
}

/// States that a release before this one wrote are refused by their version, whatever the kind of the device.
#[test]
fn a_state_of_before_is_refused_by_its_version() {
    let flash = Sketch::tiny();
    let faulty = flash.clone().with(&[("drop_off_s", "1.0")]);
    let first = flash.clone().with(&[("scheduling", "\"read-priority\"")]);
    let named = |name: &str| {
        let path = format!("{}/../../profiles/drives/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        Profile::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    for (profile, version) in [
        (flash.profile().into(), 11),
        (faulty.profile().into(), 2),
        (first.profile().into(), 2),
        (named("optane-16gb"), 2),
        (named("sas-15k"), 2),
        (named("seagate-archive-8tb"), 2),
    ] {
        let mut state = Drive::new(profile.clone()).save();
        state[8..16].copy_from_slice(&(version - 1_u64).to_le_bytes());
        let error = Drive::restored(profile, &state).unwrap_err();
        assert_eq!(error, StateError::OtherVersion { found: version - 1, expected: version });
    }
}
