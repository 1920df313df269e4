//! What a write-back cache takes, and when it is written to the members.
//!
//! Destaging begins when half of the cache is dirty, when somebody waits for it, or when the host has been silent for
//! [`IDLE_NS`]; of a row with parity all that is dirty is written together.

use super::counters::Count;
use super::model::Array;
use super::work::{Operation, Part, Record, What};
use crate::block_device::ManagedDevice;
use crate::device::{Request, RequestKind};
use crate::profile::CachePower;

/// The host must be silent this long before the cache is written without need.
const IDLE_NS: u64 = 10_000_000;
/// Most destages at a time, for each member.
const DESTAGES_PER_MEMBER: usize = 4;

impl<M: ManagedDevice> Array<M> {
    /// Take a write into the cache, or let it wait for room, or let it go past the cache.
    pub(crate) fn cache_write(&mut self, number: u64) {
        let Some(command) = self.commands.get(&number) else { return };
        let Request { kind, fua, offset_bytes: offset, length_bytes: length, .. } = command.request;
        debug_assert!(kind == RequestKind::Write);
        let is_volatile = self.fixed.controller.cache_power == CachePower::Volatile;
        if (fua && is_volatile) || length > self.cache.capacity / 2 {
            if self.cache.overlaps(&self.operations, offset, length) {
                self.cache.bypasses.push_back(number);
                self.destage();
            } else {
                self.write(number);
            }
            return;
        }
        if !self.cache.waiting.is_empty() || !self.cache.has_room(length) {
            self.count(Count::CacheWaits, 1);
            self.cache.waiting.push_back(number);
            self.destage();
            return;
        }
        self.accept(number);
        self.destage();
    }

    fn accept(&mut self, number: u64) {
        let Some(command) = self.commands.get(&number) else { return };
        let Request { offset_bytes: offset, length_bytes: length, .. } = command.request;
        let record = Record { command: number, tag: command.tag, offset, length };
        let content = command.content.clone();
        self.cache.insert(record, content, self.fixed.sector_bytes);
        self.count(Count::CacheWrites, 1);
        self.finish(number);
    }

    fn is_idle(&self) -> bool {
        self.commands.is_empty() && self.at_ns >= self.last_submit_ns + IDLE_NS
    }

    /// Write what must be written, and see that the rest is looked at later.
    pub(crate) fn destage(&mut self) {
        let most = DESTAGES_PER_MEMBER * self.slots.len();
        loop {
            let cache = &self.cache;
            let is_asked = !cache.waiting.is_empty() || !cache.bypasses.is_empty();
            let is_full = cache.dirty_bytes > cache.capacity / 2;
            let wanted = is_asked || is_full || self.off_ns.is_some() || self.is_idle();
            if !wanted || self.cache.destages.len() >= most {
                break;
            }
            let Some((parts, records)) = self.cache.take(&self.fixed.layout, self.fixed.sector_bytes) else { break };
            self.count(Count::Destages, 1);
            self.count(Count::DestagedBytes, parts.iter().map(|part| part.length).sum());
            let first = self.next_operation;
            let fua = self.fixed.controller.cache_power == CachePower::Battery;
            self.cache.destages.extend(first..first + self.operations_of(&parts));
            self.write_parts(&[], &parts, &records, fua, true);
        }
        if !self.cache.dirty.is_empty() && !self.cache.is_due && self.cache.destages.is_empty() {
            self.cache.is_due = true;
            let at_ns = self.at_ns.max(self.last_submit_ns) + IDLE_NS;
            self.happen(at_ns, What::Destage);
        }
    }

    /// How many operations the parts of a destage become.
    fn operations_of(&self, parts: &[Part]) -> u64 {
        if self.fixed.layout.level.parities() > 0 { 1 } else { parts.len() as u64 }
    }

    /// A destage has ended: its room is free.
    pub(crate) fn destaged(&mut self, id: u64, operation: &Operation) {
        self.cache.destages.remove(&id);
        for part in &operation.parts {
            self.cache.held_bytes -= part.length;
            self.cache.keep(part.offset, part.length);
        }
        while let Some(number) = self.cache.waiting.front().copied() {
            let length = self.commands.get(&number).map_or(0, |it| it.request.length_bytes);
            if !self.cache.has_room(length) {
                break;
            }
            self.cache.waiting.pop_front();
            self.accept(number);
        }
        self.pass_bypasses();
        self.destage();
    }
}
