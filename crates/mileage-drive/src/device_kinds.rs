//! The kinds of devices: their one list, and the device that a profile describes.

use crate::adapter::QueueAdapter;
use crate::array::{Answers, Array, ArrayParts, DirectMember};
use crate::block_device::{
    BlockDevice, Decisions, Event, Loss, ManagedDevice, ManagementError, Misuse, PowerCut, Submission, Tag,
};
use crate::device::{Completion, Life, Request};
use crate::disk::DiskDrive;
use crate::disturbance::DisturbedDevice;
use crate::faulty_device::Faulty;
use crate::flash::FlashDrive;
use crate::flash::read_priority::ReadPriorityDrive;
use crate::forward::{forward, forward_facts};
use crate::management::{ManagedImmediate, PowerCutError};
use crate::page_sizes::PageSizes;
use crate::profile::flash::choices::{EndOfLife, Scheduling};
use crate::profile::{ArrayProfile, Basics, Faults, Profile};
use crate::saved_state::StateError;
use crate::single_host::SingleHost;
use crate::smr_disk::ShingledDrive;
use crate::xpoint::XpointDrive;
use mileage_workload::Op;

/// Makes the enumeration of devices from the list of their kinds. Those of the immediate form stand behind a queue.
macro_rules! device_kinds {
    (
        immediate: $($(#[$fast_doc:meta])+ $fast:ident($fast_type:ty),)+
        general: $($(#[$doc:meta])+ $kind:ident($type:ty),)+
    ) => {
        /// A device of any kind, with the faults of its profile: a drive, or a member of an array. Its own queue orders what
        /// is outstanding.
        #[derive(Clone, Debug)]
        pub enum Device {
            $($(#[$fast_doc])+ $fast(Box<QueueAdapter<$fast_type>>),)+
            $($(#[$doc])+ $kind(Box<$type>),)+
        }

        impl Device {
            fn inner(&self) -> &dyn ManagedDevice {
                match self { $(Self::$fast(it) => &**it,)+ $(Self::$kind(it) => &**it,)+ }
            }

            fn inner_mut(&mut self) -> &mut dyn ManagedDevice {
                match self { $(Self::$fast(it) => &mut **it,)+ $(Self::$kind(it) => &mut **it,)+ }
            }

            /// The device without its queue, if it is of the immediate form.
            pub(crate) fn immediate(&self) -> Option<&dyn ManagedImmediate> {
                match self { $(Self::$fast(it) => Some(it.inner()),)+ _ => None }
            }

            pub(crate) fn immediate_mut(&mut self) -> Option<&mut dyn ManagedImmediate> {
                match self { $(Self::$fast(it) => Some(it.inner_mut()),)+ _ => None }
            }

            /// The device without the list of kinds around it, for one that is called often.
            pub fn into_boxed(self) -> Box<dyn ManagedDevice + Send + Sync> {
                match self { $(Self::$fast(it) => it,)+ $(Self::$kind(it) => it,)+ }
            }

            /// The device behind a new queue, if it has been used without one.
            pub(crate) fn queued_anew(self) -> Self {
                match self { $(Self::$fast(it) => Self::$fast(queued(it.into_inner())),)+ general => general }
            }
        }
    };
}

device_kinds! {
    immediate:
        /// Flash.
        Flash(FlashDrive),
        /// Flash with faults.
        FaultyFlash(Faulty<FlashDrive>),
        /// `XPoint`.
        Xpoint(XpointDrive),
        /// `XPoint` with faults.
        FaultyXpoint(Faulty<XpointDrive>),
    general:
        /// Flash that serves reads first.
        ReadPriority(ReadPriorityDrive),
        /// A disk.
        Disk(DiskDrive),
        /// A shingled disk.
        Shingled(ShingledDrive),
        /// An array.
        Array(Array<Device>),
        /// A device of the general form with faults, which lie between the queue of the host and that of the device: [`Faulty`]
        /// cannot do that.
        Faulty(DisturbedDevice<Device>),
}

fn queued<D: ManagedImmediate>(device: D) -> Box<QueueAdapter<D>> {
    Box::new(QueueAdapter::new(device))
}

impl Device {
    /// The device that a profile describes, as it leaves the factory: nothing written, its clock at 0.
    pub fn new(profile: impl Into<Profile>) -> Self {
        let profile = profile.into();
        let faults = profile.basics().faults;
        match profile {
            Profile::Flash(profile) if profile.scheduling == Scheduling::ReadPriority => {
                Self::ReadPriority(Box::new(ReadPriorityDrive::new(*profile))).with_faults(faults)
            }
            Profile::Flash(profile) if faults.any() => {
                Self::FaultyFlash(queued(Faulty::new(FlashDrive::new(*profile), faults)))
            }
            Profile::Flash(profile) => Self::Flash(queued(FlashDrive::new(*profile))),
            Profile::Xpoint(profile) if faults.any() => {
                Self::FaultyXpoint(queued(Faulty::new(XpointDrive::new(*profile), faults)))
            }
            Profile::Xpoint(profile) => Self::Xpoint(queued(XpointDrive::new(*profile))),
            Profile::Disk(profile) => match ShingledDrive::new((*profile).clone()) {
                Some(disk) => Self::Shingled(Box::new(disk)),
                None => Self::Disk(Box::new(DiskDrive::new(*profile))),
            }
            .with_faults(faults),
            Profile::Array(profile) => Self::Array(Box::new(array(*profile))).with_faults(faults),
        }
    }

    fn with_faults(self, faults: Faults) -> Self {
        if faults.any() { Self::Faulty(Box::new(DisturbedDevice::faulty(self, faults))) } else { self }
    }

    /// The state as [`crate::Drive::restored`] takes it. `writes`: the number of the next write, which is above all those in
    /// the upper half of a tag so far. Nothing may be outstanding.
    pub fn drive_state(&self, writes: u64) -> Vec<u8> {
        match self.immediate() {
            Some(device) => device.save(),
            None => SingleHost::state_of(self, writes, self.now_ns()),
        }
    }
}

/// The array that a profile describes.
fn array(profile: ArrayProfile<Profile>) -> Array<Device> {
    let ArrayProfile { basics, level, chunk_bytes, members, spares, controller, discards, .. } = profile;
    let all: Vec<_> = members.into_iter().chain(spares.clone()).collect();
    let protocols = all.iter().map(|member| member.protocol).collect();
    let parts = ArrayParts { basics, level, chunk_bytes, controller, discards, protocols, spares: spares.len() };
    Array::new(parts, all.into_iter().map(|member| Device::new(member.profile)).collect())
}

#[deny(clippy::missing_trait_methods)]
impl BlockDevice for Device {
    forward_facts! { [.inner()] }
    forward! { [.inner()] [.inner_mut()];
        ref page_bytes() -> u32;
        ref now_ns() -> u64;
        mut submit(submission: Submission) -> Result<(), Misuse>;
        mut advance_to(at_ns: u64, out: &mut Decisions) -> Result<(), Misuse>;
        ref next_event() -> Option<Event>;
        mut report_persisted(wanted: bool);
        ref losses(offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError>;
        ref gauge_names() -> &'static [&'static str];
        ref save() -> Vec<u8>;
        mut restore(state: &[u8]) -> Result<(), StateError>;
    }
}

#[deny(clippy::missing_trait_methods)]
impl ManagedDevice for Device {
    forward! { [.inner()] [.inner_mut()];
        mut page_sizes() -> Option<&mut PageSizes>;
        ref basics() -> &Basics;
        ref life() -> Life;
        ref may_lag() -> bool;
        mut purge() -> Result<(), ManagementError>;
        mut power_cut(cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError>;
        mut power_off(at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError>;
        mut power_on();
    }
}

impl DirectMember for Device {
    fn answers(&self) -> Answers {
        match self {
            // One that can wear out can take the array with it.
            Self::Flash(drive) if drive.inner().profile().policies.end_of_life == EndOfLife::Ignored => drive.answers(),
            Self::Xpoint(drive) => drive.answers(),
            Self::Disk(_) => Answers::Later,
            _ => Answers::Uncertain,
        }
    }

    fn submit_at_once(&mut self, request: &Request, tag: Tag) -> Option<Completion> {
        match self {
            Self::Flash(drive) => Some(drive.submit_at_once(request, tag)),
            Self::Xpoint(drive) => Some(drive.submit_at_once(request, tag)),
            _ => None,
        }
    }

    fn prefetch(&mut self, later: &[Op], soon: &[Op]) {
        if let Self::Flash(drive) = self {
            drive.prefetch(later, soon);
        }
    }
}
