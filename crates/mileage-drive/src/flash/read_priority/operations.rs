//! Arrays and their operations: reads before all else, interrupted operations, programs and collections.

use super::array_queue::{Activity, Operation, Work};
use super::jobs::NONE;
use super::stations::{Stage, StationEvent, Stations};
use std::cmp::Reverse;

impl Stations {
    pub(super) fn queue_work(&mut self, number: u32, work: Work) {
        let array = &mut self.arrays[number as usize];
        array.work.push_back(work);
        if array.current.is_none() {
            self.idle.push(number);
        }
    }

    pub(super) fn queue_read(&mut self, job: u32, unit: u32, now_ns: u64) {
        self.counters.flash_pages_read += 1;
        self.jobs.at_mut(job).unit = unit;
        let number = self.figures.wires[unit as usize].1;
        let array = &mut self.arrays[number as usize];
        array.reads.push_back(job);
        match array.current {
            None => self.idle.push(number),
            Some(operation) => self.interrupt(number, operation, now_ns),
        }
    }

    /// Interrupt what an array does, if that is possible and sooner than waiting for its end.
    fn interrupt(&mut self, number: u32, operation: Operation, now_ns: u64) {
        let possible = match operation.doing {
            Activity::Read | Activity::Suspending => false,
            Activity::Erase => self.figures.interrupts_erases,
            Activity::Program | Activity::Copy | Activity::Share => self.figures.interrupts_programs,
        };
        let suspended_ns = now_ns + self.figures.suspend_ns;
        if !possible || operation.end_ns <= suspended_ns {
            return;
        }
        self.counters.suspensions += 1;
        self.arrays[number as usize].interrupted = Some(Operation { end_ns: operation.end_ns - now_ns, ..operation });
        self.operate(number, Operation { doing: Activity::Suspending, job: NONE, end_ns: suspended_ns });
    }

    fn operate(&mut self, number: u32, operation: Operation) {
        let array = &mut self.arrays[number as usize];
        array.version = array.version.wrapping_add(1);
        array.current = Some(operation);
        let version = array.version;
        // Among equals in time, arrays come in the order of whose page they work on.
        let order = if operation.job == NONE { u64::MAX } else { self.jobs.at(operation.job).order };
        let at_ns = operation.end_ns;
        self.happenings.push(Reverse(StationEvent { at_ns, order, stage: Stage::ArrayDone, number, version }));
    }

    /// Begin the next operations of arrays that do nothing, once all of an instant has arrived, so that a read has priority
    /// over a program that could begin at the same instant; whether there were such arrays.
    pub(super) fn begin_operations(&mut self, now_ns: u64) -> bool {
        if self.idle.is_empty() {
            return false;
        }
        let mut idle = std::mem::take(&mut self.idle);
        idle.sort_unstable();
        for number in idle.drain(..) {
            if self.arrays[number as usize].current.is_none() {
                self.begin_next(number, now_ns);
            }
        }
        self.idle = idle;
        true
    }

    /// The next operation of an array that does nothing.
    fn begin_next(&mut self, number: u32, now_ns: u64) {
        let figures = &self.figures;
        let array = &mut self.arrays[number as usize];
        if let Some(job) = array.reads.pop_front() {
            self.operate(number, Operation { doing: Activity::Read, job, end_ns: now_ns + figures.read_ns });
            return;
        }
        if let Some(operation) = array.interrupted.take() {
            self.operate(number, Operation { end_ns: now_ns + operation.end_ns, ..operation });
            return;
        }
        let Some(work) = array.work.front().copied() else { return };
        let (doing, takes_ns) = match work {
            Work { copies: 1.., .. } => (Activity::Copy, figures.read_ns + figures.program_ns),
            Work { erases: 1.., .. } => (Activity::Erase, figures.erase_ns),
            Work { share_ns: 1.., .. } => (Activity::Share, work.share_ns),
            _ => (Activity::Program, figures.program_ns),
        };
        let mut end_ns = now_ns + takes_ns;
        if doing == Activity::Copy && figures.copy_channel_ns > 0 {
            let (channel, carries_ns) = (figures.array_channels[number as usize], figures.copy_channel_ns);
            end_ns = end_ns.max(self.carry(channel, carries_ns, now_ns));
        }
        let job = if doing == Activity::Program { work.job } else { NONE };
        self.operate(number, Operation { doing, job, end_ns });
    }

    /// An array has done something.
    pub(super) fn array_done(&mut self, number: u32, version: u32, now_ns: u64) {
        let array = &mut self.arrays[number as usize];
        if array.version != version {
            return;
        }
        let Some(operation) = array.current.take() else { return };
        match (operation.doing, array.work.front_mut()) {
            (Activity::Copy, Some(work)) => work.copies -= 1,
            (Activity::Erase, Some(work)) => work.erases -= 1,
            (Activity::Share, Some(work)) => work.share_ns = 0,
            _ => {}
        }
        let finished = |work: &Work| work.copies + work.erases == 0 && work.job == NONE;
        if operation.doing == Activity::Program || array.work.front().is_some_and(finished) {
            array.work.pop_front();
        }
        self.idle.push(number);
        match operation.doing {
            Activity::Read => {
                let unit = self.jobs.at(operation.job).unit;
                let (channel, order) = (self.figures.wires[unit as usize].0, self.jobs.at(operation.job).order);
                let there_ns = self.carry(channel, self.figures.channel_page_ns, now_ns);
                self.happens(there_ns, order, Stage::AtController, operation.job);
            }
            Activity::Program => self.programmed(operation.job, now_ns),
            _ => {}
        }
    }
}
