//! The bytes of one thread's operations: where reads put them, where writes take them.

use crate::error::Error;
use crate::memory::{Pages, Pool};
use mileage_workload::{Op, Workload};

/// A thread's buffers.
#[derive(Debug)]
pub(crate) struct Data {
    incoming: Option<Pages>,
    outgoing: Option<Pool>,
}

impl Data {
    /// The buffers of `thread`, at multiples of `align_bytes`, filled as far as they can be before the run.
    pub(crate) fn new(workload: &Workload, thread: u32, align_bytes: usize) -> Result<Self, Error> {
        let reads = workload.read_percent > 0;
        let writes = workload.read_percent < 100;
        Ok(Self {
            incoming: reads.then(|| Pages::new(workload.record_bytes as usize)).transpose()?,
            outgoing: writes.then(|| Pool::new(workload, thread, align_bytes)).transpose()?,
        })
    }

    /// Whether [`Data::outgoing`] generates; if so it is timed, on its own.
    #[inline]
    #[expect(clippy::unused_self, reason = "the pool is filled before the run; other contents are not")]
    pub(crate) fn fills(&self) -> bool {
        false
    }

    /// The bytes that this write carries.
    #[inline]
    pub(crate) fn outgoing(&mut self, _op: &Op) -> &[u8] {
        self.outgoing.as_mut().expect("a workload that writes has a pool").next()
    }

    /// Where this read goes.
    #[inline]
    pub(crate) fn incoming(&mut self, op: &Op) -> &mut [u8] {
        let pages = self.incoming.as_mut().expect("a workload that reads has a read buffer");
        &mut pages.bytes_mut()[..op.length_bytes as usize]
    }

    /// Put the bytes that this write carries into a buffer of its own.
    #[inline]
    pub(crate) fn fill(&mut self, op: &Op, into: &mut [u8]) {
        into.copy_from_slice(self.outgoing(op));
    }
}
