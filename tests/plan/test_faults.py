"""All faults of a study are reported together, and nothing that only follows from one of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from mileage.errors import Refusal
from mileage.plan import parse_study
from mileage.plan.faults import FAULTS_MAX, BrokenStudy, Faults
from tests.plan.conftest import SMALL
from tests.plan.test_study_checks import CASES as SENSELESS
from tests.plan.test_study_reader import CASES as UNREADABLE

UNUSED = "no stage uses it"


def faults_of(text: str) -> set[str]:
    """The faults of a study in words, one that is good has none; without unused tables, which follow from others."""
    try:
        parse_study(text, "s")
    except BrokenStudy as broken:
        return {fault.words for fault in broken.refusals if UNUSED not in fault.sentence}
    return set()


def changes() -> Iterable[tuple[str, str]]:
    """Changes that break the small study in a way that leaves it TOML, without new names of tables and stages."""
    for found, changed, line, *_ in (*SENSELESS, *UNREADABLE):
        renames = "\\u001b" in changed or 'name = "before"' in changed
        if found in SMALL and "not TOML" not in str(line) and not renames:
            yield found, changed


def combined(first: tuple[str, str], second: tuple[str, str]) -> str | None:
    """The small study with both changes; None where one touches what the other does."""
    if first[0] in second[0] or second[0] in first[0]:
        return None
    once = SMALL.replace(*first, 1)
    twice = once.replace(*second, 1)
    apart = second[0] in once and twice.replace(second[1], second[0], 1) == once
    return twice if apart else None


def follows(first: str, second: str) -> bool:
    """Whether one fault is only found in a value that the other makes unreadable: it is reported by the next check."""
    words = first + second
    compares = 'candidate = "before"' in words and any(
        name in words for name in ("throughput =", "iops =", "p999 =")
    )
    renames = 'name = "a/b"' in words and 'baseline = "torture"' in words
    return compares or renames or ("sham = 1" in words and 'prepare = ["fill", "churn"]' in words)


PAIRS = [
    pytest.param(*pair, id=f"{pair[0][1][:30]}+{pair[1][1][:30]}")
    for pair in itertools.combinations(dict.fromkeys(changes()), 2)
    if combined(*pair) is not None and not follows(pair[0][1], pair[1][1])
]


@pytest.mark.sampled(60)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_faults_are_reported_as_each_is_alone(first: tuple[str, str], second: tuple[str, str]) -> None:
    text = combined(first, second)
    assert text is not None
    alone = faults_of(SMALL.replace(*first, 1)) | faults_of(SMALL.replace(*second, 1))
    assert faults_of(text) == alone


def test_what_follows_from_a_value_that_cannot_be_read_is_not_reported() -> None:
    text = SMALL.replace('prepare = ["fill"]', 'prepare = "fill"').replace(
        'workload = "iops.random_write"', ""
    )
    assert faults_of(text) == {
        'stage[0].prepare: found "fill", expected a list',
        "torture.churn.workload: missing; it must be given",
    }


def test_every_member_of_a_list_is_looked_at() -> None:
    text = SMALL.replace('record = ["128KiB", "1MiB"]', 'record = [1.5, "1MiB", 2.5, 0]')
    assert [words.partition(":")[0] for words in sorted(faults_of(text))] == [
        "measure.throughput.record[0]",
        "measure.throughput.record[2]",
        "measure.throughput.record[3]",
    ]


def test_every_level_of_every_factor_is_looked_at() -> None:
    text = SMALL.replace("threads = 4\nstop", "stop")
    text += '[factor.depth]\nlevels = [1, 0, 9999]\n[factor.threads]\nlevels = ["x", 0, 4]\n'
    found = sorted(faults_of(text))
    assert [words.partition(": ")[2].partition(":")[0] for words in found] == [
        *("level '0'", "level '9999'", "level '0'", "level 'x'"),
    ]


def test_the_search_ends_after_a_hundred_faults() -> None:
    faults = Faults("s")
    for number in range(FAULTS_MAX - 1):
        faults.add(f"measure.x{number}", "bad", code="wrong-value")
    with pytest.raises(BrokenStudy) as broken:
        faults.add("measure.one", "more", code="wrong-value")
    assert len(broken.value.refusals) == FAULTS_MAX
    assert str(broken.value).startswith("s: the first 100 faults\n")


def test_a_fault_is_one_line_whatever_it_quotes() -> None:
    faults = Faults("s")
    faults.add("target", "found a\nb\x1b[31m", code="wrong-value")
    assert str(BrokenStudy("s", faults.found)) == "s: target: found a\\nb\\x1b[31m"
    assert Refusal(text="x", line=3).words == "line 3: x"
