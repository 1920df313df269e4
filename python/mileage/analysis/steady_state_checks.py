"""Steady-state checks of measured writes: rate changes within a run, and erased blocks that a virtual drive consumed.

Scope: each run's rate over time (`judge.rate_over_time`), and the ratio of erased to programmed pages. A drive
that programs more than it erases still consumes its erased blocks, and writes at the rate of a fresh drive. The mean of
such a run depends on its length, so it does not describe the drive.
Runs of fewer than 30 intervals and drives without these counters are skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from mileage.judge.rate_over_time import Course, course
from mileage.model.caveat import Caveat, veto
from mileage.model.imported_record import ImportedRecord
from mileage.model.run_record import RunRecord
from mileage.plan import Plan
from mileage.report import ValidityCheck
from mileage.report.caveat_words import caveat_words
from mileage.report.quantity import duration
from mileage.targets.profiles import figures_of_target

NAME: Final = "rate within runs"
"""Name of the check for changes of the rate within runs."""
CHANGE_MIN: Final = 0.2
"""Change of level within a run that speaks against a verdict: the range in which SNIA calls rounds steady."""
RUNS_CHECKED_MAX: Final = 1000
"""Runs whose series are analysed; each takes some milliseconds."""
ERASED_MIN: Final = 0.9
"""Ratio of erased to programmed pages below which the drive counts as still consuming erased blocks."""
REMEDY: Final = (
    'precondition the drive to steady state before measuring (state.precondition = "snia-dependent")'
)


class RunCourse(NamedTuple):
    """How the rate of one run of a cell changed over time."""

    cell: str
    stage: str
    found: Course
    words: str


class EraseCounts(NamedTuple):
    """Pages that a run programmed, and blocks that it erased."""

    cell: str
    stage: str
    programmed_pages: int
    erased_blocks: int


class Courses:
    """The measured runs of a study that write, collected one by one."""

    def __init__(self) -> None:
        """Start empty."""
        self.run_count = 0
        self.runs: list[RunCourse] = []
        self.erasing: list[EraseCounts] = []

    def add(self, cell: str, stage: str, record: RunRecord, *, sham: bool = False) -> None:
        """Add a measured run; runs that write nothing are skipped."""
        if not record.ops_written:
            return
        self.run_count += 1
        if len(self.runs) < RUNS_CHECKED_MAX:
            found = course_of(record)
            self.runs.append(RunCourse(cell, stage, found, course_words(found, record)))
        counters = record.counters
        # The sham arm is not worn: its drive is meant to have erased blocks.
        if not sham and "blocks_erased" in counters and "flash_pages_programmed" in counters:
            pages, blocks = counters["flash_pages_programmed"], counters["blocks_erased"]
            self.erasing.append(EraseCounts(cell, stage, pages, blocks))


def course_of(record: RunRecord | ImportedRecord) -> Course:
    """The course of a run, by its bytes, or its operations where these are unknown."""
    series = record.series
    both = zip(series.bytes_read, series.bytes_written, strict=True)
    moved = [read + written for read, written in both if read is not None and written is not None]
    # The end of the run cuts the last interval short.
    return course((moved if any(moved) else [count for count in series.ops if count is not None])[:-1])


def course_words(found: Course, record: RunRecord | ImportedRecord) -> str:
    """Describe in words how the rate of a run changed, with times."""
    series = record.series
    interval_s = series.interval_s
    change, at = f"{abs(found.change):.0%}", duration(found.intervals * series.interval_ns)
    # "2219 % faster" is read as 22 times and means 23 times.
    times = f"{1 + found.change:.3g} times" if found.change >= 1 else ""
    above = f"{times} as fast as" if times else f"{change} faster than"
    rises = f"to {times} its value" if times else f"by {change}"
    lasted = duration((len(series.ops) - 1) * series.interval_ns)
    return {
        "slow start": f"the first {at} are {change} slower than the other {lasted}",
        "fast start": f"the first {at} are {above} the rest of {lasted}",
        "fall": f"after {at} of {lasted} the rate falls by {change} and stays there",
        "rise": f"after {at} of {lasted} the rate rises {rises} and stays there",
        "several levels": f"{found.intervals} levels in {lasted}, the lowest {change} below the highest",
        "drift": f"the rate goes {'up' if found.change > 0 else 'down'} by {change} in {lasted}",
        "alternating": f"the rate alternates about every {found.intervals * interval_s:.3g} s, "
        f"with a standard deviation of {change} of its mean",
    }.get(found.kind, f"drift {found.change:+.1%} per 20 intervals")


def level_checks(courses: Courses) -> list[ValidityCheck]:
    """The check of rate changes within runs that write; empty when no run was long enough."""
    checked = [run for run in courses.runs if run.found.kind != "too short"]
    if not checked:
        return []
    if changes := changing(courses, share_min=0.0):
        return [ValidityCheck(NAME, "warn", caveat_words(changes[0].caveat))]
    runs = "the 1 write run" if len(checked) == 1 else f"none of the {len(checked):,} write runs"
    became = "did not become" if len(checked) == 1 else "became"
    text = (
        f"{runs} {became} {CHANGE_MIN:.0%} or more faster or slower while it lasted, so its mean describes it"
    )
    # A run that is too short, or beyond the limit of examined runs, may have changed: do not count it as steady.
    skipped = max(courses.run_count - len(checked), 0)
    return [ValidityCheck(NAME, "ok", f"{text}; {skipped:,} not checked" if skipped else text)]


class LevelChange(NamedTuple):
    """A cell of which runs change their rate level while they last: how many of them, and the worst in words."""

    cell: str
    stage: str
    changed: int
    runs: int
    words: str

    @property
    def caveat(self) -> Caveat:
        """The change as a reason against a conclusion."""
        return veto(
            "level-change",
            tests=(self.cell,),
            stage=self.stage,
            changed_runs=self.changed,
            runs=self.runs,
            course=self.words,
            remedy=REMEDY,
        )


def changing(
    courses: Courses,
    share_min: float = 0.5,
    *,
    cells: Collection[str] | None = None,
    stages: Collection[str] | None = None,
) -> list[LevelChange]:
    """Each cell of which at least `share_min` (0..1) of the runs change their level; the worst first.

    `cells`, `stages`: those that are looked at; None: all.
    """
    by_cell: dict[tuple[str, str], list[RunCourse]] = {}
    for run in courses.runs:
        if (cells is None or run.cell in cells) and (stages is None or run.stage in stages):
            by_cell.setdefault((run.cell, run.stage), []).append(run)
    found = []
    for (cell, stage), runs in by_cell.items():
        changed = [run for run in runs if _leaves_its_level(run.found)]
        if changed and len(changed) >= share_min * len(runs):
            worst = max(changed, key=lambda run: abs(run.found.change))
            found.append(
                (abs(worst.found.change), LevelChange(cell, stage, len(changed), len(runs), worst.words))
            )
    return [change for _, change in sorted(found, reverse=True)]


def _leaves_its_level(found: Course) -> bool:
    # An alternating rate has a stable mean, and few operations per interval make any rate alternate.
    return found.changes_level and found.kind != "alternating" and abs(found.change) >= CHANGE_MIN


def state_checks(plan: Plan, courses: Courses, stages: Sequence[str]) -> list[ValidityCheck]:
    """Check that a simulated drive erased as many pages as it programmed, so that it did not live on free blocks."""
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
        return [
            ValidityCheck(
                "erased blocks",
                "ok",
                f"the drive erased at least {min(shares.values()):.0%} of what it programmed in stage "
                f"{', '.join(map(repr, stages))}: these are rates of a used "
                "drive, not of one that uses up a stock of erased blocks",
            )
        ]
    cell, share = min(fresh.items(), key=lambda pair: pair[1])
    which = f"{len(fresh)} of {len(shares)} cells that write" if len(shares) > 1 else cell
    text = (
        f"{which} consumed a stock of erased blocks ({cell}: erased only {share:.0%} of what it programmed)"
    )
    return [ValidityCheck("erased blocks", "warn", f"{text}: these are rates of a fresh drive, so {REMEDY}")]


def measured_stages(plan: Plan) -> list[str]:
    """The stages that measure, in order."""
    return list(dict.fromkeys(run.stage for run in plan.runs if run.role == "measure"))


def _block_pages(target: str) -> int | None:
    """Pages of a flash block of a virtual drive; None for others, and where its profile does not say."""
    figure = figures_of_target(target).get("pages_per_block")
    value = figure.get("value") if isinstance(figure, dict) else figure
    return value if isinstance(value, int) else None
