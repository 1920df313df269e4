//! Nothing is lost and nothing is invented: pages, blocks and states after random calls.

use crate::calls::small_host;
use mileage_host::page_cache::PageCache;
use mileage_host::{Call, Host, OpenHow};
use proptest::prelude::*;

/// A small machine, so that everything happens: eviction, throttling, write-back by age.
const SMALL: &[(&str, &str)] =
    &[("memory_bytes", "67108864"), ("cache_bytes", "16777216"), ("journal_bytes", "16777216"), ("processors", "2")];

fn small_call() -> impl Strategy<Value = (u8, u8, u64, u64)> {
    (0..12u8, 0..3u8, 0..2048u64, 1..300u64)
}

/// One of the calls, on one of three files with handles 1 to 3 (the third is direct).
fn do_call(host: &mut Host, (what, file, at, length): (u8, u8, u64, u64)) {
    let handle = u32::from(file) + 1;
    let (offset, length) = (at * 4096, length * 4096);
    let path = format!("d/f{file}");
    let call = match what {
        0..=2 => Call::Write { handle, offset, length },
        3 | 4 => Call::Read { handle, offset, length },
        5 => Call::Sync { handle, data_only: at % 2 == 0 },
        6 => Call::Truncate { handle, size: offset },
        7 => Call::Punch { handle, offset, length },
        8 => Call::Open {
            path: format!("d/n{}", at % 40),
            handle: 9,
            how: OpenHow { create: true, ..OpenHow::default() },
        },
        9 => Call::Unlink { path: format!("d/n{}", at % 40), directory: false },
        10 => Call::Rename { from: format!("d/n{}", at % 40), to: format!("d/n{}", length % 40) },
        _ => Call::Stat { path },
    };
    let opens = what == 8;
    // A name that is missing is an ordinary end of a call.
    let _ = host.call(call);
    if opens {
        let _ = host.call(Call::Close { handle: 9 });
    }
    if what == 11 {
        host.advance_to(host.now_ns() + at * 20_000_000);
    }
}

pub fn started(file_system: &str) -> Host {
    let quoted = format!("\"{file_system}\"");
    let changes: Vec<(&str, &str)> = SMALL.iter().copied().chain([("file_system", quoted.as_str())]).collect();
    let mut host = small_host(&changes);
    host.call(Call::Mkdir { path: "d".to_owned() }).expect("mkdir");
    for handle in 1..=3 {
        let how = OpenHow { create: true, direct: handle == 3, ..OpenHow::default() };
        host.call(Call::Open { path: format!("d/f{}", handle - 1), handle, how }).expect("open");
    }
    host
}

fn counter(host: &Host, name: &str) -> u64 {
    host.named_counters().iter().find(|(known, _)| *known == name).expect("a counter").1
}

fn conserved(host: &Host) {
    host.cache().check().expect("the cache's counters");
    host.files().check().expect("every block has one owner");
    let written: u64 =
        ["background", "old", "sync"].iter().map(|cause| counter(host, &format!("host_pages_written_{cause}"))).sum();
    let data_dirty: u64 = host.files().files().map(|(file, _)| host.cache().dirty_of(file)).sum();
    let (dirtied, dropped) = (counter(host, "host_pages_dirtied"), counter(host, "host_pages_dropped"));
    assert_eq!(dirtied, written + data_dirty + dropped, "written {written}, dirty {data_dirty}, dropped {dropped}");
}

/// A page that becomes dirty when all others are busy was given up before it was marked, and its file stayed dirty for ever.
#[test]
fn a_full_cache_keeps_what_is_just_written() {
    let mut cache = PageCache::new(64, 100);
    assert_eq!(cache.write(1, 0, 64), 64);
    cache.begin_writeback(1, 0, 32);
    assert_eq!(cache.write(2, 10, 100), 100);
    cache.check().expect("the counters");
    assert_eq!(cache.next_dirty(2, 0, 200), Some((10, 100)));
    assert_eq!(cache.remove(2, 0, u32::MAX), 100);
    assert_eq!(cache.dirty_of(2), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pages_of_a_cache_that_is_too_small_are_conserved(
        steps in prop::collection::vec((0..5u8, 1..4u32, 0..300u32, 1..90u32), 1..120),
    ) {
        let mut cache = PageCache::new(100, 100);
        for (what, file, page, count) in steps {
            match what {
                0 | 1 => drop(cache.write(file, page, count)),
                2 => if let Some((page, count)) = cache.next_dirty(file, page, count) { cache.begin_writeback(file, page, count) },
                3 => cache.end_writeback(file, page, count),
                _ => cache.insert_read(file, page, count),
            }
            prop_assert_eq!(cache.check(), Ok(()));
        }
    }

    #[test]
    fn pages_and_blocks_are_conserved(calls in prop::collection::vec(small_call(), 1..60), xfs: bool) {
        let mut host = started(if xfs { "xfs" } else { "ext4" });
        for call in calls {
            do_call(&mut host, call);
            conserved(&host);
        }
    }

    #[test]
    fn a_restored_host_continues_as_the_saved_one(
        calls in prop::collection::vec(small_call(), 2..40),
        cut in 0..40usize,
        xfs: bool,
    ) {
        let system = if xfs { "xfs" } else { "ext4" };
        let mut host = started(system);
        let cut = cut % calls.len();
        calls[..cut].iter().for_each(|call| do_call(&mut host, *call));
        let saved = host.save();
        let mut other = started(system);
        other.restore(&saved).expect("its own state");
        prop_assert_eq!(&other.save(), &saved);
        for call in &calls[cut..] {
            do_call(&mut host, *call);
            do_call(&mut other, *call);
        }
        prop_assert_eq!(host.now_ns(), other.now_ns());
        prop_assert_eq!(host.named_counters(), other.named_counters());
        prop_assert_eq!(host.save(), other.save());
    }
}

/// Dirty pages up to a chunk's end and from the second page of the next chunk on are two runs.
#[test]
fn a_clean_page_at_the_start_of_a_chunk_ends_a_run() {
    let mut host = started("xfs");
    for call in [(0, 1, 0, 56), (0, 0, 0, 64), (0, 1, 1409, 158), (0, 1, 1276, 132)] {
        do_call(&mut host, call);
        conserved(&host);
    }
}
