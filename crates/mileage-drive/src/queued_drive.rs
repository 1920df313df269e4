//! A [`Drive`] in the general form, whose saved state is that of the [`Drive`]: for what serves it to others and hands its
//! state on.

use crate::adapter::QueueAdapter;
use crate::array::Array;
use crate::array_member::Member;
use crate::block_device::ManagedDevice;
use crate::disk::DiskDrive;
use crate::disturbance::DisturbedDevice;
use crate::drive::{Device, Drive};
use crate::flash::read_priority::ReadPriorityDrive;
use crate::management::ManagedImmediate;
use crate::single_host::SingleHost;
use crate::smr_disk::ShingledDrive;

/// A device of the general form that can become a [`Drive`] again.
pub trait QueuedDrive: ManagedDevice {
    /// The state as [`Drive::restored`] takes it. `writes`: the number of the next write, which is above all those in
    /// the upper half of a tag so far. Nothing may be outstanding.
    fn drive_state(&self, writes: u64) -> Vec<u8>;
}

impl<D: ManagedImmediate> QueuedDrive for QueueAdapter<D> {
    fn drive_state(&self, _: u64) -> Vec<u8> {
        self.inner().save()
    }
}

macro_rules! as_single_host {
    ($($device:ty),+) => {
        $(impl QueuedDrive for $device {
            fn drive_state(&self, writes: u64) -> Vec<u8> {
                SingleHost::state_of(self, writes)
            }
        })+
    };
}

as_single_host!(
    ReadPriorityDrive,
    DisturbedDevice<ReadPriorityDrive>,
    DiskDrive,
    DisturbedDevice<DiskDrive>,
    ShingledDrive,
    DisturbedDevice<ShingledDrive>,
    Array<Member>
);

/// The drive in the general form, and the number of its next write: tags from `writes << 32` on are new to it.
pub fn queued_drive(drive: Drive) -> (Box<dyn QueuedDrive + Send + Sync>, u64) {
    fn parts<D: QueuedDrive + Send + Sync + 'static>(host: SingleHost<D>) -> (Box<dyn QueuedDrive + Send + Sync>, u64) {
        let (device, writes) = host.into_parts();
        (Box::new(device), writes)
    }
    match drive {
        Drive::Faulty(drive) => (Box::new(QueueAdapter::new(drive)), 0),
        Drive::Sound(Device::Flash(drive)) => (Box::new(QueueAdapter::new(drive)), 0),
        Drive::Sound(Device::Xpoint(drive)) => (Box::new(QueueAdapter::new(drive)), 0),
        Drive::Sound(Device::ReadPriority(host)) => parts(*host),
        Drive::Sound(Device::FaultyReadPriority(host)) => parts(*host),
        Drive::Sound(Device::Disk(host)) => parts(*host),
        Drive::Sound(Device::FaultyDisk(host)) => parts(*host),
        Drive::Sound(Device::Shingled(host)) => parts(*host),
        Drive::Sound(Device::FaultyShingled(host)) => parts(*host),
        Drive::Sound(Device::Array(host)) => parts(*host),
    }
}
