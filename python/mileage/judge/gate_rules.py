"""Rules by which a comparison fails a pipeline: `mileage compare A B --fail-if RULE`.

Scope: a rule as words of the verdict: `slower`, `faster`, `different` (either) or `undecided`; by more than a share,
`slower > 5%`; or `not shown within 5%`, which fails every cell that has not been shown to be at most that much worse.
Before it a metric (`rate`, `p99` or `time`) may stand, and before that a pattern of cells: `iops.*: p99 slower > 10%`.
Refuses (ValueError) what is no rule, and a rule that no cell answers to: a gate that guards nothing must not be green.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from mileage.judge.comparison import HEADLINE_METRICS, Comparison
from mileage.judge.sentence import METRIC_WORDS
from mileage.judge.verdict import Verdict

_METRICS: Final = {
    "rate": ("rate_bytes_per_s", "ops_per_s"),
    "p99": ("latency_p99_ns",),
    "time": ("elapsed_s",),
}
_NUMBER: Final = r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%"
_RULE: Final = re.compile(
    r"\s*(?:(?P<cells>\S.*?)\s*:\s+)?(?:(?P<metric>rate|p99|time)\s+)?"
    rf"(?:(?P<word>slower|faster|different)(?:\s*>\s*{_NUMBER})?|(?P<undecided>undecided)|not\s+shown\s+within\s+{_NUMBER})\s*"
)
EXPECTED: Final = (
    '"slower", "faster", "different", "undecided", "slower > 5%" or "not shown within 5%", after a metric '
    '(rate, p99 or time) and a pattern of cells if wanted, as in "iops.*: p99 slower > 10%"'
)


class Rule(msgspec.Struct, frozen=True):
    """A condition that fails the gate.

    `share` is relative (0.05 = 5 %), 0 where none is named; `cells` a pattern with `*` and `?`.
    """

    text: str
    cells: str
    metric: str
    word: str
    """`slower`, `faster`, `different`, `undecided` or `not shown`."""
    share: float

    def sentence(self) -> str:
        """Statement about a failing cell: "are slower by more than 5 %"."""
        by = f" by more than {100 * self.share:.6g} %" if self.share else ""
        metric = f" in {self.metric}" if self.metric else ""
        if self.word == "not shown":
            return f"are not shown to be within {100 * self.share:.6g} %{metric}"
        return f"are {self.word}{by}{metric}"


class GatedCell(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a judged cell that a rule reads; the same as in :class:`mileage.judge.CellVerdict`."""

    name: str
    """Printed name: the cell, with its metric unless that is a rate."""
    cell: str
    metric: str
    verdict: Verdict
    higher_is_better: bool = True
    ratio: float | None = None
    ci90: tuple[float, float] | None = None


def gated_cells(comparison: Comparison) -> list[GatedCell]:
    """The cells of a comparison."""
    return [
        GatedCell(
            name=cell.cell
            if cell.metric in HEADLINE_METRICS
            else f"{cell.cell}, {METRIC_WORDS.get(cell.metric, cell.metric)}",
            cell=cell.cell,
            metric=cell.metric,
            verdict=cell.verdict,
            higher_is_better=cell.higher_is_better,
            ratio=cell.ratio,
            ci90=cell.ci90,
        )
        for cell in comparison.cells
    ]


def parse_rule(text: str) -> Rule:
    """The rule that a text says. Raises ValueError."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r}: expected {EXPECTED}")
    share = float(found[4] or found[6] or 0) / 100
    word = found["word"] or found["undecided"] or "not shown"
    return Rule(text.strip(), found["cells"] or "*", found["metric"] or "", word, share)


def failing(rule: Rule, cells: Sequence[GatedCell]) -> list[GatedCell]:
    """The cells that a rule fails, in their order. Raises ValueError if it is about none of them."""
    about = [
        cell
        for cell in cells
        if fnmatchcase(cell.cell, rule.cells) and (not rule.metric or cell.metric in _METRICS[rule.metric])
    ]
    if not about:
        named = ", ".join(dict.fromkeys(cell.cell for cell in cells)) or "there is none"
        raise ValueError(f"{rule.text!r} is about no cell that was compared; compared were: {named}")
    return [cell for cell in about if _fails(rule, cell)]


def _fails(rule: Rule, cell: GatedCell) -> bool:
    if rule.word == "not shown":
        return not _shown_within(cell, rule.share)
    wanted = ("slower", "faster") if rule.word == "different" else (rule.word,)
    if cell.verdict not in wanted:
        return False
    return not rule.share or (cell.ratio is not None and abs(cell.ratio - 1) > rule.share)


def _shown_within(cell: GatedCell, share: float) -> bool:
    """Whether the cell is shown to be worse by no more than a share, at 5 % one-sided.

    No correction for the number of cells is due: all of them must be shown (intersection-union).
    """
    if cell.ci90 is None:
        return False
    low, high = cell.ci90
    return low >= 1 - share if cell.higher_is_better else high <= 1 + share
