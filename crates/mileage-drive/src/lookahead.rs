//! Announce a thread's next operations to the device, so that it can load their table entries into the processor's cache.

use crate::runner_device::RunnerDevice;
use mileage_workload::Op;

/// An operation is announced to the device at least this many operations of its thread before it is submitted: once for what
/// takes long to prepare, and again for what depends on that.
const LATER: usize = 24;
const SOON: usize = 8;
/// Operations are announced in groups, so that what is waited for is waited for together; 16 are slower again.
const GROUP: usize = 8;

/// Counts how many of a thread's next operations were already announced to the device.
#[derive(Default)]
pub(crate) struct Announcements {
    later: usize,
    soon: usize,
}

impl Announcements {
    /// Announce the next operations to the device, as far as they were not.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from two loops: a call costs a fiftieth of the speed")]
    pub(crate) fn announce(&mut self, upcoming: &[Op], device: &mut impl RunnerDevice) {
        if self.later < LATER && self.later < upcoming.len() {
            let later = upcoming.len().min(LATER + GROUP);
            device.prefetch(&upcoming[self.later..later], &[]);
            self.later = later;
        }
        if self.soon < SOON && self.soon < self.later {
            let soon = self.later.min(SOON + GROUP);
            device.prefetch(&[], upcoming.get(self.soon..soon).unwrap_or(&[]));
            self.soon = soon;
        }
    }

    /// `count` of them were issued.
    #[inline]
    pub(crate) fn issued(&mut self, count: usize) {
        (self.later, self.soon) = (self.later.saturating_sub(count), self.soon.saturating_sub(count));
    }
}
