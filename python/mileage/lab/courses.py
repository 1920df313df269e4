"""Whether runs that write have one level, and whether a virtual drive was where it stays: in words with their figures.

What it models: the course of each run's rate over time, and of what a virtual drive programmed the share that it erased
again. A drive that programs more than it erases uses up erased blocks: its rate is that of a fresh drive, or on the way
down from there. A mean over such runs says how long they were, not how fast the drive is.
What it refuses: runs of fewer than 30 intervals, and drives that count neither, say nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mileage.errors import Refused
from mileage.judge.course import Course, course
from mileage.plan import Plan
from mileage.report import TrustLamp
from mileage.report.quantity import duration
from mileage.target.profiles import load_profile

CHANGE_MIN: Final = 0.2
"""Change of level within a run that speaks against a verdict: the range in which SNIA calls rounds steady."""
LOOKED_AT_MAX: Final = 1000
"""Runs whose series are looked at; each takes some milliseconds."""
ERASED_MIN: Final = 0.9
"""Share of what was programmed that must be erased again, so that erased blocks are not being used up."""
REMEDY: Final = (
    'write the drive until its rate stays before it is measured (state.precondition = "snia-dependent")'
)


class RunCourse(NamedTuple):
    """What a run of a cell did."""

    cell: str
    stage: str
    found: Course
    words: str


class Erasing(NamedTuple):
    """Pages that a run programmed, and blocks that it erased."""

    cell: str
    stage: str
    programmed_pages: int
    erased_blocks: int


class Courses:
    """The runs of a study that write, as they are read one by one."""

    def __init__(self) -> None:
        """None was read."""
        self.runs: list[RunCourse] = []
        self.erasing: list[Erasing] = []

    def add(self, cell: str, stage: str, record: Mapping[str, Any]) -> None:
        """Take a measured run."""
        if not record.get("ops_written") or "series" not in record:
            return
        if len(self.runs) < LOOKED_AT_MAX:
            found = course_of(record)
            self.runs.append(RunCourse(cell, stage, found, course_words(found, record)))
        counters = record.get("counters") or {}
        if "blocks_erased" in counters and "flash_pages_programmed" in counters:
            pages, blocks = counters["flash_pages_programmed"], counters["blocks_erased"]
            self.erasing.append(Erasing(cell, stage, pages, blocks))


def course_of(record: Mapping[str, Any]) -> Course:
    """The course of a run, by its bytes, or its operations where they are not told."""
    series = record["series"]
    both = list(zip(series["bytes_read"], series["bytes_written"], strict=True))
    moved = [sum(pair) for pair in both if None not in pair]
    # The end of the run cuts the last interval short.
    return course((moved if any(moved) else [count for count in series["ops"] if count is not None])[:-1])


def course_words(found: Course, record: Mapping[str, Any]) -> str:
    """What a run does, with times."""
    series = record["series"]
    interval_s = series["interval_ns"] / 1e9
    change, at = f"{abs(found.change):.0%}", duration(found.intervals * series["interval_ns"])
    lasted = duration((len(series["ops"]) - 1) * series["interval_ns"])
    return {
        "slow start": f"the first {at} are {change} slower than the other {lasted}",
        "fast start": f"the first {at} are {change} faster than the rest of {lasted}",
        "fall": f"after {at} of {lasted} the rate falls by {change} and stays there",
        "rise": f"after {at} of {lasted} the rate rises by {change} and stays there",
        "several levels": f"{found.intervals} levels in {lasted}, the lowest {change} below the highest",
        "drift": f"the rate goes {'up' if found.change > 0 else 'down'} by {change} in {lasted}",
        "alternating": f"the rate alternates about every {found.intervals * interval_s:.3g} s, "
        f"with a standard deviation of {change} of its mean",
    }.get(found.kind, f"drift {found.change:+.1%} per 20 intervals")


def level_lamps(courses: Courses) -> list[TrustLamp]:
    """Whether the runs that write have one level each; none where no run was long enough to tell."""
    looked = [run for run in courses.runs if run.found.kind != "too short"]
    if not looked:
        return []
    told = changing(courses)
    if not told:
        return [TrustLamp("level in runs", "ok", f"none of {len(looked)} runs that write changes its level")]
    return [TrustLamp("level in runs", "warn", f"{told[0]}; {REMEDY}")]


def changing(courses: Courses) -> list[str]:
    """The cells whose runs change their level, in at least half of them by `CHANGE_MIN` or more; the worst first."""
    by_cell: dict[tuple[str, str], list[RunCourse]] = {}
    for run in courses.runs:
        by_cell.setdefault((run.cell, run.stage), []).append(run)
    found = []
    for (cell, stage), runs in by_cell.items():
        changed = [run for run in runs if _leaves_its_level(run.found)]
        if 2 * len(changed) >= len(runs):
            worst = max(changed, key=lambda run: abs(run.found.change))
            text = f"{cell} in stage {stage} has no one level in {len(changed)} of {len(runs)} runs: {worst.words}"
            found.append((abs(worst.found.change), text))
    return [text for _, text in sorted(found, reverse=True)]


def _leaves_its_level(found: Course) -> bool:
    """What alternates has a mean that lasts; with few operations in an interval their number does so by itself."""
    return found.changes_level and found.kind != "alternating" and abs(found.change) >= CHANGE_MIN


def state_lamps(plan: Plan, courses: Courses, stages: Sequence[str]) -> list[TrustLamp]:
    """Whether virtual drives were still using up erased blocks in these stages, by what they programmed and erased."""
    pages = {
        cell.label: _block_pages(plan.settings[cell.setting].target) for cell in plan.cells if plan.settings
    }
    sums: dict[str, tuple[int, int]] = {}
    for run in courses.erasing:
        if run.stage in stages and pages.get(run.cell):
            programmed, erased = sums.get(run.cell, (0, 0))
            sums[run.cell] = (
                programmed + run.programmed_pages,
                erased + run.erased_blocks * (pages[run.cell] or 0),
            )
    shares = {cell: erased / programmed for cell, (programmed, erased) in sums.items() if programmed}
    fresh = {cell: share for cell, share in shares.items() if share < ERASED_MIN}
    if not shares:
        return []
    if not fresh:
        return [TrustLamp("erased blocks", "ok", "what was programmed was erased again: none were used up")]
    cell, share = min(fresh.items(), key=lambda pair: pair[1])
    which = f"{len(fresh)} of {len(shares)} cells that write" if len(shares) > 1 else cell
    told = f"{which} used up erased blocks ({cell}: {share:.0%} of what was programmed was erased again)"
    return [TrustLamp("erased blocks", "warn", f"{told}: that is a fresh drive's rate; {REMEDY}")]


def measured_stages(plan: Plan) -> list[str]:
    """The stages that measure, in order."""
    return list(dict.fromkeys(run.stage for run in plan.runs if run.role == "measure"))


def _block_pages(target: str) -> int | None:
    """Pages of a flash block of a virtual drive; None for others, and where its profile does not say."""
    kind, _, name = target.partition(":")
    if kind != "virtual":
        return None
    try:
        figure = tomllib.loads(load_profile(name.partition("@")[0])).get("pages_per_block")
    except (Refused, tomllib.TOMLDecodeError, OSError):
        return None
    value = figure.get("value") if isinstance(figure, dict) else figure
    return value if isinstance(value, int) else None
