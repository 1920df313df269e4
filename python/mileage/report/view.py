"""The input of a report: one study as a value, complete, with nothing left to look up.

Scope: the page's content, not its form: whoever holds a study folder builds a `StudyView`, and the page, the
terminal text and the figures are three ways to show it. Refuses control characters and direction marks in
names, which come from strangers: `cleaned` shows them as escapes, so that no name can steer a terminal or a page.
"""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from mileage.judge import CellVerdict, Comparison
from mileage.judge.effects_apart import EffectsApart
from mileage.judge.published_score import PublishedComparison
from mileage.judge.standings import CellStandings
from mileage.report.chart_data import ChartData, RunTrace
from mileage.terminal import harmless

CheckState = Literal["ok", "warn", "bad", "unknown"]


class ValidityCheck(msgspec.Struct, frozen=True):
    """One validity check: its subject, its state, and its figure in a few words.

    `table`: rows of equal length below the text, the first of them the heading; empty for most checks.
    """

    name: str
    state: CheckState
    text: str
    table: list[list[str]] = []


class RunShape(msgspec.Struct, frozen=True):
    """Rate levels inside one torture run.

    `kind` is a word of `mileage.judge.regimes`. `levels_bytes_per_s` has one rate per level, `cut_bytes` the bytes
    written where each later level begins, known to `cut_error_bytes` (what one interval wrote).
    """

    cell: str
    cycle: int
    kind: str
    levels_bytes_per_s: list[float]
    cut_bytes: list[float]
    cut_error_bytes: float


class StudyView(msgspec.Struct, frozen=True, kw_only=True):
    """One study, ready to be shown.

    `identity` says what was measured and with what (device, kernel, file system, version, plan hash, seed,
    date), in the order to be shown. `command` repeats the study. `environments` has one (stage, facts) pair
    per snapshot, `environment_changes` a line for each change that matters. `method` is plain text; an empty
    line separates paragraphs. `torture` has one trace for each cycle and target, of what it wrote. `capacity_bytes`,
    where known, adds drive writes to the torture's axis. `shapes` has one entry per torture run, `notes` a sentence
    for each thing that the figures cannot show by themselves, `explanations` one for each explained difference, the
    largest first.
    `factor` is what the arms are levels of, `standings` all of its levels where there are more than two. `evidence` is
    the data of the pictures other than the verdicts.
    """

    name: str
    question: str
    target: str
    identity: dict[str, str]
    command: str
    comparison: Comparison
    torture: list[RunTrace]
    environments: list[tuple[str, dict[str, str]]]
    environment_changes: list[str]
    trust: list[ValidityCheck]
    runs_total: int
    runs_failed: int
    method: str
    capacity_bytes: int | None = None
    shapes: list[RunShape] = []
    notes: list[str] = []
    explanations: list[str] = []
    factor: str = ""
    harmless: bool = False
    """Whether `cleaned` was applied."""
    standings: tuple[CellStandings, ...] = ()
    published: PublishedComparison | None = None
    """The source that the study repeats, next to what was found."""
    apart: EffectsApart | None = None
    """Of two causes: their separate effects, which lead the report in place of the comparison."""
    evidence: ChartData = ChartData()

    @property
    def headline(self) -> tuple[CellVerdict, ...]:
        """The cells that the first sentence is about (see `headline_of`)."""
        return headline_of(self.comparison)

    @property
    def beyond_headline(self) -> tuple[CellVerdict, ...]:
        """The cells that the first sentence is not about (see `beyond_headline_of`)."""
        return beyond_headline_of(self.comparison)


def headline_of(comparison: Comparison) -> tuple[CellVerdict, ...]:
    """The cells the verdict sentence speaks of, as shown: the headline, or every cell where none is declared."""
    return _shown(comparison, comparison.family)


def beyond_headline_of(comparison: Comparison) -> tuple[CellVerdict, ...]:
    """The judged cells outside the headline, such as latencies, as shown."""
    return _shown(comparison, comparison.beyond)


def shown_cells(comparison: Comparison) -> tuple[CellVerdict, ...]:
    """All cells as tables and pictures show them: change and interval, and no verdict that a veto makes void."""
    return _shown(comparison, comparison.cells)


def _shown(comparison: Comparison, cells: Iterable[CellVerdict]) -> tuple[CellVerdict, ...]:
    if not comparison.vetoes:
        return tuple(cells)
    return tuple(msgspec.structs.replace(cell, verdict="not conclusive") for cell in cells)


def cleaned(view: StudyView) -> StudyView:
    """The same view with every control character, direction mark and lone surrogate in its texts shown as an escape.

    Line feeds stay; tabs become spaces.
    """
    if view.harmless:
        return view
    bare = msgspec.structs.replace(
        view, comparison=msgspec.structs.replace(view.comparison, cells=(), headline=())
    )
    twin = msgspec.convert(_clean(msgspec.to_builtins(bare)), StudyView)
    return msgspec.structs.replace(twin, comparison=cleaned_comparison(view.comparison), harmless=True)


def cleaned_evidence(evidence: ChartData) -> ChartData:
    """The same evidence with its texts replaced as in `cleaned`."""
    return msgspec.convert(_clean(msgspec.to_builtins(evidence)), ChartData)


def cleaned_text(text: str) -> str:
    """A text with what `cleaned` replaces replaced."""
    return str(_clean(text))


def cleaned_comparison(comparison: Comparison) -> Comparison:
    """A comparison with its texts replaced as in `cleaned`; the headline's cells stay those of the table."""
    twin = msgspec.convert(_clean(msgspec.to_builtins(comparison)), Comparison)
    headline = tuple(twin.cells[comparison.cells.index(cell)] for cell in comparison.headline)
    return msgspec.structs.replace(twin, headline=headline)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value.replace("\r\n", "\n").replace("\t", " "))
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], float):
            return value
        return [_clean(item) for item in value]
    return value
