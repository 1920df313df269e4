//! Cells that err: what a read costs, what it fails with, and what is refused.

use crate::drives::{Sketch, counter, request, submit, workload};
use mileage_drive::{FlashProfile, Immediate, RequestKind, Status, run};
use mileage_workload::{NoObserver, PatternKind};

const CODE: [(&str, &str); 2] = [("ecc_codeword_bytes", "1024"), ("ecc_correctable_bits", "24")];
const AGAIN: [(&str, &str); 2] = [("read_retries_max", "3"), ("read_retry_leaves", "0.01")];

fn drawn(rate: &'static str) -> Sketch {
    Sketch::tiny().with(&[("bit_error_rate", rate)]).with(&CODE)
}

/// 1 us of the controller, 50 in the cells, 20 on the channel, 10 on the link; each time again 70 more.
#[test]
fn reading_again_takes_an_array_read_and_a_transfer() {
    for (rate, times, read_us) in [("1e-9", 0, 81), ("0.1", 1, 151)] {
        let mut drive = drawn(rate).with(&AGAIN).drive();
        submit(&mut drive, request(RequestKind::Write, 0, 4096, 0));
        let done_ns = submit(&mut drive, request(RequestKind::Read, 0, 4096, 1000));
        assert_eq!((done_ns, counter(&drive, "read_retries")), (1_000_000 + read_us * 1000, times), "{rate}");
    }
}

#[test]
fn a_read_that_cannot_be_corrected_fails_by_name_and_ends_a_run() {
    let mut drive = drawn("0.1").drive();
    submit(&mut drive, request(RequestKind::Write, 8192, 4096, 0));
    let read = request(RequestKind::Read, 4096, 3 * 4096, 1000);
    let completion = drive.submit_one(&read);
    assert_eq!(completion.status, Status::Uncorrectable { offset_bytes: 8192 });
    assert!(completion.complete_ns > 1_000_000 && completion.status.failure().unwrap().contains("byte 8192"));
    // What was never written has no bits to be wrong.
    assert_eq!(drive.submit_one(&request(RequestKind::Read, 0, 4096, 2000)).status, Status::Done);
    let half_read = workload(PatternKind::Random, 50, 64 * 4096, 10.0, 1);
    let record = run(&mut drive, &half_read, &mut NoObserver, &mut |_, _| false).unwrap();
    assert!(record.ops_written > 0 && record.error.unwrap().message.contains("could not read"));
}

#[test]
fn what_has_no_effect_on_errors_is_refused() {
    let rate = ("bit_error_rate", "0.001");
    for (more, found) in [
        (vec![CODE[0]], "bit_error_rate; without it"),
        (vec![rate], "ecc_codeword_bytes and"),
        (vec![("bit_error_rate", "0.5"), CODE[0], CODE[1]], "0.5: expected"),
        (vec![rate, ("ecc_codeword_bytes", "1000"), CODE[1]], "part of page_bytes"),
        (vec![rate, CODE[0], CODE[1], ("bit_error_rate_worn", "0.01")], "pe_cycles or cell"),
        (vec![rate, CODE[0], CODE[1], AGAIN[0]], "read_retry_leaves"),
        (vec![rate, CODE[0], CODE[1], AGAIN[1]], "neither without the other"),
        (vec![rate, CODE[0], CODE[1], ("mapping", "\"block\"")], "mapping page"),
        (
            vec![rate, CODE[0], CODE[1], ("bit_error_growth_per_year", "1.0"), ("frontiers", "\"hot-cold\"")],
            "frontiers shared",
        ),
    ] {
        let error = FlashProfile::parse(&Sketch::tiny().with(&more).text()).unwrap_err().to_string();
        assert!(error.contains(found) && !error.contains('\n'), "{found}: {error}");
    }
}
