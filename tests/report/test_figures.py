"""The pictures as files: all of them, not empty, drawn the same each time, and readable by others."""

import os
import random
from pathlib import Path
from xml.etree import ElementTree as ET

import altair
import msgspec
import pytest
from jsonschema import ValidationError

from mileage.judge import Sample, compare_stages
from mileage.report import StudyView, render_html, render_text, vega, write_figures
from mileage.report.aspects import drawn_tests
from mileage.report.chart_data import AMPLIFICATION, ChartData, Layout, LevelRuns, RunTrace, Tail, Wear
from mileage.report.charts import before_after_svg
from mileage.report.effects_apart import first_sentence
from mileage.report.figures import CAPTIONS
from mileage.report.gallery import gallery
from mileage.report.render_pool import svg_of
from mileage.report.timeline import stair_values, timeline_chart
from mileage.store.safe_directory import Directory
from tests.report.conftest import example, samples


def test_every_figure_is_written_as_svg_and_png(study: StudyView, tmp_path: Path) -> None:
    places = {cell.cell: {"test": cell.cell.partition(" ")[0]} for cell in study.comparison.cells}
    evidence = msgspec.structs.replace(study.evidence, places=places)
    study = msgspec.structs.replace(study, evidence=evidence)
    written = write_figures(study, Directory.open(tmp_path))
    tests = ("throughput_write", "throughput_rewrite", "throughput_read", "throughput_random_write",
             "iops_random_write", "iops_random_read")  # fmt: skip
    names = {"forest", "latency", "before_after", "torture", "over_time", *tests}
    drawn = [path for path in written if path.name != CAPTIONS]
    assert {p.name for p in drawn} == {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
    captions = (tmp_path / "figures" / CAPTIONS).read_text(encoding="utf-8")
    assert first_sentence(study) in captions
    assert all(f"\n\n{name}: " in captions for name in names)
    for path in drawn:
        content = path.read_bytes()
        assert len(content) > 3000
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<svg")


def test_what_cannot_be_drawn_is_omitted(tmp_path: Path) -> None:
    nothing = compare_stages([], baseline="before", candidate="after", relevance={})
    assert write_figures(example(comparison=nothing, torture=[]), Directory.open(tmp_path)) == []


def test_the_drawings_are_valid_xml_with_a_title_and_tooltips(study: StudyView) -> None:
    svg = before_after_svg(study, name="bars")
    assert svg is not None
    root = ET.fromstring(svg.result())
    titles = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "Measured in before and after"
    assert any("before: 11,788" in title and "30 runs" in title for title in titles)


def test_every_chart_satisfies_the_schema_of_its_language(
    study: StudyView, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[vega.Spec] = []
    whole = vega.whole
    monkeypatch.setattr(vega, "whole", lambda chart: drawn.append(whole(chart)) or drawn[-1])
    pictures = [*gallery(study), *gallery(hostile_view("<b>"))]
    assert len(drawn) == len(pictures) > 20
    # Validating one takes a quarter of a second, so the seed draws some.
    thorough = os.environ.get("MILEAGE_TEST_PROFILE") == "thorough"
    chosen = drawn if thorough else random.Random(os.environ["MILEAGE_TEST_SEED"]).sample(drawn, 8)
    for chart in chosen:
        altair.Chart.from_dict(msgspec.json.decode(msgspec.json.encode(chart)), validate=True)
    with pytest.raises(ValidationError):
        altair.Chart.from_dict({**drawn[0], "spacing": "wide"}, validate=True)


def hostile_view(hostile: str) -> StudyView:
    """A view with every picture, in which all names are this one, and with more cells than a forest plot shows."""
    cells = [
        msgspec.structs.replace(s, run=part * 100_000 + s.run, cell=f"{hostile} {s.cell}, part {part}")
        for part in range(2)
        for s in samples(blocks=2)
    ]
    judged = compare_stages(cells, baseline="before", candidate="after", relevance={})
    names = [cell.cell for cell in judged.cells]
    trace = RunTrace(
        arm=hostile,
        cycle=1,
        block=1,
        end_s=[1.0, 2.0, 3.0],
        moved_bytes=[1e9, 2e9, 3e9],
        rate_bytes_per_s=[1e9, 1e9, 2e9],
        p50_ns=[1e6] * 3,
        p99_ns=[2e6] * 3,
        max_ns=[3e6] * 3,
        counters={AMPLIFICATION: [1.0, 1.5, 2.0]},
        cuts=[2],
    )
    tail = Tail(arm=hostile, kind="service", runs=1, operations=9, latency_ns=[1e5, 1e6], above=[1.0, 0.2])
    evidence = ChartData(
        cell=hostile,
        runs=[trace],
        tails=[tail],
        levels=[LevelRuns(cell=hostile, metric="ops_per_s", levels={hostile: [1.0, 2.0], "b'": [3.0, 2.0]})],
        baseline_level=hostile,
        places={name: {"test": hostile, "record": f"{at} KiB'{hostile}"} for at, name in enumerate(names)},
        wear=[Wear(hostile, 1, 0.0, 5.0), Wear(hostile, 2, 4.0, 9.0), Wear("life left, %", 1, 100.0, 90.0)],
        layouts=[Layout(hostile, 4, 2, 1 << 20, 1 << 18, True)],
    )
    return example(
        name=hostile, target=hostile, factor=hostile, comparison=judged, torture=[trace], evidence=evidence
    )


def test_an_empty_interval_is_a_gap_and_a_rate_is_a_stair() -> None:
    trace = RunTrace(
        arm="after",
        cycle=1,
        block=1,
        end_s=[1.0, 2.0, 3.0, 4.0],
        moved_bytes=[1e9, 2e9, 2e9, 3e9],
        rate_bytes_per_s=[1e9, 1e9, 0.0, 1e9],
        p50_ns=[1e6, 1e6, 0.0, 1e6],
        p99_ns=[2e6, 2e6, 0.0, 2e6],
        max_ns=[3e6, 3e6, 0.0, 3e6],
        cuts=[2],
    )
    chart = timeline_chart([trace], axis="time", width=400, latency=True, counters=False)
    assert chart is not None
    rate, latency = chart["vconcat"]
    lines = [layer for layer in latency["layer"] if layer["mark"]["type"] == "line"]
    drawn = [[row["y"] for row in line["data"]["values"]] for line in lines]
    assert drawn == [[1.0, 1.0, None, 1.0], [2.0, 2.0, None, 2.0], [3.0, 3.0, None, 3.0]]
    (stair,) = [layer for layer in rate["layer"] if layer["mark"]["type"] == "line"]
    assert stair["mark"]["interpolate"] == "step-before"
    places = [row["words"] for layer in rate["layer"] for row in layer["data"]["values"] if "words" in row]
    assert "2.00 seconds" in places
    paths = ET.fromstring(svg_of(chart, name="gap", title="", description="").result()).iter()
    broken = [
        path.get("d", "") for path in paths if "M" in path.get("d", "") and path.get("stroke-width") == "1.6"
    ]
    assert len(broken) == 3
    assert all(path.count("M") == 2 for path in broken), broken


def test_the_median_of_stairs_is_a_stair() -> None:
    line = [(0.0, 5.0), (2.0, 5.0), (4.0, 1.0)]
    assert stair_values(line, [0.0, 0.5, 2.0, 2.1, 4.0, 9.0]).tolist() == [5.0, 5.0, 5.0, 1.0, 1.0, 1.0]


def test_hostile_names_stay_text_in_every_drawing_and_its_file(tmp_path: Path) -> None:
    view = hostile_view("</text><script>alert(1)</script>'\\\"${datum.x}\u202e")
    written = write_figures(view, Directory.open(tmp_path))
    svgs = [path for path in written if path.suffix == ".svg"]
    names_drawn = {path.stem for path in svgs}
    assert {
        "headline_runs",
        "headline_latency",
        "levels",
        "changes_map",
        "over_time",
        "wear",
    } <= names_drawn
    assert any(name.startswith("layout_") for name in names_drawn)
    for path in svgs:
        text = path.read_text(encoding="utf-8")
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}
        assert tags <= {
            "svg",
            "g",
            "path",
            "text",
            "title",
            "desc",
            "rect",
            "line",
            "defs",
            "clipPath",
            "circle",
            "tspan",
        }
        assert "<script" not in text
        assert "\u202e" not in text
    assert "<script>alert" not in render_html(view)


@pytest.mark.parametrize(("tests", "output"), [(30, False), (31, True)])
def test_tests_without_a_file_of_their_own_are_counted_in_text_and_page(tests: int, output: bool) -> None:
    cells = [f"suite.test{number} 4 KiB" for number in range(tests)]
    found = [
        Sample(
            0,
            cycle,
            "torture",
            stage,
            1,
            "throughput",
            cell,
            "rate_bytes_per_s",
            value,
            higher_is_better=True,
        )
        for cell in cells
        for stage, value in (("before", 100.0), ("after", 50.0))
        for cycle in (1, 2)
    ]
    view = example(comparison=compare_stages(found, baseline="before", candidate="after", relevance={}))
    assert len(drawn_tests(view)) == 30
    sentence = f"The first 30 of {tests} tests have a figure file named after them"
    assert (sentence in " ".join(render_text(view).split())) == output
    assert (sentence in render_html(view, drawn=False)) == output
