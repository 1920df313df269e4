"""The data of the pictures other than the verdicts: rates, latencies and counters of some runs, and the cells' places.

Scope: plain figures with their units, thinned to what a picture can show. Whatever a study has not
recorded is empty, and no picture of it is drawn.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import msgspec

AMPLIFICATION: Final = "write amplification"
FREE_BLOCKS: Final = "free blocks"
CACHE_FREE: Final = "free pages of the write cache"
_STALLED_MIN: Final = 0.01


class RunTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or the torture of one cycle, as lists with one entry per displayed interval.

    `end_s` and `moved_bytes` are counted from the start to the end of an interval, also of those in which nothing was
    moved. Latencies are those of operations
    that ended in it, the largest of the intervals that were joined for the 99th percentile and the maximum; empty where
    not recorded. `cuts` are the entries at which another level of the rate begins, `kind` is the word of
    `mileage.judge.regimes` for its course.
    """

    arm: str
    cycle: int
    block: int
    end_s: list[float]
    moved_bytes: list[float]
    rate_bytes_per_s: list[float]
    p50_ns: list[float] = []
    p99_ns: list[float] = []
    max_ns: list[float] = []
    of_commits: bool = False
    """Whether these are latencies of commits, and not of operations."""
    counters: dict[str, list[float]] = {}
    cuts: list[int] = []
    kind: str = "too short"

    @property
    def stalled_share(self) -> float:
        """Share of the time in which nothing was moved, by the displayed intervals; 0 below one in a hundred."""
        steps = zip(pairwise([0.0, *self.end_s]), self.rate_bytes_per_s, strict=True)
        share = sum(end - start for (start, end), rate in steps if not rate) / self.end_s[-1]
        return share if share >= _STALLED_MIN else 0.0


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """Latency tail: `above[i]` is the share of `operations` that took more than `latency_ns[i]`.

    `kind` is "service" (from the submission) or "response" (from when an operation was due). `runs` of 1 is one run by
    itself; more are all runs of the arm together.
    """

    arm: str
    kind: str
    runs: int
    operations: int
    latency_ns: list[float]
    above: list[float]


class LevelRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Every run of one cell at every level of the compared factor, in the metric's unit."""

    cell: str
    metric: str
    levels: dict[str, list[float]]


class ScanPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One level of a scanned number: its place on the axis and its name there.

    `mean`, the geometric mean of the runs, and `low` to `high` as its 95 % interval are in the unit of `metric`.
    Several scans of one study differ in `series`.
    """

    series: str
    level: str
    at: float
    metric: str
    mean: float
    low: float | None = None
    high: float | None = None
    p50_ns: int | None = None
    p99_ns: int | None = None


class RateCurve(msgspec.Struct, frozen=True):
    """The rates of a test over `by`, a property that is a number; each line is a level of the other properties.

    `series`: the property that the lines are levels of; empty where there are none or several. `points` are those of
    the lines that are drawn, of `lines_total`.
    """

    test: str
    by: str
    series: str
    points: tuple[ScanPoint, ...]
    lines_total: int


class Landmark(msgspec.Struct, frozen=True):
    """A place on the axis of a scan to compare with, such as the size of a cache in bytes."""

    name: str
    at: float


class OrderedRun(msgspec.Struct, frozen=True):
    """A run by its place in the order of the study, and its value over the geometric mean of its cell and arm."""

    position: int
    arm: str
    ratio: float


class SteadyRounds(msgspec.Struct, frozen=True, kw_only=True):
    """Rounds of writing, with the window of SNIA's rule that ends with the last one.

    `first` is the window's first round, from 0; `mean`, `range` and the ends of the fitted `line` are those of the
    window, in bytes per second.
    """

    name: str
    rates_bytes_per_s: list[float]
    first: int
    mean: float
    range: float
    line: tuple[float, float]
    steady: bool


class Wear(msgspec.Struct, frozen=True):
    """One wear figure of a drive, before and after a cycle's torture."""

    name: str
    cycle: int
    before: float
    after: float


class Layout(msgspec.Struct, frozen=True):
    """How IOR lays out a file: segments of one block for each task, cut into transfers."""

    name: str
    tasks: int
    segments: int
    block_bytes: int
    transfer_bytes: int
    shared: bool


class ChartData(msgspec.Struct, frozen=True, kw_only=True):
    """The data of all pictures.

    `cell` is the one that the verdict sentence speaks of, whose runs and latencies are here.

    `places` has the distinguishing properties of each cell by name: {"test": "throughput.write",
    "record": "1 MiB", "threads": "4"}. `device_classes` has the class of the device, by the level of the compared
    factor where its levels are devices, else under an empty name. `plan_toml` is the plan as text.
    """

    cell: str = ""
    runs: list[RunTrace] = []
    tails: list[Tail] = []
    levels: list[LevelRuns] = []
    baseline_level: str = ""
    factor: str = ""
    """Name of the compared factor; empty where stages are compared."""
    places: dict[str, dict[str, str]] = {}
    wear: list[Wear] = []
    layouts: list[Layout] = []
    device_classes: dict[str, str] = {}
    plan_toml: str = ""
    steady: list[SteadyRounds] = []
    order: list[OrderedRun] = []
    """The runs of the compared arms in the metric of the headline."""
    scan: list[ScanPoint] = []
    """Cells that differ in one number, where nothing is compared."""
    curves: list[RateCurve] = []
    """The tests of a study that compares nothing and has too many cells for one picture."""
    landmarks: list[Landmark] = []
    """Sizes to compare a scan of record sizes with."""
    steps: list[str] = []
    """Sentences about the record sizes at which a scan changes its level."""
    files: list[tuple[str, int]] = []
    """Files that stand next to the page, with their sizes in bytes."""

    def test_of(self, cell: str) -> str:
        """The test of a cell; its label where nothing else is known of it."""
        return self.places.get(cell, {}).get("test", cell)
