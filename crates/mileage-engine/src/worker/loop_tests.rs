//! The loop of one operation at a time on a target that answers as scripted: short counts, EAGAIN, or wrong data.

use super::accounting::Loop;
use super::sync_loop::SyncLoop;
use super::thread_result::Part;
use super::{SharedState, reach};
use crate::api::Transfer;
use crate::clock::{RunClock, now_ns};
use crate::options::Options;
use crate::run_context::RunContext;
use crate::thread_range::ThreadRange;
use mileage_measure::{Histogram, RunError};
use mileage_workload::{Content, NoObserver, Op, OpKind, PatternKind, Stop, Sync, Workload};
use proptest::prelude::*;
use rustix::io::Errno;
use std::cell::RefCell;
use std::rc::Rc;

const RECORD: u32 = 4096;
/// Value of every byte that is read; a touched byte is 1.
const UNREAD: u8 = 0xff;

/// Answer of the test target to a call.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// All of it.
    Whole,
    /// This number of bytes, at most all but one.
    Short(usize),
    Fail(Errno),
    /// Nothing at all.
    Nothing,
}

/// Target in memory that gives scripted answers first, and complete transfers after them.
#[derive(Debug, Default)]
struct Target {
    bytes: Vec<u8>,
    answers: std::collections::VecDeque<Answer>,
    calls: u64,
    syncs: u64,
    /// For each read, the bytes of the buffer that had been changed since the read before.
    changed: Vec<Vec<usize>>,
}

#[derive(Clone, Debug)]
struct ScriptedTarget(Rc<RefCell<Target>>);

impl ScriptedTarget {
    fn new(answers: impl IntoIterator<Item = Answer>, records: u64) -> Self {
        let bytes = vec![0; (records * u64::from(RECORD)) as usize];
        Self(Rc::new(RefCell::new(Target { bytes, answers: answers.into_iter().collect(), ..Target::default() })))
    }

    fn answer(&self, length: usize) -> Result<usize, Errno> {
        let mut target = self.0.borrow_mut();
        target.calls += 1;
        match target.answers.pop_front().unwrap_or(Answer::Whole) {
            Answer::Whole => Ok(length),
            Answer::Short(count) => Ok(count.clamp(1, (length - 1).max(1))),
            Answer::Fail(errno) => Err(errno),
            Answer::Nothing => Ok(0),
        }
    }
}

impl Transfer for ScriptedTarget {
    const CALLS: u64 = 1;

    fn read(&mut self, _offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let count = self.answer(into.len())?;
        let changed = (0..into.len()).filter(|at| into[*at] == UNREAD & 1).collect();
        self.0.borrow_mut().changed.push(changed);
        // All of it, so that a touch of what has not arrived yet shows too.
        into.fill(UNREAD);
        Ok(count)
    }

    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        let count = self.answer(from.len())?;
        let at = offset_bytes as usize;
        self.0.borrow_mut().bytes[at..at + count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn sync(&mut self, _how: Sync) -> Result<(), Errno> {
        self.answer(1)?;
        self.0.borrow_mut().syncs += 1;
        Ok(())
    }

    fn command(&mut self, _op: &Op) -> Result<(), Errno> {
        self.answer(1).map(|_| ())
    }
}

fn workload(read_percent: u8, records: u64) -> Workload {
    Workload {
        pattern: PatternKind::Shuffled,
        read_percent,
        record_bytes: RECORD,
        span_bytes: records * u64::from(RECORD),
        stop: Stop { operations: Some(records), ..Stop::default() },
        content: Content::Incompressible,
        ..Workload::default()
    }
}

/// Turn one thread over the target; what it wrote down and how it failed.
fn turn(workload: &Workload, target: &ScriptedTarget) -> (Part, Option<RunError>) {
    turn_with(workload, Options::new("target"), target)
}

fn turn_with(workload: &Workload, options: Options, target: &ScriptedTarget) -> (Part, Option<RunError>) {
    let shared = SharedState::new(workload.clone(), options, ThreadRange::all(workload), RunContext::of(None, &[]));
    let mut worker = SyncLoop::new(&shared, 0, target.clone(), NoObserver).unwrap();
    let failure = worker.turn(RunClock::since(now_ns()));
    (worker.accounting().part.hand_over().into_inner(), failure.map(|(_, error)| error))
}

#[test]
fn every_thread_of_a_share_leaves_its_books_at_its_own_place() {
    let workload = Workload { threads: 5, ..Workload::default() };
    let options = Options { timeout_ns: 1_000_000_000, ..Options::new("target") };
    let thread_range = ThreadRange { first: 3, count: 2, barrier: None };
    let shared = SharedState::new(workload, options, thread_range, RunContext::of(None, &[]));
    for thread in 3..5 {
        let left = reach(&shared, thread, || {
            shared.hand_overs.iter().map(|hand_over| hand_over.is_left()).collect::<Vec<_>>()
        });
        assert_eq!(
            left,
            [thread == 3, thread == 4],
            "what a watchdog finds while thread {thread} reaches for the target"
        );
    }
}

fn any_answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        3 => Just(Answer::Whole),
        3 => (1_usize..5000).prop_map(Answer::Short),
        2 => Just(Answer::Fail(Errno::INTR)),
        1 => Just(Answer::Fail(Errno::AGAIN)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn short_counts_and_interruptions_lose_and_repeat_nothing(
        answers in prop::collection::vec(any_answer(), 0..60),
        read_percent in prop_oneof![Just(0_u8), Just(40), Just(100)],
    ) {
        let work = Workload { sync: Sync::Fsync, ..workload(read_percent, 20) };
        let (honest, scripted) = (ScriptedTarget::new([], 20), ScriptedTarget::new(answers, 20));
        let (expected, failure) = turn(&work, &honest);
        prop_assert_eq!(failure, None);
        let (part, failure) = turn(&work, &scripted);
        prop_assert_eq!(failure, None);
        prop_assert!(scripted.0.borrow().bytes == honest.0.borrow().bytes, "something else was written");
        let figures = |part: &Part| {
            let record = &part.record;
            (record.ops_read, record.ops_written, record.bytes_read, record.bytes_written, part.latency(OpKind::Sync).count())
        };
        prop_assert_eq!(figures(&part), figures(&expected));
        let target = scripted.0.borrow();
        prop_assert_eq!(target.syncs, u64::from(read_percent < 100));
        // At most, because the target also counts syncs that failed, which the record does not.
        prop_assert!(part.record.calls <= target.calls && part.record.calls >= 20);
    }
}

#[test]
fn errors_end_the_run_by_name() {
    let cases = [
        (0, Answer::Fail(Errno::NOSPC), "ENOSPC"),
        (0, Answer::Fail(Errno::IO), "EIO"),
        (100, Answer::Fail(Errno::IO), "EIO"),
        (100, Answer::Nothing, "EOF"),
        (0, Answer::Nothing, "EIO"),
    ];
    for (read_percent, answer, kind) in cases {
        let script = [Answer::Whole, Answer::Whole, Answer::Short(1000), answer];
        let (part, failure) = turn(&workload(read_percent, 20), &ScriptedTarget::new(script, 20));
        let error = failure.expect("the run fails");
        assert_eq!(error.kind, kind);
        let verb = if read_percent == 0 { "write" } else { "read" };
        assert!(error.message.starts_with(&format!("{verb} of 4096 bytes at offset ")), "{}", error.message);
        assert!(error.message.contains(" of target failed after 1000 bytes: "), "{}", error.message);
        let record = &part.record;
        assert_eq!(
            (record.ops_read + record.ops_written, record.bytes_read + record.bytes_written),
            (2, 2 * 4096 + 1000)
        );
        assert_eq!(record.calls, 4);
    }
}

#[test]
fn a_sync_that_fails_is_named() {
    let work = Workload { sync: Sync::Fdatasync, ..workload(0, 3) };
    let script = [Answer::Whole, Answer::Whole, Answer::Whole, Answer::Fail(Errno::INTR), Answer::Fail(Errno::IO)];
    let (part, failure) = turn(&work, &ScriptedTarget::new(script, 3));
    let error = failure.unwrap();
    assert_eq!(error.kind, "EIO");
    assert!(error.message.starts_with("fdatasync of target: "), "{}", error.message);
    assert_eq!((part.record.ops_written, part.durable_ns), (3, None));
}

#[test]
fn a_commit_whose_sync_fails_is_kept_apart_with_what_it_had_taken() {
    let work = Workload { sync: Sync::Fdatasync, sync_every: 1, ..workload(0, 3) };
    let script = [Answer::Whole, Answer::Whole, Answer::Whole, Answer::Fail(Errno::IO)];
    let (part, failure) = turn(&work, &ScriptedTarget::new(script, 3));
    assert_eq!(failure.unwrap().kind, "EIO");
    let commits = part.commits.unwrap();
    let counts = [commits.commit(), commits.unfinished_commit(), commits.unfinished_sync()].map(Histogram::count);
    assert_eq!(counts, [1, 1, 1]);
    assert!(commits.unfinished_commit().quantile_ns(1.0) >= commits.unfinished_sync().quantile_ns(1.0));
}

#[test]
fn a_target_that_never_has_time_fails_after_a_second() {
    let (part, failure) = turn(&workload(100, 2), &ScriptedTarget::new(vec![Answer::Fail(Errno::AGAIN); 5000], 2));
    assert_eq!((failure.unwrap().kind.as_str(), part.record.ops_read, part.record.calls), ("EAGAIN", 0, 1001));
}

#[test]
fn one_byte_per_interval_of_every_read_is_touched_and_no_other() {
    for touch_bytes in [0, 1, 512, 513, 4096] {
        let target = ScriptedTarget::new([], 5);
        let options = Options { touch_bytes, ..Options::new("target") };
        let (part, failure) = turn_with(&workload(100, 5), options, &target);
        assert_eq!((failure, part.record.ops_read), (None, 5));
        let expected: Vec<usize> =
            (0..RECORD).filter(|at| touch_bytes > 0 && at % touch_bytes == 0).map(|at| at as usize).collect();
        // A touch must not change data that a later read returns.
        let changed = &target.0.borrow().changed;
        assert_eq!(changed[1..], vec![expected; 4], "every {touch_bytes} bytes");
    }
}

#[test]
fn a_read_in_parts_is_touched_once_when_it_is_whole() {
    let target = ScriptedTarget::new([Answer::Short(100), Answer::Whole], 2);
    let options = Options { touch_bytes: 1024, ..Options::new("target") };
    let (_, failure) = turn_with(&workload(100, 2), options, &target);
    assert_eq!(failure, None);
    let changed = &target.0.borrow().changed;
    assert!(changed[1].is_empty(), "touched during the read");
    assert_eq!(changed[2], [0, 1024, 2048, 3072]);
}
