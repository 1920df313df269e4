"""One question, asked at every door: verdicts, estimates, intervals, units and caveats are equal.

Studies and imports are drawn with planted faults. Each fault must be named by its code at each door: doors that agree
in silence fail. With the sides exchanged everything is inverted, and each caveat is of the other side.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from click.testing import CliRunner

from mileage import app
from mileage.app import comparison_report
from mileage.app.comparison_report import pair_view
from mileage.app.importer import make_study, read_files
from mileage.cli.compare import command as compare_command
from mileage.judge import Comparison
from mileage.judge.disturbance_bound import KIND_LIMITS
from mileage.model.caveat import Caveat
from mileage.report import render_html, render_text
from mileage.report.caveat_words import WORDS, each_in_words
from mileage.report.gate_output import compared_text, github, junit, markdown
from tests.answers import fio_report

CASES = 320
STUDY = """
name = "drawn"
target = "virtual:{drive},scale=1/256"
seed = {seed}
cycles = {cycles}
{state}
[[stage]]
name = "before"
measure = ["blocks"]
[[stage]]
name = "{rest}"
{stress}
[[stage]]
name = "after"
measure = ["blocks"]
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "{amount}"
[measure.blocks]
workload = {workloads}
record = "4KiB"
stop = {{ operations = {operations} }}
repeat = {repeat}
{load}
"""

Facts = dict[str, Any]


class Drawn(NamedTuple):
    """Two sides as `compare` takes them, and the codes of what was planted, with the sides that each is about."""

    baseline: str
    candidate: str
    planted: set[tuple[str, tuple[str, ...]]]


def virtual(place: Path, name: str, rng: random.Random, **more: Any) -> Path:
    """A study on a small virtual drive."""
    values = {
        "drive": "intel-x25e-64gb",
        "seed": rng.randrange(100),
        "cycles": rng.choice((1, 2, 3)),
        "state": "",
        "rest": "stress",
        "stress": 'torture = ["fill"]',
        "amount": rng.choice(("0.1x", "0.3x")),
        "workloads": '["iops.random_write"]',
        "operations": 1200,
        "repeat": rng.choice((2, 3)),
        "load": "",
    }
    text = STUDY.format(**(values | more))
    (place / f"{name}.toml").write_text(text)
    return app.run(str(place / f"{name}.toml"), out=place / name).folder.path


def imported(
    place: Path,
    name: str,
    rng: random.Random,
    *,
    runs: int,
    jobs: Mapping[str, float],
    session: str = "",
    gap_s: int = 1000,
    pattern: Mapping[int, float] | None = None,
    **options: str,
) -> Path:
    """Runs of fio with some noise, one file each; `jobs` has the rate of each.

    Runs are `gap_s` apart; `pattern` has factors for some of them.
    """
    files = []
    noise = [[math.exp(-abs(rng.gauss(0, 0.004))) for _ in jobs] for _ in range(runs)]
    for run in range(runs):
        factor = (pattern or {}).get(run, 1.0)
        # A factor of 0: the run is a copy of the one three before it.
        own = noise[run - 3] if factor == 0 else [one * factor for one in noise[run]]
        noise[run] = own
        done = [
            fio_report.job(f"job{number}", iops=iops * own[number], rw=rw, **options)
            for number, (rw, iops) in enumerate(jobs.items())
        ]
        document = fio_report.report(done, at_s=1_700_000_000 + gap_s * run + rng.randrange(500))
        files.append(place / fio_report.save(place / f"{name}-{run}.json", document))
    return make_study(read_files(files, equal=True), place / name, session=session).path


REPETITIONS: dict[str, tuple[str, int, dict[int, float]]] = {
    "copies": ("copied-runs", 9, dict.fromkeys(range(3, 9), 0.0)),
    "levels": ("two-regimes", 10, dict.fromkeys((1, 2, 5, 8), 0.7)),
    "outlier": ("one-outlier", 9, {6: 5.0}),
}
"""Faults of repetitions: the code that names each, the runs that it needs, and their factors."""
DAY_S = 86_400


def cut(folder: Path, lines: int) -> None:
    """Take the last lines of a journal away, as a kill would."""
    journal = folder / "journal.jsonl"
    kept = journal.read_bytes().splitlines(keepends=True)[:-lines]
    journal.write_bytes(b"".join(kept))


def two_imports(place: Path, rng: random.Random) -> Drawn:
    """Two imports, with faults of the one or the other."""
    rates = {"randread": 9000.0, "randwrite": 5000.0}
    factor = rng.choice((0.5, 0.97, 1.0, 1.3, 4.0))
    options: list[dict[str, str]] = [{}, {}]
    jobs = [dict(rates), {rw: iops * factor for rw, iops in rates.items()}]
    planted: set[tuple[str, tuple[str, ...]]] = set()
    side = rng.randrange(2)
    name = (("baseline",), ("candidate",))[side]
    runs = [rng.choice((2, 3, 5, 9)) for _ in range(2)]
    patterns: list[dict[int, float]] = [{}, {}]
    days = rng.choice(("one session", "one session", "one each", "several"))
    for fault in rng.sample(("missing", "setting", "limit", "one run", *REPETITIONS), rng.choice((1, 2))):
        if fault == "missing":
            del jobs[side]["randwrite"]
            planted.add(("missing-tests", name))
        elif fault == "one run":
            runs = [1, 1]
            planted.add(("one-run", ("baseline", "candidate")))
        elif fault == "setting":
            options[side]["size"] = "4G"
            planted.add(("setting-differs", ("baseline", "candidate")))
        elif fault == "limit":
            for both in options:
                both["rate_iops"] = "9000"
            jobs[side]["randread"], jobs[1 - side]["randread"] = 9000.0, 7000.0
            planted.add(("rate-limited", name))
        elif runs != [1, 1] and not any(patterns):
            code, runs[side], patterns[side] = REPETITIONS[fault]
            days = "one session"
            planted.add((code, name))
    if runs == [1, 1]:
        patterns = [{}, {}]
        planted = {one for one in planted if one[0] not in {code for code, *_ in REPETITIONS.values()}}
    if days == "one each" or (days == "several" and max(runs) == 1):
        planted.add(("one-session", ("baseline", "candidate")))
    how = {
        "session": "lab" if days == "one session" else "",
        "gap_s": 8 * DAY_S if days == "several" else 1000,
    }
    folders = [
        imported(place, label, rng, runs=count, jobs=one, pattern=pattern, **how, **some)  # type: ignore[arg-type]
        for label, count, one, some, pattern in zip("ab", runs, jobs, options, patterns, strict=True)
    ]
    return Drawn(str(folders[0]), str(folders[1]), planted)


def two_stages(place: Path, rng: random.Random) -> Drawn:
    """Two stages of one study on a virtual drive, perhaps killed."""
    cycles = rng.choice((1, 2, 3))
    folder = virtual(place, "s", rng, cycles=cycles)
    both = ("baseline", "candidate")
    planted: set[tuple[str, tuple[str, ...]]] = {("simulated", both)}
    if cycles == 1:
        planted.add(("one-cycle", both))
    if rng.random() < 0.3:
        cut(folder, 1)
        planted.add(("no-end", both))
    return Drawn(f"{folder}:before", f"{folder}:after", planted)


def two_studies(place: Path, rng: random.Random) -> Drawn:
    """Two studies on virtual drives that differ in how they were measured."""
    both = ("baseline", "candidate")
    planted: set[tuple[str, tuple[str, ...]]] = {("simulated", both)}
    changed: dict[str, Any] = {}
    if rng.random() < 0.5:
        changed["load"] = "depth = 4"
        planted.add(("setting-differs", both))
    drive = rng.choice(("intel-x25e-64gb", "samsung-pm1635-400gb"))
    folders = [virtual(place, "a", rng), virtual(place, "b", rng, drive=drive, **changed)]
    side = rng.randrange(2)
    if rng.random() < 0.3:
        cut(folders[side], 1)
        planted.add(("no-end", (both[side],)))
    return Drawn(*map(str, folders), planted)


def real_and_virtual(place: Path, rng: random.Random) -> Drawn:
    """An import and a study on a virtual drive, in which the same work was done."""
    study = virtual(place, "v", rng, workloads='["iops.random_write"]', load="threads = 1")
    import_of = imported(
        place, "r", rng, runs=3, jobs={"randwrite": 4000.0}, time_based="1", size="64M", iodepth="1"
    )
    sides = [str(study), str(import_of)]
    name = (("baseline",), ("candidate",))[order := rng.randrange(2)]
    planted = {("simulated", name), ("one-session", (("candidate",), ("baseline",))[order])}
    return Drawn(*(sides if order == 0 else sides[::-1]), planted)


KINDS: tuple[Callable[[Path, random.Random], Drawn], ...] = (
    two_imports,
    two_imports,
    two_stages,
    two_studies,
    real_and_virtual,
)


def facts(found: Mapping[str, Any]) -> Facts:
    """What must be equal at each door, from the JSON form of a comparison."""
    cells = {
        (cell["cell"], cell["metric"]): (
            cell["verdict"],
            cell["ratio"],
            tuple(cell["ci95"]) if cell["ci95"] else None,
            (cell["units_baseline"], cell["units_candidate"]),
            sorted(caveat["code"] for caveat in cell["caveats"]),
        )
        for cell in found["cells"]
    }
    caveats = {(one["code"], tuple(one["sides"]), one["severity"]) for one in found["caveats"]}
    return {"cells": cells, "caveats": caveats, "headline": [cell["cell"] for cell in found["headline"]]}


def of_value(found: Comparison) -> Facts:
    return facts(json.loads(msgspec.json.encode(found)))


_OPPOSITE = {"faster": "slower", "slower": "faster"}
_SIDE = {"baseline": "candidate", "candidate": "baseline"}


def swapped(found: Facts, names: Mapping[str, str]) -> Facts:
    """The facts of the inverse question; `names`: of a cell, what the other side calls it."""
    cells = {}
    for (cell, metric), (verdict, ratio, ends, units, codes) in found["cells"].items():
        inverse = None if ends is None else (1 / ends[1], 1 / ends[0])
        cells[names.get(cell, cell), metric] = (
            _OPPOSITE.get(verdict, verdict),
            None if ratio is None else 1 / ratio,
            inverse,
            units[::-1],
            codes,
        )
    caveats = {
        (code, sides if len(sides) == 2 else (_SIDE[sides[0]],), severity)
        for code, sides, severity in found["caveats"]
    }
    return {"cells": cells, "caveats": caveats}


def assert_alike(one: Facts, other: Facts) -> None:
    assert one["caveats"] == other["caveats"]
    assert one["cells"].keys() == other["cells"].keys()
    for key, (verdict, ratio, ends, units, codes) in one["cells"].items():
        assert (verdict, units, codes) == (other["cells"][key][0], *other["cells"][key][3:]), key
        for mine, theirs in (
            (ratio, other["cells"][key][1]),
            *zip(ends or (), other["cells"][key][2] or (), strict=True),
        ):
            assert mine == pytest.approx(theirs, rel=1e-6), key


def assert_worded(text: str, caveats: tuple[Caveat, ...], found: Comparison) -> None:
    """Each caveat is in the text in its words, but those that a sentence says in words of its own."""
    own_words = {"simulated", "one-cycle", "one-run", "no-complete-cycle"}
    bare = "".join(text.replace("\\", "").replace("%25", "%").split())
    for caveat in caveats:
        if caveat.code not in own_words:
            (words,) = each_in_words([caveat], found)
            # What both sides have in the same words stands once.
            words = "".join(
                words.removesuffix(f" (in {found.baseline})").removesuffix(f" (in {found.candidate})").split()
            )
            assert words[1:] in bare, caveat.code


def ask_every_door(drawn: Drawn) -> None:
    found = app.compare(drawn.baseline, drawn.candidate)
    value = of_value(found)
    have = {(code, sides) for code, sides, _ in value["caveats"]}
    assert drawn.planted <= have, f"planted and not said: {drawn.planted - have}"
    command = CliRunner().invoke(compare_command, [drawn.baseline, drawn.candidate, "--json"])
    assert_alike(value, facts(json.loads(command.output)))
    view = pair_view(drawn.baseline, drawn.candidate)
    assert_alike(value, of_value(view.comparison))
    texts = [
        compared_text(found),
        render_text(view),
        repr(found),
        markdown(found, (), ()),
        github(found, (), ()),
    ]
    for text in texts:
        assert_worded(text, found.vetoes, found)
    for text in (texts[0], texts[1], texts[3]):
        assert_worded(text, found.caveats, found)
    assert junit(found, (), ()).count("<testcase") == len(found.cells)
    inverse = app.compare(drawn.candidate, drawn.baseline)
    names = {ours: theirs for theirs, ours in found.renamed}
    assert_alike(swapped(value, names), of_value(inverse))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("case", range(CASES))
def test_every_door_gives_the_same_answer(case: int, tmp_path: Path) -> None:
    rng = random.Random(case)
    ask_every_door(KINDS[case % len(KINDS)](tmp_path, rng))


def test_the_plan_s_own_question_is_the_same_as_that_of_its_stages(tmp_path: Path) -> None:
    folder = virtual(tmp_path, "s", random.Random(1), cycles=2)
    own = app.load(folder).comparison()
    assert_alike(of_value(own), of_value(app.compare(f"{folder}:before", f"{folder}:after")))
    page = render_html(app.load(folder).view(), drawn=False)
    assert "simulated" in page


def test_a_door_that_drops_a_caveat_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The test can fail: a decoration at one call site."""
    drawn = two_stages(tmp_path, random.Random(2))

    def decorated(a: str, b: str, *, stage: str | None = None) -> Comparison:
        found = app.compare(a, b, stage=stage)
        return msgspec.structs.replace(found, caveats=found.caveats[1:])

    monkeypatch.setattr(comparison_report, "compare", decorated)
    with pytest.raises(AssertionError):
        ask_every_door(drawn)


def test_each_code_has_words_and_each_word_a_code() -> None:
    """Codes are those that the product makes: a new one needs words, and words without a code are dead."""
    import re

    source = "".join(
        path.read_text(encoding="utf-8") for path in Path(app.__file__).parent.parent.rglob("*.py")
    )
    made = set(re.findall(r'(?<!\.)\b(?:veto|limit|note)\(\s*"([a-z-]+)"', source))
    made |= {"running", "failed", "waiting", "interrupted", "environment-differs", *KIND_LIMITS}
    assert made == set(WORDS)
    page = (Path(app.__file__).parents[3] / "docs" / "reference" / "report.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \|", page.split("## Caveats")[1].split("\n## ")[0], re.MULTILINE)
    assert sorted(listed) == sorted(WORDS)
