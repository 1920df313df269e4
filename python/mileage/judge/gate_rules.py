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
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from mileage.judge.comparison import CellVerdict, Comparison
from mileage.model.metrics import METRICS

Outcome = Literal["broken", "kept", "cannot be judged"]

GATE_METRICS: Final[dict[str, tuple[str, ...]]] = {
    "rate": ("rate_bytes_per_s", "ops_per_s"),
    **{word: (row.figure,) for word, row in METRICS.items() if not row.higher_is_better},
}
"""The metrics that a rule can have, with the figures that they are."""
_NUMBER: Final = r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%"
_RULE: Final = re.compile(
    rf"\s*(?:(?P<cells>\S.*?)\s*:\s+)?(?:(?P<metric>{'|'.join(GATE_METRICS)})\s+)?"
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


class RuleResult(msgspec.Struct, frozen=True):
    """What a rule says of one cell."""

    rule: Rule
    cell: CellVerdict
    outcome: Outcome
    why_not: tuple[str, ...]
    """Codes of the caveats for which the cell cannot be judged: the vetoes, and what its interval lacks."""


def parse_rule(text: str) -> Rule:
    """The rule that a text says. Raises ValueError."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no rule")
    share = float(found[4] or found[6] or 0) / 100
    word = found["word"] or found["undecided"] or "not shown"
    return Rule(text.strip(), found["cells"] or "*", found["metric"] or "", word, share)


def results_of(rule: Rule, comparison: Comparison) -> list[RuleResult]:
    """What a rule says of each cell that it is about, in their order. Raises ValueError if it is about none of them."""
    about = [
        cell
        for cell in comparison.cells
        if fnmatchcase(cell.cell, rule.cells)
        and (not rule.metric or cell.metric in GATE_METRICS[rule.metric])
    ]
    if not about:
        named = ", ".join(dict.fromkeys(cell.cell for cell in comparison.cells))
        raise ValueError(
            f"{rule.text!r} is about no cell that was compared; compared were: {named or 'there is none'}"
        )
    vetoes = [caveat.code for caveat in comparison.vetoes]
    found = []
    for cell in about:
        lacking = [] if cell.ci90 else [caveat.code for caveat in cell.caveats] or ["no-interval"]
        why_not = tuple(dict.fromkeys([*vetoes, *lacking]))
        found.append(RuleResult(rule, cell, _outcome(rule, cell, is_judged=not why_not), why_not))
    return found


def _outcome(rule: Rule, cell: CellVerdict, *, is_judged: bool) -> Outcome:
    if rule.word == "undecided":
        return "kept" if is_judged and cell.verdict != "undecided" else "broken"
    if not is_judged:
        return "cannot be judged"
    return "broken" if _breaks(rule, cell) else "kept"


def _breaks(rule: Rule, cell: CellVerdict) -> bool:
    if rule.word == "not shown":
        return not _shown_within(cell, rule.share)
    wanted = ("slower", "faster") if rule.word == "different" else (rule.word,)
    if cell.verdict not in wanted:
        return False
    return not rule.share or (cell.ratio is not None and abs(math.log(cell.ratio)) > math.log1p(rule.share))


def _shown_within(cell: CellVerdict, share: float) -> bool:
    """Whether the cell is shown to be worse by no more than a share, at 5 % one-sided.

    No correction for the number of cells is due: all of them must be shown (intersection-union).
    """
    if cell.ci90 is None:
        return False
    low, high = cell.ci90
    return low >= 1 / (1 + share) if cell.higher_is_better else high <= 1 + share
