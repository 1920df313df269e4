//! The directories of a metadata run: opened, made before it and removed after it.

use crate::errno;
use crate::error::Error;
use crate::error::failed;
use crate::identity::Identity;
use crate::target;
use mileage_measure::RunError;
use mileage_workload::{MetadataLayout, Paths};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Number of names to try for a new directory.
const TRIES: u32 = 1000;

/// The directory in which a metadata run works.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// Beginning of whole paths: the run's directory, relative to `names_from` if there is one. Ends in a slash.
    base: Vec<u8>,
    /// The directory above that whole paths are given from.
    names_from: Option<PathBuf>,
    /// Made for this run, to be removed with it.
    fresh: bool,
    /// Identity of the run's directory, where a directory on the way to it was compared.
    own: Option<Identity>,
}

/// Directories that the run made, so far.
#[derive(Debug, Default)]
pub(super) struct Made(Vec<String>);

fn open_directory(path: &Path) -> Result<OwnedFd, Error> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(failed("open the directory", path))
}

impl Place {
    /// The given directory, or a new one in it. `names_from` is a directory above it; `known` is one of those on the way
    /// that must be as it says.
    pub(super) fn take(
        given: &Path,
        names_from: Option<&Path>,
        fresh: bool,
        known: Option<&(PathBuf, Identity)>,
    ) -> Result<Self, Error> {
        let directory = match known {
            Some((path, identity)) if path == given => target::open_directory(path, *identity)?,
            Some((path, identity)) => {
                drop(target::open_directory(path, *identity)?);
                open_directory(given)?
            }
            None => open_directory(given)?,
        };
        let below = names_from.map_or(Ok(given), |above| given.strip_prefix(above));
        if below.is_err() || below.is_ok_and(|path| path.as_os_str().is_empty()) {
            return Err(failed("name files from a directory above", given)(Errno::INVAL));
        }
        let (path, directory) = if fresh { make_fresh(given, &directory)? } else { (given.to_owned(), directory) };
        let own = known.map(|_| Identity::of(&directory)).transpose().map_err(failed("examine", &path))?;
        let below = names_from.and_then(|above| path.strip_prefix(above).ok()).unwrap_or(&path);
        let mut base = below.as_os_str().as_bytes().to_vec();
        if base.last() != Some(&b'/') {
            base.push(b'/');
        }
        Ok(Self { base, names_from: names_from.map(Path::to_owned), path, fresh, own })
    }

    /// Open the directory relative to which calls name files; `None` when they use whole paths.
    pub(super) fn open(&self, paths: Paths) -> Result<Option<OwnedFd>, Error> {
        if let Some(own) = self.own {
            let directory = target::open_directory(&self.path, own)?;
            if paths == Paths::Relative {
                return Ok(Some(directory));
            }
        }
        let directory = if paths == Paths::Relative { Some(&self.path) } else { self.names_from.as_ref() };
        directory.map(|path| open_directory(path)).transpose()
    }

    /// Whether links are followed.
    pub(super) fn follows(&self) -> bool {
        self.own.is_none()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Beginning of the paths in calls.
    pub(super) fn base(&self, paths: Paths) -> &[u8] {
        match paths {
            Paths::Relative => b"",
            Paths::Full => &self.base,
        }
    }

    /// The whole path of what a call named.
    pub(super) fn whole(&self, path: &CStr) -> PathBuf {
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        match &self.names_from {
            Some(above) if path.as_os_str().as_bytes().starts_with(&self.base) => above.join(path),
            _ if path.starts_with(&self.path) => path.to_owned(),
            _ => self.path.join(path),
        }
    }

    /// Make the directories of the layout, parents first. One that is there already is used, and stays.
    pub(super) fn make(&self, layout: &MetadataLayout, may_continue: impl Fn() -> bool) -> (Made, Option<RunError>) {
        let mut made = Made::default();
        for directory in layout.to_make() {
            if !may_continue() {
                break;
            }
            let path = self.path.join(directory);
            match rustix::fs::mkdir(&path, Mode::from_raw_mode(0o755)) {
                Ok(()) => made.0.push(directory.to_owned()),
                Err(Errno::EXIST) if !self.fresh && path.is_dir() => {}
                Err(errno) => {
                    let (kind, sentence, advice) = (errno::name(errno), errno::sentence(errno), errno::advice(errno));
                    let message = format!("set-up: mkdir of {}: {sentence} ({kind}){advice}", path.display());
                    return (made, Some(RunError { kind, message }));
                }
            }
        }
        (made, None)
    }

    /// Remove directories, children first, and the fresh one; why one is left, if so.
    pub(super) fn remove(&self, made: &Made) -> Option<String> {
        let own = self.fresh.then_some("");
        let mut left = None;
        for directory in made.0.iter().rev().map(String::as_str).chain(own) {
            let path = self.path.join(directory);
            if let Err(errno) = rustix::fs::unlinkat(rustix::fs::CWD, &path, AtFlags::REMOVEDIR)
                && errno != Errno::NOENT
            {
                let sentence = errno::sentence(errno);
                left.get_or_insert_with(|| format!("clean-up: rmdir of {}: {sentence}", path.display()));
            }
        }
        left
    }
}

impl Made {
    /// All directories of the layout, as an earlier run made them.
    pub(super) fn all(layout: &MetadataLayout) -> Self {
        Self(layout.to_make().map(str::to_owned).collect())
    }
}

/// A new directory in the one that is open, and its descriptor.
fn make_fresh(given: &Path, directory: &OwnedFd) -> Result<(PathBuf, OwnedFd), Error> {
    let process = std::process::id();
    for number in 0..TRIES {
        let name = format!("mileage-metadata-{process}-{number}");
        let path = given.join(&name);
        match rustix::fs::mkdirat(directory, &name, Mode::from_raw_mode(0o755)) {
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("make a directory in", given)(errno)),
            Ok(()) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let opened = rustix::fs::openat(directory, &name, flags, Mode::empty());
                return Ok((path.clone(), opened.map_err(failed("open the directory", &path))?));
            }
        }
    }
    Err(failed("make a directory in", given)(Errno::EXIST))
}
