//! Description of a metadata workload: create, open, stat, rename, remove and list files or directories.
//!
//! A [`Metadata`] value is to a directory what a [`Workload`](crate::Workload) is to a file: valid once
//! [`Metadata::check`] has passed, and everything that takes one checks it. Where the files lie and what they are called
//! is in [`MetadataLayout`](crate::MetadataLayout).
//!
//! # Refused here
//! A field that the operation does not look at: bytes for a file that is never written, a second pass on files that
//! the first has removed.

use crate::error::{Error, in_range};
use crate::name_template::Template;
use crate::workload::{Workload, share};
use serde::{Deserialize, Serialize};

/// The timed operation, done once for each file (or directory).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataOp {
    /// Create a file, write `file_bytes` into it, `fsync` it if asked, close it.
    Create,
    /// Open an existing file for reading and close it.
    Open,
    /// Open an existing file, read its `file_bytes`, close it.
    Read,
    /// `stat`.
    Stat,
    /// Set access and modification time to now.
    Utime,
    /// Give it another name in the same directory.
    Rename,
    /// Remove a file.
    Unlink,
    /// Make a directory.
    Mkdir,
    /// Remove an empty directory.
    Rmdir,
    /// Open a directory that holds files, read all its entries, close it. Once for each directory, not for each file.
    Readdir,
}

impl MetadataOp {
    /// The word for it, as JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Read => "read",
            Self::Stat => "stat",
            Self::Utime => "utime",
            Self::Rename => "rename",
            Self::Unlink => "unlink",
            Self::Mkdir => "mkdir",
            Self::Rmdir => "rmdir",
            Self::Readdir => "readdir",
        }
    }

    /// Whether the items must exist before the operation.
    pub fn needs_items(self) -> bool {
        !matches!(self, Self::Create | Self::Mkdir)
    }

    /// Whether the operation can be repeated on the same items.
    fn repeats(self) -> bool {
        matches!(self, Self::Open | Self::Read | Self::Stat | Self::Utime | Self::Readdir)
    }
}

/// Kind of items of an operation that could have more than one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Items {
    /// Regular files.
    #[default]
    Files,
    /// Empty directories; `stat`, `utime` and `rename`.
    Directories,
    /// The directories of the workers' trees, each with the worker's own as its first; `mkdir`, and `rmdir` from the last.
    Tree,
}

/// Which directories hold the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directories {
    /// All workers use the same.
    #[default]
    Shared,
    /// Each worker has its own.
    PerWorker,
}

/// A tree of directories under the one (or each worker's own); depth 0 is that directory alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Levels below the first directory, 0 to 32.
    pub depth: u32,
    /// Directories in each directory above the last level, 1 to 65536.
    pub fan_out: u32,
    /// Files lie in the directories of the last level only; else in all, in equal numbers.
    #[serde(default)]
    pub leaves_only: bool,
}

impl Default for Tree {
    fn default() -> Self {
        Self { depth: 0, fan_out: 1, leaves_only: false }
    }
}

/// Order in which a worker visits its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataOrder {
    /// In the order of their numbers, in which they were created.
    #[default]
    InOrder,
    /// Each item once, in a seeded order; another order for every further pass.
    Shuffled,
}

/// System call that creates a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreateCall {
    /// `open(O_CREAT|O_EXCL|O_WRONLY, 0644)`: a file that is already there is an error.
    #[default]
    Exclusive,
    /// `creat(0666)`, that is `O_CREAT|O_WRONLY|O_TRUNC`, as metarates does.
    Truncating,
    /// `open(O_CREAT|O_RDWR, 0664)`, as mdtest does.
    ReadWrite,
}

/// Form of file names in calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paths {
    /// Relative to an open descriptor of the run's directory: the kernel does not walk down to it for every call.
    #[default]
    Relative,
    /// The whole path, as metarates and mdtest give it.
    Full,
}

/// How the items of an operation are created, before anything is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetUp {
    /// Each worker makes its own files, all at once.
    #[default]
    Owner,
    /// The first worker makes everybody's, those of the last worker first, as metarates does.
    First,
    /// They exist from a run that kept them.
    Existing,
}

/// Location of the run's directories and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In a new directory under the given one, removed at the end: what earlier runs left in a directory (its size, its
    /// index, inodes just freed) does not slow this one.
    #[default]
    Fresh,
    /// In the given directory itself.
    Given,
}

/// Names of files and directories. `{worker}`, `{item}` and `{node}` stand for numbers that start at 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Names {
    /// A file (or the directory that mkdir makes); has `{item}`, and `{worker}` if workers share their directories.
    pub item: String,
    /// The directory of a worker; has `{worker}`.
    pub directory: String,
    /// A directory of the tree; has `{node}`, its number counted level by level (the first directory is 0).
    pub node: String,
}

impl Default for Names {
    fn default() -> Self {
        Self { item: "f{worker}.{item}".to_owned(), directory: "w{worker}".to_owned(), node: "d{node}".to_owned() }
    }
}

/// A metadata workload. Valid once [`Metadata::check`] has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metadata {
    /// The timed operation.
    pub operation: MetadataOp,
    /// Kind of its items.
    pub on: Items,
    /// Files of all workers together, 1 to 2^32 - 1 for each; the first workers take the remainder. With `on` trees the
    /// directories of them all.
    pub files: u64,
    /// Workers, each a thread, 1 to 1024.
    pub threads: u32,
    /// Which directories hold the files.
    pub directories: Directories,
    /// A tree of directories.
    pub tree: Tree,
    /// Size of every file in bytes, up to 1 GiB; no two blocks of 4 KiB are equal.
    pub file_bytes: u32,
    /// Sync each file before it is closed; for create only.
    pub fsync: bool,
    /// Order of a worker's files.
    pub order: MetadataOrder,
    /// A worker works on the files of the worker this many numbers higher (modulo the workers), 0 to one less than the
    /// workers: files that one client created are then used by another.
    pub stride_workers: u32,
    /// Times each file is visited, 1 or more; more than 1 for operations that leave the files as they are.
    pub passes: u32,
    /// Source of the shuffle and of the files' content.
    pub seed: u64,
    /// Names of files and directories.
    pub names: Names,
    /// System call that creates a file, in the timed part or before it.
    pub create_with: CreateCall,
    /// Form of file names in calls.
    pub paths: Paths,
    /// How the items of the operation are created.
    pub set_up: SetUp,
    /// Location of the directories and files.
    pub place: Place,
    /// Keep the files that the run made or found; only in the given place.
    pub keep: bool,
    /// The timed part ends after this long at the latest, in nanoseconds, 1 or more; files not reached by then are not
    /// visited.
    pub time_ns: Option<u64>,
}

impl Default for Metadata {
    /// Creating files in one directory by one worker; how many is still to be given.
    fn default() -> Self {
        Self {
            operation: MetadataOp::Create,
            on: Items::Files,
            files: 0,
            threads: 1,
            directories: Directories::Shared,
            tree: Tree::default(),
            file_bytes: 0,
            fsync: false,
            order: MetadataOrder::InOrder,
            stride_workers: 0,
            passes: 1,
            seed: 0,
            names: Names::default(),
            create_with: CreateCall::Exclusive,
            paths: Paths::Relative,
            set_up: SetUp::Owner,
            place: Place::Fresh,
            keep: false,
            time_ns: None,
        }
    }
}

fn refused(what: &'static str, found: impl std::fmt::Display, expected: &'static str) -> Result<(), Error> {
    Err(Error::Refused { what, found: found.to_string(), expected })
}

impl Metadata {
    /// Largest file in bytes.
    pub const FILE_BYTES_MAX: u32 = 1 << 30;
    /// Most directories of a run, all workers together.
    pub const DIRECTORIES_MAX: u64 = 1_000_000;
    /// Deepest tree.
    pub const DEPTH_MAX: u32 = 32;
    /// Widest tree.
    pub const FAN_OUT_MAX: u32 = 65_536;

    /// Check that this can be done at all.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn check(&self) -> Result<(), Error> {
        let threads = u64::from(self.threads);
        in_range("threads", threads, 1, u64::from(Workload::THREADS_MAX))?;
        in_range("files", self.files, threads, threads * u64::from(u32::MAX))?;
        in_range("tree.depth", u64::from(self.tree.depth), 0, u64::from(Self::DEPTH_MAX))?;
        in_range("tree.fan_out", u64::from(self.tree.fan_out), 1, u64::from(Self::FAN_OUT_MAX))?;
        in_range("directories", self.directories_total(), 1, Self::DIRECTORIES_MAX)?;
        in_range("file_bytes", u64::from(self.file_bytes), 0, u64::from(Self::FILE_BYTES_MAX))?;
        in_range("stride_workers", u64::from(self.stride_workers), 0, threads - 1)?;
        in_range("passes", u64::from(self.passes), 1, u64::from(u32::MAX))?;
        if let Some(time_ns) = self.time_ns {
            in_range("time_ns", time_ns, 1, u64::MAX / 2)?;
        }
        self.check_effect()?;
        self.check_names()
    }

    /// Refuse fields without an effect.
    fn check_effect(&self) -> Result<(), Error> {
        use MetadataOp::{Create, Mkdir, Read, Rename, Rmdir, Stat, Utime};
        let operation = self.operation;
        if self.on == Items::Directories && !matches!(operation, Stat | Utime | Rename) {
            return refused("on", "directories", "only stat, utime and rename; mkdir, rmdir and readdir need no `on`");
        }
        if self.on == Items::Tree {
            self.check_tree()?;
        }
        let on_directories = self.on == Items::Directories || matches!(operation, Mkdir | Rmdir);
        if self.file_bytes > 0 && on_directories {
            return refused("file_bytes", self.file_bytes, "0, since this is done to directories");
        }
        if self.file_bytes == 0 && operation == Read {
            return refused("file_bytes", 0, "1 or more to read; opening and closing alone is the operation open");
        }
        if self.fsync && operation != Create {
            return refused("fsync", "true", "only with the operation create, which is the one that writes files");
        }
        if self.passes > 1 && !operation.repeats() {
            return refused("passes", self.passes, "1: the operation cannot be done to the same file again");
        }
        if self.stride_workers > 0 && !operation.needs_items() {
            return refused("stride_workers", self.stride_workers, "0: there are no files yet of another worker");
        }
        if self.set_up != SetUp::Owner && !operation.needs_items() {
            return refused("set_up", format!("{:?}", self.set_up), "owner: the operation needs nothing beforehand");
        }
        if self.create_with != CreateCall::Exclusive && (on_directories || self.set_up == SetUp::Existing) {
            return refused("create_with", format!("{:?}", self.create_with), "exclusive: the run creates no file");
        }
        if self.place == Place::Fresh && self.set_up == SetUp::Existing {
            return refused("place", "fresh", "given: a new directory holds no existing files");
        }
        if self.place == Place::Fresh && self.keep {
            return refused("keep", "true", "place = given: a fresh directory is removed with the run");
        }
        Ok(())
    }

    /// Check that operations on trees visit whole trees and in order.
    fn check_tree(&self) -> Result<(), Error> {
        if !matches!(self.operation, MetadataOp::Mkdir | MetadataOp::Rmdir) {
            return refused("on", "tree", "only with mkdir and rmdir");
        }
        if self.directories == Directories::Shared {
            return refused("directories", "shared", "per_worker: each worker makes or removes a tree of its own");
        }
        if self.files != self.directories_total() {
            return refused("files", self.files, "as many as there are directories in the trees of all workers");
        }
        if self.tree.leaves_only {
            return refused("tree.leaves_only", "true", "false: no files lie in the trees");
        }
        if self.order == MetadataOrder::Shuffled {
            return refused("order", "shuffled", "in_order: a directory is made before those in it");
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), Error> {
        let per_worker = self.directories == Directories::PerWorker;
        let item = Template::parse("names.item", &self.names.item)?;
        if !item.has_item() || item.has_node() {
            return refused("names.item", &self.names.item, "a name with {item} and without {node}");
        }
        if self.threads > 1 && !per_worker && !item.has_worker() {
            return refused("names.item", &self.names.item, "{worker} in it, since workers share their directories");
        }
        let directory = Template::parse("names.directory", &self.names.directory)?;
        if directory.has_item() || directory.has_node() || (self.threads > 1 && per_worker && !directory.has_worker()) {
            return refused("names.directory", &self.names.directory, "a name with {worker} alone");
        }
        let node = Template::parse("names.node", &self.names.node)?;
        if node.has_item() || !node.has_node() || (node.has_worker() && !per_worker) {
            return refused(
                "names.node",
                &self.names.node,
                "{node} in it, and {worker} only in workers' own directories",
            );
        }
        let files_next_to_directories = self.tree.depth > 0 && !self.tree.leaves_only && self.on != Items::Tree;
        if files_next_to_directories && item.may_equal(&node) {
            return refused(
                "names.node",
                &self.names.node,
                "another beginning than names.item has: both lie side by side",
            );
        }
        Ok(())
    }

    /// Directories of one tree, the first included; at most `u64::MAX`.
    pub(crate) fn nodes(&self) -> u64 {
        let levels = (0..=self.tree.depth).map(|level| u64::from(self.tree.fan_out).saturating_pow(level));
        levels.fold(0, u64::saturating_add)
    }

    /// Directories of all workers together that hold files or other directories, without the run's own.
    pub fn directories_total(&self) -> u64 {
        match self.directories {
            Directories::Shared => self.nodes(),
            Directories::PerWorker => self.nodes().saturating_mul(u64::from(self.threads)),
        }
    }

    /// Number of files of one worker.
    pub fn items_of(&self, worker: u32) -> u64 {
        share(self.files, worker, self.threads).1
    }

    /// The worker whose files a worker works on.
    pub fn owner_for(&self, worker: u32) -> u32 {
        (worker + self.stride_workers) % self.threads
    }

    /// Whether the operation works on directories that the run names like files.
    pub fn on_directories(&self) -> bool {
        self.on == Items::Directories || matches!(self.operation, MetadataOp::Mkdir | MetadataOp::Rmdir)
    }

    /// Whether items are removed from the last to the first.
    pub fn goes_backwards(&self) -> bool {
        self.on == Items::Tree && self.operation == MetadataOp::Rmdir
    }
}
