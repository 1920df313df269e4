//! Steps of each of IOzone's tests: before, during and after its timed part.

use super::manner::Transport;
use super::suite::{Group, Iozone, Mode, Test, comparison, workload_of};
use mileage_workload::Workload;

/// Something done to the file outside the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// `open(O_CREAT|O_WRONLY, 0)`, `ftruncate` to nothing, `close`.
    Empty,
    /// `unlink`, if it is there.
    Unlink,
    /// `creat(0640)`, `close`.
    Create,
    /// `open`; the test works on what this opened.
    Open(Access),
    /// `fsync` of what was opened.
    Fsync,
    /// Give the file its length for a mapping: `lseek` to the last record, `write` it, `lseek` to the start; past the
    /// page cache `write` of every record.
    Extend,
    /// `read` of the first record, `lseek` back to it.
    ReadFirst,
    /// Drop what was opened from the page cache.
    DropCache,
    /// A second `open(O_RDONLY)`, `fsync`, `close`, while the first stays open.
    FsyncBeside,
}

/// Mode in which a file is opened. Flags for direct and synchronous I/O come on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// `O_RDONLY`.
    Read,
    /// `O_RDWR`.
    ReadWrite,
    /// `O_RDWR|O_CREAT`, 0640.
    Create,
    /// `O_RDWR|O_CREAT|O_TRUNC`, 0666, as `fopen` with `w+` does; if the file exists `O_RDWR`, as with `r+`.
    Stream,
}

/// Calls by which records are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moves {
    /// `pread`, `pwrite`.
    Positioned,
    /// `read`, `write`, and the position stays where they leave it.
    InOrder,
    /// `lseek` to each record, then `read` or `write`.
    SeekFirst,
    /// `read` or `write`, then `lseek` to the next record, also after the last.
    SeekAfter,
    /// `lseek` to the last record from the end; after each `read` back by two records, which fails after the last.
    StepBack,
    /// `fread`, `fwrite` with a buffer of one record.
    Stream,
}

/// One test, ready to be done by every worker.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) test: Test,
    /// A pass whose result IOzone does not report.
    pub(super) unreported: bool,
    pub(super) before: Vec<Action>,
    pub(super) workload: Workload,
    pub(super) moves: Moves,
    pub(super) ending: TestEnd,
}

/// End of a worker's part of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TestEnd {
    /// `fsync` inside the clock though nothing was written.
    pub(super) flush_reads: bool,
    /// `close` inside the clock.
    pub(super) close_inside: bool,
    /// `fsync` after the clock, before `close`.
    pub(super) flush_after: bool,
}

/// All steps, in order.
pub(super) fn steps(suite: &Iozone) -> Vec<Step> {
    let mut steps = Vec::new();
    for test in suite.order() {
        let step = step(suite, test);
        let twice = test == Test::BackwardRead && twice_backward(suite);
        steps.push(step.clone());
        if twice {
            steps.push(Step { unreported: true, ..step });
        }
    }
    steps
}

/// Whether the backward-read test is done twice, as IOzone does with a single stream.
pub(super) fn twice_backward(suite: &Iozone) -> bool {
    suite.mode == Mode::Fidelity && suite.workers.is_none() && suite.retests
}

fn step(suite: &Iozone, test: Test) -> Step {
    let fidelity = suite.mode == Mode::Fidelity;
    let by_stream = test.by_stream();
    let moves = if by_stream {
        Moves::Stream
    } else if !fidelity {
        Moves::Positioned
    } else {
        match test {
            Test::Mix if suite.mix_sequential => Moves::InOrder,
            Test::RandomRead | Test::RandomWrite | Test::Mix => Moves::SeekFirst,
            Test::BackwardRead => Moves::StepBack,
            Test::RecordRewrite | Test::StrideRead => Moves::SeekAfter,
            Test::Pwrite | Test::Repwrite | Test::Pread | Test::Repread => Moves::Positioned,
            _ => Moves::InOrder,
        }
    };
    let streamed_read = by_stream && test.only_reads();
    let flushed_after = if fidelity { !streamed_read } else { !test.only_reads() && !suite.flush_timed };
    Step {
        test,
        unreported: false,
        before: if fidelity { around_faithful(suite, test) } else { intended(suite, test) },
        workload: workload_of(suite, test),
        moves,
        ending: TestEnd {
            // No flush for a stream that was read: fflush does nothing to the file then.
            flush_reads: fidelity && suite.flush_timed && !by_stream,
            close_inside: suite.close_timed,
            // No flush either where IOzone closes the file inside the timed part.
            flush_after: flushed_after && !suite.close_timed,
        },
    }
}

/// The actions of `faithful`, with those that a mapping needs.
fn around_faithful(suite: &Iozone, test: Test) -> Vec<Action> {
    let mut actions = faithful(suite, test);
    let streams = test.by_stream() || matches!(test.group(), Group::Pwrite | Group::Pread);
    let extends = match test {
        Test::Write | Test::Rewrite | Test::RecordRewrite => true,
        Test::RandomWrite | Test::Mix => suite.workers.is_some(),
        _ => false,
    };
    if extends
        && !streams
        && matches!(suite.manner.transport, Transport::Mapping { .. })
        && let Some(at) = actions.iter().position(|action| matches!(action, Action::Open(_)))
    {
        actions.insert(at + 1, Action::Extend);
    }
    actions
}

/// Actions of IOzone 3.471 before the timed part. Workers skip what a single stream does once.
fn faithful(suite: &Iozone, test: Test) -> Vec<Action> {
    use Action::{Create, Empty, Fsync, FsyncBeside, Open, ReadFirst, Unlink};
    let together = suite.workers.is_some();
    match test {
        test if together && test.only_reads() && !test.by_stream() => vec![Open(Access::Read)],
        Test::Write if together => vec![Open(Access::Create)],
        Test::Write => vec![Empty, Unlink, Create, Open(Access::ReadWrite), Fsync],
        Test::Rewrite if together => vec![Open(Access::ReadWrite)],
        Test::Rewrite => vec![Open(Access::ReadWrite), Fsync],
        Test::Read | Test::Reread => vec![Open(Access::Read), Fsync, ReadFirst],
        // A reader of the mix opens for reading alone: see `before_of`.
        Test::RandomRead | Test::RandomWrite | Test::Mix => vec![Open(Access::Create)],
        Test::BackwardRead | Test::StrideRead => vec![Open(Access::Read), Fsync],
        Test::Pwrite | Test::Repwrite if together => vec![Create, Open(Access::Create)],
        Test::RecordRewrite | Test::Pwrite | Test::Repwrite => vec![Open(Access::Create), Fsync],
        Test::Pread | Test::Repread => vec![Open(Access::Read)],
        Test::Fwrite | Test::Frewrite => vec![Open(Access::Stream), Fsync],
        Test::Fread | Test::Freread => vec![Open(Access::Read), FsyncBeside],
    }
}

/// Actions that the test's name asks for. Data that an earlier test left in the cache is written back first, so that
/// it is not written back inside this clock.
fn intended(suite: &Iozone, test: Test) -> Vec<Action> {
    use Action::{DropCache, Fsync, Open, Unlink};
    match test {
        Test::Write | Test::Fwrite | Test::Pwrite => vec![Unlink, Open(Access::Create)],
        // A second pass reads what the first one left in the cache.
        Test::Reread | Test::Freread | Test::Repread => vec![Open(Access::Read), Fsync],
        test if test.only_reads() && suite.cold => vec![Open(Access::Read), Fsync, DropCache],
        test if test.only_reads() => vec![Open(Access::Read), Fsync],
        _ => vec![Open(Access::ReadWrite), Fsync],
    }
}

impl Step {
    /// Actions of worker `worker` before the timed part.
    pub(super) fn before_of(&self, suite: &Iozone, worker: u32) -> Vec<Action> {
        if self.test == Test::Mix && suite.reads_in_mix(worker) {
            return vec![Action::Open(Access::Read)];
        }
        self.before.clone()
    }

    /// The workload of worker `worker`: that of the step, but in a mix each only reads or only writes.
    pub(super) fn workload_for(&self, suite: &Iozone, worker: u32) -> Workload {
        let mut workload = self.workload.clone();
        if self.test == Test::Mix {
            let reads = suite.reads_in_mix(worker);
            workload.read_percent = if reads { 100 } else { 0 };
            workload.verify = comparison(suite, reads);
        }
        workload
    }
}
