"""Two published tests next to what the built-in studies simulate: eight drives by hdparm and dd, and arrays by IOMeter.

Scope: of the talk on drives the study that repeats it, on the drives that are asked for; its page is
`docs/reference/published-studies.md`, and each figure here is the one there.
What it refuses: drives that were not tested.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mileage.app.published_results import mean_rate
from mileage.app.sweep import sweep
from mileage.errors import Refused
from mileage.formats.published_results import shipped_study
from mileage.judge.mean_over_cells import Rank, ranking
from mileage.judge.standings import CellStandings
from mileage.model.replications import ArrayFigure, RawTables, SimulatedFigure, SimulatedTest

if TYPE_CHECKING:
    from mileage.app.result import StudyResult
    from mileage.execute.progress import Progress


STUDY: Final = "qmul-2017"
FACTOR: Final = "drive"


@cache
def raw_tables() -> RawTables:
    """The tables of the talk other than the tests, which `profiles/published` has."""
    text = resources.files("mileage.app").joinpath("raw_tests.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=RawTables)


def simulated_tests(drives: Sequence[str] = (), *, processes: int | None = None) -> list[SimulatedTest]:
    """The tests of all drives of the talk or of some. Raises Refused for drives that it lacks."""
    published = shipped_study(STUDY).results
    known = tuple(dict.fromkeys(one.levels[FACTOR] for one in published))
    if unknown := [name for name in drives if name not in known]:
        raise Refused(
            unknown[0],
            "is no drive of the raw tests",
            expected=f"one of {', '.join(known)}",
            code="unknown-name",
        )
    wanted = tuple(drives) or known
    values: dict[tuple[str, str], list[float]] = {}
    for row in sweep(STUDY, processes=processes, levels={FACTOR: wanted}):
        workload, _, _ = row["cell"].partition(" ")
        if row["metric"] == "rate_bytes_per_s":
            values.setdefault((row[FACTOR], workload), []).append(row["value"])
    return [
        SimulatedTest(
            drive, one.workload, one.middle or 0.0, mean_rate(values[drive, one.workload]) / 1e6, one.note
        )
        for drive in wanted
        for one in published
        if one.levels[FACTOR] == drive
    ]


# The array test of 2009 (J. De Gelas, AnandTech): what was published next to what the built-in study simulates.
# Scope: published rates of sequential reads, ratios of two rates, and a rank among arrays, each from the rates of the
# arrays of a study `anandtech-2009`. The figures that the arrays were fitted to were listed before the first run.
# What it refuses: another study, and one that has not measured all arrays.

ARRAY_STUDY: Final = "anandtech-2009"
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
        return tests_of(app.run(ARRAY_STUDY, out=place, report="none", progress=progress))


def tests_of(result: StudyResult) -> ArrayTests:
    """The figures of a study `anandtech-2009` that was measured. Raises Refused."""
    from mileage.analysis.planned_comparison import places, standings_of

    name = result.plan.study.name
    if name != ARRAY_STUDY:
        raise Refused(
            str(result.folder.path),
            f"is a study {name!r}",
            expected=f"a study {ARRAY_STUDY!r}",
            code="wrong-value",
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
