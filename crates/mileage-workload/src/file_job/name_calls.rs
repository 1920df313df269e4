//! The system calls of metadata operations (create, stat, rename, remove) of one task.

use super::NamesPart;
use super::file_call::{FileCall, HandleId, OpenHow};
use super::operation::{FileOperationKind, Next, Role};
use crate::error::Error;
use crate::metadata::{CreateCall, Items, Metadata, MetadataOp};
use crate::metadata_names::{MetadataLayout, MetadataPaths, MetadataVisits};
use std::collections::VecDeque;
use std::ffi::CStr;

/// Largest piece in which a file is written and read.
const PIECE_BYTES: u64 = 1 << 20;

/// The calls of one task.
#[derive(Debug)]
pub(super) struct NameCalls {
    metadata: Box<Metadata>,
    handle: HandleId,
    part: Part,
    /// Calls of the operation that has begun.
    queued: VecDeque<(FileCall, Role)>,
    deadline_ns: Option<u64>,
}

#[derive(Debug)]
enum Part {
    Operate(MetadataVisits, MetadataPaths),
    /// Each owner's items, the next last.
    Make(Vec<(MetadataPaths, u64)>, u64),
    /// Items yet to remove.
    Remove(MetadataPaths, VecDeque<u64>),
}

impl NameCalls {
    pub(super) fn new(base: &str, metadata: &Metadata, part: &NamesPart, handle: HandleId) -> Result<Self, Error> {
        let layout = MetadataLayout::new(metadata)?;
        let paths = |owner| MetadataPaths::new(metadata, &layout, base.as_bytes(), owner);
        let part = match part {
            NamesPart::Operate { worker } => {
                Part::Operate(MetadataVisits::new(metadata, &layout, *worker)?, paths(metadata.owner_for(*worker))?)
            }
            NamesPart::Make { owners } => {
                let items = |owner: &u32| Ok((paths(*owner)?, metadata.items_of(*owner)));
                Part::Make(owners.iter().rev().map(items).collect::<Result<_, Error>>()?, 0)
            }
            NamesPart::Remove { worker } => {
                let items = 0..metadata.items_of(*worker);
                // Directories of a tree are removed before those that they lie in.
                let is_tree = metadata.on == Items::Tree;
                Part::Remove(paths(*worker)?, if is_tree { items.rev().collect() } else { items.collect() })
            }
        };
        let metadata = Box::new(metadata.clone());
        Ok(Self { metadata, handle, part, queued: VecDeque::new(), deadline_ns: None })
    }

    pub(super) fn next(&mut self, now_ns: u64) -> Next {
        if self.queued.is_empty() && !self.queue_operation(now_ns) {
            return Next::End;
        }
        self.queued.pop_front().map_or(Next::End, |(call, role)| Next::Call(call, role))
    }

    /// Queue the calls of the next operation; whether there is one.
    fn queue_operation(&mut self, now_ns: u64) -> bool {
        let metadata = &self.metadata;
        match &mut self.part {
            Part::Operate(visits, paths) => {
                let deadline_ns =
                    *self.deadline_ns.get_or_insert(now_ns.saturating_add(metadata.time_ns.unwrap_or(u64::MAX)));
                let Some(item) = visits.next().filter(|_| now_ns < deadline_ns) else { return false };
                operate(metadata, self.handle, paths, item, &mut self.queued);
            }
            Part::Make(owners, item) => {
                while owners.last().is_some_and(|(_, items)| *item == *items) {
                    owners.pop();
                    *item = 0;
                }
                let Some((paths, _)) = owners.last_mut() else { return false };
                let path = text(paths.path_of(*item));
                *item += 1;
                if metadata.on_directories() {
                    end(&mut self.queued, FileCall::Mkdir { path });
                } else {
                    create(metadata, self.handle, path, &mut self.queued);
                }
            }
            Part::Remove(paths, items) => {
                let Some(item) = items.pop_front() else { return false };
                let (path, renamed) = paths.pair_of(item);
                let directory = metadata.on_directories();
                let tolerant = Role { ends: Some(FileOperationKind::Metadata), tolerant: true };
                // After a run that was ended, some items have the old name and some the new one.
                let names = [(metadata.operation == MetadataOp::Rename).then_some(renamed), Some(path)];
                let remove = |path: &CStr| (FileCall::Unlink { path: text(path), directory }, tolerant);
                self.queued.extend(names.into_iter().flatten().map(remove));
            }
        }
        true
    }
}

/// Paths are made of names in studies, which are UTF-8.
fn text(path: &CStr) -> String {
    path.to_string_lossy().into_owned()
}

/// A call that ends an operation.
fn end(queued: &mut VecDeque<(FileCall, Role)>, call: FileCall) {
    queued.push_back((call, Role::ends(FileOperationKind::Metadata)));
}

/// The calls of a metadata operation on an item.
fn operate(
    metadata: &Metadata,
    handle: HandleId,
    paths: &mut MetadataPaths,
    item: u64,
    queued: &mut VecDeque<(FileCall, Role)>,
) {
    let operation = metadata.operation;
    if operation == MetadataOp::Rename {
        let (from, to) = paths.pair_of(item);
        return end(queued, FileCall::Rename { from: text(from), to: text(to) });
    }
    let path = match operation {
        MetadataOp::Readdir => text(paths.directory(item as usize)),
        _ => text(paths.path_of(item)),
    };
    match operation {
        MetadataOp::Create => create(metadata, handle, path, queued),
        MetadataOp::Open | MetadataOp::Read => {
            queued.push_back((FileCall::Open { path, handle, how: OpenHow::default() }, Role::PART));
            if operation == MetadataOp::Read {
                let read = |(offset, length)| (FileCall::Read { handle, offset, length }, Role::PART);
                queued.extend(pieces(metadata.file_bytes.into()).map(read));
            }
            end(queued, FileCall::Close { handle });
        }
        MetadataOp::Stat => end(queued, FileCall::Stat { path }),
        MetadataOp::Utime => end(queued, FileCall::Utime { path }),
        MetadataOp::Unlink => end(queued, FileCall::Unlink { path, directory: false }),
        MetadataOp::Rmdir => end(queued, FileCall::Unlink { path, directory: true }),
        MetadataOp::Mkdir => end(queued, FileCall::Mkdir { path }),
        MetadataOp::Readdir => {
            let path = path.trim_end_matches(['/', '.']).to_owned();
            end(queued, FileCall::Readdir { path });
        }
        MetadataOp::Rename => unreachable!("handled before"),
    }
}

/// Create a file, fill it, sync it if asked, close it.
fn create(metadata: &Metadata, handle: HandleId, path: String, queued: &mut VecDeque<(FileCall, Role)>) {
    let how = match metadata.create_with {
        CreateCall::Exclusive => OpenHow { create: true, exclusive: true, ..OpenHow::default() },
        CreateCall::Truncating => OpenHow { create: true, truncate: true, ..OpenHow::default() },
        CreateCall::ReadWrite => OpenHow { create: true, ..OpenHow::default() },
    };
    queued.push_back((FileCall::Open { path, handle, how }, Role::PART));
    let write = |(offset, length)| (FileCall::Write { handle, offset, length }, Role::PART);
    queued.extend(pieces(metadata.file_bytes.into()).map(write));
    if metadata.fsync {
        queued.push_back((FileCall::Sync { handle, data_only: false }, Role::PART));
    }
    end(queued, FileCall::Close { handle });
}

/// Offset and length of each piece of a file.
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let starts = (0..bytes).step_by(PIECE_BYTES as usize);
    starts.map(move |offset| (offset, PIECE_BYTES.min(bytes - offset)))
}
