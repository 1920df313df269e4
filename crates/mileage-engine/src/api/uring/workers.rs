//! Processor time of the kernel threads that serve a ring: those that do operations which would block
//! (`iou-wrk-TID`), and the one that submits when asked for (`iou-sqp-TID`). Their processor time is not in the
//! thread's own account, so a target that needs them looks cheaper than it is.

use std::collections::HashMap;
use std::fs;

/// Cost of the kernel threads that serve one worker thread. Threads end when they were idle for some seconds; what
/// they had used when last seen stays counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workers {
    /// Last state of each kernel thread, by thread number.
    seen: HashMap<u32, KernelThread>,
}

#[derive(Clone, Copy, Debug, Default)]
struct KernelThread {
    submits: bool,
    used_ns: u64,
}

impl Workers {
    /// Look at the kernel threads that `tid` of this process has now.
    #[cold]
    pub(crate) fn look(&mut self, tid: u32) {
        let (works, submits) = (format!("iou-wrk-{tid}"), format!("iou-sqp-{tid}"));
        let Ok(tasks) = fs::read_dir("/proc/self/task") else { return };
        for task in tasks.flatten() {
            let path = task.path();
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            let (name, number) = (name.trim_end(), task.file_name().to_str().and_then(|name| name.parse().ok()));
            if let Some(number) = number.filter(|_| name == works || name == submits) {
                let used_ns = fs::read_to_string(path.join("schedstat")).ok().and_then(|text| used_ns(&text));
                let seen = self.seen.entry(number).or_default();
                seen.submits = name == submits;
                seen.used_ns = used_ns.unwrap_or(0).max(seen.used_ns);
            }
        }
    }

    /// Number of kernel threads so far, without the submitting one.
    pub(crate) fn count(&self) -> usize {
        self.seen.values().filter(|seen| !seen.submits).count()
    }

    /// Their processor time, in nanoseconds.
    pub(crate) fn used_ns(&self) -> u64 {
        self.seen.values().map(|seen| seen.used_ns).sum()
    }
}

/// Processor time of a thread, the first figure of its `schedstat`.
fn used_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Workers, used_ns};

    #[test]
    fn a_thread_without_a_ring_has_no_workers() {
        let mut workers = Workers::default();
        workers.look(std::process::id());
        assert_eq!((workers.count(), workers.used_ns()), (0, 0));
    }

    #[test]
    fn the_first_figure_is_the_time_used() {
        assert_eq!(used_ns("1234567 89 10\n"), Some(1_234_567));
        assert_eq!(used_ns(""), None);
    }
}
