//! Blocks that are bad when the drive leaves the factory: a number of each die, drawn from a seed.

use super::FlashProfile;
use super::text::Text;
use crate::figure::{ProfileError, impossible, whole};

/// The bad blocks of a new drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactoryBad {
    /// Number of bad blocks of each die.
    pub per_die: u32,
    /// Another seed, other blocks.
    pub seed: u64,
}

impl FactoryBad {
    pub(super) fn read(text: &Text) -> Result<Self, ProfileError> {
        let figure = text.factory_bad_blocks_per_die.as_ref();
        let per_die = figure.map_or(Ok(0), |figure| whole("factory_bad_blocks_per_die", figure, 0, 1 << 30))?;
        match &text.factory_bad_seed {
            Some(_) if per_die == 0 => {
                let expected = "factory_bad_blocks_per_die above 0; without it the figure has no effect";
                impossible("factory_bad_seed", "given", expected)
            }
            seed => Ok(Self { per_die, seed: seed.as_ref().map_or(0, |figure| figure.value) }),
        }
    }
}

impl FlashProfile {
    /// The blocks of every plane that are bad from the factory, in rising order. Plane u is in die u % D of the
    /// drive, which is on channel (u % D) % C.
    pub fn factory_bad_blocks(&self) -> Vec<Vec<u32>> {
        let FactoryBad { per_die, seed } = self.factory_bad;
        let mut bad = vec![Vec::new(); self.planes() as usize];
        let dies = self.dies;
        let of_die = self.planes_per_die * self.blocks_per_plane;
        for die in 0..if per_die == 0 { 0 } else { dies } {
            // Floyd's algorithm for sampling without replacement (Bentley and Floyd, 1987): one draw per block, without
            // retries.
            let mut drawn = std::collections::BTreeSet::new();
            let mut state = seed ^ (u64::from(die) + 1).wrapping_mul(0xD134_2543_DE82_EF95);
            for last in of_die.saturating_sub(per_die)..of_die {
                state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                let block = ((u128::from(mixed ^ (mixed >> 31)) * u128::from(last + 1)) >> 64) as u32;
                if !drawn.insert(block) {
                    drawn.insert(last);
                }
            }
            for block in drawn {
                let (plane, index) = (block / self.blocks_per_plane, block % self.blocks_per_plane);
                bad[(die + dies * plane) as usize].push(index);
            }
        }
        bad
    }

    /// Blocks that were good when the drive left the factory.
    pub fn good_blocks(&self) -> u64 {
        self.planes() * u64::from(self.blocks_per_plane) - u64::from(self.dies) * u64::from(self.factory_bad.per_die)
    }

    /// Number of good blocks of the plane that has fewest, after a check that every plane has enough to work at all.
    pub(super) fn fewest_good(&self) -> Result<u64, ProfileError> {
        let of_die = self.planes_per_die * self.blocks_per_plane;
        if self.factory_bad.per_die >= of_die {
            return impossible("factory_bad_blocks_per_die", self.factory_bad.per_die, format!("fewer than {of_die}"));
        }
        let most_bad = self.factory_bad_blocks().iter().map(Vec::len).max().unwrap_or(0) as u64;
        let policies = &self.policies;
        let needed = u64::from(policies.replacement_blocks)
            + if policies.by_page() { u64::from(policies.free_blocks_min + policies.open_blocks()) + 1 } else { 1 };
        let good = u64::from(self.blocks_per_plane).saturating_sub(most_bad);
        if self.factory_bad.per_die > 0 && good < needed {
            let expected = format!(
                "so few that every plane keeps {needed} of its {} blocks; one has {most_bad} bad ones",
                self.blocks_per_plane
            );
            return impossible("factory_bad_blocks_per_die", self.factory_bad.per_die, expected);
        }
        Ok(good)
    }
}
