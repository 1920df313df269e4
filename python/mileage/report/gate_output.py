"""A comparison for the page of a pipeline: workflow commands of GitHub Actions, Markdown, and JUnit's XML.

Scope: each cell that was judged, what the rules of a gate say of it, and the cells that only one side has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree

from mileage.judge import CellVerdict, Comparison
from mileage.judge.gate_rules import GATE_METRICS, RuleResult
from mileage.report.caveat_words import caveat_words, some
from mileage.report.sentence import statements
from mileage.report.session_words import history_lines
from mileage.report.text import comparison_table
from mileage.report.view import shown_cells
from mileage.report.wording import change_and_interval, interval, percent, row_name, verdict_words
from mileage.terminal import harmless, wrapped

Results = Sequence[RuleResult]
EXPECTED: Final = (
    'expected "slower", "faster", "different", "undecided", "slower > 5%" or "not shown within 5%", after a metric '
    f'({", ".join(GATE_METRICS)}) and a pattern of cells if wanted, as in "iops.*: p99 slower > 10%"'
)
_NAMED_MAX: Final = 3
"""Tests that a line of the gate names."""


def compared_text(comparison: Comparison, results: Results = (), width: int = 80) -> str:
    """The sentence, the notes, the table and what the rules say, for a terminal of `width` columns."""
    lines = [line for text in statements(comparison) for line in [*wrapped(harmless(text), width), ""]]
    about = [*history_lines(comparison), *gate_lines(comparison, results)]
    gate = [
        line for text in about for line in (wrapped(harmless(text), width) if len(text) > width else [text])
    ]
    return "\n".join([*lines, comparison_table(comparison, width=width), *([""] if gate else []), *gate])


def gate_lines(comparison: Comparison, results: Results) -> list[str]:
    """A line for each rule: broken, kept or not to be judged, in which tests, with change and interval."""
    lines = []
    for rule in dict.fromkeys(result.rule for result in results):
        own = [result for result in results if result.rule == rule]
        broken = [result.cell for result in own if result.outcome == "broken"]
        unjudged: dict[str, list[str]] = {}
        for result in own:
            if result.outcome == "cannot be judged":
                unjudged.setdefault(_why_not(result, comparison), []).append(row_name(result.cell))
        parts = []
        if broken:
            named = "; ".join(_changed(cell) for cell in broken[:_NAMED_MAX])
            more = f"; and {len(broken) - _NAMED_MAX} more" if len(broken) > _NAMED_MAX else ""
            parts.append(f"broken in {len(broken)} of {len(own)} tests ({named}{more})")
        for why, names in unjudged.items():
            tests = some(names, _NAMED_MAX)
            parts.append(f"cannot be judged in {len(names)} of {len(own)} tests ({tests}), because {why}")
        kept = f"kept in {'the one test' if len(own) == 1 else f'all {len(own)} tests'}"
        lines.append(f'Rule "{rule.text}": {", ".join(parts) or kept}.')
    return lines


def _changed(cell: CellVerdict) -> str:
    """A test with its change and interval."""
    return f"{row_name(cell)} {change_and_interval(cell.ratio, cell.ci95)}" if cell.ratio else row_name(cell)


def _why_not(result: RuleResult, comparison: Comparison) -> str:
    """Why a cell cannot be judged: the first reason, in words."""
    found = [*comparison.vetoes, *result.cell.caveats]
    return next((caveat_words(c, comparison) for c in found if c.code == result.why_not[0]), "no interval")


def github(comparison: Comparison, results: Results, missing: Sequence[str]) -> str:
    """An error for each cell that broke a rule or is missing, a warning for one that cannot be judged, and a notice."""
    lines = []
    for result in results:
        title = _of_title(row_name(result.cell))
        words = _of_text(_outcome_words(result, comparison))
        if result.outcome != "kept":
            lines.append(f"::{'error' if result.outcome == 'broken' else 'warning'} title={title}::{words}")
    lines += [f"::error title={_of_title(cell)}::{_of_text(_missing_words(comparison))}" for cell in missing]
    lines += [f"::notice::{_of_text(text)}" for text in statements(comparison)]
    return "".join(f"{line}\n" for line in lines)


def markdown(comparison: Comparison, results: Results, missing: Sequence[str]) -> str:
    """A table with a row for each cell, and for each that one side lacks, below the sentence."""
    rules = _rules_of(results, comparison)
    rows = [
        f"| {_of_cell(row_name(cell))} | {percent(cell.ratio)} | {interval(cell.ci95, cell.ratio)} | "
        f"{verdict_words(cell)} | {_of_cell('; '.join(rules.get(_key(cell), ())))} |"
        for cell in shown_cells(comparison)
    ]
    sides = (
        (comparison.only_baseline, comparison.baseline),
        (comparison.only_candidate, comparison.candidate),
    )
    for cells, name in sides:
        for cell in cells:
            rule = "missing" if cell in missing else ""
            rows.append(f"| {_of_cell(cell)} | | | {_of_cell(f'measured in {name} only')} | {rule} |")
    head = ["| test | change | 95 % interval | verdict | rule |", "|---|---:|---:|---|---|"]
    return "\n".join([*(f"{_of_cell(text)}\n" for text in statements(comparison)), *head, *rows, ""])


def junit(comparison: Comparison, results: Results, missing: Sequence[str]) -> str:
    """A test case for each cell: failed if it broke a rule or is missing, an error if it cannot be judged.

    One that is undecided or not conclusive, and that no rule is about, was skipped.
    """
    rules = _rules_of(results, comparison)
    kinds = {
        _key(result.cell): kind
        for outcome, kind in (("cannot be judged", "error"), ("broken", "failure"))
        for result in results
        if result.outcome == outcome
    }
    counts = Counter(kinds.values())
    unknown = ("undecided", "not conclusive")
    cells = shown_cells(comparison)
    skipped = [cell for cell in cells if cell.verdict in unknown and _key(cell) not in rules]
    suite = ElementTree.Element(
        "testsuite",
        name=f"{comparison.candidate} against {comparison.baseline}",
        tests=str(len(cells) + len(missing)),
        failures=str(counts["failure"] + len(missing)),
        errors=str(counts["error"]),
        skipped=str(len(skipped)),
    )
    for cell in cells:
        case = ElementTree.SubElement(suite, "testcase", classname="mileage", name=row_name(cell))
        statement = f"{change_and_interval(cell.ratio, cell.ci95)}: {cell.verdict}"
        if kind := kinds.get(_key(cell)):
            message = "; ".join(rules[_key(cell)])
            ElementTree.SubElement(case, kind, message=message).text = statement
        elif cell in skipped:
            ElementTree.SubElement(case, "skipped", message=statement)
        else:
            ElementTree.SubElement(case, "system-out").text = statement
    for name in missing:
        case = ElementTree.SubElement(suite, "testcase", classname="mileage", name=name)
        ElementTree.SubElement(case, "failure", message=_missing_words(comparison))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


FORMATS: Final[Mapping[str, Callable[[Comparison, Results, Sequence[str]], str]]] = {
    "github": github,
    "markdown": markdown,
    "junit": junit,
}


def _key(cell: CellVerdict) -> tuple[str, str]:
    return cell.cell, cell.metric


def _rules_of(results: Results, comparison: Comparison) -> dict[tuple[str, str], list[str]]:
    """For each cell and metric, in words, the rules that it broke and those that cannot be judged."""
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.outcome != "kept":
            found.setdefault(_key(result.cell), []).append(_outcome_words(result, comparison))
    return found


def _outcome_words(result: RuleResult, comparison: Comparison) -> str:
    cell = result.cell
    if result.outcome == "cannot be judged":
        return f'the rule "{result.rule.text}" cannot be judged: {_why_not(result, comparison)}'
    figures = "" if cell.ratio is None else f": {change_and_interval(cell.ratio, cell.ci95)}"
    return f'breaks the rule "{result.rule.text}"{figures}'


def _missing_words(comparison: Comparison) -> str:
    return f"measured in {comparison.baseline} only: {comparison.candidate} has no such test"


def _of_text(text: str) -> str:
    """Escape a text for a workflow command of GitHub Actions."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _of_title(text: str) -> str:
    return _of_text(text).replace(":", "%3A").replace(",", "%2C")


def _of_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table: markup in a name has no effect."""
    for letter in "\\|`*_<>[]":
        text = text.replace(letter, f"\\{letter}")
    return " ".join(text.split())
