"""Broken plans: each refused with the line, the key, what was found and what was expected, all faults together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mileage import app
from mileage.errors import Refused
from tests.command import mileage

PLAN = """\
name = "plan"
question = "Which is faster?"
target = "virtual:plain-64gib"
seed = 7
[state]
start = "purged"
cache = "direct"
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "measured"
measure = ["iops"]
[measure.iops]
workload = ["iops.random_read", "iops.random_write"]
record = ["4KiB", "8KiB"]
stop = { operations = 100 }
repeat = 5
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[factor.depth]
levels = [1, 32]
[compare]
arms = "depth"
baseline = "1"
"""

BROKEN = {
    "not TOML": ("seed = 7", "seed = = 7"),
    "unknown key": ("repeat = 5", "repaet = 5"),
    "wrong type": ("seed = 7", 'seed = "seven"'),
    "bare letter": ('amount = "1x"', 'amount = "64G"'),
    "unknown workload": ('"iops.random_read"', '"iops.radnom_read"'),
    "record of nothing": ('"8KiB"]', "0]"),
    "record twice": ('"8KiB"]', '"4KiB"]'),
    "no limit": ("stop = { operations = 100 }", "stop = {}"),
    "zero operations": ("operations = 100", "operations = 0"),
    "no block": ("repeat = 5", "repeat = 0"),
    "table that is missing": ('prepare = ["fill"]', 'prepare = ["fil"]'),
    "table that nobody uses": (
        "[measure.iops]",
        '[torture.spare]\nworkload = "throughput.write"\nrecord = "1MiB"\namount = "1x"\n[measure.iops]',
    ),
    "stage twice": ('name = "measured"', 'name = "prepare"'),
    "stage without action": ('prepare = ["fill"]\n', ""),
    "state that is none": ('start = "purged"', 'start = "dirty"'),
    "cache on a drive": ("repeat = 5", 'repeat = 5\ncache = "warm"'),
    "rate beyond what can be kept": ("repeat = 5", "repeat = 5\ncap = 9999999999"),
    "nothing to verify": ("repeat = 5", 'repeat = 5\nreads = 0\nverify = "all"'),
    "level out of range": ("levels = [1, 32]", "levels = [1, 9999]"),
    "factor that says not what": (
        '[factor.depth]\nlevels = [1, 32]\n[compare]\narms = "depth"',
        '[factor.speed]\nlevels = [1, 32]\n[compare]\narms = "speed"',
    ),
    "exclusion of no level": ("seed = 7", "seed = 7\nexclude = [{ depth = 2 }]"),
    "unknown baseline": ('baseline = "1"', 'baseline = "2"'),
    "order that is none": ("seed = 7", 'seed = 7\norder = "sorted"'),
    "span beyond the target": ("repeat = 5", 'repeat = 5\nspan = "1TiB"'),
    "figure that the drive lacks": (
        'depth]\nlevels = [1, 32]\n[compare]\narms = "depth"\nbaseline = "1"',
        'read_ms]\nkind = "profile"\nlevels = [1, 32]',
    ),
}
SNAPSHOT = Path(__file__).with_name("broken_plans.txt")


def refused(folder: Path, found: str, changed: str) -> str:
    assert found in PLAN
    path = folder / "plan.toml"
    path.write_text(PLAN.replace(found, changed, 1))
    with pytest.raises(Refused) as refusal:
        app.plan(str(path))
    return str(refusal.value).replace(str(folder), "DIR")


def expected() -> dict[str, str]:
    lines = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    return dict(zip(lines[::2], (line.strip() for line in lines[1::2]), strict=True))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plan_is_refused_with_line_key_found_and_expected(tmp_path: Path, name: str) -> None:
    line = refused(tmp_path, *BROKEN[name])
    assert line == expected()[name]
    assert "\n" not in line


MANY = PLAN
for _name in (
    "unknown key",
    "bare letter",
    "unknown workload",
    "record of nothing",
    "unknown baseline",
):
    MANY = MANY.replace(*BROKEN[_name], 1)


@pytest.mark.parametrize("command", ["plan", "run"])
def test_all_faults_of_a_file_are_printed_on_lines_of_their_own(tmp_path: Path, command: str) -> None:
    (tmp_path / "plan.toml").write_text(MANY)
    done = mileage(command, "plan.toml", cwd=tmp_path)
    assert done.stdout == ""
    first, *lines = done.stderr.splitlines()
    assert first == "mileage: plan.toml: 5 faults"
    assert [line.split(": ")[:2] for line in lines] == [
        ["  line 15", "measure.iops.workload[0]"],
        ["  line 16", "measure.iops.record[1]"],
        ["  line 18", "measure.iops.repaet"],
        ["  line 22", "torture.fill.amount"],
        ["  line 27", "compare.baseline"],
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


@pytest.mark.parametrize("command", ["plan", "run"])
def test_with_json_the_faults_are_values(tmp_path: Path, command: str) -> None:
    (tmp_path / "plan.toml").write_text(MANY)
    found = json.loads(mileage(command, "plan.toml", "--json", cwd=tmp_path).stdout)["refused"]
    assert found["source"] == "plan.toml"
    assert found["faults"][2] == {
        "where": "measure.iops.repaet",
        "line": 18,
        "advice": "did you mean 'repeat'?",
        "code": "unknown-key",
        "text": "unknown key; did you mean 'repeat'?",
    }
    assert [fault["line"] for fault in found["faults"]] == [15, 16, 18, 22, 27]


def test_what_a_target_cannot_honour_is_reported_of_every_table(tmp_path: Path) -> None:
    text = PLAN.replace("repeat = 5", 'repeat = 5\ncache = "warm"\napi = "uring"')
    (tmp_path / "plan.toml").write_text(text.replace('amount = "1x"', 'amount = "1x"\nspan = "1TiB"'))
    lines = mileage("plan", "plan.toml", cwd=tmp_path).stderr.splitlines()
    assert [line.split(": ")[1] for line in lines[1:]] == [
        "measure.iops.cache",
        "measure.iops.api",
        "torture.fill.span",
    ]


def test_the_plan_itself_is_not_broken(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    assert len(app.plan(str(path)).runs) == 41
