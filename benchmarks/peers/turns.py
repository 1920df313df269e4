"""Who runs when: in turn, and where the processor is the limit also all at once on one.

A machine that is shared changes its speed by a factor of two within seconds. Of programs that run one after the other
each meets another moment; of programs that run at once on one processor the kernel gives each a few milliseconds of
every moment, and processor time per operation compares to within some hundredths in one round. Rates do not compare so:
each has its share of the processor, and who is done first leaves the rest to the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.peers import places
from benchmarks.peers import programs as run
from benchmarks.peers.programs import Programs, Unusable
from benchmarks.peers.rows import METADATA, METADATA_BARS, METADATA_ROW, Row, Sizes
from benchmarks.peers.table import US, ComparedRow, ProgramRun

Readings = dict[str, list[ProgramRun]]


def rotated(names: list[str], number: int) -> list[str]:
    """The same, beginning with another one for every number."""
    first = number % max(len(names), 1)
    return names[first:] + names[:first]


def in_turn(row: Row, sizes: Sizes, say: Callable[[str], None]) -> Readings:
    """Every program of a row, round after round, each round starting with another one."""
    readings: Readings = {name: [] for name in row.arms}
    for number in range(sizes.rounds):
        for name in rotated(list(readings), number):
            row.before()
            try:
                readings[name].append(row.arms[name](sizes.seconds))
            except Unusable as error:
                if name == US:
                    raise
                say(f"  skipped in this row: {name}: {error}")
                del readings[name]
    return readings


@contextmanager
def one_processor() -> Iterator[None]:
    """What is started inside, from this thread or a new one, shares one processor: the last of those allowed."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def together(arms: Mapping[str, Callable[[], ProgramRun]]) -> dict[str, ProgramRun]:
    """One run of every program, all at once on one processor."""
    with one_processor(), ThreadPoolExecutor(len(arms)) as pool:
        started = {name: pool.submit(arm) for name, arm in arms.items()}
        return {name: one.result() for name, one in started.items()}


def at_once(row: Row, sizes: Sizes, taking_part: Readings) -> Readings:
    """The programs that a bar of a row names, all at once, as long as gives each its seconds of processor time."""
    named = {US}.union(*(bar.against for bar in row.bars))
    readings: Readings = {name: [] for name in taking_part if name in named}
    seconds = sizes.seconds * len(readings)

    def arm(name: str) -> Callable[[], ProgramRun]:
        return lambda: row.arms[name](seconds)

    for number in range(sizes.rounds):
        row.before()
        for name, reading in together({name: arm(name) for name in rotated(list(readings), number)}).items():
            readings[name].append(reading)
    return readings


def compared(row: Row, sizes: Sizes, say: Callable[[str], None]) -> ComparedRow:
    """A row on a file."""
    readings = in_turn(row, sizes, say)
    return ComparedRow(
        row.name, row.bars, readings, at_once(row, sizes, readings) if row.processor_bound else {}
    )


#: One step of one program on the files of its own folder, whose number is given.
Step = Callable[[Path, int, str], ProgramRun]


def _steps(programs: Programs) -> dict[str, Step]:
    return {
        US: lambda at, files, step: run.metadata(programs, at, files, step),
        "bare loop": lambda at, files, step: run.bare(programs, ["metadata", str(at), str(files), step]),
    }


def metadata(programs: Programs, sizes: Sizes, scratch: Path) -> list[ComparedRow]:
    """Create, stat, utime, unlink; every program on a file system of its own."""
    turns: dict[str, Readings] = {step: {} for step in METADATA}
    once: dict[str, Readings] = {step: {} for step in METADATA}
    for number in range(sizes.rounds):
        _metadata_in_turn(programs, sizes, scratch, number, turns)
        _metadata_at_once(programs, sizes, scratch, number, once)
    return [
        ComparedRow(f"{METADATA_ROW}: {step}", METADATA_BARS, turns[step], once[step]) for step in METADATA
    ]


def _metadata_in_turn(
    programs: Programs, sizes: Sizes, scratch: Path, number: int, found: dict[str, Readings]
) -> None:
    steps, others = _steps(programs), programs.others
    for name in rotated([*steps, *(["mdtest"] if "mdtest" in others else [])], number):
        with places.fresh_ext4(scratch, sizes.files) as at:
            if name == "mdtest":
                taken = run.mdtest(others["mdtest"], at, sizes.files)
            else:
                taken = {step: steps[name](at, sizes.files, step) for step in METADATA}
        for step, reading in taken.items():
            found[step].setdefault(name, []).append(reading)


def _metadata_at_once(
    programs: Programs, sizes: Sizes, scratch: Path, number: int, found: dict[str, Readings]
) -> None:
    steps = _steps(programs)
    files = sizes.files * len(steps)
    with ExitStack() as made:
        folders = {}
        for place, name in enumerate(rotated(list(steps), number)):
            own = scratch / f"at-once-{place}"
            own.mkdir(exist_ok=True)
            folders[name] = made.enter_context(places.fresh_ext4(own, files))

        def arm(name: str, step: str) -> Callable[[], ProgramRun]:
            return lambda: steps[name](folders[name], files, step)

        for step in METADATA:
            for name, reading in together({name: arm(name, step) for name in folders}).items():
                found[step].setdefault(name, []).append(reading)
