//! Command queue of a disk: the commands that wait for the arm, and the choice of the next one (scheduling).

use super::arm::Arm;
use super::geometry::Geometry;
use crate::profile::disk::{DiskProfile, Scheduling};
use serde::{Deserialize, Serialize};

/// A command that waits for the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub tag: u64,
    pub sequence: u64,
    pub submit_ns: u64,
    /// Time at which it began to wait.
    pub ready_ns: u64,
    pub writes: bool,
    /// First sector that the arm has to visit.
    pub lba: u64,
    /// Behind the last sector.
    pub end: u64,
    /// Position of that first sector.
    #[serde(skip)]
    pub at: (u32, u32, u64),
}

/// The rules by which the next command is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    scheduling: Scheduling,
    error_ns: u64,
    age_limit_ns: u64,
}

/// A number for a command and a choice, of the same sequence on every machine (Steele, Lea and Flood 2014, `SplitMix`).
fn draw(sequence: u64, choice: u64, below: u64) -> u64 {
    let mut mixed = sequence.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ choice.wrapping_mul(0xD1B5_4A32_D192_ED03);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((u128::from(mixed ^ (mixed >> 31)) * u128::from(below)) >> 64) as u64
}

impl Rules {
    pub(super) fn new(profile: &DiskProfile) -> Self {
        Self {
            scheduling: profile.scheduling,
            error_ns: profile.scheduling_error_ns,
            age_limit_ns: profile.age_limit_ns.unwrap_or(u64::MAX),
        }
    }

    /// Choose the next entry; among equally good ones the one submitted first. `choice` counts the choices so far. The
    /// first `hosts` entries are the host's, and only to them the age limit applies.
    pub(super) fn next(
        &self,
        entries: &[Entry],
        hosts: usize,
        arm: &Arm,
        geometry: &Geometry,
        (now_ns, choice): (u64, u64),
    ) -> Option<usize> {
        if self.scheduling != Scheduling::Fcfs && self.age_limit_ns < u64::MAX {
            let waited = |entry: &&Entry| now_ns - entry.ready_ns > self.age_limit_ns;
            let oldest = entries[..hosts].iter().filter(waited).min_by_key(|entry| entry.sequence);
            if let Some(oldest) = oldest {
                return entries.iter().position(|entry| entry.sequence == oldest.sequence);
            }
        }
        // The cost of an entry, or any number above `most` if it costs more.
        let cost = |entry: &Entry, most: u64| match self.scheduling {
            Scheduling::Fcfs => 0,
            Scheduling::Sstf => u64::from(arm.track.0.abs_diff(entry.at.0)),
            Scheduling::Sptf => {
                let streams = if entry.writes { None } else { arm.streams(entry.lba) };
                let cost_ns = match streams {
                    Some(at_ns) => at_ns.saturating_sub(now_ns),
                    None => arm.reach_ns(geometry, entry.at, entry.writes, (now_ns, most)),
                };
                // The command that continues the last access needs no estimate, because its first sector passes next.
                let estimates = self.error_ns > 0 && !arm.is_at(entry.lba);
                cost_ns + if estimates { draw(entry.sequence, choice, self.error_ns + 1) } else { 0 }
            }
        };
        let skips = self.scheduling == Scheduling::Sptf;
        let (stream, begin_ns) = (arm.streaming(), arm.begin_ns(now_ns) - now_ns);
        let mut best = None;
        let mut least = (u64::MAX, u64::MAX);
        // Most commands of a long queue are too far away to be the next: the seek alone takes longer than the best one.
        let mut farthest = u32::MAX;
        for (index, entry) in entries.iter().enumerate() {
            if arm.track.0.abs_diff(entry.at.0) > farthest && stream != Some(entry.lba) {
                continue;
            }
            let found = (cost(entry, least.0), entry.sequence);
            if found < least {
                (best, least) = (Some(index), found);
                if skips {
                    farthest = geometry.farthest(least.0.saturating_sub(begin_ns));
                }
            }
        }
        best
    }
}
