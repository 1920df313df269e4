"""A comparison as GitHub's workflow commands, Markdown and JUnit's XML: read back, with names that hold their signs."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import msgspec
import pytest

from mileage.judge import Comparison, compare_arms
from mileage.judge.gate_rules import RuleResult, parse_rule, results_of
from mileage.judge.samples import Sample
from mileage.model.caveat import veto
from mileage.report.gate_output import compared_text, github, junit, markdown

NAMES = {"read | *all*, 100 %: <b>": 1.0, "write": 0.5, "mixed": 0.97}
"""By cell, the candidate's rate over the baseline's."""


def sample(cell: str, value: float, repetition: int, arm: str) -> Sample:
    return Sample(
        cell=cell,
        measure="iops",
        metric="ops_per_s",
        higher_is_better=True,
        stage=arm,
        arm="torture",
        cycle=repetition,
        block=0,
        run=repetition,
        value=value,
    )


@pytest.fixture(scope="module")
def compared() -> Comparison:
    arms: list[list[Sample]] = [[], []]
    for cell, ratio in NAMES.items():
        for at in range(10):
            noise = 1 + 0.002 * ((at * 7) % 5 - 2)
            arms[0].append(sample(cell, 1000 * noise, at, "a"))
            arms[1].append(sample(cell, 1000 * ratio * noise, at, "b"))
    arms[0].append(sample("gone: away", 1000, 0, "a"))
    return compare_arms(*arms, relevance={"iops": 0.05}, paired=False, labels=("before", "after"))


def results(compared: Comparison, *rules: str) -> list[RuleResult]:
    return [found for rule in map(parse_rule, rules) for found in results_of(rule, compared)]


def cells_of(found: list[RuleResult], outcome: str) -> list[str]:
    return sorted(result.cell.cell for result in found if result.outcome == outcome)


@pytest.mark.parametrize(
    ("rule", "cells"),
    [
        ("slower", ["write"]),
        ("faster", []),
        ("different", ["write"]),
        ("rate slower", ["write"]),
        ("mix*: slower", []),
        ("w*: slower > 5%", ["write"]),
        ("slower > 99%", ["write"]),
        ("slower > 101%", []),
        ("not shown within 5%", ["write"]),
        ("not shown within 110%", []),
        ("undecided", ["gone: away"]),
    ],
)
def test_a_rule_is_broken_by_the_cells_that_it_says(
    compared: Comparison, rule: str, cells: list[str]
) -> None:
    found = results(compared, rule)
    assert cells_of(found, "broken") == sorted(cells)
    about_gone = [one for one in found if one.cell.cell == "gone: away"]
    outcome = "broken" if rule == "undecided" else "cannot be judged"
    assert all(one.outcome == outcome and one.why_not == ("no-run",) for one in about_gone)


@pytest.mark.parametrize("rule", ["slower", "faster", "different", "not shown within 5%"])
def test_a_veto_leaves_every_rule_without_a_judgement(compared: Comparison, rule: str) -> None:
    vetoed = msgspec.structs.replace(compared, caveats=(veto("interrupted"),))
    assert {result.outcome for result in results(vetoed, rule)} == {"cannot be judged"}
    assert "::error" not in github(vetoed, results(vetoed, rule), ())
    assert "::warning title=write::" in github(vetoed, results(vetoed, rule), ())


@pytest.mark.parametrize("rule", ["p99 slower", "nothing*: slower", "time faster"])
def test_a_rule_about_no_cell_is_refused(compared: Comparison, rule: str) -> None:
    with pytest.raises(ValueError, match=r"is about no cell that was compared; compared were: .*write"):
        results(compared, rule)


@pytest.mark.parametrize("rule", ["", "slow", "slower > many", "p98 slower", "slower > 5", "undecided > 5%"])
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="is no rule"):
        parse_rule(rule)


def test_the_text_lists_what_only_one_side_has(compared: Comparison) -> None:
    text = compared_text(compared)
    assert "gone: away" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_github_s_commands_are_one_line_each_and_escaped(compared: Comparison) -> None:
    lines = github(compared, results(compared, "slower"), compared.only_baseline).splitlines()
    assert [line for line in lines if line.startswith("::error title=write::breaks the rule")]
    assert [line for line in lines if line.startswith("::error title=gone%3A away::measured in before only")]
    assert all(re.match(r"::(error|warning|notice)( title=[^:,]*)?::", line) for line in lines)
    assert not any(re.search(r"%(?!25|0A|0D|3A|2C)", line) for line in lines)


def test_markdown_has_a_row_for_each_cell_and_as_many_columns(compared: Comparison) -> None:
    text = markdown(compared, results(compared, "slower", "not shown within 5%"), compared.only_baseline)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(compared.cells) + 1
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert r"read \| \*all\*, 100 %: \<b\>" in text
    (row,) = (row for row in rows if row.startswith("| write"))
    assert row.count("breaks the rule") == 2


def test_junit_counts_what_it_lists(compared: Comparison) -> None:
    suite = ElementTree.fromstring(junit(compared, results(compared, "slower"), ("other",)))
    cases = suite.findall("testcase")
    assert (int(suite.attrib["tests"]), int(suite.attrib["failures"])) == (len(cases), 2)
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
    assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error")) == 1
    assert {case.attrib["name"] for case in cases if case.find("failure") is not None} == {"write", "other"}
    assert {case.attrib["name"] for case in cases} == {*NAMES, "gone: away", "other"}
