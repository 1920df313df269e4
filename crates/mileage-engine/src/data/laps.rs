//! Which lap every place of the span holds, kept while a run that writes also compares what it reads.
//!
//! The span is divided into units, and each has one word of memory: what was last done to it, and how many operations
//! are under way on it. A write marks its units before it is submitted and again when it has completed; a read looks
//! before and after. Units on which something was under way meanwhile hold either lap. Where different things were under
//! way at once nobody knows which came last, until the unit is written again alone. A unit that was discarded holds
//! anything until it is written; discards are counted as well, so that a read notices one that a write has followed since.
//!
//! # Limits
//! Four bytes for each unit, 1 GiB at most ([`UNITS_MAX`]). A unit on which more than 510 operations were under way at
//! once is no longer told apart. Discards are counted for groups of units: a read is not compared where another unit of
//! the group was discarded meanwhile, one in [`GROUPS`].

use mileage_workload::{Lap, Op, Verify, Workload, Writing};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most units that are kept track of.
pub(crate) const UNITS_MAX: u64 = 1 << 28;

/// Groups of units whose discards are counted together: unit n is of group n modulo this.
const GROUPS: usize = 4096;

/// The unit was written by this run; the bits below are the lap.
const WRITTEN: u32 = 1 << 20;
/// The unit was discarded.
const DISCARDED: u32 = 1 << 21;
/// Different operations were under way at once.
const AMBIGUOUS: u32 = 1 << 22;
/// One operation under way, in the bits above.
const ONE: u32 = 1 << 23;
/// As many as can be counted; they are not counted down any more.
const MANY: u32 = u32::MAX / ONE * ONE;
/// The lap.
const LAP: u32 = WRITTEN - 1;

const _: () = assert!(Writing::LAP_MAX <= LAP, "a lap fits below the flags");

/// The laps of a span, shared by the threads of a run.
#[derive(Debug)]
pub(crate) struct Laps {
    units: Box<[AtomicU32]>,
    start_bytes: u64,
    unit_bytes: u64,
    /// Discards that units of the group have seen; empty if the run discards nothing.
    discards: Box<[AtomicU32]>,
}

/// What the laps of a read's units were at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Changes when any unit does.
    words: u64,
    /// Whether any unit was discarded.
    discarded: bool,
    discards: u32,
}

impl Look {
    fn of(words: impl Iterator<Item = u32>, discards: u32) -> Self {
        words.fold(Self { words: 0, discarded: false, discards }, |look, word| Self {
            words: look.words.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(word)),
            discarded: look.discarded || word & DISCARDED != 0,
            discards,
        })
    }
}

/// What a unit may be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Lap(Lap),
    /// Nothing.
    Anything,
}

impl Laps {
    /// Whether a run has to know them: it changes the target and compares what it reads.
    pub(crate) fn needed(workload: &Workload) -> bool {
        workload.verify != Verify::Off && (workload.writes() || workload.discards())
    }

    pub(crate) fn new(workload: &Workload) -> Self {
        let (unit_bytes, units) = Self::size(workload);
        Self {
            units: (0..units).map(|_| AtomicU32::new(0)).collect(),
            start_bytes: workload.span_start_bytes,
            unit_bytes,
            discards: (0..if workload.discards() { GROUPS } else { 0 }).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Length of a unit in bytes, and how many the span has.
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
        self.mark(op, WRITTEN | lap);
    }

    /// Something is about to be discarded.
    pub(super) fn begin_discard(&self, op: &Op) {
        self.mark(op, DISCARDED);
        for group in self.units(op).filter_map(|unit| self.discards.get(unit % GROUPS)) {
            group.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn mark(&self, op: &Op, value: u32) {
        self.update(op, |before| {
            let under_way = before & MANY;
            let differs = under_way > 0 && before & (WRITTEN | LAP) != value & (WRITTEN | LAP);
            let ambiguous = if differs { AMBIGUOUS } else { before & (AMBIGUOUS * u32::from(under_way > 0)) };
            // Until the write has completed, what was discarded before may still be found.
            let discarded = before & DISCARDED;
            value | discarded | ambiguous | if under_way == MANY { MANY } else { under_way + ONE }
        });
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

    /// What was done to the units of an operation so far.
    pub(super) fn look(&self, op: &Op) -> Look {
        let discards = self.discards_of(op);
        Look::of(self.words_of(op), discards)
    }

    fn words_of(&self, op: &Op) -> impl Iterator<Item = u32> {
        self.units[self.units(op)].iter().map(|unit| unit.load(Ordering::SeqCst))
    }

    fn discards_of(&self, op: &Op) -> u32 {
        let groups = self.units(op).filter_map(|unit| self.discards.get(unit % GROUPS));
        groups.fold(0, |sum: u32, count| sum.wrapping_add(count.load(Ordering::SeqCst)))
    }

    /// The stretches of a read that are to be compared, each with what it may hold; `before` is what [`Laps::look`] said
    /// when the read was submitted. Each unit is looked at once, into `words`: another thread may write it at any moment,
    /// and what it holds then is not what was read.
    pub(super) fn stretches<'a>(
        &'a self,
        op: &Op,
        before: Look,
        words: &'a mut Vec<u32>,
    ) -> impl Iterator<Item = (Range<usize>, State)> + 'a {
        words.clear();
        words.extend(self.words_of(op));
        let now = Look::of(words.iter().copied(), self.discards_of(op));
        let discarded = before.discarded || now.discards != before.discards;
        let (offset, end) = (op.offset_bytes, op.offset_bytes + u64::from(op.length_bytes));
        self.units(op).zip(words).map(move |(unit, value)| {
            let from = (self.start_bytes + unit as u64 * self.unit_bytes).max(offset);
            let to = (from + self.unit_bytes).min(end);
            let value = *value;
            let state = match value {
                _ if discarded || value & DISCARDED != 0 => State::Anything,
                _ if now.words != before.words || value & (MANY | AMBIGUOUS) != 0 => State::Lap(Lap::Unsettled),
                _ if value & WRITTEN != 0 => State::Lap(Lap::Exactly(value & LAP)),
                _ => State::Lap(Lap::Older),
            };
            ((from - offset) as usize..(to - offset) as usize, state)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Laps, Look, State};
    use mileage_workload::{Lap, Op, OpKind, Workload};

    fn laps() -> Laps {
        Laps::new(&Workload { span_start_bytes: 8192, span_bytes: 64 << 10, record_bytes: 4096, ..Workload::default() })
    }

    fn op(record: u64) -> Op {
        Op { kind: OpKind::Write, length_bytes: 4096, offset_bytes: 8192 + record * 4096 }
    }

    fn state(laps: &Laps, record: u64, before: Look) -> State {
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
        assert_eq!(state(&laps, 3, untouched), State::Lap(Lap::Unsettled), "written while the read was under way");
        assert_eq!(state(&laps, 3, laps.look(&op(3))), State::Lap(Lap::Exactly(7)));
        assert_eq!(state(&laps, 4, laps.look(&op(4))), State::Lap(Lap::Older));
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
    fn two_laps_under_way_at_once_are_told_apart_by_the_next_write_alone() {
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
        assert_eq!(now(1), State::Lap(Lap::Unsettled), "one is still under way");
        laps.begin(&op(1), 2);
        laps.end(&op(1));
        laps.end(&op(1));
        assert_eq!(now(1), State::Lap(Lap::Unsettled), "the first lap may have come last");
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
    fn a_discard_that_came_and_went_while_a_read_was_under_way_is_noticed() {
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
