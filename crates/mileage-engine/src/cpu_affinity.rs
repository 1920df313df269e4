//! Binds threads to processors.

use crate::errno;
use crate::error::Error;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Check that the calling thread, and so the threads it starts, may run on all of these processors.
pub(crate) fn check(cpus: &[u32]) -> Result<(), Error> {
    if cpus.is_empty() {
        return Ok(());
    }
    let allowed = sched_getaffinity(None).map_err(|error| refused(cpus[0], error))?;
    match cpus.iter().find(|cpu| **cpu as usize >= CpuSet::MAX_CPU || !allowed.is_set(**cpu as usize)) {
        None => Ok(()),
        Some(found) => {
            let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
            Err(Error::Processor { found: *found, allowed: ranges(&allowed) })
        }
    }
}

/// Bind the calling thread, number `thread` of its run, to its processor of `cpus`, dealt out in turn.
pub(crate) fn bind(cpus: &[u32], thread: u32) -> Result<(), Error> {
    if cpus.is_empty() {
        return Ok(());
    }
    let cpu = cpus[thread as usize % cpus.len()];
    let mut only = CpuSet::new();
    only.set(cpu as usize);
    sched_setaffinity(None, &only).map_err(|error| refused(cpu, error))
}

/// Number of processors that threads bound to `cpus` can use at once; all if they are not bound.
pub(crate) fn processors(cpus: &[u32]) -> u32 {
    if cpus.is_empty() {
        return std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    }
    cpus.iter().collect::<std::collections::BTreeSet<_>>().len() as u32
}

fn refused(cpu: u32, error: Errno) -> Error {
    Error::Processor { found: cpu, allowed: format!("others only ({})", errno::name(error)) }
}

/// The processors of a NUMA node, for `Options::pin_cpus`.
///
/// # Errors
/// The machine has no such node, or does not say.
pub fn cpus_of_node(node: u32) -> Result<Vec<u32>, Error> {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    let absent = |reason: String| Error::NoNode { node, reason };
    let text = std::fs::read_to_string(&path).map_err(|error| absent(format!("{path}: {error}")))?;
    parse_ranges(text.trim()).ok_or_else(|| absent(format!("{path} says '{}'", text.trim())))
}

/// `0-3,8` as numbers.
fn parse_ranges(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        all.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
    }
    Some(all)
}

/// Ascending numbers as `0-3,8`.
fn ranges(numbers: &[usize]) -> String {
    let joined = numbers.chunk_by(|left, right| left + 1 == *right).map(|run| match run {
        [only] => only.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    joined.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{bind, check, parse_ranges, ranges};
    use rustix::thread::sched_getcpu;

    #[test]
    fn ranges_are_printed_and_read() {
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(parse_ranges("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_ranges(""), Some(Vec::new()));
        assert_eq!(parse_ranges("0-x"), None);
    }

    #[test]
    fn a_bound_thread_runs_where_it_was_bound() {
        let cpu = sched_getcpu() as u32;
        check(&[cpu]).unwrap();
        let there = std::thread::spawn(move || {
            bind(&[9999, cpu], 1).unwrap();
            (0..100).all(|_| {
                std::thread::yield_now();
                sched_getcpu() as u32 == cpu
            })
        });
        assert!(there.join().unwrap());
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused() {
        let text = check(&[0, 70_000]).unwrap_err().to_string();
        assert!(text.starts_with("pin_cpus names processor 70000: this process may run on "), "{text}");
    }
}
