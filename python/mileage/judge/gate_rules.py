"""Rules by which a comparison fails a pipeline: `mileage compare A B --fail-if RULE`.

Scope: a rule as words of the verdict: `slower`, `faster`, `different` (either) or `undecided`; by more than a share,
`slower > 5%`; or `not shown within 5%`, which is broken by every cell that has not been shown to be at most that much
worse. Before it a metric (`rate`, `p99`, `commit_p99`, `time` ...) may stand, and before that a pattern of cells:
`iops.*: p99 slower`.
A rule is broken, kept, or cannot be judged: of a cell that has no interval, or when a caveat forbids conclusions.
Such a cell is undecided, so that `undecided` is broken by it.
Refuses (ValueError) what is no rule, and a rule that no cell answers to: a gate that guards nothing must not be green.
"""

import math
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from mileage.judge.comparison import CellVerdict, Comparison
from mileage.judge.verdict import Verdict
from mileage.model.metrics import METRICS

Outcome = Literal["broken", "kept", "cannot be judged"]

_METRICS: Final[dict[str, tuple[str, ...]]] = {
    "rate": ("rate_bytes_per_s", "ops_per_s"),
    **{word: (row.figure,) for word, row in METRICS.items() if not row.higher_is_better},
}
_NUMBER: Final = r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%"
_RULE: Final = re.compile(
    rf"\s*(?:(?P<cells>\S.*?)\s*:\s+)?(?:(?P<metric>{'|'.join(_METRICS)})\s+)?"
    rf"(?:(?P<word>slower|faster|different)(?:\s*>\s*{_NUMBER})?|(?P<undecided>undecided)|not\s+shown\s+within\s+{_NUMBER})\s*"
)


class Rule(msgspec.Struct, frozen=True):
    """A condition that fails the gate.

    `share` is relative (0.05 = 5 %, from 1/1.05 to 1.05), 0 where none is named; `cells` a pattern with `*` and `?`.
    """

    text: str
    cells: str
    metric: str
    word: str
    """`slower`, `faster`, `different`, `undecided` or `not shown`."""
    share: float


class GatedCell(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a judged cell that a rule reads; the same as in :class:`mileage.judge.CellVerdict`."""

    cell: str
    metric: str
    verdict: Verdict
    higher_is_better: bool = True
    ratio: float | None = None
    ci95: tuple[float, float] | None = None
    ci90: tuple[float, float] | None = None
    why_not: tuple[str, ...] = ()
    """Codes of the caveats for which it cannot be judged."""


class RuleResult(msgspec.Struct, frozen=True):
    """What a rule says of one cell."""

    rule: Rule
    cell: GatedCell
    outcome: Outcome


def gated_cells(comparison: Comparison) -> list[GatedCell]:
    """The cells of a comparison."""
    return [
        msgspec.structs.replace(
            msgspec.convert(cell, GatedCell, from_attributes=True), why_not=_why_not(cell, comparison)
        )
        for cell in comparison.cells
    ]


def _why_not(cell: CellVerdict, comparison: Comparison) -> tuple[str, ...]:
    """Codes of what forbids a conclusion about a cell: the vetoes, and the lack of an interval."""
    codes = [caveat.code for caveat in comparison.vetoes]
    if cell.ci90 is None:
        codes += [caveat.code for caveat in cell.caveats] or ["no-interval"]
    return tuple(dict.fromkeys(codes))


def parse_rule(text: str) -> Rule:
    """The rule that a text says. Raises ValueError."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no rule")
    share = float(found[4] or found[6] or 0) / 100
    word = found["word"] or found["undecided"] or "not shown"
    return Rule(text.strip(), found["cells"] or "*", found["metric"] or "", word, share)


def results_of(rule: Rule, cells: Sequence[GatedCell]) -> list[RuleResult]:
    """What a rule says of each cell that it is about, in their order. Raises ValueError if it is about none of them."""
    about = [
        cell
        for cell in cells
        if fnmatchcase(cell.cell, rule.cells) and (not rule.metric or cell.metric in _METRICS[rule.metric])
    ]
    if not about:
        named = ", ".join(dict.fromkeys(cell.cell for cell in cells))
        raise ValueError(
            f"{rule.text!r} is about no cell that was compared; compared were: {named or 'there is none'}"
        )
    return [RuleResult(rule, cell, _outcome(rule, cell)) for cell in about]


def _outcome(rule: Rule, cell: GatedCell) -> Outcome:
    if rule.word == "undecided":
        return "broken" if cell.why_not or cell.verdict == "undecided" else "kept"
    if cell.why_not:
        return "cannot be judged"
    return "broken" if _breaks(rule, cell) else "kept"


def _breaks(rule: Rule, cell: GatedCell) -> bool:
    if rule.word == "not shown":
        return not _shown_within(cell, rule.share)
    wanted = ("slower", "faster") if rule.word == "different" else (rule.word,)
    if cell.verdict not in wanted:
        return False
    return not rule.share or (cell.ratio is not None and abs(math.log(cell.ratio)) > math.log1p(rule.share))


def _shown_within(cell: GatedCell, share: float) -> bool:
    """Whether the cell is shown to be worse by no more than a share, at 5 % one-sided.

    No correction for the number of cells is due: all of them must be shown (intersection-union).
    """
    if cell.ci90 is None:
        return False
    low, high = cell.ci90
    return low >= 1 / (1 + share) if cell.higher_is_better else high <= 1 + share
