//! A workload that cannot be done is refused with what was found and what is expected.

use mileage_workload::{AccessLine, Content, Error, PatternKind, Stop, Sync, Workload};

pub fn plain() -> Workload {
    Workload {
        pattern: PatternKind::Sequential,
        read_percent: 0,
        record_bytes: 4096,
        span_start_bytes: 0,
        span_bytes: 1 << 20,
        depth: 1,
        threads: 1,
        stop: Stop { bytes: Some(1 << 20), ..Stop::default() },
        seed: 1,
        content: Content::Incompressible,
        sync: Sync::None,
        sync_timed: false,
        ..Workload::default()
    }
}

fn refusal(change: impl FnOnce(&mut Workload)) -> String {
    let mut workload = plain();
    change(&mut workload);
    workload.check().unwrap_err().to_string()
}

#[test]
fn each_rule_has_its_sentence() {
    assert_eq!(plain().check(), Ok(()));
    assert_eq!(refusal(|w| w.record_bytes = 0), "record_bytes is 0: expected 1 to 1073741824");
    assert_eq!(
        refusal(|w| w.span_bytes += 512),
        "span_bytes is 1049088 bytes, not a multiple of 4096 bytes (4 KiB): choose a size that divides evenly"
    );
    assert_eq!(refusal(|w| w.depth = 0), "depth is 0: expected 1 to 4096");
    assert_eq!(refusal(|w| w.read_percent = 101), "read_percent is 101: expected 0 to 100");
    assert_eq!(refusal(|w| w.threads = 1025), "threads is 1025: expected 1 to 1024");
    assert_eq!(
        refusal(|w| w.threads = 300),
        "span_bytes, in records, one for each thread at least, is 256: expected 300 to 1099511627776"
    );
    assert_eq!(refusal(|w| w.stop = Stop::default()), Error::Endless.to_string());
}

#[test]
fn each_refusal_has_the_path_of_a_field() {
    let parts = |change: fn(&mut Workload)| {
        let mut workload = plain();
        change(&mut workload);
        let error = workload.check().unwrap_err();
        (error.field(), error.reason())
    };
    let owned = |field: &str, reason: &str| (field.to_owned(), reason.to_owned());
    assert_eq!(parts(|w| w.depth = 0), owned("depth", "0: expected 1 to 4096"));
    assert_eq!(
        parts(|w| w.threads = 300),
        owned("span_bytes", "256: expected 300 to 1099511627776 (in records, one for each thread at least)")
    );
    assert_eq!(
        parts(|w| (w.threads, w.stop.operations) = (8, Some(4))),
        owned("stop.operations", "4: expected 8 or more (one for each thread at least)")
    );
    assert_eq!(
        parts(|w| {
            let line = AccessLine {
                size_bytes: 4096,
                share_percent: 50,
                read_percent: 100,
                random_percent: 0,
                delay_ms: 0,
                burst: 1,
                align_bytes: 0,
            };
            w.read_percent = 100;
            w.pattern = PatternKind::Access { lines: [line, AccessLine { size_bytes: 0, ..line }].into() };
        }),
        owned("pattern.access.lines[1].size_bytes", "0: expected 1 to 1073741824")
    );
    assert_eq!(parts(|w| w.stop = Stop::default()).0, "stop");
}

#[test]
fn json_round_trips_and_names_a_misspelt_key() {
    let text = serde_json::to_string(&plain()).unwrap();
    assert_eq!(serde_json::from_str::<Workload>(&text).unwrap(), plain());
    let message = serde_json::from_str::<Workload>(&text.replace("depth", "dept")).unwrap_err().to_string();
    assert!(message.starts_with("unknown field `dept`"), "{message}");
}
