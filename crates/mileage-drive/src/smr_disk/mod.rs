//! Drive-managed shingled disks: [`ShingledDrive`] is a disk with a translation in front of it.
//!
//! # Model
//! The inner part is a [`DiskDrive`]: caches, queue, arm, and platters. At its outer diameter lies the media cache, a zone
//! without shingles; behind it every sector of the host has its home, in bands. Whatever the host writes is logged in the
//! media cache, behind a journal; whatever it reads comes from there or from home, in as many accesses as it lies in
//! parts. When the host has been idle for a while, or the media cache or its map is full to a mark, bands are cleaned
//! ([`band_cleaner`]) until the log is empty, also while the host works. A write for which there is no room waits for that.
//!
//! # Assumed
//! The map is in memory and read again from the journal after a power failure. A band whose writing is interrupted is written
//! again from what is still logged, so that cleaning loses nothing. Accesses of cleaning take a place of the disk's queue and
//! the controller's time as those of the host do.
//!
//! # Not modelled
//! Writes that go to their band at once: a region that was written in order was read from the media cache at first (source
//! 003). Guard tracks. A discard changes nothing.

mod band_cleaner;
mod bands;
mod commands;
mod media_cache;
mod requests;
mod saved_state;

use crate::block_device::{
    BlockDevice, Decisions, Event, EventClass, Fate, Loss, ManagedDevice, ManagementError, Misuse, PowerCut,
    Submission, Tag, TaggedCompletion,
};
use crate::counter_name_lists::joined;
use crate::device::{Life, Refusal, Status, check};
use crate::disk::{COUNTER_NAMES as DISK_COUNTERS, DiskDrive, GAUGE_NAMES as DISK_GAUGES};
use crate::management::PowerCutError;
use crate::number_hasher::NumberHashing;
use crate::page_sizes::PageSizes;
use crate::profile::Basics;
use crate::profile::disk::{DiskProfile, ShingleProfile};
use crate::saved_state::StateError;
use band_cleaner::CleaningJob;
use bands::Bands;
use media_cache::MediaCache;
use requests::{Command, LoggedPart, Owner};
use std::collections::{BTreeMap, HashMap, VecDeque};

const NEVER: u64 = u64::MAX;
const COUNTERS: &[&str] = &[
    "media_cache_bytes_written",
    "bands_cleaned",
    "cleaning_bytes_read",
    "cleaning_bytes_written",
    "writes_blocked",
    "writes_blocked_ns",
];
const GAUGES: &[&str] = &["media_cache_bytes", "media_cache_extents"];

/// A counter of its own, by its place among the names.
#[derive(Clone, Copy, Debug)]
enum Counter {
    Cached,
    Bands,
    CleaningRead,
    CleaningWritten,
    Blocked,
    BlockedNs,
}

/// Counters of the host's requests, by the name of the inner disk's counter of its own requests.
const HOST_COUNTERS: [&str; 6] =
    ["host_bytes_read", "host_bytes_written", "commands", "commands_sequential", "distance_sectors", "service_ns"];

/// The same, by its place among those names.
#[derive(Clone, Copy, Debug)]
enum HostCounter {
    Read,
    Written,
    Commands,
    Sequential,
    Distance,
    Service,
}

/// A simulated shingled (SMR) disk in virtual time; the module describes the model.
#[derive(Clone, Debug)]
pub struct ShingledDrive {
    profile: DiskProfile,
    figures: ShingleProfile,
    bands: Bands,
    disk: DiskDrive,
    cache: MediaCache,
    last_submit_ns: u64,
    off_ns: Option<u64>,
    /// Commands that were not refused.
    sequence: u64,
    /// Requests that the disk was given: their tags.
    inner_tags: u64,
    /// Behind the last sector of the host's last read or write.
    last_end: u64,
    /// Commands of the host by tag; completed ones are removed now and then.
    commands: HashMap<u64, Command, NumberHashing>,
    crowded: usize,
    /// Number of the host's commands whose completion is not determined yet.
    undecided: u64,
    /// Completion time of the host's last decided command.
    last_complete_ns: u64,
    /// Requests submitted at `last_submit_ns` that will be refused.
    refused: Vec<(u64, Refusal)>,
    /// Purpose of each request that the disk has not decided.
    owners: HashMap<u64, Owner, NumberHashing>,
    /// Writes to the log that are not durable, by the tag of the disk's request.
    logged: BTreeMap<u64, LoggedPart>,
    /// Tags of writes of which a part is not logged, for want of room.
    blocked: VecDeque<u64>,
    cleaning: Option<CleaningJob>,
    /// Time at which the fill mark was reached, or a write was blocked, while nothing was being cleaned.
    full_ns: Option<u64>,
    reports: bool,
    counters: [u64; COUNTERS.len()],
    host_counters: [u64; HOST_COUNTERS.len()],
    inner: Decisions,
}

/// The profile of the disk inside: what the host has and the media cache.
fn whole_disk(profile: &DiskProfile, figures: &ShingleProfile) -> DiskProfile {
    let mut disk = profile.clone();
    disk.basics.capacity_bytes += 512 * figures.cache_sectors;
    disk
}

impl ShingledDrive {
    /// A disk as it leaves the factory: nothing written, its clock at 0. `None`: the profile is not one of a shingled disk.
    pub fn new(profile: DiskProfile) -> Option<Self> {
        let figures = profile.shingled?;
        let unit = u64::from(profile.physical_sectors);
        let mut disk = DiskDrive::new(whole_disk(&profile, &figures));
        disk.report_persisted(true);
        Some(Self {
            bands: Bands::new(&profile, &figures),
            disk,
            cache: MediaCache::new(figures.cache_sectors, figures.cache_entries, figures.journal_sectors, unit),
            profile,
            figures,
            last_submit_ns: 0,
            off_ns: None,
            sequence: 0,
            inner_tags: 0,
            last_end: 0,
            commands: HashMap::default(),
            crowded: 64,
            undecided: 0,
            last_complete_ns: 0,
            refused: Vec::new(),
            owners: HashMap::default(),
            logged: BTreeMap::new(),
            blocked: VecDeque::new(),
            cleaning: None,
            full_ns: None,
            reports: false,
            counters: [0; COUNTERS.len()],
            host_counters: [0; HOST_COUNTERS.len()],
            inner: Decisions::default(),
        })
    }

    /// The data sheet.
    pub fn profile(&self) -> &DiskProfile {
        &self.profile
    }

    fn count(&mut self, counter: Counter, more: u64) {
        self.counters[counter as usize] += more;
    }

    /// Time of the next event of the media cache itself.
    fn own_event_ns(&self) -> Option<u64> {
        let refusal = (!self.refused.is_empty()).then_some(self.last_submit_ns);
        refusal.into_iter().chain(self.cleaning_due_ns()).min()
    }

    fn next_ns(&self) -> Option<u64> {
        let disk = self.disk.next_event().map(|event| event.at_ns);
        disk.into_iter().chain(self.own_event_ns()).min()
    }

    fn can_cut(&self, at_ns: u64) -> Result<(), PowerCutError> {
        let now_ns = self.disk.now_ns();
        if at_ns < now_ns {
            return Err(PowerCutError::Past { at_ns, now_ns });
        }
        match self.next_ns() {
            Some(event_ns) if event_ns < at_ns => Err(PowerCutError::PastEvent { at_ns, event_ns }),
            _ => Ok(()),
        }
    }

    /// Everything of the host that is outstanding at `at_ns` fails, and nothing is cleaned any more.
    fn fail_outstanding(&mut self, at_ns: u64, out: &mut Decisions) {
        let outstanding = self.commands.iter().filter(|(_, command)| command.complete_ns > at_ns);
        let mut failing: Vec<(u64, u64)> = outstanding.map(|(tag, command)| (command.sequence, *tag)).collect();
        failing.sort_unstable();
        let tags = failing.into_iter().map(|(_, tag)| tag).chain(self.refused.drain(..).map(|(tag, _)| tag));
        let status = Status::DroppedOff { at_ns };
        out.completions.extend(tags.map(|tag| TaggedCompletion { tag: Tag(tag), complete_ns: at_ns, status }));
        self.commands.clear();
        self.owners.clear();
        self.logged.clear();
        self.blocked.clear();
        (self.undecided, self.cleaning, self.full_ns) = (0, None, None);
        self.off_ns = Some(at_ns);
        self.last_submit_ns = at_ns.max(self.disk.now_ns());
        self.last_complete_ns = self.last_submit_ns;
    }
}

#[deny(clippy::missing_trait_methods)]
impl BlockDevice for ShingledDrive {
    fn capacity_bytes(&self) -> u64 {
        self.profile.basics.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.disk.sector_bytes()
    }

    fn page_bytes(&self) -> u32 {
        self.disk.page_bytes()
    }

    fn now_ns(&self) -> u64 {
        self.disk.now_ns()
    }

    fn submit(&mut self, submission: Submission) -> Result<(), Misuse> {
        let Submission { request, tag, .. } = submission;
        let (submit_ns, earliest_ns) = (request.submit_ns, self.disk.now_ns().max(self.last_submit_ns));
        if submit_ns < earliest_ns {
            return Err(Misuse::Past { submit_ns, earliest_ns });
        }
        if let Some(event_ns) = self.next_ns().filter(|event_ns| *event_ns < submit_ns) {
            return Err(Misuse::PastEvent { submit_ns, event_ns });
        }
        let outstanding = self.commands.get(&tag.0).is_some_and(|it| it.complete_ns > self.disk.now_ns());
        if outstanding || self.refused.iter().any(|(refused, _)| *refused == tag.0) {
            return Err(Misuse::DuplicateTag(tag));
        }
        let refusal = match self.off_ns {
            Some(at_ns) => Some(Refusal::DroppedOff { at_ns }),
            None => check(&request, self.capacity_bytes(), self.sector_bytes()).err(),
        };
        self.last_submit_ns = submit_ns;
        match refusal {
            Some(refusal) => {
                self.refused.push((tag.0, refusal));
                Ok(())
            }
            None => self.take(&request, tag.0),
        }
    }

    fn advance_to(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), Misuse> {
        while let Some(next_ns) = self.next_ns().filter(|next_ns| *next_ns < at_ns) {
            self.step(next_ns, out)?;
        }
        if at_ns > self.disk.now_ns() {
            self.move_disk(at_ns, out)?;
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Event> {
        let serves = !self.refused.is_empty() || self.undecided > 0;
        let class = if serves { EventClass::Foreground } else { EventClass::Background };
        self.next_ns().map(|at_ns| Event { at_ns, class })
    }

    fn report_persisted(&mut self, wanted: bool) {
        self.reports = wanted;
    }

    fn losses(&self, offset_bytes: u64, length_bytes: u64, cut: PowerCut) -> Result<Vec<Loss>, PowerCutError> {
        self.can_cut(cut.at_ns)?;
        let mut losses = Vec::new();
        let within = (offset_bytes / 512, offset_bytes.saturating_add(length_bytes).div_ceil(512));
        let mut lose = |tag, first: u64, end: u64, fate| {
            let (first, end) = (first.max(within.0), end.min(within.1));
            if first < end {
                let (offset_bytes, length_bytes) = (first * 512, (end - first) * 512);
                losses.push(Loss { tag: Tag(tag), offset_bytes, length_bytes, fate });
            }
        };
        let mut unknown = None;
        for loss in self.disk.losses(0, self.disk.capacity_bytes(), cut)? {
            let Some(part) = self.logged.get(&loss.tag.0) else { continue };
            let data = self.cache.place(part.position) + self.cache.journal();
            let (from, to) = (loss.offset_bytes / 512, (loss.offset_bytes + loss.length_bytes) / 512);
            let behind = data + (part.end - part.first);
            if unknown == Some(loss.tag) {
                continue;
            }
            if from < data {
                // Without its journal entry the disk cannot find the write after a power cut, so it is lost.
                unknown = Some(loss.tag);
                lose(part.tag, part.first, part.end, Fate::Old);
            } else if from < behind {
                lose(part.tag, part.first + (from - data), part.first + (to.min(behind) - data), loss.fate);
            }
        }
        for tag in &self.blocked {
            if let Some(command) = self.commands.get(tag) {
                lose(*tag, command.next, command.end, Fate::Old);
            }
        }
        Ok(losses)
    }

    fn counter_names(&self) -> &'static [&'static str] {
        joined(&[DISK_COUNTERS, COUNTERS])
    }

    fn counters(&self, out: &mut [u64]) {
        let (disk, own) = out.split_at_mut(DISK_COUNTERS.len());
        self.disk.counters(disk);
        for (name, value) in HOST_COUNTERS.iter().zip(self.host_counters) {
            if let Some(at) = DISK_COUNTERS.iter().position(|known| known == name) {
                disk[at] = value;
            }
        }
        own.copy_from_slice(&self.counters);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        joined(&[DISK_GAUGES, GAUGES])
    }

    fn gauges(&self, out: &mut [u64]) {
        let (disk, own) = out.split_at_mut(DISK_GAUGES.len());
        self.disk.gauges(disk);
        own.copy_from_slice(&[512 * self.cache.used(), self.cache.extents()]);
    }

    fn series_names(&self) -> &'static [&'static str] {
        joined(&[DISK_COUNTERS, COUNTERS, DISK_GAUGES, GAUGES])
    }

    fn save(&self) -> Vec<u8> {
        self.to_state()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        *self = self.restored(state)?;
        Ok(())
    }
}

#[deny(clippy::missing_trait_methods)]
impl ManagedDevice for ShingledDrive {
    fn page_sizes(&mut self) -> Option<&mut PageSizes> {
        None
    }

    fn basics(&self) -> &Basics {
        &self.profile.basics
    }

    fn life(&self) -> Life {
        Life::Working
    }

    /// Finish the band that is being cleaned first.
    fn may_lag(&self) -> bool {
        false
    }

    fn purge(&mut self) -> Result<(), ManagementError> {
        let now_ns = self.disk.now_ns();
        let outstanding = self.commands.values().filter(|command| command.complete_ns > now_ns).count() as u64;
        if outstanding > 0 {
            return Err(ManagementError::Busy { outstanding });
        }
        self.cleaning = None;
        self.finish_disk();
        self.disk.purge()?;
        self.cache.clear();
        (self.owners, self.full_ns) = (HashMap::default(), None);
        self.logged.clear();
        self.last_complete_ns = self.disk.now_ns();
        Ok(())
    }

    fn power_cut(&mut self, cut: PowerCut, out: &mut Decisions) -> Result<Vec<Loss>, ManagementError> {
        let losses = self.losses(0, self.capacity_bytes(), cut)?;
        let of_disk = self.disk.power_cut(cut, &mut Decisions::default())?;
        if self.off_ns.is_none() {
            let mut lost: Vec<(u64, u64)> = of_disk.iter().filter_map(|loss| self.lost_positions(loss)).collect();
            lost.sort_unstable();
            self.cache.recover(&lost);
            self.fail_outstanding(cut.at_ns, out);
        }
        Ok(losses)
    }

    fn power_off(&mut self, at_ns: u64, out: &mut Decisions) -> Result<(), ManagementError> {
        self.can_cut(at_ns)?;
        let mut inner = Decisions::default();
        self.disk.power_off(at_ns, &mut inner)?;
        if self.off_ns.is_none() {
            self.persisted(&inner.persisted, out);
            self.fail_outstanding(at_ns, out);
        }
        Ok(())
    }

    fn power_on(&mut self) {
        self.disk.power_on();
        self.off_ns = None;
    }
}
