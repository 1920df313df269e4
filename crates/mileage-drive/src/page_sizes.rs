//! Content of writes for a drive that compresses, as a layer above can hand it on that writes pages at other addresses,
//! later and in other sizes than the program did: the sizes to which pages compress, whichever they are.
//!
//! The identity of a page is lost on that way, which is all that matters to a drive that finds duplicates.

use mileage_workload::{Content, FioBuffer, IozoneBytes, Workload, WriteIdentity};
use serde::{Deserialize, Serialize};

/// IOzone's records are sampled until their pages are as many bytes as these, one record at least.
const SAMPLE_BYTES: u64 = 1 << 20;
/// But no more records than these.
const SAMPLE_RECORDS: u64 = 256;

/// Bytes after compression of the pages that arrive, which have these sizes in turn. The default does not compress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSizes(Vec<u32>);

impl PageSizes {
    /// The sizes of the pages that a workload writes. Contents made of blocks, fio's and zeros have one size; of IOzone's,
    /// some records are made here, one behind the other, and their pages compressed.
    pub fn of(workload: &Workload, page_bytes: u32) -> Self {
        let saving = |percent: u8| vec![size_after_saving(page_bytes, percent.into())];
        let mut sizes = match workload.content {
            Content::Incompressible => Vec::new(),
            Content::FioScrambled | Content::FioConstant => fio_page_size(workload, page_bytes).into_iter().collect(),
            Content::Zeros => saving(100),
            Content::Mixed { compressible_percent, .. } => saving(compressible_percent),
            Content::IozoneDefault
            | Content::IozoneDedup { .. }
            | Content::IozoneDiagnostic
            | Content::IozonePattern { .. } => sampled(workload, page_bytes),
        };
        if sizes.iter().all(|size| *size == page_bytes) {
            sizes.clear();
        } else if sizes.iter().all(|size| *size == sizes[0]) {
            sizes.truncate(1);
        }
        Self(sizes)
    }

    /// Bytes after compression of the page with this number, counted in the order of arrival.
    pub(crate) fn size_of(&self, number: u64, page_bytes: u32) -> u32 {
        if self.0.is_empty() { page_bytes } else { self.0[(number % self.0.len() as u64) as usize] }
    }
}

/// Sizes of the pages of some of IOzone's records.
fn sampled(workload: &Workload, page_bytes: u32) -> Vec<u32> {
    let longest = u64::from(workload.length_bytes_max());
    // The others repeat within a record, which may be a gigabyte.
    let has_regions = matches!(workload.content, Content::IozoneDedup { .. });
    let length = if has_regions { longest } else { longest.min(SAMPLE_BYTES) };
    let records = (workload.span_start_bytes + workload.span_bytes) / u64::from(workload.record_bytes);
    let Some(bytes) = IozoneBytes::new(&workload.content, workload.seed, workload.length_bytes_max(), records) else {
        return Vec::new();
    };
    let most = SAMPLE_RECORDS.max(u64::from(page_bytes).div_ceil(length));
    let mut sample = vec![0; ((SAMPLE_BYTES / length).clamp(1, most) * length).max(page_bytes.into()) as usize];
    (0..).zip(sample.chunks_mut(length as usize)).for_each(|(number, record)| bytes.fill(0, number, record));
    sample.chunks_exact(page_bytes as usize).map(|page| compressed_size(page, page_bytes)).collect()
}

/// Size of a page of the records that fio's contents make, one behind the other; `None` of other contents.
pub(crate) fn fio_page_size(workload: &Workload, page_bytes: u32) -> Option<u32> {
    let buffer = FioBuffer::new(&workload.content, workload.seed)?;
    let (mut page, mut offset_bytes) = (vec![0; page_bytes as usize], 0);
    for record in page.chunks_mut(workload.length_bytes_max() as usize) {
        buffer.blocks().fill(WriteIdentity::default(), 0, record);
        buffer.change(WriteIdentity::default(), offset_bytes, record);
        offset_bytes += record.len() as u64;
    }
    Some(compressed_size(&page, page_bytes).min(page_bytes))
}

/// Size of a page of which a compressor saves a share.
pub(crate) fn size_after_saving(page_bytes: u32, percent: u32) -> u32 {
    page_bytes - (u64::from(page_bytes) * u64::from(percent) / 100) as u32
}

/// Size of a page whose bytes, or some of them, compress as these do with LZ4.
pub(crate) fn compressed_size(bytes: &[u8], page_bytes: u32) -> u32 {
    let packed = lz4::block::compress(bytes, None, false).map_or(bytes.len(), |packed| packed.len());
    (packed as u64 * u64::from(page_bytes)).div_ceil((bytes.len() as u64).max(1)) as u32
}
