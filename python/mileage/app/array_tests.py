"""The array test of 2009 (J. De Gelas, AnandTech): what was published next to what the built-in study simulates.

Scope: published rates of sequential reads, ratios of two rates, and a rank among arrays, each from the rates
of the arrays of a study `anandtech-2009`. The figures that the arrays were fitted to were listed before the first run.
What it refuses: another study, and one that has not measured all arrays.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mileage.errors import Refused
from mileage.judge.mean_over_cells import Rank, ranking
from mileage.judge.standings import CellStandings
from mileage.model.array_tests import ArrayFigure, SimulatedFigure

if TYPE_CHECKING:
    from mileage.app.result import StudyResult
    from mileage.execute.progress import Progress

STUDY: Final = "anandtech-2009"
_METRIC: Final = "rate_bytes_per_s"
"""Only the sequential reads are judged by it."""
_AMONG: Final = " among all but "
_OVER: Final = " / "


@cache
def array_figures() -> tuple[ArrayFigure, ...]:
    """What was published, in the order of the article."""
    text = resources.files("mileage.app").joinpath("array_figures.csv").read_text(encoding="utf-8")
    return tuple(
        ArrayFigure(
            row["figure"], float(row["published"]), _unit(row["unit"]), row["simulated from"], row["use"]
        )
        for row in csv.DictReader(text.splitlines())
    )


def _unit(text: str) -> Literal["MB/s", "ratio", "rank"]:
    unit: Literal["MB/s", "ratio", "rank"] = msgspec.convert(text, Literal["MB/s", "ratio", "rank"])
    return unit


class ArrayTests(msgspec.Struct, frozen=True):
    """The figures, the ranks of all arrays in each test, and the mean rate of sequential reads of each in MB/s."""

    figures: tuple[SimulatedFigure, ...]
    ranks: tuple[CellStandings, ...]
    mb_per_s: Mapping[str, float]


def array_tests(folder: str | None = None, *, progress: Progress | None = None) -> ArrayTests:
    """The figures from a study folder, or from the built-in study, run in a temporary folder. Raises Refused."""
    from mileage import app
    from mileage.app.temporary_studies import one_off_folder

    if folder is not None:
        return tests_of(app.load(folder))
    with one_off_folder() as place:
        return tests_of(app.run(STUDY, out=place, report="none", progress=progress))


def tests_of(result: StudyResult) -> ArrayTests:
    """The figures of a study `anandtech-2009` that was measured. Raises Refused."""
    from mileage.analysis.planned_comparison import places, standings_of

    name = result.plan.study.name
    if name != STUDY:
        raise Refused(
            str(result.folder.path), f"is a study {name!r}", expected=f"a study {STUDY!r}", code="wrong-value"
        )
    samples, level = list(result.samples()), places(result.plan)
    runs: dict[str, list[float]] = {}
    for sample in samples:
        if sample.metric == _METRIC:
            runs.setdefault(level[sample.cell][0], []).append(sample.value / 1e6)
    means = {array: sum(values) / len(values) for array, values in runs.items()}
    return ArrayTests(simulated_figures(runs), standings_of(result.plan, samples), means)


def simulated_figures(runs: Mapping[str, Sequence[float]]) -> tuple[SimulatedFigure, ...]:
    """Every published figure from the rates of the runs of each array, in MB/s. Raises Refused."""
    return tuple(SimulatedFigure(figure, *_value(figure, runs)) for figure in array_figures())


def _value(figure: ArrayFigure, runs: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    if figure.unit == "rank":
        found = _rank(figure.simulated_from, runs)
        return found.first, found.last
    above, _, below = figure.simulated_from.partition(_OVER)
    value = _mean(above, runs) / (_mean(below, runs) if below else 1)
    return value, value


def _rank(text: str, runs: Mapping[str, Sequence[float]]) -> Rank:
    """The ranks that an array shares with those that do not differ from it, without one of them."""
    name, _, without = text.partition(_AMONG)
    _mean(name, runs)
    places = ranking({array: values for array, values in runs.items() if array != without})
    return next(place for place in places if place.name == name)


def _mean(text: str, runs: Mapping[str, Sequence[float]]) -> float:
    if text.isdecimal():
        return float(text)
    values = runs.get(text)
    if not values:
        raise Refused(text, "has no run of sequential reads in the study", advice="finish it", code="missing")
    return sum(values) / len(values)
