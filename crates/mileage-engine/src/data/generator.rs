//! Generate a workload's content outside a run.

use super::compression::measure_compression;
use super::distinct_blocks::{DistinctBlocks, IdentityPlace};
use super::fill::Source;
use super::sample::ContentSample;
use super::vector_width::Width;
use crate::error::Error;
use crate::memory::Pages;
use mileage_measure::ContentData;
use mileage_workload::{BLOCK_BYTES, Workload, WriteIdentity};

/// Bytes that [`Generator::measure`] makes.
const SAMPLE_BYTES: u64 = 2 << 20;

/// Makes the bytes of a workload's content, as its run does.
#[derive(Debug)]
pub struct Generator {
    source: Source,
    record_bytes: u32,
    generation: u32,
}

impl Generator {
    /// The bytes that `workload` writes.
    ///
    /// # Errors
    /// The rule that the workload breaks.
    pub fn new(workload: &Workload) -> Result<Self, Error> {
        workload.check()?;
        let (record_bytes, generation) = (workload.length_bytes_max(), workload.generation);
        Ok(Self { source: Source::of(workload), record_bytes, generation })
    }

    /// Width of the vectors used, in bits; 0 for what is not made of blocks.
    pub fn vector_bits(&self) -> u32 {
        match self.source {
            Source::Blocks(_, width) | Source::Fio(_, width) => width.bits(),
            Source::Iozone(_) | Source::Zeros => 0,
        }
    }

    /// The same generator with vectors of at most `bits`, for comparisons.
    #[must_use]
    pub fn with_vectors(self, bits: u32) -> Self {
        let narrow = |width: &Width| width.bits() <= bits.max(Width::Baseline.bits());
        let width = Width::all().into_iter().rfind(narrow).unwrap_or(Width::Baseline);
        let source = match self.source {
            Source::Blocks(blocks, _) => Source::Blocks(blocks, width),
            Source::Fio(buffer, _) => Source::Fio(buffer, width),
            source => source,
        };
        Self { source, ..self }
    }

    /// The bytes at `offset_bytes` in lap `lap` of the shared file; one record, where the content is made of records.
    #[inline]
    pub fn fill(&self, lap: u32, offset_bytes: u64, into: &mut [u8]) {
        self.source.make(WriteIdentity { file: 0, generation: self.generation, lap }, offset_bytes, into);
    }

    /// Measure the compressibility of the content on its first 2 MiB: the true figure next to the nominal one. Takes
    /// some hundredths of a second.
    ///
    /// # Errors
    /// When there is no memory for a record.
    pub fn measure(&self) -> Result<ContentData, Error> {
        let mut pages = Pages::new(self.record_bytes as usize)?;
        let record = &mut pages.bytes_mut()[..self.record_bytes as usize];
        let mut kept =
            ContentSample { records: Vec::new(), distinct_blocks: DistinctBlocks::new(1, IdentityPlace::Unknown) };
        let mut places = 0..;
        for number in 0..(SAMPLE_BYTES / u64::from(self.record_bytes)).max(1) {
            self.fill(0, number * u64::from(self.record_bytes), record);
            kept.records.push(record[..record.len().min(SAMPLE_BYTES as usize)].to_vec());
            let blocks = record.as_chunks::<BLOCK_BYTES>().0.iter().zip(&mut places);
            blocks.for_each(|(block, at)| kept.distinct_blocks.count(block, at));
        }
        Ok(measure_compression(&[&kept]).unwrap_or_default())
    }
}
