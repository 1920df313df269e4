"""What a user asks of a comparison of results whose figures are known, and of its words and numbers."""

from __future__ import annotations

import math
import random
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import t as student

from tests.answers import fio_report
from tests.answers.question import ask, ask_json, suppose

BASE = (10_000.0, 10_150.0, 9_900.0, 10_080.0, 9_970.0)


def import_rates(folder: Path, out: str, rates: Sequence[float], session: str = "lab") -> str:
    """A study of one fio job with these IOPS, at depth 1."""
    names = []
    for run, iops in enumerate(rates):
        document = fio_report.report(
            [fio_report.job("oltp", iops=iops, clat_ns=0.95e9 / iops)], at_s=1_700_000_000 + 100 * run
        )
        names.append(fio_report.save(folder / f"{out}-{run}.json", document))
    ask("import", *names, "--out", out, "--session", session, cwd=folder)
    return out


def rate_cell(folder: Path, one: str, other: str) -> dict[str, Any]:
    """The judged IOPS of the only job."""
    cells = ask_json("compare", one, other, cwd=folder)["cells"]
    (cell,) = [cell for cell in cells if cell["metric"] == "ops_per_s"]
    assert isinstance(cell, dict)
    return cell


def test_a_drive_compared_with_itself_is_the_same(tmp_path: Path) -> None:
    """Is a drive the same as itself?

    Truth: yes; both studies hold the same figures, by construction, so that the ratio is 1 exactly.
    """
    cell = rate_cell(tmp_path, import_rates(tmp_path, "one", BASE), import_rates(tmp_path, "other", BASE))
    assert cell["ratio"] == pytest.approx(1.0, abs=1e-12)
    assert cell["verdict"] == "same"


def test_swapped_arms_give_the_reciprocal(tmp_path: Path) -> None:
    """If B is 1.3 times as fast as A, how fast is A compared with B?

    Truth: 1 / 1.3, by arithmetic; the interval is inverted with it and the verdict turns around.
    """
    one = import_rates(tmp_path, "one", BASE)
    other = import_rates(tmp_path, "other", [1.3 * rate for rate in reversed(BASE)])
    there, back = rate_cell(tmp_path, one, other), rate_cell(tmp_path, other, one)
    assert there["ratio"] == pytest.approx(1.3, rel=1e-3)
    assert there["ratio"] * back["ratio"] == pytest.approx(1, rel=1e-9)
    assert there["ci95"][0] * back["ci95"][1] == pytest.approx(1, rel=1e-9)
    assert (there["verdict"], back["verdict"]) == ("faster", "slower")


def test_the_interval_is_that_of_the_textbook(tmp_path: Path) -> None:
    """Are these two fio runs different, and by how much?

    Truth: Welch's interval for the difference of the means of logarithms, computed here from the ten rates.
    """
    other = [rate * factor for rate, factor in zip(BASE, (1.031, 1.012, 1.044, 1.002, 1.025), strict=True)]
    found = rate_cell(tmp_path, import_rates(tmp_path, "one", BASE), import_rates(tmp_path, "two", other))
    logs = [[math.log(rate) for rate in rates] for rates in (BASE, other)]
    shares = [statistics.variance(arm) / len(arm) for arm in logs]
    difference = statistics.mean(logs[1]) - statistics.mean(logs[0])
    freedom = sum(shares) ** 2 / sum(share**2 / 4 for share in shares)
    half = float(student.ppf(0.975, freedom)) * math.sqrt(sum(shares))
    assert found["ratio"] == pytest.approx(math.exp(difference), rel=1e-3)
    assert found["ci95"] == pytest.approx(
        [math.exp(difference - half), math.exp(difference + half)], rel=2e-3
    )


def test_both_ends_of_an_interval_have_one_unit(tmp_path: Path) -> None:
    """Between which two figures does the change lie?

    Truth: an interval is read by its two ends, which must have one unit. The rates spread fourfold by construction, so
    that the interval is wide.
    """
    one = import_rates(tmp_path, "one", (2_000, 8_000, 4_000))
    other = import_rates(tmp_path, "other", (2_100, 7_000, 4_500))
    compared = ask("compare", one, other, cwd=tmp_path)
    assert not re.search(r"%\s+to\s+[\d.,e+]+\s+times", compared), compared


def test_a_spread_of_two_runs_is_a_readable_figure(tmp_path: Path) -> None:
    """How far do my two runs spread around 6,250 IOPS?

    Truth: both lie within 5,000 and 7,500, 20 % from their mean. The mean of two rates cannot be below zero, so that
    a half width of more than 100 % says nothing that can be read: the interval does.
    """
    names = [
        fio_report.save(
            tmp_path / f"{iops}.json",
            fio_report.report(
                [fio_report.job("a", iops=iops, clat_ns=9e8 / iops)], at_s=1_700_000_000 + iops
            ),
        )
        for iops in (5_000, 7_500)
    ]
    printed = ask("import", *names, "--out", "out", cwd=tmp_path)
    table = printed.partition("\n---")[2]
    (row,) = [line for line in table.splitlines() if line.startswith("fio.randread")]
    shares = [float(found.replace(",", "")) for found in re.findall(r"([\d.,]+) %", row)]
    assert all(share <= 100 for share in shares), row
    # Student's interval of two logarithms: t of one degree of freedom, 12.706, times half their difference, both ways.
    low, high = (float(end.replace(",", "")) for end in re.findall(r"([\d.,]+) to ([\d.,]+)", printed)[0])
    assert math.log(high / low) == pytest.approx(12.706 * math.log(7_500 / 5_000), rel=0.01)
    assert "the interval itself" in " ".join(printed.split())


def test_an_undecided_interval_contains_no_change(tmp_path: Path) -> None:
    """Why is a change undecided whose interval lies above zero?

    Truth: an interval that excludes zero says that there is a change. Where the verdict allows for 15 comparisons and
    the interval does not, the row contradicts itself, unless it gives the reason.
    """
    shifts = (0.0, 0.06, -0.055, 0.02)
    for name, factor in (("one", 1.0), ("other", 1.15)):
        names = []
        for run, shift in enumerate(shifts):
            jobs = []
            for at in range(15):
                iops = 10_000 * (1 + shift * (1 + at / 100)) * (factor if at == 7 else 1)
                jobs.append(fio_report.job(f"j{at}", iops=iops, clat_ns=0.95e9 / iops, bs=f"{4 * (at + 1)}k"))
            document = fio_report.report(jobs, at_s=1_700_000_000 + 100 * run)
            names.append(fio_report.save(tmp_path / f"{name}-{run}.json", document))
        ask("import", *names, "--out", name, "--session", "lab", cwd=tmp_path)
    compared = ask("compare", "one", "other", cwd=tmp_path)
    rows = [line for line in compared.splitlines() if "undecided" in line and " to " in line]
    apart = [line for line in rows if re.search(r"\+[\d.]+ to \+[\d.]+ %", line)]
    suppose(len(rows) > 0, compared)

    assert not apart or re.search(r"corrected|simultaneous|Holm|comparisons", compared), apart


def test_a_trend_over_the_repetitions_is_seen(tmp_path: Path) -> None:
    """Are these ten runs repetitions of one measurement?

    Truth: no: each is slower than the one before, from 10,000 to 1,000 IOPS, in the order in which they were done. In
    random order that happens once in 10! = 3,628,800 times.
    """
    one = import_rates(tmp_path, "one", [1000.0 * at for at in range(10, 0, -1)])
    other = import_rates(tmp_path, "other", [950.0 * at for at in range(10, 0, -1)])
    printed = ask("compare", one, other, cwd=tmp_path) + ask("report", one, "--report", "text", cwd=tmp_path)
    assert re.search(r"trend|drift|from run to run|slower with each", printed), printed


def test_a_history_finds_the_night_of_the_change(tmp_path: Path) -> None:
    """In which night did the storage become slower?

    Truth: in the seventh of twelve, by 30 %, by construction; nights differ by 1 % else, runs by 0.3 %. The last is as
    the five before it.
    """
    chance = random.Random(2010)
    nights = []
    for night in range(12):
        level = 10_000 * (1.0 if night < 6 else 0.7) * (1 + chance.gauss(0, 0.01))
        rates = [level * (1 + chance.gauss(0, 0.003)) for _ in range(4)]
        nights.append(import_rates(tmp_path, f"night-{night}", rates, session=f"night-{night}"))
    found = " ".join(ask("compare", "--history", *nights, cwd=tmp_path).split())
    assert re.search(r"changed by [-−](29|3[01])\.\d% from night-6 on", found), found
    assert found.count(" changed by ") == 1
    assert "one session of four runs against five sessions of four runs" in found.lower()


def test_sides_are_named_by_what_differs_and_a_simulation_is_called_one(tmp_path: Path) -> None:
    """What are these two folders, whose names say nothing?

    Truth: the drives that were simulated; both, so that the first sentence of the text and of the page says it.
    """
    drives = {"n00": "virtual:plain-64gib", "n01": "virtual:plain-64gib,program_us=900"}
    for name, drive in drives.items():
        ask("measure", "-t", drive, "--operations", "300", "--repeat", "3", "--save", name, cwd=tmp_path)
    said = ask("compare", "n00", "n01", cwd=tmp_path)
    assert "simulation" in said.partition(". ")[0]
    sides = " ".join(said.split("\n\n")[1].split())
    for name, drive in drives.items():
        assert re.search(rf"{name}:measure: {re.escape(drive)}[;.,]", sides), sides
    ask("report", "n00", "n01", "--out", "both", cwd=tmp_path)
    page = (tmp_path / "both" / "report.html").read_text()
    verdict = re.search(r'<p class="verdict[^"]*">(.*?)</p>', page, re.DOTALL)
    assert verdict is not None
    assert "simulation" in verdict[1].partition(". ")[0]
