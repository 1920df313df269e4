//! Memory of large tables that are read and written at random.
//!
//! Such a table costs more for finding its pages than for its data: nearly every access misses the processor's cache of
//! page addresses, and under a hypervisor a miss walks two tables of them. [`in_large_pages`] asks for pages of which
//! fewer are needed; [`begin_load`] begins a load before it is needed.
//!
//! # Invariant
//! Nothing here changes a value or a result: these are hints to the kernel and the processor, and where neither takes
//! them nothing happens. *Guard:* no function takes anything that it could write to; each unsafe block says why it is
//! only a hint.

/// Bytes of a large page, as x86-64 and most ARM kernels have them.
const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Ask that a table lie in large pages as far as whole ones fit. Works for memory that was not written yet: spare
/// capacity, and the zeros of `vec![0; n]`.
#[must_use]
pub fn in_large_pages<T>(cells: Vec<T>) -> Vec<T> {
    let start = cells.as_ptr() as usize;
    let end = start + cells.capacity() * size_of::<T>();
    let (first, behind) = (start.next_multiple_of(LARGE_PAGE_BYTES), end / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES);
    if first < behind {
        advise(cells.as_ptr().cast::<u8>().wrapping_add(first - start), behind - first);
    }
    cells
}

#[cfg(target_os = "linux")]
fn advise(start: *const u8, bytes: usize) {
    // SAFETY: the advice says how the kernel shall back the range, which lies in one allocation; it changes no byte. A
    // kernel without large pages refuses it, which changes nothing.
    let _refused = unsafe { rustix::mm::madvise(start.cast_mut().cast(), bytes, rustix::mm::Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: *const u8, _bytes: usize) {}

/// Begin to load the cell at `index`, without waiting for it. Any index will do; one that is outside loads nothing of
/// use.
#[inline]
pub fn begin_load<T>(cells: &[T], index: usize) {
    let cell = cells.as_ptr().wrapping_add(index);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction takes any address, faults on none and changes nothing but caches.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(cell.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = cell;
}

#[cfg(test)]
mod tests {
    use super::{LARGE_PAGE_BYTES, begin_load, in_large_pages};

    #[test]
    fn a_table_is_what_it_would_be_without_the_advice() {
        for bytes in [0, 1, 4096, LARGE_PAGE_BYTES - 1, LARGE_PAGE_BYTES, 5 * LARGE_PAGE_BYTES + 12] {
            let zeros = in_large_pages(vec![0_u8; bytes]);
            assert!(zeros.len() == bytes && zeros.iter().all(|byte| *byte == 0), "{bytes}");
            let mut filled = in_large_pages(Vec::with_capacity(bytes / 4));
            filled.resize(bytes / 4, u32::MAX);
            assert_eq!(filled, vec![u32::MAX; bytes / 4]);
        }
    }

    #[test]
    fn a_load_may_begin_anywhere() {
        let cells = vec![7_u32; 100];
        for index in [0, 99, 100, 1 << 40, usize::MAX] {
            begin_load(&cells, index);
        }
        begin_load::<u64>(&[], 3);
        assert_eq!(cells, [7; 100]);
    }

    /// The kernel's flags of the part of this process's memory that holds `address`.
    #[cfg(target_os = "linux")]
    fn flags_at(address: usize) -> Option<String> {
        let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut inside = false;
        text.lines().find_map(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let bounds = range.map(|(from, to)| (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16)));
            if let Some((Ok(from), Ok(to))) = bounds {
                inside = (from..to).contains(&address);
            }
            line.strip_prefix("VmFlags:").filter(|_| inside).map(str::to_owned)
        })
    }

    #[cfg(target_os = "linux")]
    #[expect(clippy::print_stdout, reason = "says why it tests nothing")]
    #[test]
    fn the_kernel_has_heard_the_advice() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            println!("skipped: this kernel has no transparent large pages");
            return;
        }
        for table in [vec![0_u8; 8 * LARGE_PAGE_BYTES], Vec::with_capacity(8 * LARGE_PAGE_BYTES)] {
            let table = in_large_pages(table);
            let flags = flags_at(table.as_ptr() as usize + table.capacity() / 2).expect("the table lies somewhere");
            assert!(flags.split(' ').any(|flag| flag == "hg"), "{} written: {flags}", table.len());
        }
    }
}
