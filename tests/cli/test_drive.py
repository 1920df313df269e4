"""`mileage drive`: data sheets, one workload on one drive, theory against simulation; and a drive in steps."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from mileage import Drive
from mileage.report.datasheet import bars, confidence_word, data_sheet
from mileage.targets.profiles import drive_names
from tests.command import mileage
from tests.execute.conftest import small_profile


@pytest.mark.parametrize("name", drive_names())
def test_a_data_sheet_names_every_figure_with_its_source(name: str) -> None:
    result = mileage("drive", "show", name)
    rows = json.loads(mileage("drive", "show", name, "--json").stdout)["figures"]
    assert result.returncode == 0, result.stderr
    for row in rows:
        line = next(line for line in result.stdout.splitlines() if line.startswith(f"{row['name']} "))
        assert row["value"].split()[0] in line, "a long value continues in the lines below"
        assert confidence_word(row["confidence"]) in line
        assert row["source"]


def test_a_run_is_drawn_saved_and_continued(tmp_path: Path) -> None:
    state = tmp_path / "aged"
    few = ["--size", "64MiB", "--passes", "1"]
    first = mileage("drive", "run", "plain-64gib", *few, "--save", str(state))
    assert first.returncode == 0, first.stderr
    assert "write amplification 1.000" in first.stdout
    assert "MB/s" in first.stdout
    record = json.loads(mileage("drive", "run", "plain-64gib", *few, "--from", str(state), "--json").stdout)
    assert record["gauges"]["mapped_pages"] > 0
    assert record["series"]["counters"]["free_blocks"]
    assert record["life"] == "working"


def test_a_run_has_a_page_with_its_course(tmp_path: Path) -> None:
    profile, page = tmp_path / "small.toml", tmp_path / "page"
    profile.write_text(small_profile(blocks_per_plane=16))
    words = ["drive", "run", str(profile), "--fill", "--passes", "8", "--report", str(page)]
    record = json.loads(mileage(*words, "--json").stdout)
    html = (page / "report.html").read_text(encoding="utf-8")
    assert f"{record['counters']['gc_pages_moved']:,}" in html
    assert "<svg" in html
    assert (page / "figures" / "course.png").stat().st_size > 1000
    rows = list(csv.DictReader((page / "tables" / "course.csv").open(encoding="utf-8")))
    # The points are means of the intervals of the record: the same bytes, on the same axis of time.
    ends = [0.0, *(float(row["end_s"]) for row in rows)]
    moved = sum(
        float(row["rate_bytes_per_s"]) * (end - start)
        for row, start, end in zip(rows, ends, ends[1:], strict=False)
    )
    whole = record["series"]["bytes_written"][:-1]
    assert moved == pytest.approx(sum(whole), rel=1e-6)
    assert ends[-1] == pytest.approx(len(whole) * record["series"]["interval_ns"] / 1e9)
    assert float(rows[-1]["write amplification"]) > 1.5
    assert any(float(row["moved by GC/s"]) > 0 for row in rows)
    again = mileage(*words)
    assert again.returncode == 2
    assert "name a new folder with --report" in again.stderr
    short = mileage("drive", "run", "plain-64gib", "--size", "64KiB", "--report", str(tmp_path / "short"))
    assert short.returncode == 0, short.stderr
    assert "too few operations" in (tmp_path / "short" / "report.html").read_text(encoding="utf-8")


def test_discards_are_drawn_and_leave_that_share_unmapped(tmp_path: Path) -> None:
    profile = tmp_path / "small.toml"
    profile.write_text(small_profile(blocks_per_plane=16))
    few = [str(profile), "--fill", "--passes", "8"]
    words = ["drive", "run", *few, "--discards", "25"]
    record = json.loads(mileage(*words, "--json").stdout)
    operations = record["ops_written"] + record["ops_discarded"]
    pages = Drive(profile.read_text()).capacity_bytes // 4096
    # In balance as many pages are trimmed as are written to a place that holds nothing: q m = (1 - q) (1 - m).
    assert record["ops_discarded"] / operations == pytest.approx(0.25, rel=0.05)
    assert record["gauges"]["mapped_pages"] / pages == pytest.approx(0.75, rel=0.05)
    drawn = mileage(*words).stdout
    assert f"trimmed {record['counters']['trimmed_pages']:,} pages" in drawn
    assert "pages trimmed/s" in drawn
    without = mileage("drive", "run", *few).stdout
    assert "trimmed" not in without


def test_what_makes_no_sense_is_refused() -> None:
    for words, expected in [
        (["run", "plain-64gib", "--size", "1TB"], "span"),
        (["run", "no-such-drive"], "no-such-drive"),
    ]:
        result = mileage("drive", *words)
        assert result.returncode == 2, result.stdout
        assert expected in result.stderr


def test_a_drive_goes_in_steps_and_counts_in_numpy() -> None:
    drive = Drive("plain-64gib")
    names = drive.counter_names()
    before = drive.counter_array()
    assert before.dtype == np.uint64
    done = drive.submit("write", np.arange(8, dtype=np.uint64) * 4096, 4096)
    assert done.shape == (8,)
    assert (done > 0).all()
    moved = dict(zip(names, drive.counter_array() - before, strict=True))
    assert moved["host_pages_written"] == 8
    drive.idle(int(done.max()))
    later = drive.submit("read", [0], 4096)
    assert later[0] > done.max()
    with pytest.raises(ValueError, match="ends behind"):
        drive.submit("write", [1 << 60], 4096)
    with pytest.raises(ValueError, match="expected read"):
        drive.submit("erase", [0], 4096)
    assert drive.life == "working"
    assert dict(drive.gauges())["mapped_pages"] == 8


def test_bars_and_sheets_keep_their_width() -> None:
    assert bars([]) == ""
    assert bars([0, 1, 2, 4]) == " ▂▄█"
    assert len(bars(list(range(1000)))) == 60
    sheet = data_sheet("A drive", [("a_us", "1", "a long source " * 20, "source")], width=60)
    assert max(map(len, sheet.splitlines())) <= 60


def test_the_power_can_be_cut_in_a_run(tmp_path: Path) -> None:
    figure = '{} = {{ value = {}, source = "a test", confidence = "defined" }}\n'
    sound = small_profile(blocks_per_plane=16)
    lines = [line for line in sound.splitlines() if not line.startswith("write_buffer_pages")]
    buffered = "\n".join([*lines, figure.format("write_buffer_pages", 64)])
    profile = tmp_path / "buffered.toml"
    words = ("drive", "run", str(profile), "--passes", "50", "--depth", "8", "--power-cut", "0.25")
    lost = {}
    for power in ("volatile", "protected"):
        profile.write_text(buffered + figure.format("write_buffer_power", f'"{power}"'))
        cut = json.loads(mileage(*words, "--json").stdout)["power_cut"]
        assert 0.25e9 <= cut["after_ns"] < 0.26e9
        lost[power] = cut["lost"]
        assert "power cut 0.25" in mileage(*words).stdout
    # No more than the buffer holds, each page a write of its own, and all of them among the last.
    assert 0 < len(lost["volatile"]) <= 64
    assert {part["length_bytes"] for part in lost["volatile"]} == {4096}
    assert lost["protected"] == []
    # What was written long before is safe: the run is over sooner than the power.
    profile.write_text(buffered + figure.format("write_buffer_power", '"volatile"'))
    short = mileage("drive", "run", str(profile), "--size", "1MiB", "--power-cut", "1")
    assert "1.000000 s after the start: no acknowledged write is lost" in short.stdout
    profile.write_text(buffered)
    refused = mileage(*words)
    assert refused.returncode == 2
    assert "write_buffer_power is missing" in refused.stderr


def test_a_power_cut_names_what_is_lost_and_nothing_that_was_flushed() -> None:
    def buffered(power: str) -> Drive:
        figure = '{{ value = {}, source = "a test", confidence = "defined" }}\n'
        profile = small_profile(blocks_per_plane=16)
        lines = [line for line in profile.splitlines() if not line.startswith("write_buffer_pages")]
        lines.append("write_buffer_pages = " + figure.format(64))
        return Drive("\n".join(lines) + ("\nwrite_buffer_power = " + figure.format(power) if power else "\n"))

    for power, expected in [('"volatile"', [(2, 8192, 4096)]), ('"protected"', [])]:
        drive = buffered(power)
        drive.submit("write", [0], 4096)
        done = drive.submit("flush", [0], 0)
        drive.submit("write", [4096], 4096, at_ns=int(done[0]), fua=True)
        drive.idle(10_000_000)
        output = drive.submit("write", [8192], 4096)
        assert dict(drive.gauges())["dirty_bytes"] == 4096
        assert drive.power_cut(int(output[0])) == expected
        assert dict(drive.gauges())["dirty_bytes"] == 0
        assert drive.power_cut() == []
    with pytest.raises(ValueError, match="expected the drive's present time"):
        drive.power_cut(1)
    with pytest.raises(ValueError, match="write_buffer_power is missing"):
        buffered("").power_cut()
    assert Drive("plain-64gib").power_cut() == []


def test_a_long_value_of_a_data_sheet_is_wrapped() -> None:
    """The zones of a disk are a list of over 150 characters."""
    zones = " ".join(f"{5000 * at}:{1149 - at}" for at in range(16))
    sheet = data_sheet("disk", [("rpm", "15000", "maker", "source"), ("zones", zones, "a drawing", "fitted")])
    assert max(map(len, sheet.splitlines())) <= 100
    assert zones.split() == [word for word in sheet.split() if re.fullmatch(r"\d+:\d+", word)]
    assert sheet.count("a drawing") == sheet.count("zones") == 1


def test_a_profile_that_is_shown_whole_is_a_drive_of_its_own(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    shown = mileage("drive", "show", "intel-x25e-64gb", "--toml")
    assert shown.returncode == 0, shown.stderr
    profile.write_text(shown.stdout)
    assert mileage("drive", "show", str(profile)).stdout == mileage("drive", "show", "intel-x25e-64gb").stdout


def test_rates_of_a_drive_with_changed_figures_have_nothing_to_compare_with() -> None:
    result = mileage("drive", "rates", "intel-x25e-64gb,gc_pace=paced")
    assert result.returncode == 2
    assert "one with changed figures (KEY=VALUE) is another drive" in " ".join(result.stderr.split())
