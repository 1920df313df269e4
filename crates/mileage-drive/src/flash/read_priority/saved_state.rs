//! The state of the drive as bytes: clocks, everything that is in the stations, counters, and the map.

use super::ReadPriorityDrive;
use super::array_queue::{Activity, ArrayQueue, Operation, Work};
use super::jobs::{Command, Job, Slab};
use super::stations::{Stage, StationEvent, Stations, WaitingFlush};
use crate::device::Request;
use crate::flash::counters::{COUNTER_NAMES, Counters};
use crate::flash::map::saved_state;
use crate::profile::FlashProfile;
use crate::saved_state::{Format, Reader, StateError, Writer, checksum, corrupt};
use crate::status_words;
use crate::{RequestKind, Status};
use std::cmp::Reverse;

const FORMAT: Format = Format { magic: "MILEREAD", version: 1 };
/// More of anything than fits into a drive at a time.
const MANY: u64 = 1 << 31;

fn fingerprint(profile: &FlashProfile) -> u64 {
    let figures = profile.basics.figures.iter();
    let text: Vec<String> = figures.map(|figure| format!("{}={}", figure.name, figure.value)).collect();
    checksum(text.join("\n").as_bytes())
}

fn save_all<T>(out: &mut Writer, list: impl ExactSizeIterator<Item = T>, mut one: impl FnMut(&mut Writer, T)) {
    out.word(list.len() as u64);
    list.for_each(|it| one(out, it));
}

fn all<T>(
    reader: &mut Reader,
    mut one: impl FnMut(&mut Reader) -> Result<T, StateError>,
) -> Result<Vec<T>, StateError> {
    (0..reader.below(MANY, "more than fits into a drive")?).map(|_| one(reader)).collect()
}

fn yes(reader: &mut Reader) -> Result<bool, StateError> {
    Ok(reader.below(2, "neither yes nor no")? == 1)
}

fn half(reader: &mut Reader) -> Result<u32, StateError> {
    Ok(reader.below(1 << 32, "a number of more than 32 bits")? as u32)
}

const KINDS: [RequestKind; 4] = [RequestKind::Read, RequestKind::Write, RequestKind::Discard, RequestKind::Flush];

fn save_command(out: &mut Writer, command: &Command) {
    let Command { tag, sequence, request, left, ready_ns, end_ns, decided } = *command;
    let Request { kind, fua, offset_bytes, length_bytes, submit_ns } = request;
    let kind = KINDS.iter().position(|known| *known == kind).unwrap_or(0) as u64;
    out.words([tag, sequence, kind, u64::from(fua), offset_bytes, length_bytes, submit_ns]);
    out.words([u64::from(left), ready_ns, end_ns, u64::from(decided)]);
}

fn command(reader: &mut Reader) -> Result<Command, StateError> {
    let (tag, sequence) = (reader.word()?, reader.below(1 << 40, "more commands than a drive serves")?);
    let kind = KINDS[reader.below(4, "a kind of command that does not exist")? as usize];
    let fua = yes(reader)?;
    let (offset_bytes, length_bytes) = (reader.below(1 << 60, "no such byte")?, reader.below(1 << 60, "no such byte")?);
    let request = Request { kind, fua, offset_bytes, length_bytes, submit_ns: reader.instant()? };
    let left = half(reader)?;
    let (ready_ns, end_ns) = (reader.instant()?, reader.instant()?);
    Ok(Command { tag, sequence, request, left, ready_ns, end_ns, decided: yes(reader)? })
}

fn save_job(out: &mut Writer, job: &Job) {
    let Job { tag, order, offset_bytes, bytes, command, unit, writes, acknowledged, in_controller, placed } = *job;
    out.words([tag, order, offset_bytes, u64::from(bytes), u64::from(command), u64::from(unit)]);
    out.words([writes, acknowledged, in_controller, placed].map(u64::from));
}

fn job(reader: &mut Reader) -> Result<Job, StateError> {
    Ok(Job {
        tag: reader.word()?,
        order: reader.word()?,
        offset_bytes: reader.below(1 << 60, "no such byte")?,
        bytes: half(reader)?,
        command: half(reader)?,
        unit: half(reader)?,
        writes: yes(reader)?,
        acknowledged: yes(reader)?,
        in_controller: yes(reader)?,
        placed: yes(reader)?,
    })
}

fn save_slab<T>(out: &mut Writer, slab: &Slab<T>, mut one: impl FnMut(&mut Writer, &T)) {
    save_all(out, slab.places.iter(), |out, it| one(out, it));
    save_all(out, slab.free.iter(), |out, number| out.word(u64::from(*number)));
}

fn slab<T>(reader: &mut Reader, one: impl FnMut(&mut Reader) -> Result<T, StateError>) -> Result<Slab<T>, StateError> {
    let places = all(reader, one)?;
    let count = places.len() as u64;
    let free = all(reader, |reader| Ok(reader.below(count, "no such place")? as u32))?;
    Ok(Slab { places, free })
}

fn save_operation(out: &mut Writer, operation: &Operation) {
    let doing = Activity::ALL.iter().position(|known| *known == operation.doing).unwrap_or(0) as u64;
    out.words([doing, u64::from(operation.job), operation.end_ns]);
}

fn operation(reader: &mut Reader) -> Result<Operation, StateError> {
    let doing = Activity::ALL[reader.below(6, "nothing that an array does")? as usize];
    Ok(Operation { doing, job: half(reader)?, end_ns: reader.instant()? })
}

fn save_numbers<'a>(out: &mut Writer, numbers: impl ExactSizeIterator<Item = &'a u32>) {
    save_all(out, numbers, |out, number| out.word(u64::from(*number)));
}

fn save_array(out: &mut Writer, array: &ArrayQueue) {
    save_numbers(out, array.reads.iter());
    save_all(out, array.work.iter(), |out, work| {
        let Work { job, copies, erases, share_ns } = *work;
        out.words([u64::from(job), u64::from(copies), u64::from(erases), share_ns]);
    });
    save_all(out, array.current.iter(), save_operation);
    save_all(out, array.interrupted.iter(), save_operation);
    out.word(u64::from(array.version));
}

fn array(reader: &mut Reader, jobs: u64) -> Result<ArrayQueue, StateError> {
    let reads = all(reader, |reader| Ok(reader.below(jobs, "no such page")? as u32))?;
    let work = |reader: &mut Reader| {
        Ok(Work { job: half(reader)?, copies: half(reader)?, erases: half(reader)?, share_ns: reader.instant()? })
    };
    let work = all(reader, work)?;
    let current = all(reader, operation)?.pop();
    let interrupted = all(reader, operation)?.pop();
    Ok(ArrayQueue { reads: reads.into(), work: work.into(), current, interrupted, version: half(reader)? })
}

fn save_happening(out: &mut Writer, it: &StationEvent) {
    let stage = Stage::ALL.iter().position(|known| *known == it.stage).unwrap_or(0) as u64;
    out.words([it.at_ns, it.order, stage, u64::from(it.number), u64::from(it.version)]);
}

fn happening(reader: &mut Reader) -> Result<StationEvent, StateError> {
    let (at_ns, order) = (reader.instant()?, reader.word()?);
    let stage = Stage::ALL[reader.below(6, "nothing that happens")? as usize];
    Ok(StationEvent { at_ns, order, stage, number: half(reader)?, version: half(reader)? })
}

fn save_stations(out: &mut Writer, it: &Stations) {
    out.words(it.counters.values());
    let mut happenings: Vec<StationEvent> = it.happenings.iter().map(|happening| happening.0).collect();
    happenings.sort_unstable();
    save_all(out, happenings.iter(), save_happening);
    save_slab(out, &it.commands, save_command);
    save_slab(out, &it.jobs, save_job);
    save_numbers(out, it.waiting.iter());
    out.words([u64::from(it.places_taken), u64::from(it.gate_closed)]);
    out.words([it.controller_ns, it.to_host_ns, it.to_drive_ns]);
    out.words(it.channels_ns.iter().copied());
    it.arrays.iter().for_each(|array| save_array(out, array));
    out.words(it.shares.iter().flat_map(|share| [share.0, share.1]));
    out.word(u64::from(it.buffer_free));
    save_numbers(out, it.buffer_waiting.iter());
    save_all(out, it.in_buffer.iter(), |out, (page, count)| out.words([u64::from(*page), u64::from(*count)]));
    out.words([it.unprogrammed, it.undecided, u64::from(it.reports)]);
    save_all(out, it.flushes.iter(), |out, it| out.words([u64::from(it.command), it.sequence, it.pages]));
    saved_state::save(out, &it.map);
}

fn stations(reader: &mut Reader, it: &mut Stations) -> Result<(), StateError> {
    let mut values = [0; COUNTER_NAMES.len()];
    for value in &mut values {
        *value = reader.below(u64::MAX / 2, "a counter that no drive reaches")?;
    }
    it.counters = Counters::of(values);
    it.happenings = all(reader, happening)?.into_iter().map(Reverse).collect();
    (it.commands, it.jobs) = (slab(reader, command)?, slab(reader, job)?);
    let (commands, jobs) = (it.commands.places.len() as u64, it.jobs.places.len() as u64);
    let of = |happening: &StationEvent| match happening.stage {
        Stage::Controller | Stage::Complete => commands,
        Stage::ArrayDone => it.arrays.len() as u64,
        Stage::Arrived | Stage::AtArray | Stage::AtController => jobs,
    };
    if it.happenings.iter().any(|happening| u64::from(happening.0.number) >= of(&happening.0)) {
        return corrupt("something happens to what is not there");
    }
    it.waiting = all(reader, |reader| Ok(reader.below(commands, "no such command")? as u32))?.into();
    it.places_taken = reader.below(u64::from(it.figures.queue_depth_max) + 1, "more commands than places")? as u32;
    it.gate_closed = yes(reader)?;
    (it.controller_ns, it.to_host_ns, it.to_drive_ns) = (reader.instant()?, reader.instant()?, reader.instant()?);
    for free_ns in &mut it.channels_ns {
        *free_ns = reader.instant()?;
    }
    for queue in &mut it.arrays {
        *queue = array(reader, jobs)?;
    }
    for share in &mut it.shares {
        *share = (reader.instant()?, reader.instant()?);
    }
    it.buffer_free = reader.below(u64::from(it.figures.buffer_pages) + 1, "more places than the buffer has")? as u32;
    it.buffer_waiting = all(reader, |reader| Ok(reader.below(jobs, "no such page")? as u32))?.into();
    it.in_buffer = all(reader, |reader| Ok((half(reader)?, half(reader)?)))?.into_iter().collect();
    (it.unprogrammed, it.undecided) = (reader.below(MANY, "too many pages")?, reader.below(MANY, "too many commands")?);
    it.reports = yes(reader)?;
    it.flushes = all(reader, |reader| {
        let command = reader.below(commands, "no such command")? as u32;
        Ok(WaitingFlush { command, sequence: reader.word()?, pages: reader.word()? })
    })?;
    saved_state::restore(reader, &mut it.map)
}

impl ReadPriorityDrive {
    pub(super) fn to_state(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(fingerprint(&self.profile));
        out.words([self.now_ns, self.now_ns.max(self.last_submit_ns)]);
        out.words([self.off_ns.map_or(0, |at_ns| at_ns + 1), self.sequence]);
        save_all(&mut out, self.refused.iter(), |out, (tag, refusal)| {
            out.word(*tag);
            status_words::save(out, Status::Refused(*refusal));
        });
        save_stations(&mut out, &self.stations);
        Format::end(out)
    }

    pub(super) fn from_state(profile: &FlashProfile, state: &[u8]) -> Result<Self, StateError> {
        let mut reader = FORMAT.open(state, fingerprint(profile), &profile.basics.name)?;
        let mut drive = Self::new(profile.clone());
        (drive.now_ns, drive.last_submit_ns) = (reader.instant()?, reader.instant()?);
        drive.off_ns = reader.instant()?.checked_sub(1);
        drive.sequence = reader.below(1 << 40, "more commands than a drive serves")?;
        drive.refused = all(&mut reader, |reader| {
            let tag = reader.word()?;
            match status_words::restore(reader)? {
                Status::Refused(refusal) => Ok((tag, refusal)),
                _ => corrupt("a refusal that is none"),
            }
        })?;
        stations(&mut reader, &mut drive.stations)?;
        reader.end()?;
        let mut commands: Vec<(u64, u64, u32)> =
            drive.stations.commands.used().map(|(number, it)| (it.sequence, it.tag, number)).collect();
        commands.sort_unstable();
        drive.tags = commands.into_iter().map(|(_, tag, number)| (tag, number)).collect();
        Ok(drive)
    }
}
