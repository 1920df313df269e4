//! Model of an `XPoint` (3D `XPoint`) drive: a memory that is written in place, sector by sector, without erasing.
//!
//! # Model
//! The controller begins commands one after the other, with an interval between them. Stripes of the addresses lie on the
//! dies in turn; each die transfers at its share of the drive's rate, one command after the other, and a fixed time is added
//! to each command. Data cross the link while the dies work. A write is durable when it completes, so that a flush only
//! waits. Bytes written are counted for each of equally large regions.
//!
//! # Assumed
//! Writes reach the medium once, and the drive does not become slower by what was written before: `XPoint` drives have wear
//! levelling and an indirection of which nothing is published.

use crate::device::{Completion, Life, Request, RequestKind, Status, check};
use crate::immediate_device::Immediate;
use crate::management::{LostWrite, ManagedImmediate, PowerCutError, Undurable};
use crate::page_sizes::PageSizes;
use crate::profile::{Basics, XpointProfile};
use crate::saved_state::{Format, StateError, corrupt, fingerprint, reachable, saved_fields, sorted};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const FORMAT: Format = Format { magic: "MILEXPNT", version: 2 };
const SECTOR_BYTES: u32 = 512;
const COUNTERS: &[&str] = &["host_bytes_read", "host_bytes_written", "queue_wait_ns", "service_ns"];
const GAUGES: &[&str] = &["region_bytes_written_least", "region_bytes_written_most"];
const SERIES: &[&str] = &[
    "host_bytes_read",
    "host_bytes_written",
    "queue_wait_ns",
    "service_ns",
    "region_bytes_written_least",
    "region_bytes_written_most",
];

/// A simulated `XPoint` drive in virtual time; the module describes the model.
#[derive(Clone, Debug)]
pub struct XpointDrive {
    profile: XpointProfile,
    now_ns: u64,
    /// Earliest start of the next command in the controller.
    next_command_ns: u64,
    /// Time at which each die is free.
    dies_free_ns: Vec<u64>,
    /// Times at which the link is free, towards the drive and towards the host.
    link_free_ns: [u64; 2],
    /// Time at which everything so far is complete.
    last_ns: u64,
    /// Completion times of the outstanding commands.
    outstanding: BinaryHeap<Reverse<u64>>,
    counters: [u64; COUNTERS.len()],
    /// Bytes written to each region.
    regions: Vec<u64>,
}

impl XpointDrive {
    /// A drive as it leaves the factory: nothing written, its clock at 0.
    pub fn new(profile: XpointProfile) -> Self {
        Self {
            now_ns: 0,
            next_command_ns: 0,
            dies_free_ns: vec![0; profile.dies as usize],
            link_free_ns: [0; 2],
            last_ns: 0,
            outstanding: BinaryHeap::new(),
            counters: [0; COUNTERS.len()],
            regions: vec![0; profile.regions as usize],
            profile,
        }
    }

    /// The data sheet.
    pub fn profile(&self) -> &XpointProfile {
        &self.profile
    }

    saved_fields!(now_ns, next_command_ns, last_ns, link_free_ns, counters, dies_free_ns, regions);

    fn fingerprint(&self) -> u64 {
        fingerprint(self.profile.basics.figures.iter().filter(|figure| figure.name != "rated_endurance_bytes"))
    }

    /// A place in the queue: when the command enters.
    fn enter(&mut self, submit_ns: u64) -> u64 {
        while self.outstanding.peek().is_some_and(|Reverse(at_ns)| *at_ns <= submit_ns) {
            self.outstanding.pop();
        }
        if self.outstanding.len() < self.profile.queue_depth_max as usize {
            return submit_ns;
        }
        self.outstanding.pop().map_or(submit_ns, |Reverse(at_ns)| at_ns.max(submit_ns))
    }

    /// Time at which the dies have transferred a range that they can begin at `begin_ns`.
    fn transfer(&mut self, offset_bytes: u64, length_bytes: u64, begin_ns: u64, mb_per_s: f64) -> u64 {
        let (stripe, dies) = (self.profile.stripe_bytes, u64::from(self.profile.dies));
        let end = offset_bytes + length_bytes;
        let (first, last) = (offset_bytes / stripe, (end - 1) / stripe);
        let mut end_ns = begin_ns;
        for die in 0..dies.min(last - first + 1) {
            let at = first + die;
            // Count whole stripes of this die, less what the first and the last one lack.
            let stripes = (last - at) / dies + 1;
            let mut bytes = stripes * stripe;
            if die == 0 {
                bytes -= offset_bytes - first * stripe;
            }
            if (last - at).is_multiple_of(dies) {
                bytes -= (last + 1) * stripe - end;
            }
            let busy_ns = (bytes as f64 * 1e3 * dies as f64 / mb_per_s).round() as u64;
            let free_ns = &mut self.dies_free_ns[(at % dies) as usize];
            *free_ns = (*free_ns).max(begin_ns) + busy_ns;
            end_ns = end_ns.max(*free_ns);
        }
        end_ns
    }

    fn note_written(&mut self, offset_bytes: u64, length_bytes: u64) {
        let (capacity, regions) = (u128::from(self.profile.basics.capacity_bytes), self.regions.len() as u128);
        let end = offset_bytes + length_bytes;
        let mut at = offset_bytes;
        while at < end {
            let region = u128::from(at) * regions / capacity;
            let next = (((region + 1) * capacity).div_ceil(regions) as u64).min(end);
            self.regions[region as usize] += next - at;
            at = next;
        }
    }

    fn move_data(&mut self, request: &Request, begin_ns: u64) -> u64 {
        let Request { kind, offset_bytes, length_bytes, .. } = *request;
        let writes = kind == RequestKind::Write;
        self.counters[usize::from(writes)] += length_bytes;
        let (fixed_ns, mb_per_s) = if writes {
            self.note_written(offset_bytes, length_bytes);
            (self.profile.write_ns, self.profile.write_mb_per_s)
        } else {
            (self.profile.read_ns, self.profile.read_mb_per_s)
        };
        let link_ns = (length_bytes as f64 * 1e3 / self.profile.link_mb_per_s).round() as u64;
        let free_ns = &mut self.link_free_ns[usize::from(!writes)];
        *free_ns = (*free_ns).max(begin_ns) + link_ns;
        let linked_ns = *free_ns;
        self.transfer(offset_bytes, length_bytes, begin_ns, mb_per_s).max(linked_ns) + fixed_ns
    }
}

#[deny(clippy::missing_trait_methods)]
impl Immediate for XpointDrive {
    fn capacity_bytes(&self) -> u64 {
        self.profile.basics.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn page_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn advance_to(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn idle_ns(&mut self, ns: u64) {
        self.advance_to(self.now_ns.saturating_add(ns));
    }

    fn submit_one(&mut self, request: &Request) -> Completion {
        let submit_ns = request.submit_ns;
        if let Err(refusal) = check(request, self.capacity_bytes(), SECTOR_BYTES) {
            return Completion { complete_ns: submit_ns, status: Status::Refused(refusal) };
        }
        self.now_ns = self.now_ns.max(submit_ns);
        let begin_ns = self.enter(submit_ns).max(self.next_command_ns);
        self.next_command_ns = begin_ns + self.profile.command_interval_ns;
        let complete_ns = match request.kind {
            RequestKind::Read | RequestKind::Write => self.move_data(request, begin_ns),
            RequestKind::Flush => begin_ns.max(self.last_ns),
            RequestKind::Discard => begin_ns,
        };
        // At least 1 ns, so that no command completes at the instant of its submission.
        let complete_ns = complete_ns.max(begin_ns + 1);
        self.last_ns = self.last_ns.max(complete_ns);
        self.outstanding.push(Reverse(complete_ns));
        self.counters[2] += begin_ns - submit_ns;
        self.counters[3] += complete_ns - submit_ns;
        Completion { complete_ns, status: Status::Done }
    }

    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) {
        out.extend(batch.iter().map(|request| self.submit_one(request)));
    }

    fn prefetch(&mut self, _: &[mileage_workload::Op], _: &[mileage_workload::Op]) {}

    fn look_at_content(&mut self, _: Option<&mileage_workload::Workload>) -> bool {
        false
    }

    fn begin_lap(&mut self, _: u32) {}

    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    fn counter_names(&self) -> &'static [&'static str] {
        COUNTERS
    }

    fn counters(&self, out: &mut [u64]) {
        out.copy_from_slice(&self.counters);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        GAUGES
    }

    fn gauges(&self, out: &mut [u64]) {
        let (least, most) = (self.regions.iter().min(), self.regions.iter().max());
        out.copy_from_slice(&[least.copied().unwrap_or(0), most.copied().unwrap_or(0)]);
    }

    fn series_names(&self) -> &'static [&'static str] {
        SERIES
    }

    fn save(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(self.fingerprint());
        self.save_fields(&mut out);
        out.value(&sorted(self.outstanding.iter().map(|it| it.0).filter(|it| *it > self.now_ns)));
        Format::end(out)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut reader = FORMAT.open(state, self.fingerprint(), &self.profile.basics.name)?;
        let mut new = self.clone();
        new.restore_fields(&mut reader)?;
        let outstanding: Vec<u64> = reader.value()?;
        reader.end()?;
        reachable([new.now_ns, new.next_command_ns, new.last_ns].into_iter().chain(new.link_free_ns))?;
        reachable(new.dies_free_ns.iter().chain(&outstanding).copied())?;
        let sizes = |drive: &Self| (drive.dies_free_ns.len(), drive.regions.len());
        if sizes(&new) != sizes(self) || outstanding.len() > self.profile.queue_depth_max as usize {
            return corrupt("more dies, regions or commands than the drive has");
        }
        new.outstanding = outstanding.into_iter().map(Reverse).collect();
        *self = new;
        Ok(())
    }
}

#[deny(clippy::missing_trait_methods)]
impl ManagedImmediate for XpointDrive {
    fn basics(&self) -> &Basics {
        &self.profile.basics
    }

    fn life(&self) -> Life {
        Life::Working
    }

    /// There is nothing to erase: what was written is forgotten at once.
    fn purge(&mut self) {}

    fn power_cycle(&mut self) {
        self.now_ns = self.now_ns.max(self.last_ns);
    }

    fn power_cut(&mut self, at_ns: u64) -> Result<Vec<LostWrite>, PowerCutError> {
        let now_ns = self.now_ns;
        if at_ns < now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns });
        }
        self.now_ns = at_ns;
        let cut = |it: &mut u64| *it = (*it).min(at_ns);
        self.dies_free_ns.iter_mut().for_each(cut);
        self.link_free_ns.iter_mut().for_each(cut);
        (self.last_ns, self.next_command_ns) = (self.last_ns.min(at_ns), self.next_command_ns.min(at_ns));
        self.outstanding.clear();
        Ok(Vec::new())
    }

    fn undurable_at(&self, at_ns: u64) -> Result<Option<Undurable>, PowerCutError> {
        let now_ns = self.now_ns;
        if at_ns < now_ns { Err(PowerCutError::Past { at_ns, now_ns }) } else { Ok(None) }
    }

    fn discard_all(&mut self) {
        let (length_bytes, submit_ns) = (self.capacity_bytes(), self.now_ns);
        let kind = RequestKind::Discard;
        let completion = self.submit_one(&Request { kind, fua: false, offset_bytes: 0, length_bytes, submit_ns });
        self.advance_to(completion.complete_ns);
    }
}
