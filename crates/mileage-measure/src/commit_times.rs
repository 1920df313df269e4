//! Times until writes are durable, for a thread that syncs between its writes.

use crate::{CompletedOperation, Histogram, Series, SeriesData};
use serde::{Deserialize, Serialize};

/// Writes of one commit whose starts are kept; durable writes of longer commits are not timed.
const KEPT: u64 = 1 << 16;

/// Collects the latencies of commits and of durable writes.
///
/// A *commit* begins with the first write that no sync covers yet and ends when the sync that covers it returns: one
/// sample for each sync that covers a write. A *durable write* ends with the same sync and begins with the write: one
/// sample for each write. A write begins when it was submitted, in the open loop when it was due. Writes that no sync
/// followed are in neither. Where each write is durable when it completes, each is a commit of its own.
///
/// A sync or a durable write that failed, or was given up after a time-out, leaves an *unfinished* commit: what it had
/// taken by then is the least that it could have taken. A quantile beyond the least of these is "at least" its value.
///
/// Nothing grows while writes are recorded: in a run with a commit of more than 65,536 writes durable writes are not timed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CommitTimes {
    /// Starts of the first writes that no sync covers yet, in nanoseconds.
    open_ns: Vec<u64>,
    /// The earliest start of all of them.
    first_ns: Option<u64>,
    /// A commit had more writes than are kept.
    is_cut: bool,
    /// Whether a write is durable when it completes.
    durable_at_once: bool,
    commit: Histogram,
    durable_write: Histogram,
    unfinished_sync: Histogram,
    unfinished_commit: Histogram,
    /// Commits over time, where it is wanted.
    series: Option<Box<Series>>,
    /// Where the time of the series begins.
    origin_ns: u64,
}

impl CommitTimes {
    /// For a thread that syncs between its writes, after `writes_between` of them (0: it varies), or whose writes are
    /// durable when they complete; `None` for others.
    pub fn of_thread(syncs_between: bool, writes_between: u64, durable_at_once: bool) -> Option<Box<Self>> {
        let kept = match (durable_at_once, writes_between) {
            (true, _) => 1,
            (false, 0) => KEPT,
            (false, writes) => writes.min(KEPT),
        };
        let open_ns = Vec::with_capacity(kept as usize);
        (syncs_between || durable_at_once).then(|| Box::new(Self { open_ns, durable_at_once, ..Self::default() }))
    }

    /// The same, with the commits of each interval: at first of `interval_ns`, from `origin_ns` on.
    #[must_use]
    pub fn over_time(mut self, interval_ns: u64, origin_ns: u64) -> Self {
        self.series = Some(Box::new(Series::new(interval_ns, &[])));
        self.origin_ns = origin_ns;
        self
    }

    /// Time begins later than was known.
    #[cold]
    pub fn begin_at(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
    }

    /// The commits of all threads over time; `None` where none was timed so. Of an interval the operations are commits,
    /// and it has no bytes.
    pub fn series_of<'a>(timed: impl IntoIterator<Item = &'a Self>) -> Option<SeriesData> {
        let mut every =
            timed.into_iter().filter_map(|times| times.series.as_deref().filter(|_| times.commit.count() > 0));
        let mut all = every.next()?.clone();
        every.for_each(|other| all.merge(other));
        Some(all.to_data())
    }

    /// Latencies of commits.
    pub fn commit(&self) -> &Histogram {
        &self.commit
    }

    /// Latencies of durable writes; `None` where a commit had more of them than are kept.
    pub fn durable_write(&self) -> Option<&Histogram> {
        (!self.is_cut).then_some(&self.durable_write)
    }

    /// What syncs that failed or were given up had taken by then.
    pub fn unfinished_sync(&self) -> &Histogram {
        &self.unfinished_sync
    }

    /// The same of commits.
    pub fn unfinished_commit(&self) -> &Histogram {
        &self.unfinished_commit
    }

    /// A sync that began at `began_ns` failed at `ended_ns`, or was given up then: the commit that it covers never ended.
    #[cold]
    pub fn sync_given_up(&mut self, began_ns: u64, ended_ns: u64) {
        self.unfinished_sync.record(ended_ns.saturating_sub(began_ns));
        if let Some(first_ns) = self.first_ns.take() {
            self.unfinished_commit.record(ended_ns.saturating_sub(first_ns));
        }
        self.open_ns.clear();
    }

    /// The same of a write, which ends no commit unless it would have been durable when complete.
    #[cold]
    pub fn write_given_up(&mut self, began_ns: u64, ended_ns: u64) {
        if self.durable_at_once {
            self.unfinished_commit.record(ended_ns.saturating_sub(began_ns));
        }
    }

    /// A write that began at `began_ns` is complete.
    #[inline]
    pub fn written(&mut self, began_ns: u64, ended_ns: u64) {
        self.first_ns = Some(self.first_ns.map_or(began_ns, |first_ns| first_ns.min(began_ns)));
        if (self.open_ns.len() as u64) < KEPT {
            self.open_ns.push(began_ns);
        } else {
            self.is_cut = true;
        }
        if self.durable_at_once {
            self.synced(ended_ns);
        }
    }

    /// A sync has returned at `ended_ns`, which covers every write that was complete when it began.
    pub fn synced(&mut self, ended_ns: u64) {
        if let Some(first_ns) = self.first_ns.take() {
            let latency_ns = ended_ns.saturating_sub(first_ns);
            self.commit.record(latency_ns);
            if let Some(series) = &mut self.series {
                let at_ns = ended_ns.saturating_sub(self.origin_ns);
                series.record(CompletedOperation { at_ns, bytes_read: 0, bytes_written: 0, latency_ns });
            }
        }
        for began_ns in self.open_ns.drain(..) {
            self.durable_write.record(ended_ns.saturating_sub(began_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_begins_with_its_first_write_and_a_durable_write_with_itself() {
        let mut times = CommitTimes::default();
        times.synced(50);
        // Completions come in another order than submissions.
        for began_ns in [140, 100, 120] {
            times.written(began_ns, 150);
        }
        times.synced(200);
        times.written(300, 301);
        times.synced(310);
        times.written(400, 401);
        assert_eq!((times.commit.count(), times.durable_write.count()), (2, 4));
        assert_eq!(times.commit.quantile_ns(1.0), Some(100));
        assert_eq!(times.commit.quantile_ns(0.0), Some(10));
        assert_eq!(times.durable_write.mean_ns(), Some((60.0 + 100.0 + 80.0 + 10.0) / 4.0));
    }

    #[test]
    fn where_a_write_is_durable_when_it_completes_each_is_a_commit() {
        assert!(CommitTimes::of_thread(false, 0, false).is_none());
        let mut times = CommitTimes::of_thread(false, 0, true).expect("its writes are durable");
        times.written(100, 130);
        times.written(200, 210);
        assert_eq!((times.commit.quantile_ns(1.0), times.durable_write.mean_ns()), (Some(30), Some(20.0)));
    }

    #[test]
    fn commits_over_time_are_those_of_the_histogram() {
        let mut times = CommitTimes::default().over_time(100, 1000);
        for began_ns in [1010, 1030, 1250] {
            times.written(began_ns, began_ns + 1);
            times.synced(began_ns + 10);
        }
        let data = CommitTimes::series_of([&times, &CommitTimes::default()]).expect("it has commits");
        assert_eq!((data.interval_ns, data.ops, data.latency_max_ns), (100, vec![2, 0, 1], vec![10, 0, 10]));
        assert_eq!(CommitTimes::series_of([&CommitTimes::default()]), None);
    }

    #[test]
    fn what_is_given_up_is_no_commit_and_has_lasted_so_long() {
        let mut times = CommitTimes::of_thread(true, 0, false).expect("it syncs");
        times.written(100, 110);
        times.written(120, 130);
        times.write_given_up(140, 190);
        times.sync_given_up(200, 900);
        times.synced(1000);
        assert_eq!((times.commit().count(), times.durable_write().map(Histogram::count)), (0, Some(0)));
        assert_eq!(times.unfinished_sync().quantile_ns(1.0), Some(700));
        assert_eq!((times.unfinished_commit().count(), times.unfinished_commit().quantile_ns(1.0)), (1, Some(800)));
        let mut durable = CommitTimes::of_thread(false, 0, true).expect("its writes are durable");
        durable.write_given_up(140, 190);
        assert_eq!((durable.unfinished_commit().quantile_ns(1.0), durable.unfinished_sync().count()), (Some(50), 0));
    }

    #[test]
    fn a_commit_of_very_many_writes_is_timed_and_its_durable_writes_are_not() {
        let mut times = CommitTimes::of_thread(true, 0, false).expect("it syncs");
        let room = times.open_ns.capacity();
        for began_ns in 0..=KEPT {
            times.written(1000 + began_ns, 0);
        }
        times.synced(1_000_000);
        assert_eq!((times.commit().quantile_ns(1.0), times.durable_write().is_none()), (Some(999_000), true));
        assert_eq!(times.open_ns.capacity(), room);
    }
}
