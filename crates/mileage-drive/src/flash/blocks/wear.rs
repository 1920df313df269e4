//! Wear of a mapping by blocks: blocks past their limit go out of service, as long as others can replace them.

use super::Blocks;
use crate::profile::FlashProfile;
use std::collections::VecDeque;

/// The blocks of a new drive by their use: bad from the factory, replacements (the last good ones of every plane), and
/// the others. Block p is in plane p modulo the planes.
pub(super) fn sort_out(profile: &FlashProfile) -> (Vec<u32>, VecDeque<u32>, VecDeque<u32>) {
    let (planes, replacements) = (profile.planes() as u32, profile.policies.replacement_blocks as usize);
    let mut bad = Vec::new();
    let mut spare = Vec::new();
    for (plane, of_plane) in (0..planes).zip(profile.factory_bad_blocks()) {
        let number = |index: u32| index * planes + plane;
        let good = (0..profile.blocks_per_plane).rev().filter(|index| !of_plane.contains(index));
        spare.extend(good.take(replacements).map(number));
        bad.extend(of_plane.iter().map(|index| number(*index)));
    }
    let mut out = vec![false; (planes * profile.blocks_per_plane) as usize];
    bad.iter().chain(&spare).for_each(|block| out[*block as usize] = true);
    let free = (0..out.len() as u32).filter(|block| !out[*block as usize]).collect();
    (bad, spare.into(), free)
}

impl Blocks {
    /// A block that was just erased, or what takes its place when it is past its limit.
    pub(super) fn in_service(&mut self, block: u32) -> u32 {
        let past = self.wear.limit_of(block).is_some_and(|limit| self.erases[block as usize] >= limit);
        if !past {
            return block;
        }
        // Prefer a replacement in the same plane, so that planes keep equal sizes.
        let near = self.spare.iter().position(|spare| self.unit_of(*spare) == self.unit_of(block));
        if let Some(spare) = self.spare.remove(near.unwrap_or(0)) {
            self.bad.push(block);
            return spare;
        }
        self.worn_out = true;
        block
    }

    /// The least and the most erases of a block in service.
    pub(crate) fn erase_spread(&self) -> (u32, u32) {
        let mut counted = vec![true; self.erases.len()];
        for block in self.factory_bad.iter().chain(&self.bad).chain(&self.spare) {
            counted[*block as usize] = false;
        }
        let of = || self.erases.iter().zip(&counted).filter(|(_, counted)| **counted).map(|(erases, _)| *erases);
        (of().min().unwrap_or(0), of().max().unwrap_or(0))
    }

    /// Every block that was written is erased; what is worn stays worn.
    pub(crate) fn erase_all(&mut self) {
        for (erases, next) in self.erases.iter_mut().zip(&self.next) {
            *erases = erases.saturating_add(u32::from(*next > 0));
        }
        let mut out = vec![false; self.next.len()];
        for block in self.factory_bad.iter().chain(&self.bad).chain(&self.spare) {
            out[*block as usize] = true;
        }
        self.free = (0..out.len() as u32).filter(|block| !out[*block as usize]).collect();
        self.clear();
    }
}
