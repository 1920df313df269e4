//! Power cuts that are thought of: what of the acknowledged writes each would lose.

use crate::block_request::IoId;
use crate::host::Host;
use crate::write_log::{Survival, WriteLog};
use mileage_drive::{PowerCut, PowerCutError};
use std::collections::BTreeSet;

impl Host {
    /// Remember from now on what is written and what is acknowledged.
    pub fn track_durability(&mut self) {
        self.state.block.log_sent = Some(Vec::new());
        self.tracking = Some(WriteLog::since(self.state.now_ns));
    }

    /// Forget it again.
    pub fn forget_durability(&mut self) {
        self.state.block.log_sent = None;
        self.tracking = None;
    }

    /// For how long it is remembered, in nanoseconds.
    pub fn tracked_ns(&self) -> u64 {
        self.tracking.as_ref().map_or(0, |tracking| self.state.now_ns - tracking.began_ns)
    }

    /// What of the acknowledged writes a power cut now would lose; nothing is cut. What chance decides is drawn from `seed`.
    ///
    /// # Errors
    /// The drive's profile does not say what a cut loses.
    pub fn survival(&mut self, seed: u64) -> Result<Survival, PowerCutError> {
        // What the drive has to decide before this instant is decided, so that the cut is possible.
        let now_ns = self.state.now_ns;
        self.advance_to(now_ns + 1);
        self.collect_sent();
        let Some(tracking) = &self.tracking else { return Ok(Survival::default()) };
        let cut = PowerCut { at_ns: self.state.now_ns.max(self.device.now_ns()), seed };
        let losses = self.device.losses(0, self.device.capacity_bytes(), cut)?;
        let sent: BTreeSet<IoId> = tracking.sent.values().flatten().copied().collect();
        let outstanding = tracking.carriers.keys().filter(|io| !sent.contains(io)).copied().collect();
        Ok(tracking.survival(&losses, &outstanding))
    }

    /// Take over which requests carried what.
    fn collect_sent(&mut self) {
        let sent = self.state.block.log_sent.as_mut().map(std::mem::take).unwrap_or_default();
        if let Some(tracking) = &mut self.tracking {
            sent.iter().for_each(|(tag, ios)| tracking.note_sent(*tag, ios));
        }
    }
}
