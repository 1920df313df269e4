//! The contract of execution, judged by its own suite on real files.

use crate::scratch::{file_of, finish, has_direct, start_observed};
use mileage_engine::{Api, Options};
use mileage_workload::conformance::{Log, Scope, check};
use mileage_workload::{Completion, Observer, Workload};
use std::sync::mpsc::{Sender, channel};

pub const TARGET_BYTES: u64 = 4 << 20;

struct Witness(Sender<Completion>);

impl Observer for Witness {
    fn completed(&mut self, completion: &Completion) {
        self.0.send(*completion).unwrap();
    }
}

pub fn drive(workload: &Workload, options: Options) -> Log {
    let (sender, receiver) = channel();
    let handle = start_observed(workload.clone(), options, |_| Witness(sender.clone())).unwrap();
    drop(sender);
    let finished = finish(&handle).unwrap();
    assert_eq!(finished.record.error, None);
    Log(receiver.into_iter().collect())
}

pub fn seed() -> u64 {
    let seed = std::env::var("MILEAGE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_100_101);
    eprintln!("MILEAGE_SEED={seed}");
    seed
}

/// How many of `full` random workloads are tested: a third, or all with `MILEAGE_TEST_PROFILE=thorough`.
pub fn cases(full: u64) -> u64 {
    if std::env::var_os("MILEAGE_TEST_PROFILE").is_some_and(|profile| profile == "thorough") { full } else { full / 3 }
}

#[test]
fn through_the_page_cache() {
    let (_folder, path) = file_of(TARGET_BYTES as usize);
    check(seed(), cases(200), &Scope::whole(TARGET_BYTES, 1), |workload| drive(workload, Options::new(&path)));
}

#[test]
fn past_the_page_cache() {
    if !has_direct("past_the_page_cache", 512) {
        return;
    }
    let (_folder, path) = file_of(TARGET_BYTES as usize);
    let scope = Scope::whole(TARGET_BYTES, 1);
    check(seed(), 60, &scope, |workload| drive(workload, Options { direct: true, ..Options::new(&path) }));
}

#[test]
fn through_every_api_of_one_operation_at_a_time() {
    let (_folder, path) = file_of(TARGET_BYTES as usize);
    for api in [Api::Seek, Api::Vectored { parts: 4 }, Api::Mmap, Api::Stdio { buffer_bytes: 3000 }, Api::Null] {
        // The one thing that a stream cannot do is refused, and tested elsewhere.
        let discards = !matches!(api, Api::Stdio { .. });
        let scope = Scope { discards, ..Scope::whole(TARGET_BYTES, 1) };
        check(seed(), 40, &scope, |workload| drive(workload, Options { api, ..Options::new(&path) }));
    }
}
