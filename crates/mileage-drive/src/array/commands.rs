//! Commands of the host: how they become operations, and how they end.

use super::counters::Count;
use super::layout::Segment;
use super::model::Array;
use super::work::{Command, Operation, Part, Phase, Record, Task, What, inside};
use crate::block_device::{ManagedDevice, Misuse, Submission, TaggedCompletion};
use crate::content::Content;
use crate::device::{Refusal, Request, RequestKind, Status, check};
use crate::profile::{CachePower, Discards, Level};

impl<M: ManagedDevice> Array<M> {
    pub(crate) fn earliest_submission_ns(&self) -> u64 {
        self.now_ns.max(self.last_submit_ns)
    }

    /// Take a request, or say what the layer above did wrong.
    pub(crate) fn take(&mut self, submission: Submission) -> Result<(), Misuse> {
        let Submission { request, content, tag } = submission;
        let (submit_ns, earliest_ns) = (request.submit_ns, self.earliest_submission_ns());
        if submit_ns < earliest_ns {
            return Err(Misuse::Past { submit_ns, earliest_ns });
        }
        if let Some(event_ns) = self.event_ns().filter(|event_ns| *event_ns < submit_ns) {
            return Err(Misuse::PastEvent { submit_ns, event_ns });
        }
        if !self.tags.insert(tag) {
            return Err(Misuse::DuplicateTag(tag));
        }
        self.last_submit_ns = submit_ns;
        if let Some(refusal) = self.refusal(&request) {
            self.refused.push((tag, submit_ns, refusal));
            return Ok(());
        }
        let start_ns = self.pipes.begin(&self.fixed.controller, submit_ns);
        let command = self.next_command;
        self.next_command += 1;
        let content = if self.stores.is_some() { content } else { Content::Unknown };
        let (pending, status, has_arrived, is_under_way) = (0, Status::Done, false, false);
        let entry = Command { tag, request, content, pending, status, has_arrived, is_under_way };
        self.commands.insert(command, entry);
        self.happen(start_ns, What::Start { command });
        Ok(())
    }

    pub(super) fn refusal(&self, request: &Request) -> Option<Refusal> {
        if let Some(at_ns) = self.off_ns.or(self.lost_ns) {
            return Some(Refusal::DroppedOff { at_ns });
        }
        if let Err(refusal) = check(request, self.fixed.basics.capacity_bytes, self.fixed.sector_bytes) {
            return Some(refusal);
        }
        let refused = request.kind == RequestKind::Discard && self.fixed.discards == Discards::Refused;
        refused.then_some(Refusal::NoDiscard)
    }

    /// The controller begins a command.
    pub(crate) fn start(&mut self, number: u64) {
        let Some(command) = self.commands.get_mut(&number) else { return };
        let Request { kind, length_bytes, .. } = command.request;
        if kind == RequestKind::Write && !std::mem::replace(&mut command.has_arrived, true) {
            let arrived_ns = self.pipes.host(&self.fixed.controller, self.at_ns, length_bytes);
            if arrived_ns > self.at_ns {
                self.happen(arrived_ns, What::Start { command: number });
                return;
            }
        }
        self.count_command(kind, length_bytes);
        match kind {
            RequestKind::Read => self.read(number),
            RequestKind::Write if self.fixed.controller.write_cache_bytes > 0 => self.cache_write(number),
            RequestKind::Write => self.write(number),
            RequestKind::Discard => self.discard(number),
            RequestKind::Flush => self.flush(number),
        }
    }

    pub(super) fn count_command(&mut self, kind: RequestKind, length: u64) {
        match kind {
            RequestKind::Read => {
                self.count(Count::CommandsRead, 1);
                self.count(Count::BytesRead, length);
            }
            RequestKind::Write => {
                self.count(Count::CommandsWritten, 1);
                self.count(Count::BytesWritten, length);
            }
            RequestKind::Discard | RequestKind::Flush => {}
        }
    }

    fn begin_command(&mut self, number: u64) -> Option<Request> {
        let command = self.commands.get_mut(&number)?;
        command.is_under_way = true;
        Some(command.request)
    }

    fn read(&mut self, number: u64) {
        let Some(Request { offset_bytes, length_bytes, .. }) = self.begin_command(number) else { return };
        if self.cache.hits(&self.operations, offset_bytes, length_bytes) {
            self.count(Count::CacheHits, 1);
            self.finish(number);
            return;
        }
        let id = self.create(vec![number], Task::Read, Phase::Reading);
        for segment in self.fixed.layout.segments(offset_bytes, length_bytes) {
            self.route(id, segment);
        }
        self.settle(id);
    }

    /// Ask a member for a range, or find out by the others what it holds.
    pub(crate) fn route(&mut self, id: u64, segment: Segment) {
        let Segment { slot, offset, length } = segment;
        let first = slot / self.fixed.layout.copies() * self.fixed.layout.copies();
        let copies = first..first + self.fixed.layout.copies();
        let usable = copies.filter(|slot| self.is_usable(*slot, (offset, offset + length)));
        let best = usable.min_by_key(|slot| self.device_at(*slot).map_or(u32::MAX, |device| self.loads[device]));
        if let Some(slot) = best {
            self.ask(id, slot, (offset, offset + length));
            return;
        }
        let is_parity = self.fixed.layout.level.parities() > 0;
        let pieces = self.fixed.layout.held(slot, offset, length);
        for (address, length, at) in pieces {
            if is_parity {
                let piece = self.fixed.layout.pieces(address, length)[0];
                self.join_commands(id, Task::Recover { piece });
            } else if length < segment.length {
                // While a copy is rebuilt, the rows may be spread over copies.
                self.route(id, Segment { slot, offset: at, length });
            } else {
                let at_ns = self.at_ns;
                self.fail_operation(id, Status::DroppedOff { at_ns });
            }
        }
    }

    /// Another operation for the commands of this one.
    fn join_commands(&mut self, id: u64, task: Task) {
        let commands = self.operations.get(&id).map_or_else(Vec::new, |it| it.commands.clone());
        let other = self.create(commands, task, Phase::Waiting);
        self.acquire(other);
    }

    /// Write through to the members.
    pub(crate) fn write(&mut self, number: u64) {
        let Some(request) = self.begin_command(number) else { return };
        let Request { fua, offset_bytes: offset, length_bytes: length, .. } = request;
        let command = &self.commands[&number];
        let (tag, content) = (command.tag, command.content.clone());
        let record = Record { command: number, tag, offset, length };
        let fua = fua || self.fixed.controller.write_cache_bytes > 0;
        self.write_parts(&[number], &[Part { offset, length, content }], &[record], fua, false);
    }

    /// Write parts, each a range without overlaps with the others, by operations for these commands.
    pub(crate) fn write_parts(
        &mut self,
        commands: &[u64],
        parts: &[Part],
        records: &[Record],
        fua: bool,
        from_cache: bool,
    ) {
        let fua = fua || !self.fixed.controller.member_cache;
        let sector = self.fixed.sector_bytes;
        if self.fixed.layout.level.parities() == 0 {
            for part in parts {
                let id = self.create(commands.to_vec(), Task::Write { fua }, Phase::Waiting);
                self.give(id, vec![part.clone()], inside(records, part.offset, part.length), from_cache);
                self.acquire(id);
            }
            return;
        }
        let mut rows: Vec<(u64, Vec<Part>, Vec<Record>)> = Vec::new();
        for part in parts {
            for piece in self.fixed.layout.pieces(part.offset, part.length) {
                let (offset, length) = (self.fixed.layout.address(&piece), piece.to - piece.from);
                let sectors = |bytes: u64| bytes / u64::from(sector);
                let content = part.content.part(sectors(offset - part.offset), sectors(length), sector);
                let (part, records) = (Part { offset, length, content }, inside(records, offset, length));
                match rows.last_mut().filter(|row| row.0 == piece.row) {
                    Some(row) => {
                        row.1.push(part);
                        row.2.extend(records);
                    }
                    None => rows.push((piece.row, vec![part], records)),
                }
            }
        }
        for (row, parts, records) in rows {
            if self.join_waiting(row, commands, &parts, &records, fua) {
                continue;
            }
            let id = self.create(commands.to_vec(), Task::Row { row, fua, plan: None }, Phase::Waiting);
            self.give(id, parts, records, from_cache);
            self.acquire(id);
        }
    }

    fn give(&mut self, id: u64, parts: Vec<Part>, records: Vec<Record>, from_cache: bool) {
        if let Some(operation) = self.operations.get_mut(&id) {
            (operation.parts, operation.records, operation.from_cache) = (parts, records, from_cache);
        }
    }

    /// Join a write with one that waits for the same row.
    fn join_waiting(&mut self, row: u64, commands: &[u64], parts: &[Part], records: &[Record], fua: bool) -> bool {
        if self.fixed.controller.stripe_cache_bytes == 0 || commands.is_empty() {
            return false;
        }
        let last = self.rows.get(&row).and_then(|queue| queue.back().copied());
        let Some(operation) = last.and_then(|id| self.operations.get_mut(&id)) else { return false };
        let Task::Row { fua: other, .. } = &mut operation.task else { return false };
        if operation.phase != Phase::Waiting || operation.from_cache {
            return false;
        }
        *other |= fua;
        operation.parts.extend_from_slice(parts);
        operation.records.extend_from_slice(records);
        operation.commands.extend_from_slice(commands);
        for command in commands {
            if let Some(command) = self.commands.get_mut(command) {
                command.pending += 1;
            }
        }
        self.count(Count::Joined, 1);
        true
    }

    fn discard(&mut self, number: u64) {
        let Some(command) = self.commands.get(&number) else { return };
        let Request { offset_bytes: offset, length_bytes: length, .. } = command.request;
        let record = Record { command: number, tag: command.tag, offset, length };
        if self.fixed.discards == Discards::Ignored {
            self.finish(number);
            return;
        }
        if self.cache.overlaps(&self.operations, offset, length) {
            self.cache.bypasses.push_back(number);
            self.destage();
            return;
        }
        let _ = self.begin_command(number);
        let id = self.create(vec![number], Task::Discard, Phase::Waiting);
        self.give(id, vec![Part { offset, length, content: Content::Unknown }], vec![record], false);
        self.acquire(id);
    }

    fn flush(&mut self, number: u64) {
        let controller = &self.fixed.controller;
        let is_safe = controller.write_cache_bytes > 0 && controller.cache_power == CachePower::Battery;
        if is_safe || !controller.passes_flushes {
            self.finish(number);
        } else if self.cache.has_before(&self.operations, number) {
            self.cache.bypasses.push_back(number);
            self.destage();
        } else {
            let _ = self.begin_command(number);
            let id = self.create(vec![number], Task::Flush, Phase::Waiting);
            self.acquire(id);
        }
    }

    /// Commands that waited for the cache to be written, as far as they need not wait any longer.
    pub(crate) fn pass_bypasses(&mut self) {
        for number in std::mem::take(&mut self.cache.bypasses) {
            let Some(command) = self.commands.get(&number) else { continue };
            match command.request.kind {
                RequestKind::Flush => self.flush(number),
                RequestKind::Discard => self.discard(number),
                _ => self.cache_write(number),
            }
        }
    }

    /// An operation for these commands.
    pub(crate) fn create(&mut self, commands: Vec<u64>, task: Task, phase: Phase) -> u64 {
        for command in &commands {
            if let Some(command) = self.commands.get_mut(command) {
                command.pending += 1;
            }
        }
        let id = self.next_operation;
        self.next_operation += 1;
        let (parts, records) = (Vec::new(), Vec::new());
        let operation =
            Operation { commands, task, phase, pending: 0, parts, records, from_cache: false, failed: None };
        self.operations.insert(id, operation);
        id
    }

    /// One operation of a command has ended.
    pub(crate) fn operation_ended(&mut self, number: u64, failed: Option<Status>) {
        let Some(command) = self.commands.get_mut(&number) else { return };
        if let Some(status) = failed {
            command.status = status;
        }
        command.pending -= 1;
        if command.pending == 0 {
            self.finish(number);
        }
    }

    /// The host learns how a command ended.
    pub(crate) fn finish(&mut self, number: u64) {
        let Some(Command { tag, request, status, .. }) = self.commands.remove(&number) else { return };
        let complete_ns = if request.kind == RequestKind::Read && status == Status::Done {
            self.pipes.host(&self.fixed.controller, self.at_ns, request.length_bytes)
        } else {
            self.at_ns
        };
        self.decided.insert((complete_ns, number), (tag, request));
        self.out.push(TaggedCompletion { tag, complete_ns, status });
        if request.kind == RequestKind::Read && status == Status::Done {
            self.cache.keep(request.offset_bytes, request.length_bytes);
        }
        let changes = matches!(request.kind, RequestKind::Write | RequestKind::Discard);
        if self.reports_persisted && changes && status == Status::Done {
            let Request { offset_bytes: offset, length_bytes: length, .. } = request;
            self.unreported.push_back(Record { command: number, tag, offset, length });
        }
    }

    /// Decide the refusals that are due.
    pub(crate) fn refuse(&mut self) {
        let at_ns = self.at_ns;
        let refused = std::mem::take(&mut self.refused);
        for (tag, submit_ns, refusal) in refused {
            if submit_ns > at_ns {
                self.refused.push((tag, submit_ns, refusal));
                continue;
            }
            self.tags.remove(&tag);
            self.out.push(TaggedCompletion { tag, complete_ns: submit_ns, status: Status::Refused(refusal) });
        }
    }

    /// Whether a place can be lost without losing data.
    pub(crate) fn is_redundant(&self) -> bool {
        let level = self.fixed.layout.level;
        level.parities() > 0 || level.is_mirrored()
    }

    /// Whether data is lost when the places that do not work now fail.
    pub(crate) fn has_lost_data(&self) -> bool {
        let layout = &self.fixed.layout;
        let works = |slot: usize| matches!(self.slots[slot], super::work::Slot::Working { .. });
        let broken = (0..layout.slots()).filter(|slot| !works(*slot)).count();
        match layout.level {
            Level::Jbod => false,
            Level::Raid0 => broken > 0,
            level if level.is_mirrored() => {
                let copies = layout.copies();
                (0..layout.slots()).step_by(copies).any(|first| (first..first + copies).all(|slot| !works(slot)))
            }
            level => broken > level.parities(),
        }
    }
}
