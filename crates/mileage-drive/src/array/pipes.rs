//! What limits an array besides its members: transfer rates and the time of its controller.
//!
//! Data streams through a limit while the next device sends or takes it, so that a limit that is not reached costs no time.

use crate::profile::{Controller, Protocol};
use serde::{Deserialize, Serialize};

/// When each limit is free again, in ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pipes {
    processor: u64,
    host: u64,
    sata: u64,
    sas: u64,
    members: Vec<u64>,
}

fn through(free: &mut u64, mb_per_s: Option<f64>, now_ns: u64, bytes: u64) -> u64 {
    let Some(mb_per_s) = mb_per_s else { return now_ns };
    let length_ns = (bytes as f64 * 1e3 / mb_per_s).round() as u64;
    *free = (*free).max(now_ns.saturating_sub(length_ns)) + length_ns;
    (*free).max(now_ns)
}

impl Pipes {
    pub(crate) fn new(devices: usize) -> Self {
        Self { processor: 0, host: 0, sata: 0, sas: 0, members: vec![0; devices] }
    }

    /// When the controller has begun a command that came at `now_ns`.
    pub(crate) fn begin(&mut self, limits: &Controller, now_ns: u64) -> u64 {
        let start_ns = self.processor.max(now_ns);
        self.processor = start_ns + limits.command_interval_ns.max(limits.command_ns);
        start_ns + limits.command_ns
    }

    /// When these bytes have passed between host and controller.
    pub(crate) fn host(&mut self, limits: &Controller, now_ns: u64, bytes: u64) -> u64 {
        through(&mut self.host, limits.host_mb_per_s, now_ns, bytes)
    }

    /// When these bytes have passed between controller and member.
    pub(crate) fn member(
        &mut self,
        limits: &Controller,
        (device, protocol): (usize, Protocol),
        now_ns: u64,
        bytes: u64,
    ) -> u64 {
        let link_ns = through(&mut self.members[device], limits.member_mb_per_s, now_ns, bytes);
        link_ns.max(match protocol {
            Protocol::Sata => through(&mut self.sata, limits.sata_mb_per_s, now_ns, bytes),
            Protocol::Sas => through(&mut self.sas, limits.sas_mb_per_s, now_ns, bytes),
            Protocol::Other => now_ns,
        })
    }

    /// The number of devices.
    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }
}
