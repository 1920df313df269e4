//! Discards on block devices.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{major, minor};
use rustix::io::Errno;

/// `BLKDISCARD` of linux/fs.h: `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// The device need not keep this range.
pub(super) fn block_device(device: BorrowedFd<'_>, offset_bytes: u64, length_bytes: u64) -> Result<(), Errno> {
    let range = [offset_bytes, length_bytes];
    // SAFETY: the descriptor is open, and BLKDISCARD reads two 64-bit numbers at the pointer, which outlives the call.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    if answer == 0 { Ok(()) } else { Err(super::last_errno()) }
}

/// Check by the device's queue in sysfs that it supports discards; a partition has the queue of its disk.
pub(super) fn check_block_device(device: BorrowedFd<'_>) -> Result<(), Errno> {
    let number = rustix::fs::fstat(device)?.st_rdev;
    let folder = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    let said = ["queue", "../queue"]
        .iter()
        .find_map(|queue| std::fs::read_to_string(format!("{folder}/{queue}/discard_max_bytes")).ok());
    match said {
        Some(text) if text.trim() == "0" => Err(Errno::OPNOTSUPP),
        // Without an answer in sysfs, let the call itself show whether the device discards.
        _ => Ok(()),
    }
}
