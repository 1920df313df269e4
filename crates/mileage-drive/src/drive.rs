//! A virtual drive: a [`Device`] and its only user, which numbers its writes and runs workloads.

use crate::array::DirectArray;
use crate::device::{Completion, Life, Request};
use crate::device_kinds::Device;
use crate::forward::{forward, forward_facts};
use crate::immediate_device::Immediate;
use crate::management::{LostWrite, ManagedImmediate, PowerCutError, Undurable};
use crate::page_sizes::PageSizes;
use crate::profile::{Basics, Profile};
use crate::run::{run, run_driven, run_general};
use crate::run_error::Error;
use crate::saved_state::StateError;
use crate::single_host::SingleHost;
use mileage_measure::RunRecord;
use mileage_workload::{NoObserver, Observer, Op, Workload};

/// The drive that a profile describes, in the immediate form. A device of that form is used without a queue.
#[derive(Clone, Debug)]
pub struct Drive {
    host: SingleHost<Device>,
}

impl Drive {
    /// A drive as it leaves the factory: nothing written, its clock at 0.
    pub fn new(profile: impl Into<Profile>) -> Self {
        Self { host: SingleHost::new(Device::new(profile)) }
    }

    /// The drive that continues where a saved one of the same profile stopped.
    ///
    /// # Errors
    /// What is wrong with the state: another profile or version, truncated, corrupt.
    pub fn restored(profile: impl Into<Profile>, state: &[u8]) -> Result<Self, StateError> {
        let mut drive = Self::new(profile);
        drive.restore(state)?;
        Ok(drive)
    }

    /// The device, whose queue may know nothing of what was done.
    pub fn device(&self) -> &Device {
        self.host.device()
    }

    /// The device for another user, and the number of its next write: tags from `writes << 32` on are new to it.
    pub fn into_device(self) -> (Device, u64) {
        let (device, writes) = self.host.into_parts();
        (device.queued_anew(), writes)
    }

    fn form(&self) -> &dyn ManagedImmediate {
        self.host.device().immediate().unwrap_or(&self.host)
    }

    fn form_mut(&mut self) -> &mut dyn ManagedImmediate {
        if self.host.device().immediate().is_none() {
            return &mut self.host;
        }
        match self.host.device_mut().immediate_mut() {
            Some(device) => device,
            None => unreachable!("a device keeps its form"),
        }
    }

    /// Run a workload, as [`run()`] does.
    ///
    /// # Errors
    /// Those of [`run()`].
    pub fn run<O: Observer>(
        &mut self,
        workload: &Workload,
        observer: &mut O,
        poll: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<RunRecord, Error> {
        // Loops of their own, each compiled again for every observer: to ask at every operation which kind of device it is
        // costs flash a twentieth of its speed.
        if let Device::Flash(flash) = self.host.device_mut() {
            return run(flash.inner_mut(), workload, observer, poll);
        }
        if self.host.device().immediate().is_some() {
            return run(self.form_mut(), workload, observer, poll);
        }
        let is_sound = self.host.misuse().is_none();
        if let (Device::Array(array), writes) = self.host.parts_mut()
            && is_sound
        {
            if let Some(direct) = DirectArray::<_, true>::new(array, writes) {
                return run_driven(direct, workload, observer, poll);
            }
            if let Some(direct) = DirectArray::<_, false>::new(array, writes) {
                return run_driven(direct, workload, observer, poll);
            }
        }
        run_general(&mut self.host, workload, observer, poll)
    }

    /// Run a workload to its end, with nobody watching.
    ///
    /// # Errors
    /// Those of [`run()`].
    pub fn run_unobserved(&mut self, workload: &Workload) -> Result<RunRecord, Error> {
        self.run_polled(workload, &mut |_, _| false)
    }

    /// Run a workload without an observer; `poll` as [`run()`] calls it. Compiled once, here: each crate that calls
    /// [`Drive::run`] compiles the loops of all kinds of devices again, for its observer.
    ///
    /// # Errors
    /// Those of [`run()`].
    pub fn run_polled(
        &mut self,
        workload: &Workload,
        poll: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<RunRecord, Error> {
        self.run(workload, &mut NoObserver, poll)
    }

    /// The counters with their names, since the drive was first powered on.
    pub fn named_counters(&self) -> Vec<(&'static str, u64)> {
        let names = self.counter_names();
        let mut values = vec![0; names.len()];
        self.counters(&mut values);
        names.iter().copied().zip(values).collect()
    }

    /// The gauges with their names: how things stand now.
    pub fn named_gauges(&self) -> Vec<(&'static str, u64)> {
        let names = self.gauge_names();
        let mut values = vec![0; names.len()];
        self.gauges(&mut values);
        names.iter().copied().zip(values).collect()
    }
}

#[deny(clippy::missing_trait_methods)]
impl Immediate for Drive {
    forward_facts! { [.form()] }
    forward! { [.form()] [.form_mut()];
        ref page_bytes() -> u32;
        ref now_ns() -> u64;
        mut advance_to(now_ns: u64);
        mut idle_ns(ns: u64);
        mut submit_one(request: &Request) -> Completion;
        mut submit(batch: &[Request], out: &mut Vec<Completion>);
        mut prefetch(later: &[Op], soon: &[Op]);
        mut look_at_content(workload: Option<&Workload>) -> bool;
        mut begin_lap(lap: u32);
        mut page_sizes() -> Option<&mut PageSizes>;
        ref gauge_names() -> &'static [&'static str];
        ref save() -> Vec<u8>;
        mut restore(state: &[u8]) -> Result<(), StateError>;
    }
}

#[deny(clippy::missing_trait_methods)]
impl ManagedImmediate for Drive {
    forward! { [.form()] [.form_mut()];
        ref basics() -> &Basics;
        ref life() -> Life;
        mut purge();
        mut power_cycle();
        mut power_cut(at_ns: u64) -> Result<Vec<LostWrite>, PowerCutError>;
        ref undurable_at(at_ns: u64) -> Result<Option<Undurable>, PowerCutError>;
        mut discard_all();
    }
}
