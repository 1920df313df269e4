//! Event counters of a simulated disk, such as seeks and cache hits, and their names.

use super::arm::Access;

/// Names of the counters, in their order.
pub(crate) const COUNTER_NAMES: &[&str] = &[
    "host_bytes_read",
    "host_bytes_written",
    "media_bytes_read",
    "media_bytes_written",
    "media_accesses",
    "arm_move_ns",
    "rotation_wait_ns",
    "transfer_ns",
    "read_cache_hits",
    "read_ahead_bytes",
    "rewrites_absorbed_bytes",
    "sectors_reread",
    "commands",
    "commands_sequential",
    "distance_sectors",
    "queue_wait_ns",
    "service_ns",
];

/// Names of the gauges: bytes in the write cache that are not being written yet, and where the arm is.
pub(crate) const GAUGE_NAMES: &[&str] = &["dirty_bytes", "arm_cylinder"];

/// Names of the counters, and behind them those of the gauges.
pub(super) const SERIES_NAMES: &[&str] = &{
    let mut names = [""; COUNTER_NAMES.len() + GAUGE_NAMES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = if at < COUNTER_NAMES.len() { COUNTER_NAMES[at] } else { GAUGE_NAMES[at - COUNTER_NAMES.len()] };
        at += 1;
    }
    names
};

/// One counter; its value is its index in the list of names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counter {
    HostRead,
    HostWritten,
    MediaRead,
    MediaWritten,
    Accesses,
    Move,
    Rotation,
    Transfer,
    ReadHits,
    ReadAhead,
    Absorbed,
    Reread,
    Commands,
    Sequential,
    Distance,
    QueueWait,
    Service,
}

/// Values of all counters of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters(pub [u64; COUNTER_NAMES.len()]);

impl Counters {
    #[inline]
    pub(super) fn add(&mut self, counter: Counter, more: u64) {
        self.0[counter as usize] += more;
    }

    /// The arm was used.
    pub(super) fn access(&mut self, access: &Access, sectors: u64, writes: bool) {
        self.add(if writes { Counter::MediaWritten } else { Counter::MediaRead }, sectors * 512);
        self.add(Counter::Accesses, 1);
        self.add(Counter::Move, access.move_ns);
        self.add(Counter::Rotation, access.wait_ns);
        self.add(Counter::Transfer, access.end_ns - access.begin_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_name() {
        assert_eq!(Counter::Service as usize + 1, COUNTER_NAMES.len());
        assert_eq!(COUNTER_NAMES[Counter::Rotation as usize], "rotation_wait_ns");
        assert_eq!(COUNTER_NAMES[Counter::Reread as usize], "sectors_reread");
    }
}
