//! The suite of the general block-device contract: [`check`] with a closure that makes a fresh device.
//!
//! Random requests at random instants, and random power cuts, are judged clause by clause; the numbers are those of
//! [`crate::block_device`]. The seed is printed when a clause is broken.

use super::Requests;
use crate::block_device::{
    Decisions, DurableExtent, EventClass, Loss, ManagedDevice, ManagementError, Misuse, PowerCut, Submission, Tag,
    TaggedCompletion,
};
use crate::device::{Refusal, Request, RequestKind, Status};
use std::collections::{HashMap, HashSet};

/// Requests of a clause.
const REQUESTS: usize = 60;
/// A device that has more events than these for its requests does not end.
const EVENTS_MAX: u32 = 1 << 20;

/// Run the suite on devices made by `fresh`, with `count` seeds from `first_seed` on, and `cuts` random power cuts for each.
/// A device that cannot know what a cut loses is not cut.
///
/// # Panics
/// When a clause is broken; the message names the clause and the seed.
pub fn check<D: ManagedDevice>(first_seed: u64, count: u64, cuts: u64, fresh: impl Fn() -> D) {
    for seed in first_seed..first_seed + count {
        let clauses: [(&str, Judge<D>); 6] = [
            ("1, submission", submission),
            ("2, time, 3, decisions, and 4, events", decisions),
            ("2, time: calls", calls),
            ("5, refusals", refusals),
            ("8, counters", counters),
            ("8, state", state),
        ];
        for (clause, judge) in clauses {
            if let Err(broken) = judge(seed, fresh(), fresh()) {
                panic!("contract broken, clause {clause}: {broken} (seed {seed})");
            }
        }
        for cut in 0..cuts {
            if let Err(broken) = power(seed.wrapping_mul(1_000_003).wrapping_add(cut), fresh(), fresh()) {
                panic!("contract broken, clauses 3, 6 and 7, a power cut: {broken} (seed {seed}, cut {cut})");
            }
        }
    }
}

/// Submit requests, in the order of their instants, tagged with their index, and let time pass until all have ended; what the device decided, in its order.
///
/// # Panics
/// When the device breaks the contract on the way.
pub fn completions<D: ManagedDevice>(device: &mut D, requests: &[Request]) -> Vec<TaggedCompletion> {
    let submissions: Vec<Submission> =
        (0..).zip(requests).map(|(at, request)| Submission::new(*request, Tag(at))).collect();
    let mut out = Decisions::default();
    let outcome = submit_all(device, &submissions, &mut out).and_then(|()| drain(device, requests.len(), &mut out));
    if let Err(broken) = outcome {
        panic!("contract broken: {broken}");
    }
    out.completions
}

/// Function that checks one clause, given a seed and two new devices.
type Judge<D> = fn(u64, D, D) -> Result<(), String>;

fn holds(condition: bool, broken: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(broken.to_owned()) }
}

fn no_misuse<T>(outcome: Result<T, Misuse>) -> Result<T, String> {
    outcome.map_err(|misuse| misuse.to_string())
}

/// Random requests from the device's present time on.
pub fn requests(seed: u64, device: &impl ManagedDevice) -> Requests {
    Requests::of(seed, device.now_ns(), device.capacity_bytes(), device.sector_bytes())
}

/// Requests with tags whose order is not that of the submissions.
fn tagged(requests: Vec<Request>) -> Vec<Submission> {
    let tag = |at: u64| Tag(at.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (0..).zip(requests).map(|(at, request)| Submission::new(request, tag(at))).collect()
}

/// Collect every event before `until_ns`, one by one.
///
/// # Errors
/// What the device does against the contract.
pub fn collect<D: ManagedDevice>(device: &mut D, until_ns: u64, out: &mut Decisions) -> Result<(), String> {
    for _ in 0..EVENTS_MAX {
        let Some(event) = device.next_event().filter(|event| event.at_ns < until_ns) else { return Ok(()) };
        let (before_ns, known) = (device.now_ns(), out.completions.len());
        holds(event.at_ns >= before_ns, "an event lies behind the clock")?;
        no_misuse(device.advance_to(event.at_ns + 1, out))?;
        holds(device.now_ns() == event.at_ns + 1, "the clock is not where it was set to")?;
        for completion in &out.completions[known..] {
            let refused = matches!(completion.status, Status::Refused(_));
            holds(refused || completion.complete_ns >= event.at_ns, "a completion before its decision")?;
        }
    }
    Err("its events have no end".to_owned())
}

/// Submit, collecting every event that comes before a submission.
fn submit_all<D: ManagedDevice>(device: &mut D, submissions: &[Submission], out: &mut Decisions) -> Result<(), String> {
    for submission in submissions {
        collect(device, submission.request.submit_ns, out)?;
        no_misuse(device.submit(submission.clone()))?;
    }
    Ok(())
}

/// Let time pass until `expected` requests have completed.
fn drain<D: ManagedDevice>(device: &mut D, expected: usize, out: &mut Decisions) -> Result<(), String> {
    for _ in 0..EVENTS_MAX {
        let Some(event) = device.next_event().filter(|_| out.completions.len() < expected) else { break };
        collect(device, event.at_ns + 1, out)?;
    }
    let last_ns = out.completions.iter().map(|completion| completion.complete_ns).max().unwrap_or(0);
    collect(device, last_ns, out)?;
    no_misuse(device.advance_to(last_ns, out))
}

fn submission<D: ManagedDevice>(seed: u64, mut device: D, _: D) -> Result<(), String> {
    let mut out = Decisions::default();
    let mut batch = tagged(requests(seed, &device).take(20));
    submit_all(&mut device, &batch, &mut out)?;
    let last = batch.pop().ok_or("no request")?;
    let before = device.save();
    let submit_ns = last.request.submit_ns;
    let again = device.submit(last.clone());
    holds(again == Err(Misuse::DuplicateTag(last.tag)), "a tag was taken twice")?;
    let other = |submit_ns| Submission::new(Request { submit_ns, ..last.request }, Tag(7));
    let early = device.submit(other(submit_ns.wrapping_sub(1)));
    holds(submit_ns == 0 || matches!(early, Err(Misuse::Past { .. })), "a submission in the past was taken")?;
    if let Some(event) = device.next_event() {
        let late = device.submit(other(event.at_ns + 1));
        holds(matches!(late, Err(Misuse::PastEvent { .. })), "a submission past an event was taken")?;
    }
    holds(device.save() == before, "a refused submission changed the device")
}

fn decisions<D: ManagedDevice>(seed: u64, mut device: D, _: D) -> Result<(), String> {
    let mut out = Decisions::default();
    let batch = tagged(requests(seed, &device).take(REQUESTS));
    submit_all(&mut device, &batch, &mut out)?;
    drain(&mut device, REQUESTS, &mut out)?;
    let submitted: HashMap<Tag, &Request> = batch.iter().map(|it| (it.tag, &it.request)).collect();
    let mut ended = HashSet::new();
    for TaggedCompletion { tag, complete_ns, status } in &out.completions {
        let request = submitted.get(tag).ok_or("a tag that nobody submitted")?;
        holds(ended.insert(*tag), "a tag ended twice")?;
        holds(*complete_ns >= request.submit_ns, "a completion before its submission")?;
        holds(!matches!(status, Status::Refused(_)), "a valid request was refused")?;
    }
    holds(ended.len() == batch.len(), "a request never ended")?;
    let foreground = device.next_event().is_some_and(|event| event.class == EventClass::Foreground);
    holds(!foreground, "an event in the foreground with nothing outstanding")?;
    let (before_ns, before) = (device.now_ns(), device.save());
    no_misuse(device.advance_to(before_ns.saturating_sub(1), &mut out))?;
    holds(device.now_ns() == before_ns && device.save() == before, "the clock ran backwards")
}

/// The same submissions give the same decisions with more calls between them.
fn calls<D: ManagedDevice>(seed: u64, mut plain: D, mut stepped: D) -> Result<(), String> {
    let mut random = requests(!seed, &plain);
    let batch = tagged(requests(seed, &plain).take(REQUESTS));
    let (mut out, mut other) = (Decisions::default(), Decisions::default());
    submit_all(&mut plain, &batch, &mut out)?;
    for submission in &batch {
        let submit_ns = submission.request.submit_ns;
        collect(&mut stepped, submit_ns, &mut other)?;
        let from_ns = stepped.now_ns();
        let between_ns = from_ns + random.draw(submit_ns.saturating_sub(from_ns) + 1);
        no_misuse(stepped.advance_to(between_ns, &mut other))?;
        no_misuse(stepped.advance_to(submit_ns, &mut other))?;
        no_misuse(stepped.submit(submission.clone()))?;
        no_misuse(stepped.advance_to(submit_ns, &mut other))?;
    }
    drain(&mut plain, REQUESTS, &mut out)?;
    drain(&mut stepped, REQUESTS, &mut other)?;
    holds(out == other, "more calls between the submissions changed the completions")?;
    holds(plain.save() == stepped.save(), "more calls between the submissions changed the state")
}

fn refusals<D: ManagedDevice>(seed: u64, mut device: D, mut other: D) -> Result<(), String> {
    let (capacity_bytes, sector_bytes) = (device.capacity_bytes(), u64::from(device.sector_bytes()));
    let batch = tagged(requests(seed, &device).take(20));
    for it in [&mut device, &mut other] {
        submit_all(it, &batch, &mut Decisions::default())?;
        let (behind_ns, mut out) = (batch[19].request.submit_ns + 1, Decisions::default());
        collect(it, behind_ns, &mut out)?;
        no_misuse(it.advance_to(behind_ns, &mut out))?;
    }
    let good = Request {
        kind: RequestKind::Write,
        fua: false,
        offset_bytes: 0,
        length_bytes: sector_bytes,
        submit_ns: device.now_ns(),
    };
    for (bad, why) in [
        (Request { offset_bytes: capacity_bytes, ..good }, "behind the end"),
        (Request { offset_bytes: u64::MAX - sector_bytes + 1, ..good }, "offset and length overflow"),
        (Request { offset_bytes: 1, ..good }, "misaligned offset"),
        (Request { length_bytes: sector_bytes + 1, ..good }, "misaligned length"),
        (Request { length_bytes: 0, ..good }, "empty"),
        (Request { kind: RequestKind::Read, fua: true, ..good }, "FUA on a read"),
        (Request { kind: RequestKind::Flush, ..good }, "a flush with a range"),
    ] {
        let (mut out, submit_ns) = (Decisions::default(), device.now_ns());
        no_misuse(device.submit(Submission::new(Request { submit_ns, ..bad }, Tag(3))))?;
        no_misuse(device.advance_to(submit_ns + 1, &mut out))?;
        let answer = out.completions.iter().find(|completion| completion.tag == Tag(3));
        let answer = answer.ok_or(format!("not refused at once: {why}"))?;
        holds(matches!(answer.status, Status::Refused(_)), &format!("not refused: {why}"))?;
        holds(answer.complete_ns == submit_ns, "a refusal took time")?;
        no_misuse(other.advance_to(submit_ns + 1, &mut out))?;
        holds(device.save() == other.save(), &format!("a refused request changed the state: {why}"))?;
    }
    Ok(())
}

fn counters<D: ManagedDevice>(seed: u64, mut device: D, _: D) -> Result<(), String> {
    let read = |device: &D| {
        let mut values = vec![0; device.counter_names().len()];
        device.counters(&mut values);
        values
    };
    let series = [device.counter_names(), device.gauge_names()].concat();
    holds(device.series_names() == series, "the names of the series are not those of counters and gauges")?;
    let mut before = read(&device);
    for submission in tagged(requests(seed, &device).take(REQUESTS)) {
        submit_all(&mut device, std::slice::from_ref(&submission), &mut Decisions::default())?;
        let now = read(&device);
        holds(now.iter().zip(&before).all(|(now, before)| now >= before), "a counter went down")?;
        before = now;
    }
    Ok(())
}

fn state<D: ManagedDevice>(seed: u64, mut device: D, mut other: D) -> Result<(), String> {
    let mut random = requests(!seed, &device);
    let batch = tagged(requests(seed, &device).take(REQUESTS));
    let cut = random.draw(batch.len() as u64) as usize;
    let mut early = Decisions::default();
    submit_all(&mut device, &batch[..cut], &mut early)?;
    let left = REQUESTS - early.completions.len();
    let saved = device.save();
    other.restore(&saved).map_err(|error| error.to_string())?;
    holds(other.save() == saved, "a restored device saves something else")?;
    let (mut mine, mut theirs) = (Decisions::default(), Decisions::default());
    for (it, out) in [(&mut device, &mut mine), (&mut other, &mut theirs)] {
        submit_all(it, &batch[cut..], out)?;
        drain(it, left, out)?;
    }
    holds(mine == theirs, "a restored device resumes with other completions")?;
    holds(device.save() == other.save(), "a restored device resumes to another state")?;
    for damage in 0..50 {
        let mut damaged = saved.clone();
        let at = random.draw(saved.len() as u64) as usize;
        if damage % 2 == 0 {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 1 << random.draw(8);
        }
        let before = device.save();
        holds(device.restore(&damaged).is_err(), "a damaged state was taken")?;
        holds(device.save() == before, "a refused state changed the device")?;
    }
    Ok(())
}

/// Knowledge of the host when the power fails.
struct History {
    submissions: Vec<Submission>,
    completions: Vec<TaggedCompletion>,
    persisted: Vec<DurableExtent>,
}

impl History {
    fn done_by(&self, tag: Tag, at_ns: u64) -> bool {
        let done = |it: &&TaggedCompletion| it.tag == tag && it.status == Status::Done && it.complete_ns <= at_ns;
        self.completions.iter().any(|it| done(&it))
    }

    /// Whether clause 6 forbids this loss, because the sector was promised to be durable.
    fn promised(&self, loss: &Loss, cut: PowerCut) -> bool {
        let Some(write) = self.submissions.iter().find(|it| it.tag == loss.tag) else { return true };
        let completed = |at_ns| self.done_by(loss.tag, at_ns);
        let flush = |it: &Submission| it.request.kind == RequestKind::Flush && self.done_by(it.tag, cut.at_ns);
        let flushed = self.submissions.iter().any(|it| flush(it) && completed(it.request.submit_ns));
        let overlaps = |it: &DurableExtent| {
            it.offset_bytes < loss.offset_bytes + loss.length_bytes
                && loss.offset_bytes < it.offset_bytes + it.length_bytes
        };
        let persisted = self.persisted.iter().any(|it| it.tag == loss.tag && it.at_ns <= cut.at_ns && overlaps(it));
        flushed || persisted || (write.request.fua && completed(cut.at_ns))
    }
}

/// Run to a random instant, cut the power there, look at what is left, switch on and work again.
fn power<D: ManagedDevice>(seed: u64, mut device: D, mut other: D) -> Result<(), String> {
    let mut random = requests(!seed, &device);
    let count = 1 + random.draw(REQUESTS as u64) as usize;
    let mut submissions = tagged(requests(seed, &device).take(count));
    device.report_persisted(random.draw(2) == 0);
    let mut out = Decisions::default();
    submit_all(&mut device, &submissions, &mut out)?;
    let longest_ns = [1, 100_000, 10_000_000][random.draw(3) as usize];
    let ahead_ns = random.draw(longest_ns);
    let cut = PowerCut { at_ns: device.now_ns().max(submissions[count - 1].request.submit_ns) + ahead_ns, seed };
    collect(&mut device, cut.at_ns, &mut out)?;
    // Requests at the very instant of the cut, one of them refused without a delay.
    for at in 0..random.draw(3) {
        let good = Request { submit_ns: cut.at_ns, ..submissions[0].request };
        let request = if at == 0 { Request { offset_bytes: 1, ..good } } else { good };
        let submission = Submission::new(request, Tag(!at));
        no_misuse(device.submit(submission.clone()))?;
        submissions.push(submission);
    }
    let (whole, before) = ((0, device.capacity_bytes()), device.save());
    let Ok(losses) = device.losses(whole.0, whole.1, cut) else { return Ok(()) };
    holds(device.save() == before, "asking for losses changed the device")?;
    other.restore(&before).map_err(|error| error.to_string())?;
    holds(other.losses(whole.0, whole.1, cut) == Ok(losses.clone()), "a restored device would lose something else")?;
    let decided = out.completions.len();
    let lost = device.power_cut(cut, &mut out).map_err(|error| error.to_string())?;
    holds(lost == losses, "a cut lost something else than was foretold")?;
    ends_once(&submissions, &out.completions, decided, cut.at_ns)?;
    let Decisions { mut completions, persisted } = out;
    completions.truncate(decided);
    let history = History { submissions, completions, persisted };
    for loss in &losses {
        holds(!history.promised(loss, cut), &format!("lost although it was promised to be durable: {loss:?}"))?;
    }
    off_and_on(&mut device, cut)
}

/// In the eye of the host each request ended exactly once by the cut.
fn ends_once(submitted: &[Submission], all: &[TaggedCompletion], decided: usize, cut_ns: u64) -> Result<(), String> {
    let before = all[..decided].iter().filter(|completion| completion.complete_ns <= cut_ns);
    let failed = &all[decided..];
    for completion in failed {
        let fails = matches!(completion.status, Status::DroppedOff { .. }) && completion.complete_ns == cut_ns;
        holds(fails, "a request survived the power cut")?;
    }
    let mut ended: Vec<Tag> = before.chain(failed).map(|completion| completion.tag).collect();
    let mut expected: Vec<Tag> = submitted.iter().map(|submission| submission.tag).collect();
    ended.sort_unstable();
    expected.sort_unstable();
    holds(ended == expected, "a request did not end exactly once")
}

fn off_and_on<D: ManagedDevice>(device: &mut D, cut: PowerCut) -> Result<(), String> {
    let at_ns = device.now_ns();
    holds(at_ns >= cut.at_ns, "the clock stands before the power cut")?;
    let request = Request {
        kind: RequestKind::Read,
        fua: false,
        offset_bytes: 0,
        length_bytes: u64::from(device.sector_bytes()),
        submit_ns: at_ns,
    };
    for on in [false, true] {
        let (mut out, submit_ns) = (Decisions::default(), device.now_ns());
        no_misuse(device.submit(Submission::new(Request { submit_ns, ..request }, Tag(1))))?;
        drain(device, 1, &mut out)?;
        let status = out.completions.first().map(|completion| completion.status);
        let off = matches!(status, Some(Status::Refused(Refusal::DroppedOff { .. })));
        holds(on || off, "a device without power answered")?;
        let works = status.is_some_and(|status| !matches!(status, Status::Refused(_)));
        holds(!on || works, "a device does not work after its power came back")?;
        if !on {
            let later = PowerCut { at_ns: device.now_ns(), seed: cut.seed };
            holds(device.losses(0, device.capacity_bytes(), later).is_ok_and(|it| it.is_empty()), "lost twice")?;
            device.power_on();
        }
    }
    let ends_ns = device.now_ns() + 1_000_000_000;
    no_misuse(device.advance_to(ends_ns, &mut Decisions::default()))?;
    let busy = |error: &ManagementError| matches!(error, ManagementError::Busy { .. });
    holds(device.purge().as_ref().err().is_none_or(|error| !busy(error)), "busy with nothing outstanding")
}
