//! Infers what limited a run's rate from the run's own figures.

use mileage_measure::RunRecord;
use mileage_workload::{Cap, Load, Open};

/// A shorter run says nothing: processor time and the device's busy time are counted in milliseconds.
const ELAPSED_MIN_NS: u64 = 10_000_000;
/// Share of the rate that was asked for from which on it was kept.
const KEPT: f64 = 0.98;
/// Share of their time that the threads were on a processor, from which on processors limit.
const ON_PROCESSOR: f64 = 0.85;
/// Share of the bytes that reached the device, under which they came from memory.
const FROM_DEVICE: f64 = 0.1;
/// Share of the time that the device was busy, from which on it limits threads that wait.
const BUSY: f64 = 0.5;

/// `rate`, `memory`, `cpu` or `device`; empty when none of them shows.
///
/// * `rate`: the load that was asked for was kept, or threads paused for more than half of the time.
/// * `memory`: the threads (`processors` of them at once) hardly ever waited, and little of what they moved reached the
///   device: the page cache answered.
/// * `cpu`: the threads hardly ever waited, and the device did the work, or there is none.
/// * `device`: the threads waited while the device was busy.
pub(crate) fn limited_by(record: &RunRecord, load: &Load, processors: u32) -> &'static str {
    let elapsed_ns = record.elapsed_ns;
    if elapsed_ns < ELAPSED_MIN_NS || record.error.is_some() {
        return "";
    }
    if keeps_its_rate(record, load) {
        return "rate";
    }
    let usage = &record.usage;
    let threads = (record.threads.len() as u64).clamp(1, u64::from(processors.max(1)));
    let spent_ns = usage.user_ns + usage.system_ns + usage.kernel_workers_ns;
    let on_processor = spent_ns as f64 / (elapsed_ns * threads) as f64;
    let count = |name| usage.device.get(name).copied();
    let moved = record.bytes_read + record.bytes_written;
    let reached = count("read_bytes").zip(count("write_bytes")).map(|(read, written)| read + written);
    let answered = reached.is_some_and(|reached| moved > 0 && (reached as f64) < FROM_DEVICE * moved as f64);
    if on_processor >= ON_PROCESSOR {
        return if answered { "memory" } else { "cpu" };
    }
    let busy = count("busy_ms").map_or(0.0, |busy_ms| busy_ms as f64 * 1e6 / elapsed_ns as f64);
    if busy >= BUSY { "device" } else { "" }
}

fn keeps_its_rate(record: &RunRecord, load: &Load) -> bool {
    let elapsed_ns = record.elapsed_ns as f64;
    let operations = (record.ops_read + record.ops_written + record.ops_discarded) as f64;
    if let Some(open) = &load.open {
        return operations >= KEPT * due(open, load.warm_up_ns as f64, elapsed_ns);
    }
    if let Some(think) = load.think {
        let pauses = (operations / think.every_operations as f64).floor();
        let threads = record.threads.len().max(1) as f64;
        if pauses * think.pause_ns as f64 > 0.5 * elapsed_ns * threads {
            return true;
        }
    }
    let bytes = (record.bytes_read + record.bytes_written + record.bytes_discarded) as f64;
    match load.cap {
        Some(Cap::OperationsPerS(rate)) => operations >= KEPT * rate as f64 * elapsed_ns * 1e-9,
        Some(Cap::BytesPerS(rate)) => bytes >= KEPT * rate as f64 * elapsed_ns * 1e-9,
        None => false,
    }
}

/// Operations that are due in `for_ns` from `from_ns` on: the rate changes linearly along its ramp, then stays.
fn due(open: &Open, from_ns: f64, for_ns: f64) -> f64 {
    let rate = open.operations_per_s as f64;
    let Some(ramp) = open.ramp else { return rate * for_ns * 1e-9 };
    let (over_ns, slope) = (ramp.over_ns as f64, ramp.to_operations_per_s as f64 - rate);
    let until = |at_ns: f64| {
        let along_ns = at_ns.min(over_ns);
        rate * at_ns + slope * (along_ns * along_ns / (2.0 * over_ns) + (at_ns - along_ns))
    };
    (until(from_ns + for_ns) - until(from_ns)) * 1e-9
}

#[cfg(test)]
mod tests {
    use super::{due, limited_by};
    use mileage_measure::{RunError, RunRecord, ThreadRecord, Usage};
    use mileage_workload::{Cap, Load, Open, Ramp, Spacing, Think};

    const SECOND_NS: u64 = 1_000_000_000;

    /// Two threads that moved 1000 operations of 4 KiB in a second, on the processor for `spent_ns` of it.
    fn second(spent_ns: u64, device: &[(&str, u64)]) -> RunRecord {
        RunRecord {
            ops_read: 1000,
            bytes_read: 4_096_000,
            elapsed_ns: SECOND_NS,
            threads: vec![ThreadRecord::default(); 2],
            usage: Usage {
                user_ns: spent_ns / 3,
                system_ns: spent_ns - spent_ns / 3,
                device: device.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
                ..Usage::default()
            },
            ..RunRecord::default()
        }
    }

    fn closed(record: &RunRecord) -> &'static str {
        limited_by(record, &Load::default(), 8)
    }

    #[test]
    fn threads_that_never_wait_are_limited_by_processor_or_memory() {
        let from_device = [("read_bytes", 4_096_000), ("write_bytes", 0), ("busy_ms", 900)];
        let from_cache = [("read_bytes", 0), ("write_bytes", 40_960), ("busy_ms", 0)];
        assert_eq!(closed(&second(1_900_000_000, &from_device)), "cpu");
        assert_eq!(closed(&second(1_900_000_000, &from_cache)), "memory");
        assert_eq!(closed(&second(1_900_000_000, &[])), "cpu", "without a device");
        assert_eq!(
            limited_by(&second(950_000_000, &from_device), &Load::default(), 1),
            "cpu",
            "one processor for both"
        );
    }

    #[test]
    fn threads_that_wait_are_limited_by_a_device_only_if_it_was_busy() {
        let busy = [("read_bytes", 4_096_000), ("write_bytes", 0), ("busy_ms", 900)];
        let idle = [("read_bytes", 4_096_000), ("write_bytes", 0), ("busy_ms", 90)];
        assert_eq!(closed(&second(200_000_000, &busy)), "device");
        assert_eq!(closed(&second(200_000_000, &idle)), "");
        assert_eq!(closed(&second(200_000_000, &[])), "");
    }

    #[test]
    fn a_rate_that_is_kept_limits_and_one_that_is_missed_does_not() {
        let busy = [("read_bytes", 4_096_000), ("write_bytes", 0), ("busy_ms", 999)];
        let record = second(200_000_000, &busy);
        let open = |operations_per_s| Load {
            open: Some(Open { operations_per_s, spacing: Spacing::Poisson, ramp: None }),
            ..Load::default()
        };
        assert_eq!(limited_by(&record, &open(1010), 8), "rate");
        assert_eq!(limited_by(&record, &open(1100), 8), "device");
        let cap = |cap| Load { cap: Some(cap), ..Load::default() };
        assert_eq!(limited_by(&record, &cap(Cap::OperationsPerS(1000)), 8), "rate");
        assert_eq!(limited_by(&record, &cap(Cap::BytesPerS(4_200_000)), 8), "device");
        let think = |pause_ns| Load { think: Some(Think { pause_ns, every_operations: 10 }), ..Load::default() };
        assert_eq!(limited_by(&record, &think(11_000_000), 8), "rate", "100 pauses of 11 ms in 2 thread seconds");
        assert_eq!(limited_by(&record, &think(9_000_000), 8), "device");
    }

    #[test]
    fn failed_and_very_short_runs_have_no_limit() {
        let short = RunRecord { elapsed_ns: 9_999_999, ..second(20_000_000, &[]) };
        assert_eq!(closed(&short), "");
        let error = Some(RunError { kind: "EIO".to_owned(), message: String::new() });
        assert_eq!(closed(&RunRecord { error, ..second(1_900_000_000, &[]) }), "");
    }

    #[test]
    fn a_ramp_is_due_its_integral() {
        let ramp = Ramp { to_operations_per_s: 300, over_ns: 10 * SECOND_NS };
        let open = Open { operations_per_s: 100, spacing: Spacing::Constant, ramp: Some(ramp) };
        let (second, close) = (SECOND_NS as f64, |found: f64, sum: f64| (found - sum).abs() < 1e-6 * sum);
        assert!(close(due(&open, 0.0, 10.0 * second), 2000.0), "the mean of 100 and 300");
        assert!(close(due(&open, 0.0, 20.0 * second), 5000.0));
        assert!(close(due(&open, 5.0 * second, 5.0 * second), 1250.0), "from 200 to 300");
    }
}
