//! What is written.

use serde::{Deserialize, Serialize};

/// What is written. Every 4 KiB block is a pure function of (seed, block, generation).
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
}
