//! The block device under a target, and the counters that the kernel keeps of it.
//!
//! They count everything that reaches the device, from any program: comparing them with a run's own figures shows what
//! caches absorbed and what other programs did. The columns are those of the kernel's documentation "block/stat".

use rustix::fs::{AtFlags, FileType, StatxFlags, major, minor};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A sector of these counters, whatever the device's own are.
const SECTOR_BYTES: u64 = 512;

/// Name, column and factor of each counter that is kept.
const COUNTERS: [(&str, usize, u64); 11] = [
    ("reads", 0, 1),
    ("read_bytes", 2, SECTOR_BYTES),
    ("read_ms", 3, 1),
    ("writes", 4, 1),
    ("write_bytes", 6, SECTOR_BYTES),
    ("write_ms", 7, 1),
    ("busy_ms", 9, 1),
    ("discards", 11, 1),
    ("discard_bytes", 13, SECTOR_BYTES),
    ("flushes", 15, 1),
    ("flush_ms", 16, 1),
];

/// The block devices under the target of a run: one, or several that a file system joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    stats: Vec<PathBuf>,
}

/// Values of the kernel's counters of a device at one time; `None` if they cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters(Option<[u64; COUNTERS.len()]>);

impl Device {
    /// The device that holds `path`, or would: that of its folder if it does not exist. `None` where there is none:
    /// memory, a network, a file system of some program.
    pub(crate) fn under(path: &Path) -> Option<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let found = rustix::fs::stat(path).map(|stat| (path, stat));
        let (at, stat) = found.or_else(|_| rustix::fs::stat(folder).map(|stat| (folder, stat))).ok()?;
        let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
        let number = if is_device { stat.st_rdev } else { stat.st_dev };
        let own = PathBuf::from(format!("/sys/dev/block/{}:{}/stat", major(number), minor(number)));
        if own.exists() {
            return Some(Self { stats: vec![own] });
        }
        let stats = members(&mounted_from(at)?);
        if stats.is_empty() { None } else { Some(Self { stats }) }
    }

    /// The counters now, summed over the devices; nothing if one of them was removed.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = [0; COUNTERS.len()];
        for path in &self.stats {
            let Some(one) = std::fs::read_to_string(path).ok().and_then(|line| columns(&line)) else {
                return Counters(None);
            };
            sum.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
        }
        Counters(Some(sum))
    }
}

impl Counters {
    /// Differences of the counters from here to `later`, by name; empty if either could not be read.
    pub(crate) fn until(&self, later: &Self) -> BTreeMap<String, u64> {
        let (Some(before), Some(after)) = (self.0, later.0) else { return BTreeMap::new() };
        let names = COUNTERS.iter().map(|(name, ..)| (*name).to_owned());
        // A counter of the kernel may wrap.
        names.zip(before.iter().zip(after).map(|(before, after)| after.wrapping_sub(*before))).collect()
    }
}

/// One line of a `stat` file. A kernel too old for a column has counted nothing there.
fn columns(line: &str) -> Option<[u64; COUNTERS.len()]> {
    let columns: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    if columns.len() < 11 {
        return None;
    }
    Some(COUNTERS.map(|(_, column, factor)| columns.get(column).map_or(0, |count| count.wrapping_mul(factor))))
}

/// Source of the mount at `path`, found by the mount's number, because a file system over several devices shows none
/// of their numbers.
fn mounted_from(path: &Path) -> Option<PathBuf> {
    let asked = StatxFlags::MNT_ID;
    let status = rustix::fs::statx(rustix::fs::CWD, path, AtFlags::empty(), asked).ok()?;
    let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
    let source = source_of(&mounts, status.stx_mnt_id)?;
    source.starts_with("/dev").then_some(source)
}

/// The source of the mount with this number: the second field after the dash of its line.
///
/// The kernel ends lines with a line feed and sets fields apart by one space; in names it writes both, tabs and
/// backslashes as octal escapes. Every other byte belongs to the name, whether or not it is UTF-8.
fn source_of(mounts: &[u8], number: u64) -> Option<PathBuf> {
    let number = number.to_string();
    let mut lines = mounts.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b' '));
    let mut line = lines.find(|line| line.clone().next() == Some(number.as_bytes()))?;
    line.find(|field| *field == b"-")?;
    line.nth(1).map(|source| PathBuf::from(OsString::from_vec(unescaped(source))))
}

/// A name without the kernel's octal escapes.
fn unescaped(mut name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    while let [first, rest @ ..] = name {
        name = rest;
        text.push(match rest {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if *first == b'\\' => {
                name = after;
                (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
            }
            _ => *first,
        });
    }
    text
}

/// The `stat` files of all devices of the btrfs file system that `source` belongs to.
fn members(source: &Path) -> Vec<PathBuf> {
    let (Some(name), Ok(systems)) = (source.file_name(), std::fs::read_dir("/sys/fs/btrfs")) else {
        return Vec::new();
    };
    let devices = systems.flatten().map(|system| system.path().join("devices"));
    let Some(ours) = devices.into_iter().find(|devices| devices.join(name).exists()) else { return Vec::new() };
    let members = std::fs::read_dir(ours).into_iter().flatten().flatten();
    members.map(|member| member.path().join("stat")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Counters, Device, columns, source_of};
    use std::path::{Path, PathBuf};

    #[test]
    fn a_line_of_the_kernel_is_read_by_its_columns() {
        let line = "  10 1 80 5 20 2 160 7 0 9 12 3 0 24 4 6 8\n";
        let after = Counters(columns(line));
        let before = Counters(columns("0 0 0 0 0 0 0 0 0 0 0"));
        let counted = before.until(&after);
        let expected = [
            ("reads", 10),
            ("read_bytes", 80 * 512),
            ("read_ms", 5),
            ("writes", 20),
            ("write_bytes", 160 * 512),
            ("write_ms", 7),
            ("busy_ms", 9),
            ("discards", 3),
            ("discard_bytes", 24 * 512),
            ("flushes", 6),
            ("flush_ms", 8),
        ];
        assert_eq!(counted, expected.map(|(name, count)| (name.to_owned(), count)).into());
        assert!(columns("1 2 3").is_none());
        assert!(columns("a b c d e f g h i j k").is_none());
        assert!(Counters(None).until(&after).is_empty());
    }

    #[test]
    fn a_mount_is_found_by_its_number() {
        let mounts = b"21 1 0:5 / / rw - ext4 /dev/sda1 rw\n\
            22 21 0:6 / /not\xffUTF-8\r\x0b rw - tmpfs tmpfs rw\n\
            23 21 0:7 / /x rw - btrfs /dev/mapper/a\\040b\r rw\n\
            212 21 0:44 /sub /data rw,noatime shared:1 master:2 - btrfs /dev/sdb rw,subvol=/sub\n";
        assert_eq!(source_of(mounts, 212), Some(PathBuf::from("/dev/sdb")));
        assert_eq!(source_of(mounts, 23), Some(PathBuf::from("/dev/mapper/a b\r")));
        assert_eq!(source_of(mounts, 2), None);
    }

    #[test]
    fn memory_has_no_device() {
        let there = Path::new("/dev/shm");
        if there.is_dir() {
            assert_eq!(Device::under(there), None);
            assert_eq!(Device::under(&there.join("not-there")), None);
        }
        assert_eq!(Device::under(Path::new("/proc/self/stat")), None);
    }
}
