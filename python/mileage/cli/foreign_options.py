"""Options of other tools, so that a user who types one from habit is shown its name here.

Scope: words for the same thing, written with dashes. What it refuses: to do anything with them; a word that is
understood in silence means something else one day.
"""

from __future__ import annotations

from typing import Any, Final

import click

from mileage.cli.value_types import WholeNumber
from mileage.errors import Refused

_HERE: Final = {
    "--target file:PATH, dir:PATH or block:PATH": (
        "filename",
        "file-name",
        "directory",
        "device",
        "path",
        "disk",
    ),
    "--workload, such as random_read": ("rw", "readwrite", "pattern", "operation", "test"),
    "--workload zipf:1.2 or hot_cold:10/90": ("random-distribution", "zipf", "pareto"),
    "--workload partly_sequential:50": ("percentage-random", "randpercent"),
    "--workload trace:FILE": ("read-iolog", "replay"),
    "--record": ("bs", "block-size", "blocksize", "record-size", "transfer-size", "reclen"),
    "--depth": ("iodepth", "io-depth", "queue-depth", "qd", "outstanding"),
    "--threads (or --processes)": ("numjobs", "jobs", "num-jobs", "workers", "thread", "process"),
    "--for": ("runtime", "time", "duration", "run-time", "timelimit", "seconds"),
    "--for alone, which ends a run whatever it has visited": ("time-based",),
    "--bytes": ("io-size", "amount", "total-size"),
    "--operations": ("number-ios", "count", "iterations", "nrfiles", "num-files", "nfiles"),
    "--start": ("offset", "skip", "seek"),
    "--size": ("filesize", "file-size", "span"),
    "--api": ("ioengine", "engine", "io-engine", "mmap", "uring"),
    "--api uring:sqpoll": ("sqthread-poll", "sqpoll"),
    "--api uring:iopoll": ("hipri", "iopoll"),
    "--api uring:batch=N": ("iodepth-batch", "iodepth-batch-submit"),
    "--direct": ("odirect", "o-direct"),
    "--no-direct": ("buffered", "cached"),
    "--cold": ("invalidate", "drop-caches", "dropcache"),
    "--reads": ("rwmixread", "read-percent", "rwmix"),
    "--reads, and the others write": ("rwmixwrite",),
    "--sync-every N, and --sync fsync or fdatasync": ("fsync", "fdatasync", "end-fsync", "fsync-on-close"),
    "--dsync": ("osync", "o-dsync", "odsync"),
    "--cap in a closed loop, or --rate in an open one": ("rate-iops", "iops", "qps"),
    "--think": ("thinktime", "delay"),
    "--burst": ("thinktime-blocks",),
    "--warm-up": ("ramp-time", "warmup"),
    "--latency-target p99=1ms": ("latency-percentile", "latency-window"),
    "--content compressible=50,duplicate=20": (
        *("buffer-compress-percentage", "dedupe-percentage", "refill-buffers", "randrepeat"),
        "blockvarpct",
    ),
    "--content fio_scrambled, or fio_constant for 0": ("scramble-buffers",),
    "--content zeros": ("zero-buffers",),
    "--seed": ("randseed", "rand-seed"),
    "--repeat": ("loops", "runs", "repetitions"),
    "--pin": ("cpus-allowed", "cores", "taskset"),
    "--save DIR": ("output", "out", "name", "output-dir"),
    "--json": ("output-format", "format"),
    "--log FILE": ("write-lat-log", "write-bw-log", "write-iops-log", "write-iolog"),
    "nothing: all threads are counted together, and each in --json": ("group-reporting",),
}
_WORDS: Final = {word: here for here, words in _HERE.items() for word in words}


def name_here(word: str) -> str | None:
    """Mileage's name for an option, or a key of --vary, of another tool; None when no tool has it."""
    return _WORDS.get(word.lstrip("-").replace("_", "-").lower())


def refuse_elsewhere(varied: tuple[str, ...]) -> None:
    """Refuse a key of --vary that is another tool's word. Raises Refused."""
    for text in varied:
        key = text.partition("=")[0].strip()
        if (here := name_here(key)) is not None and here.startswith("--"):
            option = here.split()[0].rstrip(",").lstrip("-")
            raise Refused(
                f"--vary {text}",
                f"{key} is called {option} here",
                advice="for example --vary depth=1,2,4..64",
                code="unknown-key",
            )


class Command(click.Command):
    """A command that suggests its own option when the user gives the name that another tool has for it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raises Refused for an option of another tool, with the name that it has here."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if (here := name_here(error.option_name)) is None:
                raise
            raise Refused(
                "",
                f"there is no option {error.option_name}",
                advice=f"here it is {here}",
                code="unknown-name",
            ) from None


class OneNumber(WholeNumber):
    """A whole number; of several, an option that can be scanned says how."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a text. Raises Refused for a list of an option that `--vary` takes."""
        if param is not None and isinstance(value, str):
            _refuse_list(param, value)
        return super().convert(value, param, ctx)


def one_value(_context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """One value without a comma. Raises Refused for a list of an option that `--vary` takes."""
    if text is not None and ":" not in text:
        _refuse_list(option, text)
    return text


def _refuse_list(option: click.Parameter, text: str) -> None:
    from mileage.plan.one_off_study import is_varied

    if "," in text and option.name is not None and is_varied(option.name):
        name = max(option.opts, key=len).lstrip("-")
        raise Refused(
            f"--{name} {text}",
            "takes one value",
            advice=f"--vary {name}={text} measures with each",
            code="wrong-value",
        )


def whole_rate(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Operations per second. Raises Refused for bytes and letters, with what they may mean."""
    one_value(context, option, text)
    if text is None or (text.isascii() and text.isdecimal() and len(text) < 20):
        return None if text is None else int(text)
    hint = "a limit in bytes per second is --cap, such as --cap 100MiB/s"
    raise Refused(
        "--rate", f"{text!r} is not a whole number of operations per second", advice=hint, code="wrong-value"
    )
