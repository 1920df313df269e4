//! What differs from kernel to kernel.

use crate::read_ahead::Form;
use serde::{Deserialize, Serialize};

/// A kernel's behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelSet {
    /// 2.6.30: no context read-ahead.
    #[serde(rename = "2.6.30")]
    V2_6_30,
    /// 2.6.32: context read-ahead; no TRIM for SATA drives.
    #[serde(rename = "2.6.32")]
    V2_6_32,
    /// 2.6.34: TRIM for SATA drives.
    #[serde(rename = "2.6.34")]
    V2_6_34,
    /// The kernel of RHEL 6: 2.6.32 with flushes instead of barriers, TRIM and FITRIM.
    #[serde(rename = "2.6.32-el6")]
    El6,
    /// 2.6.38: flushes instead of barriers, FITRIM.
    #[serde(rename = "2.6.38")]
    V2_6_38,
    /// Linux 6.18: read-ahead in folios, by the position behind the last byte.
    #[serde(rename = "6.x")]
    V6,
}

impl std::fmt::Display for KernelSet {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::V2_6_30 => "2.6.30",
            Self::V2_6_32 => "2.6.32",
            Self::V2_6_34 => "2.6.34",
            Self::El6 => "2.6.32-el6",
            Self::V2_6_38 => "2.6.38",
            Self::V6 => "6.x",
        })
    }
}

impl KernelSet {
    /// The read-ahead algorithm.
    pub fn read_ahead(self) -> Form {
        match self {
            Self::V2_6_30 => Form::Early,
            Self::V6 => Form::Current,
            _ => Form::Legacy,
        }
    }

    /// Pages of a file's cache lie one behind another in memory.
    pub fn has_large_folios(self) -> bool {
        self == Self::V6
    }

    /// A barrier waits until the queue is empty, and holds everything behind it back.
    pub fn drains(self) -> bool {
        matches!(self, Self::V2_6_30 | Self::V2_6_32 | Self::V2_6_34)
    }

    /// Whether a discard reaches a SATA drive.
    pub fn discards(self) -> bool {
        !matches!(self, Self::V2_6_30 | Self::V2_6_32)
    }

    /// Whether all free blocks can be discarded (`fstrim`).
    pub fn trims_free_blocks(self) -> bool {
        matches!(self, Self::El6 | Self::V2_6_38 | Self::V6)
    }

    /// Whether ext4 discards in the background after a commit: neighbours together, and each up to the end of the free extent that
    /// it is now in (`ext4_discard_work` since 5.15, `ext4_try_to_trim_range` since 6.8).
    pub fn discards_free_extents(self) -> bool {
        self == Self::V6
    }

    /// Whether a search for free blocks reads bitmaps ahead (5.9, `ext4_mb_prefetch`).
    pub fn prefetches_bitmaps(self) -> bool {
        self == Self::V6
    }

    /// Whether xfs logs an item that changes again in a checkpoint once (delayed logging, the default since 2.6.39).
    pub fn logs_items_once(self) -> bool {
        self == Self::V6
    }

    /// How long the active list may be, in percent of the inactive one, with this number of bytes of memory. Before 6.x both are
    /// equal; now the ratio is the root of ten times the gibibytes (`inactive_is_low`).
    pub fn active_percent(self, memory_bytes: u64) -> u64 {
        match self {
            Self::V6 => ((10 * (memory_bytes >> 30)).isqrt()).max(1) * 100,
            _ => 100,
        }
    }
}
