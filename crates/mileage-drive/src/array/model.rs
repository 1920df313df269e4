//! What an array is made of and what it is doing: members, commands of the host, operations, requests to members, in one
//! place. The other files of this folder say what happens to them.

use super::cache::Cache;
use super::counters::{COUNTERS, Count, of_member};
use super::layout::Layout;
use super::pipes::Pipes;
use super::stripe::Range;
use super::work::{Command, Due, MemberRequest, Operation, Record, Sent, Slot, What};
use crate::block_device::{Decisions, ManagedDevice, Misuse, Tag, TaggedCompletion};
use crate::content_store::ContentStore;
use crate::device::{Refusal, Request};
use crate::profile::{Basics, Controller, Discards, Protocol};
use crate::tournament_tree::{Earliest, NEVER};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet, VecDeque};

/// What an array never changes.
#[derive(Clone, Debug)]
pub(crate) struct Constants {
    pub basics: Basics,
    pub layout: Layout,
    pub controller: Controller,
    pub discards: Discards,
    /// Of each device, the spares last.
    pub protocols: Vec<Protocol>,
    pub sector_bytes: u32,
    pub page_bytes: u32,
    /// Of each device, whether its clock may stand behind that of the array ([`ManagedDevice::may_lag`]).
    pub may_lag: Vec<bool>,
    pub counter_names: &'static [&'static str],
    pub gauge_names: &'static [&'static str],
    pub series_names: &'static [&'static str],
}

/// An array of devices. The text at the head of the folder says what it does.
#[derive(Clone, Debug)]
pub struct Array<M> {
    pub(crate) fixed: Constants,
    /// Members, and behind them the spares.
    pub(crate) devices: Vec<M>,
    /// The next event of each device.
    pub(crate) device_events: Earliest,
    /// Requests that each device has.
    pub(crate) loads: Vec<u32>,
    pub(crate) slots: Vec<Slot>,
    /// Spares that are left, in the order of their use.
    pub(crate) spares: Vec<usize>,
    pub(crate) now_ns: u64,
    pub(crate) last_submit_ns: u64,
    pub(crate) off_ns: Option<u64>,
    /// Since when its data is lost.
    pub(crate) lost_ns: Option<u64>,
    /// The instant whose events happen.
    pub(crate) at_ns: u64,
    pub(crate) next_command: u64,
    pub(crate) next_operation: u64,
    pub(crate) next_request: u64,
    pub(crate) refused: Vec<(Tag, u64, Refusal)>,
    pub(crate) commands: BTreeMap<u64, Command>,
    /// Decided, by (completion, number).
    pub(crate) decided: BTreeMap<(u64, u64), (Tag, Request)>,
    pub(crate) tags: HashSet<Tag>,
    pub(crate) operations: BTreeMap<u64, Operation>,
    pub(crate) requests: BTreeMap<u64, MemberRequest>,
    pub(crate) due: BinaryHeap<Reverse<Due>>,
    /// When a request is too late, in the order of their sending.
    pub(crate) deadlines: VecDeque<(u64, u64)>,
    /// Who holds a row, and who waits for it.
    pub(crate) rows: BTreeMap<u64, VecDeque<u64>>,
    /// Operations that wait for a range.
    pub(crate) waiting: BTreeSet<u64>,
    pub(crate) pipes: Pipes,
    pub(crate) cache: Cache,
    pub(crate) sent: BTreeMap<u64, Sent>,
    pub(crate) counters: [u64; COUNTERS.len()],
    /// What each device holds, if data is kept.
    pub(crate) stores: Option<Vec<ContentStore>>,
    pub(crate) reports_persisted: bool,
    pub(crate) unreported: VecDeque<Record>,
    /// Decisions of this call.
    pub(crate) out: Vec<TaggedCompletion>,
    /// Memory for the decisions of a member, empty between its uses.
    pub(crate) member_out: Decisions,
    /// What a member was found to do against its contract.
    pub(crate) misuse: Option<Misuse>,
}

/// What an array is made of besides its members.
#[derive(Clone, Debug)]
pub struct ArrayParts {
    /// Name, title, capacity.
    pub basics: Basics,
    /// How members share the data.
    pub level: crate::profile::Level,
    /// Bytes that follow each other on one member.
    pub chunk_bytes: u64,
    /// The controller.
    pub controller: Controller,
    /// What becomes of discards.
    pub discards: Discards,
    /// Of each member and spare.
    pub protocols: Vec<Protocol>,
    /// How many of the devices are spares; the last ones.
    pub spares: usize,
}

impl<M: ManagedDevice> Array<M> {
    /// An array of devices that nobody has used, the spares last.
    pub fn new(parts: ArrayParts, devices: Vec<M>) -> Self {
        let members = devices.len() - parts.spares;
        let capacities: Vec<u64> = devices[..members].iter().map(M::capacity_bytes).collect();
        let layout = Layout::new(parts.level, parts.chunk_bytes, &capacities);
        let name = |at: usize| {
            if at < members { format!("member{at}") } else { format!("spare{}", at - members) }
        };
        let prefixed = |names: fn(&M) -> &'static [&'static str], own: &'static [&'static str]| {
            let all = devices.iter().enumerate().map(|(at, device)| of_member(&name(at), names(device)));
            let lists: Vec<&'static [&'static str]> = [own].into_iter().chain(all).collect();
            crate::counter_name_lists::joined(&lists)
        };
        let counter_names = prefixed(M::counter_names, COUNTERS);
        let gauge_names = prefixed(M::gauge_names, super::counters::GAUGES);
        let fixed = Constants {
            counter_names,
            gauge_names,
            series_names: crate::counter_name_lists::joined(&[counter_names, gauge_names]),
            sector_bytes: devices.iter().map(M::sector_bytes).max().unwrap_or(512),
            page_bytes: devices.iter().map(M::page_bytes).max().unwrap_or(512),
            may_lag: devices.iter().map(M::may_lag).collect(),
            basics: parts.basics,
            controller: parts.controller,
            discards: parts.discards,
            protocols: parts.protocols,
            layout,
        };
        let now_ns = devices.iter().map(M::now_ns).max().unwrap_or(0);
        let mut array = Self {
            device_events: Earliest::new(devices.len(), NEVER),
            loads: vec![0; devices.len()],
            slots: (0..members).map(|device| Slot::Working { device }).collect(),
            spares: (members..devices.len()).collect(),
            pipes: Pipes::new(devices.len()),
            cache: Cache::new(&fixed.controller),
            fixed,
            devices,
            now_ns,
            last_submit_ns: now_ns,
            off_ns: None,
            lost_ns: None,
            at_ns: now_ns,
            next_command: 0,
            next_operation: 0,
            next_request: 0,
            refused: Vec::new(),
            commands: BTreeMap::new(),
            decided: BTreeMap::new(),
            tags: HashSet::new(),
            operations: BTreeMap::new(),
            requests: BTreeMap::new(),
            due: BinaryHeap::new(),
            deadlines: VecDeque::new(),
            rows: BTreeMap::new(),
            waiting: BTreeSet::new(),
            sent: BTreeMap::new(),
            counters: [0; COUNTERS.len()],
            stores: None,
            reports_persisted: false,
            unreported: VecDeque::new(),
            out: Vec::new(),
            member_out: Decisions::default(),
            misuse: None,
        };
        for device in 0..array.devices.len() {
            array.note_event(device);
        }
        array
    }

    pub(crate) fn count(&mut self, what: Count, by: u64) {
        self.counters[what as usize] += by;
    }

    pub(crate) fn note_event(&mut self, device: usize) {
        let at_ns = self.devices[device].next_event().map_or(NEVER, |event| event.at_ns);
        self.device_events.set(device as u32, at_ns);
    }

    pub(crate) fn happen(&mut self, at_ns: u64, what: What) {
        self.due.push(Reverse(Due { at_ns, what }));
    }

    /// The device at a place, if any can be used.
    pub(crate) fn device_at(&self, slot: usize) -> Option<usize> {
        match self.slots[slot] {
            Slot::Working { device } | Slot::Rebuilding { device, .. } => Some(device),
            Slot::Failed => None,
        }
    }

    /// The parts of a range of the member at a place that hold what they should.
    pub(crate) fn usable(&self, slot: usize, range: Range) -> Vec<Range> {
        match &self.slots[slot] {
            Slot::Working { .. } => vec![range],
            Slot::Failed => Vec::new(),
            Slot::Rebuilding { done, ahead, .. } => {
                let chunk = self.fixed.layout.chunk;
                let rows = (range.0 / chunk)..range.1.div_ceil(chunk);
                let held = rows.filter(|row| row < done || ahead.contains(row));
                let clipped = held.map(|row| (range.0.max(row * chunk), range.1.min((row + 1) * chunk)));
                super::stripe::joined(clipped.collect())
            }
        }
    }

    pub(crate) fn is_usable(&self, slot: usize, range: Range) -> bool {
        match self.slots[slot] {
            Slot::Working { .. } => true,
            _ => self.usable(slot, range) == [range],
        }
    }
}
