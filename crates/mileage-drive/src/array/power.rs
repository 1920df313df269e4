//! Power: what a cut would lose, the cut itself, switching off and on, erasing.

use super::model::Array;
use super::work::{Operation, Phase, Record, Slot, What, inside};
use crate::block_device::{Decisions, Fate, Loss, ManagedDevice, ManagementError, PowerCut, TaggedCompletion};
use crate::device::{Life, RequestKind, Status};
use crate::management::PowerCutError;
use crate::profile::CachePower;
use std::collections::HashSet;

fn loss(record: &Record, fate: Fate) -> (u64, Loss) {
    let Record { command, tag, offset, length } = *record;
    (command, Loss { tag, offset_bytes: offset, length_bytes: length, fate })
}

impl<M: ManagedDevice> Array<M> {
    fn has_battery(&self) -> bool {
        self.fixed.controller.cache_power == CachePower::Battery
    }

    pub(crate) fn can_cut(&self, at_ns: u64) -> Result<(), PowerCutError> {
        if at_ns < self.now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns: self.now_ns });
        }
        match self.event_ns() {
            Some(event_ns) if event_ns < at_ns => Err(PowerCutError::PastEvent { at_ns, event_ns }),
            _ => Ok(()),
        }
    }

    /// What a cut loses, in the order of the commands.
    pub(crate) fn all_losses(&self, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        if self.off_ns.is_some() || self.lost_ns.is_some() {
            return Ok(Vec::new());
        }
        let mut losses: Vec<(u64, Loss)> = Vec::new();
        for (number, command) in self.commands.iter().filter(|(_, command)| !command.is_under_way) {
            let request = command.request;
            if matches!(request.kind, RequestKind::Write | RequestKind::Discard) {
                let (offset, length) = (request.offset_bytes, request.length_bytes);
                losses.push(loss(&Record { command: *number, tag: command.tag, offset, length }, Fate::Old));
            }
        }
        for operation in self.operations.values() {
            let is_safe = operation.from_cache && self.has_battery();
            if operation.phase != Phase::Writing && !is_safe {
                losses.extend(operation.records.iter().map(|record| loss(record, Fate::Old)));
            }
        }
        if !self.has_battery() {
            for (from, (to, _)) in &self.cache.dirty {
                losses.extend(self.cache.logged(*from, *to).iter().map(|record| loss(record, Fate::Old)));
            }
        }
        self.member_losses(cut, &mut losses)?;
        losses.sort_by_key(|(command, _)| *command);
        Ok(losses.into_iter().map(|(_, loss)| loss).collect())
    }

    /// Whether a place decides what copies hold after a cut: it is the first that can be used.
    fn is_first_copy(&self, slot: usize, at: u64) -> bool {
        let copies = self.fixed.layout.copies();
        let first = slot / copies * copies;
        let range = (at, at + u64::from(self.fixed.sector_bytes));
        (first..first + copies).find(|slot| self.is_usable(*slot, range)) == Some(slot)
    }

    fn member_losses(&self, cut: PowerCut, losses: &mut Vec<(u64, Loss)>) -> Result<(), PowerCutError> {
        let is_safe = |number: u64| {
            let operation = self.requests.get(&number).and_then(|it| self.operations.get(&it.operation));
            self.has_battery() && operation.is_some_and(|it| it.from_cache)
        };
        let mut lose = |number: u64, offset: u64, length: u64, fate: Fate| {
            let Some(sent) = self.sent.get(&number).filter(|_| !is_safe(number)) else { return };
            for (address, bytes, at) in self.fixed.layout.held(sent.slot, offset, length) {
                if self.is_first_copy(sent.slot, at) {
                    losses.extend(inside(&sent.records, address, bytes).iter().map(|record| loss(record, fate)));
                }
            }
            losses.extend(sent.holes.iter().map(|record| loss(record, Fate::Torn)));
        };
        for (number, request) in self.requests.iter().filter(|(_, request)| !request.is_sent) {
            lose(*number, request.offset, request.length, Fate::Old);
        }
        for slot in 0..self.slots.len() {
            let Some(device) = self.device_at(slot).map(|at| &self.devices[at]) else { continue };
            let at_ns = cut.at_ns.max(device.now_ns());
            for loss in device.losses(0, device.capacity_bytes(), PowerCut { at_ns, ..cut })? {
                lose(loss.tag.0, loss.offset_bytes, loss.length_bytes, loss.fate);
            }
        }
        Ok(())
    }

    /// The commands of which some cut at this instant could lose something. A cut tears one sector of a request to a member,
    /// and each cut another one, so that all commands that the request serves count.
    pub(crate) fn undurable(&self) -> Result<HashSet<u64>, PowerCutError> {
        let is_safe = |operation: &Operation| operation.from_cache && self.has_battery();
        let under_way = self.operations.values().filter(|it| !is_safe(it)).flat_map(|it| &it.records);
        let mut found: HashSet<u64> = under_way.chain(self.cache.log.values()).map(|it| it.command).collect();
        for slot in 0..self.slots.len() {
            let Some(device) = self.device_at(slot).map(|at| &self.devices[at]) else { continue };
            let cut = PowerCut { at_ns: self.now_ns.max(device.now_ns()), seed: 0 };
            for loss in device.losses(0, device.capacity_bytes(), cut)? {
                let sent = self.sent.get(&loss.tag.0);
                found.extend(sent.iter().flat_map(|it| &it.records).map(|it| it.command));
            }
        }
        Ok(found)
    }

    /// What a cut loses of a range.
    pub(crate) fn losses_in(&self, offset: u64, length: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        self.can_cut(cut.at_ns)?;
        let all = self.all_losses(cut)?;
        let end = offset.saturating_add(length);
        let clipped = all.into_iter().filter_map(|loss| {
            let (from, to) = (loss.offset_bytes.max(offset), (loss.offset_bytes + loss.length_bytes).min(end));
            (from < to).then(|| Loss { offset_bytes: from, length_bytes: to - from, ..loss })
        });
        Ok(clipped.collect())
    }

    /// What has not completed fails at this instant.
    fn fail_outstanding(&mut self, at_ns: u64, out: &mut Decisions) {
        let status = Status::DroppedOff { at_ns };
        let late = self.decided.range((at_ns + 1, 0)..).map(|((_, number), (tag, _))| (*number, *tag));
        let mut failing: Vec<_> = late.chain(self.commands.iter().map(|(number, it)| (*number, it.tag))).collect();
        failing.sort_unstable();
        let refused = self.refused.iter().map(|it| it.0);
        let tags = failing.into_iter().map(|it| it.1).chain(refused);
        out.completions.extend(tags.map(|tag| TaggedCompletion { tag, complete_ns: at_ns, status }));
        self.commands.clear();
        self.decided.clear();
        self.refused.clear();
        self.tags.clear();
        self.unreported.clear();
    }

    fn note_power_off(&mut self, at_ns: u64) {
        self.sent.clear();
        self.off_ns = Some(at_ns);
        let devices_ns = self.devices.iter().map(M::now_ns).max().unwrap_or(0);
        self.now_ns = self.now_ns.max(at_ns).max(devices_ns);
        self.last_submit_ns = self.now_ns;
        self.at_ns = self.now_ns;
        (0..self.devices.len()).for_each(|device| self.note_event(device));
    }

    pub(crate) fn cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        let losses = self.losses_in(0, self.fixed.basics.capacity_bytes, cut)?;
        if self.off_ns.is_some() {
            return Ok(losses);
        }
        self.at_ns = cut.at_ns;
        let mut touched: Vec<Record> = self.operations.values().flat_map(|it| it.records.clone()).collect();
        touched.extend(self.sent.values().flat_map(|it| it.records.clone()));
        self.fail_outstanding(cut.at_ns, out);
        if self.has_battery() {
            // The oldest last: what is newer lies over it.
            for id in self.cache.destages.clone().into_iter().rev() {
                if let Some(operation) = self.operations.get(&id) {
                    self.cache.take_back(operation, self.fixed.sector_bytes);
                }
            }
            self.cache.forget_work();
        } else {
            self.cache.clear();
        }
        for device in 0..self.devices.len() {
            let at_ns = cut.at_ns.max(self.devices[device].now_ns());
            let cut = PowerCut { at_ns, ..cut };
            let lost = self.devices[device].power_cut(cut, &mut Decisions::default());
            let lost =
                lost.map_err(|source| ManagementError::Member { member: device as u32, source: Box::new(source) })?;
            if let Some(stores) = &mut self.stores {
                stores[device].cut(&lost);
            }
        }
        self.forget_work();
        self.make_equal(&touched);
        self.note_power_off(cut.at_ns);
        Ok(losses)
    }

    pub(crate) fn switch_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        self.can_cut(at_ns)?;
        if self.off_ns.is_some() {
            return Ok(());
        }
        self.fail_outstanding(at_ns, out);
        self.at_ns = self.at_ns.max(at_ns);
        self.off_ns = Some(at_ns);
        self.destage();
        self.work_off();
        let at_ns = self.at_ns.max(at_ns);
        for device in 0..self.devices.len() {
            let at_ns = at_ns.max(self.devices[device].now_ns());
            let mut member = Decisions::default();
            let off = self.devices[device].power_off(at_ns, &mut member);
            off.map_err(|source| ManagementError::Member { member: device as u32, source: Box::new(source) })?;
            self.note_persisted(device, &member);
            if let Some(stores) = &mut self.stores {
                stores[device].cut(&[]);
            }
        }
        self.forget_work();
        self.note_power_off(at_ns);
        Ok(())
    }

    /// Let everything end that the array itself has begun.
    fn work_off(&mut self) {
        while !self.operations.is_empty() && self.misuse.is_none() {
            let Some(event_ns) = self.event_ns() else { break };
            self.step(event_ns);
        }
    }

    pub(crate) fn switch_on(&mut self) {
        if self.off_ns.take().is_none() {
            return;
        }
        self.at_ns = self.now_ns;
        for device in 0..self.devices.len() {
            self.devices[device].power_on();
            self.note_event(device);
            let life = self.devices[device].life();
            if matches!(life, Life::Dead | Life::DroppedOff) {
                let at_ns = self.at_ns;
                self.fail_device(device, Status::DroppedOff { at_ns });
            }
        }
        let at_ns = self.now_ns;
        for slot in 0..self.slots.len() {
            if matches!(self.slots[slot], Slot::Rebuilding { .. }) {
                self.happen(at_ns, What::Rebuild { slot });
            }
        }
        self.destage();
    }

    pub(crate) fn erase(&mut self) -> Result<(), ManagementError> {
        let late = self.decided.keys().filter(|(complete_ns, _)| *complete_ns > self.now_ns).count();
        let outstanding = (self.commands.len() + self.refused.len() + late) as u64;
        if outstanding > 0 {
            return Err(ManagementError::Busy { outstanding });
        }
        let off_ns = self.off_ns.replace(self.now_ns);
        self.cache.clear();
        self.at_ns = self.now_ns;
        self.work_off();
        self.off_ns = off_ns;
        for device in 0..self.devices.len() {
            self.settle_device(device);
            let purged = self.devices[device].purge();
            purged.map_err(|source| ManagementError::Member { member: device as u32, source: Box::new(source) })?;
            if let Some(stores) = &mut self.stores {
                stores[device].purge();
            }
        }
        self.forget_work();
        let off_ns = self.off_ns;
        self.note_power_off(self.now_ns);
        self.off_ns = off_ns;
        for slot in 0..self.slots.len() {
            if matches!(self.slots[slot], Slot::Rebuilding { .. }) {
                let at_ns = self.now_ns;
                self.happen(at_ns, What::Rebuild { slot });
            }
        }
        Ok(())
    }

    /// Let a member finish what nobody waits for any more.
    fn settle_device(&mut self, device: usize) {
        let at_ns = self.at_ns.max(self.now_ns) + 1;
        let mut member = Decisions::default();
        let mut until_ns = at_ns;
        for _ in 0..crate::block_device::STEPS_MAX {
            if let Err(misuse) = self.devices[device].advance_to(until_ns, &mut member) {
                self.misuse.get_or_insert(misuse);
            }
            let last_ns = member.completions.iter().map(|it| it.complete_ns).max().unwrap_or(0);
            match self.devices[device].next_event() {
                Some(event) if event.class == crate::block_device::EventClass::Foreground => until_ns = event.at_ns + 1,
                _ if last_ns > until_ns => until_ns = last_ns,
                _ => return,
            }
        }
    }
}
