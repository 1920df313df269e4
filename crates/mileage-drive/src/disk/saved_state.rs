//! The state of a disk as bytes: clocks, arm, caches, and every command with how far it is.

use super::DiskDrive;
use super::arm::{Arm, Stream};
use super::controller::{Arrival, Command, Controller, Kind};
use super::power_loss::{CurrentWrite, Part, Source};
use super::queue::Entry;
use super::segments::Segment;
use super::write_cache::Extent;
use crate::block_device::{DurableExtent, Tag};
use crate::profile::DiskProfile;
use crate::saved_state::{Format, Reader, StateError, Writer, checksum, corrupt};
use crate::status_words;
use crate::{Refusal, Status};
use std::cmp::Reverse;

const FORMAT: Format = Format { magic: "MILEDISK", version: 1 };

/// Hash of all figures that determine the behaviour of a disk.
pub(crate) fn fingerprint(profile: &DiskProfile) -> u64 {
    let figures = profile.basics.figures.iter();
    let text: Vec<String> = figures.map(|figure| format!("{}={}", figure.name, figure.value)).collect();
    checksum(text.join("\n").as_bytes())
}

/// Write the length of a list, then each of its items with `one`.
fn save_all<T>(out: &mut Writer, list: impl ExactSizeIterator<Item = T>, mut one: impl FnMut(&mut Writer, T)) {
    out.word(list.len() as u64);
    list.for_each(|it| one(out, it));
}

fn all<T>(
    reader: &mut Reader,
    mut one: impl FnMut(&mut Reader) -> Result<T, StateError>,
) -> Result<Vec<T>, StateError> {
    (0..reader.word()?).map(|_| one(reader)).collect()
}

fn one_or_none<T>(list: Vec<T>) -> Result<Option<T>, StateError> {
    if list.len() > 1 { corrupt("two of what there is one of") } else { Ok(list.into_iter().next()) }
}

impl DiskDrive {
    pub(super) fn to_state(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(fingerprint(&self.profile));
        let last_submit_ns = self.now_ns.max(self.last_submit_ns);
        out.words([
            self.now_ns,
            last_submit_ns,
            self.off_ns.map_or(0, |at_ns| at_ns + 1),
            self.sequence,
            self.last_end,
        ]);
        let mut outstanding: Vec<_> = self.outstanding.iter().filter(|(_, it)| it.complete_ns > self.now_ns).collect();
        outstanding.sort_unstable_by_key(|(_, it)| it.sequence);
        save_all(&mut out, outstanding.into_iter(), |out, (tag, it)| {
            out.words([*tag, it.sequence, it.complete_ns]);
        });
        save_all(&mut out, self.refused.iter(), |out, (tag, refusal)| {
            out.word(*tag);
            status_words::save(out, Status::Refused(*refusal));
        });
        save_controller(&mut out, &self.controller);
        Format::end(out)
    }

    pub(super) fn from_state(profile: &DiskProfile, state: &[u8]) -> Result<Self, StateError> {
        let mut reader = FORMAT.open(state, fingerprint(profile), &profile.basics.name)?;
        let mut drive = Self::new(profile.clone());
        (drive.now_ns, drive.last_submit_ns) = (reader.instant()?, reader.instant()?);
        drive.off_ns = reader.instant()?.checked_sub(1);
        (drive.sequence, drive.last_end) = (reader.word()?, reader.word()?);
        let entries = all(&mut reader, |reader| Ok((reader.word()?, reader.word()?, reader.word()?)))?;
        let outstanding = entries
            .into_iter()
            .map(|(tag, sequence, complete_ns)| (tag, super::OutstandingRequest { sequence, complete_ns }));
        drive.outstanding = outstanding.collect();
        drive.refused = all(&mut reader, refused)?;
        controller(&mut reader, &mut drive.controller)?;
        reader.end()?;
        Ok(drive)
    }
}

fn refused(reader: &mut Reader) -> Result<(u64, Refusal), StateError> {
    let tag = reader.word()?;
    match status_words::restore(reader)? {
        Status::Refused(refusal) => Ok((tag, refusal)),
        _ => corrupt("a refusal that is none"),
    }
}

fn save_controller(out: &mut Writer, it: &Controller) {
    out.words(it.counters.0);
    out.words([it.now_ns, u64::from(it.taken), it.link_in_ns, it.link_out_ns, it.choices]);
    let Arm { track, free_ns, stream, end_lba } = it.arm;
    out.words([u64::from(track.0), u64::from(track.1), free_ns, end_lba]);
    save_all(out, stream.iter(), |out, stream| {
        let Stream { lba, at_ns, arrived_ns, on_track, limit } = *stream;
        out.words([lba, at_ns, arrived_ns, u64::from(on_track), limit]);
    });
    out.words([it.segments.uses, it.segments.active as u64]);
    for segment in &it.segments.list {
        out.words([segment.first, segment.end, segment.ready_ns, segment.used]);
    }
    let extents: Vec<Extent> = it.dirty.by_age().collect();
    save_all(out, extents.iter(), save_extent);
    save_all(out, it.destaging.iter(), save_extent);
    for list in [&it.waiting, &it.held, &it.full] {
        save_all(out, list.iter(), save_command);
    }
    save_all(out, it.forced.iter(), save_command);
    save_all(out, it.flush.iter(), save_command);
    let mut releases: Vec<u64> = it.releases.iter().map(|release| release.0).collect();
    releases.sort_unstable();
    save_all(out, releases.iter(), |out, at_ns| out.word(*at_ns));
    let mut arriving: Vec<Arrival> = it.arriving.iter().map(|arriving| arriving.0).collect();
    arriving.sort_unstable();
    save_all(out, arriving.iter(), |out, arriving| {
        out.word(arriving.ready_ns);
        save_command(out, &arriving.command);
    });
    save_all(out, it.queue.iter(), |out, entry| {
        let Entry { tag, sequence, submit_ns, ready_ns, writes, lba, end, .. } = *entry;
        out.words([tag, sequence, submit_ns, ready_ns, u64::from(writes), lba, end]);
    });
    let volatile = &it.volatile;
    save_all(out, volatile.parts.iter(), |out, (sequence, part)| {
        out.words([*sequence, part.tag, part.first, part.end, part.accepted]);
    });
    out.words([volatile.accepted, u64::from(volatile.reports)]);
    save_all(out, volatile.writing.iter(), |out, writing| {
        let CurrentWrite { first, end, begin_ns, end_ns, source } = *writing;
        let (cached, number) = match source {
            Source::Host(sequence) => (0, sequence),
            Source::Cache(last) => (1, last),
        };
        out.words([first, end, begin_ns, end_ns, cached, number]);
    });
    save_all(out, volatile.persisted.iter(), |out, it| {
        out.words([it.tag.0, it.offset_bytes, it.length_bytes, it.at_ns]);
    });
}

fn save_extent(out: &mut Writer, extent: &Extent) {
    out.words([extent.first, extent.end, extent.sequence]);
}

fn save_command(out: &mut Writer, command: &Command) {
    let Command { tag, sequence, kind, lba, sectors, submit_ns } = *command;
    let kind = match kind {
        Kind::Read => 0,
        Kind::Write { fua: false } => 1,
        Kind::Write { fua: true } => 2,
        Kind::Flush => 3,
        Kind::Discard => 4,
    };
    out.words([tag, sequence, kind, lba, sectors, submit_ns]);
}

/// A first sector and the one behind the last.
fn range(reader: &mut Reader, sectors: u64) -> Result<(u64, u64), StateError> {
    let (first, end) = (reader.below(sectors + 1, "a sector behind the disk's last")?, reader.word()?);
    if end < first || end > sectors {
        corrupt("a range of sectors that ends behind the disk or before it begins")
    } else {
        Ok((first, end))
    }
}

fn extent(reader: &mut Reader, sectors: u64) -> Result<Extent, StateError> {
    let (first, end) = range(reader, sectors)?;
    Ok(Extent { first, end, sequence: reader.word()? })
}

fn command(reader: &mut Reader, sectors: u64) -> Result<Command, StateError> {
    let (tag, sequence) = (reader.word()?, reader.word()?);
    let kind = match reader.below(5, "a kind of command that does not exist")? {
        0 => Kind::Read,
        1 => Kind::Write { fua: false },
        2 => Kind::Write { fua: true },
        3 => Kind::Flush,
        _ => Kind::Discard,
    };
    let (lba, length) = (reader.below(sectors, "a sector behind the disk's last")?, reader.word()?);
    let moves = matches!(kind, Kind::Read | Kind::Write { .. });
    if length > sectors - lba || (moves && length == 0) {
        return corrupt("a command that ends behind the disk");
    }
    Ok(Command { tag, sequence, kind, lba, sectors: length, submit_ns: reader.instant()? })
}

fn yes(reader: &mut Reader) -> Result<bool, StateError> {
    Ok(reader.below(2, "neither yes nor no")? == 1)
}

fn controller(reader: &mut Reader, it: &mut Controller) -> Result<(), StateError> {
    let sectors = it.figures.sectors;
    for counter in &mut it.counters.0 {
        *counter = reader.word()?;
    }
    it.now_ns = reader.instant()?;
    it.taken = reader.below(1 << 32, "more places than a disk has")? as u32;
    (it.link_in_ns, it.link_out_ns, it.choices) = (reader.instant()?, reader.instant()?, reader.word()?);
    let track = (reader.below(1 << 32, "no such cylinder")? as u32, reader.below(1 << 32, "no such head")? as u32);
    it.arm = Arm { track, free_ns: reader.instant()?, stream: None, end_lba: reader.word()? };
    it.arm.stream = one_or_none(all(reader, |reader| {
        let (lba, at_ns) = (reader.below(sectors + 1, "a sector behind the disk's last")?, reader.instant()?);
        let (arrived_ns, on_track) = (reader.instant()?, yes(reader)?);
        Ok(Stream {
            lba,
            at_ns,
            arrived_ns,
            on_track,
            limit: reader.below(sectors + 1, "a sector behind the disk's last")?,
        })
    })?)?;
    it.segments.uses = reader.word()?;
    it.segments.active = reader.below(it.segments.list.len().max(1) as u64, "no such segment")? as usize;
    for segment in &mut it.segments.list {
        let (first, end) = range(reader, sectors)?;
        *segment = Segment { first, end, ready_ns: reader.instant()?, used: reader.word()? };
    }
    for extent in all(reader, |reader| extent(reader, sectors))? {
        it.dirty.insert(extent);
    }
    it.destaging = one_or_none(all(reader, |reader| extent(reader, sectors))?)?;
    let mut commands = || all(reader, |reader| command(reader, sectors));
    (it.waiting, it.held, it.full) = (commands()?.into(), commands()?.into(), commands()?.into());
    (it.forced, it.flush) = (commands()?, one_or_none(commands()?)?);
    it.releases = all(reader, |reader| Ok(Reverse(reader.instant()?)))?.into();
    let arriving = |reader: &mut Reader| {
        let ready_ns = reader.instant()?;
        Ok(Reverse(Arrival { ready_ns, command: command(reader, sectors)? }))
    };
    it.arriving = all(reader, arriving)?.into();
    it.queue = all(reader, |reader| {
        let (tag, sequence, submit_ns, ready_ns) =
            (reader.word()?, reader.word()?, reader.instant()?, reader.instant()?);
        let writes = yes(reader)?;
        let (lba, end) = range(reader, sectors)?;
        if lba == end {
            return corrupt("a command without a sector");
        }
        Ok(Entry { tag, sequence, submit_ns, ready_ns, writes, lba, end, at: it.place_of(lba, writes) })
    })?;
    volatile(reader, it)
}

fn volatile(reader: &mut Reader, it: &mut Controller) -> Result<(), StateError> {
    let sectors = it.figures.sectors;
    let parts = all(reader, |reader| {
        let (sequence, tag) = (reader.word()?, reader.word()?);
        let (first, end) = range(reader, sectors)?;
        Ok((sequence, Part { tag, first, end, accepted: reader.word()? }))
    })?;
    let volatile = &mut it.volatile;
    volatile.restore(parts.into_iter().collect());
    (volatile.accepted, volatile.reports) = (reader.word()?, yes(reader)?);
    volatile.writing = one_or_none(all(reader, |reader| {
        let (first, end) = range(reader, sectors)?;
        let (begin_ns, end_ns) = (reader.instant()?, reader.instant()?);
        let (cached, number) = (yes(reader)?, reader.word()?);
        let source = if cached { Source::Cache(number) } else { Source::Host(number) };
        Ok(CurrentWrite { first, end, begin_ns, end_ns, source })
    })?)?;
    volatile.persisted = all(reader, |reader| {
        let (tag, offset_bytes) = (Tag(reader.word()?), reader.word()?);
        Ok(DurableExtent { tag, offset_bytes, length_bytes: reader.word()?, at_ns: reader.instant()? })
    })?;
    Ok(())
}
