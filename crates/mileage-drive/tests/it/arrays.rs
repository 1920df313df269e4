//! Arrays: the contract, what they hold after everything that can happen, and what reaches their members.

use mileage_drive::conformance::general::{check, collect};
use mileage_drive::profile::{Basics, CachePower, Controller, Discards, Faults, Level, Protocol};
use mileage_drive::{
    Array, ArrayParts, BlockDevice, ConstantTime, Content, Decisions, Fate, ManagedDevice, PowerCut, Request,
    RequestKind, Status, Submission, Tag,
};

/// Numbers of a fixed sequence.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

const LEVELS: [(Level, usize); 7] = [
    (Level::Jbod, 3),
    (Level::Raid0, 4),
    (Level::Raid1, 2),
    (Level::Raid1, 3),
    (Level::Raid10, 4),
    (Level::Raid5, 4),
    (Level::Raid6, 5),
];

fn limited() -> Controller {
    Controller {
        host_mb_per_s: Some(300.0),
        member_mb_per_s: Some(150.0),
        sata_mb_per_s: Some(250.0),
        command_interval_ns: 4_000,
        command_ns: 3_000,
        member_timeout_ns: Some(80_000_000_000),
        ..Controller::UNLIMITED
    }
}

fn cached(cache_power: CachePower) -> Controller {
    Controller { write_cache_bytes: 1 << 18, read_cache_bytes: 1 << 16, cache_power, ..limited() }
}

const CHUNK: u64 = 8192;

fn array(
    level: (Level, usize),
    controller: &Controller,
    spares: usize,
    member: impl Fn() -> ConstantTime,
) -> Array<ConstantTime> {
    array_of(level, controller, spares, member)
}

/// An array of equal members.
pub fn array_of<M: ManagedDevice + Clone>(
    (level, count): (Level, usize),
    controller: &Controller,
    spares: usize,
    member: impl Fn() -> M,
) -> Array<M> {
    let devices: Vec<M> = (0..count + spares).map(|_| member()).collect();
    let capacities = vec![devices[0].capacity_bytes(); count];
    let capacity_bytes = mileage_drive::profile::capacity_bytes(level, CHUNK, &capacities);
    let basics = Basics {
        name: "array".to_owned(),
        title: "Array".to_owned(),
        capacity_bytes,
        rated_write_bytes: None,
        faults: Faults::default(),
        figures: Vec::new(),
        rates: Vec::new(),
    };
    let is_parity = matches!(level, Level::Raid5 | Level::Raid6);
    let discards = if is_parity { Discards::Ignored } else { Discards::Honoured };
    let stripe_cache_bytes = if is_parity { controller.stripe_cache_bytes } else { 0 };
    let controller = Controller { stripe_cache_bytes, ..controller.clone() };
    let protocols = vec![Protocol::Sata; count + spares];
    let parts = ArrayParts { basics, level, chunk_bytes: CHUNK, controller, discards, protocols, spares };
    Array::new(parts, devices)
}

fn toy() -> ConstantTime {
    ConstantTime::new(10 * CHUNK, 70_000, 400_000)
}

#[test]
fn arrays_keep_the_general_contract() {
    let stripes = Controller { stripe_cache_bytes: 1 << 16, ..Controller::UNLIMITED };
    let controllers =
        [Controller::UNLIMITED, limited(), cached(CachePower::Volatile), cached(CachePower::Battery), stripes];
    for level in LEVELS {
        for (at, controller) in controllers.iter().enumerate() {
            check(100 * at as u64, 2, 25, || array(level, controller, 0, toy));
        }
    }
}

/// A host that knows what an array must hold.
struct Host {
    draw: Draw,
    device: Array<ConstantTime>,
    image: Vec<u8>,
    /// Tag, first byte, bytes: in the order of submission.
    writes: Vec<(u64, u64, Vec<u8>)>,
    out: Decisions,
    tag: u64,
    /// Writes that are in the image.
    applied: usize,
}

impl Host {
    fn new(seed: u64, mut device: Array<ConstantTime>) -> Self {
        device.keep_content();
        let image = vec![0; device.capacity_bytes() as usize];
        Self { draw: Draw(seed), device, image, writes: Vec::new(), out: Decisions::default(), tag: 0, applied: 0 }
    }

    /// Submit some requests at random that do not overlap.
    fn batch(&mut self, count: u64) {
        let sectors = self.device.capacity_bytes() / 512;
        let (mut taken, mut last_ns): (Vec<(u64, u64)>, u64) = (Vec::new(), 0);
        for _ in 0..count {
            let longest = if self.draw.below(10) == 0 { sectors - 1 } else { 24 };
            let length = 1 + self.draw.below(longest);
            let from = self.draw.below(sectors - length + 1);
            if taken.iter().any(|other| from < other.0 + other.1 && other.0 < from + length) {
                continue;
            }
            taken.push((from, length));
            let kind = if self.draw.below(4) == 0 { RequestKind::Read } else { RequestKind::Write };
            let fua = kind == RequestKind::Write && self.draw.below(6) == 0;
            let submit_ns = self.device.now_ns().max(last_ns) + self.draw.below(3) * 30_000;
            last_ns = submit_ns;
            let content: Vec<u8> = (0..length * 512).map(|_| self.draw.below(256) as u8).collect();
            let request = Request { kind, fua, offset_bytes: from * 512, length_bytes: length * 512, submit_ns };
            self.tag += 1;
            if kind == RequestKind::Write {
                self.writes.push((self.tag, from * 512, content.clone()));
            }
            collect(&mut self.device, submit_ns, &mut self.out).unwrap();
            let content = Content::Bytes(content.into());
            self.device.submit(Submission { request, content, tag: Tag(self.tag) }).unwrap();
        }
    }

    /// Let everything end; the image is what was written.
    fn drain(&mut self) {
        let until = |device: &Array<ConstantTime>| device.next_event().filter(|_| device.outstanding() > 0);
        while let Some(event) = until(&self.device) {
            self.device.advance_to(event.at_ns + 1, &mut self.out).unwrap();
        }
        let last_ns = self.out.completions.iter().map(|it| it.complete_ns).max().unwrap_or(0);
        collect(&mut self.device, last_ns + 1, &mut self.out).unwrap();
        self.device.advance_to(last_ns + 1, &mut self.out).unwrap();
        assert!(self.out.completions.iter().all(|it| it.status == Status::Done));
        self.out.clear();
        for (_, from, bytes) in &self.writes[self.applied..] {
            self.image[*from as usize..*from as usize + bytes.len()].copy_from_slice(bytes);
        }
        self.applied = self.writes.len();
    }

    fn compare(&self, what: &str) {
        let held = self.device.content(0, self.device.capacity_bytes()).expect("data is there");
        let wrong = held.iter().zip(&self.image).position(|(held, image)| held != image);
        assert!(wrong.is_none(), "{what}: byte {wrong:?} of {}", held.len());
    }

    fn wait(&mut self, ns: u64) {
        let until_ns = self.device.now_ns() + ns;
        collect(&mut self.device, until_ns, &mut self.out).unwrap();
        self.device.advance_to(until_ns, &mut self.out).unwrap();
    }

    /// Cut the power with requests outstanding; what is held then is what was written without what was said to be lost.
    fn cut(&mut self, seed: u64) -> (usize, usize) {
        let ahead_ns = self.draw.below(600_000);
        let at_ns = self.device.now_ns() + ahead_ns;
        collect(&mut self.device, at_ns, &mut self.out).unwrap();
        let known = self.out.completions.clone();
        let done = |tag: u64| known.iter().any(|it| it.tag.0 == tag && it.complete_ns <= at_ns);
        let losses = self.device.power_cut(PowerCut { at_ns, seed }, &mut self.out).unwrap();
        let mut torn = vec![false; self.image.len()];
        self.image.fill(0);
        for (tag, from, bytes) in &self.writes {
            let lost: Vec<_> = losses.iter().filter(|loss| loss.tag.0 == *tag).collect();
            for (at, byte) in (*from..).zip(bytes) {
                if lost.iter().all(|it| at < it.offset_bytes || at >= it.offset_bytes + it.length_bytes) {
                    self.image[at as usize] = *byte;
                }
            }
        }
        for loss in losses.iter().filter(|loss| loss.fate == Fate::Torn) {
            torn[loss.offset_bytes as usize..(loss.offset_bytes + loss.length_bytes) as usize].fill(true);
        }
        self.device.power_on();
        let held = self.device.content(0, self.device.capacity_bytes()).expect("data is there");
        let wrong = (0..held.len()).find(|at| !torn[*at] && held[*at] != self.image[*at]);
        assert!(wrong.is_none(), "after a cut: byte {wrong:?}, lost {losses:?}");
        self.writes = vec![(0, 0, held.clone())];
        (self.image, self.applied) = (held, 1);
        self.out.clear();
        let acknowledged = losses.iter().filter(|loss| done(loss.tag.0)).count();
        (losses.len(), acknowledged)
    }
}

fn is_redundant(level: Level) -> bool {
    !matches!(level, Level::Jbod | Level::Raid0)
}

fn one_array(seed: u64, acknowledged: &mut [usize; 3]) {
    let mut draw = Draw(seed);
    let level = LEVELS[draw.below(7) as usize];
    let kind = draw.below(4) as usize;
    let controller = match kind {
        0 => Controller { stripe_cache_bytes: draw.below(2) << 16, ..Controller::UNLIMITED },
        1 => cached(CachePower::Volatile),
        2 => cached(CachePower::Battery),
        _ => limited(),
    };
    let spares = if is_redundant(level.0) { draw.below(2) as usize } else { 0 };
    let persist_ns = [0, 400_000][draw.below(2) as usize];
    let device = array(level, &controller, spares, || ConstantTime::new(10 * CHUNK, 70_000, persist_ns));
    let mut host = Host::new(seed, device);
    let name = format!("{level:?} {kind} {spares} {persist_ns}");
    let count = 1 + draw.below(12);
    for _ in 0..3 {
        host.batch(count);
        host.drain();
        host.compare(&format!("{name} working"));
    }
    if is_redundant(level.0) {
        host.batch(count);
        host.device.fail_member(draw.below(level.1 as u64) as usize);
        host.drain();
        host.compare(&format!("{name} degraded"));
        for _ in 0..2 {
            host.batch(count);
            host.drain();
            host.compare(&format!("{name} degraded or rebuilding"));
        }
        host.wait(200_000_000);
        host.compare(if spares > 0 { "rebuilt" } else { "degraded" });
        let working = host.device.working_members();
        assert_eq!(working, level.1 - usize::from(spares == 0), "members that work");
    }
    host.batch(count);
    let (_, lost) = host.cut(seed);
    if kind == 2 && persist_ns == 0 {
        assert_eq!(lost, 0, "a battery loses nothing that was acknowledged");
    }
    acknowledged[kind.min(2)] += lost;
    host.batch(count);
    host.drain();
    host.wait(100_000_000);
    host.compare("after a cut");
}

#[test]
fn arrays_hold_what_was_written() {
    let seeds = if std::env::var("MILEAGE_TEST_PROFILE").is_ok_and(|it| it == "thorough") { 1_000 } else { 100 };
    let mut acknowledged = [0; 3];
    for seed in 0..seeds {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| one_array(seed, &mut acknowledged)));
        assert!(outcome.is_ok(), "seed {seed}");
    }
    assert!(acknowledged[1] > 0, "a volatile cache loses acknowledged writes");
}
