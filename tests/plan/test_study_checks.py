"""A study that reads but makes no sense on any target is refused by the path of what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mileage.plan import parse_study

SIZE = (
    "expected a whole number of bytes, or a number with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, "
    "TiB (powers of 1024); for example 4KiB"
)
TIME = 'expected a number with ns, us, ms, s, min or h; for example "10 s"'
KNOWN = (
    "throughput.*, iops.*, pattern.*, iometer.*, sqlio.*, hdparm.*, dd.*, application.*, iozone.*, "
    "metadata.*, ior.*, mdtest.*, "
    "metarates.*; see `mileage list workloads`"
)

CASES = [
    (
        'name = "small"',
        'name = "../small"',
        ("small.toml: name: found '../small', expected letters, digits, '.', '-' and '_', at most 80"),
    ),
    (
        '"Is it slower?"',
        '"Is it\\u001b[2J?"',
        "small.toml: question: found 'Is it\\x1b[2J?', expected one line without control characters",
    ),
    (
        "seed = 7",
        'seed = 7\nsession = "monday\\ntuesday"',
        "small.toml: session: found 'monday\\ntuesday', expected one line of at most 100 characters",
    ),
    (
        "seed = 7",
        f'seed = 7\nsession = "{101 * "a"}"',
        f"small.toml: session: found '{101 * 'a'}', expected one line of at most 100 characters",
    ),
    (
        "seed = 7",
        "seed = -1",
        "small.toml: seed: found -1, expected a whole number, 0 or more",
    ),
    (
        "cycles = 2",
        "cycles = 0",
        "small.toml: cycles: found 0, expected a whole number from 1 to 1000",
    ),
    (
        'file = "64MiB"',
        'file = "64M"',
        (
            "small.toml: state.file: '64M' is not a size: expected 64MiB (powers of 1024) or 64MB (powers of "
            '1000), or "2x memory"'
        ),
    ),
    (
        'file = "64MiB"',
        "file = 0",
        "small.toml: state.file: found 0, expected more than 0 bytes",
    ),
    (
        'file = "64MiB"',
        'start = "aged"',
        'small.toml: state.start: \'aged\' is not supported yet; this version knows "purged", "kept"',
    ),
    (
        'file = "64MiB"',
        'cache = "limited:2MiB"',
        "small.toml: state.cache: 'limited:2MiB': expected a limit of 64MiB or more",
    ),
    (
        'file = "64MiB"',
        'cache = "icy"',
        "small.toml: state.cache: 'icy' is no state of the page cache: expected direct, cold, dropped, hot, warm or "
        'a limit such as "limited:2GiB"',
    ),
    (
        '"128KiB", "1MiB"',
        '0, "1MiB"',
        "small.toml: measure.throughput.record[0]: found 0, expected 1 B to 1 GiB",
    ),
    (
        '"128KiB", "1MiB"',
        '"128KiB", "131072"',
        "small.toml: measure.throughput.record[1]: 131072 is in the list twice",
    ),
    (
        '"128KiB", "1MiB"',
        '"2GiB"',
        'small.toml: measure.throughput.record[0]: found "2GiB", expected 1 B to 1 GiB',
    ),
    (
        '["128KiB", "1MiB"]',
        "[]",
        "small.toml: measure.throughput.record: the list is empty; expected at least one size",
    ),
    (
        '"128KiB", "1MiB"',
        '"128K"',
        (
            "small.toml: measure.throughput.record[0]: '128K' is not a size: expected 128KiB (powers of 1024) or "
            "128kB (powers of 1000)"
        ),
    ),
    (
        "threads = 4",
        "threads = 0",
        "small.toml: measure.iops.threads: found 0, expected a whole number from 1 to 1024",
    ),
    (
        "threads = 4",
        "depth = 5000",
        "small.toml: measure.iops.depth: found 5000, expected a whole number from 1 to 4096",
    ),
    (
        "threads = 4",
        'span = "0%"',
        "small.toml: measure.iops.span: '0%' is nothing: expected more than 0",
    ),
    (
        "threads = 4",
        'span = "half"',
        (
            "small.toml: measure.iops.span: 'half' is not a size: "
            + SIZE
            + ', "25%" of the work area, or "2.2x" the work area'
        ),
    ),
    (
        "threads = 4",
        'metric = "p99.9"',
        "small.toml: measure.iops.metric: there is no metric 'p99.9'; did you mean 'p99'?",
    ),
    (
        "threads = 4",
        'metric = ["p98"]',
        "small.toml: measure.iops.metric: there is no metric 'p98'; did you mean 'p99'?",
    ),
    (
        "{ operations = 1000 }",
        "{}",
        "small.toml: measure.iops.stop: no limit; expected bytes, operations or time",
    ),
    (
        "{ operations = 1000 }",
        "{ operations = 0 }",
        ("small.toml: measure.iops.stop.operations: found 0, expected a whole number, 1 or more"),
    ),
    (
        "{ operations = 1000 }",
        '{ time = "10" }',
        ("small.toml: measure.iops.stop.time: '10' is not a time: " + TIME),
    ),
    (
        "{ operations = 1000 }",
        '{ time = "0.5 ns" }',
        ("small.toml: measure.iops.stop.time: '0.5 ns' is not a time: " + TIME),
    ),
    (
        "repeat = 3",
        "repeat = 0",
        "small.toml: measure.throughput.repeat: found 0, expected a whole number from 1 to 10000",
    ),
    (
        "min = 2",
        "min = 2, max = 30",
        ("small.toml: measure.iops.repeat.max: has no effect without precision; give both or neither"),
    ),
    (
        "min = 2",
        "min = 2, precision = 0.02",
        ("small.toml: measure.iops.repeat.precision: has no effect without max; give both or neither"),
    ),
    (
        'amount = "2.2x"',
        'amount = "0x"',
        "small.toml: torture.churn.amount: '0x' is nothing: expected more than 0",
    ),
    (
        'amount = "2.2x"',
        'amount = "much"',
        (
            "small.toml: torture.churn.amount: 'much' is not a size: "
            + SIZE
            + ', "25%" of the work area, or "2.2x" the work area'
        ),
    ),
    (
        'workload = "throughput.write"',
        'workload = "throughput.read"',
        ("small.toml: torture.fill.workload: throughput.read only reads; expected a workload that writes"),
    ),
    (
        'workload = "iops.random_write"',
        'workload = "iops.*"',
        "small.toml: torture.churn.workload: found the family 'iops.*', expected one workload",
    ),
    (
        'name = "after"',
        'name = "before"',
        "small.toml: stage[4].name: 'before' is the name of an earlier stage; names must differ",
    ),
    (
        'name = "after"',
        'name = "a/b"',
        (
            "small.toml: stage[4].name: found 'a/b', expected a name of letters, digits, '-' and '_', "
            "at most 40"
        ),
    ),
    (
        'measure = "before"',
        'measure = "befor"',
        (
            "small.toml: stage[4].measure: there is no earlier stage that measures 'befor'; did you "
            "mean 'before'?"
        ),
    ),
    (
        'measure = "before"',
        'measure = "after"',
        ("small.toml: stage[4].measure: there is no earlier stage that measures 'after'; known: before"),
    ),
    (
        'measure = ["throughput", "iops"]',
        'measure = ["throughput", "iosp"]',
        ("small.toml: stage[1].measure[1]: there is no [measure.*] table 'iosp'; did you mean 'iops'?"),
    ),
    (
        'measure = ["throughput", "iops"]',
        'measure = ["iops", "iops"]',
        "small.toml: 2 faults\nstage[1].measure[1]: 'iops' is in the list twice\n"
        "measure.throughput: no stage uses it; name it in a [[stage]] or remove it",
    ),
    (
        'measure = ["throughput", "iops"]',
        "measure = []",
        (
            "small.toml: stage[1].measure: the list is empty; expected the name of at least one "
            "[measure.*] table"
        ),
    ),
    (
        'measure = ["throughput", "iops"]',
        'measure = ["iops"]',
        "small.toml: measure.throughput: no stage uses it; name it in a [[stage]] or remove it",
    ),
    (
        'torture = ["fill", "churn"]',
        'torture = ["fill", "chrun"]',
        ("small.toml: stage[2].torture[1]: there is no [torture.*] table 'chrun'; did you mean 'churn'?"),
    ),
    (
        'prepare = ["fill"]',
        'prepare = ["fill"]\nidle = "1 s"',
        (
            "small.toml: stage[0]: found prepare and idle of measure, torture, prepare, idle, expected "
            "exactly one"
        ),
    ),
    (
        'idle = "10 s"',
        "",
        "small.toml: stage[3]: found none of measure, torture, prepare, idle, expected exactly one",
    ),
    (
        'idle = "10 s"',
        'idle = "soon"',
        ("small.toml: stage[3].idle: 'soon' is not a time: " + TIME),
    ),
    (
        'torture = ["fill", "churn"]',
        'prepare = ["fill", "churn"]',
        "small.toml: sham: found true, but no stage tortures, so a sham cycle would skip nothing",
    ),
    (
        'baseline = "before"',
        'arms = "study"',
        "small.toml: compare.arms: there is no arm to compare 'study'; known: stage, workload",
    ),
    (
        'baseline = "before"',
        'baseline = "befroe"',
        ("small.toml: compare.baseline: there is no stage that measures 'befroe'; did you mean 'before'?"),
    ),
    (
        'baseline = "before"',
        'candidate = "before"',
        "small.toml: compare: baseline and candidate are both 'before'; expected two stages",
    ),
    (
        'baseline = "before"',
        'baseline = "torture"',
        ("small.toml: compare.baseline: there is no stage that measures 'torture'; known: before, after"),
    ),
    (
        "throughput = 0.02",
        "throughput = 0.0",
        ("small.toml: compare.relevance.throughput: found 0, expected above 0 and below 1 (0.02 is 2 %)"),
    ),
    (
        "iops = 0.05",
        "iops = nan",
        "small.toml: compare.relevance.iops: found nan, expected above 0 and below 1 (0.02 is 2 %)",
    ),
    (
        'workload = "iops.random_read"',
        'workload = "iops.random_raed"',
        (
            "small.toml: measure.iops.workload: 'iops.random_raed' is not a workload; did you mean "
            "iops.random_read? Known are " + KNOWN
        ),
    ),
    (
        'workload = "iops.random_read"',
        'workload = "zzz"',
        ("small.toml: measure.iops.workload: 'zzz' is not a workload. Known are " + KNOWN),
    ),
    (
        'workload = "iops.random_read"',
        'workload = "iozone.*"',
        (
            "small.toml: measure.iops.workload: iozone.* is a file workload; virtual:plain is a block "
            "device without a host; file workloads need a directory"
        ),
    ),
    (
        'workload = "iops.random_read"',
        'workload = "iometer.mix"',
        (
            "small.toml: measure.iops.workload: 'iometer.mix' is not a workload; did you mean iometer.*? "
            "Known are " + KNOWN
        ),
    ),
    (
        'workload = "iops.random_read"',
        "workload = []",
        "small.toml: measure.iops.workload: the list is empty; expected at least one workload",
    ),
]


@pytest.mark.parametrize(("found", "changed", "line"), CASES, ids=lambda text: str(text)[:40])
def test_what_makes_no_sense_is_refused_with_its_path(
    small_text: str, refusal: Callable[..., str], found: str, changed: str, line: str
) -> None:
    text = small_text.replace(found, changed, 1)
    assert text != small_text
    assert refusal(lambda: parse_study(text, "small.toml")) == line


@pytest.mark.parametrize("name", ["iozone.stride_read", "metarates.create", "ior.write", "mdtest.*"])
def test_file_workloads_are_refused_on_a_bare_drive(
    small_text: str, refusal: Callable[..., str], name: str
) -> None:
    text = small_text.replace("iops.random_read", name)
    assert refusal(lambda: parse_study(text, "s")) == (
        f"s: measure.iops.workload: {name} is a file workload; virtual:plain is a block device "
        "without a host; "
        "file workloads need a directory"
    )


def test_file_workloads_are_known_on_a_directory(small_text: str) -> None:
    text = small_text.replace("iops.random_read", "mdtest.*").replace("virtual:plain", "dir:/scratch")
    assert parse_study(text, "s").measure["iops"].workload == "mdtest.*"


def test_one_measuring_stage_needs_no_comparison(small_text: str, refusal: Callable[..., str]) -> None:
    alone = small_text.replace('[[stage]]\nname = "after"\nmeasure = "before"\n', "")
    line = refusal(lambda: parse_study(alone, "s"))
    assert line == "s: compare: only one stage measures; expected two to compare"
    study = parse_study(alone.replace('baseline = "before"\n', ""), "s")
    assert study.baseline is None
    assert study.candidate is None


def test_stages_without_a_common_measure_cannot_be_compared(
    small_text: str, refusal: Callable[..., str]
) -> None:
    text = small_text.replace('["throughput", "iops"]', '["throughput"]')
    text = text.replace('measure = "before"', 'measure = ["iops"]')
    line = refusal(lambda: parse_study(text, "s"))
    assert line == "s: compare: stages 'before' and 'after' have no measure in common"


def test_lists_have_an_end(small_text: str, refusal: Callable[..., str]) -> None:
    records = ", ".join(str(512 * (number + 1)) for number in range(1001))
    text = small_text.replace('"128KiB", "1MiB"', records)
    line = refusal(lambda: parse_study(text, "s"))
    assert line == "s: measure.throughput.record: found 1001 entries, expected at most 1000"
    stages = small_text + '[[stage]]\nname = "x"\nidle = "1 s"\n' * 100
    assert refusal(lambda: parse_study(stages, "s")) == "s: stage: found 105 stages, expected at most 100"
