//! Notes for the reader of a metadata run's figures: leftovers, a file system with a known trap, a rate that was not
//! steady.

use super::run_state::SharedState;
use super::worker_result::Part;
use mileage_measure::{RunRecord, SeriesData};
use mileage_workload::MetadataOp;
use rustix::fs::{major, minor};
use std::path::Path;

/// `f_type` of ext2, ext3 and ext4, from the kernel's `magic.h`.
const EXT4_MAGIC: i64 = 0xEF53;
/// Parts of a run whose rates are compared.
const PARTS: usize = 4;
/// Shortest part that says something, in nanoseconds.
const PART_NS_MIN: u64 = 50_000_000;
/// The fastest part over the slowest, above which the rate was not steady.
const STEADY_MAX: f64 = 1.5;

pub(super) fn add(record: &mut RunRecord, shared: &SharedState, parts: &[Part], left_directories: Option<String>) {
    let path = shared.place.path();
    let left: u64 = parts.iter().map(|part| part.left).sum();
    if left > 0 {
        record.counters.insert("files_left".to_owned(), left);
        let because = parts.iter().find_map(|part| part.left_because.clone());
        let because = because.unwrap_or_else(|| "the run was interrupted a second time".to_owned());
        record.notes.push(format!("{left} files are left in {}: {because}", path.display()));
    } else if let Some(because) = left_directories {
        record.notes.push(format!("directories are left in {}: {because}", path.display()));
    }
    let creates = matches!(shared.metadata.operation, MetadataOp::Create | MetadataOp::Mkdir);
    if creates && has_no_journal(path) {
        record.notes.push(format!(
            "{} is ext4 without a journal, which does not reuse inodes for a while after their removal: \
             creating files soon after a removal is much slower, and varies from run to run; use a fresh file system, or wait some minutes \
             between runs",
            path.display()
        ));
    }
    add_unsteady(record);
}

/// Say so if the rate was not steady.
pub(super) fn add_unsteady(record: &mut RunRecord) {
    if let Some((slow, fast)) = unsteady(&record.series) {
        record.notes.push(format!(
            "the rate was not steady: {slow:.0} to {fast:.0} operations per second in the quarters of the run"
        ));
    }
}

/// Whether the file system is ext4 that does without a journal; false where that cannot be seen.
fn has_no_journal(path: &Path) -> bool {
    let Ok(file_system) = rustix::fs::statfs(path) else { return false };
    let Ok(stat) = rustix::fs::stat(path) else { return false };
    if file_system.f_type != EXT4_MAGIC {
        return false;
    }
    let device = format!("/sys/dev/block/{}:{}", major(stat.st_dev), minor(stat.st_dev));
    let Ok(link) = std::fs::read_link(device) else { return false };
    let Some(name) = link.file_name() else { return false };
    let journal = Path::new("/sys/fs/ext4").join(name).join("journal_task");
    std::fs::read_to_string(journal).is_ok_and(|task| task.trim() == "<none>")
}

/// Rates per second of the slowest and the fastest quarter of the run, if they are far apart.
fn unsteady(series: &SeriesData) -> Option<(f64, f64)> {
    // The last interval was cut short by the run's end.
    let whole = &series.ops[..series.ops.len().saturating_sub(1)];
    let length = whole.len() / PARTS;
    let part_ns = length as u64 * series.interval_ns;
    if part_ns < PART_NS_MIN {
        return None;
    }
    let rates = whole.chunks_exact(length).take(PARTS);
    let rates = rates.map(|part| part.iter().sum::<u64>() as f64 * 1e9 / part_ns as f64);
    let (slow, fast) = rates.fold((f64::INFINITY, 0.0_f64), |(slow, fast), rate| (slow.min(rate), fast.max(rate)));
    (fast > STEADY_MAX * slow).then_some((slow, fast))
}

#[cfg(test)]
mod tests {
    use super::unsteady;
    use mileage_measure::SeriesData;

    fn series(ops: Vec<u64>) -> SeriesData {
        SeriesData { interval_ns: 10_000_000, ops, ..SeriesData::default() }
    }

    #[test]
    fn a_falling_rate_is_noted_and_a_steady_one_is_not() {
        assert_eq!(unsteady(&series([vec![100; 40], vec![3]].concat())), None, "the last interval is cut short");
        let falling = [vec![100; 10], vec![100; 10], vec![80; 10], vec![60; 10], vec![1]].concat();
        let (slow, fast) = unsteady(&series(falling)).unwrap();
        assert!((slow - 6_000.0).abs() < 1e-6 && (fast - 10_000.0).abs() < 1e-6, "{slow} {fast}");
        assert_eq!(unsteady(&series(vec![100, 1, 100, 1])), None, "too short for a note");
        assert_eq!(unsteady(&series(Vec::new())), None);
    }
}
