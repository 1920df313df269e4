"""Files of purposes: what is wrong is reported by name and line, all at once."""

from __future__ import annotations

import pytest

from mileage.plan.faults import BrokenStudy
from mileage.plan.purpose import Purpose, parse_purpose

GOOD = """
[purpose]
title = "a log"
metric = "sync_p99"
at_most = "10 ms"
source = { title = "our own" }
[state]
file = "1MiB"
[measure.log]
workload = "pattern.sequential_write"
record = 2300
sync = "fdatasync"
sync_every = 1
stop = { operations = 1000 }
"""


def parsed(text: str) -> Purpose:
    return parse_purpose(text, "own.toml", "own")


def faults(text: str) -> list[tuple[str, str, int | None]]:
    """Place, code and line of what is wrong with a purpose file."""
    with pytest.raises(BrokenStudy) as caught:
        parsed(text)
    return [(one.where, one.code, one.line) for one in caught.value.located(text, "own.toml").refusals]


def test_a_purpose_is_the_load_of_a_study_and_a_limit() -> None:
    found = parsed(GOOD)
    assert (found.limit, found.metric.word, found.commits_needed, found.is_durable) == (
        10e6,
        "sync_p99",
        1000,
        True,
    )
    assert [stage.name for stage in found.study.stage] == ["check"]
    assert found.study.measure["log"].metric == ("sync_p99",)
    filled = parsed(
        GOOD + '[torture.fill]\nworkload = "pattern.sequential_write"\nrecord = "1MiB"\namount = "1MiB"\n'
    )
    assert [stage.name for stage in filled.study.stage] == ["prepare", "check"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("at_most", "at_mots", ("purpose.at_mots", "unknown-key", 5)),
        ("sync_p99", "sync_p95", ("purpose.metric", "unknown-name", 4)),
        ('at_most = "10 ms"', 'at_least = "10 ms"', ("purpose.at_least", "conflict", 5)),
        ('"10 ms"', '"10"', ("purpose.at_most", "wrong-value", 5)),
        ('"10 ms"', '"0 ms"', ("purpose.at_most", "wrong-value", 5)),
        ('source = { title = "our own" }', "", ("purpose.source", "missing", 2)),
        ('at_most = "10 ms"', "", ("purpose.source", "no-effect", 6)),
        ("record", "recrod", ("measure.log.recrod", "unknown-key", 11)),
        ("sequential_write", "sequential_wrote", ("measure.log.workload", "unknown-name", 10)),
        ("[state]", '[stage]\nname = "x"\n[state]', ("stage", "unknown-key", 7)),
        ("[state]", "[factor.a]\nlevels = [1, 2]\n[state]", ("factor", "unknown-key", 7)),
        ('"a log"', '"a\\u001b[31m log"', ("purpose.title", "wrong-value", 3)),
        ('"our own"', '"our\\nown"', ("purpose.source.title", "wrong-value", 6)),
        (
            "[state]",
            '[workload.p]\ncommand = ["touch", "x"]\n[state]',
            ("workload.p.command", "unsupported", 8),
        ),
        ("[measure.log]", "[measure.a]\n[measure.log]", ("measure", "wrong-value", 9)),
    ],
)
def test_a_fault_has_its_name_and_line(old: str, new: str, expected: tuple[str, str, int | None]) -> None:
    assert expected in faults(GOOD.replace(old, new, 1))


def test_all_faults_are_reported_at_once() -> None:
    text = GOOD.replace("at_most", "at_mots").replace("record", "recrod").replace("[state]", "[states]")
    assert {where for where, _, _ in faults(text)} >= {"purpose.at_mots", "measure.log.recrod", "states"}


@pytest.mark.parametrize(
    ("metric", "key", "text", "limit"),
    [
        ("throughput", "at_least", "90 MB/s", 90e6),
        ("throughput", "at_least", "1 GiB/min", 2**30 / 60),
        ("iops", "at_least", "500", 500.0),
        ("time", "at_most", "20 s", 20.0),
        ("commit_p50", "at_most", "250 us", 250e3),
    ],
)
def test_a_limit_is_a_value_of_its_metric(metric: str, key: str, text: str, limit: float) -> None:
    found = parsed(GOOD.replace("sync_p99", metric).replace('at_most = "10 ms"', f'{key} = "{text}"'))
    assert found.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("metric", "text"), [("throughput", "1 drive write/day"), ("throughput", "90 MB"), ("iops", "x")]
)
def test_a_limit_of_another_unit_is_refused(metric: str, text: str) -> None:
    found = faults(GOOD.replace("sync_p99", metric).replace('at_most = "10 ms"', f'at_least = "{text}"'))
    assert ("purpose.at_least", "wrong-value", 5) in found


@pytest.mark.parametrize(
    "text", ["", "[purpose]\n", "x = [", "[purpose]\ntitle = 3\nmetric = 4\n[measure]\nlog = 7\n"]
)
def test_a_broken_file_is_refused(text: str) -> None:
    assert faults(text)
