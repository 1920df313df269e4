//! What a power cut takes away of what was acknowledged as durable.
//!
//! While it is tracked, every write to the drive is remembered with what it carried: pages of a file, or a part of a
//! transaction. A synced write is lost if a page of it is lost and no later write of that page survived, or if a transaction
//! up to the one that made it durable is not whole in the journal: recovery stops at the first that is not.
//!
//! # Refused here
//! What a cut leaves of a file system whose journal was checkpointed meanwhile: tracking is for runs shorter than the age at
//! which metadata is written in place ([`HostProfile::dirty_age_ns`](crate::HostProfile)).

use crate::block_request::IoId;
use crate::page_cache::FileId;
use crate::wait::Pages;
use mileage_drive::Loss;
use std::collections::{BTreeMap, BTreeSet};

/// What a piece of I/O carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    Data(Pages),
    Journal(u64),
}

/// A write to the drive and its contents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrier {
    carried: Payload,
    offset: u64,
    length: u64,
}

/// A synced write.
#[derive(Clone, Debug)]
struct SyncedWrite {
    pages: Vec<(FileId, u32, IoId)>,
    transaction: u64,
}

/// What was written since tracking began, and what was acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteLog {
    pub began_ns: u64,
    pub carriers: BTreeMap<IoId, Carrier>,
    /// Requests by their tags, and the pieces of I/O in each.
    pub sent: BTreeMap<u64, Vec<IoId>>,
    written: Vec<(FileId, u32)>,
    acknowledged: Vec<SyncedWrite>,
}

/// What a power cut would leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survival {
    /// Synced writes so far.
    pub acknowledged: u64,
    /// Those of them that are lost.
    pub lost: u64,
}

impl WriteLog {
    pub(crate) fn since(began_ns: u64) -> Self {
        Self { began_ns, ..Self::default() }
    }

    pub(crate) fn note_data(&mut self, io: IoId, pages: Pages, offset: u64, length: u64) {
        self.carriers.insert(io, Carrier { carried: Payload::Data(pages), offset, length });
    }

    pub(crate) fn note_journal(&mut self, io: IoId, transaction: u64, offset: u64, length: u64) {
        self.carriers.insert(io, Carrier { carried: Payload::Journal(transaction), offset, length });
    }

    pub(crate) fn note_sent(&mut self, tag: u64, ios: &[IoId]) {
        self.sent.insert(tag, ios.to_vec());
    }

    pub(crate) fn note_written(&mut self, file: FileId, page: u32, count: u32) {
        self.written.extend((page..page + count).map(|page| (file, page)));
    }

    /// The last write-back of a page.
    fn carrier_of(&self, file: FileId, page: u32) -> Option<IoId> {
        let covers = |it: &Carrier| match it.carried {
            Payload::Data(pages) => pages.file == file && (pages.page..pages.page + pages.count).contains(&page),
            Payload::Journal(_) => false,
        };
        self.carriers.iter().rev().find(|(_, carrier)| covers(carrier)).map(|(io, _)| *io)
    }

    /// A file was synced: what was written to it is acknowledged. `transaction`: what made its metadata durable.
    pub(crate) fn acknowledge(&mut self, file: FileId, transaction: u64) {
        let written = std::mem::take(&mut self.written);
        let (own, other): (Vec<_>, Vec<_>) = written.into_iter().partition(|(of, _)| *of == file);
        self.written = other;
        let pages = own.into_iter().filter_map(|(file, page)| Some((file, page, self.carrier_of(file, page)?)));
        let pages: Vec<_> = pages.collect();
        if !pages.is_empty() {
            self.acknowledged.push(SyncedWrite { pages, transaction });
        }
    }

    /// The pieces of I/O that lose anything.
    fn lost_ios(&self, losses: &[Loss]) -> BTreeSet<IoId> {
        let mut lost = BTreeSet::new();
        for loss in losses {
            for io in self.sent.get(&loss.tag.0).into_iter().flatten() {
                let touches = |it: &Carrier| {
                    it.offset < loss.offset_bytes + loss.length_bytes && loss.offset_bytes < it.offset + it.length
                };
                if self.carriers.get(io).is_some_and(touches) {
                    lost.insert(*io);
                }
            }
        }
        lost
    }

    /// `outstanding`: pieces of I/O that never reached the drive.
    pub(crate) fn survival(&self, losses: &[Loss], outstanding: &BTreeSet<IoId>) -> Survival {
        let mut lost = self.lost_ios(losses);
        lost.extend(outstanding);
        let broken = lost.iter().filter_map(|io| match self.carriers.get(io)?.carried {
            Payload::Journal(transaction) => Some(transaction),
            Payload::Data(_) => None,
        });
        let first_broken = broken.min().unwrap_or(u64::MAX);
        let replaced = |file: FileId, page: u32, io: IoId| {
            self.carriers.range(io + 1..).any(|(later, it)| {
                let covers = matches!(it.carried, Payload::Data(pages)
                    if pages.file == file && (pages.page..pages.page + pages.count).contains(&page));
                covers && !lost.contains(later)
            })
        };
        let is_lost = |it: &SyncedWrite| {
            it.transaction >= first_broken
                || it.pages.iter().any(|(file, page, io)| lost.contains(io) && !replaced(*file, *page, *io))
        };
        let acknowledged = self.acknowledged.len() as u64;
        Survival { acknowledged, lost: self.acknowledged.iter().filter(|it| is_lost(it)).count() as u64 }
    }
}
