"""
The compiled core of Mileage: sizes, the load engine and virtual drives.
"""

from _typeshed import SupportsGetItem
from os import PathLike
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["BUILD_PROFILE", "VERSION", "Drive", "DriveServer", "Host", "StartBarrier", "TaskFile", "array_data_loss", "beta_quantile", "binomial_tails", "birth_time_ns", "check_workload", "chi_square_below", "clock_ns", "content_saved", "cpus_of_node", "drive_alternatives", "drive_figure_names", "drive_figures", "drive_rates", "drive_title", "format_bytes", "forward_log", "host_figures", "host_title", "iozone_differences", "iozone_duplicates", "iozone_steps", "latency_quantile_ns", "library_random", "make_start_barrier", "merge_iozone_shares", "merge_metadata_shares", "merge_shares", "metadata_problem", "noncentral_t_above", "parse_bytes", "record_schema", "remove_iozone_files", "run_file", "run_iozone", "run_iozone_share", "run_metadata", "run_metadata_share", "run_names", "run_share", "shuffled_offsets", "simulated_array_loss", "t_quantile", "t_two_sided", "toml_faults", "toml_lines", "workload_problem"]

BUILD_PROFILE: Final[str]
"""
`release` or `debug`: measuring with a debug build is refused by `mileage run`.
"""

VERSION: Final[str]
"""
The version of Mileage.
"""

@final
class Drive:
    """
    A virtual drive in virtual time, built from a profile (TOML).

    `Drive(profile)` takes the text of a profile, or the name of a drive that ships with Mileage. The drive has no
    randomness of its own: equal operations give equal times.
    """
    def __new__(cls, /, profile: str) -> Drive:
        """
        A factory-fresh drive. Raises `mileage.errors.Refused` for an unknown name or an impossible profile.
        """
    @property
    def capacity_bytes(self, /) -> int:
        """
        Bytes that the host can address.
        """
    def counter_array(self, /) -> Any:
        """
        The counters since power-on as a `NumPy` array of `uint64`.
        """
    def counter_names(self, /) -> list[str]:
        """
        Names of the counters, in the order of `counter_array`.
        """
    def counters(self, /) -> list[tuple[str, int]]:
        """
        Counters that explain the drive's speed: name and value since power-on.
        """
    def discard_all(self, /) -> None:
        """
        Discard the whole capacity, as `blkdiscard` does. Raises `ValueError` when the drive refuses it.
        """
    def gauges(self, /) -> list[tuple[str, int]]:
        """
        Gauges, which show the current state: name and value.
        """
    def idle(self, /, nanoseconds: SupportsIndex) -> None:
        """
        Let virtual time pass without I/O, in nanoseconds.
        """
    @property
    def life(self, /) -> str:
        """
        `working`, `read-only`, `dead` or `dropped off`.
        """
    @property
    def name(self, /) -> str:
        """
        Short name.
        """
    @property
    def now_ns(self, /) -> int:
        """
        Virtual time since power-on, in nanoseconds.
        """
    def power_cut(self, /, at_ns: SupportsIndex | None = None) -> list[tuple[int, int, int]]:
        """
        Cut the power at `at_ns` (the present time when none is given) and restore it: nothing is outstanding afterwards.
        The acknowledged writes that are lost, in their order: number of the write command since the drive was new
        (from 0), first byte, bytes; one entry for each page. Raises `ValueError` for an instant that has passed or
        lies in a stall with commands waiting, and when the profile does not say whether the write buffer is volatile or
        protected.
        """
    def power_cycle(self, /) -> None:
        """
        Power off and on again; a drive at the end of its life may not come back.
        """
    def purge(self, /) -> None:
        """
        Erase everything, wear aside.
        """
    @property
    def rated_write_bytes(self, /) -> int | None:
        """
        Bytes the maker warrants to be written, or `None`.
        """
    @staticmethod
    def restore(profile: str, state: bytes) -> Drive:
        """
        The drive that continues where a saved one of the same profile stopped. Raises `ValueError` when the state is
        damaged or belongs to another profile.
        """
    def run(self, /, workload: str, poll: Any | None = None) -> str:
        """
        Do a workload (JSON) and return its record (JSON). `poll(bytes, operations)` is called now and then; when it
        answers true the run is interrupted. Raises `ValueError` when the drive cannot do the workload.
        """
    def save(self, /) -> bytes:
        """
        The whole state, to be given to `restore`.
        """
    def submit(self, /, kind: str, offsets_bytes: SupportsGetItem[int, SupportsIndex], length_bytes: SupportsIndex, at_ns: SupportsIndex | None = None, fua: bool = False) -> Any:
        """
        Submit operations of one kind (`read`, `write`, `discard`, `flush`) and length at these offsets, all at the
        same instant (nanoseconds; the present time when none is given, and never before it); when each is complete,
        as a `NumPy` array. Writes with `fua` wait for the flash. The clock does not move on to these completions:
        `idle` does that. Raises `ValueError` when the drive refuses one; those before it are done.
        """

@final
class DriveServer:
    """
    A virtual drive with real data whose requests are answered at their modelled instants.

    `profile` is the text of a profile. `state`: what a virtual drive of this profile saved. `data`: a file that keeps the
    data; in memory without one. `speed`: "real", "unbounded" or a factor such as "x10". `spins`: spend the end of each wait
    spinning, which is more precise and uses a processor. Raises `mileage.errors.Refused`.
    """
    def __new__(cls, /, profile: str, state: SupportsGetItem[int, SupportsIndex] | None = None, data: str | PathLike[str] | None = None, speed: str = "real", spins: bool = False) -> DriveServer: ...
    def age(self, /, written_bytes: SupportsIndex, seed: SupportsIndex, stop: Any) -> int:
        """
        Age the drive by this number of bytes of random writes without a change of its data; the bytes written. `stop(bytes)` is
        called now and then and ends it by answering true.
        """
    @property
    def capacity_bytes(self, /) -> int:
        """
        Bytes that can be addressed.
        """
    def damage(self, /, offset_bytes: SupportsIndex, length_bytes: SupportsIndex) -> int:
        """
        Let reading a range fail until it is written; the number of its sectors. Raises `mileage.errors.Refused` when the
        range is not one of whole sectors of the drive.
        """
    def drop_off(self, /) -> int:
        """
        Let the drive be missing until it is switched on; the number of requests that failed.
        """
    def heal(self, /) -> int:
        """
        End all faults that were injected; the number of sectors that can be read again.
        """
    @property
    def is_unmounted(self, /) -> bool:
        """
        Whether the file system was unmounted, or never mounted.
        """
    def listen_nbd(self, /, at: str | PathLike[str]) -> None:
        """
        Serve the drive to NBD clients of a unix socket.
        """
    def mount(self, /, at: str | PathLike[str], block_bytes: SupportsIndex) -> None:
        """
        Mount a file system at a directory whose only file, `drive`, is the drive; `block_bytes` is the block size that
        it reports.
        """
    def power_cut(self, /, seed: SupportsIndex) -> str:
        """
        Cut the power; what that did, as JSON. Raises `mileage.errors.Refused` when nobody knows what that loses.
        """
    def power_on(self, /) -> None:
        """
        Switch the drive on again.
        """
    def recent_lateness(self, /) -> str:
        """
        How late answers were since this was last asked, as JSON.
        """
    def save(self, /) -> bytes:
        """
        The drive's state with all that was written. Raises `mileage.errors.Refused` when the drive has no power.
        """
    def stall(self, /, nanoseconds: SupportsIndex) -> None:
        """
        Let the drive answer nothing for this time of the host's clock.
        """
    def stats(self, /) -> str:
        """
        Statistics as JSON.
        """

@final
class Host:
    """
    A modelled host in virtual time: page cache, block layer and file system above a virtual drive.

    `Host(host, drive, state)` takes the texts of two profiles and, if the drive was used before, its state. Equal calls give
    equal times.
    """
    def __new__(cls, /, host: str, drive: str, state: bytes | None = None) -> Host:
        """
        A host that was just started, with a new file system on a factory-fresh drive, or on one in a state that a virtual drive
        of this profile saved. Raises `mileage.errors.Refused` for an impossible profile, for a state of another drive, and for
        a drive that finds duplicates: the host hands on how far pages compress, not which are equal.
        """
    def call(self, /, call: str) -> int:
        """
        Do a system call (JSON) alone, and let time pass until it has ended; when that was, in nanoseconds. Raises `OSError`
        with what Linux calls the failure.
        """
    def counters(self, /) -> list[tuple[str, int]]:
        """
        What explains the host's speed, and behind it the drive's: name and value since power-on.
        """
    def empty_caches(self, /) -> None:
        """
        Write everything that is dirty, and empty the cache.
        """
    def fill_cache(self, /) -> None:
        """
        Read the work file from end to end through the cache.
        """
    def forget_durability(self, /) -> None:
        """
        Forget it again.
        """
    @property
    def free_bytes(self, /) -> int:
        """
        Bytes that the file system has free.
        """
    def gauges(self, /) -> list[tuple[str, int]]:
        """
        How things stand now: name and value.
        """
    def idle(self, /, nanoseconds: SupportsIndex) -> None:
        """
        Let virtual time pass, in nanoseconds; the flusher and the journal work meanwhile.
        """
    def make_work_file(self, /, bytes: SupportsIndex) -> None:
        """
        Make the work file at least so long, by writing what is missing, syncing and emptying the cache. Raises `ValueError`
        when it does not fit.
        """
    @property
    def memory_bytes(self, /) -> int:
        """
        Bytes of memory.
        """
    @property
    def now_ns(self, /) -> int:
        """
        Virtual time since power-on, in nanoseconds.
        """
    def random_cuts(self, /, cuts: SupportsIndex, seed: SupportsIndex) -> tuple[int, int, int]:
        """
        Write and sync 4 KiB `cuts` times, and think of a power cut at a random instant of each: how many cuts lose an
        acknowledged write, the most that one loses, and the time of the writes in nanoseconds. Raises `ValueError` when the
        drive's profile does not say what a cut loses.
        """
    def remove_tree(self, /, path: str) -> None:
        """
        Remove a directory with everything in it, if it is there. Raises `OSError`.
        """
    @staticmethod
    def restore(host: str, drive: str, state: bytes) -> Host:
        """
        The host that continues where a saved one of the same profiles stopped. Raises `ValueError` when the state is damaged or
        belongs to other profiles.
        """
    def run(self, /, workload: str, poll: Any | None = None, direct: bool = False, dsync: bool = False) -> str:
        """
        Do a workload (JSON) on the work file and return its record (JSON). `direct`: past the cache. `dsync`: each write is
        synced. `poll(bytes, operations)` is called now and then; when it answers true the run is interrupted. Raises
        `ValueError` when the host cannot do the workload.
        """
    def run_files(self, /, job: str, poll: Any | None = None) -> str:
        """
        Do a job on files (JSON: `phases`, each with the work of its tasks) and return the records of its timed phases (JSON).
        `poll` is as in `run`. Raises `mileage.errors.Refused` when the job breaks a rule.
        """
    def run_iozone(self, /, path: str, suite: str, poll: Any | None = None) -> str:
        """
        Do a set of IOzone's tests (JSON) on the file at `path` and return their results (JSON), as `run_iozone` does on a real
        file. Raises `mileage.errors.Refused` for what only a real file has.
        """
    def run_names(self, /, name: str, shares: SupportsGetItem[int, tuple[str, str]], poll: Any | None = None) -> str:
        """
        As `run_files`, a metadata workload for each of `shares`: its directory (empty, or ending in a slash) and the workload
        (JSON). All begin together. `name`: what the record is called.
        """
    def save(self, /) -> bytes:
        """
        The whole state, to be given to `restore`: cache, files, journal, queues and the drive.
        """
    def survival(self, /, seed: SupportsIndex) -> tuple[int, int]:
        """
        Synced writes since that is tracked, and how many of them a power cut now would lose. Raises `ValueError` when the
        drive's profile does not say what a cut loses, and when metadata may have been written in place meanwhile.
        """
    def take_calls(self, /) -> str:
        """
        The calls since they are recorded, or since this was last asked, as JSON: number of the task, and the call.
        """
    def take_requests(self, /) -> list[tuple[str, int, int, bool]]:
        """
        The requests since they are recorded, or since this was last asked: kind (`read`, `write`, `discard` or `flush`), first
        byte, bytes, FUA.
        """
    def trace_calls(self, /) -> None:
        """
        Record every system call from now on.
        """
    def trace_requests(self, /) -> None:
        """
        Record every request to the drive from now on.
        """
    def track_durability(self, /) -> None:
        """
        Remember from now on what is written and what is acknowledged as durable.
        """
    def trim(self, /) -> None:
        """
        Discard every free block, as `fstrim` does. Raises `ValueError` when kernel or drive refuse it.
        """
    def work_file_extents(self, /) -> list[tuple[int, int, int]]:
        """
        The extents of the work file: byte in the file, byte on the drive and bytes of each.
        """

@final
class StartBarrier:
    """
    The start barrier of a run on several machines, as one process sees it: a file for `threads` threads at
    `path`, made here. Raises `mileage.errors.Refused` when it exists or cannot be made.
    """
    def __new__(cls, /, path: str | PathLike[str], threads: SupportsIndex) -> StartBarrier: ...
    def abandon(self, /) -> None:
        """
        End the run because another of its processes was lost.
        """
    @property
    def arrived(self, /) -> int:
        """
        Threads that are ready, or never will be.
        """
    def begin_at(self, /, start_ns: SupportsIndex) -> None:
        """
        Set when the waiting threads begin: nanoseconds of `CLOCK_MONOTONIC_RAW`, at once if that has passed.
        """

@final
class TaskFile:
    """
    A file that a task of IOR has open: `TaskFile(descriptor, buffer_bytes)` takes the descriptor over, and closes it when it
    is deleted. Raises `OSError`.
    """
    def __new__(cls, /, descriptor: SupportsIndex, buffer_bytes: SupportsIndex) -> TaskFile:
        """
        Take the descriptor over, and allocate a buffer.
        """
    def sync(self, /) -> None:
        """
        `fsync`. Raises `OSError`.
        """
    def transfer(self, /, work: str) -> str:
        """
        Make transfers (JSON); what was moved, as JSON. Raises `OSError`.
        """

def array_data_loss(profile: str, years: SupportsFloat | SupportsIndex, arrays: SupportsIndex, seed: SupportsIndex) -> tuple[float, float, float, float, float, float] | None:
    """
    How probable it is that the array of a profile (TOML) loses data within some years: hours of a repair, mean hours to the
    loss of a set of copies or of the array, the exact probability, and the simulated one with the ends of its 95 % interval
    over `arrays` simulated arrays. `None` for other drives, and for arrays that do not state `member_afr_percent`. Raises
    `mileage.errors.Refused` when the text is no profile.
    """

def beta_quantile(one: SupportsFloat | SupportsIndex, other: SupportsFloat | SupportsIndex, probability: SupportsFloat | SupportsIndex) -> float:
    """
    The value that a beta distribution does not exceed with `probability` (0..1): bounds of a share.
    """

def binomial_tails(counts: SupportsGetItem[int, SupportsFloat | SupportsIndex], totals: SupportsGetItem[int, SupportsFloat | SupportsIndex], probability: SupportsFloat | SupportsIndex) -> list[float]:
    """
    The probabilities of `counts` (each 1 or more) or more successes in `totals` trials.
    """

def birth_time_ns(descriptor: SupportsIndex) -> int | None:
    """
    When a file came into being, in nanoseconds since 1970; None where the file system does not record it.
    """

def check_workload(workload: str, options: str | None = None) -> str | None:
    """
    Why a workload (JSON) cannot be done on any target, in one line; `None` when it can. With `options` (JSON), as
    `run_file` takes them, also why a real target cannot be reached in that way. Raises `ValueError` when the text is no
    workload at all: an unknown field, a missing one, or a number that its field cannot hold.
    """

def chi_square_below(freedom: SupportsFloat | SupportsIndex, value: SupportsFloat | SupportsIndex) -> float:
    """
    The probability that chi-square with `freedom` degrees of freedom is at most `value`.
    """

def clock_ns() -> int:
    """
    The engine's clock in nanoseconds, on the time line of `CLOCK_MONOTONIC_RAW`. The first call of a process calibrates it.
    """

def content_saved(workload: str) -> str:
    """
    What compressors really save on a workload's (JSON) content: bytes of a sample, and bytes that zlib, zstd and lz4 make
    of it, as JSON. Takes some hundredths of a second. Raises `ValueError` when the workload cannot be done.
    """

def cpus_of_node(node: SupportsIndex) -> list[int]:
    """
    The processors of a NUMA node, for the option `pin_cpus`. Raises `mileage.errors.Refused` when the machine has no such
    node.
    """

def drive_alternatives(profile: str) -> list[tuple[str, str, str, str]]:
    """
    The alternatives that a drive profile (TOML) declares for figures that are not published: name, value, alternative
    value and reason of each, in the order of the data sheet. Raises `mileage.errors.Refused` when it is none.
    """

def drive_figure_names() -> list[str]:
    """
    The keys of all figures that a drive profile may have.
    """

def drive_figures(profile: str) -> list[tuple[str, str, str, str]]:
    """
    The figures of a drive profile (TOML): name, value, source and confidence of each. Raises
    `mileage.errors.Refused` when it is none.
    """

def drive_rates(profile: str) -> str:
    """
    The published rates that a drive profile (TOML) is held to, and what the simulated drive does, as JSON. Raises
    `mileage.errors.Refused` when it is none.
    """

def drive_title(profile: str) -> str:
    """
    The title of a drive profile (TOML). Raises `mileage.errors.Refused` when it is none.
    """

def format_bytes(byte_count: "int") -> "str":
    """
    Bytes in words, such as `4 KiB`.
    """

def forward_log(level: str, sink: Any) -> None:
    """
    Call `sink(level, text)` for every event of Mileage's own crates, from now on until the process ends. `level` is
    "info" or "debug", also the most detailed one that is forwarded. Raises `ValueError` for another level, and when
    events are forwarded already.
    """

def host_figures(profile: str) -> list[tuple[str, str, str, str]]:
    """
    The figures of a host profile (TOML): name, value, source and confidence of each. Raises
    `mileage.errors.Refused` when it is none.
    """

def host_title(profile: str) -> str:
    """
    The title of a host profile (TOML). Raises `mileage.errors.Refused` when it is none.
    """

def iozone_differences(suite: str) -> str:
    """
    What IOzone itself does otherwise than the names of a set of its tests (JSON) say, in lines of text. Raises
    `mileage.errors.Refused` when the set cannot be done.
    """

def iozone_duplicates(content: str, record_bytes: SupportsIndex, file_bytes: SupportsIndex, children: SupportsIndex) -> str | None:
    """
    Shares of 4 KiB blocks that equal another one (JSON) in files of `file_bytes` that children of IOzone write with a
    content (JSON), made of records of `record_bytes`: in one, in another child's, in those of all; `None` for contents that
    are not IOzone's. Raises `ValueError` for what is no content.
    """

def iozone_steps(path: str | PathLike[str], suite: str) -> int:
    """
    Number of steps of a set of IOzone's tests (JSON) on the file at `path`, whose workers may be processes. Raises as
    `run_iozone`.
    """

def latency_quantile_ns(histogram: str, q: SupportsFloat | SupportsIndex) -> int | None:
    """
    Nearest-rank quantile in nanoseconds of a stored histogram (JSON), `q` in 0..=1; `None` when it is empty.
    Raises `ValueError` when the text is no histogram or `q` is out of range.
    """

def library_random(seed: SupportsIndex, count: SupportsIndex) -> list[int]:
    """
    The first numbers of the C library's `rand` after `srand(seed)`.
    """

def make_start_barrier(barrier: str | PathLike[str], threads: SupportsIndex) -> None:
    """
    Create the start barrier, a file at `barrier`, by which processes begin a run of `threads` threads together. It
    serves one run; the caller removes it. Raises `mileage.errors.Refused` when it exists or cannot be made.
    """

def merge_iozone_shares(suite: str, step: SupportsIndex, shares: SupportsGetItem[int, str], shifts_ns: SupportsGetItem[int, SupportsIndex] | None = None) -> str:
    """
    The result of a step of which each process did a share, and the files that are known after it (JSON, a pair). `shares` are
    what `run_iozone_share` returned, in any order. `shifts_ns` as in `merge_shares`.
    """

def merge_metadata_shares(shares: SupportsGetItem[int, str], shifts_ns: SupportsGetItem[int, SupportsIndex] | None = None) -> str:
    """
    The record (JSON) of a metadata run of which each process did a share; `shares` are what `run_metadata_share` returned,
    in the order of their workers. `shifts_ns` as in `merge_shares`.
    """

def merge_shares(workload: str, shares: SupportsGetItem[int, str], shifts_ns: SupportsGetItem[int, SupportsIndex] | None = None) -> str:
    """
    The record (JSON) of a run of which each process did a share; `shares` are what `run_share` returned, in any order.
    `shifts_ns`, one for each, are added to the times of the shares: from machines whose clocks differ they then count from
    one instant. Raises `mileage.errors.Refused` when they are not all of the workload's threads.
    """

def metadata_problem(metadata: str) -> tuple[str, str] | None:
    """
    As `workload_problem`, of an operation on names and inodes (JSON). Raises `ValueError` where it is none.
    """

def noncentral_t_above(freedom: SupportsFloat | SupportsIndex, shift: SupportsFloat | SupportsIndex, value: SupportsFloat | SupportsIndex) -> float:
    """
    The probability that noncentral t with `freedom` degrees of freedom, shifted by `shift`, is above `value`.
    """

def parse_bytes(text: str) -> int:
    """
    Bytes named by a text such as `4096`, `4KiB` or `64GB`. Raises `ValueError` for anything else.
    """

def record_schema() -> list[tuple[str, list[tuple[str, str]]]]:
    """
    The types that a run record consists of, as its owner defines them: of each the name and its fields in order, with
    their names and Rust types. `RunRecord` is the first.
    """

def remove_iozone_files(path: str | PathLike[str], suite: str, known: str) -> str | None:
    """
    Remove the files that a set of IOzone's tests (JSON) made, unless it keeps them; why one is left, if so. `known` (JSON): as
    `merge_iozone_shares` returned it after the last step.
    """

def run_file(path: str | PathLike[str], workload: str, options: str = "{}", poll: Any | None = None, interim: Any | None = None) -> str:
    """
    Do a workload (JSON) on the existing file or block device at `path` and return its record (JSON).

    `options` (JSON) are the engine's: `direct`, `api`, `dsync`, `pin_cpus`, `timeout_ns`, `log`, `interval_ns`,
    `touch_bytes`, `drop_cache_every_bytes`, `split_latency`, `advice`, `create`; all are off by default. `poll(bytes, operations)` is called twenty
    times a second; when it answers true the run is interrupted. `interim()` is called as often; when it returns a function,
    that is called with the record (JSON) of what has completed so far. An I/O error is in the record. Its key `audit` has the
    kernel's own count of bytes and calls for each worker thread, or null where the kernel keeps none. Raises
    `mileage.errors.Refused` when the file, the workload or the options cannot be used, and `OSError` when the run is void.
    """

def run_iozone(path: str | PathLike[str], suite: str, poll: Any | None = None, finished: Any | None = None) -> str:
    """
    Do a set of IOzone's tests (JSON) on the file at `path` and return their results (JSON): `results` with a record for
    each test, `interrupted`.

    Workers have files of their own, `path` with `.0`, `.1` and so on. Files that the tests make are removed, unless the
    set keeps them. `poll(bytes, operations)` is called twenty times a second; when it answers true the tests end, and the
    files are removed before this returns. An I/O error stands in the last record. Raises `mileage.errors.Refused` when
    the set or the file cannot be used, and `OSError` when a test is void. `finished(result)` is called with the result
    (JSON) of each test soon after it is done.
    """

def run_iozone_share(path: str | PathLike[str], suite: str, part: str, poll: Any | None = None) -> str:
    """
    Do one process's workers of one step of a set of IOzone's tests; `part` (JSON) has `step`, from 0, the files that are
    `known` from the steps before, and `share` as `run_share` takes it. Returns what `merge_iozone_shares` takes (JSON). The step
    begins when those of all processes have arrived at the barrier, and stopping one stops all. Raises as `run_iozone`.
    """

def run_metadata(directory: str | PathLike[str], metadata: str, poll: Any | None = None, options: str = "{}") -> str:
    """
    Do a metadata workload (JSON) in the directory at `directory` and return its record (JSON).

    `poll(bytes, operations)` is called twenty times a second; when it answers true the run is interrupted, and removes
    what it made before it returns. `options` (JSON) are `pin_cpus` and `timeout_ns`. An error of the file system stands in the record. Raises `mileage.errors.Refused`
    when the workload or the directory cannot be used, and `OSError` when the run is void.
    """

def run_metadata_share(directory: str | PathLike[str], metadata: str, barrier: str | PathLike[str], poll: Any | None = None, options: str = "{}") -> str:
    """
    Do one process's share of a metadata workload (JSON, of this share alone) in the directory at `directory`; returns what
    `merge_metadata_shares` takes (JSON). It begins when those of all processes have arrived at the barrier, the file at `barrier`. Raises as
    `run_metadata`.
    """

def run_names(directory: SupportsIndex, work: str) -> str:
    """
    Operations on names (JSON) below an open directory, as mdtest makes them; what was done, as JSON. Raises
    `mileage.errors.Refused` for a text that describes none.
    """

def run_share(path: str | PathLike[str], workload: str, options: str, share: str, poll: Any | None = None) -> str:
    """
    Do one process's share (JSON: `first_thread`, `threads`, `barrier`) of a workload, as [`run_file`] does all of it;
    returns what `merge_shares` takes (JSON). The run begins when the shares of all processes are ready, and stopping one
    stops all. Raises as `run_file`.
    """

def shuffled_offsets(seed: SupportsIndex, rank: SupportsIndex, tasks: SupportsIndex, own_file: bool, block: SupportsIndex, transfer: SupportsIndex) -> list[int]:
    """
    Offsets in which IOR's `-z` visits a segment: seed, rank, tasks, whether each task has a file of its own, bytes of a
    block and of a transfer.
    """

def simulated_array_loss(level: SupportsIndex, members: SupportsIndex, failures_per_h: SupportsFloat | SupportsIndex, repair_h: SupportsFloat | SupportsIndex, hours: SupportsFloat | SupportsIndex, arrays: SupportsIndex, seed: SupportsIndex) -> tuple[float, float, float]:
    """
    Simulated probability that an array loses data within `hours`, and the ends of its 95 % interval, over `arrays` histories.
    Members fail independently at `failures_per_h`, and each is restored after an exponential time of mean `repair_h`. `level`
    is 0, 1, 10, 5 or 6. Raises `ValueError` for another level, fewer members than it needs, and times or rates not above 0.
    """

def t_quantile(freedom: SupportsFloat | SupportsIndex, probability: SupportsFloat | SupportsIndex) -> float:
    """
    The value that Student's t with `freedom` degrees of freedom does not exceed with `probability` (0..1).
    """

def t_two_sided(freedom: SupportsFloat | SupportsIndex, t: SupportsFloat | SupportsIndex) -> float:
    """
    The probability that Student's t with `freedom` degrees of freedom is at least as far from 0 as `t`.
    """

def toml_faults(text: str) -> list[tuple[int, int, str]]:
    """
    Every place where a text is not TOML: line and column, from 1, and what is wrong; empty when it is TOML 1.1.
    """

def toml_lines(text: str, paths: SupportsGetItem[int, SupportsGetItem[int, str]]) -> list[int | None]:
    """
    The line, from 1, of the value at each path of a TOML text, or of the innermost table, list or key that holds it;
    `None` when not even its first step is there. The steps of a path are keys and, in a list, indices as text.
    """

def workload_problem(workload: str) -> tuple[str, str] | None:
    """
    The first rule that a workload (JSON) breaks on every target: name of the field, and what is wrong with it; `None` when
    it breaks none. Raises `ValueError` as `check_workload` does.
    """
