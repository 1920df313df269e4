"""The rate of a cell as text: the geometric mean of its runs, its interval, and where there is none, why.

Scope: every table, sentence and file that gives a rate of several runs takes it from here. A cell in which a run failed
or did nothing has no geometric mean: its text is "-", and `completed_words` states how many runs completed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

import msgspec

from mileage.judge import Summary, summarise

Words = Callable[[float], str]

METHOD: Final = "geometric means of the runs"
NOT_ESTIMABLE: Final = "-: not estimable, since a run failed or did nothing"
RATES: Final = ("rate_bytes_per_s", "ops_per_s")


class RatedCell(Protocol):
    """The rates of a cell: one value per run, none where a rate is not known."""

    @property
    def cell(self) -> str: ...
    @property
    def runs(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def elapsed_s(self) -> tuple[float, ...]: ...
    @property
    def rate_bytes_per_s(self) -> tuple[float, ...]: ...
    @property
    def ops_per_s(self) -> tuple[float, ...]: ...


def rate_of(cell: RatedCell, name: str) -> Summary:
    """The summary of the rates of a cell that the field `name` has."""
    values: Sequence[float] = getattr(cell, name)
    return summarise(values, times_s=[time for time in cell.elapsed_s if time > 0], failed=cell.failed)


def has_values(found: Summary) -> bool:
    """Whether any run did something: a cell without bytes has a rate of 0 in each run."""
    return found.completed > 0


def is_partial(found: Summary) -> bool:
    """Whether there is no geometric mean because runs failed or did nothing."""
    return found.n > 0 and found.geometric_mean is None


def point(found: Summary, words: Words) -> str:
    """The geometric mean; "-" where it is not estimable."""
    if found.geometric_mean is not None:
        return words(found.geometric_mean)
    return "-" if has_values(found) or not found.n else words(0.0)


def with_interval(found: Summary, words: Words) -> str:
    """The geometric mean, with the interval where there is one: "512 (498 to 521)"."""
    ends = found.mean_ci95
    if ends is None:
        return point(found, words)
    low, high = map(words, ends)
    return f"{point(found, words)} ({'no spread' if low == high else f'{low} to {high}'})"


def is_wide(found: Summary) -> bool:
    """Whether half the interval exceeds the mean, so that a percentage would mislead."""
    ends, mean = found.mean_ci95, found.geometric_mean
    return ends is not None and mean is not None and ends[1] - ends[0] > 2 * mean


def half_width(found: Summary, words: Words) -> str:
    """Half the interval as a share of the mean, "1.2 %"; the interval itself, "2 to 950", where that is wide.

    "-" without an interval.
    """
    ends, mean = found.mean_ci95, found.geometric_mean
    if ends is None or not mean:
        return "-"
    if is_wide(found):
        return f"{words(ends[0])} to {words(ends[1])}"
    half = 50 * (ends[1] - ends[0]) / mean
    return f"{half:.0f} %" if half >= 10 else f"{half:.1f} %"


def error_bar(values: Sequence[float], judged: float | None = None) -> tuple[float, float, float]:
    """The mean, and the ends of one standard deviation of the logarithms; three times 0 without a geometric mean.

    `judged`: the mean that a table has, where it is known; a bar then shows what the table says.
    """
    mean = summarise(values).geometric_mean if judged is None else judged
    if not mean:
        return 0.0, 0.0, 0.0
    logs = [math.log(value) for value in values if value > 0]
    spread = math.exp(statistics.stdev(logs)) if len(logs) > 1 else 1.0
    return mean, mean / spread, mean * spread


def median_words(found: Summary, words: Words, unit: str) -> str:
    """The median with its own interval: "884 MB/s (96 % interval 203 to 887 MB/s)"; empty below six runs."""
    if found.median is None or found.median_ci is None or found.median_confidence is None:
        return ""
    low, high = (words(end) for end in found.median_ci)
    confidence = f"{100 * found.median_confidence:.0f} %"
    return f"{words(found.median)} {unit} ({confidence} interval {low} to {high} {unit})"


def completed_words(found: Summary) -> str:
    """How many runs completed: "19 of 20 runs completed"."""
    return f"{found.completed} of {found.asked} run{'' if found.asked == 1 else 's'} completed"


def partial_words(named: Iterable[tuple[str, Summary]]) -> str:
    """The cells without an estimate: "-: not estimable, ...: CELL (19 of 20 runs completed)"; empty for none."""
    found = [f"{name} ({completed_words(summary)})" for name, summary in named if is_partial(summary)]
    return f"{NOT_ESTIMABLE}: {'; '.join(found)}." if found else ""


def with_estimates(cells: Iterable[RatedCell]) -> list[dict[str, Any]]:
    """The cells as values for programs, each with the summary of its rates under `estimates`."""
    return [
        {
            **msgspec.to_builtins(cell),
            "estimates": {name: rate for name in RATES if has_values(rate := rate_of(cell, name))},
        }
        for cell in cells
    ]


def estimate_columns(name: str, unit: str) -> tuple[str, ...]:
    """The columns of `estimate_row`: the first is the geometric mean."""
    ends = ("ci95_low", "ci95_high", "median", "median_ci_low", "median_ci_high", "pooled")
    return (f"{name}_{unit}", *(f"{name}_{end}_{unit}" for end in ends))


def estimate_row(found: Summary) -> tuple[float | None, ...]:
    """The estimate and what may stand next to it, for a table; None where it is not known."""
    if not has_values(found):
        return (0.0 if found.n else None, *[None] * 6)
    nothing = (None, None)
    median = (found.median, *found.median_ci) if found.median_ci else (None, *nothing)
    return (found.geometric_mean, *(found.mean_ci95 or nothing), *median, found.pooled)
