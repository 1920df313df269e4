//! The state of the drive as bytes: clocks, everything that is in the stations, counters, and the map.

use super::ReadPriorityDrive;
use super::stations::{Stage, StationEvent, Stations};
use crate::flash::counters::{COUNTER_NAMES, Counters};
use crate::flash::map::saved_state;
use crate::profile::FlashProfile;
use crate::saved_state::{Format, Reader, StateError, Writer, corrupt, fingerprint, reachable, saved_fields, sorted};
use std::cmp::Reverse;

const FORMAT: Format = Format { magic: "MILEREAD", version: 2 };

impl Stations {
    saved_fields!(
        commands,
        jobs,
        waiting,
        places_taken,
        gate_closed,
        controller_ns,
        to_host_ns,
        to_drive_ns,
        channels_ns,
        arrays,
        shares,
        buffer_free,
        buffer_waiting,
        in_buffer,
        unprogrammed,
        undecided,
        reports,
        flushes,
    );

    fn save(&self, out: &mut Writer) {
        out.words(self.counters.values());
        out.value(&sorted(self.happenings.iter().map(|it| it.0)));
        self.save_fields(out);
        saved_state::save(out, &self.map);
    }

    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        let mut counters = [0; COUNTER_NAMES.len()];
        reader.words(&mut counters)?;
        self.counters = Counters::of(counters);
        let happenings: Vec<StationEvent> = reader.value()?;
        self.happenings = happenings.into_iter().map(Reverse).collect();
        let (channels, arrays, shares) = (self.channels_ns.len(), self.arrays.len(), self.shares.len());
        self.restore_fields(reader)?;
        if (self.channels_ns.len(), self.arrays.len(), self.shares.len()) != (channels, arrays, shares) {
            return corrupt("stations that the drive does not have");
        }
        if !self.is_consistent() {
            return corrupt("something happens to what is not there");
        }
        let clocks = [self.controller_ns, self.to_host_ns, self.to_drive_ns];
        reachable(clocks.into_iter().chain(self.channels_ns.iter().copied()))?;
        saved_state::restore(reader, &mut self.map)
    }

    /// Whether commands, pages and places are those that the drive has.
    fn is_consistent(&self) -> bool {
        let (commands, jobs) = (self.commands.places.len(), self.jobs.places.len());
        let is_command = |number: &u32| (*number as usize) < commands;
        let is_job = |number: &u32| (*number as usize) < jobs;
        let is_there = |event: &StationEvent| match event.stage {
            Stage::Controller | Stage::Complete => is_command(&event.number),
            Stage::ArrayDone => (event.number as usize) < self.arrays.len(),
            Stage::Arrived | Stage::AtArray | Stage::AtController => is_job(&event.number),
        };
        self.happenings.iter().all(|event| is_there(&event.0))
            && self.commands.free.iter().chain(&self.waiting).all(is_command)
            && self.jobs.free.iter().chain(&self.buffer_waiting).all(is_job)
            && self.arrays.iter().flat_map(|array| &array.reads).all(is_job)
            && self.flushes.iter().all(|flush| is_command(&flush.command))
            && self.places_taken <= self.figures.queue_depth_max
            && self.buffer_free <= self.figures.buffer_pages
    }
}

impl ReadPriorityDrive {
    saved_fields!(now_ns, off_ns, sequence, refused);

    pub(super) fn to_state(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(fingerprint(&self.profile.basics.figures));
        self.save_fields(&mut out);
        out.value(&self.now_ns.max(self.last_submit_ns));
        self.stations.save(&mut out);
        Format::end(out)
    }

    pub(super) fn from_state(profile: &FlashProfile, state: &[u8]) -> Result<Self, StateError> {
        let mut reader = FORMAT.open(state, fingerprint(&profile.basics.figures), &profile.basics.name)?;
        let mut drive = Self::new(profile.clone());
        drive.restore_fields(&mut reader)?;
        drive.last_submit_ns = reader.value()?;
        reachable([drive.now_ns, drive.last_submit_ns].into_iter().chain(drive.off_ns))?;
        drive.stations.restore(&mut reader)?;
        reader.end()?;
        let used = drive.stations.commands.used().map(|(number, it)| (it.sequence, it.tag, number));
        drive.tags = sorted(used).into_iter().map(|(_, tag, number)| (tag, number)).collect();
        Ok(drive)
    }
}
