//! Paths of the files of a metadata workload, generated without allocation once it is set up.

use crate::error::Error;
use crate::metadata::{Directories, Items, Metadata, MetadataOp, MetadataOrder};
use crate::name_template::{RENAMED, Template};
use crate::pattern::{below, stream};
use std::ffi::CStr;

/// Purpose of the random stream, apart from those of byte workloads.
const PURPOSE: u64 = 16;
/// Digits of the largest number in a name.
const DIGITS_MAX: usize = 20;

/// The directories of a metadata workload, as paths relative to the run's directory, each ending in a slash (the run's
/// own is the empty path).
#[derive(Clone, Debug)]
pub struct MetadataLayout {
    /// For each tree, in order of the node numbers.
    trees: Vec<Vec<String>>,
    /// First node that holds files.
    first_node: usize,
    /// The directories are what the run is about, not where its files lie.
    are_items: bool,
}

impl MetadataLayout {
    /// The layout of a checked workload.
    ///
    /// # Errors
    /// The rule that the workload breaks.
    pub fn new(metadata: &Metadata) -> Result<Self, Error> {
        metadata.check()?;
        let node = Template::parse("names.node", &metadata.names.node)?;
        let trees = match metadata.directories {
            Directories::Shared => vec![tree(metadata, &node, String::new(), 0)],
            Directories::PerWorker => {
                let own = Template::parse("names.directory", &metadata.names.directory)?;
                let root = |worker| own.expand(worker, 0) + "/";
                (0..metadata.threads).map(|worker| tree(metadata, &node, root(worker), worker)).collect()
            }
        };
        let fan_out = u64::from(metadata.tree.fan_out);
        let leaves = if metadata.tree.leaves_only { fan_out.pow(metadata.tree.depth) } else { metadata.nodes() };
        let first_node = (metadata.nodes() - leaves) as usize;
        Ok(Self { trees, first_node, are_items: metadata.on == Items::Tree })
    }

    /// Every directory that must be made before files can be, parents first, without the run's own.
    pub fn to_make(&self) -> impl DoubleEndedIterator<Item = &str> {
        let trees = if self.are_items { &[] } else { self.trees.as_slice() };
        trees.iter().flatten().map(String::as_str).filter(|path| !path.is_empty())
    }

    /// The directories that hold a worker's files.
    pub fn holding(&self, worker: u32) -> &[String] {
        let tree = if self.trees.len() == 1 { 0 } else { worker as usize };
        &self.trees[tree][self.first_node..]
    }
}

/// Paths of one tree, level by level: the children of node `n` are `n * fan_out + 1` to `n * fan_out + fan_out`.
fn tree(metadata: &Metadata, name: &Template, root: String, worker: u32) -> Vec<String> {
    let (count, fan_out) = (metadata.nodes() as usize, metadata.tree.fan_out as usize);
    let mut paths = vec![root];
    for node in 1..count {
        let parent = &paths[(node - 1) / fan_out];
        paths.push(format!("{parent}{}/", name.expand(worker, node as u64)));
    }
    paths
}

/// The paths of one worker's files, written into a buffer of its own: nothing is allocated after construction.
#[derive(Clone, Debug)]
pub struct MetadataPaths {
    directories: Vec<Vec<u8>>,
    /// The items are the directories themselves.
    of_tree: bool,
    items: u64,
    /// Length of the path up to the item's number, and the directory it is in.
    stem: usize,
    current: usize,
    before: Vec<u8>,
    behind: Vec<u8>,
    path: Vec<u8>,
    renamed: Vec<u8>,
}

impl MetadataPaths {
    /// The files of `owner`, under `base` (empty, or ending in a slash).
    ///
    /// # Errors
    /// The rule that the workload breaks.
    pub fn new(metadata: &Metadata, layout: &MetadataLayout, base: &[u8], owner: u32) -> Result<Self, Error> {
        let (before, behind) = Template::parse("names.item", &metadata.names.item)?.around_item(owner);
        let whole = |path: &String| [base, path.as_bytes()].concat();
        let directories: Vec<Vec<u8>> = layout.holding(owner).iter().map(whole).collect();
        let longest = directories.iter().map(Vec::len).max().unwrap_or(0);
        let room = longest + before.len() + DIGITS_MAX + behind.len() + RENAMED.len() + 1;
        Ok(Self {
            directories,
            of_tree: metadata.on == Items::Tree,
            items: metadata.items_of(owner),
            stem: 0,
            current: usize::MAX,
            before: before.into_bytes(),
            behind: behind.into_bytes(),
            path: Vec::with_capacity(room),
            renamed: Vec::with_capacity(room),
        })
    }

    /// The path of an item.
    #[inline]
    pub fn path_of(&mut self, item: u64) -> &CStr {
        self.write(item);
        as_text(&self.path)
    }

    /// The path of an item, and the one it is renamed to.
    #[inline]
    pub fn pair_of(&mut self, item: u64) -> (&CStr, &CStr) {
        self.write(item);
        self.renamed.clear();
        self.renamed.extend_from_slice(&self.path[..self.path.len() - 1]);
        self.renamed.extend_from_slice(RENAMED);
        self.renamed.push(0);
        (as_text(&self.path), as_text(&self.renamed))
    }

    /// The path of a directory that holds files, by its place among them; `.` for the run's own.
    #[inline]
    pub fn directory(&mut self, index: usize) -> &CStr {
        self.current = usize::MAX;
        self.path.clear();
        self.path.extend_from_slice(&self.directories[index]);
        if self.path.is_empty() {
            self.path.push(b'.');
        }
        self.path.push(0);
        as_text(&self.path)
    }

    /// Directories that hold files.
    pub fn directories(&self) -> usize {
        self.directories.len()
    }

    #[inline]
    fn write(&mut self, item: u64) {
        if self.of_tree {
            self.write_directory(item as usize);
            return;
        }
        let directory = self.directory_of(item);
        if directory != self.current {
            self.enter(directory);
        }
        self.path.truncate(self.stem);
        push_number(&mut self.path, item);
        self.path.extend_from_slice(&self.behind);
        self.path.push(0);
    }

    /// A directory of the tree as an item: its path without the slash at the end.
    #[inline]
    fn write_directory(&mut self, node: usize) {
        let path = &self.directories[node];
        self.path.clear();
        self.path.extend_from_slice(&path[..path.len() - 1]);
        self.path.push(0);
    }

    /// Items are dealt to the directories in runs, the first directories taking the remainder.
    #[inline]
    fn directory_of(&self, item: u64) -> usize {
        let count = self.directories.len() as u64;
        if count == 1 {
            return 0;
        }
        let (each, rest) = (self.items / count, self.items % count);
        let longer = rest * (each + 1);
        let index = if item < longer { item / (each + 1) } else { rest + (item - longer) / each };
        index as usize
    }

    #[inline(never)]
    fn enter(&mut self, directory: usize) {
        self.current = directory;
        self.path.clear();
        self.path.extend_from_slice(&self.directories[directory]);
        self.path.extend_from_slice(&self.before);
        self.stem = self.path.len();
    }
}

fn as_text(bytes: &[u8]) -> &CStr {
    CStr::from_bytes_with_nul(bytes).expect("names hold no NUL, and one was put at the end")
}

#[inline]
fn push_number(path: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; DIGITS_MAX];
    let mut first = DIGITS_MAX;
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    path.extend_from_slice(&digits[first..]);
}

/// Iterator over the numbers of the items that one worker visits, in order, pass by pass.
#[derive(Clone, Debug)]
pub struct MetadataVisits {
    count: u64,
    passes: u32,
    position: u64,
    backwards: bool,
    shuffle: Option<(Vec<u32>, rand_xoshiro::Xoshiro256PlusPlus)>,
}

impl MetadataVisits {
    /// Paths that `worker` visits: its items (or those of another worker), or with readdir the directories that hold
    /// them. A shuffle takes 4 bytes of memory for each.
    ///
    /// # Errors
    /// The rule that the workload breaks.
    pub fn new(metadata: &Metadata, layout: &MetadataLayout, worker: u32) -> Result<Self, Error> {
        metadata.check()?;
        let count = Self::of_a_pass(metadata, layout, worker);
        let shuffled = metadata.order == MetadataOrder::Shuffled;
        let shuffle = shuffled.then(|| ((0..count as u32).collect(), stream(metadata.seed, worker, PURPOSE)));
        let (passes, backwards) = (metadata.passes, metadata.goes_backwards());
        let mut visits = Self { count, passes, position: 0, backwards, shuffle };
        visits.reshuffle();
        Ok(visits)
    }

    /// Number of items in one pass of a worker.
    fn of_a_pass(metadata: &Metadata, layout: &MetadataLayout, worker: u32) -> u64 {
        let owner = metadata.owner_for(worker);
        match metadata.operation {
            MetadataOp::Readdir => layout.holding(owner).len() as u64,
            _ => metadata.items_of(owner),
        }
    }

    /// Number of items in all passes of a worker of a checked workload.
    pub fn total_of(metadata: &Metadata, layout: &MetadataLayout, worker: u32) -> u64 {
        Self::of_a_pass(metadata, layout, worker).saturating_mul(u64::from(metadata.passes))
    }

    /// The next, or `None` after the last.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a hot loop's step, not something to chain")]
    pub fn next(&mut self) -> Option<u64> {
        if self.position == self.count {
            if self.passes == 1 {
                return None;
            }
            self.passes -= 1;
            self.position = 0;
            self.reshuffle();
        }
        let position = self.position;
        self.position += 1;
        Some(match &self.shuffle {
            None if self.backwards => self.count - 1 - position,
            None => position,
            Some((order, _)) => u64::from(order[position as usize]),
        })
    }

    /// Fisher and Yates, from the back.
    fn reshuffle(&mut self) {
        if let Some((order, rng)) = &mut self.shuffle {
            for last in (1..order.len()).rev() {
                let other = below(rng, last as u64 + 1) as usize;
                order.swap(last, other);
            }
        }
    }
}
