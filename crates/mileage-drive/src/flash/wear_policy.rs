//! Endurance of each block by the profile, and the spread of erase counts over blocks.

use crate::profile::FlashProfile;
use crate::profile::flash::choices::{EndOfLife, Levelling};

/// The policies of wear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wear {
    /// The least worn of the erased blocks is used next.
    pub dynamic: bool,
    /// Static levelling acts from this difference on.
    pub static_gap: Option<u32>,
    /// Erases that a block endures, on average; `None` when it endures any number.
    pub limit: Option<u32>,
    /// Relative spread of single blocks around it.
    pub spread: f64,
}

impl Wear {
    pub(crate) fn of(profile: &FlashProfile) -> Self {
        let policies = &profile.policies;
        let ends = policies.end_of_life != EndOfLife::Ignored;
        Self {
            dynamic: policies.levelling != Levelling::Off,
            static_gap: (policies.levelling == Levelling::Static).then_some(policies.levelling_gap),
            limit: profile.pe_cycles.filter(|_| ends).map(|cycles| cycles.min(u64::from(u32::MAX)) as u32),
            spread: policies.pe_spread_percent / 100.0,
        }
    }

    /// Erases that this block endures: its own even draw from the mean plus and minus the spread.
    pub(crate) fn limit_of(&self, block: u32) -> Option<u32> {
        let limit = f64::from(self.limit?);
        let hash = (u64::from(block) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let hash = (hash ^ (hash >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32;
        let even = hash as f64 / f64::from(u32::MAX) * 2.0 - 1.0;
        Some((limit * (1.0 + self.spread * even)).round().max(1.0) as u32)
    }
}

/// Least and most erases of any block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EraseSpread {
    pub least: u32,
    pub most: u32,
}

impl EraseSpread {
    /// The value before any block is counted.
    pub(crate) const NONE: Self = Self { least: u32::MAX, most: 0 };

    pub(crate) fn of(erases: &[u32]) -> Self {
        erases.iter().fold(Self::NONE, |spread, erases| spread.and(Self { least: *erases, most: *erases }))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}
