//! A member of an array: a device of any kind, faults included, in the general form.

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
use crate::management::PowerCutError;
use crate::page_sizes::PageSizes;
use crate::profile::flash::choices::{EndOfLife, Scheduling};
use crate::profile::{ArrayProfile, Basics, DiskProfile, Profile};
use crate::saved_state::StateError;
use crate::smr_disk::ShingledDrive;
use crate::xpoint::XpointDrive;
use mileage_workload::Op;

/// A member of an array, by its kind.
#[derive(Clone, Debug)]
pub enum Member {
    /// Flash.
    Flash(Box<QueueAdapter<FlashDrive>>),
    /// Flash with faults.
    FaultyFlash(Box<QueueAdapter<Faulty<FlashDrive>>>),
    /// Flash that serves reads first.
    ReadPriority(Box<ReadPriorityDrive>),
    /// Flash that serves reads first, with faults.
    FaultyReadPriority(Box<DisturbedDevice<ReadPriorityDrive>>),
    /// A disk.
    Disk(Box<DiskDrive>),
    /// A disk with faults.
    FaultyDisk(Box<DisturbedDevice<DiskDrive>>),
    /// A shingled disk.
    Shingled(Box<ShingledDrive>),
    /// A shingled disk with faults.
    FaultyShingled(Box<DisturbedDevice<ShingledDrive>>),
    /// `XPoint`.
    Xpoint(Box<QueueAdapter<XpointDrive>>),
    /// `XPoint` with faults.
    FaultyXpoint(Box<QueueAdapter<Faulty<XpointDrive>>>),
    /// An array.
    Array(Box<Array<Member>>),
}

impl Member {
    /// The device that a profile describes.
    pub fn new(profile: Profile) -> Self {
        let faults = profile.basics().faults;
        match profile {
            Profile::Flash(profile) if profile.scheduling == Scheduling::ReadPriority => {
                let drive = ReadPriorityDrive::new(*profile);
                if faults.any() {
                    Self::FaultyReadPriority(Box::new(DisturbedDevice::faulty(drive, faults)))
                } else {
                    Self::ReadPriority(Box::new(drive))
                }
            }
            Profile::Flash(profile) => {
                let drive = FlashDrive::new(*profile);
                if faults.any() {
                    Self::FaultyFlash(Box::new(QueueAdapter::new(Faulty::new(drive, faults))))
                } else {
                    Self::Flash(Box::new(QueueAdapter::new(drive)))
                }
            }
            Profile::Xpoint(profile) => {
                let drive = XpointDrive::new(*profile);
                if faults.any() {
                    Self::FaultyXpoint(Box::new(QueueAdapter::new(Faulty::new(drive, faults))))
                } else {
                    Self::Xpoint(Box::new(QueueAdapter::new(drive)))
                }
            }
            Profile::Disk(profile) => Self::disk(*profile),
            Profile::Array(profile) => Self::Array(Box::new(array(*profile))),
        }
    }

    fn disk(profile: DiskProfile) -> Self {
        let faults = profile.basics.faults;
        match (ShingledDrive::new(profile.clone()), faults.any()) {
            (None, false) => Self::Disk(Box::new(DiskDrive::new(profile))),
            (None, true) => Self::FaultyDisk(Box::new(DisturbedDevice::faulty(DiskDrive::new(profile), faults))),
            (Some(disk), false) => Self::Shingled(Box::new(disk)),
            (Some(disk), true) => Self::FaultyShingled(Box::new(DisturbedDevice::faulty(disk, faults))),
        }
    }
}

/// The array that a profile describes.
pub(crate) fn array(profile: ArrayProfile<Profile>) -> Array<Member> {
    let ArrayProfile { basics, level, chunk_bytes, members, spares, controller, discards, .. } = profile;
    let all: Vec<_> = members.into_iter().chain(spares.clone()).collect();
    let protocols = all.iter().map(|member| member.protocol).collect();
    let parts = ArrayParts { basics, level, chunk_bytes, controller, discards, protocols, spares: spares.len() };
    Array::new(parts, all.into_iter().map(|member| Member::new(member.profile)).collect())
}

/// Every method is that of the variant.
macro_rules! forward {
    ($self:ident, $device:ident => $call:expr) => {
        match $self {
            Member::Flash($device) => $call,
            Member::FaultyFlash($device) => $call,
            Member::ReadPriority($device) => $call,
            Member::FaultyReadPriority($device) => $call,
            Member::Disk($device) => $call,
            Member::FaultyDisk($device) => $call,
            Member::Shingled($device) => $call,
            Member::FaultyShingled($device) => $call,
            Member::Xpoint($device) => $call,
            Member::FaultyXpoint($device) => $call,
            Member::Array($device) => $call,
        }
    };
}

#[deny(clippy::missing_trait_methods)]
impl BlockDevice for Member {
    fn capacity_bytes(&self) -> u64 {
        forward!(self, device => device.capacity_bytes())
    }

    fn sector_bytes(&self) -> u32 {
        forward!(self, device => device.sector_bytes())
    }

    fn page_bytes(&self) -> u32 {
        forward!(self, device => device.page_bytes())
    }

    fn now_ns(&self) -> u64 {
        forward!(self, device => device.now_ns())
    }

    fn submit(&mut self, submission: Submission) -> Result<(), Misuse> {
        forward!(self, device => device.submit(submission))
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        forward!(self, device => device.advance_to(at_ns, out))
    }

    fn next_event(&self) -> Option<Event> {
        forward!(self, device => device.next_event())
    }

    fn report_persisted(&mut self, wanted: bool) {
        forward!(self, device => device.report_persisted(wanted));
    }

    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        forward!(self, device => device.losses(offset_bytes, length_bytes, cut))
    }

    fn counter_names(&self) -> &'static [&'static str] {
        forward!(self, device => device.counter_names())
    }

    fn counters(&self, out: &mut [u64]) {
        forward!(self, device => device.counters(out));
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        forward!(self, device => device.gauge_names())
    }

    fn gauges(&self, out: &mut [u64]) {
        forward!(self, device => device.gauges(out));
    }

    fn series_names(&self) -> &'static [&'static str] {
        forward!(self, device => device.series_names())
    }

    fn save(&self) -> Vec<u8> {
        forward!(self, device => device.save())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        forward!(self, device => device.restore(state))
    }
}

#[deny(clippy::missing_trait_methods)]
impl ManagedDevice for Member {
    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        forward!(self, device => device.page_sizes())
    }

    fn basics(&self) -> &Basics {
        forward!(self, device => device.basics())
    }

    fn life(&self) -> Life {
        forward!(self, device => device.life())
    }

    fn may_lag(&self) -> bool {
        forward!(self, device => device.may_lag())
    }

    fn purge(&mut self) -> Result<(), ManagementError> {
        forward!(self, device => device.purge())
    }

    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        forward!(self, device => device.power_cut(cut, out))
    }

    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        forward!(self, device => device.power_off(at_ns, out))
    }

    fn power_on(&mut self) {
        forward!(self, device => device.power_on());
    }
}

impl DirectMember for Member {
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
