//! The state of an array as bytes: clock, commands, operations, requests to members, cache, members.

use super::layout::Piece;
use super::model::Array;
use super::stripe::{Plan, Unit, Way};
use super::work::{
    Command, Due, MemberRequest, Operation, Part, Phase, Sent, Slot, Task, What, restore_record, save_record,
};
use crate::block_device::{Decisions, ManagedDevice, Tag};
use crate::content;
use crate::content_store::ContentStore;
use crate::device::{Request, Status};
use crate::saved_state::{Format, Reader, StateError, Writer, checksum, corrupt};
use crate::status_words;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

const FORMAT: Format = Format { magic: "MILEARRY", version: 1 };

fn many<T>(reader: &mut Reader, one: impl Fn(&mut Reader) -> Result<T, StateError>) -> Result<Vec<T>, StateError> {
    (0..reader.word()?).map(|_| one(reader)).collect()
}

fn save_many<'a, T: 'a>(out: &mut Writer, values: impl ExactSizeIterator<Item = &'a T>, one: impl Fn(&mut Writer, &T)) {
    out.word(values.len() as u64);
    values.for_each(|value| one(out, value));
}

fn word(reader: &mut Reader) -> Result<u64, StateError> {
    reader.word()
}

fn yes(reader: &mut Reader) -> Result<bool, StateError> {
    Ok(reader.below(2, "neither yes nor no")? == 1)
}

fn save_request(out: &mut Writer, request: &Request) {
    let Request { kind, fua, offset_bytes, length_bytes, submit_ns } = *request;
    out.words([kind as u64, u64::from(fua), offset_bytes, length_bytes, submit_ns]);
}

fn restore_request(reader: &mut Reader) -> Result<Request, StateError> {
    let (kind, fua) = (status_words::kind_of(reader.word()?)?, yes(reader)?);
    let (offset_bytes, length_bytes, submit_ns) = (reader.word()?, reader.word()?, reader.word()?);
    Ok(Request { kind, fua, offset_bytes, length_bytes, submit_ns })
}

fn save_status(out: &mut Writer, status: Option<Status>) {
    out.word(u64::from(status.is_some()));
    status_words::save(out, status.unwrap_or(Status::Done));
}

fn restore_status(reader: &mut Reader) -> Result<Option<Status>, StateError> {
    let is_some = yes(reader)?;
    let status = status_words::restore(reader)?;
    Ok(is_some.then_some(status))
}

fn save_command(out: &mut Writer, command: &Command) {
    let Command { tag, request, content, pending, status, has_arrived, is_under_way } = command;
    out.words([tag.0, u64::from(*pending), u64::from(*has_arrived), u64::from(*is_under_way)]);
    save_request(out, request);
    content::save(out, content);
    status_words::save(out, *status);
}

fn restore_command(reader: &mut Reader) -> Result<Command, StateError> {
    let (tag, pending) = (Tag(reader.word()?), reader.word()? as u32);
    let (has_arrived, is_under_way) = (yes(reader)?, yes(reader)?);
    let (request, content) = (restore_request(reader)?, content::restore(reader)?);
    let status = status_words::restore(reader)?;
    Ok(Command { tag, request, content, pending, status, has_arrived, is_under_way })
}

fn save_unit(out: &mut Writer, unit: Unit) {
    out.words(match unit {
        Unit::Data(at) => [0, at as u64],
        Unit::Parity(at) => [1, at as u64],
    });
}

const WAYS: [Way; 5] = [Way::FullStripe, Way::ReadModifyWrite, Way::Reconstruct, Way::Recover, Way::NoParity];

fn save_plan(out: &mut Writer, plan: Option<&Plan>) {
    out.word(u64::from(plan.is_some()));
    if let Some(Plan { way, reads, hull }) = plan {
        out.words([*way as u64, hull.0, hull.1, reads.len() as u64]);
        for (unit, range) in reads {
            save_unit(out, *unit);
            out.words([range.0, range.1]);
        }
    }
}

fn restore_plan(reader: &mut Reader) -> Result<Option<Plan>, StateError> {
    if !yes(reader)? {
        return Ok(None);
    }
    let way = WAYS[reader.below(5, "a way to write that does not exist")? as usize];
    let hull = (reader.word()?, reader.word()?);
    let reads = many(reader, |reader| {
        let (kind, at) = (yes(reader)?, reader.word()? as usize);
        let unit = if kind { Unit::Parity(at) } else { Unit::Data(at) };
        Ok((unit, (reader.word()?, reader.word()?)))
    })?;
    Ok(Some(Plan { way, reads, hull }))
}

fn save_task(out: &mut Writer, task: &Task) {
    match task {
        Task::Read => out.word(0),
        Task::Recover { piece: Piece { row, data, from, to } } => out.words([1, *row, *data as u64, *from, *to]),
        Task::Write { fua } => out.words([2, u64::from(*fua)]),
        Task::Row { row, fua, plan } => {
            out.words([3, *row, u64::from(*fua)]);
            save_plan(out, plan.as_ref());
        }
        Task::Discard => out.word(4),
        Task::Flush => out.word(5),
        Task::Rebuild { slot, row } => out.words([6, *slot as u64, *row]),
    }
}

fn restore_task(reader: &mut Reader) -> Result<Task, StateError> {
    Ok(match reader.word()? {
        0 => Task::Read,
        1 => {
            let (row, data) = (reader.word()?, reader.word()? as usize);
            Task::Recover { piece: Piece { row, data, from: reader.word()?, to: reader.word()? } }
        }
        2 => Task::Write { fua: yes(reader)? },
        3 => Task::Row { row: reader.word()?, fua: yes(reader)?, plan: restore_plan(reader)? },
        4 => Task::Discard,
        5 => Task::Flush,
        6 => Task::Rebuild { slot: reader.word()? as usize, row: reader.word()? },
        _ => return corrupt("an operation that does not exist"),
    })
}

fn save_operation(out: &mut Writer, operation: &Operation) {
    let Operation { commands, task, phase, pending, parts, records, from_cache, failed } = operation;
    save_many(out, commands.iter(), |out, command| out.word(*command));
    save_task(out, task);
    out.words([*phase as u64, u64::from(*pending), u64::from(*from_cache)]);
    save_many(out, parts.iter(), |out, part| {
        out.words([part.offset, part.length]);
        content::save(out, &part.content);
    });
    save_many(out, records.iter(), save_record);
    save_status(out, *failed);
}

fn restore_operation(reader: &mut Reader) -> Result<Operation, StateError> {
    let commands = many(reader, word)?;
    let task = restore_task(reader)?;
    let phase =
        [Phase::Waiting, Phase::Reading, Phase::Writing][reader.below(3, "a phase that does not exist")? as usize];
    let (pending, from_cache) = (reader.word()? as u32, yes(reader)?);
    let parts = many(reader, |reader| {
        let (offset, length) = (reader.word()?, reader.word()?);
        Ok(Part { offset, length, content: content::restore(reader)? })
    })?;
    let records = many(reader, restore_record)?;
    Ok(Operation { commands, task, phase, pending, parts, records, from_cache, failed: restore_status(reader)? })
}

fn save_member_request(out: &mut Writer, request: &MemberRequest) {
    let MemberRequest { operation, device, slot, kind, fua, offset, length, content, is_sent, end, has_passed } =
        request;
    out.words([*operation, *device as u64, *slot as u64, *kind as u64, u64::from(*fua), *offset, *length]);
    out.words([u64::from(*is_sent), u64::from(*has_passed)]);
    content::save(out, content);
    save_status(out, *end);
}

fn restore_member_request(reader: &mut Reader) -> Result<MemberRequest, StateError> {
    let (operation, device, slot) = (reader.word()?, reader.word()? as usize, reader.word()? as usize);
    let (kind, fua) = (status_words::kind_of(reader.word()?)?, yes(reader)?);
    let (offset, length, is_sent, has_passed) = (reader.word()?, reader.word()?, yes(reader)?, yes(reader)?);
    let content = content::restore(reader)?;
    let end = restore_status(reader)?;
    Ok(MemberRequest { operation, device, slot, kind, fua, offset, length, content, is_sent, end, has_passed })
}

fn save_slot(out: &mut Writer, slot: &Slot) {
    match slot {
        Slot::Failed => out.word(0),
        Slot::Working { device } => out.words([1, *device as u64]),
        Slot::Rebuilding { device, done, ahead, next, under_way } => {
            out.words([2, *device as u64, *done, *next, u64::from(*under_way)]);
            save_many(out, ahead.iter(), |out, row| out.word(*row));
        }
    }
}

fn restore_slot(reader: &mut Reader, devices: u64) -> Result<Slot, StateError> {
    let device = |reader: &mut Reader| Ok(reader.below(devices, "a member that does not exist")? as usize);
    Ok(match reader.word()? {
        0 => Slot::Failed,
        1 => Slot::Working { device: device(reader)? },
        2 => {
            let (device, done, next) = (device(reader)?, reader.word()?, reader.word()?);
            let under_way = reader.word()? as u32;
            let ahead: BTreeSet<u64> = many(reader, word)?.into_iter().collect();
            Slot::Rebuilding { device, done, ahead, next, under_way }
        }
        _ => return corrupt("a place in a state that does not exist"),
    })
}

fn save_due(out: &mut Writer, due: &Due) {
    let (kind, a, b) = match due.what {
        What::Start { command } => (0, command, 0),
        What::Send { request } => (1, request, 0),
        What::Answer { device, request } => (2, device as u64, request),
        What::Rebuild { slot } => (3, slot as u64, 0),
        What::Destage => (4, 0, 0),
    };
    out.words([due.at_ns, kind, a, b]);
}

fn restore_due(reader: &mut Reader) -> Result<Due, StateError> {
    let (at_ns, kind, a, b) = (reader.instant()?, reader.word()?, reader.word()?, reader.word()?);
    let what = match kind {
        0 => What::Start { command: a },
        1 => What::Send { request: a },
        2 => What::Answer { device: a as usize, request: b },
        3 => What::Rebuild { slot: a as usize },
        4 => What::Destage,
        _ => return corrupt("an event that does not exist"),
    };
    Ok(Due { at_ns, what })
}

/// The state of a member once its clock stands at this instant, as that of the array does.
fn saved_at<M: ManagedDevice + Clone>(device: &M, now_ns: u64) -> Vec<u8> {
    if !device.may_lag() || device.now_ns() >= now_ns {
        return device.save();
    }
    let mut device = device.clone();
    if let Err(misuse) = device.advance_to(now_ns, &mut Decisions::default()) {
        // A state from before that would be restored as one of this instant.
        unreachable!("a member that keeps its contract: {misuse}");
    }
    device.save()
}

impl<M: ManagedDevice + Clone> Array<M> {
    fn fingerprint(&self) -> u64 {
        let fixed = &self.fixed;
        let text = format!("{:?} {:?} {:?} {}", fixed.layout, fixed.controller, fixed.discards, self.devices.len());
        checksum(text.as_bytes())
    }

    pub(crate) fn save_all(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(self.fingerprint());
        let and_one = |at_ns: Option<u64>| at_ns.map_or(0, |at_ns| at_ns + 1);
        out.words([self.now_ns, self.earliest_submission_ns(), and_one(self.off_ns), and_one(self.lost_ns)]);
        out.words([self.next_command, self.next_operation, self.next_request, u64::from(self.reports_persisted)]);
        self.slots.iter().for_each(|slot| save_slot(&mut out, slot));
        save_many(&mut out, self.spares.iter(), |out, spare| out.word(*spare as u64));
        save_many(&mut out, self.refused.iter(), |out, (tag, submit_ns, refusal)| {
            out.words([tag.0, *submit_ns]);
            status_words::save(out, Status::Refused(*refusal));
        });
        out.word(self.commands.len() as u64);
        for (number, command) in &self.commands {
            out.word(*number);
            save_command(&mut out, command);
        }
        out.word(self.decided.len() as u64);
        for ((complete_ns, number), (tag, request)) in &self.decided {
            out.words([*complete_ns, *number, tag.0]);
            save_request(&mut out, request);
        }
        out.word(self.operations.len() as u64);
        for (id, operation) in &self.operations {
            out.word(*id);
            save_operation(&mut out, operation);
        }
        out.word(self.requests.len() as u64);
        for (number, request) in &self.requests {
            out.word(*number);
            save_member_request(&mut out, request);
        }
        let mut due: Vec<Due> = self.due.iter().map(|due| due.0).collect();
        due.sort_unstable();
        save_many(&mut out, due.iter(), save_due);
        let live: Vec<_> = self.deadlines.iter().filter(|it| self.requests.contains_key(&it.1)).collect();
        save_many(&mut out, live.into_iter(), |out, it| out.words([it.0, it.1]));
        out.word(self.rows.len() as u64);
        for (row, queue) in &self.rows {
            out.word(*row);
            save_many(&mut out, queue.iter(), |out, id| out.word(*id));
        }
        save_many(&mut out, self.waiting.iter(), |out, id| out.word(*id));
        self.pipes.save(&mut out);
        self.cache.save(&mut out);
        out.word(self.sent.len() as u64);
        for (number, Sent { slot, records, holes }) in &self.sent {
            out.words([*number, *slot as u64]);
            save_many(&mut out, records.iter(), save_record);
            save_many(&mut out, holes.iter(), save_record);
        }
        out.words(self.counters);
        save_many(&mut out, self.unreported.iter(), save_record);
        out.word(self.stores.as_ref().map_or(0, |stores| stores.len() as u64));
        let stores = self.stores.iter().flatten().map(ContentStore::save);
        for state in stores.chain(self.devices.iter().map(|device| saved_at(device, self.now_ns))) {
            out.word(state.len() as u64);
            out.bytes(&state);
        }
        Format::end(out)
    }

    pub(crate) fn restore_all(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut reader = FORMAT.open(state, self.fingerprint(), &self.fixed.basics.name)?;
        let mut new = self.clone();
        new.forget_work();
        (new.now_ns, new.last_submit_ns) = (reader.instant()?, reader.instant()?);
        new.at_ns = new.now_ns;
        new.off_ns = reader.instant()?.checked_sub(1);
        new.lost_ns = reader.instant()?.checked_sub(1);
        (new.next_command, new.next_operation, new.next_request) = (reader.word()?, reader.word()?, reader.word()?);
        new.reports_persisted = yes(&mut reader)?;
        let devices = self.devices.len() as u64;
        for slot in &mut new.slots {
            *slot = restore_slot(&mut reader, devices)?;
        }
        new.spares = many(&mut reader, |reader| Ok(reader.below(devices, "a spare that does not exist")? as usize))?;
        new.refused = many(&mut reader, |reader| {
            let (tag, submit_ns) = (Tag(reader.word()?), reader.instant()?);
            match status_words::restore(reader)? {
                Status::Refused(refusal) => Ok((tag, submit_ns, refusal)),
                _ => corrupt("a refused request that was not refused"),
            }
        })?;
        let commands = many(&mut reader, |reader| Ok((reader.word()?, restore_command(reader)?)))?;
        new.commands = commands.into_iter().collect();
        let decided = many(&mut reader, |reader| {
            let (complete_ns, number, tag) = (reader.instant()?, reader.word()?, Tag(reader.word()?));
            Ok(((complete_ns, number), (tag, restore_request(reader)?)))
        })?;
        new.decided = decided.into_iter().collect();
        let tags = new.commands.values().map(|it| it.tag).chain(new.decided.values().map(|it| it.0));
        new.tags = tags.chain(new.refused.iter().map(|it| it.0)).collect();
        new.restore_work(&mut reader, devices)?;
        let kept = reader.word()?;
        let mut stores = Vec::new();
        for at in 0..kept.min(devices) {
            let length = reader.word()? as usize;
            let sector_bytes = self.devices[at as usize].sector_bytes();
            stores.push(ContentStore::restored(sector_bytes, reader.slice(length)?)?);
        }
        new.stores = (kept > 0).then_some(stores);
        for device in &mut new.devices {
            let length = reader.word()? as usize;
            device.restore(reader.slice(length)?)?;
        }
        reader.end()?;
        (0..self.devices.len()).for_each(|device| new.note_event(device));
        *self = new;
        Ok(())
    }

    /// What is in progress.
    fn restore_work(&mut self, reader: &mut Reader, devices: u64) -> Result<(), StateError> {
        let operations = many(reader, |reader| Ok((reader.word()?, restore_operation(reader)?)))?;
        self.operations = operations.into_iter().collect();
        let requests = many(reader, |reader| Ok((reader.word()?, restore_member_request(reader)?)))?;
        self.requests = requests.into_iter().collect();
        for request in self.requests.values() {
            if request.device as u64 >= devices {
                return corrupt("a request to a member that does not exist");
            }
            self.loads[request.device] += 1;
        }
        self.due = many(reader, restore_due)?.into_iter().map(Reverse).collect();
        self.deadlines = many(reader, |reader| Ok((reader.instant()?, reader.word()?)))?.into();
        let rows = many(reader, |reader| Ok((reader.word()?, VecDeque::from(many(reader, word)?))))?;
        self.rows = rows.into_iter().collect();
        self.waiting = many(reader, word)?.into_iter().collect();
        self.pipes.restore(reader)?;
        self.cache.restore(reader)?;
        let sent = many(reader, |reader| {
            let (number, slot) = (reader.word()?, reader.word()? as usize);
            let (records, holes) = (many(reader, restore_record)?, many(reader, restore_record)?);
            Ok((number, Sent { slot, records, holes }))
        })?;
        self.sent = sent.into_iter().collect();
        for counter in &mut self.counters {
            *counter = reader.word()?;
        }
        self.unreported = many(reader, restore_record)?.into();
        Ok(())
    }
}
