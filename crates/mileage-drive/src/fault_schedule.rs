//! When faults happen: a pure function of the faults, the instant and the number of the command.

use crate::profile::{Faults, Stall};
use crate::splitmix::draw;

/// Time at which a command that arrives at `at_ns` is taken, or an answer that is ready then is given.
pub(crate) fn answered(faults: Faults, at_ns: u64) -> u64 {
    faults.stall.map_or(at_ns, |stall| end_or(stall, at_ns, faults.seed))
}

/// The time-out after which this command, counted from 0, is known to be lost; `None` if it is not lost.
pub(crate) fn loses(faults: Faults, command: u64) -> Option<u64> {
    let lost = faults.lost?;
    let (group, number) = (command / lost.every, command % lost.every);
    // Use another draw than for the stalls, so that the two faults are independent.
    let which = faults.seed.map_or(lost.every - 1, |seed| draw(!seed, group) % lost.every);
    (number == which).then_some(lost.timeout_ns)
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
