//! Which lap every place of the span holds, kept while a run that writes also compares what it reads.
//!
//! The span is divided into units, and each has one word of memory. A write marks its units before it is submitted and
//! settles them when it has completed; a read looks before and after. Units that a write was under way on meanwhile hold
//! either lap, and so do for ever those on which writes of two different laps were under way at once: nobody knows which
//! came last. A unit that was discarded holds anything until it is written again.
//!
//! # Limits
//! Four bytes for each unit, 1 GiB at most ([`UNITS_MAX`]).

use mileage_workload::{Lap, Op, Verify, Workload};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most units that are kept track of.
pub(crate) const UNITS_MAX: u64 = 1 << 28;

/// The unit was written by this run; the low bits are the lap.
const WRITTEN: u32 = 1 << 31;
/// An operation on it is under way.
const UNSETTLED: u32 = 1 << 30;
/// Different operations were under way at once.
const AMBIGUOUS: u32 = 1 << 29;
/// The unit was discarded.
const DISCARDED: u32 = 1 << 28;

/// The laps of a span, shared by the threads of a run.
#[derive(Debug)]
pub(crate) struct Laps {
    units: Box<[AtomicU32]>,
    start_bytes: u64,
    unit_bytes: u64,
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
    }

    fn mark(&self, op: &Op, value: u32) {
        for unit in &self.units[self.units(op)] {
            let marked = |before: u32| {
                let other = before & UNSETTLED != 0 && before & !(UNSETTLED | AMBIGUOUS) != value;
                let inherited = if other { AMBIGUOUS | before & DISCARDED } else { before & AMBIGUOUS };
                Some(value | UNSETTLED | inherited)
            };
            // The closure always gives a value.
            let _ = unit.fetch_update(Ordering::SeqCst, Ordering::SeqCst, marked);
        }
    }

    /// The write of `lap` has completed.
    pub(super) fn end(&self, op: &Op, lap: u32) {
        self.settle(op, WRITTEN | lap);
    }

    /// The discard has completed.
    pub(super) fn end_discard(&self, op: &Op) {
        self.settle(op, DISCARDED);
    }

    fn settle(&self, op: &Op, value: u32) {
        for unit in &self.units[self.units(op)] {
            // Fails where something else began meanwhile: that one settles, or nothing ever does.
            let _ = unit.compare_exchange(value | UNSETTLED, value, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// A number that changes when any unit of the operation does.
    pub(super) fn look(&self, op: &Op) -> u64 {
        let fold = |sum: u64, unit: &AtomicU32| {
            sum.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(unit.load(Ordering::SeqCst)))
        };
        self.units[self.units(op)].iter().fold(0, fold)
    }

    /// The stretches of a read that are to be compared, each with what it may hold; `before` is what [`Laps::look`] said
    /// when the read was submitted.
    pub(super) fn stretches(&self, op: &Op, before: u64) -> impl Iterator<Item = (Range<usize>, State)> {
        let changed = self.look(op) != before;
        let (offset, end) = (op.offset_bytes, op.offset_bytes + u64::from(op.length_bytes));
        self.units(op).map(move |unit| {
            let from = (self.start_bytes + unit as u64 * self.unit_bytes).max(offset);
            let to = (from + self.unit_bytes).min(end);
            let value = self.units[unit].load(Ordering::SeqCst);
            let state = match value {
                _ if value & DISCARDED != 0 => State::Anything,
                _ if changed || value & (UNSETTLED | AMBIGUOUS) != 0 => State::Lap(Lap::Unsettled),
                _ if value & WRITTEN != 0 => State::Lap(Lap::Exactly(value & !WRITTEN)),
                _ => State::Lap(Lap::Older),
            };
            ((from - offset) as usize..(to - offset) as usize, state)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Laps, State};
    use mileage_workload::{Lap, Op, OpKind, Workload};

    fn laps() -> Laps {
        Laps::new(&Workload { span_start_bytes: 8192, span_bytes: 64 << 10, record_bytes: 4096, ..Workload::default() })
    }

    fn op(record: u64) -> Op {
        Op { kind: OpKind::Write, length_bytes: 4096, offset_bytes: 8192 + record * 4096 }
    }

    fn state(laps: &Laps, record: u64, before: u64) -> State {
        let (range, state) = laps.stretches(&op(record), before).next().unwrap();
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
        laps.end(&op(3), 7);
        assert_eq!(state(&laps, 3, untouched), State::Lap(Lap::Unsettled), "written while the read was under way");
        assert_eq!(state(&laps, 3, laps.look(&op(3))), State::Lap(Lap::Exactly(7)));
        assert_eq!(state(&laps, 4, laps.look(&op(4))), State::Lap(Lap::Older));
    }

    #[test]
    fn two_laps_under_way_at_once_are_never_told_apart_again() {
        let laps = laps();
        laps.begin(&op(0), 1);
        laps.begin(&op(0), 2);
        laps.end(&op(0), 1);
        laps.end(&op(0), 2);
        laps.begin(&op(0), 3);
        laps.end(&op(0), 3);
        assert_eq!(state(&laps, 0, laps.look(&op(0))), State::Lap(Lap::Unsettled));
        for _ in 0..2 {
            laps.begin(&op(1), 1);
        }
        laps.end(&op(1), 1);
        laps.end(&op(1), 1);
        assert_eq!(state(&laps, 1, laps.look(&op(1))), State::Lap(Lap::Exactly(1)), "both carry the same bytes");
    }

    #[test]
    fn what_was_discarded_is_anything_until_it_is_written() {
        let laps = laps();
        laps.begin_discard(&op(2));
        laps.end_discard(&op(2));
        assert_eq!(state(&laps, 2, laps.look(&op(2))), State::Anything);
        laps.begin(&op(2), 0);
        laps.end(&op(2), 0);
        assert_eq!(state(&laps, 2, laps.look(&op(2))), State::Lap(Lap::Exactly(0)));
        laps.begin_discard(&op(2));
        laps.begin(&op(2), 1);
        laps.end_discard(&op(2));
        laps.end(&op(2), 1);
        assert_eq!(state(&laps, 2, laps.look(&op(2))), State::Anything, "nobody knows which came last");
    }
}
