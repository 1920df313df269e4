//! Process the host's commands and the cleaning of bands: which requests each sends to the disk, event by event.
//!
//! At one instant first everything is submitted that is due in front of the disk, then the disk decides.

use super::band_cleaner::{CleaningJob, Step};
use super::requests::{Command, LoggedPart, Owner};
use super::{Counter, HostCounter, NEVER, ShingledDrive};
use crate::block_device::{BlockDevice, Decisions, DurableExtent, Loss, Misuse, Submission, Tag, TaggedCompletion};
use crate::device::{Request, RequestKind, Status};

impl ShingledDrive {
    /// A command that was not refused.
    pub(super) fn take(&mut self, request: &Request, tag: u64) -> Result<(), Misuse> {
        let Request { kind, fua, offset_bytes, length_bytes, submit_ns } = *request;
        let (first, end) = (offset_bytes / 512, (offset_bytes + length_bytes) / 512);
        let now_ns = self.disk.now_ns();
        if self.commands.len() >= self.crowded {
            self.commands.retain(|_, command| command.complete_ns > now_ns);
            self.crowded = 64 + 2 * self.commands.len();
        }
        let sequence = self.sequence;
        self.sequence += 1;
        let (pending, decided_ns, complete_ns) = (0, submit_ns, NEVER);
        let command = Command { sequence, submit_ns, fua, next: first, end, pending, decided_ns, complete_ns };
        self.commands.insert(tag, command);
        self.undecided += 1;
        if let RequestKind::Read | RequestKind::Write = kind {
            let moved = if kind == RequestKind::Read { HostCounter::Read } else { HostCounter::Written };
            for (counter, more) in [
                (moved, length_bytes),
                (HostCounter::Commands, 1),
                (HostCounter::Sequential, u64::from(first == self.last_end)),
                (HostCounter::Distance, first.abs_diff(self.last_end)),
            ] {
                self.host_counters[counter as usize] += more;
            }
            self.last_end = end;
        }
        match kind {
            RequestKind::Read => self.read(first, end, tag, submit_ns),
            RequestKind::Write => {
                self.blocked.push_back(tag);
                self.log_writes(submit_ns)?;
                if self.blocked.back() == Some(&tag) {
                    self.count(Counter::Blocked, 1);
                }
                Ok(())
            }
            RequestKind::Discard => {
                let range = (first + self.figures.cache_sectors, end - first);
                self.ask(kind, range, false, submit_ns, Owner::Host(tag)).map(|_| ())
            }
            RequestKind::Flush => self.ask(kind, (0, 0), false, submit_ns, Owner::Host(tag)).map(|_| ()),
        }
    }

    /// Give the disk a request; its tag.
    fn ask(
        &mut self,
        kind: RequestKind,
        (first, sectors): (u64, u64),
        fua: bool,
        submit_ns: u64,
        owner: Owner,
    ) -> Result<u64, Misuse> {
        let tag = self.inner_tags;
        let request = Request { kind, fua, offset_bytes: first * 512, length_bytes: sectors * 512, submit_ns };
        self.disk.submit(Submission::new(request, Tag(tag)))?;
        self.inner_tags += 1;
        self.owners.insert(tag, owner);
        if let Owner::Host(host) = owner {
            if let Some(command) = self.commands.get_mut(&host) {
                command.pending += 1;
            }
            if let Some(cleaning) = &mut self.cleaning {
                cleaning.host_was_active = true;
            }
        }
        Ok(tag)
    }

    /// Read every part of a range where it is.
    fn read(&mut self, first: u64, end: u64, tag: u64, submit_ns: u64) -> Result<(), Misuse> {
        let (mut at, mut parts) = (first, Vec::new());
        for extent in self.cache.overlapping(first, end) {
            if extent.first > at {
                parts.push((at + self.figures.cache_sectors, extent.first - at));
            }
            parts.push((self.cache.place(extent.position), extent.end - extent.first));
            at = extent.end;
        }
        if at < end {
            parts.push((at + self.figures.cache_sectors, end - at));
        }
        parts
            .into_iter()
            .try_for_each(|part| self.ask(RequestKind::Read, part, false, submit_ns, Owner::Host(tag)).map(|_| ()))
    }

    /// Log what the host writes, in the order of submission, as far as there is room.
    fn log_writes(&mut self, now_ns: u64) -> Result<(), Misuse> {
        let most = self.figures.part_sectors(u64::from(self.profile.physical_sectors));
        while let Some(&tag) = self.blocked.front() {
            let Some(command) = self.commands.get(&tag).copied() else { break };
            let end = command.end.min(self.bands.of(command.next).1).min(command.next + most);
            if !self.cache.has_room(end - command.next) {
                break;
            }
            let position = self.cache.append(command.next, end);
            let sectors = self.cache.logged_sectors(end - command.next);
            let range = (self.cache.place(position), sectors);
            let inner = self.ask(RequestKind::Write, range, command.fua, now_ns, Owner::Host(tag))?;
            self.logged.insert(inner, LoggedPart { tag, position, first: command.next, end });
            self.count(Counter::Cached, sectors * 512);
            if let Some(command) = self.commands.get_mut(&tag) {
                command.next = end;
            }
            if end == command.end {
                self.blocked.pop_front();
                self.count(Counter::BlockedNs, now_ns - command.submit_ns);
            }
        }
        let full = !self.blocked.is_empty() || self.cache.is_filled_to(self.figures.high_percent);
        if full && self.cleaning.is_none() && self.full_ns.is_none() {
            self.full_ns = Some(now_ns);
        }
        Ok(())
    }

    /// Time of the next cleaning step.
    pub(super) fn cleaning_due_ns(&self) -> Option<u64> {
        if let Some(cleaning) = &self.cleaning {
            // The clock may be a nanosecond behind a decision of the disk for this very instant.
            return cleaning.due_ns.map(|due_ns| due_ns.max(self.disk.now_ns()));
        }
        if self.full_ns.is_some() || self.cache.log.is_empty() || self.undecided > 0 || self.off_ns.is_some() {
            return self.full_ns;
        }
        let idle_ns = self.last_complete_ns.saturating_add(self.figures.idle_ns);
        Some(idle_ns.max(self.disk.now_ns()))
    }

    /// Do and decide everything that is due at `now_ns`.
    pub(super) fn step(&mut self, now_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        if !self.refused.is_empty() && self.last_submit_ns == now_ns {
            out.completions.extend(self.refused.drain(..).map(|(tag, refusal)| TaggedCompletion {
                tag: Tag(tag),
                complete_ns: now_ns,
                status: Status::Refused(refusal),
            }));
        }
        if self.cleaning_due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            self.clean(now_ns)?;
        }
        self.move_disk(now_ns + 1, out)
    }

    /// Let the disk decide everything before `at_ns`.
    pub(super) fn move_disk(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        let mut inner = std::mem::take(&mut self.inner);
        inner.clear();
        let moved = self.disk.advance_to(at_ns, &mut inner);
        for TaggedCompletion { tag, complete_ns, .. } in &inner.completions {
            match self.owners.remove(&tag.0) {
                Some(Owner::Host(host)) => self.part_decided(host, *complete_ns, out),
                Some(Owner::Cleaning) => self.cleaning_decided(*complete_ns),
                None => {}
            }
        }
        self.persisted(&inner.persisted, out);
        self.inner = inner;
        moved
    }

    /// A request for a command of the host is decided; with the last one the command is.
    fn part_decided(&mut self, tag: u64, complete_ns: u64, out: &mut Decisions) {
        let Some(command) = self.commands.get_mut(&tag) else { return };
        command.pending -= 1;
        command.decided_ns = command.decided_ns.max(complete_ns);
        if command.pending > 0 || self.blocked.contains(&tag) {
            return;
        }
        command.complete_ns = command.decided_ns;
        let Command { submit_ns, complete_ns, .. } = *command;
        self.host_counters[HostCounter::Service as usize] += complete_ns - submit_ns;
        self.undecided -= 1;
        self.last_complete_ns = self.last_complete_ns.max(complete_ns);
        out.completions.push(TaggedCompletion { tag: Tag(tag), complete_ns, status: Status::Done });
    }

    /// The disk has made something durable.
    pub(super) fn persisted(&mut self, persisted: &[DurableExtent], out: &mut Decisions) {
        for it in persisted {
            let Some(part) = self.logged.remove(&it.tag.0) else { continue };
            if self.reports {
                let (offset_bytes, length_bytes) = (part.first * 512, (part.end - part.first) * 512);
                out.persisted.push(DurableExtent { tag: Tag(part.tag), offset_bytes, length_bytes, at_ns: it.at_ns });
            }
        }
    }

    /// Positions of the log that the disk lost.
    pub(super) fn lost_positions(&self, loss: &Loss) -> Option<(u64, u64)> {
        let part = self.logged.get(&loss.tag.0)?;
        let from = part.position + (loss.offset_bytes / 512 - self.cache.place(part.position));
        Some((from, from + loss.length_bytes / 512))
    }

    /// Let the disk end what it was asked for.
    pub(super) fn finish_disk(&mut self) {
        let mut inner = Decisions::default();
        while let Some(event) = self.disk.next_event() {
            if self.disk.advance_to(event.at_ns + 1, &mut inner).is_err() {
                return;
            }
        }
        let last_ns = inner.completions.iter().map(|it| it.complete_ns).max().unwrap_or(0);
        // Its only error, work without end, was excluded above.
        let _ = self.disk.advance_to(last_ns, &mut inner);
    }

    /// The access of cleaning is decided: the next one follows when it completes.
    fn cleaning_decided(&mut self, complete_ns: u64) {
        if let Some(cleaning) = &mut self.cleaning {
            cleaning.due_ns = Some(complete_ns);
        }
    }

    /// Begin what cleaning does next.
    fn clean(&mut self, now_ns: u64) -> Result<(), Misuse> {
        self.full_ns = None;
        let mut cleaning = self.cleaning.take().unwrap_or_else(|| CleaningJob::new(now_ns));
        let yields = cleaning.host_was_active && !cleaning.has_paused && cleaning.step != Step::End;
        if yields && self.figures.pause_ns > 0 {
            let ended_ns = cleaning.due_ns.unwrap_or(now_ns);
            (cleaning.has_paused, cleaning.due_ns) = (true, Some(ended_ns + self.figures.pause_ns));
            self.cleaning = Some(cleaning);
            return Ok(());
        }
        loop {
            match cleaning.step {
                Step::Flush => {
                    (cleaning.head, cleaning.step) = (self.cache.head, Step::Choose);
                    if !self.logged.is_empty() {
                        return self.begin(cleaning, RequestKind::Flush, (0, 0), now_ns);
                    }
                }
                Step::Choose => {
                    self.cache.reclaim(cleaning.head);
                    let Some(oldest) = self.cache.log.front() else {
                        return self.log_writes(now_ns);
                    };
                    if oldest.position >= cleaning.head {
                        cleaning.step = Step::Flush;
                        continue;
                    }
                    cleaning.band = self.bands.of(oldest.first);
                    cleaning.extents = self.cache.overlapping(cleaning.band.0, cleaning.band.1).collect();
                    cleaning.extents.retain(|extent| extent.position < cleaning.head);
                    cleaning.step = Step::ReadBand(cleaning.band.0);
                }
                Step::ReadBand(at) if at < cleaning.band.1 => {
                    let end = (at + self.figures.chunk_sectors).min(cleaning.band.1);
                    cleaning.step = Step::ReadBand(end);
                    let range = (at + self.figures.cache_sectors, end - at);
                    return self.begin(cleaning, RequestKind::Read, range, now_ns);
                }
                Step::ReadBand(_) => cleaning.step = Step::ReadCache,
                Step::ReadCache => {
                    let Some(extent) = cleaning.extents.front_mut() else {
                        cleaning.step = Step::Write(cleaning.band.0);
                        continue;
                    };
                    let sectors = self.figures.chunk_sectors.min(extent.end - extent.first);
                    let range = (self.cache.place(extent.position), sectors);
                    (extent.first, extent.position) = (extent.first + sectors, extent.position + sectors);
                    if extent.first == extent.end {
                        cleaning.extents.pop_front();
                    }
                    return self.begin(cleaning, RequestKind::Read, range, now_ns);
                }
                Step::Write(at) => {
                    let end = (at + self.figures.chunk_sectors).min(cleaning.band.1);
                    cleaning.step = if end < cleaning.band.1 { Step::Write(end) } else { Step::End };
                    let range = (at + self.figures.cache_sectors, end - at);
                    return self.begin(cleaning, RequestKind::Write, range, now_ns);
                }
                Step::End => {
                    self.cache.bring_home(cleaning.band, cleaning.head);
                    self.cache.reclaim(cleaning.head);
                    self.count(Counter::Bands, 1);
                    // In its place, so that writes that are logged now count as those of an active host.
                    self.cleaning = Some(CleaningJob::new(now_ns));
                    self.log_writes(now_ns)?;
                    let Some(again) = self.cleaning.take() else { return Ok(()) };
                    cleaning = again;
                }
            }
        }
    }

    /// Begin an access of cleaning.
    fn begin(
        &mut self,
        mut cleaning: CleaningJob,
        kind: RequestKind,
        range: (u64, u64),
        now_ns: u64,
    ) -> Result<(), Misuse> {
        let counter = if kind == RequestKind::Write { Counter::CleaningWritten } else { Counter::CleaningRead };
        self.count(counter, range.1 * 512);
        // A flush counts as activity, because it is needed only where the host has just written.
        let host_is_active = kind == RequestKind::Flush || self.undecided > 0 || self.last_complete_ns > now_ns;
        (cleaning.due_ns, cleaning.host_was_active, cleaning.has_paused) = (None, host_is_active, false);
        self.cleaning = Some(cleaning);
        self.ask(kind, range, kind == RequestKind::Write, now_ns, Owner::Cleaning).map(|_| ())
    }
}
