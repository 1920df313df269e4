//! The state of a disk as bytes: clocks, arm, caches, and every command with how far it is.

use super::DiskDrive;
use super::controller::{Arrival, Command, Controller, Kind};
use super::write_cache::Extent;
use crate::profile::DiskProfile;
use crate::saved_state::{Format, Reader, StateError, Writer, corrupt, fingerprint, reachable, saved_fields, sorted};
use std::cmp::Reverse;

const FORMAT: Format = Format { magic: "MILEDISK", version: 2 };

impl DiskDrive {
    saved_fields!(now_ns, off_ns, sequence, last_end, refused);

    pub(super) fn to_state(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(fingerprint(&self.profile.basics.figures));
        self.save_fields(&mut out);
        out.value(&self.now_ns.max(self.last_submit_ns));
        let mut outstanding: Vec<_> = self.outstanding.iter().filter(|(_, it)| it.complete_ns > self.now_ns).collect();
        outstanding.sort_unstable_by_key(|(_, it)| it.sequence);
        out.value(&outstanding);
        self.controller.save(&mut out);
        Format::end(out)
    }

    pub(super) fn from_state(profile: &DiskProfile, state: &[u8]) -> Result<Self, StateError> {
        let mut reader = FORMAT.open(state, fingerprint(&profile.basics.figures), &profile.basics.name)?;
        let mut drive = Self::new(profile.clone());
        drive.restore_fields(&mut reader)?;
        drive.last_submit_ns = reader.value()?;
        reachable([drive.now_ns, drive.last_submit_ns].into_iter().chain(drive.off_ns))?;
        let outstanding: Vec<(u64, super::OutstandingRequest)> = reader.value()?;
        drive.outstanding = outstanding.into_iter().collect();
        drive.controller.restore(&mut reader)?;
        reader.end()?;
        Ok(drive)
    }
}

impl Controller {
    saved_fields!(
        now_ns,
        taken,
        link_in_ns,
        link_out_ns,
        choices,
        arm,
        destaging,
        waiting,
        held,
        full,
        forced,
        flush,
        queue,
    );

    fn save(&self, out: &mut Writer) {
        self.save_fields(out);
        out.words(self.counters.0);
        out.value(&(self.segments.uses, self.segments.active, &self.segments.list));
        out.value(&self.dirty.by_age().collect::<Vec<Extent>>());
        out.value(&sorted(self.releases.iter().map(|release| release.0)));
        out.value(&sorted(self.arriving.iter().map(|arriving| arriving.0)));
        let volatile = &self.volatile;
        out.value(&(&volatile.parts, volatile.accepted, volatile.reports, volatile.writing, &volatile.persisted));
    }

    fn restore(&mut self, reader: &mut Reader) -> Result<(), StateError> {
        self.restore_fields(reader)?;
        reader.words(&mut self.counters.0)?;
        let segments = self.segments.list.len();
        (self.segments.uses, self.segments.active, self.segments.list) = reader.value()?;
        if self.segments.list.len() != segments || self.segments.active >= segments.max(1) {
            return corrupt("no such segment");
        }
        let dirty: Vec<Extent> = reader.value()?;
        let (releases, arriving): (Vec<u64>, Vec<Arrival>) = (reader.value()?, reader.value()?);
        let volatile = &mut self.volatile;
        let (parts, accepted, reports, writing, persisted) = reader.value()?;
        volatile.restore(parts);
        (volatile.accepted, volatile.reports, volatile.writing, volatile.persisted) =
            (accepted, reports, writing, persisted);
        self.releases = releases.into_iter().map(Reverse).collect();
        self.arriving = arriving.into_iter().map(Reverse).collect();
        reachable([self.now_ns, self.link_in_ns, self.link_out_ns, self.arm.free_ns])?;
        if !self.is_on_disk(&dirty) {
            return corrupt("a range of sectors that ends behind the disk or before it begins");
        }
        dirty.into_iter().for_each(|extent| self.dirty.insert(extent));
        for at in 0..self.queue.len() {
            self.queue[at].at = self.place_of(self.queue[at].lba, self.queue[at].writes);
        }
        Ok(())
    }

    /// Whether all sectors of commands, caches and the arm are those of the disk.
    fn is_on_disk(&self, dirty: &[Extent]) -> bool {
        let sectors = self.figures.sectors;
        let commands = [&self.waiting, &self.held, &self.full].into_iter().flatten();
        let mut commands =
            commands.chain(&self.forced).chain(&self.flush).chain(self.arriving.iter().map(|it| &it.0.command));
        let is_command = |Command { kind, lba, sectors: length, .. }: &Command| {
            let moves = matches!(kind, Kind::Read | Kind::Write { .. });
            *lba < sectors && *length <= sectors - lba && (*length > 0 || !moves)
        };
        let ranges = self.segments.list.iter().map(|it| (it.first, it.end));
        let ranges = ranges.chain(dirty.iter().chain(&self.destaging).map(|it| (it.first, it.end)));
        let ranges = ranges.chain(self.volatile.parts.values().map(|it| (it.first, it.end)));
        let ranges = ranges.chain(self.volatile.writing.iter().map(|it| (it.first, it.end)));
        let mut ranges = ranges.chain(self.arm.stream.iter().map(|it| (0, it.lba.max(it.limit))));
        commands.all(is_command)
            && ranges.all(|(first, end)| first <= end && end <= sectors)
            && self.queue.iter().all(|entry| entry.lba < entry.end && entry.end <= sectors)
    }
}
