"""A file that is not TOML, or not a study, is refused in one line that says where and what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from mileage.plan import parse_study
from mileage.plan.study_reader import STUDY_TEXT_MAX

CASES = [
    (
        "seed = 7",
        "seed = ",
        "small.toml: line 4: not TOML: string values must be quoted, expected literal string (column 8)",
    ),
    (
        "[state]",
        "[state",
        "small.toml: line 7: not TOML: unclosed table, expected `]` (column 7)",
    ),
    (
        'name = "small"',
        'name = "small',
        'small.toml: line 1: not TOML: invalid basic string, expected `"` (column 14)',
    ),
    (
        "seed = 7",
        "seed = 7\nseed = 8",
        "small.toml: line 5: not TOML: duplicate key (column 1)",
    ),
    (
        "seed = 7",
        "sede = 7",
        "small.toml: sede: unknown key; did you mean 'seed'?",
    ),
    (
        'record = "4KiB"',
        'recrod = "4KiB"',
        "small.toml: measure.iops.recrod: unknown key; did you mean 'record'?",
    ),
    (
        'file = "64MiB"',
        'flie = "64MiB"\nzzz = 1',
        "small.toml: 2 faults\nstate.flie: unknown key; did you mean 'file'?\nstate.zzz: unknown key; expected one of "
        "start, purge, carryover, file, on_change, filesystem, mkfs, mount, fill, aged, precondition, scheduler, "
        "read_ahead, write_cache, governor, cache",
    ),
    (
        "repeat = { min = 2 }",
        "repeat = { minimum = 2 }",
        "small.toml: measure.iops.repeat.minimum: unknown key; did you mean 'min'?",
    ),
    (
        "{ operations = 1000 }",
        "{ operation = 1000 }",
        "small.toml: measure.iops.stop.operation: unknown key; did you mean 'operations'?",
    ),
    (
        'measure = "before"',
        'measures = "before"',
        "small.toml: stage[4].measures: unknown key; did you mean 'measure'?",
    ),
    (
        'baseline = "before"',
        'base = "before"',
        "small.toml: compare.base: unknown key; did you mean 'baseline'?",
    ),
    (
        "p99 = 0.10",
        "p999 = 0.10",
        "small.toml: compare.relevance.p999: unknown key; did you mean 'p99'?",
    ),
    (
        'amount = "2.2x"',
        'ammount = "2.2x"',
        "small.toml: torture.churn.ammount: unknown key; did you mean 'amount'?",
    ),
    (
        "[torture.churn]",
        "[tortures.churn]",
        "small.toml: tortures: unknown key; did you mean 'torture'?",
    ),
    (
        "[measure.iops]",
        '[measure."\\u001b"]\nx=1',
        (
            "small.toml: 4 faults\nmeasure.'\\x1b'.x: unknown key; expected one of workload, record, stop, span, "
            "span_start, threads, depth, vary, repeat, metric, fidelity, iozone, reads, discards, content, verify, "
            "generation, sync, sync_every, files, rate, spacing, ramp_to, ramp_over, cap, think, burst, "
            "warm_up, api, cache, power_cut, dsync, settle, touch, pin, timeout, log, interval, processes, block, "
            "segments, reorder, tree, stride\n"
            "measure: found '\\x1b', expected a name of letters, digits, '-' and '_', at most 40\n"
            "stage[1].measure[1]: there is no [measure.*] table 'iops'; known: throughput, \\x1b\n"
            "measure.'\\x1b': no stage uses it; name it in a [[stage]] or remove it"
        ),
    ),
    (
        "seed = 7",
        'seed = "7"',
        'small.toml: seed: found "7", expected a whole number',
    ),
    (
        "cycles = 2",
        "cycles = 2.5",
        "small.toml: cycles: found 2.5, expected a whole number",
    ),
    (
        "sham = true",
        "sham = 1",
        "small.toml: sham: found 1, expected true or false",
    ),
    (
        '"128KiB", "1MiB"',
        '"128KiB", 1.5',
        "small.toml: measure.throughput.record[1]: found 1.5, expected a whole number or text",
    ),
    (
        "threads = 4",
        'threads = "four"',
        'small.toml: measure.iops.threads: found "four", expected a whole number or a list',
    ),
    (
        "repeat = 3",
        'repeat = "3"',
        'small.toml: measure.throughput.repeat: found "3", expected a whole number or a table',
    ),
    (
        'stop = { bytes = "8MiB" }',
        'stop = "8MiB"',
        'small.toml: measure.throughput.stop: found "8MiB", expected a table',
    ),
    (
        'stop = { bytes = "8MiB" }\n',
        "",
        "small.toml: measure.throughput.stop: missing; it must be given, since throughput.write has "
        "none of its own",
    ),
    (
        'name = "small"\n',
        "",
        "small.toml: name: missing; it must be given",
    ),
    (
        '[[stage]]\nname = "prepare"\nprepare = ["fill"]',
        '[[stage]]\nname = 2020-01-01\nprepare = ["fill"]',
        "small.toml: stage[0].name: found 2020-01-01, expected text",
    ),
    (
        'prepare = ["fill"]',
        'prepare = "fill"',
        'small.toml: stage[0].prepare: found "fill", expected a list',
    ),
    (
        "repeat = 3",
        'repeat = 3\nsync = "sometimes"',
        (
            'small.toml: measure.throughput.sync: found "sometimes", expected "fdatasync", "fsync", "fua" or "none"'
        ),
    ),
    (
        "repeat = 3",
        'repeat = 3\ncontent = "ones"',
        (
            "small.toml: measure.throughput.content: 'ones' is not a content: expected incompressible, zeros, "
            "fio_scrambled, fio_constant, iozone_default, iozone_diagnostic, or shares in percent: "
            "compressible=50,duplicate=20 (IOzone's: "
            "within=98,across=98,compress=98), or a byte of IOzone's: pattern=3, page=165"
        ),
    ),
    (
        "throughput = 0.02",
        'throughput = "2 %"',
        'small.toml: compare.relevance.throughput: found "2 %", expected a number',
    ),
]


@pytest.mark.parametrize(("found", "changed", "line"), CASES, ids=lambda text: str(text)[:40])
def test_what_is_wrong_is_said_in_one_line(
    small_text: str, refusal: Callable[..., str], found: str, changed: str, line: str
) -> None:
    text = small_text.replace(found, changed, 1)
    assert text != small_text
    assert refusal(lambda: parse_study(text, "small.toml")) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "s: name: missing; it must be given"),
        ("stage = 3", "s: stage: found 3, expected a list"),
        ("measure = 3", "s: measure: found 3, expected a table"),
        ("[measure]\nx = 3", "s: measure.x: found 3, expected a table"),
        ("stage = [1]", "s: stage[0]: found 1, expected a table"),
        (
            '"a b" = 1',
            "s: 'a b': unknown key; expected one of name, target, stage, question, seed, cycles, sham, ",
        ),
        ("state = []", "s: state: found a list, expected a table"),
        ("name = 1e400", "s: name: found inf, expected text"),
        ('x = """', 's: line 1: not TOML: invalid multi-line basic string, expected `"` (column 8)'),
        (
            "# " + "x" * STUDY_TEXT_MAX,
            "s: found 1048578 characters, expected a study file of at most 1048576",
        ),
    ],
    ids=lambda text: str(text)[:30],
)
def test_texts_that_are_no_study_at_all(refusal: Callable[..., str], text: str, line: str) -> None:
    full = 'name = "x"\ntarget = "virtual:x"\n' if text.startswith(("stage", "state", "[", "measure")) else ""
    full += "stage = []\n" if text.startswith(("state", "[", "measure")) else ""
    first = refusal(lambda: parse_study(full + text, "s"))
    assert re.sub("[0-9]+ faults\n", "", first).startswith(line)


def test_nesting_without_end_is_refused(refusal: Callable[..., str]) -> None:
    line = refusal(lambda: parse_study("x = " + "[" * 50_000, "deep.toml"))
    assert line.startswith("deep.toml: ")


def test_every_key_that_is_given_arrives(small_text: str) -> None:
    study = parse_study(small_text, "small.toml")
    assert (study.name, study.seed, study.cycles, study.sham) == ("small", 7, 2, True)
    assert [stage.name for stage in study.stage] == ["prepare", "before", "torture", "rest", "after"]
    assert study.measures_of(study.stage_named("after")) == ("throughput", "iops")
    assert study.measure["throughput"].record == ("128KiB", "1MiB")
    assert (study.baseline, study.candidate) == ("before", "after")
    assert study.compare.relevance.p99 == 0.10
