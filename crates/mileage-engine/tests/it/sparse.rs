//! A file far larger than memory, visited in no order, takes no memory for the order.

use crate::scratch::{file_of, for_seconds, plain};
use mileage_engine::{Options, RunResult};
use mileage_workload::{PatternKind, Workload};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const SPAN_BYTES: u64 = 1 << 40;
const PROMISED_KIB: u64 = 50 << 10;

/// Most memory that a process ever had resident, in KiB, as long as it is there.
fn resident_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[test]
fn a_permutation_of_a_tebibyte_takes_less_than_50_mib() {
    let test = "a_permutation_of_a_tebibyte_takes_less_than_50_mib";
    let example: PathBuf =
        std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples/one_run");
    let (folder, path) = file_of(4096);
    let sparse = std::fs::File::options().write(true).open(&path).unwrap().set_len(SPAN_BYTES);
    if sparse.is_err() || !example.exists() {
        eprintln!("skipped {test}: no sparse file of 1 TiB here ({sparse:?}), or no {}", example.display());
        return;
    }
    for threads in [1, 4] {
        let workload = Workload {
            pattern: PatternKind::Shuffled,
            read_percent: 100,
            span_bytes: SPAN_BYTES,
            threads,
            stop: for_seconds(1),
            ..plain()
        };
        let json = (serde_json::to_string(&workload).unwrap(), serde_json::to_string(&Options::new(&path)).unwrap());
        // Into a file: a pipe would hold the process up once it is full, while only its memory is looked at.
        let output = folder.path().join("record");
        let stdout = std::fs::File::create(&output).unwrap();
        let mut child = Command::new(&example).arg(&path).args([json.0, json.1]).stdout(stdout).spawn().unwrap();
        let mut most_kib = 0;
        while child.try_wait().unwrap().is_none() {
            most_kib = most_kib.max(resident_kib(child.id()).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(5));
        }
        let finished: RunResult = serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
        assert!(finished.record.error.is_none() && finished.record.ops_read > 1000, "{:?}", finished.record.error);
        eprintln!("{threads} threads: {} MiB after {} records", most_kib >> 10, finished.record.ops_read);
        assert!(most_kib > 0 && most_kib < PROMISED_KIB, "{most_kib} KiB resident with {threads} threads");
    }
}
