//! The policies that a page map obeys, taken from the profile, and the order in which it writes to the planes.

use crate::flash::wear_policy::Wear;
use crate::profile::FlashProfile;
use crate::profile::flash::choices::{Allocation, Frontiers, Victim};

/// The policies that the map obeys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rules {
    pub victim: Victim,
    pub choices: u32,
    pub free_min: u32,
    pub idle_free: u32,
    /// The drive counts as idle after this long, in ns.
    pub idle_after_ns: u64,
    pub frontiers: Frontiers,
    pub by_address: bool,
    /// Blocks of every unit that were bad from the factory.
    pub factory_bad: Vec<u32>,
    /// Units in the order in which they are written to.
    pub order: Vec<u32>,
    pub wear: Wear,
}

impl Rules {
    pub(crate) fn of(profile: &FlashProfile) -> Self {
        let policies = &profile.policies;
        Self {
            victim: policies.victim,
            choices: policies.victim_choices,
            free_min: policies.free_blocks_min,
            idle_free: policies.idle_free_blocks,
            idle_after_ns: policies.idle_after_ns,
            frontiers: policies.frontiers,
            by_address: policies.allocation == Allocation::ByAddress,
            factory_bad: profile.factory_bad_blocks().iter().map(|bad| bad.len() as u32).collect(),
            order: order(profile),
            wear: Wear::of(profile),
        }
    }

    /// The frontier that survivors go to: 0 or 1.
    pub(super) fn survivors(&self) -> u32 {
        u32::from(self.frontiers != Frontiers::Shared)
    }
}

/// The units in the order in which they are written to. Unit u is plane u / D of the die u % D, which is on channel
/// (u % D) % C.
pub(crate) fn order(profile: &FlashProfile) -> Vec<u32> {
    let (channels, dies, planes) = (profile.channels, profile.dies, profile.planes_per_die);
    match profile.policies.allocation {
        Allocation::ChannelFirst | Allocation::ByAddress => (0..dies * planes).collect(),
        Allocation::DieFirst => {
            let of_channel = |channel: u32| (channel..dies).step_by(channels as usize);
            let of_plane = |channel, plane| of_channel(channel).map(move |die| die + dies * plane);
            (0..channels).flat_map(|channel| (0..planes).flat_map(move |plane| of_plane(channel, plane))).collect()
        }
        Allocation::PlaneFirst => (0..dies).flat_map(|die| (0..planes).map(move |plane| die + dies * plane)).collect(),
    }
}
