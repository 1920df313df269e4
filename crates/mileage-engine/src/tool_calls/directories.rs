//! Directories below one that is open, each opened once and without following a symbolic link.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::collections::HashMap;
use std::rc::Rc;

/// Directories that are kept open at most.
const OPEN_MOST: usize = 256;

/// The directories of names below `base`.
pub(crate) struct Directories<'a> {
    base: BorrowedFd<'a>,
    open: HashMap<String, Rc<OwnedFd>>,
}

impl<'a> Directories<'a> {
    pub(crate) fn below(base: BorrowedFd<'a>) -> Self {
        Self { base, open: HashMap::new() }
    }

    /// The directory that holds the names which begin as `path` does, and the beginning of the names in it. A slash at
    /// the end of a path belongs to the name: it is that of a directory.
    pub(crate) fn holding<'b>(&mut self, path: &'b str) -> (Result<Rc<OwnedFd>, Errno>, &'b str) {
        let end = path.trim_end_matches('/').len();
        let (directory, name) =
            path[..end].rsplit_once('/').map_or(("", path), |(one, _)| (one, &path[one.len() + 1..]));
        if let Some(found) = self.open.get(directory) {
            return (Ok(Rc::clone(found)), name);
        }
        if self.open.len() >= OPEN_MOST {
            self.open.clear();
        }
        let found = self.opened(if directory.is_empty() { "." } else { directory }).map(Rc::new);
        if let Ok(found) = &found {
            self.open.insert(directory.to_owned(), Rc::clone(found));
        }
        (found, name)
    }

    fn opened(&self, directory: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(self.base, directory, flags, Mode::empty(), resolve) {
            // Before Linux 5.6: one part after the other.
            Err(Errno::NOSYS) => {
                let mut at: Option<OwnedFd> = None;
                for part in directory.split('/').filter(|part| !part.is_empty()) {
                    let from = at.as_ref().map_or(self.base, AsFd::as_fd);
                    at = Some(openat(from, part, flags, Mode::empty())?);
                }
                at.ok_or(Errno::NOENT)
            }
            found => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Directories;
    use rustix::fd::AsFd;
    use std::fs::{File, create_dir_all};
    use std::os::unix::fs::symlink;
    use std::rc::Rc;

    #[test]
    fn names_are_split_into_directory_and_beginning() {
        let folder = tempfile::tempdir().unwrap();
        create_dir_all(folder.path().join("a/b")).unwrap();
        let base = File::open(folder.path()).unwrap();
        let mut directories = Directories::below(base.as_fd());
        let (one, name) = directories.holding("a/b/file.");
        assert_eq!(name, "file.");
        assert_eq!(directories.holding("a/b/").1, "b/");
        assert_eq!(directories.holding("a").1, "a");
        assert!(Rc::ptr_eq(&one.unwrap(), &directories.holding("a/b/other").0.unwrap()));
    }

    #[test]
    fn no_way_leads_through_a_link_or_out_of_the_base() {
        let folder = tempfile::tempdir().unwrap();
        create_dir_all(folder.path().join("base/real/a")).unwrap();
        symlink(folder.path(), folder.path().join("base/link")).unwrap();
        let base = File::open(folder.path().join("base")).unwrap();
        let mut directories = Directories::below(base.as_fd());
        assert!(directories.holding("link/file").0.is_err());
        assert!(directories.holding("link/a/file").0.is_err());
        assert!(directories.holding("../file").0.is_err());
        assert!(directories.holding("real/file").0.is_ok());
    }
}
