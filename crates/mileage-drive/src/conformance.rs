//! The suites of both forms of the block-device contract: [`check`] and [`general::check`], with a closure that makes a
//! fresh device.
//!
//! Random operations (their seed is printed on failure) are judged clause by clause; the numbers are those of
//! [`crate::immediate_device`].

pub mod general;

use crate::device::{Completion, Request, RequestKind, Status};
use crate::immediate_device::Immediate;
use mileage_workload::{Op, OpKind};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random but valid operations, times included.
#[derive(Clone, Debug)]
pub struct Requests {
    rng: Xoshiro256PlusPlus,
    now_ns: u64,
    capacity_bytes: u64,
    sector_bytes: u64,
}

impl Requests {
    /// Operations for a device, from its present time on.
    pub fn new(seed: u64, device: &impl Immediate) -> Self {
        Self::of(seed, device.now_ns(), device.capacity_bytes(), device.sector_bytes())
    }

    fn of(seed: u64, now_ns: u64, capacity_bytes: u64, sector_bytes: u32) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { rng, now_ns, capacity_bytes, sector_bytes: u64::from(sector_bytes) }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.rng.next_u64() % below
    }

    /// The next `count` operations: mostly writes, of a sector to 64 sectors, some far larger.
    pub fn take(&mut self, count: usize) -> Vec<Request> {
        (0..count).map(|_| self.one()).collect()
    }

    fn one(&mut self) -> Request {
        self.now_ns += [0, 0, 3_000, 900_000][self.draw(4) as usize];
        let sectors = self.capacity_bytes / self.sector_bytes;
        let longest = if self.draw(50) == 0 { sectors } else { sectors.min(64) };
        let length = 1 + self.draw(longest);
        let offset = self.draw(sectors - length + 1);
        let kind = match self.draw(20) {
            0 => RequestKind::Flush,
            1..=2 => RequestKind::Discard,
            3..=6 => RequestKind::Read,
            _ => RequestKind::Write,
        };
        let ranged = u64::from(kind != RequestKind::Flush);
        Request {
            kind,
            fua: kind == RequestKind::Write && self.draw(8) == 0,
            offset_bytes: ranged * offset * self.sector_bytes,
            length_bytes: ranged * length * self.sector_bytes,
            submit_ns: self.now_ns,
        }
    }
}

/// Submit a batch and return its completions.
pub fn completions(device: &mut impl Immediate, batch: &[Request]) -> Vec<Completion> {
    let mut out = Vec::new();
    device.submit(batch, &mut out);
    out
}

/// The checksum in a flash drive's state of what follows its header of 32 bytes: for tests that forge states.
pub fn state_checksum(body: &[u8]) -> u64 {
    crate::saved_state::checksum(body)
}

/// Run the suite on devices made by `fresh`, with `count` seeds from `first_seed` on.
///
/// # Panics
/// When a clause is broken; the message names the clause and the seed.
pub fn check<D: Immediate>(first_seed: u64, count: u64, fresh: impl Fn() -> D) {
    for seed in first_seed..first_seed + count {
        let clauses: [(&str, Judge<D>); 5] = [
            ("1, batches", batches),
            ("2, time, and 5, flush", time),
            ("3, refusals", refusals),
            ("6, counters, and 8, looking ahead", counters_and_prefetch),
            ("7, state", state),
        ];
        for (clause, judge) in clauses {
            if let Err(broken) = judge(seed, fresh(), fresh()) {
                panic!("contract broken, clause {clause}: {broken} (seed {seed})");
            }
        }
    }
}

/// Function that checks one clause, given a seed and two new devices.
type Judge<D> = fn(u64, D, D) -> Result<(), String>;

fn holds(condition: bool, broken: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(broken.to_owned()) }
}

fn batches<D: Immediate>(seed: u64, mut whole: D, mut split: D) -> Result<(), String> {
    let requests = Requests::new(seed, &whole).take(300);
    let at_once = completions(&mut whole, &requests);
    let one_by_one: Vec<Completion> =
        requests.iter().flat_map(|request| completions(&mut split, std::slice::from_ref(request))).collect();
    holds(at_once.len() == requests.len(), "not one completion for each operation")?;
    holds(at_once == one_by_one, "cutting a batch changed its completions")?;
    holds(whole.save() == split.save(), "cutting a batch changed the state")
}

fn time<D: Immediate>(seed: u64, mut device: D, _: D) -> Result<(), String> {
    let requests = Requests::new(seed, &device).take(300);
    let mut durable_ns = 0;
    for (request, completion) in requests.iter().zip(completions(&mut device, &requests)) {
        holds(completion.status == Status::Done, "a valid operation was refused")?;
        holds(completion.complete_ns >= request.submit_ns, "a completion before its submission")?;
        if request.fua {
            durable_ns = durable_ns.max(completion.complete_ns);
        }
        let covered = request.kind != RequestKind::Flush || completion.complete_ns >= durable_ns;
        holds(covered, "a flush completed before a write that had to be on the medium")?;
    }
    holds(device.now_ns() >= requests[299].submit_ns, "the clock stands before the last submission")?;
    let before_ns = device.now_ns();
    device.idle_ns(7);
    holds(device.now_ns() == before_ns + 7, "idle time did not pass")?;
    device.advance_to(before_ns);
    holds(device.now_ns() == before_ns + 7, "the clock ran backwards")
}

fn refusals<D: Immediate>(seed: u64, mut device: D, _: D) -> Result<(), String> {
    let requests = Requests::new(seed, &device).take(100);
    completions(&mut device, &requests);
    let (capacity_bytes, sector_bytes) = (device.capacity_bytes(), u64::from(device.sector_bytes()));
    let good = Request {
        kind: RequestKind::Write,
        fua: false,
        offset_bytes: 0,
        length_bytes: sector_bytes,
        submit_ns: device.now_ns(),
    };
    let before = device.save();
    for (bad, why) in [
        (Request { offset_bytes: capacity_bytes, ..good }, "behind the end"),
        (Request { offset_bytes: u64::MAX - sector_bytes + 1, ..good }, "offset and length overflow"),
        (Request { offset_bytes: 1, ..good }, "misaligned offset"),
        (Request { length_bytes: sector_bytes + 1, ..good }, "misaligned length"),
        (Request { length_bytes: 0, ..good }, "empty"),
        (Request { kind: RequestKind::Read, fua: true, ..good }, "FUA on a read"),
        (Request { kind: RequestKind::Flush, ..good }, "a flush with a range"),
    ] {
        let completion = completions(&mut device, &[bad])[0];
        holds(completion.status != Status::Done, &format!("not refused: {why}"))?;
        holds(completion.complete_ns == bad.submit_ns, "a refusal took time")?;
        holds(device.save() == before, "a refused operation changed the state")?;
    }
    Ok(())
}

fn counters_and_prefetch<D: Immediate>(seed: u64, mut device: D, mut other: D) -> Result<(), String> {
    let read = |device: &D| {
        let mut values = vec![0; device.counter_names().len()];
        device.counters(&mut values);
        values
    };
    let mut requests = Requests::new(seed, &device);
    let mut before = read(&device);
    for _ in 0..20 {
        let batch = requests.take(20);
        let ahead: Vec<Op> = batch
            .iter()
            .map(|request| Op {
                kind: if request.kind == RequestKind::Read { OpKind::Read } else { OpKind::Write },
                length_bytes: request.length_bytes as u32,
                offset_bytes: request.offset_bytes,
            })
            .collect();
        other.prefetch(&ahead, &ahead[..ahead.len() / 2]);
        holds(completions(&mut device, &batch) == completions(&mut other, &batch), "looking ahead changed times")?;
        let now = read(&device);
        holds(now.iter().zip(&before).all(|(now, before)| now >= before), "a counter went down")?;
        before = now;
    }
    holds(device.save() == other.save(), "looking ahead changed the state")
}

fn state<D: Immediate>(seed: u64, mut device: D, mut other: D) -> Result<(), String> {
    let mut requests = Requests::new(seed, &device);
    for _ in 0..5 {
        let count = 1 + requests.draw(200) as usize;
        let batch = requests.take(count);
        completions(&mut device, &batch);
        let saved = device.save();
        other.restore(&saved).map_err(|error| error.to_string())?;
        holds(other.save() == saved, "a restored device saves something else")?;
        let batch = requests.take(100);
        let (mine, theirs) = (completions(&mut device, &batch), completions(&mut other, &batch));
        holds(mine == theirs, "a restored device resumes with other times")?;
        holds(device.save() == other.save(), "a restored device resumes to another state")?;
    }
    let saved = device.save();
    for damage in 0..50 {
        let mut damaged = saved.clone();
        let at = requests.draw(saved.len() as u64) as usize;
        if damage % 2 == 0 {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 1 << requests.draw(8);
        }
        holds(device.restore(&damaged).is_err(), "a damaged state was taken")?;
    }
    holds(device.save() == saved, "a refused state changed the device")
}
