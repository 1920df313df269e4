"""File layouts of IOR: what `mileage ior` did, what listings of IOR report, and both on their pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.analysis.imported_study import imported_page
from mileage.analysis.ior_layouts import planned_layouts, reported_layouts
from mileage.app.comparison_report import pair_view
from mileage.app.importer import make_study, read_files
from mileage.app.result import load_plan
from mileage.report.chart_data import Layout
from mileage.report.imported_study import render_imported
from mileage.report.ior_layout_chart import layout_names, layout_words
from mileage.store import StudyFolder
from tests.command import mileage
from tests.formats.sample_reader import SAMPLES
from tests.formats.test_ior import IOR_2

KIB = 1024


def imported(path: Path, out: Path) -> list[Layout]:
    return reported_layouts(list(make_study(read_files([path]), out).content().imported_runs()))


@pytest.mark.parametrize(("flags", "shared"), [("", True), ("-F", False)], ids=["shared", "own files"])
def test_a_run_and_the_import_of_its_listing_have_the_layout_of_the_flags(
    flags: str, shared: bool, tmp_path: Path
) -> None:
    line = f"ior --save study --tasks 2 -w -r -b 256k -t 64k -s 3 {flags} -o file"
    done = mileage(*line.split(), cwd=tmp_path, env={"MILEAGE_REPORT": "full"})
    assert done.returncode == 0, done.stderr
    (tmp_path / "listing.out").write_text(done.stdout)
    names = ["write", "read"]
    expected = (2, 3, 256 * KIB, 64 * KIB, shared)
    (planned,) = planned_layouts(load_plan(StudyFolder.open(tmp_path / "study")))
    (reported,) = imported(tmp_path / "listing.out", tmp_path / "import")
    for layout in (planned, reported):
        assert (
            layout.tasks,
            layout.segments,
            layout.block_bytes,
            layout.transfer_bytes,
            layout.shared,
        ) == expected
    assert reported.name == ", ".join(f"ior.{name} 64 KiB" for name in names)
    folder = StudyFolder.open(tmp_path / "import")
    page = render_imported(imported_page(load_plan(folder), folder))
    measured = (tmp_path / "study" / "report.html").read_text()
    for html, layout in ((page, reported), (measured, planned)):
        assert html.count(f"File layout of {layout.name}</title>") == 2, "one for a phone, one for a screen"
        assert f"<figcaption>{layout_words(layout)}</figcaption>" in html
        assert (">segment 2</text>" if shared else ">file of task 1</text>") in html
        assert ">segment 3</text>" not in html


@pytest.mark.parametrize("name", ["ior-vv.out", "ior-plain.out", "ior-json.out"])
def test_the_samples_of_ior_4(name: str, tmp_path: Path) -> None:
    """They were printed by: ior -a POSIX -b 256k -t 64k -s 4 -F -i 3, with two tasks."""
    (layout,) = imported(SAMPLES / name, tmp_path / "study")
    assert layout == Layout("ior.write 64 KiB, ior.read 64 KiB", 2, 4, 256 * KIB, 64 * KIB, False)


def test_ior_2_has_its_segments_in_words(tmp_path: Path) -> None:
    (tmp_path / "ior.out").write_text(IOR_2)
    (layout,) = imported(tmp_path / "ior.out", tmp_path / "study")
    assert layout == Layout("ior.write 4 KiB, ior.read 4 KiB", 4, 1000, 64 * KIB, 4 * KIB, False)


def test_a_rounded_block_is_taken_from_its_column(tmp_path: Path) -> None:
    listing = IOR_2.replace("65536 bytes", "9.46 TiB").replace("64.00      4.00", "10158080000 4.00")
    (tmp_path / "ior.out").write_text(listing)
    (layout,) = imported(tmp_path / "ior.out", tmp_path / "study")
    assert layout.block_bytes == 10158080000 * KIB


@pytest.mark.parametrize("missing", ["access             =", "pattern            =", "clients            ="])
def test_what_a_listing_lacks_is_not_guessed(missing: str, tmp_path: Path) -> None:
    lines = [line for line in IOR_2.splitlines(keepends=True) if missing not in line]
    assert len(lines) == IOR_2.count("\n") - 1
    (tmp_path / "ior.out").write_text("".join(lines))
    assert imported(tmp_path / "ior.out", tmp_path / "study") == []
    assert imported(SAMPLES / "ior.csv", tmp_path / "table") == []


def test_a_comparison_of_two_imports_has_each_layout_once(tmp_path: Path) -> None:
    for name, block in (("a", 64), ("b", 64), ("c", 128)):
        listing = IOR_2.replace("64.00      4.00", f"{block}.00      4.00")
        (tmp_path / f"{name}.out").write_text(listing.replace("65536 bytes", f"{block * KIB} bytes"))
        imported(tmp_path / f"{name}.out", tmp_path / name)
    names = "ior.write 4 KiB, ior.read 4 KiB"
    for other, blocks in (("b", [64 * KIB]), ("c", [64 * KIB, 128 * KIB])):
        layouts = pair_view(str(tmp_path / "a"), str(tmp_path / other)).evidence.layouts
        assert [(layout.name, layout.block_bytes) for layout in layouts] == [(names, own) for own in blocks]


def test_pictures_have_names_of_their_own() -> None:
    layouts = [Layout(name, 1, 1, 4096, 4096, True) for name in ("a" * 60, "a" * 61, "λ", "")]
    assert list(layout_names(layouts).values()) == layouts
