//! Contents of the sectors of a device: sparse, as carried by the requests, with older versions for as long as a power
//! cut could bring them back.
//!
//! A layer that wants to know what a power cut leaves, or that has to return data, keeps a store next to its device and informs
//! it of every submission, decision and cut; devices themselves keep no data. The device must report what is durable
//! ([`crate::BlockDevice::report_persisted`]), else versions are kept for ever, and tags must not be used again.
//!
//! Of overlapping writes that are outstanding at the same time the one that the device decided last is the newest.

use crate::block_device::{Decisions, DurableExtent, Fate, Loss, Submission, Tag};
use crate::content::Content;
use crate::device::{RequestKind, Status};
use crate::saved_state::{Format, StateError, corrupt, saved_fields};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FORMAT: Format = Format { magic: "MILECONT", version: 2 };
const NEVER: u64 = u64::MAX;

/// Stored content of one sector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredContent {
    /// Nothing was written, or it was discarded.
    Nothing,
    /// Content of a write.
    Written(Content),
    /// A power cut tore it: it is read without an error and holds no version.
    Torn,
    /// A power cut damaged it: reading it fails.
    Unreadable,
}

impl StoredContent {
    fn part(&self, sectors: u64, length: u64, sector_bytes: u32) -> Self {
        match self {
            Self::Written(content) => Self::Written(content.part(sectors, length, sector_bytes)),
            other => other.clone(),
        }
    }
}

/// A write or discard that may not be durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Version {
    tag: Tag,
    from: u64,
    length: u64,
    stored: StoredContent,
    /// [`NEVER`] until it is decided.
    complete_ns: u64,
    durable_sectors: u64,
}

/// Contents of the written sectors of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentStore {
    sector_bytes: u32,
    /// Durable contents: first sector, sectors, content; without overlaps and without empty sectors.
    extents: BTreeMap<u64, (u64, StoredContent)>,
    /// Decided, in the order of decision, then undecided, in the order of submission.
    versions: Vec<Version>,
    decided: usize,
}

impl ContentStore {
    /// A store for a device that holds nothing.
    pub fn new(sector_bytes: u32) -> Self {
        Self { sector_bytes, extents: BTreeMap::new(), versions: Vec::new(), decided: 0 }
    }

    /// Versions that are kept because a power cut could lose newer ones.
    pub fn versions(&self) -> usize {
        self.versions.len()
    }

    /// The device took a request.
    pub fn submitted(&mut self, submission: &Submission) {
        let Submission { request, content, tag } = submission;
        let stored = match request.kind {
            RequestKind::Write => StoredContent::Written(content.clone()),
            RequestKind::Discard => StoredContent::Nothing,
            RequestKind::Read | RequestKind::Flush => return,
        };
        let sector = u64::from(self.sector_bytes);
        let (from, length) = (request.offset_bytes / sector, request.length_bytes / sector);
        self.versions.push(Version { tag: *tag, from, length, stored, complete_ns: NEVER, durable_sectors: 0 });
    }

    /// The device decided. What failed changed nothing.
    pub fn decided(&mut self, decisions: &Decisions) {
        for completion in &decisions.completions {
            let undecided = self.versions[self.decided..].iter().position(|version| version.tag == completion.tag);
            let Some(at) = undecided.map(|at| at + self.decided) else { continue };
            let mut version = self.versions.remove(at);
            if completion.status == Status::Done {
                version.complete_ns = completion.complete_ns;
                self.versions.insert(self.decided, version);
                self.decided += 1;
            }
        }
        decisions.persisted.iter().for_each(|persisted| self.persisted(persisted));
        let durable = |version: &Version| version.durable_sectors >= version.length;
        let settled = self.versions[..self.decided].iter().position(|version| !durable(version));
        let settled = settled.unwrap_or(self.decided);
        for version in self.versions.drain(..settled).collect::<Vec<_>>() {
            self.put(version.from, version.length, version.stored);
        }
        self.decided -= settled;
    }

    fn persisted(&mut self, persisted: &DurableExtent) {
        let sectors = persisted.length_bytes / u64::from(self.sector_bytes);
        if let Some(version) = self.versions.iter_mut().find(|version| version.tag == persisted.tag) {
            version.durable_sectors += sectors;
        }
    }

    /// The power failed, and the device lost this: what is left of all versions is durable now.
    pub fn cut(&mut self, losses: &[Loss]) {
        let sector = u64::from(self.sector_bytes);
        for version in std::mem::take(&mut self.versions) {
            let Version { tag, from, length, stored, .. } = version;
            let mut lost: Vec<(u64, u64, Fate)> = losses
                .iter()
                .filter(|loss| loss.tag == tag)
                .map(|loss| (loss.offset_bytes / sector, loss.length_bytes / sector, loss.fate))
                .collect();
            lost.sort_unstable();
            let mut at = from;
            for (lost_from, lost_length, fate) in lost {
                self.put(at, lost_from.saturating_sub(at), stored.part(at - from, lost_from - at, self.sector_bytes));
                match fate {
                    Fate::Old => {}
                    Fate::Torn => self.put(lost_from, lost_length, StoredContent::Torn),
                    Fate::Unreadable => self.put(lost_from, lost_length, StoredContent::Unreadable),
                }
                at = lost_from + lost_length;
            }
            let left = from + length - at;
            self.put(at, left, stored.part(at - from, left, self.sector_bytes));
        }
        self.decided = 0;
    }

    /// Everything was erased.
    pub fn purge(&mut self) {
        self.extents.clear();
        self.versions.clear();
        self.decided = 0;
    }

    /// Replace what is durable.
    fn put(&mut self, from: u64, length: u64, stored: StoredContent) {
        if length == 0 {
            return;
        }
        put_into(&mut self.extents, (from, length), stored, self.sector_bytes);
    }

    /// Contents of the sectors of a range at `now_ns`, as far as requests have completed: first sector, sectors,
    /// content, in the order of addresses; empty sectors are not listed.
    pub fn read(&self, offset_bytes: u64, length_bytes: u64, now_ns: u64) -> Vec<(u64, u64, StoredContent)> {
        let sector = u64::from(self.sector_bytes);
        let (first, end) = (offset_bytes / sector, (offset_bytes + length_bytes) / sector);
        let mut view = BTreeMap::new();
        let before = self.extents.range(..first).next_back();
        for (from, (length, stored)) in before.into_iter().chain(self.extents.range(first..end)) {
            view.insert(*from, (*length, stored.clone()));
        }
        for version in self.versions.iter().filter(|version| version.complete_ns <= now_ns) {
            if version.from < end && version.from + version.length > first {
                put_into(&mut view, (version.from, version.length), version.stored.clone(), self.sector_bytes);
            }
        }
        put_into(&mut view, (0, first), StoredContent::Nothing, self.sector_bytes);
        put_into(&mut view, (end, u64::MAX - end), StoredContent::Nothing, self.sector_bytes);
        view.into_iter().map(|(from, (length, stored))| (from, length, stored)).collect()
    }

    saved_fields!(extents, versions, decided);

    /// The store as bytes.
    pub fn save(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(u64::from(self.sector_bytes));
        self.save_fields(&mut out);
        Format::end(out)
    }

    /// The store that [`Self::save`] saved.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn restored(sector_bytes: u32, state: &[u8]) -> Result<Self, StateError> {
        let mut reader = FORMAT.open(state, u64::from(sector_bytes), "the content store")?;
        let mut store = Self::new(sector_bytes);
        store.restore_fields(&mut reader)?;
        if store.decided > store.versions.len() {
            return corrupt("more decided versions than there are");
        }
        reader.end()?;
        Ok(store)
    }
}

/// Replace a part of a map of extents.
fn put_into(
    extents: &mut BTreeMap<u64, (u64, StoredContent)>,
    range: (u64, u64),
    stored: StoredContent,
    sector_bytes: u32,
) {
    let (from, length) = range;
    let end = from + length;
    let touched: Vec<u64> = {
        let before = extents.range(..from).next_back().filter(|(start, (length, _))| *start + length > from);
        before.into_iter().chain(extents.range(from..end)).map(|(start, _)| *start).collect()
    };
    for start in touched {
        let Some((old_length, old)) = extents.remove(&start) else { continue };
        if start < from {
            extents.insert(start, (from - start, old.part(0, from - start, sector_bytes)));
        }
        let old_end = start + old_length;
        if old_end > end {
            extents.insert(end, (old_end - end, old.part(end - start, old_end - end, sector_bytes)));
        }
    }
    if stored != StoredContent::Nothing && length > 0 {
        extents.insert(from, (length, stored));
    }
}
