//! Members that fail, spares that replace them, and the loss of the array.

use super::counters::Count;
use super::layout::Segment;
use super::model::Array;
use super::work::{MemberRequest, Phase, Slot, Task, What};
use crate::block_device::{ManagedDevice, TaggedCompletion};
use crate::device::{RequestKind, Status};
use std::collections::BTreeSet;

/// Rows of a rebuild that are in progress at a time.
const REBUILD_WINDOW: u32 = 16;

impl<M: ManagedDevice> Array<M> {
    /// The requests that are too late now: their members have failed.
    pub(crate) fn time_out(&mut self) {
        while let Some((deadline_ns, request)) = self.deadlines.front().copied() {
            let device = self.requests.get(&request).map(|entry| entry.device);
            match device {
                Some(_) if deadline_ns > self.at_ns => return,
                Some(device) => {
                    self.deadlines.pop_front();
                    self.count(Count::TimedOut, 1);
                    let timeout_ns = self.fixed.controller.member_timeout_ns.unwrap_or(0);
                    self.fail_device(device, Status::TimedOut { timeout_ns });
                }
                None => {
                    self.deadlines.pop_front();
                }
            }
        }
    }

    /// A member answers no more; what it had to do is done by the others.
    pub(crate) fn fail_device(&mut self, device: usize, status: Status) {
        let place = (0..self.slots.len()).find(|slot| self.device_at(*slot) == Some(device));
        let Some(slot) = place else { return };
        if !self.is_redundant() && self.fixed.layout.level == crate::profile::Level::Jbod {
            self.fail_requests(device, status);
            return;
        }
        self.slots[slot] = Slot::Failed;
        self.count(Count::Failed, 1);
        if self.has_lost_data() {
            self.lose();
            return;
        }
        self.take_spare(slot);
        self.do_without(device);
    }

    /// Let the member at a place fail now; in jbod nothing happens.
    pub fn fail_member(&mut self, slot: usize) {
        if let Some(device) = self.device_at(slot) {
            self.at_ns = self.now_ns;
            let at_ns = self.now_ns;
            self.fail_device(device, Status::DroppedOff { at_ns });
        }
    }

    /// Members that work; spares count once they are rebuilt.
    pub fn working_members(&self) -> usize {
        self.own_gauges()[0] as usize
    }

    /// Commands of the host that were not decided, and writes to members in progress, but for those of rebuilds.
    pub fn outstanding(&self) -> usize {
        let rebuilds = self.operations.values().filter(|it| matches!(it.task, Task::Rebuild { .. })).count();
        self.commands.len() + self.refused.len() + self.operations.len() - rebuilds
    }

    /// In a row of members only what concerns this one fails.
    fn fail_requests(&mut self, device: usize, status: Status) {
        let failed: Vec<u64> =
            self.requests.iter().filter(|(_, it)| it.device == device && it.end.is_some()).map(|(at, _)| *at).collect();
        for request in failed {
            if let Some(entry) = self.requests.get(&request) {
                let id = entry.operation;
                self.fail_operation(id, status);
                self.complete_request(request);
            }
        }
    }

    fn take_spare(&mut self, slot: usize) {
        if !self.spares.is_empty() {
            let device = self.spares.remove(0);
            let ahead = BTreeSet::new();
            self.slots[slot] = Slot::Rebuilding { device, done: 0, ahead, next: 0, under_way: 0 };
            self.count(Count::Rebuilds, 1);
            let at_ns = self.at_ns;
            self.happen(at_ns, What::Rebuild { slot });
        }
    }

    /// Do the outstanding requests to a member in another way.
    fn do_without(&mut self, device: usize) {
        let mine: Vec<u64> =
            self.requests.iter().filter(|(_, it)| it.device == device).map(|(number, _)| *number).collect();
        let mut again = BTreeSet::new();
        for number in mine {
            let Some(entry) = self.requests.get(&number) else { continue };
            let MemberRequest { operation: id, slot, kind, offset, length, .. } = *entry;
            let Some(operation) = self.operations.get(&id) else { continue };
            match (&operation.task, operation.phase) {
                (Task::Read, _) => {
                    self.route(id, Segment { slot, offset, length });
                    self.complete_request(number);
                }
                (Task::Rebuild { slot: target, .. }, phase) if phase == Phase::Writing || slot == *target => {
                    let at_ns = self.at_ns;
                    self.fail_operation(id, Status::DroppedOff { at_ns });
                    self.complete_request(number);
                }
                (_, Phase::Reading) if kind == RequestKind::Read => {
                    again.insert(id);
                }
                _ => self.complete_request(number),
            }
        }
        for id in again {
            self.begin_again(id);
        }
    }

    /// Forget what an operation has asked for, and let it begin again with the members that are left.
    fn begin_again(&mut self, id: u64) {
        let asked: Vec<u64> =
            self.requests.iter().filter(|(_, it)| it.operation == id).map(|(number, _)| *number).collect();
        for number in asked {
            if let Some(entry) = self.requests.remove(&number) {
                self.loads[entry.device] -= 1;
            }
        }
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.pending = 0;
            self.run(id);
        }
    }

    /// Too many members have failed: every command fails, and nothing is taken any more.
    fn lose(&mut self) {
        let at_ns = self.at_ns;
        self.lost_ns = Some(at_ns);
        let status = Status::DroppedOff { at_ns };
        for (number, command) in std::mem::take(&mut self.commands) {
            self.decided.insert((at_ns, number), (command.tag, command.request));
            self.out.push(TaggedCompletion { tag: command.tag, complete_ns: at_ns, status });
        }
        self.forget_work();
    }

    /// Nothing is in progress any more.
    pub(crate) fn forget_work(&mut self) {
        self.operations.clear();
        self.requests.clear();
        self.loads.fill(0);
        self.due.clear();
        self.deadlines.clear();
        self.rows.clear();
        self.waiting.clear();
        self.cache.forget_work();
        for slot in &mut self.slots {
            if let Slot::Rebuilding { done, ahead, next, under_way, .. } = slot {
                (*next, *under_way) = (*done, 0);
                ahead.clear();
            }
        }
    }

    /// Begin the next row of a rebuild, if there is room for it, and say when the one behind it may begin.
    pub(crate) fn rebuild(&mut self, slot: usize) {
        let (rows, is_busy) = (self.fixed.layout.rows(), !self.commands.is_empty());
        if self.off_ns.is_some() {
            return;
        }
        let Slot::Rebuilding { done, ahead, next, under_way, .. } = &mut self.slots[slot] else { return };
        while *next < *done || ahead.contains(next) {
            *next += 1;
        }
        if *next >= rows || *under_way >= REBUILD_WINDOW {
            return;
        }
        let row = *next;
        (*next, *under_way) = (row + 1, *under_way + 1);
        let id = self.create(Vec::new(), Task::Rebuild { slot, row }, Phase::Waiting);
        self.acquire(id);
        let controller = &self.fixed.controller;
        let rate = if is_busy { controller.rebuild_busy_mb_per_s } else { controller.rebuild_mb_per_s };
        let wait_ns = ((self.fixed.layout.chunk as f64 * 1e3 / rate).round() as u64).max(1);
        let at_ns = self.at_ns + wait_ns;
        self.happen(at_ns, What::Rebuild { slot });
    }

    /// A row of a rebuild has ended.
    pub(crate) fn row_rebuilt(&mut self, slot: usize, row: u64, is_done: bool) {
        let rows = self.fixed.layout.rows();
        let Slot::Rebuilding { device, done, ahead, next, under_way } = &mut self.slots[slot] else { return };
        let was_full = *under_way >= REBUILD_WINDOW;
        *under_way = under_way.saturating_sub(1);
        if is_done {
            ahead.insert(row);
        } else {
            *next = row.min(*next);
        }
        while ahead.remove(done) {
            *done += 1;
        }
        if *done == rows {
            self.slots[slot] = Slot::Working { device: *device };
            self.count(Count::Rebuilt, 1);
        } else if was_full || !is_done {
            let at_ns = self.at_ns;
            self.happen(at_ns, What::Rebuild { slot });
        }
    }

    /// What the array is: members that work, spares, bytes to rebuild, dirty bytes, requests to members, whether it is lost.
    pub(crate) fn own_gauges(&self) -> [u64; 6] {
        let works = |slot: &&Slot| matches!(slot, Slot::Working { .. });
        let (rows, chunk) = (self.fixed.layout.rows(), self.fixed.layout.chunk);
        let left = self.slots.iter().map(|slot| match slot {
            Slot::Rebuilding { done, ahead, .. } => (rows - done - ahead.len() as u64) * chunk,
            _ => 0,
        });
        [
            self.slots.iter().filter(works).count() as u64,
            self.spares.len() as u64,
            left.sum(),
            self.cache.dirty_bytes(),
            self.requests.len() as u64,
            u64::from(self.lost_ns.is_some()),
        ]
    }
}
