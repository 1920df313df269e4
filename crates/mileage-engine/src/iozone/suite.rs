//! Description of a set of IOzone's tests: which tests, file and record sizes, workers, and how closely IOzone is followed.

use super::manner::{Manner, Transport};
use crate::identity::Identity;
use mileage_workload::{Content, Error, Files, PatternKind, Stop, Sync, Verify, Workload};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Whether a test does what its name says, or exactly what IOzone does (which differs in some tests).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As the names say: every record exactly once, in a seeded order where it is random, by positioned calls.
    #[default]
    Intended,
    /// IOzone's own offsets, calls and order, as version 3.471 makes them.
    Fidelity,
}

/// Tests that are selected together, in the order of IOzone's numbers (`-i`), which count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// 0: write and rewrite.
    Write,
    /// 1: read and reread.
    Read,
    /// 2: random read and random write.
    Random,
    /// 3: backward read.
    Backward,
    /// 4: record rewrite.
    RecordRewrite,
    /// 5: stride read.
    Stride,
    /// 6: fwrite and frewrite.
    Fwrite,
    /// 7: fread and freread.
    Fread,
    /// 8: some workers read at random, the others write; only with workers.
    Mix,
    /// 9: pwrite and repwrite; of a single stream only where it is named (`-E`).
    Pwrite,
    /// 10: pread and repread; of a single stream only where it is named (`-E`).
    Pread,
}

/// One of IOzone's tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// A new file, record by record.
    Write,
    /// Write the same file again.
    Rewrite,
    /// Record by record.
    Read,
    /// Again.
    Reread,
    /// Read each record once, in random order.
    RandomRead,
    /// Write each record once, in random order.
    RandomWrite,
    /// From the last record to the first.
    BackwardRead,
    /// The first record, again and again.
    RecordRewrite,
    /// Every n-th record, n being the stride.
    StrideRead,
    /// Through a C stream.
    Fwrite,
    /// Write the same file again.
    Frewrite,
    /// Through a C stream.
    Fread,
    /// Again.
    Freread,
    /// Readers and writers at once.
    Mix,
    /// Record by record through `pwrite`.
    Pwrite,
    /// Again.
    Repwrite,
    /// Record by record through `pread`.
    Pread,
    /// Again.
    Repread,
}

impl Group {
    /// All tests, in the order of IOzone's numbers.
    pub const ALL: [Self; 11] = [
        Self::Write,
        Self::Read,
        Self::Random,
        Self::Backward,
        Self::RecordRewrite,
        Self::Stride,
        Self::Fwrite,
        Self::Fread,
        Self::Mix,
        Self::Pwrite,
        Self::Pread,
    ];
}

impl Test {
    /// The workload's name, such as `iozone.stride_read`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "iozone.write",
            Self::Rewrite => "iozone.rewrite",
            Self::Read => "iozone.read",
            Self::Reread => "iozone.reread",
            Self::RandomRead => "iozone.random_read",
            Self::RandomWrite => "iozone.random_write",
            Self::BackwardRead => "iozone.backward_read",
            Self::RecordRewrite => "iozone.record_rewrite",
            Self::StrideRead => "iozone.stride_read",
            Self::Fwrite => "iozone.fwrite",
            Self::Frewrite => "iozone.frewrite",
            Self::Fread => "iozone.fread",
            Self::Freread => "iozone.freread",
            Self::Mix => "iozone.mix",
            Self::Pwrite => "iozone.pwrite",
            Self::Repwrite => "iozone.repwrite",
            Self::Pread => "iozone.pread",
            Self::Repread => "iozone.repread",
        }
    }

    /// The group it is selected with.
    pub fn group(self) -> Group {
        match self {
            Self::Write | Self::Rewrite => Group::Write,
            Self::Read | Self::Reread => Group::Read,
            Self::RandomRead | Self::RandomWrite => Group::Random,
            Self::BackwardRead => Group::Backward,
            Self::RecordRewrite => Group::RecordRewrite,
            Self::StrideRead => Group::Stride,
            Self::Fwrite | Self::Frewrite => Group::Fwrite,
            Self::Fread | Self::Freread => Group::Fread,
            Self::Mix => Group::Mix,
            Self::Pwrite | Self::Repwrite => Group::Pwrite,
            Self::Pread | Self::Repread => Group::Pread,
        }
    }

    /// Whether the test only reads; the mix does not.
    pub fn only_reads(self) -> bool {
        matches!(
            self,
            Self::Read
                | Self::Reread
                | Self::RandomRead
                | Self::BackwardRead
                | Self::StrideRead
                | Self::Fread
                | Self::Freread
                | Self::Pread
                | Self::Repread
        )
    }

    /// Whether the test uses a C stream.
    pub fn by_stream(self) -> bool {
        matches!(self, Self::Fwrite | Self::Frewrite | Self::Fread | Self::Freread)
    }

    /// Whether the test may begin without the file.
    pub fn makes_the_file(self) -> bool {
        matches!(self, Self::Write | Self::Fwrite | Self::Pwrite)
    }

    /// Whether the test repeats the test before it.
    fn is_retest(self) -> bool {
        matches!(self, Self::Rewrite | Self::Reread | Self::Frewrite | Self::Freread | Self::Repwrite | Self::Repread)
    }
}

/// The order of a single stream.
const SINGLE: [Test; 17] = [
    Test::Write,
    Test::Rewrite,
    Test::Read,
    Test::Reread,
    Test::RandomRead,
    Test::RandomWrite,
    Test::BackwardRead,
    Test::RecordRewrite,
    Test::StrideRead,
    Test::Fwrite,
    Test::Frewrite,
    Test::Fread,
    Test::Freread,
    Test::Pwrite,
    Test::Repwrite,
    Test::Pread,
    Test::Repread,
];

/// The order with workers.
const TOGETHER: [Test; 18] = [
    Test::Write,
    Test::Rewrite,
    Test::Read,
    Test::Reread,
    Test::BackwardRead,
    Test::StrideRead,
    Test::RandomRead,
    Test::Mix,
    Test::RandomWrite,
    Test::RecordRewrite,
    Test::Pwrite,
    Test::Repwrite,
    Test::Pread,
    Test::Repread,
    Test::Fwrite,
    Test::Frewrite,
    Test::Fread,
    Test::Freread,
];

/// A set of IOzone's tests. Valid once [`Iozone::check`] has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent switch of the tool")]
pub struct Iozone {
    /// Whether tests do what their names say, or what IOzone does.
    pub mode: Mode,
    /// Groups of tests, in any order; empty for all that a single stream (without `-E`) or workers have.
    pub tests: Vec<Group>,
    /// How the records are moved, and what is done around them.
    pub manner: Manner,
    /// Size of each file in bytes, a multiple of the record.
    pub file_bytes: u64,
    /// Size of a record in bytes, 512 to 1 GiB, a multiple of 512.
    pub record_bytes: u32,
    /// Workers, each a thread with a file of its own, all at once (`-t`), 1 to 1024; `None` for a single stream, which
    /// differs from one worker in order and calls.
    pub workers: Option<u32>,
    /// The workers' files (`-F`), one each; empty for the path with `.0`, `.1` and so on.
    pub files: Vec<PathBuf>,
    /// Distance of the stride read in records (`-j`), 1 or more.
    pub stride_records: u64,
    /// Rewrite, reread, frewrite and freread are done as well, and in fidelity a second backward read (not `-+n`).
    pub retests: bool,
    /// The flush counts in the time (`-e`); else it comes after.
    pub flush_timed: bool,
    /// Closing counts in the time (`-c`).
    pub close_timed: bool,
    /// Past the page cache (`-I`); the streams go through it all the same.
    pub direct: bool,
    /// Reads begin with nothing of the file in the page cache, a second pass (reread) with what the first left there.
    /// Refused in fidelity, where IOzone has `remount` for that.
    pub cold: bool,
    /// Every write is durable with its metadata when it completes (`-o`); refused together with `dsync`.
    pub osync: bool,
    /// Every write is durable when it completes (`-+D`).
    pub dsync: bool,
    /// A worker's rate is what it had moved when the first was done, over that time (not `-x`).
    pub stonewall: bool,
    /// Share of the mix's workers that read, 0 to 100 percent (`-+p`); `None` for every second one.
    pub mix_read_percent: Option<u8>,
    /// The mix goes through the files in order (`-+B`).
    pub mix_sequential: bool,
    /// Content of writes; `None` for incompressible data, in fidelity IOzone's own.
    pub content: Option<Content>,
    /// Every byte that is read is compared with what the content says, in the time of the test (`-+d`, `-+w`).
    pub compare: bool,
    /// Source of the intended order and of the content. Fidelity has IOzone's fixed seed for its order.
    pub seed: u64,
    /// Expected identity of the directory of the files; they are opened by their names in it, and no symbolic link is
    /// followed.
    pub directory: Option<Identity>,
    /// The files stay when the tests are done (`-w`).
    pub keep: bool,
    /// Pause after each test of workers, in nanoseconds; IOzone's is 2 s.
    pub pause_ns: u64,
    /// A call that has not returned after this long ends its test as failed, in nanoseconds; 0 for never.
    pub timeout_ns: u64,
}

impl Default for Iozone {
    /// All thirteen tests of a single stream with IOzone's own defaults of size: 512 KiB in records of 4 KiB.
    fn default() -> Self {
        Self {
            mode: Mode::Intended,
            tests: Vec::new(),
            manner: Manner::default(),
            file_bytes: 512 << 10,
            record_bytes: 4096,
            workers: None,
            files: Vec::new(),
            stride_records: 17,
            retests: true,
            flush_timed: false,
            close_timed: false,
            direct: false,
            cold: false,
            osync: false,
            dsync: false,
            stonewall: true,
            mix_read_percent: None,
            mix_sequential: false,
            content: None,
            compare: false,
            seed: 0,
            directory: None,
            keep: false,
            pause_ns: 0,
            timeout_ns: 0,
        }
    }
}

fn refused(what: &'static str, found: impl std::fmt::Display, expected: &'static str) -> Result<(), Error> {
    Err(Error::Refused { what, found: found.to_string(), expected })
}

impl Iozone {
    /// Check that these tests can be done at all; the workload of each test is checked in addition.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Error> {
        let fidelity = self.mode == Mode::Fidelity;
        self.manner.check(fidelity)?;
        if self.manner.remount.is_some() && self.workers.is_some() {
            return refused("remount", "given", "a single stream");
        }
        if self.cold && (fidelity || self.direct) {
            return refused("cold", true, "the mode intended, through the page cache");
        }
        if self.stride_records == 0 {
            return refused("stride_records", 0, "1 or more");
        }
        if let Some(workers @ (0 | 1025..)) = self.workers {
            return refused("workers", workers, "1 to 1024, or none for a single stream");
        }
        if self.workers.is_none() {
            if self.tests.contains(&Group::Mix) {
                return refused("tests", "mix", "workers: the mix is divided among them");
            }
            if !self.stonewall || self.pause_ns > 0 || !self.files.is_empty() {
                return refused(
                    "stonewall, pause_ns or files",
                    "changed",
                    "workers: they say how workers share a test",
                );
            }
        } else if fidelity && self.tests.contains(&Group::RecordRewrite) {
            return refused("tests", "record_rewrite", "no workers: IOzone has it for a single stream alone");
        }
        if !self.files.is_empty() && self.files.len() != self.workers.unwrap_or(1) as usize {
            return refused("files", self.files.len(), "one for each worker");
        }
        let mixes = self.order().contains(&Test::Mix);
        if !mixes && (self.mix_read_percent.is_some() || self.mix_sequential) {
            return refused("mix_read_percent or mix_sequential", "given", "the mix among the tests");
        }
        if let Some(percent @ 101..) = self.mix_read_percent {
            return refused("mix_read_percent", percent, "0 to 100");
        }
        if self.osync && self.dsync {
            return refused("dsync", "true", "one of osync and dsync: osync makes durable all that dsync does");
        }
        if self.direct && self.order().iter().all(|test| test.by_stream()) {
            return refused("direct", "true", "a test that is not through a stream: streams use the page cache");
        }
        if self.compare && !self.order().iter().any(|test| test.only_reads() || *test == Test::Mix) {
            return refused("compare", "true", "a test that reads");
        }
        if self.order().is_empty() {
            return refused("tests", "nothing", "at least one test");
        }
        for test in self.order() {
            workload_of(self, test).check()?;
        }
        Ok(())
    }

    /// The tests, in the order in which they are done.
    pub fn order(&self) -> Vec<Test> {
        let fidelity = self.mode == Mode::Fidelity;
        let all: &[Test] = if self.workers.is_some() { &TOGETHER } else { &SINGLE };
        let extended = |test: &Test| self.workers.is_none() && matches!(test.group(), Group::Pwrite | Group::Pread);
        let chosen =
            |test: &Test| if self.tests.is_empty() { !extended(test) } else { self.tests.contains(&test.group()) };
        let done = |test: &Test| {
            let unknown = fidelity
                && self.workers.is_some()
                && matches!(
                    test,
                    Test::RecordRewrite | Test::Frewrite | Test::Freread | Test::Repwrite | Test::Repread
                );
            chosen(test) && !unknown && (self.retests || !test.is_retest())
        };
        all.iter().copied().filter(done).collect()
    }

    /// Whether the tests make their files, which are removed then.
    pub(super) fn makes_files(&self) -> bool {
        self.order().iter().any(|test| test.makes_the_file())
    }

    /// Threads of every test.
    pub fn threads(&self) -> u32 {
        self.workers.unwrap_or(1)
    }

    /// Content of writes.
    pub fn content(&self) -> Content {
        let own = if self.mode == Mode::Fidelity { Content::IozoneDefault } else { Content::Incompressible };
        self.content.unwrap_or(own)
    }

    /// Whether worker `worker` of the mix reads: those of the first `mix_read_percent` of all workers, or every
    /// second.
    pub(super) fn reads_in_mix(&self, worker: u32) -> bool {
        match self.mix_read_percent {
            Some(percent) => worker < u32::from(percent) * self.threads() / 100,
            None => worker.is_multiple_of(2),
        }
    }
}

/// Comparison of a worker's reads.
pub(super) fn comparison(suite: &Iozone, only_reads: bool) -> Verify {
    if suite.compare && only_reads { Verify::All } else { Verify::Off }
}

/// Workload of the timed part.
pub(super) fn workload_of(suite: &Iozone, test: Test) -> Workload {
    let fidelity = suite.mode == Mode::Fidelity;
    let step_records = suite.stride_records;
    let pattern = match test {
        Test::Mix if suite.mix_sequential => PatternKind::Sequential,
        Test::RandomRead | Test::RandomWrite | Test::Mix if fidelity => PatternKind::IozoneShuffle,
        Test::RandomRead | Test::RandomWrite | Test::Mix => PatternKind::Shuffled,
        Test::BackwardRead => PatternKind::Backward,
        // IOzone's asynchronous writes of this test have the offsets of a rewrite.
        Test::RecordRewrite if matches!(suite.manner.transport, Transport::Posix { .. }) => PatternKind::Sequential,
        Test::RecordRewrite => PatternKind::Fixed,
        Test::StrideRead if fidelity => PatternKind::IozoneStride { step_records },
        Test::StrideRead => PatternKind::Stride { step_records },
        _ => PatternKind::Sequential,
    };
    let read_percent = match test {
        Test::Mix => 50,
        test if test.only_reads() => 100,
        _ => 0,
    };
    let threads = suite.threads();
    let flush = suite.flush_timed && read_percent < 100;
    Workload {
        pattern,
        read_percent,
        record_bytes: suite.record_bytes,
        span_bytes: suite.file_bytes,
        threads,
        stop: Stop { bytes: Some(suite.file_bytes.saturating_mul(u64::from(threads))), ..Stop::default() },
        seed: suite.seed,
        content: suite.content(),
        sync: if flush { Sync::Fsync } else { Sync::None },
        sync_timed: flush,
        verify: comparison(suite, test.only_reads()),
        files: if suite.workers.is_some() { Files::PerThread } else { Files::Shared },
        ..Workload::default()
    }
}
