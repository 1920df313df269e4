//! The state of a shingled disk as bytes: the log and its map, commands, cleaning, and the state of the disk inside.

use super::media_cache::Extent;
use super::requests::{Command, Owner};
use super::{Decisions, ShingledDrive};
use crate::block_device::BlockDevice;
use crate::saved_state::{Format, StateError, fingerprint, reachable, saved_fields};
use std::collections::BTreeMap;

const FORMAT: Format = Format { magic: "MILESHNG", version: 2 };

impl ShingledDrive {
    saved_fields!(
        off_ns,
        sequence,
        inner_tags,
        last_end,
        undecided,
        last_complete_ns,
        full_ns,
        reports,
        host_counters,
        refused,
        logged,
        blocked,
        cleaning,
    );

    pub(super) fn to_state(&self) -> Vec<u8> {
        let mut out = FORMAT.begin(fingerprint(&self.profile.basics.figures));
        let now_ns = self.disk.now_ns();
        out.value(&now_ns.max(self.last_submit_ns));
        self.save_fields(&mut out);
        out.words(self.counters);
        let mut commands: Vec<_> = self.commands.iter().filter(|(_, it)| it.complete_ns > now_ns).collect();
        commands.sort_unstable_by_key(|(_, it)| it.sequence);
        out.value(&commands);
        out.value(&self.owners.iter().collect::<BTreeMap<_, _>>());
        out.value(&(self.cache.head, &self.cache.log));
        out.value(&self.cache.overlapping(0, u64::MAX).collect::<Vec<Extent>>());
        out.bytes(&self.disk.save());
        Format::end(out)
    }

    pub(super) fn restored(&self, state: &[u8]) -> Result<Self, StateError> {
        let mut reader = FORMAT.open(state, fingerprint(&self.profile.basics.figures), &self.profile.basics.name)?;
        let mut it = self.clone();
        it.inner = Decisions::default();
        it.last_submit_ns = reader.value()?;
        it.restore_fields(&mut reader)?;
        reader.words(&mut it.counters)?;
        let commands: Vec<(u64, Command)> = reader.value()?;
        it.commands = commands.into_iter().collect();
        let owners: Vec<(u64, Owner)> = reader.value()?;
        it.owners = owners.into_iter().collect();
        (it.cache.head, it.cache.log) = reader.value()?;
        let extents: Vec<Extent> = reader.value()?;
        it.cache.set_map(&extents);
        reachable(
            [it.last_submit_ns, it.last_complete_ns, it.cache.head].into_iter().chain(it.off_ns).chain(it.full_ns),
        )?;
        it.disk.restore(reader.rest())?;
        Ok(it)
    }
}
