//! Fault injection: [`Faulty`] wraps an immediate device and makes it stall, lose commands or drop off the bus.
//!
//! # Model
//! - *Stall*: from its beginning to its end the device takes no command and answers none. A command that arrives
//!   meanwhile begins at its end; an answer that would come meanwhile comes at its end. What the flash was doing goes
//!   on. There is one in every period of the device's clock.
//! - *Lost command*: the device never sees it. The host waits for its time-out and gives it up; nothing was changed.
//! - *Drop-off*: from an instant on every request is refused; what was outstanding then fails at that instant,
//!   whatever became of it. Nothing brings the device back, not even a power cycle.
//!
//! The host does not try again: a run ends with its first failure.
//!
//! # Not modelled
//! Resets that abort other commands, and devices that come back slower or empty.

use crate::device::{Completion, Life, Refusal, Request, Status, check};
use crate::fault_injector::FaultInjector;
use crate::forward::forward;
use crate::immediate_device::Immediate;
use crate::management::{LostWrite, ManagedImmediate, PowerCutError, Undurable};
use crate::page_sizes::PageSizes;
use crate::profile::{Basics, Faults};
use crate::saved_state::{Format, StateError, reachable};
use mileage_workload::{Op, Workload};

const FORMAT: Format = Format { magic: "MILEFLTY", version: 2 };

/// A device wrapped with injected faults.
#[derive(Clone, Debug)]
pub struct Faulty<D> {
    inner: D,
    faults: FaultInjector,
    now_ns: u64,
}

impl<D: Immediate> Faulty<D> {
    /// A device with these faults.
    pub fn new(inner: D, faults: Faults) -> Self {
        Self { now_ns: inner.now_ns(), inner, faults: FaultInjector::new(faults) }
    }

    /// Whether the device has dropped off.
    pub fn dropped_off(&self) -> bool {
        self.now_ns >= self.faults.drop_off_ns
    }

    fn begin(&mut self, submit_ns: u64) {
        self.now_ns = self.now_ns.max(submit_ns);
        self.inner.advance_to(submit_ns);
    }

    /// A command that is not lost: its answer, if nothing drops off.
    fn ask(&mut self, request: &Request) -> Completion {
        let submit_ns = self.faults.answered(request.submit_ns);
        let Completion { complete_ns, status } = self.inner.submit_one(&Request { submit_ns, ..*request });
        if let Status::Refused(_) = status {
            return Completion { complete_ns: request.submit_ns, status };
        }
        Completion { complete_ns: self.faults.stalled(request.submit_ns, submit_ns, complete_ns), status }
    }
}

#[deny(clippy::missing_trait_methods)]
impl<D: Immediate> Immediate for Faulty<D> {
    forward! { inner;
        ref capacity_bytes() -> u64;
        ref sector_bytes() -> u32;
        ref page_bytes() -> u32;
        mut prefetch(later: &[Op], soon: &[Op]);
        mut look_at_content(workload: Option<&Workload>) -> bool;
        mut begin_lap(lap: u32);
        mut page_sizes() -> Option<&mut PageSizes>;
        ref gauge_names() -> &'static [&'static str];
        ref gauges(out: &mut [u64]);
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn advance_to(&mut self, now_ns: u64) {
        self.begin(now_ns);
    }

    fn idle_ns(&mut self, ns: u64) {
        self.begin(self.now_ns.saturating_add(ns));
    }

    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) {
        out.extend(batch.iter().map(|request| self.submit_one(request)));
    }

    /// Never inlined, out of the way of drives without faults.
    #[inline(never)]
    fn submit_one(&mut self, request: &Request) -> Completion {
        let submit_ns = request.submit_ns;
        let refused = |refusal| Completion { complete_ns: submit_ns, status: Status::Refused(refusal) };
        if let Err(refusal) = check(request, self.capacity_bytes(), self.sector_bytes()) {
            return refused(refusal);
        }
        let gone_ns = self.faults.drop_off_ns;
        if self.now_ns.max(submit_ns) >= gone_ns {
            return refused(Refusal::DroppedOff { at_ns: gone_ns });
        }
        let completion = if let Some(timeout_ns) = self.faults.time_out() {
            self.begin(submit_ns);
            Completion { complete_ns: submit_ns.saturating_add(timeout_ns), status: Status::TimedOut { timeout_ns } }
        } else {
            self.ask(request)
        };
        if let Status::Refused(_) = completion.status {
            return completion;
        }
        self.now_ns = self.now_ns.max(submit_ns);
        self.faults.record.commands += 1;
        let (complete_ns, status) = self.faults.unless_dropped(completion.complete_ns, completion.status);
        Completion { complete_ns, status }
    }

    fn counter_names(&self) -> &'static [&'static str] {
        FaultInjector::names(self.inner.counter_names(), &[])
    }

    fn counters(&self, out: &mut [u64]) {
        self.faults.counters(out, |out| self.inner.counters(out));
    }

    fn series_names(&self) -> &'static [&'static str] {
        FaultInjector::names(self.inner.counter_names(), self.inner.gauge_names())
    }

    fn save(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(0);
        out.value(&(self.now_ns, self.faults.record));
        out.bytes(&self.inner.save());
        Format::end(out)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut reader = FORMAT.open(state, 0, "")?;
        let (now_ns, record) = reader.value()?;
        reachable([now_ns])?;
        self.inner.restore(reader.rest())?;
        (self.now_ns, self.faults.record) = (now_ns, record);
        Ok(())
    }
}

impl<D: ManagedImmediate> Faulty<D> {
    /// The device without its faults.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// Do something to the device past its faults, unless it dropped off; the clock follows it.
    fn unless_gone(&mut self, act: impl FnOnce(&mut D)) {
        if !self.dropped_off() {
            act(&mut self.inner);
            self.now_ns = self.now_ns.max(self.inner.now_ns());
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl<D: ManagedImmediate> ManagedImmediate for Faulty<D> {
    fn basics(&self) -> &Basics {
        self.inner.basics()
    }

    fn life(&self) -> Life {
        if self.dropped_off() { Life::DroppedOff } else { self.inner.life() }
    }

    fn purge(&mut self) {
        self.unless_gone(D::purge);
    }

    fn power_cycle(&mut self) {
        self.unless_gone(D::power_cycle);
    }

    /// Writes that the device itself has not made durable; they count as acknowledged when the faults let the answer
    /// pass.
    fn undurable_at(&self, at_ns: u64) -> Result<Option<Undurable>, PowerCutError> {
        let until_ns = self.inner.now_ns();
        if at_ns < self.now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns: self.now_ns });
        }
        if at_ns < until_ns {
            return Err(PowerCutError::Stalled { at_ns, until_ns });
        }
        let mut undurable = self.inner.undurable_at(at_ns)?;
        let gone_ns = self.faults.drop_off_ns;
        for part in undurable.iter_mut().flat_map(|it| &mut it.parts) {
            let answered_ns = self.faults.answered(part.acknowledged_ns);
            part.acknowledged_ns = if answered_ns > gone_ns { u64::MAX } else { answered_ns };
        }
        Ok(undurable)
    }

    fn power_cut(&mut self, at_ns: u64) -> Result<Vec<LostWrite>, PowerCutError> {
        let undurable = self.undurable_at(at_ns)?;
        self.inner.power_cut(at_ns)?;
        self.now_ns = at_ns;
        Ok(undurable.map_or_else(Vec::new, |undurable| undurable.lost_at(at_ns)))
    }

    fn discard_all(&mut self) {
        self.unless_gone(D::discard_all);
    }
}
