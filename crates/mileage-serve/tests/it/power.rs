//! Power cuts: the medium after a cut is what `ContentStore`, another implementation of the same rule, says; and what a host
//! may rely on holds.

use crate::data::{PAGE, ask, profile, serve};
use mileage_drive::{Content, ContentStore, Decisions, Fate, Loss, Request, RequestKind, StoredContent};
use mileage_drive::{Submission, Tag, TaggedCompletion};
use mileage_serve::{DataFile, Failure, HostRequestKind, Medium, Server, ServerOptions, Speed};
use proptest::prelude::*;

const SECTORS: u64 = 64;

#[test]
fn flushed_writes_survive_and_unflushed_ones_are_lost_on_a_volatile_drive() {
    let server = serve("intel-x25e-64gb", Speed::Unbounded);
    ask(&server, HostRequestKind::Write, 0, PAGE, &[1; PAGE as usize]).unwrap();
    ask(&server, HostRequestKind::Flush, 0, 0, &[]).unwrap();
    ask(&server, HostRequestKind::Write, 0, PAGE, &[2; PAGE as usize]).unwrap();
    ask(&server, HostRequestKind::Write, PAGE, PAGE, &[3; PAGE as usize]).unwrap();
    let cut = server.power_cut(1).unwrap();
    assert_eq!(cut.old_sectors, 16, "two pages were acknowledged and not flushed: {cut:?}");
    assert_eq!(ask(&server, HostRequestKind::Read, 0, PAGE, &[]), Err(Failure::Io));
    server.power_on().unwrap();
    assert_eq!(ask(&server, HostRequestKind::Read, 0, PAGE, &[]).unwrap(), [1; PAGE as usize]);
    assert_eq!(ask(&server, HostRequestKind::Read, PAGE, PAGE, &[]).unwrap(), [0; PAGE as usize]);
}

#[test]
fn a_protected_drive_loses_nothing_that_was_acknowledged() {
    let server = serve("samsung-pm1635-400gb", Speed::Unbounded);
    for page in 0..40 {
        ask(&server, HostRequestKind::Write, page * PAGE, PAGE, &[page as u8 + 1; PAGE as usize]).unwrap();
    }
    server.power_cut(1).unwrap();
    server.power_on().unwrap();
    for page in 0..40 {
        assert_eq!(ask(&server, HostRequestKind::Read, page * PAGE, PAGE, &[]).unwrap()[0], page as u8 + 1);
    }
}

#[test]
fn what_nobody_knows_is_refused() {
    let server = serve("intel-600p-512gb", Speed::Unbounded);
    ask(&server, HostRequestKind::Write, 0, PAGE, &[1; PAGE as usize]).unwrap();
    let refusal = server.power_cut(1).unwrap_err().to_string();
    assert!(refusal.contains("write_buffer_power"), "{refusal}");
    assert_eq!(ask(&server, HostRequestKind::Read, 0, PAGE, &[]).unwrap()[0], 1);
    assert_eq!(server.stats().undurable, 0);
}

#[test]
fn changes_are_kept_only_as_long_as_a_cut_could_undo_them() {
    let server = serve("intel-x25e-64gb", Speed::Unbounded);
    for page in 0..30_000 {
        ask(&server, HostRequestKind::Write, page * 7919 % 10_000 * PAGE, PAGE, &[1; PAGE as usize]).unwrap();
    }
    let undurable = server.stats().undurable;
    assert!(undurable < 20_000, "{undurable} of 30,000 changes are kept");
    ask(&server, HostRequestKind::Flush, 0, 0, &[]).unwrap();
    ask(&server, HostRequestKind::Read, 0, PAGE, &[]).unwrap();
    assert_eq!(server.stats().undurable, 0);
}

#[test]
fn a_cut_in_real_time_fails_what_is_outstanding() {
    let options = ServerOptions { state: None, data: None, speed: Speed::Times(1.0), spins: true };
    let server = Server::new(profile("sata-7k2"), &options).unwrap();
    let ends = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8)
            .map(|number| {
                let server = &server;
                scope.spawn(move || ask(server, HostRequestKind::Read, number * 20_000_000_000 / 512 * 512, 512, &[]))
            })
            .collect();
        while server.stats().outstanding < 4 {
            std::thread::yield_now();
        }
        server.power_cut(3).unwrap();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(ends.contains(&Err(Failure::Io)), "{ends:?}");
}

fn submission(tag: u64, from: u64, sectors: u64, fill: Option<u8>) -> Submission {
    let kind = if fill.is_some() { RequestKind::Write } else { RequestKind::Discard };
    let request = Request { kind, fua: false, offset_bytes: from * 512, length_bytes: sectors * 512, submit_ns: tag };
    let content = fill.map_or(Content::Unknown, |fill| Content::Bytes(vec![fill; (sectors * 512) as usize].into()));
    Submission { request, content, tag: Tag(tag) }
}

fn expected(store: &ContentStore) -> Vec<Option<Vec<u8>>> {
    let mut sectors = vec![Some(vec![0; 512]); SECTORS as usize];
    for (from, length, stored) in store.read(0, SECTORS * 512, u64::MAX - 1) {
        for sector in from..(from + length).min(SECTORS) {
            sectors[sector as usize] = match &stored {
                StoredContent::Written(content) => match content.part(sector - from, 1, 512) {
                    Content::Bytes(bytes) => Some(bytes.to_vec()),
                    other => panic!("{other:?}"),
                },
                StoredContent::Nothing => Some(vec![0; 512]),
                StoredContent::Torn | StoredContent::Unreadable => None,
            };
        }
    }
    sectors
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn medium_after_a_cut_is_what_the_content_store_says(
        changes in prop::collection::vec((0..SECTORS - 8, 1_u64..9, prop::option::of(1_u8..255), any::<bool>()), 1..40),
        fates in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..3, 0_u64..8), 0..30),
    ) {
        let file = DataFile::in_memory(SECTORS * 512).unwrap();
        let mut medium = Medium::new(file, 512, true);
        let mut store = ContentStore::new(512);
        for (tag, (from, sectors, fill, durable)) in (0..).zip(&changes) {
            let submission = submission(tag, *from, *sectors, *fill);
            store.submitted(&submission);
            let data = vec![fill.unwrap_or(0); (sectors * 512) as usize];
            let change = match fill {
                Some(_) => mileage_serve::Change::Data(&data),
                None => mileage_serve::Change::Zeroes(sectors * 512),
            };
            medium.apply(tag, from * 512, change, *durable).unwrap();
            let mut decisions = Decisions::default();
            let status = mileage_drive::Status::Done;
            decisions.completions.push(TaggedCompletion { tag: Tag(tag), complete_ns: tag, status });
            store.decided(&decisions);
            if *durable && changes[..tag as usize].iter().all(|(_, _, _, durable)| *durable) {
                let extent = mileage_drive::DurableExtent {
                    tag: Tag(tag), offset_bytes: from * 512, length_bytes: sectors * 512, at_ns: tag,
                };
                store.decided(&Decisions { completions: Vec::new(), persisted: vec![extent] });
                medium.durable(tag, sectors * 512);
            }
        }
        prop_assert_eq!(medium.versions(), store.versions());
        let first = changes.len() - medium.versions();
        let mut losses: Vec<Loss> = Vec::new();
        for (which, fate, at) in fates.iter().filter(|_| first < changes.len()) {
            let tag = first + which.index(changes.len() - first);
            let (from, sectors, ..) = changes[tag];
            let at = from + at % sectors;
            let fate = [Fate::Old, Fate::Torn, Fate::Unreadable][usize::from(*fate)];
            let loss = Loss { tag: Tag(tag as u64), offset_bytes: at * 512, length_bytes: 512, fate };
            if losses.iter().all(|other| (other.tag, other.offset_bytes) != (loss.tag, loss.offset_bytes)) {
                losses.push(loss);
            }
        }
        store.cut(&losses);
        medium.cut(&losses, &[]).unwrap();
        for (sector, expected) in (0..).zip(expected(&store)) {
            // A torn sector is half of a version, which the store does not say which: it holds none for it.
            if let Some(expected) = expected {
                prop_assert_eq!(medium.read(sector * 512, 512), Ok(expected), "sector {}", sector);
            }
        }
    }
}
