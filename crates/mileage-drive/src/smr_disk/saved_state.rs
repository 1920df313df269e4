//! The state of a shingled disk as bytes: the log and its map, commands, cleaning, and the state of the disk inside.

use super::band_cleaner::{CleaningJob, Step};
use super::media_cache::{Extent, LogEntry};
use super::requests::{Command, LoggedPart, Owner};
use super::{Decisions, ShingledDrive};
use crate::block_device::BlockDevice;
use crate::device::{Refusal, Status};
use crate::disk::fingerprint;
use crate::saved_state::{Format, Reader, StateError, Writer, corrupt};
use crate::status_words;

const FORMAT: Format = Format { magic: "MILESHNG", version: 1 };

fn save_all<T>(out: &mut Writer, list: impl ExactSizeIterator<Item = T>, mut one: impl FnMut(&mut Writer, T)) {
    out.word(list.len() as u64);
    list.for_each(|it| one(out, it));
}

fn all<T, L: FromIterator<T>>(
    reader: &mut Reader,
    mut one: impl FnMut(&mut Reader) -> Result<T, StateError>,
) -> Result<L, StateError> {
    (0..reader.word()?).map(|_| one(reader)).collect()
}

fn optional(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value + 1)
}

fn yes(reader: &mut Reader) -> Result<bool, StateError> {
    Ok(reader.below(2, "neither yes nor no")? == 1)
}

impl ShingledDrive {
    pub(super) fn to_state(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(fingerprint(&self.profile));
        let now_ns = self.disk.now_ns();
        out.words([now_ns.max(self.last_submit_ns), optional(self.off_ns), self.sequence, self.inner_tags]);
        out.words([self.last_end, self.undecided, self.last_complete_ns, optional(self.full_ns)]);
        out.word(u64::from(self.reports));
        out.words(self.counters);
        out.words(self.host_counters);
        let mut commands: Vec<_> = self.commands.iter().filter(|(_, it)| it.complete_ns > now_ns).collect();
        commands.sort_unstable_by_key(|(_, it)| it.sequence);
        save_all(&mut out, commands.into_iter(), |out, (tag, it)| {
            let Command { sequence, submit_ns, fua, next, end, pending, decided_ns, complete_ns } = *it;
            out.words([*tag, sequence, submit_ns, u64::from(fua), next, end, pending, decided_ns, complete_ns]);
        });
        save_all(&mut out, self.refused.iter(), |out, (tag, refusal)| {
            out.word(*tag);
            status_words::save(out, Status::Refused(*refusal));
        });
        let mut owners: Vec<(u64, Owner)> = self.owners.iter().map(|(tag, owner)| (*tag, *owner)).collect();
        owners.sort_unstable_by_key(|(tag, _)| *tag);
        save_all(&mut out, owners.into_iter(), |out, (tag, owner)| match owner {
            Owner::Host(host) => out.words([tag, 1, host]),
            Owner::Cleaning => out.words([tag, 0, 0]),
        });
        save_all(&mut out, self.logged.iter(), |out, (tag, it)| {
            out.words([*tag, it.tag, it.position, it.first, it.end]);
        });
        save_all(&mut out, self.blocked.iter(), |out, tag| out.word(*tag));
        save_all(&mut out, self.cleaning.iter(), save_cleaning);
        out.word(self.cache.head);
        save_all(&mut out, self.cache.log.iter(), |out, it| {
            out.words([it.position, it.first, it.end, u64::from(it.is_home)]);
        });
        let extents: Vec<Extent> = self.cache.overlapping(0, u64::MAX).collect();
        save_all(&mut out, extents.iter(), save_extent);
        out.bytes(&self.disk.save());
        Format::end(out)
    }

    pub(super) fn restored(&self, state: &[u8]) -> Result<Self, StateError> {
        let mut reader = FORMAT.open(state, fingerprint(&self.profile), &self.profile.basics.name)?;
        let mut it = self.clone();
        it.inner = Decisions::default();
        it.last_submit_ns = reader.instant()?;
        (it.off_ns, it.sequence, it.inner_tags) =
            (reader.instant()?.checked_sub(1), reader.instant()?, reader.instant()?);
        (it.last_end, it.undecided, it.last_complete_ns) = (reader.word()?, reader.word()?, reader.instant()?);
        (it.full_ns, it.reports) = (reader.instant()?.checked_sub(1), yes(&mut reader)?);
        for counter in it.counters.iter_mut().chain(&mut it.host_counters) {
            *counter = reader.word()?;
        }
        it.commands = all(&mut reader, command)?;
        it.refused = all(&mut reader, refused)?;
        it.owners = all(&mut reader, owner)?;
        it.logged = all(&mut reader, |reader| {
            let (inner, tag, position) = (reader.word()?, reader.word()?, reader.instant()?);
            Ok((inner, LoggedPart { tag, position, first: reader.word()?, end: reader.word()? }))
        })?;
        it.blocked = all(&mut reader, tag)?;
        let cleaning: Vec<CleaningJob> = all(&mut reader, cleaning)?;
        it.cleaning = cleaning.into_iter().next();
        it.cache.head = reader.instant()?;
        it.cache.log = all(&mut reader, |reader| {
            let (position, first, end) = (reader.instant()?, reader.word()?, reader.word()?);
            Ok(LogEntry { position, first, end, is_home: yes(reader)? })
        })?;
        let extents: Vec<Extent> = all(&mut reader, extent)?;
        it.cache.set_map(&extents);
        it.disk.restore(reader.rest())?;
        Ok(it)
    }
}

fn tag(reader: &mut Reader) -> Result<u64, StateError> {
    reader.word()
}

fn command(reader: &mut Reader) -> Result<(u64, Command), StateError> {
    let (tag, sequence, submit_ns) = (reader.word()?, reader.word()?, reader.instant()?);
    let (fua, next, end) = (yes(reader)?, reader.word()?, reader.word()?);
    let (pending, decided_ns, complete_ns) = (reader.word()?, reader.instant()?, reader.word()?);
    Ok((tag, Command { sequence, submit_ns, fua, next, end, pending, decided_ns, complete_ns }))
}

fn refused(reader: &mut Reader) -> Result<(u64, Refusal), StateError> {
    let tag = reader.word()?;
    match status_words::restore(reader)? {
        Status::Refused(refusal) => Ok((tag, refusal)),
        _ => corrupt("a refusal that is none"),
    }
}

fn owner(reader: &mut Reader) -> Result<(u64, Owner), StateError> {
    let (tag, is_host, host) = (reader.word()?, yes(reader)?, reader.word()?);
    Ok((tag, if is_host { Owner::Host(host) } else { Owner::Cleaning }))
}

fn save_extent(out: &mut Writer, it: &Extent) {
    out.words([it.first, it.end, it.position]);
}

fn extent(reader: &mut Reader) -> Result<Extent, StateError> {
    Ok(Extent { first: reader.word()?, end: reader.word()?, position: reader.instant()? })
}

fn save_cleaning(out: &mut Writer, it: &CleaningJob) {
    let step = match it.step {
        Step::Flush => [0, 0],
        Step::Choose => [1, 0],
        Step::ReadBand(at) => [2, at],
        Step::ReadCache => [3, 0],
        Step::Write(at) => [4, at],
        Step::End => [5, 0],
    };
    out.words(step);
    out.words([it.band.0, it.band.1, it.head, optional(it.due_ns)]);
    out.words([u64::from(it.host_was_active), u64::from(it.has_paused)]);
    save_all(out, it.extents.iter(), save_extent);
}

fn cleaning(reader: &mut Reader) -> Result<CleaningJob, StateError> {
    let (step, at) = (reader.below(6, "a step of cleaning that does not exist")?, reader.word()?);
    let step = match step {
        0 => Step::Flush,
        1 => Step::Choose,
        2 => Step::ReadBand(at),
        3 => Step::ReadCache,
        4 => Step::Write(at),
        _ => Step::End,
    };
    let (band, head) = ((reader.word()?, reader.word()?), reader.instant()?);
    let due_ns = reader.instant()?.checked_sub(1);
    let (host_was_active, has_paused) = (yes(reader)?, yes(reader)?);
    Ok(CleaningJob { step, band, head, extents: all(reader, extent)?, due_ns, host_was_active, has_paused })
}
