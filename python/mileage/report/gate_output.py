"""A comparison for the page of a pipeline: workflow commands of GitHub Actions, Markdown, and JUnit's XML.

Scope: each cell that was judged, the rules that it broke, and the cells that only one side has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree

from mileage.judge import CellVerdict, Comparison
from mileage.judge.gate_rules import GatedCell, Rule
from mileage.judge.sentence import unmatched, verdict_sentence
from mileage.report.text import comparison_table
from mileage.report.wording import interval, percent, row_name, verdict_words
from mileage.terminal import harmless, wrapped

Broken = Sequence[tuple[Rule, GatedCell]]


def compared_text(comparison: Comparison, width: int = 80) -> str:
    """The sentence, what only one side measured, and the table, for a terminal of `width` columns."""
    blocks = [verdict_sentence(comparison), *unmatched(comparison)]
    lines = [line for text in blocks for line in [*wrapped(harmless(text), width), ""]]
    return "\n".join([*lines, comparison_table(comparison, width=width)])


def github(comparison: Comparison, broken: Broken, missing: Sequence[str]) -> str:
    """An error for each cell that broke a rule or is missing, and a notice with the sentence."""
    errors = [
        f"::error title={_of_title(cell.name)}::{_of_text(_broken_words(rule))}" for rule, cell in broken
    ]
    errors += [f"::error title={_of_title(cell)}::{_of_text(_missing_words(comparison))}" for cell in missing]
    notices = [verdict_sentence(comparison), *unmatched(comparison)]
    return "".join(f"{line}\n" for line in [*errors, *(f"::notice::{_of_text(text)}" for text in notices)])


def markdown(comparison: Comparison, broken: Broken, missing: Sequence[str]) -> str:
    """A table with a row for each cell, below the sentence."""
    rules = _rules_of(broken)
    rows = [
        f"| {_of_cell(row_name(cell))} | {percent(cell.ratio)} | {interval(cell.ci95, cell.ratio)} | "
        f"{verdict_words(cell)} | {_of_cell('; '.join(rules.get((cell.cell, cell.metric), ())))} |"
        for cell in comparison.cells
    ]
    rows += [f"| {_of_cell(cell)} | | | | {_of_cell(_missing_words(comparison))} |" for cell in missing]
    head = ["| test | change | 95 % interval | verdict | broken rule |", "|---|---:|---:|---|---|"]
    sentences = [verdict_sentence(comparison), *unmatched(comparison)]
    return "\n".join([*(f"{_of_cell(text)}\n" for text in sentences), *head, *rows, ""])


def junit(comparison: Comparison, broken: Broken, missing: Sequence[str]) -> str:
    """A test case for each cell; one that broke a rule or is missing failed, one that is undecided was skipped."""
    rules = _rules_of(broken)
    failures = len(rules) + len(missing)
    skipped = [cell for cell in comparison.cells if cell.verdict == "undecided" and _key(cell) not in rules]
    suite = ElementTree.Element(
        "testsuite",
        name=f"{comparison.candidate} against {comparison.baseline}",
        tests=str(len(comparison.cells) + len(missing)),
        failures=str(failures),
        skipped=str(len(skipped)),
    )
    for cell in comparison.cells:
        case = ElementTree.SubElement(suite, "testcase", classname="mileage", name=row_name(cell))
        statement = f"{percent(cell.ratio)}, 95 % interval {interval(cell.ci95, cell.ratio)}: {cell.verdict}"
        if found := rules.get(_key(cell)):
            ElementTree.SubElement(case, "failure", message="; ".join(found)).text = statement
        elif cell in skipped:
            ElementTree.SubElement(case, "skipped", message=statement)
        else:
            ElementTree.SubElement(case, "system-out").text = statement
    for name in missing:
        case = ElementTree.SubElement(suite, "testcase", classname="mileage", name=name)
        ElementTree.SubElement(case, "failure", message=_missing_words(comparison))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


FORMATS: Final[Mapping[str, Callable[[Comparison, Broken, Sequence[str]], str]]] = {
    "github": github,
    "markdown": markdown,
    "junit": junit,
}


def _key(cell: CellVerdict) -> tuple[str, str]:
    return cell.cell, cell.metric


def _rules_of(broken: Broken) -> dict[tuple[str, str], list[str]]:
    """Rules that each cell and metric broke."""
    found: dict[tuple[str, str], list[str]] = {}
    for rule, cell in broken:
        found.setdefault((cell.cell, cell.metric), []).append(_broken_words(rule))
    return found


def _broken_words(rule: Rule) -> str:
    return f'breaks the rule "{rule.text}"'


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
