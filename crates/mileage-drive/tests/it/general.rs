//! The general block-device contract, on every device and wrapper.

use crate::contract::policies;
use crate::drives::{Sketch, cases, request};
use crate::random_drives::Draw;
use mileage_drive::conformance::general::{check, collect, completions, requests};
use mileage_drive::profile::{Faults, Lost, Stall};
use mileage_drive::{
    BlockDevice, ConstantTime, Content, ContentStore, Decisions, DisturbedDevice, Faulty, ManagedDevice, PowerCut,
    QueueAdapter, Request, RequestKind, Status, StoredContent, Submission, Tag,
};
use std::collections::HashMap;

fn toy(persist_ns: u64) -> ConstantTime {
    ConstantTime::new(1 << 20, 70_000, persist_ns)
}

fn stalls() -> Faults {
    let stall = Some(Stall { every_ns: 5_000_000, length_ns: 2_000_000 });
    Faults { stall, lost: Some(Lost { every: 10, timeout_ns: 3_000_000 }), seed: Some(3), ..Faults::default() }
}

#[test]
fn the_toy_device_keeps_the_general_contract() {
    for persist_ns in [0, 400_000] {
        check(1, 10, 100, || toy(persist_ns));
    }
}

fn sketches() -> Vec<Sketch> {
    let volatile = Sketch { buffer: 7, ..Sketch::tiny() }.with(&[("write_buffer_power", "\"volatile\"")]);
    let protected = Sketch { buffer: 7, ..Sketch::tiny() }.with(&[("write_buffer_power", "\"protected\"")]);
    vec![Sketch::tiny(), volatile, protected]
}

#[test]
fn flash_behind_a_queue_keeps_the_general_contract() {
    for sketch in sketches() {
        check(2026, 4, 30, || QueueAdapter::new(sketch.drive()));
        check(2027, 2, 30, || QueueAdapter::new(Faulty::new(sketch.drive(), stalls())));
    }
}

#[test]
fn faulty_and_slower_devices_keep_the_general_contract() {
    check(11, 6, 60, || DisturbedDevice::faulty(toy(400_000), stalls()));
    check(12, 6, 60, || DisturbedDevice::slowed(toy(400_000), 30_000));
    let twice = || DisturbedDevice::slowed(DisturbedDevice::faulty(toy(100_000), stalls()), 1);
    check(13, 3, 30, twice);
    for sketch in sketches() {
        check(14, 2, 30, || DisturbedDevice::faulty(QueueAdapter::new(sketch.drive()), stalls()));
    }
}

#[test]
fn every_policy_of_flash_keeps_the_general_contract() {
    for sketch in policies() {
        check(1, 1, 5, || QueueAdapter::new(sketch.drive()));
    }
}

/// Two ways to the same device: faults in front of the queue, which knows all at submission, and behind it, which does not.
#[test]
fn faults_of_both_forms_give_the_same_answers() {
    let drops = Faults { drop_off_ns: Some(30_000_000), ..stalls() };
    for (seed, faults) in (0..20).flat_map(|seed| [(seed, stalls()), (seed, drops)]) {
        let sketch = Sketch { buffer: 7, ..Sketch::tiny() };
        let mut known = QueueAdapter::new(Faulty::new(sketch.drive(), faults));
        let mut decided = DisturbedDevice::faulty(QueueAdapter::new(sketch.drive()), faults);
        let requests = requests(seed, &known).take(200);
        let (mut expected, mut found) = (completions(&mut known, &requests), completions(&mut decided, &requests));
        expected.sort_by_key(|completion| completion.tag);
        found.sort_by_key(|completion| completion.tag);
        assert_eq!(found, expected, "seed {seed}");
        let failures = found.iter().filter(|completion| completion.status != Status::Done).count();
        assert!(failures > 0, "seed {seed}: no fault");
    }
}

#[test]
fn a_device_slowed_by_nothing_is_the_device_and_by_something_that_much_slower() {
    for (seed, slower_ns) in (0..10).flat_map(|seed| [(seed, 0), (seed, 12_345)]) {
        let (mut plain, mut slowed) = (toy(5000), DisturbedDevice::slowed(toy(5000), slower_ns));
        let requests = requests(seed, &plain).take(100);
        let (expected, found) = (completions(&mut plain, &requests), completions(&mut slowed, &requests));
        assert_eq!(found.len(), 100);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.tag, found.status), (expected.tag, expected.status), "seed {seed}");
            assert_eq!(found.complete_ns, expected.complete_ns + slower_ns, "seed {seed}");
        }
        assert!(slower_ns > 0 || slowed.inner().save() == plain.save(), "seed {seed}");
    }
}

/// The host acts on a completion at its very instant: a flush that is submitted then covers the write.
#[test]
fn a_flush_covers_a_write_that_completed_at_the_instant_of_its_submission() {
    for (flush_ns, lost) in [(70_000, 0), (69_999, 1)] {
        let mut device = toy(1_000_000);
        let write = request(RequestKind::Write, 0, 4096, 0);
        let flush = Request { submit_ns: flush_ns, ..request(RequestKind::Flush, 0, 0, 0) };
        let ends: Vec<u64> = completions(&mut device, &[write, flush]).iter().map(|it| it.complete_ns).collect();
        assert_eq!(ends, [70_000, 140_000]);
        let cut = PowerCut { at_ns: device.now_ns(), seed: 1 };
        assert_eq!(device.losses(0, 1 << 20, cut).unwrap().len(), lost, "flush at {flush_ns}");
    }
}

/// What the host knows of a sector: the writes to it, in the order of decision, and which of them must survive.
#[derive(Default)]
struct Sector {
    /// Tag, and whether the host was promised that it is durable.
    writes: Vec<(u64, bool)>,
}

/// After a cut every sector holds the last write that was promised to be durable, or one decided after it, or one that was
/// outstanding; and a store forgets versions that are durable.
fn contents_after_a_cut<D: ManagedDevice>(seed: u64, mut device: D) -> (bool, bool) {
    let (mut draw, mut out) = (Draw::new(seed), Decisions::default());
    let mut store = ContentStore::new(device.sector_bytes());
    device.report_persisted(true);
    let batch = requests(seed, &device).take(40);
    let mut reported = 0;
    for (tag, request) in (0..).zip(&batch) {
        collect(&mut device, request.submit_ns, &mut out).unwrap();
        let content = Content::Synthetic { seed: tag, generation: 0, first_sector: request.offset_bytes / 512 };
        let submission = Submission { request: *request, content, tag: Tag(tag) };
        device.submit(submission.clone()).unwrap();
        store.submitted(&submission);
        if draw.below(5) == 0 {
            let now =
                Decisions { completions: out.completions[reported..].to_vec(), persisted: out.persisted.split_off(0) };
            store.decided(&now);
            store = ContentStore::restored(512, &store.save()).unwrap();
            reported = out.completions.len();
        }
    }
    let cut = PowerCut { at_ns: batch[39].submit_ns + draw.below(3_000_000), seed };
    collect(&mut device, cut.at_ns, &mut out).unwrap();
    store.decided(&Decisions {
        completions: out.completions[reported..].to_vec(),
        persisted: out.persisted.split_off(0),
    });
    let known = out.completions.clone();
    let losses = device.power_cut(cut, &mut Decisions::default()).unwrap();
    store.cut(&losses);
    assert_eq!(store.versions(), 0);
    let done = |tag: Tag| known.iter().find(|it| it.tag == tag && it.complete_ns <= cut.at_ns).map(|it| it.complete_ns);
    let flushes = (0..).zip(&batch).filter(|(tag, it)| it.kind == RequestKind::Flush && done(Tag(*tag)).is_some());
    let flushed_ns = flushes.map(|(_, it)| it.submit_ns).max();
    let mut sectors: HashMap<u64, Sector> = HashMap::new();
    let undecided = (0..40).map(Tag).filter(|tag| !known.iter().any(|it| it.tag == *tag));
    for tag in known.iter().map(|it| it.tag).chain(undecided) {
        let request = batch[tag.0 as usize];
        let promised = done(tag).is_some_and(|ns| request.fua || flushed_ns.is_some_and(|flushed_ns| ns <= flushed_ns));
        let changes = matches!(request.kind, RequestKind::Write | RequestKind::Discard);
        for sector in
            (request.offset_bytes / 512..(request.offset_bytes + request.length_bytes) / 512).filter(|_| changes)
        {
            sectors.entry(sector).or_default().writes.push((tag.0, promised));
        }
    }
    let (mut lost, mut torn) = (false, false);
    for sector in 0..device.capacity_bytes() / 512 {
        let writes = sectors.remove(&sector).unwrap_or_default().writes;
        let from = writes.iter().rposition(|(_, promised)| *promised);
        let possible: Vec<u64> = writes[from.unwrap_or(0)..].iter().map(|(tag, _)| *tag).collect();
        let found =
            store.read(sector * 512, 512, cut.at_ns).pop().map_or(StoredContent::Nothing, |(.., stored)| stored);
        let discards = possible.iter().any(|tag| batch[*tag as usize].kind == RequestKind::Discard);
        match found {
            StoredContent::Nothing => assert!(from.is_none() || discards, "seed {seed}: sector {sector} is lost"),
            StoredContent::Written(Content::Synthetic { seed: tag, first_sector, .. }) => {
                assert!(possible.contains(&tag), "seed {seed}: sector {sector} holds {tag}, expected {possible:?}");
                assert_eq!(first_sector, sector, "seed {seed}: the content of another sector");
                lost |= writes.last().is_some_and(|(last, _)| *last != tag);
            }
            StoredContent::Torn => {
                assert!(possible.iter().any(|tag| done(Tag(*tag)).is_none()), "seed {seed}: sector {sector} is torn");
                torn = true;
            }
            other => panic!("seed {seed}: sector {sector} holds {other:?}"),
        }
    }
    (lost, torn)
}

#[test]
fn after_a_cut_every_sector_holds_what_the_host_was_promised_or_something_newer() {
    let count = cases(300);
    let volatile = || QueueAdapter::new(sketches()[1].drive());
    let stalled = || DisturbedDevice::faulty(toy(300_000), Faults { lost: None, ..stalls() });
    let (mut losses, mut tears) = (0, 0);
    for seed in 0..count {
        for (lost, torn) in [
            contents_after_a_cut(seed, toy(0)),
            contents_after_a_cut(seed, toy(2_000_000)),
            contents_after_a_cut(seed, stalled()),
            contents_after_a_cut(seed, volatile()),
        ] {
            losses += u64::from(lost);
            tears += u64::from(torn);
        }
    }
    assert!(losses > count / 4 && tears > count / 10, "{losses} losses and {tears} torn in {count} cuts");
}
