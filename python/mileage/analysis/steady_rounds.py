"""Rounds of writing that SNIA's rule ended or was asked to end, with the window that the rule looked at last.

Scope: each round by its rate, as the rule does while the study runs. A table without five rounds has no window.
"""

from __future__ import annotations

from mileage.analysis.evidence import picked
from mileage.judge.steady_state import PTS_WINDOW, pts_line, pts_window
from mileage.plan import Plan
from mileage.report.evidence import SteadyRounds
from mileage.store.headline_figure import headline_of
from mileage.store.journal import JournalContent


def steady_rounds(plan: Plan, content: JournalContent) -> list[SteadyRounds]:
    """The rounds of each cycle and table with `until = "pts-steady"`, in order."""
    asked = {name for name, table in plan.study.torture.items() if table.until == "pts-steady"}
    found: dict[tuple[int, str, int], list[float]] = {}
    for role in ("prepare", "torture") if asked else ():
        for entry in picked(content, role, asked):
            key = (entry.cycle, entry.cell, plan.runs[entry.run].setting)
            found.setdefault(key, []).extend(headline_of(entry).values())
    several = len({cycle for cycle, _, _ in found}) > 1
    return [
        _with_window(f"{table}, cycle {cycle}" if several else table, rates)
        for (cycle, table, _), rates in found.items()
        if len(rates) >= PTS_WINDOW
    ]


def _with_window(name: str, rates: list[float]) -> SteadyRounds:
    window = pts_window(rates, len(rates) - 1)
    return SteadyRounds(
        name=name,
        rates_bytes_per_s=rates,
        first=window.first,
        mean=window.mean,
        range=window.range,
        line=pts_line(rates[window.first :]),
        steady=window.steady,
    )
