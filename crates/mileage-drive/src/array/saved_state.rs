//! The state of an array as bytes: clock, commands, operations, requests to members, cache, members.

use super::model::Array;
use super::work::{Due, Slot, What};
use crate::block_device::{Decisions, ManagedDevice};
use crate::content_store::ContentStore;
use crate::saved_state::{Format, StateError, checksum, corrupt, reachable, saved_fields, sorted};
use std::cmp::Reverse;

const FORMAT: Format = Format { magic: "MILEARRY", version: 2 };

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
    saved_fields!(
        now_ns,
        off_ns,
        lost_ns,
        next_command,
        next_operation,
        next_request,
        reports_persisted,
        slots,
        spares,
        refused,
        commands,
        decided,
        operations,
        requests,
        rows,
        waiting,
        pipes,
        sent,
        unreported,
    );

    fn fingerprint(&self) -> u64 {
        let fixed = &self.fixed;
        let text = format!("{:?} {:?} {:?} {}", fixed.layout, fixed.controller, fixed.discards, self.devices.len());
        checksum(text.as_bytes())
    }

    pub(crate) fn save_all(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(self.fingerprint());
        self.save_fields(&mut out);
        out.value(&self.earliest_submission_ns());
        out.value(&sorted(self.due.iter().map(|due| due.0)));
        let live = self.deadlines.iter().filter(|it| self.requests.contains_key(&it.1));
        out.value(&live.collect::<Vec<_>>());
        self.cache.save(&mut out);
        out.words(self.counters);
        out.value(&self.stores.is_some());
        self.stores.iter().flatten().for_each(|store| out.inner(&store.save()));
        self.devices.iter().for_each(|device| out.inner(&saved_at(device, self.now_ns)));
        Format::end(out)
    }

    pub(crate) fn restore_all(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut reader = FORMAT.open(state, self.fingerprint(), &self.fixed.basics.name)?;
        let mut new = self.clone();
        new.forget_work();
        new.restore_fields(&mut reader)?;
        new.last_submit_ns = reader.value()?;
        new.at_ns = new.now_ns;
        let due: Vec<Due> = reader.value()?;
        new.due = due.into_iter().map(Reverse).collect();
        new.deadlines = reader.value()?;
        new.cache.restore(&mut reader)?;
        reader.words(&mut new.counters)?;
        if !new.has_all_members(self.slots.len()) {
            return corrupt("a member that does not exist");
        }
        reachable([new.now_ns, new.last_submit_ns].into_iter().chain(new.off_ns).chain(new.lost_ns))?;
        let tags = new.commands.values().map(|it| it.tag).chain(new.decided.values().map(|it| it.0));
        new.tags = tags.chain(new.refused.iter().map(|it| it.0)).collect();
        new.loads.fill(0);
        new.requests.values().for_each(|request| new.loads[request.device] += 1);
        new.stores = None;
        if reader.value()? {
            let stores = self.devices.iter().map(|it| ContentStore::restored(it.sector_bytes(), reader.inner()?));
            new.stores = Some(stores.collect::<Result<_, _>>()?);
        }
        for device in &mut new.devices {
            device.restore(reader.inner()?)?;
        }
        reader.end()?;
        (0..self.devices.len()).for_each(|device| new.note_event(device));
        *self = new;
        Ok(())
    }

    /// Whether the places and requests are of devices that exist; `places`: how many members there are.
    fn has_all_members(&self, places: usize) -> bool {
        let devices = self.devices.len();
        let is_device_of = |slot: &Slot| match slot {
            Slot::Failed => true,
            Slot::Working { device } | Slot::Rebuilding { device, .. } => *device < devices,
        };
        let is_due = |due: &Reverse<Due>| match due.0.what {
            What::Answer { device, .. } => device < devices,
            What::Rebuild { slot } => slot < places,
            _ => true,
        };
        self.slots.len() == places
            && self.slots.iter().all(is_device_of)
            && self.spares.iter().all(|spare| *spare < devices)
            && self.requests.values().all(|request| request.device < devices && request.slot < places)
            && self.sent.values().all(|sent| sent.slot < places)
            && self.due.iter().all(is_due)
            && self.pipes.count() == devices
    }
}
