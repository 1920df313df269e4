//! Content of writes, sector by sector: a few numbers from which the bytes can be computed, or the bytes themselves.
//!
//! Content travels with the request. Below a file system or a stripe a sector has another address than in the workload, so
//! that its bytes could not be computed from the address; they follow from seed, generation and the sector's origin.

use crate::saved_state::{Reader, StateError, Writer, corrupt};
use std::sync::Arc;

/// Content of a write request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Nobody keeps it.
    #[default]
    Unknown,
    /// Bytes that follow from numbers.
    Synthetic {
        /// Seed of the workload or file.
        seed: u64,
        /// Number of earlier writes to the sector, from 0.
        generation: u64,
        /// Number of the first sector where it was generated; the next sector of the request is the next one there.
        first_sector: u64,
    },
    /// The exclusive or of these, sector by sector: parity.
    Xor(Arc<[Content]>),
    /// The bytes themselves.
    Bytes(Arc<[u8]>),
}

impl Content {
    /// The content of the part of a request that begins `sectors` sectors after its start and has this length: what a stripe or a
    /// torn write keeps of it.
    ///
    /// # Panics
    /// When bytes end before the part: a programmer's mistake.
    #[must_use]
    pub fn part(&self, sectors: u64, length_sectors: u64, sector_bytes: u32) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Synthetic { seed, generation, first_sector } => {
                Self::Synthetic { seed: *seed, generation: *generation, first_sector: first_sector + sectors }
            }
            Self::Xor(parts) => {
                Self::Xor(parts.iter().map(|part| part.part(sectors, length_sectors, sector_bytes)).collect())
            }
            Self::Bytes(bytes) => {
                let from = (sectors * u64::from(sector_bytes)) as usize;
                Self::Bytes(bytes[from..from + (length_sectors * u64::from(sector_bytes)) as usize].into())
            }
        }
    }
}

/// Contents of contents: none that is made here is deeper.
const DEPTH_MAX: u32 = 8;

/// Write a content into a state.
pub(crate) fn save(out: &mut Writer, content: &Content) {
    match content {
        Content::Unknown => out.word(0),
        Content::Synthetic { seed, generation, first_sector } => out.words([1, *seed, *generation, *first_sector]),
        Content::Xor(parts) => {
            out.words([2, parts.len() as u64]);
            parts.iter().for_each(|part| save(out, part));
        }
        Content::Bytes(bytes) => {
            out.words([3, bytes.len() as u64]);
            out.bytes(bytes);
        }
    }
}

/// Read what [`save`] wrote.
pub(crate) fn restore(reader: &mut Reader) -> Result<Content, StateError> {
    restore_at(reader, 0)
}

fn restore_at(reader: &mut Reader, depth: u32) -> Result<Content, StateError> {
    match reader.word()? {
        0 => Ok(Content::Unknown),
        1 => Ok(Content::Synthetic { seed: reader.word()?, generation: reader.word()?, first_sector: reader.word()? }),
        2 if depth < DEPTH_MAX => {
            let parts: Result<Vec<Content>, StateError> =
                (0..reader.word()?).map(|_| restore_at(reader, depth + 1)).collect();
            Ok(Content::Xor(parts?.into()))
        }
        3 => {
            let length = reader.word()? as usize;
            Ok(Content::Bytes(reader.slice(length)?.into()))
        }
        _ => corrupt("a content of a kind that does not exist"),
    }
}
