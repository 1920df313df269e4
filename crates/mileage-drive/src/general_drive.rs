//! A drive as its profile describes it, in the general form: for what stands above it and keeps requests outstanding, such as a
//! modelled host.

use crate::adapter::QueueAdapter;
use crate::array_member::array;
use crate::block_device::ManagedDevice;
use crate::disk::DiskDrive;
use crate::disturbance::DisturbedDevice;
use crate::drive::Device;
use crate::faulty_device::Faulty;
use crate::flash::FlashDrive;
use crate::flash::read_priority::ReadPriorityDrive;
use crate::profile::flash::choices::Scheduling;
use crate::profile::{DiskProfile, Faults, Profile};
use crate::smr_disk::ShingledDrive;
use crate::xpoint::XpointDrive;

/// A drive as it leaves the factory, with the faults of its profile; its own queue orders what is outstanding.
pub fn general_drive(profile: impl Into<Profile>) -> Box<dyn ManagedDevice + Send + Sync> {
    let profile = profile.into();
    let faults = profile.basics().faults;
    match profile {
        Profile::Flash(profile) if profile.scheduling == Scheduling::ReadPriority => {
            let plain = ReadPriorityDrive::new(*profile);
            if faults.any() { Box::new(DisturbedDevice::faulty(plain, faults)) } else { Box::new(plain) }
        }
        Profile::Flash(profile) if !faults.any() => Box::new(QueueAdapter::new(FlashDrive::new(*profile))),
        Profile::Xpoint(profile) if !faults.any() => Box::new(QueueAdapter::new(XpointDrive::new(*profile))),
        Profile::Flash(profile) => {
            Box::new(QueueAdapter::new(Faulty::new(Device::Flash(FlashDrive::new(*profile)), faults)))
        }
        Profile::Xpoint(profile) => {
            Box::new(QueueAdapter::new(Faulty::new(Device::Xpoint(XpointDrive::new(*profile)), faults)))
        }
        Profile::Disk(profile) => disk(*profile, faults),
        Profile::Array(profile) => Box::new(array(*profile)),
    }
}

fn disk(profile: DiskProfile, faults: Faults) -> Box<dyn ManagedDevice + Send + Sync> {
    let plain = DiskDrive::new(profile.clone());
    match (ShingledDrive::new(profile), faults.any()) {
        (None, false) => Box::new(plain),
        (None, true) => Box::new(DisturbedDevice::faulty(plain, faults)),
        (Some(shingled), false) => Box::new(shingled),
        (Some(shingled), true) => Box::new(DisturbedDevice::faulty(shingled, faults)),
    }
}
