//! The lap that every unit of a file's span holds, tracked while a run that writes also compares what it reads. A lap is
//! one pass of a thread over its share of the file.
//!
//! Each file of a run has laps of its own, which the threads that work on it share. The span is divided into units, each
//! with one word of memory: the last operation on it, and the number of operations outstanding on it. A write marks its
//! units before it is submitted and again when it has completed; a read looks before and after. A unit that was written
//! during the read may hold either lap. Where different writes were outstanding at once their order is unknown until the
//! unit is written again alone. A unit that was discarded may hold anything until it is written. Writes and discards are
//! also counted, so that a read notices those that began and ended during the read and left the word as it was.
//!
//! # Limits
//! Four bytes for each unit of each file, 1 GiB at most ([`UNITS_MAX`]). A unit on which more than 510 operations were
//! outstanding at once stays ambiguous. Writes and discards are counted for groups of units, one in [`GROUPS`]: where
//! another unit of the group was written meanwhile either lap is accepted, where it was discarded nothing is compared.

use mileage_workload::{Files, Lap, Op, Verify, Workload, WriteIdentity};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Most units that are kept track of, in all files of a run.
pub(crate) const UNITS_MAX: u64 = 1 << 28;

/// Groups of units whose changes are counted together: unit n is of group n modulo this.
const GROUPS: usize = 4096;
/// A write in the count of a group.
const ONE_WRITE: u64 = 1;
/// A discard in the count of a group.
const ONE_DISCARD: u64 = 1 << 32;

/// The unit was written by this run; the bits below are the lap.
const WRITTEN: u32 = 1 << 20;
/// The unit was discarded.
const DISCARDED: u32 = 1 << 21;
/// Different operations were outstanding at once.
const AMBIGUOUS: u32 = 1 << 22;
/// One outstanding operation, in the bits above the lap.
const ONE: u32 = 1 << 23;
/// Largest count of outstanding operations; it is not counted down any more.
const MANY: u32 = u32::MAX / ONE * ONE;
/// The lap.
const LAP: u32 = WRITTEN - 1;

const _: () = assert!(WriteIdentity::LAP_MAX <= LAP, "a lap fits below the flags");

/// The laps of one file's span, shared by the threads that work on it.
#[derive(Debug)]
pub(crate) struct Laps {
    units: Box<[AtomicU32]>,
    start_bytes: u64,
    unit_bytes: u64,
    /// Writes ([`ONE_WRITE`]) and discards ([`ONE_DISCARD`]) that units of the group have seen.
    changes: Box<[AtomicU64]>,
}

/// Laps of a read's units at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LapSnapshot {
    /// Changes when any unit does.
    words: u64,
    /// Whether any unit was discarded.
    discarded: bool,
    /// Sum of the counts of the units' groups.
    changes: u64,
}

impl LapSnapshot {
    fn of(words: impl Iterator<Item = u32>, changes: u64) -> Self {
        words.fold(Self { words: 0, discarded: false, changes }, |look, word| Self {
            words: look.words.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(word)),
            discarded: look.discarded || word & DISCARDED != 0,
            changes,
        })
    }
}

/// Whether the content of a unit is known, and of which lap it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Lap(Lap),
    /// Any content is possible, so the unit is not compared.
    Anything,
}

impl Laps {
    /// Whether a run has to track laps, because it changes the target and compares its reads.
    pub(crate) fn needed(workload: &Workload) -> bool {
        workload.verify != Verify::Off && workload.changes()
    }

    pub(crate) fn new(workload: &Workload) -> Self {
        let (unit_bytes, units) = Self::size(workload);
        Self {
            units: (0..units).map(|_| AtomicU32::new(0)).collect(),
            start_bytes: workload.span_start_bytes,
            unit_bytes,
            changes: (0..GROUPS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Files of a run that have laps: one for all threads, or one for each.
    pub(crate) fn files(workload: &Workload) -> u32 {
        match workload.files {
            Files::Shared => 1,
            Files::PerThread => workload.threads,
        }
    }

    /// Length of a unit in bytes, and how many a file's span has.
    pub(crate) fn size(workload: &Workload) -> (u64, u64) {
        let unit_bytes = u64::from(workload.operations_unit_bytes());
        (unit_bytes, workload.span_bytes.div_ceil(unit_bytes))
    }

    fn units(&self, op: &Op) -> Range<usize> {
        let from = op.offset_bytes.saturating_sub(self.start_bytes);
        let to = from + u64::from(op.length_bytes);
        (from / self.unit_bytes) as usize..(to.div_ceil(self.unit_bytes) as usize).min(self.units.len())
    }

    /// Something of `lap` is about to be written.
    pub(super) fn begin(&self, op: &Op, lap: u32) {
        self.mark(op, WRITTEN | lap, ONE_WRITE);
    }

    /// Something is about to be discarded.
    pub(super) fn begin_discard(&self, op: &Op) {
        self.mark(op, DISCARDED, ONE_DISCARD);
    }

    fn mark(&self, op: &Op, value: u32, change: u64) {
        self.update(op, |before| {
            let outstanding = before & MANY;
            let differs = outstanding > 0 && before & (WRITTEN | LAP) != value & (WRITTEN | LAP);
            let ambiguous = if differs { AMBIGUOUS } else { before & (AMBIGUOUS * u32::from(outstanding > 0)) };
            // Until the write has completed, what was discarded before may still be found.
            let discarded = before & DISCARDED;
            value | discarded | ambiguous | if outstanding == MANY { MANY } else { outstanding + ONE }
        });
        for unit in self.units(op) {
            self.changes[unit % GROUPS].fetch_add(change, Ordering::SeqCst);
        }
    }

    /// A write or discard has completed.
    pub(super) fn end(&self, op: &Op) {
        self.update(op, |before| match before & MANY {
            MANY => before,
            ONE if before & AMBIGUOUS == 0 && before & WRITTEN != 0 => before & (WRITTEN | LAP),
            _ => before - ONE,
        });
    }

    fn update(&self, op: &Op, change: impl Fn(u32) -> u32) {
        for unit in &self.units[self.units(op)] {
            // The closure always gives a value, so this cannot fail.
            let _ = unit.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |before| Some(change(before)));
        }
    }

    /// Take the current laps of the units of an operation.
    pub(super) fn look(&self, op: &Op) -> LapSnapshot {
        let changes = self.changes_of(op);
        LapSnapshot::of(self.words_of(op), changes)
    }

    fn words_of(&self, op: &Op) -> impl Iterator<Item = u32> {
        self.units[self.units(op)].iter().map(|unit| unit.load(Ordering::SeqCst))
    }

    fn changes_of(&self, op: &Op) -> u64 {
        let groups = self.units(op).map(|unit| &self.changes[unit % GROUPS]);
        groups.fold(0, |sum: u64, count| sum.wrapping_add(count.load(Ordering::SeqCst)))
    }

    /// The stretches of a read that are to be compared, in order, each with what it may hold; `before` is what
    /// [`Laps::look`] said when the read was submitted. Each unit is looked at once, into `words`: another thread may write it at any moment,
    /// and what it holds then is not what was read.
    pub(super) fn stretches<'a>(
        &'a self,
        op: &Op,
        before: LapSnapshot,
        words: &'a mut Vec<u32>,
    ) -> impl Iterator<Item = (Range<usize>, State)> + 'a {
        words.clear();
        words.extend(self.words_of(op));
        let now = LapSnapshot::of(words.iter().copied(), self.changes_of(op));
        let meanwhile = now.changes.wrapping_sub(before.changes);
        let discarded = before.discarded || meanwhile >= ONE_DISCARD;
        let settled = now.words == before.words && meanwhile == 0;
        let (offset, end) = (op.offset_bytes, op.offset_bytes + u64::from(op.length_bytes));
        let mut units = self.units(op).zip(words).map(move |(unit, value)| {
            let from = (self.start_bytes + unit as u64 * self.unit_bytes).max(offset);
            let to = (from + self.unit_bytes).min(end);
            let value = *value;
            let state = match value {
                _ if discarded || value & DISCARDED != 0 => State::Anything,
                _ if !settled || value & (MANY | AMBIGUOUS) != 0 => State::Lap(Lap::Unsettled),
                _ if value & WRITTEN != 0 => State::Lap(Lap::Exactly(value & LAP)),
                _ => State::Lap(Lap::Older),
            };
            ((from - offset) as usize..(to - offset) as usize, state)
        });
        let mut next = units.next();
        std::iter::from_fn(move || {
            let (mut range, state) = next.take()?;
            next = units.next();
            // What one lap wrote is judged together, as the torn or stale record that it is. What an earlier run wrote may
            // be of another lap in each unit.
            while let (State::Lap(Lap::Exactly(_)), Some((more, same))) = (state, &next)
                && *same == state
            {
                range.end = more.end;
                next = units.next();
            }
            Some((range, state))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LapSnapshot, Laps, State};
    use mileage_workload::{Lap, Op, OpKind, Workload};

    fn laps() -> Laps {
        Laps::new(&Workload { span_start_bytes: 8192, span_bytes: 64 << 10, record_bytes: 4096, ..Workload::default() })
    }

    fn op(record: u64) -> Op {
        Op { kind: OpKind::Write, length_bytes: 4096, offset_bytes: 8192 + record * 4096 }
    }

    fn state(laps: &Laps, record: u64, before: LapSnapshot) -> State {
        let mut words = Vec::new();
        let (range, state) = laps.stretches(&op(record), before, &mut words).next().unwrap();
        assert_eq!(range, 0..4096);
        state
    }

    #[test]
    fn a_unit_is_older_then_unsettled_then_of_its_lap() {
        let laps = laps();
        let untouched = laps.look(&op(3));
        assert_eq!(state(&laps, 3, untouched), State::Lap(Lap::Older));
        laps.begin(&op(3), 7);
        assert_eq!(state(&laps, 3, laps.look(&op(3))), State::Lap(Lap::Unsettled));
        laps.end(&op(3));
        assert_eq!(state(&laps, 3, untouched), State::Lap(Lap::Unsettled), "written during the read");
        assert_eq!(state(&laps, 3, laps.look(&op(3))), State::Lap(Lap::Exactly(7)));
        assert_eq!(state(&laps, 4, laps.look(&op(4))), State::Lap(Lap::Older));
    }

    #[test]
    fn units_of_one_lap_are_judged_together() {
        let laps = laps();
        for (record, lap) in [(1, 4), (2, 4), (3, 5)] {
            laps.begin(&op(record), lap);
            laps.end(&op(record));
        }
        let whole = Op { kind: OpKind::Read, length_bytes: 6 * 4096, offset_bytes: 8192 };
        let mut words = Vec::new();
        let found: Vec<_> = laps.stretches(&whole, laps.look(&whole), &mut words).collect();
        let [old, four, five] = [Lap::Older, Lap::Exactly(4), Lap::Exactly(5)].map(State::Lap);
        let at = |from: usize, to: usize| from * 4096..to * 4096;
        assert_eq!(found, [(at(0, 1), old), (at(1, 3), four), (at(3, 4), five), (at(4, 5), old), (at(5, 6), old)]);
    }

    #[test]
    fn a_write_between_the_look_and_the_comparison_changes_nothing() {
        let laps = laps();
        laps.begin(&op(3), 7);
        laps.end(&op(3));
        let (before, mut words) = (laps.look(&op(3)), Vec::new());
        let mut stretches = laps.stretches(&op(3), before, &mut words);
        laps.begin(&op(3), 8);
        laps.end(&op(3));
        assert_eq!(stretches.next().unwrap().1, State::Lap(Lap::Exactly(7)));
    }

    #[test]
    fn two_laps_outstanding_at_once_are_ambiguous_until_the_next_write() {
        let laps = laps();
        let now = |record| state(&laps, record, laps.look(&op(record)));
        laps.begin(&op(0), 1);
        laps.begin(&op(0), 2);
        laps.end(&op(0));
        laps.begin(&op(0), 2);
        laps.end(&op(0));
        laps.end(&op(0));
        assert_eq!(now(0), State::Lap(Lap::Unsettled), "nobody knows which came last");
        laps.begin(&op(0), 3);
        laps.end(&op(0));
        assert_eq!(now(0), State::Lap(Lap::Exactly(3)));
        laps.begin(&op(1), 1);
        laps.begin(&op(1), 1);
        laps.end(&op(1));
        assert_eq!(now(1), State::Lap(Lap::Unsettled), "one is still outstanding");
        laps.begin(&op(1), 2);
        laps.end(&op(1));
        laps.end(&op(1));
        assert_eq!(now(1), State::Lap(Lap::Unsettled), "the first lap may have come last");
    }

    #[test]
    fn a_write_that_began_and_ended_during_a_read_is_noticed() {
        let laps = laps();
        laps.begin(&op(2), 7);
        laps.end(&op(2));
        let before = laps.look(&op(2));
        for lap in [8, 7] {
            laps.begin(&op(2), lap);
            laps.end(&op(2));
        }
        assert_eq!(state(&laps, 2, before), State::Lap(Lap::Unsettled), "the read may have found lap 8");
        assert_eq!(state(&laps, 2, laps.look(&op(2))), State::Lap(Lap::Exactly(7)));
        assert_eq!(state(&laps, 3, laps.look(&op(3))), State::Lap(Lap::Older), "another group");
    }

    #[test]
    fn what_was_discarded_is_anything_until_it_is_written() {
        let laps = laps();
        let now = || state(&laps, 2, laps.look(&op(2)));
        laps.begin_discard(&op(2));
        laps.end(&op(2));
        assert_eq!(now(), State::Anything);
        laps.begin(&op(2), 0);
        assert_eq!(now(), State::Anything, "the write may not have come yet");
        laps.end(&op(2));
        assert_eq!(now(), State::Lap(Lap::Exactly(0)));
        laps.begin_discard(&op(2));
        laps.begin(&op(2), 1);
        laps.end(&op(2));
        laps.end(&op(2));
        assert_eq!(now(), State::Anything, "nobody knows which came last");
    }

    #[test]
    fn a_discard_that_began_and_ended_during_a_read_is_noticed() {
        let discards = Workload { discard_percent: 5, record_bytes: 4096, span_bytes: 64 << 10, ..Workload::default() };
        let laps = Laps::new(&Workload { span_start_bytes: 8192, ..discards });
        laps.begin(&op(2), 0);
        laps.end(&op(2));
        let before = laps.look(&op(2));
        laps.begin_discard(&op(2));
        laps.end(&op(2));
        let between = laps.look(&op(2));
        laps.begin(&op(2), 0);
        laps.end(&op(2));
        assert_eq!(state(&laps, 2, before), State::Anything, "of the same lap as before");
        assert_eq!(state(&laps, 2, between), State::Anything, "begun while it was discarded");
        assert_eq!(state(&laps, 2, laps.look(&op(2))), State::Lap(Lap::Exactly(0)));
        assert_eq!(state(&laps, 3, laps.look(&op(3))), State::Lap(Lap::Older), "another group");
    }

    #[test]
    fn more_than_can_be_counted_stay_untold() {
        let laps = laps();
        (0..600).for_each(|_| laps.begin(&op(5), 1));
        (0..600).for_each(|_| laps.end(&op(5)));
        assert_eq!(state(&laps, 5, laps.look(&op(5))), State::Lap(Lap::Unsettled));
        (0..500).for_each(|_| laps.begin(&op(6), 1));
        (0..500).for_each(|_| laps.end(&op(6)));
        assert_eq!(state(&laps, 6, laps.look(&op(6))), State::Lap(Lap::Exactly(1)));
    }
}
