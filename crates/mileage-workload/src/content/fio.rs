//! The data that fio writes when it is not asked for new data: one buffer of random bytes again and again, in which a few
//! words of every sector differ from write to write.
//!
//! # What differs from fio
//! Where fio puts the time of the write, these put the file, the generation and the lap. fio lets the clock choose which
//! line of a sector gets the offset, so that older offsets remain in the other lines; here it is always the first line.
//! The bytes of a write thus follow from the seed, its place and its lap, whatever the buffer held before. All buffers of
//! a file are alike, where fio has as many as its queue is deep.

use super::Content;
use super::blocks::Blocks;
use super::identity::WriteIdentity;

const SECTOR_BYTES: usize = 512;
/// Place of the two words of the writing: the end of a sector's first line of 64 bytes.
const WRITING_AT: usize = 64 - 16;

/// fio's contents of one workload.
#[derive(Clone, Copy, Debug)]
pub struct FioBuffer {
    blocks: Blocks,
    is_scrambled: bool,
}

impl FioBuffer {
    /// The buffer of one of fio's contents; `None` for the other contents.
    pub fn new(content: &Content, seed: u64) -> Option<Self> {
        let is_scrambled = match content {
            Content::FioScrambled => true,
            Content::FioConstant => false,
            _ => return None,
        };
        Some(Self { blocks: Blocks::new(seed, &Content::Incompressible)?, is_scrambled })
    }

    /// The blocks whose bytes a buffer holds before anything is written from it: those at the start of its file, of
    /// generation and lap 0.
    #[inline]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Change what differs in a write from a buffer that holds these bytes, or those of an earlier write.
    #[inline]
    pub fn change(&self, writing: WriteIdentity, offset_bytes: u64, out: &mut [u8]) {
        if !self.is_scrambled {
            return;
        }
        let words = [u64::from(writing.file) << 32 | u64::from(writing.generation), u64::from(writing.lap)];
        let mut offset = offset_bytes;
        for sector in out.as_chunks_mut::<SECTOR_BYTES>().0 {
            sector[..8].copy_from_slice(&offset.to_le_bytes());
            sector[WRITING_AT..][..8].copy_from_slice(&words[0].to_le_bytes());
            sector[WRITING_AT + 8..][..8].copy_from_slice(&words[1].to_le_bytes());
            offset += SECTOR_BYTES as u64;
        }
    }
}
