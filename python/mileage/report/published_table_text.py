"""A published table judged again, for a terminal: the answer, what it rests on, and where the print contradicts itself.

Plain lines of at most the width asked for, no escape codes.
"""

import textwrap
from collections.abc import Sequence
from typing import Final

from mileage.judge import VERDICTS
from mileage.judge.published_differences import PublishedCell, Reanalysis

_LABEL: Final = 44
_NUMBER: Final = 16


def published_text(found: Reanalysis, width: int = 80) -> str:
    """The judged table as text of at most `width` columns (60 or more)."""
    parts = [
        textwrap.wrap(sentence_of(found), width),
        _counts(found, width),
        _highlights(found),
        _disagreements(found, width),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def sentence_of(found: Reanalysis) -> str:
    """Result of the table in one sentence, and a second one on the rule of the error bar."""
    both, alone = found.assumptions
    total, margin = len(found.cells), found.margin_percent
    own = sum(rule == "different" for rule in found.own_rule)
    return (
        f"Of {total} cells, {both.below('bh', found.alpha)} differ after correction for their number "
        f"({alone.below('bh', found.alpha)} if only the printed spread is known); "
        f"{both.equivalent} ({alone.equivalent}) are shown to be the same within {margin:g} %, "
        f"{both.count('real but irrelevant')} of them although the difference is real; "
        f"{both.count('undecided')} are undecided. An error bar of one standard deviation calls {own} different."
    )


def counts_rows(found: Reanalysis) -> list[tuple[str, int, int]]:
    """Counts of verdicts under each assumption on the other arm: an equal spread, or an unknown one."""
    both, alone = found.assumptions
    alpha = found.alpha
    return [
        ("degrees of freedom", both.df, alone.df),
        (f"p of at most {alpha:g}, uncorrected", both.below("raw", alpha), alone.below("raw", alpha)),
        ("  after Benjamini-Hochberg", both.below("bh", alpha), alone.below("bh", alpha)),
        ("  after Holm", both.below("holm", alpha), alone.below("holm", alpha)),
        (f"shown within {found.margin_percent:g} %", both.equivalent, alone.equivalent),
        *((f"  {verdict}", both.count(verdict), alone.count(verdict)) for verdict in VERDICTS),
    ]


def _counts(found: Reanalysis, width: int) -> list[str]:
    head = ("assumed of the other arm", "same spread", "nothing")
    own = {rule: found.own_rule.count(rule) for rule in ("different", "nothing can be said", "tie")}
    lines = [f"{head[0]:<{_LABEL}}{head[1]:>{_NUMBER}}{head[2]:>{_NUMBER}}"]
    lines += [f"{label:<{_LABEL}}{a:>{_NUMBER}}{b:>{_NUMBER}}" for label, a, b in counts_rows(found)]
    words = ", ".join(f"{count} {rule}" for rule, count in own.items() if count)
    notes = (
        f"An error bar of one standard deviation: {words}.",
        f"{found.runs} runs per cell and arm; differences in percent of the baseline's mean; standard error = "
        f"printed deviation x sqrt(2/{found.runs}); verdicts rest on Benjamini-Hochberg.",
    )
    return lines + [line for note in notes for line in textwrap.wrap(note, width)]


def _highlights(found: Reanalysis) -> list[str]:
    if not found.highlights:
        return []
    lines = [
        "Largest differences per test: at most three each way, of those that survive",
        "Benjamini-Hochberg over the whole table, largest first.",
    ]
    for test in dict.fromkeys(highlight.test for highlight in found.highlights):
        lines.append(test)
        lines += [
            f"  {highlight.case:<8}{_named(highlight.cell):<32}{_pair(highlight.cell)}"
            for highlight in found.highlights
            if highlight.test == test
        ]
    return lines


def _disagreements(found: Reanalysis, width: int) -> list[str]:
    if not found.disagreements:
        return []
    lines = [f"{len(found.disagreements)} cells are printed differently in the second table:"]
    for entry in found.disagreements:
        words = (
            f"{entry.cell.keys[0]} {_named(entry.cell)}: {_pair(entry.cell)} here, {_pair(entry.other)} there"
        )
        if entry.elsewhere:
            words += f"; that pair belongs to {_list(entry.elsewhere)}"
        lines += textwrap.wrap(words, width, initial_indent="  ", subsequent_indent="    ")
    return lines


def _named(cell: PublishedCell) -> str:
    return " ".join(cell.keys[1:])


def _list(cells: Sequence[PublishedCell]) -> str:
    return ", ".join(_named(cell) for cell in cells)


def _pair(cell: PublishedCell) -> str:
    return f"{cell.difference_percent:+.2f} ± {cell.sd_percent:.2f} %"
