//! Rules for laps and units of a workload, and for which contents and comparisons can be combined.

use super::Content;
use crate::error::{Error, in_range};
use crate::pattern::{AccessLine, PatternKind, unequal_pass};
use crate::workload::{Verify, Workload};

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Workload {
    /// Operations of a thread after which a new lap begins: the records that it visits in a pass.
    pub fn lap_operations(&self, thread: u32) -> u64 {
        unequal_pass(self, thread).map_or(self.share_of(thread).1, |pass| pass.max(1))
    }

    /// Length in bytes of which every operation is a multiple, and at a multiple of which from the span's start it lies:
    /// the record; where operations differ in size, the greatest common divisor of their sizes and places, a sector at
    /// most.
    pub fn operations_unit_bytes(&self) -> u32 {
        let sector = u64::from(Self::SECTOR_BYTES);
        let divisor = match &self.pattern {
            PatternKind::Access { lines } => {
                // Places are aligned from byte 0 of the target.
                let start = gcd(sector, self.span_start_bytes);
                let figures = lines.iter().flat_map(|line| [line.size_bytes, line.align_bytes]);
                figures.fold(start, |divisor, figure| gcd(divisor, u64::from(figure)))
            }
            PatternKind::Trace { operations, .. } => operations
                .iter()
                .fold(sector, |divisor, op| gcd(gcd(divisor, op.offset_bytes), u64::from(op.length_bytes))),
            _ => return self.record_bytes,
        };
        // No more than the sector that it divides.
        divisor as u32
    }

    /// Common divisor of the places of an access line.
    pub(crate) fn alignment_of(&self, line: &AccessLine) -> u64 {
        u64::from(if line.align_bytes == 0 { self.operations_unit_bytes() } else { line.align_bytes })
    }

    /// Whether every operation begins at a multiple of `of` bytes of the target and has a multiple of it as its length.
    /// Where operations differ in size, places are examined up to a sector.
    pub fn is_aligned_to(&self, of: u32) -> bool {
        let places = if self.pattern.is_own_master() { of.min(Self::SECTOR_BYTES) } else { of };
        self.lengths_are_multiples_of(of)
            && self.span_start_bytes.is_multiple_of(u64::from(of))
            && self.operations_unit_bytes().is_multiple_of(places)
    }

    /// Check that the content, and the requested comparison, are possible.
    pub(crate) fn check_content(&self) -> Result<(), Error> {
        self.content.check(self.length_bytes_max())?;
        if let Verify::Sampled { one_in } = self.verify {
            in_range("verify.sampled.one_in", u64::from(one_in), 2, u64::from(u32::MAX))?;
        }
        let refused = |what, found, expected| Err(Error::Refused { what, found, expected });
        if self.verify != Verify::Off && !self.reads() {
            return refused(
                "verify",
                format!("{:?}", self.verify).to_lowercase(),
                "it compares reads, and this workload makes none: compare in a run that reads",
            );
        }
        let of_records = matches!(
            self.content,
            Content::IozoneDefault
                | Content::IozoneDedup { .. }
                | Content::IozoneDiagnostic
                | Content::IozonePattern { .. }
        );
        if self.verify != Verify::Off && of_records && self.pattern.is_own_master() {
            return refused(
                "verify",
                format!("{:?}", self.verify).to_lowercase(),
                "IOzone's bytes depend on the record, and operations of this pattern may differ in size: choose \
                 incompressible, mixed or zeros",
            );
        }
        let of_fio = matches!(self.content, Content::FioScrambled | Content::FioConstant);
        if self.verify != Verify::Off && of_fio {
            return refused(
                "verify",
                format!("{:?}", self.verify).to_lowercase(),
                "what fio writes without verify depends on the length of the write: choose incompressible, mixed or zeros",
            );
        }
        let has_identity = matches!(self.content, Content::Incompressible | Content::Mixed { .. });
        if self.generation > 0 && !has_identity {
            return refused(
                "generation",
                self.generation.to_string(),
                "this content is the same in every generation: choose incompressible or mixed, or generation 0",
            );
        }
        Ok(())
    }
}
