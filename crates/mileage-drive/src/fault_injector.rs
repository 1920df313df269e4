//! Faults, and what they did: when they happen is a pure function of the faults, the instant and the number of the command.
//! [`crate::Faulty`] injects them into immediate devices, [`crate::DisturbedDevice`] into general ones.

use crate::counter_name_lists::joined;
use crate::device::Status;
use crate::profile::{Faults, Stall};
use crate::splitmix::draw;
use serde::{Deserialize, Serialize};

const COUNTERS: &[&str] = &["commands_stalled", "stall_wait_ns", "commands_lost", "commands_dropped"];

/// What the faults of a device did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FaultRecord {
    /// Commands that were not refused by their form.
    pub commands: u64,
    stalled: u64,
    stall_wait_ns: u64,
    lost: u64,
    pub dropped: u64,
}

/// The faults of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultInjector {
    faults: Faults,
    /// Instant at which the device drops off; [`u64::MAX`]: never.
    pub drop_off_ns: u64,
    pub record: FaultRecord,
}

impl FaultInjector {
    pub(crate) fn new(faults: Faults) -> Self {
        Self { faults, drop_off_ns: faults.drop_off_ns.unwrap_or(u64::MAX), record: FaultRecord::default() }
    }

    /// Time at which a command that arrives at `at_ns` is taken, or an answer that is ready then is given.
    pub(crate) fn answered(&self, at_ns: u64) -> u64 {
        self.faults.stall.map_or(at_ns, |stall| end_or(stall, at_ns, self.faults.seed))
    }

    /// The time-out after which the next command is known to be lost; `None` if it is not lost.
    pub(crate) fn time_out(&self) -> Option<u64> {
        let (lost, command) = (self.faults.lost?, self.record.commands);
        let (group, number) = (command / lost.every, command % lost.every);
        // Use another draw than for the stalls, so that the two faults are independent.
        let which = self.faults.seed.map_or(lost.every - 1, |seed| draw(!seed, group) % lost.every);
        (number == which).then_some(lost.timeout_ns)
    }

    /// When the host has the answer to a command that it submitted at `submit_ns`, which the device received at `receive_ns`
    /// and answered at `complete_ns`: a stall delays it twice, on its way to the device, and its answer on the way back.
    pub(crate) fn stalled(&mut self, submit_ns: u64, receive_ns: u64, complete_ns: u64) -> u64 {
        let answered_ns = self.answered(complete_ns);
        let waited_ns = (receive_ns - submit_ns) + (answered_ns - complete_ns);
        self.record.stalled += u64::from(waited_ns > 0);
        self.record.stall_wait_ns += waited_ns;
        answered_ns
    }

    /// End and outcome of a command that ends so unless the device drops off before.
    pub(crate) fn unless_dropped(&mut self, complete_ns: u64, status: Status) -> (u64, Status) {
        let at_ns = self.drop_off_ns;
        if complete_ns <= at_ns {
            self.record.lost += u64::from(matches!(status, Status::TimedOut { .. }));
            return (complete_ns, status);
        }
        self.record.dropped += 1;
        (at_ns, Status::DroppedOff { at_ns })
    }

    /// The names of a device's counters, of those of its faults, and of `more`.
    pub(crate) fn names(device: &[&'static str], more: &[&'static str]) -> &'static [&'static str] {
        joined(&[device, COUNTERS, more])
    }

    /// The counters of a device and, behind them, those of its faults.
    pub(crate) fn counters(&self, out: &mut [u64], device: impl FnOnce(&mut [u64])) {
        let (inner, own) = out.split_at_mut(out.len() - COUNTERS.len());
        device(inner);
        let FaultRecord { stalled, stall_wait_ns, lost, dropped, .. } = self.record;
        own.copy_from_slice(&[stalled, stall_wait_ns, lost, dropped]);
    }
}

/// Time at which the device answers, if it would answer at `at_ns` without stalls: then, or at the end of a stall.
fn end_or(stall: Stall, mut at_ns: u64, seed: Option<u64>) -> u64 {
    let Stall { every_ns, length_ns } = stall;
    loop {
        let period = at_ns / every_ns;
        let latest_ns = every_ns - length_ns;
        let into_ns = seed.map_or(latest_ns, |seed| draw(seed, period) % (latest_ns + 1));
        let from_ns = period * every_ns + into_ns;
        if !(from_ns..from_ns + length_ns).contains(&at_ns) {
            return at_ns;
        }
        at_ns = from_ns + length_ns;
    }
}
