//! Power: what a cut loses, and how a drive that is switched off comes to rest.

use super::ReadPriorityDrive;
use super::array_queue::{Activity, ArrayQueue};
use super::jobs::{Job, NONE, Slab};
use super::stations::{Stage, Stations};
use crate::block_device::{Decisions, Fate, Loss, Tag, TaggedCompletion};
use crate::device::{RequestKind, Status};
use crate::flash::cells::NoWatch;
use crate::management::PowerCutError;
use crate::profile::flash::choices::Power;

impl Stations {
    /// Whether what has arrived in the controller survives a power cut.
    pub(super) fn is_protected(&self) -> bool {
        self.figures.buffer_pages > 0 && self.figures.power == Some(Power::Protected)
    }

    /// What a power cut now would lose from `from_byte` to before `end_byte`, in the order of submission.
    pub(super) fn losses(&self, from_byte: u64, end_byte: u64) -> Vec<Loss> {
        let protected = self.is_protected();
        let pages = self.jobs.used().filter(|(_, job)| job.writes && !(protected && job.in_controller));
        let pages = pages.map(|(_, job)| (job.order, job.tag, job.offset_bytes, u64::from(job.bytes)));
        // Commands that have not passed the controller have no pages yet.
        let commands = self.commands.used().filter(|(_, it)| it.request.kind == RequestKind::Write);
        let commands = commands.filter(|(_, it)| !it.decided && it.left == 0);
        let commands =
            commands.map(|(_, it)| (it.sequence << 24, it.tag, it.request.offset_bytes, it.request.length_bytes));
        let mut parts: Vec<_> = pages.chain(commands).collect();
        parts.sort_unstable();
        let within = parts.into_iter().filter_map(|(_, tag, offset_bytes, length_bytes)| {
            let (first, end) = (offset_bytes.max(from_byte / 512 * 512), offset_bytes + length_bytes);
            let end = end.min(end_byte.div_ceil(512) * 512);
            let tag = Tag(tag);
            (first < end).then(|| Loss { tag, offset_bytes: first, length_bytes: end - first, fate: Fate::Old })
        });
        within.collect()
    }

    /// Bring all that has arrived in the controller to the medium; when that is done. Nothing else is begun meanwhile.
    pub(super) fn settle(&mut self, now_ns: u64) -> u64 {
        let figures = self.figures.clone();
        let (copy_ns, program_ns) = (figures.read_ns + figures.program_ns, figures.program_ns);
        let mut busy_ns: Vec<u64> = vec![now_ns; self.arrays.len()];
        for (busy_ns, array) in busy_ns.iter_mut().zip(&self.arrays) {
            let writes = |doing| !matches!(doing, Activity::Read | Activity::Suspending);
            let current = array.current.filter(|operation| writes(operation.doing));
            *busy_ns = current.map_or(now_ns, |operation| operation.end_ns.max(now_ns));
            *busy_ns += array.interrupted.map_or(0, |operation| operation.end_ns);
            let under_way = current.is_some() || array.interrupted.is_some();
            for (index, work) in array.work.iter().enumerate() {
                let all_ns = u64::from(work.copies) * copy_ns + u64::from(work.erases) * figures.erase_ns;
                let begun_ns = if index == 0 && under_way { copy_ns.min(all_ns) } else { 0 };
                *busy_ns += all_ns - begun_ns + work.share_ns;
                *busy_ns += if work.job == NONE || (index == 0 && under_way) { 0 } else { program_ns };
            }
        }
        for happening in self.happenings.iter().filter(|it| it.0.stage == Stage::AtArray) {
            let unit = self.jobs.at(happening.0.number).unit;
            let busy_ns = &mut busy_ns[figures.wires[unit as usize].1 as usize];
            *busy_ns = happening.0.at_ns.max(*busy_ns) + program_ns;
        }
        let mut arrived: Vec<Job> =
            self.jobs.used().map(|(_, job)| *job).filter(|job| job.writes && job.in_controller).collect();
        arrived.sort_unstable_by_key(|job| job.order);
        for job in arrived.iter().filter(|job| !job.placed) {
            let placement = self.map.write((job.offset_bytes / u64::from(figures.page_bytes)) as u32, &mut NoWatch);
            let opening = placement.opening.unwrap_or_default();
            let copies = opening.moved + opening.levelled;
            self.counters.gc_pages_moved += u64::from(opening.moved);
            self.counters.levelling_pages_moved += u64::from(opening.levelled);
            self.counters.flash_pages_read += u64::from(opening.reads);
            self.counters.flash_pages_programmed += u64::from(opening.programs) + 1;
            self.counters.blocks_erased += u64::from(opening.erased);
            busy_ns[figures.wires[placement.unit as usize].1 as usize] +=
                u64::from(copies) * copy_ns + u64::from(opening.erased) * figures.erase_ns + program_ns;
        }
        let end_ns = busy_ns.into_iter().fold(now_ns, u64::max);
        if self.reports && !self.is_protected() {
            self.persisted.extend(arrived.iter().map(|job| crate::block_device::DurableExtent {
                tag: Tag(job.tag),
                offset_bytes: job.offset_bytes,
                length_bytes: u64::from(job.bytes),
                at_ns: end_ns,
            }));
        }
        end_ns
    }

    /// Erase all that was written, all arrays at the same time; what that takes.
    pub(super) fn erase_everything(&mut self) -> u64 {
        let mut takes_ns = vec![0; self.arrays.len()];
        for (unit, blocks) in self.map.blocks_written().enumerate() {
            self.counters.blocks_erased += u64::from(blocks);
            takes_ns[self.figures.wires[unit].1 as usize] += u64::from(blocks) * self.figures.erase_ns;
        }
        self.map.erase_all();
        self.shares.fill((0, 0));
        takes_ns.into_iter().max().unwrap_or(0)
    }

    /// Nothing is in the drive any more but what is on the medium.
    fn stop(&mut self) {
        self.happenings.clear();
        (self.commands, self.jobs) = (Slab::default(), Slab::default());
        self.waiting.clear();
        (self.places_taken, self.gate_closed, self.undecided, self.unprogrammed) = (0, false, 0, 0);
        (self.controller_ns, self.to_host_ns, self.to_drive_ns) = (0, 0, 0);
        self.channels_ns.fill(0);
        self.arrays.fill(ArrayQueue::default());
        self.buffer_free = self.figures.buffer_pages;
        self.buffer_waiting.clear();
        self.in_buffer.clear();
        self.flushes.clear();
    }
}

impl ReadPriorityDrive {
    pub(super) fn can_cut(&self, at_ns: u64) -> Result<(), PowerCutError> {
        if at_ns < self.now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns: self.now_ns });
        }
        if let Some(event_ns) = self.next_ns().filter(|event_ns| *event_ns < at_ns) {
            return Err(PowerCutError::PastEvent { at_ns, event_ns });
        }
        if self.stations.figures.buffer_pages > 0 && self.stations.figures.power.is_none() {
            return Err(PowerCutError::Unknown);
        }
        Ok(())
    }

    /// Requests that have not completed, by their submission.
    pub(super) fn unfinished(&self) -> Vec<u64> {
        let commands = self.stations.commands.used().map(|(_, command)| command);
        let unfinished = commands.filter(|command| !command.decided || command.end_ns > self.now_ns);
        let mut tags: Vec<(u64, u64)> = unfinished.map(|command| (command.sequence, command.tag)).collect();
        tags.sort_unstable();
        tags.into_iter().map(|(_, tag)| tag).collect()
    }

    /// Everything outstanding at `at_ns` fails.
    pub(super) fn fail_outstanding(&mut self, at_ns: u64, out: &mut Decisions) {
        self.now_ns = at_ns;
        let failed = self.unfinished().into_iter().chain(self.refused.drain(..).map(|(tag, _)| tag));
        let failed: Vec<u64> = failed.collect();
        let status = Status::DroppedOff { at_ns };
        out.completions.extend(failed.iter().map(|tag| TaggedCompletion {
            tag: Tag(*tag),
            complete_ns: at_ns,
            status,
        }));
        self.off_ns = Some(at_ns);
    }

    /// Nothing is in the drive any more, and its clock stands at `at_ns`.
    pub(super) fn stop(&mut self, at_ns: u64) {
        self.stations.stop();
        self.tags.clear();
        (self.now_ns, self.last_submit_ns) = (at_ns, at_ns);
    }
}
