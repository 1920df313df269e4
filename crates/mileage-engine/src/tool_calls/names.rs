//! Operations on names as mdtest makes them: one call after the other, on names below one directory.
//!
//! Every directory on the way is opened once, without following a symbolic link, and names are looked up in it: nothing
//! outside the directory that the caller opened can be made, changed or removed. mdtest itself looks up whole paths.

use super::directories::Directories;
use super::ior_content::Content;
use crate::memory::Pages;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fsync, mkdirat, mknodat, openat, renameat, statat, unlinkat};
use rustix::io::{Errno, read, write};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::Instant;

/// Operations of one kind on numbered names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameWork {
    operation: Operation,
    /// Directories with their names' beginnings, each with the numbers of its items.
    groups: Vec<Group>,
    /// Bytes that are written to a new file, or read from one.
    bytes: usize,
    /// What is written.
    content: Option<Content>,
    /// `fsync` after writing.
    sync: bool,
    /// What is read is compared with what is written.
    compare: bool,
    /// Seconds after which it ends; 0: never.
    deadline_s: f64,
    /// Operations that are made at most, counted over all groups.
    most: u64,
    /// Operations that were made before.
    done: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// Everything before the number.
    prefix: String,
    numbers: Numbers,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Numbers {
    Range {
        first: u64,
        count: u64,
    },
    List(Vec<u64>),
    /// The name has no number.
    Plain,
}

impl Numbers {
    fn len(&self) -> u64 {
        match self {
            Self::Range { count, .. } => *count,
            Self::List(all) => all.len() as u64,
            Self::Plain => 1,
        }
    }

    fn at(&self, place: u64) -> Option<u64> {
        match self {
            Self::Range { first, .. } => Some(first + place),
            Self::List(all) => Some(all[place as usize]),
            Self::Plain => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Mkdir,
    Rmdir,
    Create,
    Mknod,
    Stat,
    Read,
    Unlink,
    /// The first name is set aside, each further item takes the name before its own, and the first one the last name.
    Rename,
}

/// What was done.
#[derive(Clone, Debug, Serialize)]
pub struct NamesDone {
    operations: u64,
    /// Files whose data differed.
    errors: u64,
    seconds: f64,
    /// The path and error at which it stopped.
    failed: Option<(String, i32)>,
    /// Paths at which a call failed that mdtest only warns of, each with its error.
    warnings: Vec<(String, i32)>,
}

const CREATED: u32 = 0o664;

/// A name in an open directory, or in one that cannot be opened: each call then fails as with the whole path.
struct Place {
    directory: Result<Rc<OwnedFd>, Errno>,
    name: String,
}

impl Place {
    fn at(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.directory.as_ref().map(|directory| directory.as_fd()).map_err(|error| *error)
    }
}

impl NameWork {
    /// Make the calls on names below an open directory.
    #[must_use]
    pub fn run(&self, base: BorrowedFd<'_>) -> NamesDone {
        let mut done = NamesDone { operations: self.done, errors: 0, seconds: 0.0, failed: None, warnings: Vec::new() };
        let Ok(mut buffer) = Pages::new(self.bytes.max(1)) else {
            done.failed = Some((String::new(), Errno::NOMEM.raw_os_error()));
            return done;
        };
        if let Some(content) = &self.content {
            content.fill(buffer.part_mut(0..self.bytes));
        }
        let began = Instant::now();
        let mut directories = Directories::below(base);
        let (mut last, mut aside): (Option<Place>, Option<Place>) = (None, None);
        let mut before = 0;
        'all: for group in &self.groups {
            let count = group.numbers.len();
            let first = self.done.saturating_sub(before).min(count);
            before += count;
            if first == count || done.operations >= self.most {
                continue;
            }
            let (directory, start) = directories.holding(&group.prefix);
            let mut here = Place { directory, name: String::new() };
            for place in first..count {
                if done.operations >= self.most {
                    break 'all;
                }
                named(&mut here.name, start, group.numbers.at(place));
                if self.operation == Operation::Rename && aside.is_none() {
                    let name = format!("{}-XX", here.name);
                    aside = Some(Place { directory: here.directory.clone(), name: name.clone() });
                    last = Some(Place { directory: here.directory.clone(), name });
                }
                let path = || format!("{}{}", group.prefix, &here.name[start.len()..]);
                match self.one(&here, last.as_ref(), &mut buffer) {
                    Ok(equal) => done.errors += u64::from(!equal),
                    Err(error) if !self.ends_at(error) => done.warnings.push((path(), error.raw_os_error())),
                    Err(error) => {
                        done.failed = Some((path(), error.raw_os_error()));
                        break 'all;
                    }
                }
                if self.operation == Operation::Rename {
                    let next = Place { directory: here.directory.clone(), name: String::new() };
                    last = Some(std::mem::replace(&mut here, next));
                }
                done.operations += 1;
                if self.deadline_s > 0.0 && began.elapsed().as_secs_f64() > self.deadline_s {
                    break 'all;
                }
            }
        }
        if let (Some(aside), Some(last)) = (&aside, &last)
            && done.failed.is_none()
            && let Err(error) = moved(aside, last)
        {
            done.failed = Some((aside.name.clone(), error.raw_os_error()));
        }
        done.seconds = began.elapsed().as_secs_f64();
        done
    }

    /// Whether mdtest ends at this error: of making a file, or of opening one to read it; it warns of others.
    fn ends_at(&self, error: Errno) -> bool {
        match self.operation {
            Operation::Create | Operation::Mknod => true,
            Operation::Read => error != Errno::NODATA,
            _ => false,
        }
    }

    /// One call; `renamed`: the place that a renamed item takes.
    fn one(&self, here: &Place, renamed: Option<&Place>, buffer: &mut Pages) -> Result<bool, Errno> {
        let mode = Mode::from_raw_mode(CREATED);
        let (at, name) = (here.at()?, here.name.as_str());
        match self.operation {
            Operation::Mkdir => mkdirat(at, name, Mode::from_raw_mode(0o775))?,
            Operation::Rmdir => unlinkat(at, name, AtFlags::REMOVEDIR)?,
            Operation::Unlink => unlinkat(at, name, AtFlags::empty())?,
            Operation::Mknod => mknodat(at, name, FileType::RegularFile, Mode::from_raw_mode(0o400), 0)?,
            Operation::Stat => drop(statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?),
            Operation::Rename => moved(here, renamed.ok_or(Errno::INVAL)?)?,
            Operation::Create => {
                let file = openat(at, name, OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW, mode)?;
                let mut left = buffer.part_mut(0..self.bytes);
                while !left.is_empty() {
                    let moved = write(&file, &*left)?;
                    left = &mut left[moved..];
                }
                if self.sync && self.bytes > 0 {
                    fsync(&file)?;
                }
            }
            Operation::Read => {
                let file = openat(at, name, OFlags::RDWR | OFlags::NOFOLLOW, mode)?;
                let mut moved = 0;
                while moved < self.bytes {
                    match read(&file, buffer.part_mut(moved..self.bytes))? {
                        0 => return Err(Errno::NODATA),
                        step => moved += step,
                    }
                }
                let content = self.content.as_ref().filter(|_| self.compare);
                return Ok(content.is_none_or(|content| content.holds(buffer.part_mut(0..self.bytes), 0)));
            }
        }
        Ok(true)
    }
}

fn moved(from: &Place, to: &Place) -> Result<(), Errno> {
    renameat(from.at()?, &from.name, to.at()?, &to.name)
}

fn named(name: &mut String, start: &str, number: Option<u64>) {
    name.clear();
    name.push_str(start);
    if let Some(number) = number {
        let _written = write!(name, "{number}");
    }
}
