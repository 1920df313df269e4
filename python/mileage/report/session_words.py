"""The sessions of a comparison in words, the level of a history, and how many sessions a loss needs."""

from __future__ import annotations

from typing import Final

from mileage.judge.comparison import Comparison
from mileage.judge.session_size import LOSSES, RUNS, needed

_NUMBERS: Final = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def number_word(count: int) -> str:
    """A count up to twelve as a word, else in digits."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def plural(noun: str, count: int) -> str:
    """The noun for a count: "run", "runs"."""
    return noun if count == 1 else f"{noun}s"


def session_units(comparison: Comparison) -> str:
    """The sessions of each side and their runs: "six sessions of five runs against one session of five runs"."""
    family = comparison.headline or comparison.cells
    words = []
    for sessions, runs in (
        (comparison.sessions[1], max((cell.n_candidate for cell in family), default=0)),
        (comparison.sessions[0], max((cell.n_baseline for cell in family), default=0)),
    ):
        counted = f"{number_word(sessions)} {plural('session', sessions)}"
        each, rest = divmod(runs, sessions) if sessions else (runs, 0)
        if not sessions:
            words.append(f"{number_word(runs)} simulated {plural('run', runs)}")
        elif rest:
            words.append(f"{counted} with {runs} runs in all")
        else:
            words.append(f"{counted} of {number_word(each)} {plural('run', each)}")
    return " against ".join(words)


def history_lines(comparison: Comparison) -> list[str]:
    """The sessions that hold the level of a history, and how many a loss needs; empty without a history."""
    level = comparison.history
    if level is None or not level.levels:
        return []
    counts = sorted({one.end - one.first for one in level.levels})
    held = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}, by test,"
    whole = counts == [len(level.sessions)]
    baseline = f"all {counts[0]} sessions" if whole else f"{held} of {len(level.sessions)} sessions"
    between, within = (
        max((getattr(one, name) or 0.0) for one in level.levels) for name in ("between", "within")
    )
    tests = len(comparison.headline or comparison.cells)
    rate = 'The chance of a wrong "slower" is at most 5 %'
    among = f", among all {tests} tests together (one-sided, Holm)" if tests > 1 else " (one-sided)"
    lines = [
        f"The baseline is {baseline}. {rate}{among}.",
        "Sessions of a history that find a loss in a later one four times in five (by the test that varies most: "
        f"{between:.1%} between sessions, {within:.1%} between runs):",
    ]
    return [*lines, *_needed_table(between, within, tests)]


def _needed_table(between: float, within: float, tests: int) -> list[str]:
    """Rows of the losses, columns of the runs in a session."""
    found = {(one.loss, one.runs): one.sessions for one in needed(between, within, tests=tests)}
    lines = ["  loss  " + "".join(f"{f'{runs} runs' if runs > 1 else '1 run':>9}" for runs in RUNS)]
    for loss in LOSSES:
        counts = (found[loss, runs] for runs in RUNS)
        lines.append(f"  {loss:>4.0%}  " + "".join(f"{'> 100' if one is None else one:>9}" for one in counts))
    return lines
