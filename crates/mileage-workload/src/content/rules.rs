//! Rules for laps and units of a workload, and for which contents and comparisons can be combined.

use super::Content;
use crate::error::{Error, in_range};
use crate::pattern::{PatternKind, unequal_pass};
use crate::workload::{Verify, Workload};

impl Workload {
    /// Operations of a thread after which a new lap begins: the records that it visits in a pass.
    pub fn lap_operations(&self, thread: u32) -> u64 {
        unequal_pass(self, thread).map_or(self.share_of(thread).1, |pass| pass.max(1))
    }

    /// Length in bytes of which every operation is a multiple, and at a multiple of which from the span's start it lies.
    pub fn operations_unit_bytes(&self) -> u32 {
        match self.pattern {
            PatternKind::Access { .. } | PatternKind::Trace { .. } => Self::SECTOR_BYTES,
            _ => self.record_bytes,
        }
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
