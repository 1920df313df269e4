//! Turn the SIGBUS signal of a failed access to a memory mapping into an I/O error. A thread registers the mapping that it
//! accesses; the handler puts an empty page in the place of the missing one, so that the copy in progress can end, and
//! records the address. A SIGBUS anywhere else goes to the handler that was installed before.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering, compiler_fence};

/// Unit of mappings, in bytes.
pub(super) const PAGE_BYTES: usize = 4096;

/// The calling thread's mapping, and the first address of it that was missing; 0 for none. Plain numbers without a
/// destructor, which a signal handler may touch.
struct GuardedMapping {
    start: AtomicUsize,
    end: AtomicUsize,
    missing: AtomicUsize,
}

thread_local! {
    static GUARDED_MAPPING: GuardedMapping =
        const { GuardedMapping { start: AtomicUsize::new(0), end: AtomicUsize::new(0), missing: AtomicUsize::new(0) } };
}

static PREVIOUS: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// Copy `length` bytes, one side of which lies in the mapping of `mapping_length` bytes at `mapping`; the address of
/// the first missing page that was touched, if any was.
///
/// # Safety
/// `from` can be read and `to` be written for `length` bytes, they do not overlap, and the mapping is the caller's own:
/// a missing page of it may be replaced for ever.
#[inline]
pub(super) unsafe fn copy(
    from: *const u8,
    to: *mut u8,
    length: usize,
    (mapping, mapping_length): (usize, usize),
) -> Option<usize> {
    GUARDED_MAPPING.with(|guarded| {
        guarded.missing.store(0, Ordering::Relaxed);
        guarded.end.store(mapping + mapping_length, Ordering::Relaxed);
        guarded.start.store(mapping, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as the caller promises; where a page is missing the handler provides one.
        unsafe { ptr::copy_nonoverlapping(from, to, length) };
        compiler_fence(Ordering::SeqCst);
        guarded.end.store(0, Ordering::Relaxed);
        Some(guarded.missing.load(Ordering::Relaxed)).filter(|address| *address != 0)
    })
}

/// Have the handler in place, once per process; false if the kernel refused it.
pub(super) fn handle() -> bool {
    PREVIOUS
        .get_or_init(|| {
            // SAFETY: all-zero is a valid `sigaction`: default action, no flags, empty mask.
            let (mut action, mut previous) = unsafe { std::mem::zeroed::<(libc::sigaction, libc::sigaction)>() };
            action.sa_sigaction = on_sigbus as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            // SAFETY: both structures are valid and live during the call; the handler is a function for ever.
            let set = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, &raw mut previous) };
            (set == 0).then_some(previous)
        })
        .is_some()
}

extern "C" fn on_sigbus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a valid siginfo to a handler with SA_SIGINFO; for SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    if !GUARDED_MAPPING.with(|guarded| provide(guarded, address)) {
        pass_on(signal, info, context);
    }
}

/// Put an empty page at `address` if it lies in the guarded mapping.
fn provide(guarded: &GuardedMapping, address: usize) -> bool {
    let (start, end) = (guarded.start.load(Ordering::Relaxed), guarded.end.load(Ordering::Relaxed));
    if !(start..end).contains(&address) {
        return false;
    }
    let page = address - address % PAGE_BYTES;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page lies in a mapping that the interrupted thread owns and has given up to be replaced.
    let mapped =
        unsafe { libc::mmap(page as *mut c_void, PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return false;
    }
    // Relaxed is enough: the handler runs on the thread that reads it.
    let _ = guarded.missing.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed);
    true
}

/// Do what would have been done without this handler.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let previous = PREVIOUS.get().and_then(Option::as_ref);
    match previous {
        Some(action) if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN => {
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: the address was registered as a handler of this kind.
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    unsafe { std::mem::transmute(action.sa_sigaction) };
                handler(signal, info, context);
            } else {
                // SAFETY: the address was registered as a handler of one argument.
                let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(action.sa_sigaction) };
                handler(signal);
            }
        }
        // The access is tried again on return, and ends the process as it would have.
        // SAFETY: restoring the default action is always valid.
        _ => unsafe {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
        },
    }
}
