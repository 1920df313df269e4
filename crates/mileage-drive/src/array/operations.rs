//! Operations on members: who may begin, what each reads and writes, and what follows an answer.

use super::counters::Count;
use super::layout::{Piece, Segment};
use super::model::Array;
use super::stripe::{MissingChunks, Range, Unit, Way, joined, plan};
use super::work::{MemberRequest, Operation, Phase, Record, Sent, Slot, Task, What, tag_of};
use crate::block_device::PowerCut;
use crate::block_device::{ManagedDevice, Submission};
use crate::content::Content;
use crate::device::{Refusal, Request, RequestKind, Status};
use crate::management::PowerCutError;
use std::collections::HashSet;

/// What was sent is looked through for what can no longer be lost when this many entries have gathered.
const SENT_MIN: usize = 1024;

impl<M: ManagedDevice> Array<M> {
    /// The row that an operation must hold, if members share parity.
    fn row_of(&self, task: &Task) -> Option<u64> {
        match task {
            Task::Recover { piece } => Some(piece.row),
            Task::Row { row, .. } => Some(*row),
            Task::Rebuild { row, .. } if self.fixed.layout.level.parities() > 0 => Some(*row),
            _ => None,
        }
    }

    /// The range of the array that an operation changes in copies.
    fn range_of(&self, operation: &Operation) -> Option<Range> {
        match operation.task {
            Task::Write { .. } | Task::Discard => {
                operation.parts.first().map(|part| (part.offset, part.offset + part.length))
            }
            Task::Rebuild { slot, row } => {
                let layout = &self.fixed.layout;
                let data = layout.data_at(row, slot)?;
                let from = layout.address(&Piece { row, data, from: 0, to: 0 });
                Some((from, from + layout.chunk))
            }
            _ => None,
        }
    }

    fn must_wait(&self, id: u64) -> bool {
        let Some(range) = self.operations.get(&id).and_then(|it| self.range_of(it)) else { return false };
        let earlier = self.operations.range(..id).filter_map(|(_, it)| self.range_of(it));
        earlier.into_iter().any(|other| other.0 < range.1 && range.0 < other.1)
    }

    /// Whether overlapping writes keep their order: copies must become equal, and a cache must not be overtaken by itself.
    fn keeps_order(&self) -> bool {
        self.is_redundant() || self.fixed.controller.write_cache_bytes > 0
    }

    /// Rows that may be held at a time.
    fn rows_max(&self) -> usize {
        let layout = &self.fixed.layout;
        match self.fixed.controller.stripe_cache_bytes {
            0 => usize::MAX,
            bytes => ((bytes / (layout.chunk * layout.slots() as u64)) as usize).max(1),
        }
    }

    /// Begin an operation, or let it wait for its row or range.
    pub(crate) fn acquire(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        if let Some(row) = self.row_of(&operation.task) {
            let limit = self.rows_max();
            let is_held = self.rows.contains_key(&row);
            if !is_held && (self.rows.len() >= limit || self.waiting.range(..id).next().is_some()) {
                self.waiting.insert(id);
                return;
            }
            let queue = self.rows.entry(row).or_default();
            queue.push_back(id);
            if queue.len() == 1 {
                self.run(id);
            }
        } else if self.keeps_order() && self.must_wait(id) {
            self.waiting.insert(id);
        } else {
            self.run(id);
        }
    }

    /// Let the others begin that waited for this operation.
    fn release(&mut self, id: u64, row: Option<u64>) {
        if let Some(row) = row {
            let mut next = None;
            if let Some(queue) = self.rows.get_mut(&row) {
                queue.retain(|other| *other != id);
                next = queue.front().copied();
            }
            match next {
                Some(next) => {
                    if self.operations.get(&next).is_some_and(|it| it.phase == Phase::Waiting) {
                        self.run(next);
                    }
                }
                None => {
                    self.rows.remove(&row);
                }
            }
        }
        for id in self.waiting.clone() {
            let is_row = self.operations.get(&id).is_some_and(|it| self.row_of(&it.task).is_some());
            if is_row || !self.must_wait(id) {
                self.waiting.remove(&id);
                self.acquire(id);
                if self.waiting.contains(&id) {
                    break;
                }
            }
        }
    }

    /// What cannot be used of a range of a row.
    pub(crate) fn missing(&self, row: u64, range: Range) -> MissingChunks {
        let layout = &self.fixed.layout;
        let on_member = (row * layout.chunk + range.0, row * layout.chunk + range.1);
        let is_missing = |slot: usize| !self.is_usable(slot, on_member);
        MissingChunks {
            data: (0..layout.data()).map(|data| is_missing(layout.data_slot(row, data))).collect(),
            parity: (0..layout.level.parities()).map(|at| is_missing(layout.parity_slot(row, at))).collect(),
        }
    }

    fn slot_of(&self, row: u64, unit: Unit) -> usize {
        match unit {
            Unit::Data(data) => self.fixed.layout.data_slot(row, data),
            Unit::Parity(parity) => self.fixed.layout.parity_slot(row, parity),
        }
    }

    /// Do the first thing of an operation.
    pub(crate) fn run(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.phase = Phase::Reading;
        match operation.task.clone() {
            Task::Read => {}
            Task::Recover { piece } => self.read_missing(id, &piece),
            Task::Write { fua } => self.write_plain(id, RequestKind::Write, fua),
            Task::Discard => self.write_plain(id, RequestKind::Discard, false),
            Task::Flush => self.pass_flush(id),
            Task::Row { row, .. } => self.read_row(id, row),
            Task::Rebuild { slot, row } => self.read_for_rebuild(id, slot, row),
        }
        self.settle(id);
    }

    fn read_missing(&mut self, id: u64, piece: &Piece) {
        let chunk = self.fixed.layout.chunk;
        let missing = self.missing(piece.row, (piece.from, piece.to));
        if !missing.data[piece.data] {
            let slot = self.fixed.layout.data_slot(piece.row, piece.data);
            self.ask(id, slot, (piece.row * chunk + piece.from, piece.row * chunk + piece.to));
            return;
        }
        self.count(Count::Recovered, 1);
        self.ask_units(id, piece.row, missing.recovery((piece.from, piece.to)));
    }

    fn ask_units(&mut self, id: u64, row: u64, reads: Option<Vec<(Unit, Range)>>) {
        let chunk = self.fixed.layout.chunk;
        let Some(reads) = reads else {
            let at_ns = self.at_ns;
            self.fail_operation(id, Status::DroppedOff { at_ns });
            return;
        };
        for (unit, (from, to)) in reads {
            self.ask(id, self.slot_of(row, unit), (row * chunk + from, row * chunk + to));
        }
    }

    fn read_for_rebuild(&mut self, id: u64, slot: usize, row: u64) {
        let (layout, whole) = (&self.fixed.layout, (0, self.fixed.layout.chunk));
        if layout.level.parities() > 0 {
            let reads = self.missing(row, whole).recovery(whole);
            self.ask_units(id, row, reads);
            return;
        }
        let first = slot / layout.copies() * layout.copies();
        self.route(id, Segment { slot: first, offset: row * layout.chunk, length: layout.chunk });
    }

    fn read_row(&mut self, id: u64, row: u64) {
        let touched = self.touched(id);
        let all = touched.iter().flatten();
        let hull = (all.clone().map(|it| it.0).min().unwrap_or(0), all.map(|it| it.1).max().unwrap_or(0));
        let found = plan(&touched, &self.missing(row, hull));
        match found.as_ref().map(|found| found.way) {
            Some(Way::FullStripe) => self.count(Count::FullStripe, 1),
            Some(Way::ReadModifyWrite) => self.count(Count::ReadModifyWrite, 1),
            Some(Way::Reconstruct) => self.count(Count::Reconstruct, 1),
            Some(Way::Recover) => self.count(Count::Recover, 1),
            Some(Way::NoParity) | None => {}
        }
        let reads = found.as_ref().map(|found| found.reads.clone());
        if let Some(Operation { task: Task::Row { plan, .. }, .. }) = self.operations.get_mut(&id) {
            *plan = found;
        }
        self.ask_units(id, row, reads);
    }

    /// The ranges of each data chunk of a row that an operation writes.
    pub(crate) fn touched(&self, id: u64) -> Vec<Vec<Range>> {
        let layout = &self.fixed.layout;
        let mut touched = vec![Vec::new(); layout.data()];
        for part in self.operations.get(&id).map_or(&[][..], |it| &it.parts) {
            for piece in layout.pieces(part.offset, part.length) {
                touched[piece.data].push((piece.from, piece.to));
            }
        }
        touched.into_iter().map(joined).collect()
    }

    fn write_plain(&mut self, id: u64, kind: RequestKind, fua: bool) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.phase = Phase::Writing;
        let (parts, records) = (operation.parts.clone(), operation.records.clone());
        let copies = self.fixed.layout.copies();
        for part in parts {
            for segment in self.fixed.layout.segments(part.offset, part.length) {
                let mut targets = 0;
                for slot in segment.slot..segment.slot + copies {
                    for (from, to) in self.usable(slot, (segment.offset, segment.offset + segment.length)) {
                        targets += 1;
                        let content = self.plain_content(&part, slot, (from, to));
                        self.put(id, (slot, kind, fua), (from, to), content, &records, &[]);
                    }
                }
                if targets == 0 {
                    let at_ns = self.at_ns;
                    self.fail_operation(id, Status::DroppedOff { at_ns });
                }
            }
        }
    }

    fn pass_flush(&mut self, id: u64) {
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.phase = Phase::Writing;
        }
        for slot in 0..self.slots.len() {
            if self.device_at(slot).is_some() {
                self.put(id, (slot, RequestKind::Flush, false), (0, 0), Content::Unknown, &[], &[]);
            }
        }
    }

    /// The second phase: the reads are there.
    fn write_phase(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.phase = Phase::Writing;
        let records = operation.records.clone();
        let chunk = self.fixed.layout.chunk;
        match operation.task.clone() {
            Task::Row { row, fua, plan: Some(plan) } => {
                let touched = self.touched(id);
                let contents = self.row_contents(id, row, &plan);
                let missing = self.missing(row, plan.hull);
                let holes = self.holes(row, &missing, plan.hull, &records);
                let data = (0..touched.len()).flat_map(|at| touched[at].iter().map(move |it| (Unit::Data(at), *it)));
                let parity = (0..missing.parity.len()).map(|at| (Unit::Parity(at), plan.hull));
                for (unit, range) in data.chain(parity).collect::<Vec<_>>() {
                    let lost = match unit {
                        Unit::Data(at) => missing.data[at],
                        Unit::Parity(at) => missing.parity[at],
                    };
                    if lost {
                        continue;
                    }
                    let content = contents.of(unit, plan.hull, range);
                    let on_member = (row * chunk + range.0, row * chunk + range.1);
                    let target = (self.slot_of(row, unit), RequestKind::Write, fua);
                    self.put(id, target, on_member, content, &records, &holes);
                }
            }
            Task::Rebuild { slot, row } => {
                let range = (row * chunk, (row + 1) * chunk);
                let content = self.rebuilt_content(slot, row);
                self.count(Count::RebuiltBytes, chunk);
                self.put(id, (slot, RequestKind::Write, false), range, content, &[], &[]);
            }
            _ => {}
        }
    }

    /// What of a row's missing data is wrong as long as a part of its write is not durable.
    fn holes(&self, row: u64, missing: &MissingChunks, hull: Range, records: &[Record]) -> Vec<Record> {
        let layout = &self.fixed.layout;
        let lost = (0..missing.data.len()).filter(|data| missing.data[*data]);
        let newest = records.iter().max_by_key(|record| record.command);
        let hole = |data: usize| {
            let address = layout.address(&Piece { row, data, from: hull.0, to: hull.1 });
            newest.map(|newest| Record { offset: address, length: hull.1 - hull.0, ..*newest })
        };
        lost.filter_map(hole).collect()
    }

    /// Read a range of the member at a place, for an operation.
    pub(crate) fn ask(&mut self, id: u64, slot: usize, range: Range) {
        self.request(id, (slot, RequestKind::Read, false), range, Content::Unknown);
    }

    /// Write a range of the member at a place, for an operation, and remember for whom.
    fn put(
        &mut self,
        id: u64,
        target: (usize, RequestKind, bool),
        range: Range,
        content: Content,
        records: &[Record],
        holes: &[Record],
    ) {
        if !records.is_empty() {
            self.note_sent(target.0, range, records, holes);
        }
        self.request(id, target, range, content);
    }

    /// Remember for whom the next request to a member writes.
    pub(super) fn note_sent(&mut self, slot: usize, range: Range, records: &[Record], holes: &[Record]) {
        let held = self.fixed.layout.held(slot, range.0, range.1 - range.0);
        let mine = held.iter().flat_map(|it| super::work::inside(records, it.0, it.1));
        self.sent.insert(self.next_request, Sent { slot, records: mine.collect(), holes: holes.to_vec() });
        if self.sent.len().is_power_of_two() && self.sent.len() >= SENT_MIN {
            self.forget_durable();
        }
    }

    pub(super) fn count_member(&mut self, kind: RequestKind, length: u64) {
        match kind {
            RequestKind::Read => {
                self.count(Count::MemberReads, 1);
                self.count(Count::MemberBytesRead, length);
            }
            RequestKind::Write => {
                self.count(Count::MemberWrites, 1);
                self.count(Count::MemberBytesWritten, length);
            }
            RequestKind::Discard | RequestKind::Flush => {}
        }
    }

    fn request(&mut self, id: u64, (slot, kind, fua): (usize, RequestKind, bool), range: Range, content: Content) {
        let Some(device) = self.device_at(slot) else { return };
        let (offset, length, number) = (range.0, range.1 - range.0, self.next_request);
        self.next_request += 1;
        let (mut at_ns, protocol) = (self.at_ns, self.fixed.protocols[device]);
        self.count_member(kind, length);
        if kind == RequestKind::Write {
            at_ns = self.pipes.member(&self.fixed.controller, (device, protocol), at_ns, length);
        }
        let operation = id;
        let (is_sent, end, has_passed) = (false, None, false);
        let entry =
            MemberRequest { operation, device, slot, kind, fua, offset, length, content, is_sent, end, has_passed };
        self.requests.insert(number, entry);
        self.loads[device] += 1;
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.pending += 1;
        }
        if at_ns > self.at_ns {
            self.happen(at_ns, What::Send { request: number });
        } else {
            self.send(number);
        }
    }

    /// Hand a request to its member.
    pub(crate) fn send(&mut self, number: u64) {
        let Some(entry) = self.requests.get_mut(&number) else { return };
        entry.is_sent = true;
        let MemberRequest { device, kind, fua, offset, length, ref content, .. } = *entry;
        let submit_ns = self.at_ns.max(self.devices[device].now_ns());
        let request = Request { kind, fua, offset_bytes: offset, length_bytes: length, submit_ns };
        let submission = Submission { request, content: content.clone(), tag: tag_of(number) };
        if let Some(stores) = &mut self.stores {
            stores[device].submitted(&submission);
        }
        if let Err(misuse) = self.devices[device].submit(submission) {
            self.misuse.get_or_insert(misuse);
        }
        self.note_event(device);
        if let Some(timeout_ns) = self.fixed.controller.member_timeout_ns {
            self.deadlines.push_back((self.at_ns + timeout_ns, number));
        }
    }

    /// A member has answered a request at this instant.
    pub(crate) fn answered(&mut self, device: usize, number: u64) {
        let Some(entry) = self.requests.get_mut(&number).filter(|entry| entry.device == device) else { return };
        let Some(status) = entry.end else { return };
        if entry.kind == RequestKind::Read && status == Status::Done && !entry.has_passed {
            entry.has_passed = true;
            let (length, protocol) = (entry.length, self.fixed.protocols[device]);
            let passed_ns = self.pipes.member(&self.fixed.controller, (device, protocol), self.at_ns, length);
            if passed_ns > self.at_ns {
                self.happen(passed_ns, What::Answer { device, request: number });
                return;
            }
        }
        match status {
            Status::Done => self.complete_request(number),
            Status::Uncorrectable { .. } => self.unreadable(number, status),
            Status::Refused(Refusal::NoDiscard) => {
                let id = entry.operation;
                self.fail_operation(id, status);
                self.complete_request(number);
            }
            _ => self.fail_device(device, status),
        }
    }

    /// A request needs no answer any more.
    pub(crate) fn complete_request(&mut self, number: u64) {
        let Some(entry) = self.requests.remove(&number) else { return };
        self.loads[entry.device] -= 1;
        if let Some(operation) = self.operations.get_mut(&entry.operation) {
            operation.pending -= 1;
            self.settle(entry.operation);
        }
    }

    /// A member could not correct what it read: the others know it.
    fn unreadable(&mut self, number: u64, status: Status) {
        let Some(entry) = self.requests.get(&number).cloned() else { return };
        let MemberRequest { operation: id, slot, offset, length, .. } = entry;
        let is_plain = self.operations.get(&id).is_some_and(|it| it.task == Task::Read);
        if !is_plain || !self.is_redundant() {
            self.fail_operation(id, status);
            self.complete_request(number);
            return;
        }
        self.count(Count::ReadErrors, 1);
        // As if the place had failed, for this range only.
        let kept = std::mem::replace(&mut self.slots[slot], Slot::Failed);
        self.route(id, Segment { slot, offset, length });
        self.slots[slot] = kept;
        self.complete_request(number);
    }

    /// An operation will end with a failure.
    pub(crate) fn fail_operation(&mut self, id: u64, status: Status) {
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.failed.get_or_insert(status);
        }
    }

    /// Do what follows when nothing of an operation's phase is outstanding.
    pub(crate) fn settle(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id).filter(|it| it.pending == 0) else { return };
        let has_second = matches!(operation.task, Task::Row { .. } | Task::Rebuild { .. });
        match operation.phase {
            Phase::Waiting => return,
            Phase::Reading if has_second && operation.failed.is_none() => {
                self.write_phase(id);
                if self.operations.get(&id).is_some_and(|it| it.pending > 0) {
                    return;
                }
            }
            _ => {}
        }
        self.end(id);
    }

    fn end(&mut self, id: u64) {
        let Some(operation) = self.operations.remove(&id) else { return };
        if let Task::Rebuild { slot, row } = operation.task {
            self.row_rebuilt(slot, row, operation.failed.is_none());
        }
        let row = self.row_of(&operation.task);
        for command in &operation.commands {
            self.operation_ended(*command, operation.failed);
        }
        if operation.from_cache {
            self.destaged(id, &operation);
        } else if operation.failed.is_none() && operation.task != Task::Discard {
            operation.parts.iter().for_each(|part| self.cache.keep(part.offset, part.length));
        }
        self.release(id, row);
    }

    /// Forget what was sent and can no longer be lost.
    pub(super) fn forget_durable(&mut self) {
        let mut kept: HashSet<u64> = self.requests.keys().copied().collect();
        for device in &self.devices {
            let cut = PowerCut { at_ns: self.at_ns.max(device.now_ns()), seed: 0 };
            match device.losses(0, device.capacity_bytes(), cut) {
                Ok(losses) => kept.extend(losses.iter().map(|loss| loss.tag.0)),
                Err(PowerCutError::Unknown | PowerCutError::Packed) => {}
                Err(_) => return,
            }
        }
        // What is on its way to `request` now has no entry yet.
        let next = self.next_request;
        self.sent.retain(|request, _| kept.contains(request) || *request >= next);
    }
}
