//! The allocator of the core: where there is no memory the process ends with one sentence and status 3.
//!
//! Rust aborts where an allocation fails, as tables of a drive do below a limit of the address space. The command line
//! ends with these words and this status for every other shortage (`cli/exit_status.py`).
//!
//! # Invariant
//! Nothing is allocated, and nothing is run at the exit, once memory has failed. *Guard:* the code of [`end_process`].

use std::alloc::{GlobalAlloc, Layout, System};

const SENTENCE: &[u8] = b"mileage: not enough memory; end other programs, or raise the limit (ulimit -v)\n";
const FAILED: i32 = 3;

#[global_allocator]
static ALLOCATOR: EndingAllocator = EndingAllocator;

/// The system's allocator, which never answers that there is no memory.
struct EndingAllocator;

// SAFETY: every call is handed to the system's allocator unchanged, and so is its answer; a failure does not return.
unsafe impl GlobalAlloc for EndingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of `GlobalAlloc::alloc`, which are the same.
        had(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above, of `alloc_zeroed`.
        had(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above, of `realloc`; the block is the system's own, as all are.
        had(unsafe { System.realloc(block, layout, bytes) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above, of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn had(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        end_process();
    }
    block
}

#[cold]
fn end_process() -> ! {
    // SAFETY: both are plain system calls on a constant; `_exit` runs no handler that could allocate.
    unsafe {
        libc::write(libc::STDERR_FILENO, SENTENCE.as_ptr().cast(), SENTENCE.len());
        libc::_exit(FAILED)
    }
}
