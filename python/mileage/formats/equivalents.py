"""A plan in the words of other tools: "run this without Mileage".

Scope: every measured cell, and every torture, once, as a section of a fio job file or as a command line of
IOzone, IOR or elbencho. Order, repetitions, stages and the judgement are Mileage's own.
What it refuses: a tool that it does not know, a target that only Mileage has. A cell that a tool cannot do is named
with the reason, never written as something else.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import UNSET

from mileage.errors import Refused
from mileage.model.target_kind import capabilities_of
from mileage.plan import Plan, PlannedRun
from mileage.plan.content import Content, ContentTable
from mileage.plan.io_options import Reach
from mileage.plan.iozone_suite import NUMBERED, Suite
from mileage.plan.pattern import PatternTable, pattern_word
from mileage.plan.task_jobs import IorRun
from mileage.plan.transfer_api import ApiTable, api_word
from mileage.plan.workload import Workload

TOOLS: Final = ("fio", "iozone", "ior", "elbencho")


class Unsupported(Exception):
    """Reason why another tool cannot do a run; handled in this module."""


def in_words_of(plan: Plan, tool: str) -> str:
    """The plan as a text for a tool, ending in a newline. Raises Refused when nothing of it can be written."""
    if tool not in TOOLS:
        raise Refused(f"--as {tool}", expected=f"one of {', '.join(TOOLS)}", code="unknown-word")
    place = _place(plan)
    write = _WRITERS[tool]
    written: list[str] = []
    omitted: list[str] = []
    for name, run in _each(plan):
        try:
            written.append(write(name, run, place))
        except Unsupported as reason:
            omitted.append(f"# not written: {name}: {reason}")
    if not written:
        raise Refused(
            f"--as {tool}",
            f"nothing of this can be written: {omitted[0].removeprefix('# not written: ')}",
            code="unsupported",
        )
    head = [
        f"# The study {plan.study.name} in the words of {tool}. Each run stands once: Mileage does "
        f"{len(plan.runs)}, in an order that it draws.",
        *omitted,
    ]
    if tool == "fio":
        head += ["", "[global]", "group_reporting=1", "thread=1", "stonewall=1"]
    return "\n".join([*head, "", *written]) + "\n"


def line_of(run: PlannedRun, tool: str, place: str) -> str | None:
    """The command line of a tool for one run; None where the tool cannot do it."""
    try:
        return _WRITERS[tool](run.cell, run, place).splitlines()[-1]
    except Unsupported:
        return None


def _each(plan: Plan) -> Iterator[tuple[str, PlannedRun]]:
    """The actions of a plan, each once, in the order of their first use."""
    seen: set[str] = set()
    for run in plan.runs:
        if run.cell and run.cell not in seen and (run.workload is not None or run.job is not None):
            seen.add(run.cell)
            yield run.cell, run


def _place(plan: Plan) -> str:
    target = str(plan.study.target)
    kind, name = capabilities_of(target), target.partition(":")[2]
    if kind.has_files:
        return f"{name.rstrip('/')}/mileage.dat"
    if kind.in_place:
        return name
    raise Refused(
        target,
        "only Mileage has this target",
        advice="give another with --target dir:PATH, file:PATH or block:PATH",
        code="unsupported",
    )


def _io(run: PlannedRun) -> tuple[Workload, Reach]:
    if run.workload is None:
        raise Unsupported(f"{run.job.word() if run.job is not None else 'idle'} is no single workload")
    reach = run.reach or Reach()
    if reach.settle_ns:
        raise Unsupported("a rest before each run (settle) is Mileage's own")
    if reach.options.touch_bytes:
        raise Unsupported("what was read being changed (touch) is Mileage's own")
    return run.workload, reach


FioOptions = dict[str, str | int | None]
"""Options of a job file by their keys; None where the key stands alone."""
_FIO_ENGINES: Final = {"pread": "psync", "seek": "sync", "mmap": "mmap", "null": "null"}


def _fio(name: str, run: PlannedRun, place: str) -> str:
    work, reach = _io(run)
    options: FioOptions = {"filename": place, "rw": _fio_rw(work), "bs": work.record_bytes}
    if 0 < work.read_percent < 100:
        options["rwmixread"] = work.read_percent
    options |= _fio_order(work)
    options |= {"offset": work.span_start_bytes} if work.span_start_bytes else {}
    options["size"] = work.span_bytes
    options |= {"numjobs": work.threads} if work.threads > 1 else {}
    if work.files == "per_thread" and work.threads > 1:
        del options["filename"]
        options |= {"directory": place.rpartition("/")[0] or ".", "filename_format": "mileage.dat.$jobnum"}
    elif work.threads > 1 and pattern_word(work.pattern) == "sequential":
        raise Unsupported(
            "threads that share one file take a part each, in order; fio's all begin at its start"
        )
    options |= _fio_api(work, reach) | _fio_stop(work) | _fio_load(work)
    options |= _fio_data(work)
    options["randseed"] = work.seed
    lines = [f"{key}={value}" if value is not None else key for key, value in options.items()]
    return "\n".join([f"[{re.sub('[^A-Za-z0-9._-]+', '-', name)}]", *lines, ""])


def _fio_rw(work: Workload) -> str:
    if work.discard_percent:
        if work.discard_percent < 100:
            raise Unsupported("discards among reads and writes")
        return "trim" if pattern_word(work.pattern) == "sequential" else "randtrim"
    kind = "read" if work.read_percent == 100 else "write" if work.read_percent == 0 else "rw"
    word = pattern_word(work.pattern)
    if word == "sequential":
        return kind
    if word in ("random", "shuffled", "zipf"):
        return f"rand{kind}"
    raise Unsupported(f"the pattern {word} has no equal in fio")


def _fio_order(work: Workload) -> FioOptions:
    word = pattern_word(work.pattern)
    if word == "random":
        return {"norandommap": 1}
    if word == "zipf":
        assert isinstance(work.pattern, PatternTable)
        assert work.pattern.zipf is not None
        return {"norandommap": 1, "random_distribution": f"zipf:{work.pattern.zipf.theta_hundredths / 100:g}"}
    return {}


def _fio_api(work: Workload, reach: Reach) -> FioOptions:
    api = reach.options.api
    word = api_word(api).partition(":")[0]
    engine = "io_uring" if isinstance(api, ApiTable) and api.uring is not None else _FIO_ENGINES.get(word)
    if engine is None:
        raise Unsupported(f"the API {word} has no equal in fio")
    if reach.caching.mode == "limited":
        raise Unsupported("a limit of memory is no option of fio; use a cgroup")
    found: FioOptions = {"ioengine": engine, "direct": int(reach.options.direct)}
    if work.depth > 1:
        found["iodepth"] = work.depth
    if not reach.options.direct:
        found["invalidate"] = int(reach.caching.mode in ("cold", "dropped"))
    if reach.options.dsync:
        found["sync"] = "dsync"
    return found


def _fio_stop(work: Workload) -> FioOptions:
    stop, threads = work.stop, work.threads
    found: FioOptions = {}
    if stop.time_ns is not None:
        found["runtime"] = f"{-(-stop.time_ns // 10**6)}ms"
        if stop.bytes is None and stop.operations is None:
            found["time_based"] = 1
    if stop.bytes is not None:
        found["io_size"] = stop.bytes // threads
    if stop.operations is not None:
        found["number_ios"] = stop.operations // threads
    if work.load.warm_up_ns:
        found["ramp_time"] = f"{-(-work.load.warm_up_ns // 10**6)}ms"
    return found


def _fio_load(work: Workload) -> FioOptions:
    load = work.load
    found: FioOptions = {}
    if load.open is not None:
        if load.open.ramp is not None:
            raise Unsupported("a rate that changes over time has no equal in fio")
        found["rate_iops"] = load.open.operations_per_s // work.threads
        if load.open.spacing == "poisson":
            found["rate_process"] = "poisson"
    if load.cap is not None:
        key, value = (
            ("rate_iops", load.cap.operations_per_s)
            if load.cap.operations_per_s
            else ("rate", load.cap.bytes_per_s)
        )
        found[key] = (value or 0) // work.threads
    if load.think is not None:
        found |= {"thinktime": load.think.pause_ns // 1000, "thinktime_blocks": load.think.every_operations}
    return found


def _fio_data(work: Workload) -> FioOptions:
    found: FioOptions = {}
    if work.read_percent < 100:
        if work.content == "incompressible":
            found["refill_buffers"] = 1
        elif work.content == "zeros":
            found["zero_buffers"] = 1
        elif work.content == "fio_constant":
            found["scramble_buffers"] = 0
        elif work.content == "fio_scrambled":
            pass  # fio's default.
        elif not isinstance(work.content, str) and work.content.mixed is not None:
            mixed = work.content.mixed
            found |= {"refill_buffers": 1, "buffer_compress_percentage": mixed.compressible_percent}
            found |= {"dedupe_percentage": mixed.duplicate_percent} if mixed.duplicate_percent else {}
        else:
            raise Unsupported("IOzone's own bytes")
    if work.verify != "off":
        raise Unsupported("the content that reads are compared with is Mileage's own")
    if work.sync != "none":
        found["end_fsync"] = 1
    if work.sync_every:
        found["fdatasync" if work.sync == "fdatasync" else "fsync"] = work.sync_every
    return found


def _iozone(name: str, run: PlannedRun, place: str) -> str:
    if not isinstance(run.job, Suite):
        raise Unsupported("not one of IOzone's tests")
    suite = run.job.value
    if suite.mode != "fidelity":
        raise Unsupported("the tests do what their names say; IOzone does what fidelity = true does")
    if suite.manner is not UNSET:
        raise Unsupported("the keys of the manner are not translated back to flags")
    words = ["iozone", "-s", f"{suite.file_bytes // 1024}k", "-r", f"{suite.record_bytes // 1024}k"]
    words += [word for test in suite.tests for word in ("-i", str(NUMBERED.index(test)))]
    if suite.workers is None and {"pwrite", "pread"} & set(suite.tests):
        words.append("-E")
    switches = {
        "flush_timed": "-e",
        "close_timed": "-c",
        "direct": "-I",
        "osync": "-o",
        "dsync": "-+D",
        "keep": "-w",
    }
    words += [flag for key, flag in switches.items() if getattr(suite, key)]
    words += [] if suite.retests else ["-+n"]
    if (suite.stride_records or 17) != 17:
        words += ["-j", str(suite.stride_records)]
    words += _iozone_content(suite.content)
    if suite.workers is None:
        words += ["-f", place]
    else:
        words += ["-t", str(suite.workers), *([] if run.job.options.processes is True else ["-T"])]
        words += [] if suite.stonewall is not False else ["-x"]
        if suite.mix_read_percent not in (None, UNSET):
            words += ["-+p", str(suite.mix_read_percent)]
        words += ["-F", *(f"{place}.{number}" for number in range(suite.workers))]
    return f"# {name}\n{shlex.join(words)}"


def _iozone_content(content: Content | None) -> list[str]:
    if content in (None, "iozone_default"):
        return []
    if content == "iozone_diagnostic":
        return ["-+d"]
    if (
        isinstance(content, ContentTable)
        and (pattern := content.iozone_pattern) is not None
        and pattern.whole
    ):
        return ["-V", str(pattern.byte)]
    if isinstance(content, ContentTable) and (shares := content.iozone_dedup) is not None:
        return (
            f"-+w {shares.within_percent} -+y {shares.across_percent} -+C {shares.compress_percent}".split()
        )
    raise Unsupported(f"IOzone writes no data of this kind: {content}")


def _ior(name: str, run: PlannedRun, place: str) -> str:
    if not isinstance(run.job, IorRun):
        raise Unsupported("not one of IOR's tests")
    value = run.job.value
    words = ["mpirun", "-np", str(value.tasks), "ior", "-a", "POSIX"]
    words += ["-b", str(value.block_bytes), "-t", str(value.transfer_bytes), "-s", str(value.segments)]
    words += ["-F"] if value.files == "per_thread" else []
    words += [{"write": "-w", "read": "-r"}[phase] for phase in value.phases]
    words += ["-C", "-Q", str(value.reorder)] if value.reorder else []
    words += ["-Z"] if value.reorder_random else []
    words += ["-Y"] if value.sync_every == 1 else ["-e"] if value.sync != "none" else []
    words += ["--posix.odirect"] if value.direct else []
    words += ["-R"] if value.verify != "off" else []
    for wrong, reason in (
        (value.sync == "fdatasync", "IOR calls fsync, not fdatasync"),
        (value.sync_every > 1, "IOR syncs after every write or once"),
        (value.dsync, "IOR has no O_DSYNC"),
    ):
        if wrong:
            raise Unsupported(reason)
    line = shlex.join([*words, "-o", place])
    return f"# {name}; IOR's own data is written, which a compressor reduces to a fifth\n{line}"


def _elbencho(name: str, run: PlannedRun, place: str) -> str:
    work, reach = _io(run)
    word = pattern_word(work.pattern)
    if word not in ("sequential", "random", "shuffled"):
        raise Unsupported(f"the pattern {word} has no equal in elbencho")
    if (
        work.discard_percent
        or work.load.open
        or work.load.think
        or work.load.warm_up_ns
        or work.verify != "off"
    ):
        raise Unsupported("elbencho has no discards, open loops, pauses, warm-ups or comparisons")
    if work.span_start_bytes:
        raise Unsupported("elbencho begins at the start of a file")
    if work.content not in ("incompressible", "zeros") and work.read_percent < 100:
        raise Unsupported("elbencho writes random bytes or zeros")
    words = ["elbencho", "-r" if work.read_percent == 100 else "-w", "-t", str(work.threads)]
    words += ["-b", str(work.record_bytes), "-s", str(work.span_bytes)]
    if 0 < work.read_percent < 100:
        words += ["--rwmixpct", str(work.read_percent)]
    if word != "sequential":
        words += ["--rand"]
        if word == "random":
            words += ["--randamount", str(work.stop.bytes or work.span_bytes)]
    words += ["--iodepth", str(work.depth)] if work.depth > 1 else []
    words += ["--direct"] if reach.options.direct else []
    if work.stop.time_ns is not None:
        words += ["--timelimit", str(-(-work.stop.time_ns // 10**9)), "--infloop"]
    elif work.stop.operations is not None or (work.stop.bytes or 0) > work.span_bytes:
        raise Unsupported("elbencho ends with its file or after whole seconds")
    words += (
        ["--blockvarpct", "100" if work.content == "incompressible" else "0"]
        if work.read_percent < 100
        else []
    )
    words += ["--sync"] if work.sync != "none" else []
    return f"# {name}\n{shlex.join([*words, place])}"


_WRITERS: Final[dict[str, Callable[[str, PlannedRun, str], str]]] = {
    "fio": _fio,
    "iozone": _iozone,
    "ior": _ior,
    "elbencho": _elbencho,
}
