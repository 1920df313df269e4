"""The pictures as files: all of them, not empty, drawn the same each time, and readable by others."""

from pathlib import Path
from xml.etree import ElementTree as ET

from mileage.judge import compare_stages
from mileage.report import StudyView, write_figures
from mileage.report.charts import before_after_svg
from mileage.report.forest import forest_chart
from mileage.report.stages import before_after_chart
from mileage.report.torture import torture_chart
from tests.report.conftest import example


def test_every_figure_is_written_as_svg_and_png(study: StudyView, tmp_path: Path) -> None:
    written = write_figures(study, tmp_path / "figures")
    tests = ("throughput_write", "throughput_rewrite", "throughput_read", "throughput_random_write",
             "iops_random_write", "iops_random_read")  # fmt: skip
    names = {"forest", "latency", "before_after", "torture", *(f"before_after_{test}" for test in tests)}
    assert {p.name for p in written} == {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
    for path in written:
        content = path.read_bytes()
        assert len(content) > 3000
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<svg")


def test_what_cannot_be_drawn_is_left_out(tmp_path: Path) -> None:
    nothing = compare_stages([], baseline="before", candidate="after", relevance={})
    assert write_figures(example(comparison=nothing, torture=[]), tmp_path) == []


def test_the_drawings_are_valid_xml_with_a_title_and_tooltips(study: StudyView) -> None:
    svg = before_after_svg(study, name="bars")
    assert svg is not None
    root = ET.fromstring(svg)
    titles = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "Measured in before and after"
    assert any("before: 11,788" in title and "30 runs" in title for title in titles)


def test_every_chart_satisfies_the_schema_of_its_language(study: StudyView) -> None:
    forest = forest_chart(study.comparison.cells, baseline="before", candidate="after")
    bars = before_after_chart(study.headline, baseline="before", candidate="after")
    trace = torture_chart(study.torture, capacity_bytes=study.capacity_bytes)
    for chart in (forest, bars, trace):
        assert chart is not None
        chart.to_dict(validate=True)
