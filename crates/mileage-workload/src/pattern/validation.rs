//! Validate access patterns: their parameters, and whether these fit the span and the rest of the workload.

use super::access::pauses;
use super::{AccessLine, IorOrder, PatternKind, TraceOp, ior, iozone};
use crate::error::{Error, in_range, multiple};
use crate::operation::OpKind;
use crate::workload::{Files, Sync, Workload};

const LINES_MAX: u64 = 100;
const DAY_MS: u64 = 24 * 3600 * 1000;

fn refused(what: &'static str, found: &dyn std::fmt::Display, expected: &'static str) -> Error {
    Error::Refused { what, found: found.to_string(), expected }
}

fn item(list: &'static str, index: usize, cause: Error) -> Error {
    Error::Item { list, index, cause: Box::new(cause) }
}

impl PatternKind {
    /// Whether the pattern itself defines size, kind and position of each operation, so that there are no records of
    /// one size.
    pub(crate) fn is_own_master(&self) -> bool {
        matches!(self, Self::Access { .. } | Self::Trace { .. })
    }

    /// Whether each thread has its own part of the span.
    fn divides(&self) -> bool {
        matches!(
            self,
            Self::Sequential
                | Self::Shuffled
                | Self::Backward
                | Self::Fixed
                | Self::Stride { .. }
                | Self::IozoneShuffle
                | Self::IozoneStride { .. }
                | Self::PartlySequential { .. }
        )
    }
}

impl Workload {
    /// Most records of a span.
    pub const RECORDS_MAX: u64 = 1 << 40;

    /// Check that the span, and the counts of the stop rule, are whole numbers of the pattern's records.
    pub(crate) fn check_span(&self) -> Result<(), Error> {
        let (record, threads) = (u64::from(self.record_bytes), u64::from(self.threads));
        let own = self.pattern.is_own_master();
        multiple("span_bytes", self.span_bytes, if own { 1 } else { record })?;
        let (what, least) = if self.pattern.divides() && self.files == Files::Shared {
            ("span_bytes, in records, one for each thread at least,", threads)
        } else {
            ("span_bytes, in records,", 1)
        };
        in_range(what, self.records(), least, Self::RECORDS_MAX)?;
        if self.span_start_bytes.checked_add(self.span_bytes).is_none() {
            let max = u64::MAX - self.span_bytes;
            return Err(Error::OutOfRange { what: "span_start_bytes", found: self.span_start_bytes, min: 0, max });
        }
        if let Some(bytes) = self.stop.bytes {
            let least = if own { 1 } else { record };
            multiple("stop.bytes", bytes, least)?;
            in_range("stop.bytes, a record for each thread at least,", bytes, least * threads, u64::MAX)?;
        }
        Ok(())
    }

    /// Check that the pattern is possible.
    pub(crate) fn check_pattern(&self) -> Result<(), Error> {
        match &self.pattern {
            PatternKind::Sequential
            | PatternKind::Shuffled
            | PatternKind::Random
            | PatternKind::Backward
            | PatternKind::Fixed => Ok(()),
            PatternKind::Stride { step_records } => {
                in_range("pattern.stride.step_records", *step_records, 1, Self::RECORDS_MAX)
            }
            PatternKind::IozoneStride { step_records } => {
                in_range("pattern.iozone_stride.step_records", *step_records, 1, Self::RECORDS_MAX)
            }
            PatternKind::IozoneShuffle => in_range(
                "span_bytes, in records of a thread in IOzone's shuffle,",
                self.share_of(0).1,
                1,
                iozone::SHUFFLED_MAX,
            ),
            PatternKind::Zipf { theta_hundredths } => {
                in_range("pattern.zipf.theta_hundredths", u64::from(*theta_hundredths), 1, 300)
            }
            PatternKind::HotCold { hot_percent, access_percent } => {
                in_range("pattern.hot_cold.hot_percent", u64::from(*hot_percent), 1, 99)?;
                in_range("pattern.hot_cold.access_percent", u64::from(*access_percent), 0, 100)?;
                in_range("span_bytes, in records, hot and cold,", self.records(), 2, Self::RECORDS_MAX)
            }
            PatternKind::PartlySequential { random_percent } => {
                in_range("pattern.partly_sequential.random_percent", u64::from(*random_percent), 0, 100)
            }
            PatternKind::Access { lines } => self.check_access(lines),
            PatternKind::Ior { block_bytes, order } => self.check_ior(*block_bytes, *order),
            PatternKind::Trace { operations, timed } => self.check_trace(operations, *timed),
        }
    }

    /// A pattern that says what each operation does leaves nothing for the shares to say.
    fn check_shares(&self) -> Result<(), Error> {
        let expected = "the pattern says what each operation does: leave it at its default";
        if self.read_percent != Self::default().read_percent {
            return Err(refused("read_percent", &self.read_percent, expected));
        }
        if self.discard_percent != 0 {
            return Err(refused("discard_percent", &self.discard_percent, expected));
        }
        Ok(())
    }

    fn check_access(&self, lines: &[AccessLine]) -> Result<(), Error> {
        self.check_shares()?;
        in_range("pattern.access.lines, their number,", lines.len() as u64, 1, LINES_MAX)?;
        for (index, line) in lines.iter().enumerate() {
            self.check_line(line).map_err(|cause| item("pattern.access.lines", index, cause))?;
        }
        let shares = lines.iter().map(|line| u64::from(line.share_percent)).sum();
        in_range("pattern.access.lines, the sum of share_percent,", shares, 100, 100)?;
        let largest = lines.iter().map(|line| u64::from(line.size_bytes)).max().unwrap_or(0);
        in_range(
            "record_bytes, the largest size of the access lines,",
            u64::from(self.record_bytes),
            largest,
            largest,
        )?;
        if self.load.open.is_some() && pauses(lines) {
            let expected = "in the open loop the rate alone says when operations start: leave the delays at 0";
            return Err(refused("pattern.access.lines, with delays,", &"given", expected));
        }
        Ok(())
    }

    fn check_line(&self, line: &AccessLine) -> Result<(), Error> {
        let (size, align) = (u64::from(line.size_bytes), u64::from(line.align_bytes));
        let largest = u64::from(Self::RECORD_BYTES_MAX);
        in_range("size_bytes", size, 1, largest)?;
        in_range("share_percent", u64::from(line.share_percent), 1, 100)?;
        in_range("read_percent", u64::from(line.read_percent), 0, 100)?;
        in_range("random_percent", u64::from(line.random_percent), 0, 100)?;
        in_range("delay_ms", u64::from(line.delay_ms), 0, DAY_MS)?;
        in_range("burst", u64::from(line.burst), 1, u64::from(u32::MAX))?;
        in_range("align_bytes", align, 0, largest)?;
        let first = self.span_start_bytes.checked_next_multiple_of(self.alignment_of(line));
        let end_bytes = self.span_start_bytes + self.span_bytes;
        if first.and_then(|first| first.checked_add(size)).is_none_or(|last| last > end_bytes) {
            let expected = "an aligned transfer does not fit: choose a larger span_bytes or a smaller align_bytes";
            return Err(refused("size_bytes", &size, expected));
        }
        Ok(())
    }

    fn check_ior(&self, block_bytes: u64, order: IorOrder) -> Result<(), Error> {
        let record = u64::from(self.record_bytes);
        in_range("pattern.ior.block_bytes", block_bytes, record, self.span_bytes)?;
        multiple("pattern.ior.block_bytes", block_bytes, record)?;
        let tasks = if self.files == Files::Shared { u64::from(self.threads) } else { 1 };
        let segment_bytes = block_bytes.checked_mul(tasks).ok_or_else(|| {
            refused("pattern.ior.block_bytes", &block_bytes, "a segment is beyond 2^64 bytes: choose smaller blocks")
        })?;
        multiple("span_bytes, a whole number of IOR segments,", self.span_bytes, segment_bytes)?;
        match order {
            IorOrder::InOrder => Ok(()),
            IorOrder::Reordered { tasks } => {
                in_range("pattern.ior.order.reordered.tasks", u64::from(tasks), 1, u64::from(u32::MAX))
            }
            IorOrder::Random => {
                let transfers = segment_bytes / record;
                in_range(
                    "pattern.ior.block_bytes, in transfers of a segment that is shuffled,",
                    transfers,
                    1,
                    ior::SHUFFLED_MAX,
                )
            }
        }
    }

    fn check_trace(&self, operations: &[TraceOp], timed: bool) -> Result<(), Error> {
        self.check_shares()?;
        in_range("pattern.trace.operations, their number,", operations.len() as u64, 1, u64::MAX)?;
        let mut before_ns = 0;
        for (index, op) in operations.iter().enumerate() {
            self.check_operation(op, before_ns).map_err(|cause| item("pattern.trace.operations", index, cause))?;
            before_ns = op.at_ns;
        }
        if self.sync == Sync::None && operations.iter().any(|op| op.kind == OpKind::Sync) {
            return Err(refused("sync", &"none", "the trace has syncs: choose sync fsync or fdatasync"));
        }
        let largest = operations.iter().map(|op| u64::from(op.length_bytes)).max().unwrap_or(0).max(1);
        in_range("record_bytes, the largest length of the trace,", u64::from(self.record_bytes), largest, largest)?;
        let (load, plain) = (&self.load, crate::Load::default());
        if timed && (load.open != plain.open || load.cap != plain.cap || load.think != plain.think) {
            let found = format!("{load:?}");
            return Err(refused(
                "load",
                &found,
                "the trace's own times say when operations start: leave one of the two out",
            ));
        }
        Ok(())
    }

    fn check_operation(&self, op: &TraceOp, before_ns: u64) -> Result<(), Error> {
        in_range("at_ns, in the order of the times,", op.at_ns, before_ns, u64::MAX / 2)?;
        let length = u64::from(op.length_bytes);
        if op.kind == OpKind::Sync {
            return in_range("length_bytes, of a sync,", length, 0, 0);
        }
        in_range("length_bytes", length, 1, u64::from(Self::RECORD_BYTES_MAX))?;
        let last = self.span_bytes.saturating_sub(length);
        in_range("offset_bytes, inside the span,", op.offset_bytes, 0, last)?;
        in_range("length_bytes, inside the span,", length, 1, self.span_bytes)
    }
}
