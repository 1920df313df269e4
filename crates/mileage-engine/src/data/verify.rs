//! Compares what reads returned with what was written.
//!
//! A run that only reads expects its generation everywhere, of any lap, one lap to a block. A run that also writes knows
//! the lap of all it has written itself; what it has not written yet may be of its own or any older generation. So that
//! a lost write is always noticed, a run that writes over a target has a higher generation than the runs before it.
//!
//! # Limits
//! Records smaller than a block that belong to different laps are distinguished only in operations of their own size: a
//! target is to be compared in records no longer than those it was written in, or of 4 KiB. Contents without identity
//! (zeros, IOzone's) are compared as they are: what is wrong with them is `flipped` or `foreign`.

use super::fill::{Source, file_of};
use super::laps::{LapSnapshot, Laps, State};
use super::vector_width::Scratch;
use crate::error::Error;
use crate::memory::Pages;
use mileage_measure::Mismatch;
use mileage_workload::{
    BLOCK_BYTES, ExpectedContent, Finding, Lap, Op, Verify, Workload, WriteIdentity, plain_findings,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Mismatches that a thread keeps; all are counted.
const KEPT: usize = 100;

/// Result of a thread's comparisons.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ComparisonCount {
    /// Reads that were compared.
    pub(crate) reads: u64,
    /// Number of wrong ones.
    pub(crate) wrong: u64,
    /// The first of what was wrong.
    pub(crate) mismatches: Vec<Mismatch>,
}

/// Compares the data that one thread reads with the data that was written.
#[derive(Debug)]
pub(super) struct Verifier {
    source: Source,
    file: u16,
    generation: u32,
    /// Compare one read out of this number.
    one_in: u64,
    /// Drawn anew for each read.
    draw: u64,
    laps: Option<Arc<Laps>>,
    /// For the read in each slot, the laps when it was submitted; `None` when it is not compared.
    before: Box<[Option<LapSnapshot>]>,
    /// Laps of the units of a read.
    words: Vec<u32>,
    /// Room for what should have come, where that cannot be made block by block.
    scratch: Option<Pages>,
    block: Box<Scratch>,
    compared: ComparisonCount,
}

impl Verifier {
    /// The verifier of `thread`'s reads, each of which has one of `slots` slots; `None` when the workload asks for no
    /// comparison.
    pub(super) fn new(
        workload: &Workload,
        thread: u32,
        slots: usize,
        laps: Option<Arc<Laps>>,
    ) -> Result<Option<Self>, Error> {
        let one_in = match workload.verify {
            Verify::Off => return Ok(None),
            Verify::Sampled { one_in } => u64::from(one_in),
            Verify::All => 1,
        };
        let source = Source::of(workload);
        let scratch = match source {
            Source::Blocks(..) => None,
            Source::Fio(..) | Source::Iozone(_) | Source::Zeros => {
                Some(Pages::new(workload.length_bytes_max() as usize)?)
            }
        };
        Ok(Some(Self {
            source,
            file: file_of(workload, thread),
            generation: workload.generation,
            one_in,
            draw: workload.seed ^ u64::from(thread) << 32,
            laps,
            before: vec![None; slots].into(),
            words: Vec::new(),
            scratch,
            block: Box::new([0; BLOCK_BYTES]),
            compared: ComparisonCount { mismatches: Vec::with_capacity(KEPT), ..ComparisonCount::default() },
        }))
    }

    /// A read is about to be submitted.
    #[inline]
    pub(super) fn submit(&mut self, op: &Op, slot: usize) {
        // Knuth's MMIX generator; its high bits are good enough to choose reads by.
        self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chosen = self.one_in == 1 || ((self.draw >> 32) * self.one_in) >> 32 == 0;
        self.before[slot] = chosen.then(|| self.laps.as_ref().map_or_else(LapSnapshot::default, |laps| laps.look(op)));
    }

    /// Whether the read in this slot is to be compared.
    #[inline]
    pub(super) fn wants(&self, slot: usize) -> bool {
        self.before[slot].is_some()
    }

    /// Compare what the read in a slot returned.
    pub(super) fn compare(&mut self, op: &Op, slot: usize, found: &[u8]) {
        let Some(before) = self.before[slot].take() else { return };
        let laps = self.laps.clone();
        let wrong = match laps {
            None => self.stretch(op.offset_bytes, Lap::Any, found),
            Some(laps) => {
                let mut words = std::mem::take(&mut self.words);
                let wrong = laps.stretches(op, before, &mut words).fold(false, |wrong, (range, state)| {
                    let State::Lap(lap) = state else { return wrong };
                    self.stretch(op.offset_bytes + range.start as u64, lap, &found[range]) || wrong
                });
                self.words = words;
                wrong
            }
        };
        self.compared.reads += 1;
        self.compared.wrong += u64::from(wrong);
    }

    /// Compare a stretch, and record it if it is wrong.
    fn stretch(&mut self, offset_bytes: u64, lap: Lap, found: &[u8]) -> bool {
        let expected = ExpectedContent { file: self.file, generation: self.generation, lap };
        let full = self.compared.mismatches.len() == KEPT;
        let findings = match (&self.source, &mut self.scratch) {
            (Source::Blocks(blocks, width), _) => {
                if width.agrees(blocks, expected, offset_bytes, found, &mut self.block) {
                    return false;
                }
                blocks.findings(expected, offset_bytes, found)
            }
            (source, Some(scratch)) => {
                let made = &mut scratch.bytes_mut()[..found.len()];
                source.make(WriteIdentity { file: self.file, ..WriteIdentity::default() }, offset_bytes, made);
                if made == found {
                    return false;
                }
                plain_findings(offset_bytes, made, found)
            }
            (_, None) => unreachable!("contents without identity have room to be made in"),
        };
        if !full {
            let room = KEPT - self.compared.mismatches.len();
            self.compared.mismatches.extend(findings.iter().take(room).map(mismatch));
        }
        !findings.is_empty()
    }

    pub(super) fn into_compared(self) -> ComparisonCount {
        self.compared
    }
}

fn mismatch(finding: &Finding) -> Mismatch {
    let Finding { kind, offset_bytes, message } = finding;
    Mismatch { offset_bytes: *offset_bytes, kind: kind.name().to_owned(), message: message.clone() }
}
