//! The data of one thread's operations: buffers, generated content, comparison of what was read.
//!
//! `fill` makes what is written, `vector_width` with the processor's widest vectors; `verify` compares what is read, `laps`
//! tracks which pass wrote each unit; `sample` keeps a sample of what was written, `distinct_blocks` counts distinct
//! blocks, `compression` compresses the sample after the run; `generator` does the same without a run,
//! `file_duplicates` counts equal blocks of the files of several children.

mod compression;
mod distinct_blocks;
mod file_duplicates;
mod fill;
mod generator;
mod laps;
mod sample;
#[expect(unsafe_code, reason = "calls code for vectors that the processor was asked about")]
mod vector_width;
mod verify;

pub(crate) use compression::measure_compression;
pub use file_duplicates::{FileDuplicates, file_duplicates};
pub use generator::Generator;
pub(crate) use laps::{Laps, UNITS_MAX};
pub(crate) use sample::ContentSample;
pub(crate) use verify::ComparisonCount;

use crate::error::Error;
use crate::memory::Pages;
use fill::{Filler, Refill};
use mileage_workload::{Content, Op, OpKind, Workload};
use sample::Sampler;
use std::sync::Arc;
use verify::Verifier;

/// A thread's buffers, and what fills and compares them.
#[derive(Debug)]
pub(crate) struct Data {
    incoming: Option<Pages>,
    outgoing: Option<Pages>,
    filler: Filler,
    /// What a write does to its buffer; all of it, where reads use the buffers too.
    refill: Refill,
    writes: bool,
    content: Content,
    record_bytes: usize,
    sampler: Option<Sampler>,
    verifier: Option<Verifier>,
    laps: Option<Arc<Laps>>,
    /// Whether reads are compared or laps are tracked, so that each operation has to be noted.
    notes: bool,
    /// Lap of each slot's outstanding write.
    lap_of: Box<[u32]>,
}

/// The buffers that operations use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffers {
    /// The buffers of [`Data`]: one for reads, one for writes, for one operation at a time.
    Own,
    /// The caller's, one for each of this number of slots, for reads and writes alike.
    OfSlots(u32),
}

impl Data {
    /// The buffers of `thread`. `laps`, of a run that writes and compares, are those of the thread's file.
    pub(crate) fn new(
        workload: &Workload,
        thread: u32,
        buffers: Buffers,
        laps: Option<&Arc<Laps>>,
    ) -> Result<Self, Error> {
        let (reads, writes) = (workload.reads(), workload.writes());
        let room = || Pages::new(workload.length_bytes_max() as usize);
        let (own, slots) = match buffers {
            Buffers::Own => (true, 1),
            Buffers::OfSlots(slots) => (false, slots as usize),
        };
        let filler = Filler::new(workload, thread);
        let mut outgoing = (own && writes).then(room).transpose()?;
        let refill = if own || !reads { Filler::refill_of(workload.content) } else { Refill::All };
        if let (true, Some(outgoing)) = (refill != Refill::All, &mut outgoing) {
            filler.prime(outgoing.bytes_mut());
        }
        let verifier = Verifier::new(workload, thread, slots, laps.cloned())?;
        Ok(Self {
            incoming: (own && reads).then(room).transpose()?,
            outgoing,
            filler,
            refill,
            writes,
            content: workload.content,
            record_bytes: workload.length_bytes_max() as usize,
            sampler: (writes && refill != Refill::Nothing).then(|| Sampler::new(workload, thread)).transpose()?,
            notes: verifier.is_some() || laps.is_some(),
            verifier,
            laps: laps.cloned(),
            lap_of: vec![0; slots].into(),
        })
    }

    /// Whether operations must be prepared in their order before they are submitted; that time is counted separately.
    #[inline]
    pub(crate) fn prepares(&self) -> bool {
        self.writes && self.refill != Refill::Nothing || self.laps.is_some()
    }

    /// Make a slot's buffer what all writes carry, before the run, where all carry the same but for some words.
    pub(crate) fn prime(&self, into: &mut [u8]) {
        if self.writes && self.refill != Refill::All {
            self.filler.prime(into);
        }
    }

    /// Put what an operation writes into the buffer of its slot.
    #[inline]
    pub(crate) fn prepare(&mut self, op: &Op, slot: usize, buffer: &mut [u8]) {
        let lap = self.filler.next_lap();
        self.lap_of[slot] = lap;
        if op.kind == OpKind::Write && self.refill != Refill::Nothing {
            if self.refill == Refill::Words {
                self.filler.change(op, lap, buffer);
            } else {
                self.filler.fill(op, lap, buffer);
            }
            if let Some(sampler) = &mut self.sampler {
                sampler.take(op, buffer);
            }
        }
    }

    /// As [`Data::prepare`], for APIs with a single buffer.
    #[inline]
    pub(crate) fn prepare_outgoing(&mut self, op: &Op) {
        let mut pages = self.outgoing.take();
        let buffer = pages.as_mut().map_or(&mut [][..], |pages| &mut pages.bytes_mut()[..op.length_bytes as usize]);
        self.prepare(op, 0, buffer);
        self.outgoing = pages;
    }

    /// The operation prepared last will not be submitted next: it is prepared again later.
    pub(crate) fn take_back(&mut self) {
        self.filler.take_back();
    }

    /// An operation is about to be submitted from a slot.
    #[inline]
    pub(crate) fn submit(&mut self, op: &Op, slot: usize) {
        if self.notes {
            self.note_submitted(op, slot);
        }
    }

    #[inline(never)]
    fn note_submitted(&mut self, op: &Op, slot: usize) {
        if op.kind == OpKind::Read {
            if let Some(verifier) = &mut self.verifier {
                verifier.submit(op, slot);
            }
        } else if let Some(laps) = &self.laps {
            match op.kind {
                OpKind::Write => laps.begin(op, self.lap_of[slot]),
                kind if kind.changes() => laps.begin_discard(op),
                _ => {}
            }
        }
    }

    /// Bytes of a prepared write, for APIs with a single buffer.
    #[inline]
    pub(crate) fn outgoing(&self, op: &Op) -> &[u8] {
        let pages = self.outgoing.as_ref().expect("a workload that writes has a buffer to write from");
        &pages.bytes()[..op.length_bytes as usize]
    }

    /// Buffer for a read, for APIs with a single buffer.
    #[inline]
    pub(crate) fn incoming(&mut self, op: &Op) -> &mut [u8] {
        let pages = self.incoming.as_mut().expect("a workload that reads has a buffer to read into");
        &mut pages.bytes_mut()[..op.length_bytes as usize]
    }

    /// An operation of a slot has completed. True if it is a read that is to be compared.
    #[inline]
    pub(crate) fn completed(&mut self, op: &Op, slot: usize) -> bool {
        self.notes && self.note_completed(op, slot)
    }

    #[inline(never)]
    fn note_completed(&mut self, op: &Op, slot: usize) -> bool {
        if op.kind == OpKind::Read {
            return self.verifier.as_ref().is_some_and(|verifier| verifier.wants(slot));
        }
        if let Some(laps) = self.laps.as_ref().filter(|_| op.kind.changes()) {
            laps.end(op);
        }
        false
    }

    /// Compare what the read of a slot returned.
    pub(crate) fn compare(&mut self, op: &Op, slot: usize, found: &[u8]) {
        if let Some(verifier) = &mut self.verifier {
            verifier.compare(op, slot, found);
        }
    }

    /// As [`Data::compare`], for APIs with a single buffer.
    pub(crate) fn compare_incoming(&mut self, op: &Op) {
        if let (Some(verifier), Some(incoming)) = (&mut self.verifier, &self.incoming) {
            verifier.compare(op, 0, &incoming.bytes()[..op.length_bytes as usize]);
        }
    }

    /// Return the sample of the `writes` writes, and the result of the comparisons.
    pub(crate) fn finish(&mut self, writes: u64) -> (ContentSample, ComparisonCount) {
        let kept = match self.sampler.take() {
            Some(sampler) => sampler.into_kept(),
            None if writes > 0 => {
                let mut own = Vec::new();
                let record = if let Some(outgoing) = &self.outgoing {
                    &outgoing.bytes()[..self.record_bytes]
                } else {
                    own.resize(self.record_bytes, 0);
                    self.filler.prime(&mut own);
                    &own
                };
                ContentSample::of_fixed(record, self.content, writes)
            }
            None => ContentSample::default(),
        };
        (kept, self.verifier.take().map(Verifier::into_compared).unwrap_or_default())
    }
}
