"""Twenty broken plans: each refused with the line, the key, what was found and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import lab
from mileage.errors import Refused

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
    "record not whole sectors": ('"8KiB"]', "1000]"),
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
    "level out of range": ("levels = [1, 32]", "levels = [1, 9999]"),
    "factor that says not what": ("[factor.depth]", "[factor.speed]"),
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
        lab.plan(str(path))
    return str(refusal.value).replace(str(folder), "DIR")


def expected() -> dict[str, str]:
    lines = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    return dict(zip(lines[::2], (line.strip() for line in lines[1::2]), strict=True))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plan_is_refused_with_line_key_found_and_expected(tmp_path: Path, name: str) -> None:
    line = refused(tmp_path, *BROKEN[name])
    assert line == expected()[name]
    assert "\n" not in line


def test_the_plan_itself_is_not_broken(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    assert len(lab.plan(str(path)).runs) == 41
