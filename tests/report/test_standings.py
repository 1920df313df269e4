"""What readers see of all levels of a factor."""

import csv
import io
import math

import msgspec

from mileage.judge.standings import standings
from mileage.report import render_html, render_text
from mileage.report.standings import standings_csv
from mileage.report.wording import distinct_names
from tests.report.conftest import example

ARMS = {
    "2 %": [70e6, 71e6, 70.5e6],
    "25 %": [92e6, 93e6, 92.5e6],
    "50 %": [139e6, 140e6, 139.5e6],
    "75 %": [247e6, 248e6, 247.5e6],
    "<b>98</b> %\x1b[2J": [247e6, 248e6, 247.5e6],
}


def view():  # type: ignore[no-untyped-def]
    cell = standings("throughput.write 1 MiB", "rate_bytes_per_s", ARMS)
    return msgspec.structs.replace(example(), factor="content", standings=(cell,))


def test_a_terminal_shows_ranks_ties_and_shares() -> None:
    text = render_text(view(), 80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text
    block = text[text.index("All levels of content") :].split("\n\n")[1].splitlines()
    assert block.pop(0).split() == ["rank", "content", "mean", "of", "best"]
    assert block[0] == "throughput.write 1 MiB"
    assert [line.split()[0] for line in block[1:6]] == ["1-2", "1-2", "3", "4", "5"]
    assert block[5].split() == ["5", "2", "%", "70.5", "MB/s", "28.5", "%"]


def test_the_page_escapes_the_levels_and_speaks_of_no_torture_arm() -> None:
    page = render_html(view())
    assert "<h2>All levels of content</h2>" in page
    assert "<b>98</b>" not in page
    assert "&lt;b&gt;98&lt;/b&gt;" in page


def test_two_levels_need_no_table() -> None:
    assert "All levels" not in render_text(example(), 80)
    assert "All levels" not in render_html(example())


def test_the_csv_holds_every_level() -> None:
    rows = list(csv.DictReader(io.StringIO(standings_csv(view().standings, {"2 %": "SLC", "25 %": "TLC"}))))
    assert len(rows) == 5
    assert [row["device_class"] for row in sorted(rows, key=lambda row: row["level"])[:3]] == [
        "SLC",
        "TLC",
        "",
    ]
    assert math.isclose(float(rows[-1]["mean"]), (70e6 * 71e6 * 70.5e6) ** (1 / 3), rel_tol=1e-12)
    assert (rows[0]["rank_first"], rows[0]["rank_last"]) == ("1", "2")


def test_bars_name_what_differs() -> None:
    assert distinct_names("content 2 %", "content 98 %") == ("2 %", "98 %")
    assert distinct_names("before", "after") == ("before", "after")
    assert distinct_names("drive a b", "drive a") == ("a b", "a")


def test_one_class_of_device_stands_in_every_row_of_the_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(standings_csv(view().standings, {"": "virtual flash"}))))
    assert {row["device_class"] for row in rows} == {"virtual flash"}
