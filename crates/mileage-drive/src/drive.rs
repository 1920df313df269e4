//! Build a virtual drive from its profile: a flash, disk or other device, wrapped with the faults that the profile injects.

use crate::array::{Array, DirectArray};
use crate::array_member::{Member, array};
use crate::device::{Completion, Life, Request};
use crate::disk::DiskDrive;
use crate::disturbance::DisturbedDevice;
use crate::faulty_device::Faulty;
use crate::flash::FlashDrive;
use crate::flash::read_priority::ReadPriorityDrive;
use crate::immediate_device::Immediate;
use crate::management::{LostWrite, ManagedImmediate, PowerCutError, Undurable};
use crate::page_sizes::PageSizes;
use crate::profile::flash::choices::Scheduling;
use crate::profile::{Basics, DiskProfile, Faults, FlashProfile, Profile};
use crate::run::{run, run_general, run_on};
use crate::run_error::Error;
use crate::saved_state::StateError;
use crate::single_host::SingleHost;
use crate::smr_disk::ShingledDrive;
use crate::xpoint::XpointDrive;
use mileage_measure::RunRecord;
use mileage_workload::{NoObserver, Observer, Op, Workload};

/// A virtual device of one of the supported kinds, without injected faults.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost flash, the fastest of them, a part of its speed")]
pub enum Device {
    /// Flash.
    Flash(FlashDrive),
    /// Flash that serves reads first.
    ReadPriority(Box<SingleHost<ReadPriorityDrive>>),
    /// The same with faults.
    FaultyReadPriority(Box<SingleHost<DisturbedDevice<ReadPriorityDrive>>>),
    /// A disk.
    Disk(Box<SingleHost<DiskDrive>>),
    /// A disk with faults: the faults lie between the queue of the host and that of the disk, which [`Faulty`] cannot do.
    FaultyDisk(Box<SingleHost<DisturbedDevice<DiskDrive>>>),
    /// A shingled disk.
    Shingled(Box<SingleHost<ShingledDrive>>),
    /// A shingled disk with faults.
    FaultyShingled(Box<SingleHost<DisturbedDevice<ShingledDrive>>>),
    /// `XPoint`.
    Xpoint(XpointDrive),
    /// An array.
    Array(Box<SingleHost<Array<Member>>>),
}

/// A drive: a device, and around it the faults that its profile gives it. Without any nothing is wrapped, and none of
/// its operations is the slower for it.
#[derive(Clone, Debug)]
pub enum Drive {
    /// Without faults.
    Sound(Device),
    /// With faults.
    Faulty(Faulty<Device>),
}

/// Implements both traits of a device for an enumeration of devices: every method is that of the variant. Submitting and
/// looking ahead are always inlined: as calls they cost a tenth of the speed.
macro_rules! forward {
    ($devices:ident: $($variant:ident),+) => {
        #[deny(clippy::missing_trait_methods)]
        impl Immediate for $devices {
            fn capacity_bytes(&self) -> u64 {
                match self { $(Self::$variant(device) => device.capacity_bytes(),)+ }
            }

            fn sector_bytes(&self) -> u32 {
                match self { $(Self::$variant(device) => device.sector_bytes(),)+ }
            }

            fn page_bytes(&self) -> u32 {
                match self { $(Self::$variant(device) => device.page_bytes(),)+ }
            }

            fn now_ns(&self) -> u64 {
                match self { $(Self::$variant(device) => device.now_ns(),)+ }
            }

            fn advance_to(&mut self, now_ns: u64) {
                match self { $(Self::$variant(device) => device.advance_to(now_ns),)+ }
            }

            fn idle_ns(&mut self, ns: u64) {
                match self { $(Self::$variant(device) => device.idle_ns(ns),)+ }
            }

            #[inline(always)]
            fn submit_one(&mut self, request: &Request) -> Completion {
                match self { $(Self::$variant(device) => device.submit_one(request),)+ }
            }

            fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) {
                match self { $(Self::$variant(device) => device.submit(batch, out),)+ }
            }

            #[inline(always)]
            fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
                match self { $(Self::$variant(device) => device.prefetch(later, soon),)+ }
            }

            fn look_at_content(&mut self, workload: Option<&Workload>) -> bool {
                match self { $(Self::$variant(device) => device.look_at_content(workload),)+ }
            }

            fn begin_lap(&mut self, lap: u32) {
                match self { $(Self::$variant(device) => device.begin_lap(lap),)+ }
            }

            fn page_sizes(&mut self) -> Option<&mut PageSizes> {
                match self { $(Self::$variant(device) => device.page_sizes(),)+ }
            }

            fn counter_names(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(device) => device.counter_names(),)+ }
            }

            fn counters(&self, out: &mut [u64]) {
                match self { $(Self::$variant(device) => device.counters(out),)+ }
            }

            fn gauge_names(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(device) => device.gauge_names(),)+ }
            }

            fn gauges(&self, out: &mut [u64]) {
                match self { $(Self::$variant(device) => device.gauges(out),)+ }
            }

            fn series_names(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(device) => device.series_names(),)+ }
            }

            fn save(&self) -> Vec<u8> {
                match self { $(Self::$variant(device) => device.save(),)+ }
            }

            fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
                match self { $(Self::$variant(device) => device.restore(state),)+ }
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl ManagedImmediate for $devices {
            fn basics(&self) -> &Basics {
                match self { $(Self::$variant(device) => device.basics(),)+ }
            }

            fn life(&self) -> Life {
                match self { $(Self::$variant(device) => device.life(),)+ }
            }

            fn purge(&mut self) {
                match self { $(Self::$variant(device) => device.purge(),)+ }
            }

            fn power_cycle(&mut self) {
                match self { $(Self::$variant(device) => device.power_cycle(),)+ }
            }

            fn power_cut(&mut self, at_ns: u64) -> Result<Vec<LostWrite>, PowerCutError> {
                match self { $(Self::$variant(device) => device.power_cut(at_ns),)+ }
            }

            fn undurable_at(&self, at_ns: u64) -> Result<Option<Undurable>, PowerCutError> {
                match self { $(Self::$variant(device) => device.undurable_at(at_ns),)+ }
            }

            fn discard_all(&mut self) {
                match self { $(Self::$variant(device) => device.discard_all(),)+ }
            }
        }
    };
}

forward!(Device: Flash, ReadPriority, FaultyReadPriority, Disk, FaultyDisk, Shingled, FaultyShingled, Xpoint, Array);
forward!(Drive: Sound, Faulty);

/// Flash that serves reads first, with faults or without.
fn read_priority(profile: FlashProfile, faults: Faults) -> Device {
    let plain = ReadPriorityDrive::new(profile);
    if faults.any() {
        Device::FaultyReadPriority(Box::new(SingleHost::new(DisturbedDevice::faulty(plain, faults))))
    } else {
        Device::ReadPriority(Box::new(SingleHost::new(plain)))
    }
}

/// A disk, shingled or not, with faults or without.
fn disk(profile: DiskProfile, faults: Faults) -> Device {
    let plain = DiskDrive::new(profile.clone());
    match (ShingledDrive::new(profile), faults.any()) {
        (None, false) => Device::Disk(Box::new(SingleHost::new(plain))),
        (None, true) => Device::FaultyDisk(Box::new(SingleHost::new(DisturbedDevice::faulty(plain, faults)))),
        (Some(disk), false) => Device::Shingled(Box::new(SingleHost::new(disk))),
        (Some(disk), true) => Device::FaultyShingled(Box::new(SingleHost::new(DisturbedDevice::faulty(disk, faults)))),
    }
}

impl Drive {
    /// A drive as it leaves the factory: nothing written, its clock at 0.
    pub fn new(profile: impl Into<Profile>) -> Self {
        let profile = profile.into();
        let faults = profile.basics().faults;
        let device = match profile {
            Profile::Flash(profile) if profile.scheduling == Scheduling::ReadPriority => {
                return Self::Sound(read_priority(*profile, faults));
            }
            Profile::Flash(profile) => Device::Flash(FlashDrive::new(*profile)),
            Profile::Xpoint(profile) => Device::Xpoint(XpointDrive::new(*profile)),
            Profile::Disk(profile) => return Self::Sound(disk(*profile, faults)),
            Profile::Array(profile) => Device::Array(Box::new(SingleHost::new(array(*profile)))),
        };
        if faults.any() { Self::Faulty(Faulty::new(device, faults)) } else { Self::Sound(device) }
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
        match self {
            Self::Sound(Device::ReadPriority(drive)) => return run_general(drive.as_mut(), workload, observer, poll),
            Self::Sound(Device::FaultyReadPriority(drive)) => {
                return run_general(drive.as_mut(), workload, observer, poll);
            }
            Self::Sound(Device::Disk(disk)) => return run_general(disk.as_mut(), workload, observer, poll),
            Self::Sound(Device::FaultyDisk(disk)) => return run_general(disk.as_mut(), workload, observer, poll),
            Self::Sound(Device::Shingled(disk)) => return run_general(disk.as_mut(), workload, observer, poll),
            Self::Sound(Device::Array(array)) => {
                if let Some(direct) = DirectArray::<_, true>::new(array) {
                    return run_on(direct, workload, observer, poll);
                }
                if let Some(direct) = DirectArray::<_, false>::new(array) {
                    return run_on(direct, workload, observer, poll);
                }
                return run_general(array.as_mut(), workload, observer, poll);
            }
            Self::Sound(Device::FaultyShingled(disk)) => return run_general(disk.as_mut(), workload, observer, poll),
            // A loop of its own: to ask at every operation which kind of device it is costs flash a twentieth of its speed.
            Self::Sound(Device::Flash(flash)) => return run(flash, workload, observer, poll),
            _ => {}
        }
        // One loop for all other kinds: it is long, and every caller compiles it again for its observer.
        run(self, workload, observer, poll)
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
