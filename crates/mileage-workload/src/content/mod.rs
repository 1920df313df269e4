//! Generate and check the data that is written: a pure function of seed, position and generation.
//!
//! [`Blocks`] makes the contents whose compressibility and duplication are chosen, and knows its own bytes again;
//! [`IozoneBytes`] makes IOzone's, [`FioBuffer`] fio's.

#![expect(clippy::inline_always, reason = "a caller compiled for wider vectors must not call out of its own code")]

mod blocks;
mod diagnosis;
mod fio;
mod identity;
pub(crate) mod iozone;
mod rules;

pub use blocks::{BLOCK_BYTES, Blocks};
pub use diagnosis::{ExpectedContent, Finding, Kind, Lap, plain_findings};
pub use fio::FioBuffer;
pub use identity::{Identity, WriteIdentity};
pub use iozone::IozoneBytes;

use crate::error::{Error, in_range};
use serde::{Deserialize, Serialize};

/// Content of writes. Every 4 KiB block is a pure function of (seed, block, generation); of fio's and IOzone's contents,
/// a write is one of its own place and length too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Seeded random bytes; no compressor saves anything on them.
    Incompressible,
    /// Zero bytes.
    Zeros,
    /// Compressibility and duplication as two independent knobs.
    Mixed {
        /// Share of each 4 KiB block that a compressor saves, 0 to 100 percent.
        compressible_percent: u8,
        /// Share of 4 KiB blocks whose content another block of the same writing has too, 0 to 100 percent.
        duplicate_percent: u8,
    },
    /// fio's without options: one buffer of random bytes, of which a few words of every sector change with each write.
    FioScrambled,
    /// fio's with `scramble_buffers=0`: one buffer of random bytes for all writes.
    FioConstant,
    /// IOzone's own bytes without options: one word per page, the rest zero.
    IozoneDefault,
    /// IOzone's own bytes with `-+w`, `-+y`, `-+C`, in percent; the shares multiply.
    IozoneDedup {
        /// `-+w`: percent shared between files.
        within_percent: u8,
        /// `-+y`: percent of that which is constant.
        across_percent: u8,
        /// `-+C`: percent of that which differs between children.
        compress_percent: u8,
    },
    /// IOzone's own bytes with `-+d`.
    IozoneDiagnostic,
    /// IOzone's own bytes with `-V` or `-+Z`: one byte repeated.
    IozonePattern {
        /// The byte.
        byte: u8,
        /// In every byte (`-V`); else in the first word of each page, the rest zero (`-+Z`).
        whole: bool,
    },
}

impl Content {
    /// Check that percentages are at most 100, and that IOzone supports records of this size.
    pub(crate) fn check(self, record_bytes: u32) -> Result<(), Error> {
        let shares: &[(&'static str, u8)] = match self {
            Self::Mixed { compressible_percent, duplicate_percent } => {
                &[("compressible_percent", compressible_percent), ("duplicate_percent", duplicate_percent)]
            }
            Self::IozoneDedup { within_percent, across_percent, compress_percent } => {
                in_range("record_bytes of IOzone's content", u64::from(record_bytes), 512, iozone::RECORD_BYTES_MAX)?;
                &[
                    ("within_percent", within_percent),
                    ("across_percent", across_percent),
                    ("compress_percent", compress_percent),
                ]
            }
            _ => &[],
        };
        shares.iter().try_for_each(|(what, share)| in_range(what, u64::from(*share), 0, 100))
    }

    /// The share that zlib-1 really saves on pieces of `piece_bytes`, 4096 or more, in percent, within 2 points; of fio's
    /// contents, where a piece is no longer than a write: what several writes have in common saves more. Of
    /// IOzone's `-+w`, `-+y`, `-+C` it is the product of the first two: the third changes the constant, not its length.
    pub fn saved_percent(self, piece_bytes: usize) -> f64 {
        match self {
            Self::Incompressible | Self::FioConstant => 0.0,
            // Measured: of the three words of a sector, two and the upper half of the third repeat.
            Self::FioScrambled => 3.0,
            Self::Zeros | Self::IozoneDefault | Self::IozonePattern { .. } => 100.0,
            Self::Mixed { compressible_percent, .. } => f64::from(compressible_percent),
            Self::IozoneDedup { within_percent, across_percent, .. } => {
                f64::from(within_percent) * f64::from(across_percent) / 100.0
            }
            // Measured: the sequence repeats after 256 words, and only pieces much longer profit fully.
            Self::IozoneDiagnostic if piece_bytes < 16_384 => 49.0,
            Self::IozoneDiagnostic => 67.0,
        }
    }
}
