//! Arrays of block devices behind a controller.
//!
//! # Model
//! A command of the host takes the controller's time, one after the other, and becomes operations. Each operation is a small
//! state machine over the completions of its members: reads of members, then, of a write to a row with parity, the writes that
//! follow. An operation holds its row (parity) or its range (copies) until it ends; others of the same row or range wait in the
//! order of their submission. Data passes the limits of member link, protocol and host in the order in which it arrives.
//!
//! A write to a row reads and writes what [`stripe`] says. Reads of copies go to the member with the fewest requests.
//! A member that does not answer within the time-out, drops off or dies is failed: its requests are done by the others,
//! and a spare is rebuilt row by row, in the background. When more members fail than the level bears, the data is lost, and
//! every command fails.
//!
//! After a power cut copies are made equal to the first of them, and parity to the data, in the rows in which writes were
//! in progress; the time that takes is not modelled. Of a row with a missing member that content is torn if a write was in
//! progress and neither battery nor members saved it (the write hole).
//!
//! # Not modelled
//! Resizing, patrol reads, unequal members except in jbod, rows that are read ahead, controllers that fail.
#![allow(clippy::missing_fields_in_debug)]

mod cache;
mod commands;
mod counters;
mod destage;
mod direct;
#[cfg(test)]
mod direct_tests;
mod health;
mod kept_content;
mod layout;
mod model;
mod operations;
mod parity;
mod pipes;
mod power;
mod saved_state;
mod stripe;
mod work;

pub(crate) use direct::{Answers, DirectArray, DirectMember};
pub use model::{Array, ArrayParts};

use crate::block_device::{
    BlockDevice, Decisions, DurableExtent, Event, EventClass, Loss, ManagedDevice, ManagementError, Misuse, PowerCut,
    STEPS_MAX, Submission,
};
use crate::device::Life;
use crate::management::PowerCutError;
use crate::page_sizes::PageSizes;
use crate::profile::Basics;
use crate::saved_state::StateError;
use crate::tournament_tree::NEVER;
use counters::{COUNTERS, GAUGES};
use std::cmp::Reverse;
use work::{Due, What};

impl<M: ManagedDevice> Array<M> {
    /// The members, and behind them the spares.
    pub fn devices(&self) -> &[M] {
        &self.devices
    }

    /// The earliest instant at which something happens.
    pub(crate) fn event_ns(&self) -> Option<u64> {
        let refused = self.refused.first().map(|it| it.1);
        let due = self.due.peek().map(|due| due.0.at_ns);
        let late = self.deadlines.iter().find(|(_, request)| self.requests.contains_key(request)).map(|it| it.0);
        let member = Some(self.device_events.first().0).filter(|at_ns| *at_ns < NEVER);
        [refused, due, late, member].into_iter().flatten().min().map(|at_ns| at_ns.max(self.now_ns))
    }

    fn due_by(&mut self, at_ns: u64) -> Option<What> {
        let Reverse(Due { what, .. }) = self.due.peek().copied().filter(|due| due.0.at_ns <= at_ns)?;
        self.due.pop();
        Some(what)
    }

    /// Everything that happens at an instant.
    pub(crate) fn step(&mut self, at_ns: u64) {
        self.at_ns = at_ns;
        self.refuse();
        let mut steps = 0;
        loop {
            while let Some(what) = self.due_by(at_ns) {
                steps += 1;
                if steps > STEPS_MAX {
                    self.misuse.get_or_insert(Misuse::Endless { at_ns });
                    return;
                }
                match what {
                    What::Start { command } => self.start(command),
                    What::Send { request } => self.send(request),
                    What::Answer { device, request } => self.answered(device, request),
                    What::Rebuild { slot } => self.rebuild(slot),
                    What::Destage => {
                        self.cache.is_due = false;
                        self.destage();
                    }
                }
            }
            self.time_out();
            if self.due.peek().is_none_or(|due| due.0.at_ns > at_ns) {
                break;
            }
        }
        loop {
            let (event_ns, device) = self.device_events.first();
            if event_ns > at_ns || event_ns == NEVER {
                break;
            }
            self.advance_device(device as usize, at_ns + 1);
        }
    }

    /// Let a member's clock stand at an instant, and note what it decided.
    fn advance_device(&mut self, device: usize, at_ns: u64) {
        let mut member = std::mem::take(&mut self.member_out);
        if let Err(misuse) = self.devices[device].advance_to(at_ns, &mut member) {
            self.misuse.get_or_insert(misuse);
        }
        self.note_event(device);
        for completion in &member.completions {
            let number = completion.tag.0;
            if let Some(request) = self.requests.get_mut(&number).filter(|request| request.device == device) {
                request.end = Some(completion.status);
                let at_ns = completion.complete_ns.max(self.at_ns);
                self.happen(at_ns, What::Answer { device, request: number });
            }
        }
        self.note_persisted(device, &member);
        member.clear();
        self.member_out = member;
    }

    pub(crate) fn note_persisted(&mut self, device: usize, member: &Decisions) {
        if let Some(stores) = &mut self.stores {
            stores[device].decided(member);
        }
    }

    /// Report the writes before the first that a cut could lose.
    fn report(&mut self, out: &mut Decisions) {
        if self.unreported.is_empty() {
            return;
        }
        let at_ns = self.now_ns;
        let Ok(undurable) = self.undurable() else { return };
        while let Some(record) = self.unreported.front().copied() {
            if undurable.contains(&record.command) {
                break;
            }
            self.unreported.pop_front();
            let (offset_bytes, length_bytes) = (record.offset, record.length);
            out.persisted.push(DurableExtent { tag: record.tag, offset_bytes, length_bytes, at_ns });
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl<M: ManagedDevice + Clone> BlockDevice for Array<M> {
    fn capacity_bytes(&self) -> u64 {
        self.fixed.basics.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.fixed.sector_bytes
    }

    fn page_bytes(&self) -> u32 {
        self.fixed.page_bytes
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, submission: Submission) -> Result<(), Misuse> {
        self.take(submission)
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        if at_ns <= self.now_ns {
            return Ok(());
        }
        let (mut before_ns, mut steps) = (0, 0);
        while let Some(event_ns) = self.event_ns().filter(|event_ns| *event_ns < at_ns && self.misuse.is_none()) {
            steps = if event_ns == before_ns { steps + 1 } else { 0 };
            before_ns = event_ns;
            if steps > STEPS_MAX {
                return Err(Misuse::Endless { at_ns: event_ns });
            }
            self.step(event_ns);
        }
        if let Some(misuse) = self.misuse {
            return Err(misuse);
        }
        self.at_ns = at_ns;
        // What a member reports as persisted belongs to the call in which it became so.
        let reports = self.reports_persisted || self.stores.is_some();
        for device in 0..self.devices.len() {
            if reports || !self.fixed.may_lag[device] {
                self.advance_device(device, at_ns);
            }
        }
        self.now_ns = at_ns;
        while let Some(first) = self.decided.first_entry().filter(|first| first.key().0 <= at_ns) {
            self.tags.remove(&first.remove().0);
        }
        out.completions.append(&mut self.out);
        if self.reports_persisted {
            self.report(out);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Event> {
        let is_awaited = !self.commands.is_empty() || !self.refused.is_empty();
        let class = if is_awaited { EventClass::Foreground } else { EventClass::Background };
        self.event_ns().map(|at_ns| Event { at_ns, class })
    }

    fn report_persisted(&mut self, wanted: bool) {
        self.reports_persisted = wanted;
        if !wanted {
            self.unreported.clear();
        }
    }

    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        self.losses_in(offset_bytes, length_bytes, cut)
    }

    fn counter_names(&self) -> &'static [&'static str] {
        self.fixed.counter_names
    }

    fn counters(&self, out: &mut [u64]) {
        let (own, mut rest) = out.split_at_mut(COUNTERS.len());
        own.copy_from_slice(&self.counters);
        for device in &self.devices {
            let (mine, others) = rest.split_at_mut(device.counter_names().len());
            device.counters(mine);
            rest = others;
        }
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        self.fixed.gauge_names
    }

    fn gauges(&self, out: &mut [u64]) {
        let (own, mut rest) = out.split_at_mut(GAUGES.len());
        own.copy_from_slice(&self.own_gauges());
        for device in &self.devices {
            let (mine, others) = rest.split_at_mut(device.gauge_names().len());
            device.gauges(mine);
            rest = others;
        }
    }

    fn series_names(&self) -> &'static [&'static str] {
        self.fixed.series_names
    }

    fn save(&self) -> Vec<u8> {
        self.save_all()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        self.restore_all(state)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<M: ManagedDevice + Clone> ManagedDevice for Array<M> {
    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    fn basics(&self) -> &Basics {
        &self.fixed.basics
    }

    fn life(&self) -> Life {
        if self.lost_ns.is_some() { Life::DroppedOff } else { Life::Working }
    }

    fn may_lag(&self) -> bool {
        self.fixed.may_lag.iter().all(|may_lag| *may_lag)
    }

    fn purge(&mut self) -> Result<(), ManagementError> {
        self.erase()
    }

    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        self.cut(cut, out)
    }

    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        self.switch_off(at_ns, out)
    }

    fn power_on(&mut self) {
        self.switch_on();
    }
}
