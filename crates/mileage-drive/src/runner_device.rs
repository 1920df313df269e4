//! Interface between the loop that runs workloads in virtual time ([`crate::run_driven`]) and a device. Every kind of device
//! implements it, and so does a layer above a device, such as a modelled host.

use crate::block_device::{ManagedDevice, Misuse};
use crate::device::{Completion, Request};
use crate::forward::{forward, forward_facts};
use crate::immediate_device::Immediate;
use crate::single_host::SingleHost;
use mileage_workload::{Op, Workload};

/// A device, or a layer above one, on which a workload can be run in virtual time.
pub trait RunnerDevice {
    /// Whether every submission is answered at once.
    const AT_ONCE: bool;
    /// How long after a completion the host acts on it, in ns, where the device does not move its clock past it before it
    /// answers, as one of the general form does; its faster forms must not differ from that.
    const NOTICED_AFTER_NS: u64 = 0;

    /// Bytes that can be addressed.
    fn capacity_bytes(&self) -> u64;
    /// Smallest unit of addressing, in bytes.
    fn sector_bytes(&self) -> u32;
    /// The clock, in nanoseconds.
    fn now_ns(&self) -> u64;
    /// Whether every write is durable when it completes, whatever the workload asks for.
    fn writes_durably(&self) -> bool {
        false
    }

    /// Let time pass until this instant.
    fn advance_to(&mut self, now_ns: u64);

    /// The host has reached this instant, and will read the counters: a device whose clock moves only on demand does so.
    fn catch_up(&mut self, _now_ns: u64) {}

    /// Submit an operation of this thread from this place; how it ends, if that is known.
    fn submit(&mut self, request: &Request, place: u32, thread: u32) -> Option<Completion>;

    /// Let the device do what comes next, if it comes before this instant; whether there was anything. The places whose
    /// operations ended are appended to `ended`.
    fn collect(&mut self, before_ns: u64, ended: &mut Vec<(u32, Completion)>) -> bool;

    /// Reason why the device cannot be driven further: it accepts no submission and decides nothing.
    fn misuse(&self) -> Option<Misuse>;

    /// As [`Immediate::prefetch`].
    fn prefetch(&mut self, later: &[Op], soon: &[Op]);
    /// As [`Immediate::look_at_content`].
    fn look_at_content(&mut self, workload: Option<&Workload>) -> bool;
    /// As [`Immediate::begin_lap`].
    fn begin_lap(&mut self, lap: u32);
    /// Names of the counters.
    fn counter_names(&self) -> &'static [&'static str];
    /// The counters, in the order of their names.
    fn counters(&self, out: &mut [u64]);
    /// The gauges, in the order of their names.
    fn gauges(&self, out: &mut [u64]);
    /// Names of the counters, and behind them those of the gauges.
    fn series_names(&self) -> &'static [&'static str];
}

/// An [`Immediate`] device as a [`RunnerDevice`].
pub(crate) struct AtOnce<'a, D: ?Sized>(pub &'a mut D);

impl<D: Immediate + ?Sized> RunnerDevice for AtOnce<'_, D> {
    const AT_ONCE: bool = true;

    forward_facts! { [.0] }
    forward! { [.0] [.0];
        ref now_ns() -> u64;
        mut advance_to(now_ns: u64);
        mut look_at_content(workload: Option<&Workload>) -> bool;
        mut begin_lap(lap: u32);
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot: a call costs a tenth of the speed")]
    fn submit(&mut self, request: &Request, _: u32, _: u32) -> Option<Completion> {
        Some(self.0.submit_one(request))
    }

    fn collect(&mut self, _: u64, _: &mut Vec<(u32, Completion)>) -> bool {
        false
    }

    fn misuse(&self) -> Option<Misuse> {
        None
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot: a call costs a tenth of the speed")]
    fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        self.0.prefetch(later, soon);
    }
}

impl<D: ManagedDevice> RunnerDevice for &mut SingleHost<D> {
    const AT_ONCE: bool = false;

    forward_facts! { [.device()] }

    fn now_ns(&self) -> u64 {
        self.device().now_ns()
    }

    fn advance_to(&mut self, now_ns: u64) {
        Immediate::advance_to(*self, now_ns);
    }

    fn submit(&mut self, request: &Request, place: u32, _: u32) -> Option<Completion> {
        self.send(request, place);
        None
    }

    fn collect(&mut self, before_ns: u64, ended: &mut Vec<(u32, Completion)>) -> bool {
        self.decide_next(before_ns, ended)
    }

    fn misuse(&self) -> Option<Misuse> {
        SingleHost::misuse(self)
    }

    fn prefetch(&mut self, _: &[Op], _: &[Op]) {}

    fn look_at_content(&mut self, _: Option<&Workload>) -> bool {
        false
    }

    fn begin_lap(&mut self, _: u32) {}
}
