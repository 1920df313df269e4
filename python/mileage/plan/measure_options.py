"""The options of `mileage measure`, one row each.

Scope: an option's name, the key that it sets and where, the form of its value, and its line of help. From the
rows come the command line, what is asked of a measurement, and the names of options in refusals. A new option is a row
here, a field of `IoOptions` (or of `MeasurementRequest`), and what the field does.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Form = Literal["text", "whole", "rate", "path", "flag", "switch", "list"]
"""A text, a whole number, operations per second, a path, a flag, a flag with its opposite, or a text that may be
repeated."""


class Option(NamedTuple):
    """One command line option of `mileage measure`: name, help, type and the study key that it sets."""

    name: str
    """Name as it is typed, without dashes."""
    help: str
    unit: str = ""
    """Placeholder of its value in the help; empty for an option without a value."""
    form: Form | tuple[str, ...] = "text"
    """How its value is parsed; a tuple lists the only accepted values."""
    sets: Literal["how", "asked", ""] = "how"
    """Type that has the field it sets: `IoOptions`, `MeasurementRequest`, or none, where the command itself uses it."""
    field: str = ""
    """The name of that field where it is another one."""
    path: str = ""
    """The key in a table of a study where that is another one, such as "stop.time"."""
    short: str = ""
    """Its short form."""
    default: int | None = None

    @property
    def key(self) -> str:
        """Name of the study field that this option sets, which is also the name of the command's parameter."""
        return self.field or self.name.replace("-", "_")


OPTIONS: Final = (
    Option(
        "target",
        "A path, dir:, file:, block:PATH, virtual:NAME, or null: (nothing, for the cost of Mileage itself).",
        "T",
        sets="",
        short="t",
    ),
    Option("workload", "See above; default random_read.", "W", sets="asked", short="w"),
    Option(
        *("record", "Size of an operation; default 4KiB, or 1MiB if sequential.", "SIZE"),
        sets="asked",
        short="r",
    ),
    Option("depth", "Queue depth: outstanding I/Os per thread; default 1.", "N", "whole", "asked", short="d"),
    Option("threads", "Threads; default 1, or one per process.", "N", "whole", "asked", short="j"),
    Option("processes", "Processes that share the threads; default 1.", "N", "whole"),
    Option("files", "One file for all threads, or one each.", "", ("shared", "per_thread")),
    Option(
        *("for", "Duration of a run, such as 30s; default 10s.", "TIME"),
        sets="asked",
        field="time",
        path="stop.time",
    ),
    Option("bytes", "End a run after SIZE bytes.", "SIZE", sets="asked", path="stop.bytes"),
    Option(
        *("operations", "End a run after N operations; of metadata.*: N files.", "N", "whole", "asked"),
        path="stop.operations",
    ),
    Option(
        *("size", "Part that is accessed; default 1GiB, or all of a file or device.", "SIZE"),
        sets="asked",
        path="span",
    ),
    Option("start", "Offset of that part; default 0.", "SIZE", sets="asked", path="span_start"),
    Option(
        "vary",
        "Measure with each of several values: depth=1,2,4..64; repeat for several options.",
        "KEY=LIST",
        "list",
        "asked",
    ),
    Option("repeat", "Repetitions of each; default 1.", "N", "whole", "asked", short="n", default=1),
    Option("reads", "Share of reads; the others write.", "PERCENT", "whole"),
    Option("discards", "Share of discards (TRIM, holes).", "PERCENT", "whole"),
    Option("api", "pread, uring, mmap, stdio, vectored:N, seek; default by depth.", "API"),
    Option("direct", "Bypass the page cache; default where possible.", form="switch", sets="", path="cache"),
    Option("cold", "Use the page cache; drop the target's pages before each run.", form="flag", sets=""),
    Option("rate", "Open loop: operations per second that are due.", "N", "rate"),
    Option("poisson", "With --rate: random gaps instead of even ones.", form="flag", sets="", path="spacing"),
    Option(
        "latency-target",
        "Search the highest --rate that keeps this latency: p99=1ms, commit_p99=10ms.",
        "P=TIME",
        sets="",
    ),
    Option(
        "cap", 'At most RATE operations per second, bytes such as 100MiB/s, or "1 drive write/day".', "RATE"
    ),
    Option("think", "Pause after each operation (after each --burst).", "TIME"),
    Option("burst", "With --think: operations between pauses.", "N", "whole"),
    Option("warm-up", "Time at the start that is not counted.", "TIME"),
    Option("content", "Data that is written: incompressible, zeros, compressible=50,duplicate=20.", "C"),
    Option(
        "sync",
        "Flush at the end, included in the time; default fdatasync. fua: on a virtual drive, in each write.",
        "",
        ("none", "fsync", "fdatasync", "fua"),
    ),
    Option("sync-every", "Flush also after every N writes of a thread.", "N", "whole"),
    Option(
        "power-cut", "On a virtual drive: cut the power after each run, count the writes lost.", form="flag"
    ),
    Option("dsync", "Each write is durable when it completes (O_DSYNC).", form="flag"),
    Option("verify", 'Compare reads with the data that was written: all, or "1 in 100".', "V"),
    Option("generation", "Number of this pass of writes, to --verify it on another day.", "N", "whole"),
    Option("timeout", "An operation that takes longer ends the run as failed.", "TIME"),
    Option("log", "Write every operation to a CSV file.", "FILE", "path", ""),
    Option("interval", "With --save: first intervals over time, 10ms to 1h.", "TIME"),
    Option("settle", "Write back all dirty data and rest before each run.", "TIME"),
    Option("touch", "After each read, modify one byte per BYTES (included in the measured time).", "BYTES"),
    Option("pin", "Processors of the threads: 0,2 or node0.", "CPUS", sets=""),
    Option("block", "Of ior.*: a task's part of a segment; default 1MiB.", "SIZE"),
    Option("segments", "Of ior.*: segments of the file; default 1.", "N", "whole"),
    Option("reorder", "Of ior.*: read the data of the task N further on; or random.", "N"),
    Option("tree", "Of mdtest.*: levels and branches of directories, such as 2x3.", "DxB"),
    Option("stride", "Of mdtest.*: use the files of the task N further on.", "N", "whole"),
    Option(
        *("fidelity", "Of iozone.*: make the calls of IOzone 3.471, with its order and data."),
        form="flag",
        sets="asked",
    ),
    Option("seed", "Seed of all random choices; default 1.", "N", "whole", "asked", default=1),
    Option("destroy", "Allow the loss of the content of this file or device.", "PATH", sets=""),
    Option("save", "Keep the study folder.", "DIR", "path", ""),
    Option("append", "With --save: add the study to those of this target in DIR.", form="flag", sets=""),
    Option("session", "Name of the session: studies of one name are one session.", "NAME", sets="asked"),
    Option("sessions", "With --append: measure N times, spread over time.", "N", "whole", ""),
    Option("every", "With --sessions: from one start to the next, such as 30min.", "TIME", sets=""),
    Option("as-study", "Print the study file that does the same; measure nothing.", form="flag", sets=""),
    Option("json", "Print the result as JSON.", form="flag", sets="", field="as_json"),
)

_PATHS: Final = {option.path or option.key: option.name for option in OPTIONS}


def option_of(path: str) -> str:
    """The option, without dashes, that sets a key of a study's table; the key itself where none does."""
    return _PATHS.get(path, path.replace("_", "-"))
