"""The page of a study that compares nothing takes no orders from the texts in it."""

import re
from csv import DictReader
from html import unescape
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from mileage.analysis.view import measured_page
from mileage.app import run
from mileage.app.result import load
from mileage.plan.iozone_suite import IOZONE, Suite
from mileage.report.chart_data import ChartData, ScanPoint
from mileage.report.measurement_charts import measured_pictures
from mileage.report.measurement_page import MeasuredPage, render_measured
from mileage.report.measurement_text import ROWS_SHOWN, answer, measured_text
from mileage.report.quantity import duration
from mileage.report.scan_chart import scan_chart
from mileage.store import StudyFolder, measured_cells
from tests.command import mileage
from tests.report.test_figures import hostile_view

HOSTILE = "<script>alert(1)</script>\x1b]0;x\x07\u202e"


def test_hostile_texts_are_shown_and_not_obeyed() -> None:
    page = MeasuredPage(
        name=HOSTILE,
        question=HOSTILE,
        target=HOSTILE,
        setting=(HOSTILE,),
        cells=(),
        runs_total=1,
        runs_failed=0,
        method=HOSTILE,
        command=HOSTILE,
        identity={HOSTILE: HOSTILE},
        unfinished=(HOSTILE,),
        evidence=hostile_view(HOSTILE).evidence,
        factor=HOSTILE,
        environments=[(HOSTILE, {HOSTILE: HOSTILE, "now.loadavg": "7"})],
    )
    output = render_measured(page)
    # Four pictures, each again as wide as a phone, and the script of the page itself.
    assert output.count("<svg") == 2 * 4
    assert output.count("<script>") == 1
    assert not set(output) & set("\x1b\x07\u202e")
    assert output.count("\\u001b]0;x\\u0007\\u202e") >= 9


def test_volatile_facts_and_raw_markdown_are_not_on_the_page() -> None:
    page = MeasuredPage(
        name="measure",
        question="How fast?",
        target="virtual:plain-64gib",
        setting=(),
        cells=(),
        runs_total=1,
        runs_failed=0,
        method="",
        command="mileage measure",
        identity={},
        environments=[("measure", {"kernel": "6.1", "now.loadavg": "7"})],
    )
    html = render_measured(page)
    assert "6.1" in html
    assert "loadavg" not in html
    assert "`" not in html


def test_a_change_of_level_is_drawn_and_described_for_runs_of_one_cell_only() -> None:
    one = hostile_view("one").evidence
    several = replace(one, runs=[*one.runs, replace(one.runs[0], arm="another")])
    drawn = {
        name: next(picture for picture in measured_pictures(found, "cell") if picture.name == "runs")
        for name, found in {"one": one, "several": several}.items()
    }
    output = {name: ("level changes at" in picture.caption.lower()) for name, picture in drawn.items()}
    dashed = {name: "stroke-dasharray" in picture.svg for name, picture in drawn.items()}
    assert output == dashed == {"one": True, "several": False}


def point(series: str, at: float, rate: float, **more: float | int | None) -> ScanPoint:
    return ScanPoint(series=series, level=f"{at:g}", at=at, metric="ops_per_s", mean=rate, **more)  # type: ignore[arg-type]


def test_a_scan_has_its_rate_with_intervals_above_its_latency() -> None:
    points = [
        point(
            "read",
            at,
            1e3 * at,
            low=900.0 * at,
            high=1100.0 * at,
            p50_ns=90_000,
            p99_ns=None if at > 2 else 10**6,
        )
        for at in (4, 1, 2)
    ]
    chart = scan_chart([*points, point("few", 1, 5.0), point("few", 2, 5.0)], factor="depth", width=400)
    assert chart is not None
    rates, latencies = chart["vconcat"]
    drawn = {layer["mark"]["type"]: layer["data"]["values"] for layer in rates["layer"]}
    assert [row["x"] for row in drawn["line"]] == [1, 2, 4]
    assert [(row["y"], row["high"]) for row in drawn["rule"]] == [(900, 1100), (1800, 2200), (3600, 4400)]
    lines = [layer["data"]["values"] for layer in latencies["layer"] if layer["mark"]["type"] == "line"]
    assert [[row["y"] for row in line] for line in lines] == [[0.09] * 3, [1.0] * 2]
    assert scan_chart(points[:2], factor="depth", width=400) is None
    pictures = measured_pictures(ChartData(scan=points), "depth")
    assert [picture.name for picture in pictures] == ["scan", "scan_narrow"]
    # Its axis is logarithmic: the page's script reads linear axes alone.
    assert [picture.axes for picture in pictures] == ["", ""]


def test_the_page_begins_with_the_lowest_and_the_highest_rate(tmp_path: Path) -> None:
    words = (
        "--vary",
        "depth=1,2,8",
        "--operations",
        "3000",
        "--repeat",
        "3",
        "--save",
        str(tmp_path / "study"),
    )
    done = mileage("measure", "-t", "virtual:plain-64gib", "-w", "random_read", *words)
    assert done.returncode == 0, done.stderr
    page = unescape((tmp_path / "study" / "report.html").read_text("utf-8"))
    answer = re.search(r'<p class="verdict">From ([\d,]+) IOPS.* to ([\d,]+) IOPS.*at ([^<]*)\.<', page)
    assert answer is not None
    shown = re.findall(r'<th scope="row">(.*?)</th>.*?</tr>', page, re.DOTALL)
    assert answer[3] in shown
    assert "depth 8" in answer[3]
    # A deeper queue is served faster: the ends are far apart, so nothing is said of an overlap.
    assert float(answer[2].replace(",", "")) > 2 * float(answer[1].replace(",", ""))
    assert "intervals overlap" not in page


TESTS = [f"iozone.{test}" for test in IOZONE if test not in Suite.alone]


def test_of_many_cells_each_test_has_a_chart_and_the_table_is_folded(tmp_path: Path) -> None:
    """Thirteen tests at three record sizes: 39 cells."""
    words = ("-w", "iozone.*", "--vary", "record=4KiB,16KiB,64KiB", "--size", "256KiB", "--save", "study")
    done = mileage("measure", "-t", f"dir:{tmp_path}", *words, cwd=tmp_path, env={"MILEAGE_REPORT": "full"})
    assert done.returncode == 0, done.stderr
    assert "page cache bypassed, but not by C streams" in " ".join(done.stdout.split())
    page = (tmp_path / "study" / "report.html").read_text("utf-8")
    shown, folded = page.split("All 39 cells</h2>")
    assert folded.count('<th scope="row">iozone.') == 39
    assert "<table" not in shown
    titles = re.findall(r"<title[^>]*>Rates of iozone\.(\w+)</title>", shown)
    assert titles == [name.removeprefix("iozone.") for name in TESTS]
    files = {path.stem for path in (tmp_path / "study" / "figures").glob("iozone_*.svg")}
    assert files == {name.replace(".", "_") for name in TESTS}
    assert "No step between neighbouring sizes is shown: single runs have no interval." in folded
    study = load(tmp_path / "study")
    cells = measured_cells(study.content())
    planned = study.plan.cells

    def listed(count: int, elsewhere: str) -> tuple[int, str]:
        table = measured_text((cells * 2)[:count], planned, elsewhere=elsewhere).partition("\n\n")[0]
        return table.count("iozone."), table.splitlines()[-1]

    assert listed(39, "the page has all")[0] == 39
    assert listed(78, "the page has all") == (ROWS_SHOWN, "and 18 more cells; the page has all")
    assert listed(78, "")[0] == 78


class RatedCell(NamedTuple):
    cell: str
    rate_bytes_per_s: tuple[float, ...]
    ops_per_s: tuple[float, ...]
    runs: int = 1
    failed: int = 0
    elapsed_s: tuple[float, ...] = (1.0,)


def test_operations_of_several_sizes_are_ordered_by_their_bytes() -> None:
    """A large record has fewer operations and more bytes per second, and is the faster one."""
    small, large = RatedCell("4 KiB", (40e6,), (10_000.0,)), RatedCell("1 MiB", (500e6,), (477.0,))
    assert answer([small, large]).endswith(": from 40.0 MB/s at 4 KiB, to 500 MB/s at 1 MiB.")
    deep = RatedCell("depth 8", (200e6,), (50_000.0,))
    assert answer([deep, small]).endswith(
        ": from 10,000 IOPS, 40.0 MB/s, at 4 KiB, to 50,000 IOPS, 200 MB/s, at depth 8."
    )


def test_tests_of_names_have_their_wall_time_in_text_and_table(tmp_path: Path) -> None:
    words = ("metarates", "--tasks", "2", "-d", str(tmp_path), "-n", "100", "-C", "-S")
    done = mileage(*words, "--study", str(tmp_path / "study"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = load(tmp_path / "study")
    (entry,) = result.folder.content().runs()
    spans = {
        one.name: [task.operate_ns for task in one.record.tasks if task.operate_ns is not None]
        for one in entry.record.results or ()
    }
    wall_s = {
        name: (max(end for _, end in own) - min(start for start, _ in own)) / 1e9
        for name, own in spans.items()
    }
    rows = DictReader(StringIO((tmp_path / "study" / "tables" / "measured.csv").read_text()))
    assert {row["cell"]: float(row["elapsed_s"]) for row in rows} == wall_s
    head, *lines = measured_text(measured_cells(result.folder.content()), result.plan.cells).splitlines()
    assert "MiB/s" not in head
    assert head.split()[:2] == ["time", "IOPS"]
    for name, seconds in wall_s.items():
        (line,) = [line for line in lines if name in line]
        assert duration(1e9 * seconds) in line


def figures_over_tasks(place: Path, workloads: str, tasks: str) -> tuple[ChartData, str]:
    """What is drawn of a study of metarates on a modelled host, and its factor."""
    study = place / "np.toml"
    study.write_text(
        f"""
name = "np"
seed = 3
target = "virtual:intel-x25e-64gb@phenom-8gib,scale=1/64"
state = {{ start = "purged", cache = "warm", file = "4MiB" }}
stage = [{{ name = "before", measure = ["names"] }}]
[measure.names]
workload = {workloads}
threads = {tasks}
stop = {{ operations = 16 }}
repeat = 1
"""
    )
    page = measured_page(
        run(str(study), out=place / "study", report="none").plan, StudyFolder(place / "study")
    )
    return page.evidence, page.factor


def test_rates_of_tasks_are_drawn_over_np(tmp_path: Path) -> None:
    evidence, factor = figures_over_tasks(tmp_path, '["metarates.create", "metarates.stat"]', "[1, 2, 4]")
    assert factor == "NP"
    assert [found.cell for found in evidence.levels] == ["metarates.create", "metarates.stat"]
    assert {tuple(found.levels) for found in evidence.levels} == {("NP=1", "NP=2", "NP=4")}
    pictures = {picture.name: picture for picture in measured_pictures(evidence, factor)}
    assert "over NP" in pictures["scan"].caption
    assert ">NP<" in pictures["scan"].svg
    assert {found.series for found in evidence.scan} == {"metarates.create", "metarates.stat"}


def test_panels_of_more_tests_than_tasks_are_named_by_np(tmp_path: Path) -> None:
    evidence, factor = figures_over_tasks(
        tmp_path, '["metarates.create", "metarates.stat", "metarates.utime"]', "[1, 2]"
    )
    assert factor == "test"
    assert [found.cell for found in evidence.levels] == ["NP=1", "NP=2"]
