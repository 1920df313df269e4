"""vdbench's lines of averages; the figures compared with words counted from the end of each line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mileage.errors import Refused
from tests.formats.made_results import VDBENCH_50406, VDBENCH_50407, VDBENCH_FILES
from tests.formats.sample_reader import of_text

MIB = 1 << 20


def averages(text: str) -> list[list[str]]:
    """The figures of each line of averages that has operations."""
    lines = [line.partition("avg_")[2].split()[1:] for line in text.splitlines() if "avg_" in line]
    return [line for line in lines if float(line[0]) > 0]


@pytest.mark.parametrize(("text", "columns"), [(VDBENCH_50406, 12), (VDBENCH_50407, 13)])
def test_raw_io_of_both_layouts(tmp_path: Path, text: str, columns: int) -> None:
    result = of_text(tmp_path, text)
    expected = averages(text)
    assert (result.tool, result.unread, result.lost) == ("vdbench", [], [])
    assert len(result.runs) == len(expected)
    for run, figures in zip(result.runs, expected, strict=True):
        assert len(figures) == columns
        assert run.ops_per_s == float(figures[0])
        assert run.rate_bytes_per_s == float(figures[1]) * MIB
        assert run.rate_bytes_per_s == pytest.approx(float(figures[0]) * float(figures[2]), rel=1e-3)
        longest = [float(figures[7])] if columns == 12 else [float(figures[7]), float(figures[8])]
        assert run.quantiles_ns == {"mean": float(figures[4]) * 1e6, "max": max(longest) * 1e6}
        assert dict(run.printed)["queue depth"] == float(figures[-3])


def test_work_on_files_has_other_columns(tmp_path: Path) -> None:
    (run,) = of_text(tmp_path, VDBENCH_FILES).runs
    (figures,) = averages(VDBENCH_FILES)
    assert (run.ops_per_s, run.rate_bytes_per_s) == (float(figures[0]), float(figures[11]) * MIB)
    assert run.quantiles_ns == {"mean": float(figures[1]) * 1e6}


def test_loops_and_limits_are_in_the_cell_and_its_notes(tmp_path: Path) -> None:
    fast, limited = of_text(tmp_path, VDBENCH_50407).runs
    assert fast.cell == "vdbench.rd1, xfersize 4k, threads 8"
    assert (fast.notes, fast.levels["elapsed"], fast.levels["I/O rate"]) == ([], "5", "Uncontrolled MAX")
    assert limited.notes == [
        f"vdbench limited the rate of {limited.cell} to 100/s: the response time is the result"
    ]


def test_a_page_of_html_is_read_as_the_console(tmp_path: Path) -> None:
    lines = VDBENCH_50407.splitlines()
    page = "<html><pre>\n" + "\n".join(
        f'<A name="_1"></A><i><b>{line}</b></i>' if "Starting RD" in line else line for line in lines
    )
    result = of_text(tmp_path, page + "\n</pre></html>\n")
    assert (result.runs[0].cell, result.unread) == ("vdbench.rd1, xfersize 4k, threads 8", [])
    assert len(result.runs) == 2


def test_a_definition_without_averages_is_lost(tmp_path: Path) -> None:
    text = VDBENCH_50407[: VDBENCH_50407.index("16:24:42.013")]
    result = of_text(tmp_path, text)
    assert result.lost == ["RD=rd1, begun in line 19, has no line of averages"]
    with pytest.raises(Refused, match=r"no line of averages .* RD=rd1, begun in line 2, has no"):
        of_text(tmp_path, "".join(VDBENCH_50406.splitlines(keepends=True)[:-1]))


def test_columns_of_no_known_heading_are_not_guessed(tmp_path: Path) -> None:
    text = VDBENCH_50406.replace("resp queue", "xxxx queue")
    with pytest.raises(Refused, match=r"a line below no known heading|no line of vdbench"):
        of_text(tmp_path, text)
    result = of_text(tmp_path, re.sub(r"12\.61 +14\.71", "12.61", VDBENCH_50407))
    assert [entry.why for entry in result.unread] == ["12 figures, expected 13"]


def test_the_flat_file_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"flatfile\.html of vdbench; import totals\.html"):
        of_text(tmp_path, "*\n   tod  Run  Interval  reqrate  rate\n")


def test_averages_below_a_damaged_beginning_are_of_no_definition_before(tmp_path: Path) -> None:
    text = VDBENCH_50407.replace("16:24:37.001 Starting RD=rd1", "16:24:37.001 St#rting RD-rd1")
    cells = [run.cell for run in of_text(tmp_path, text).runs]
    whole = [run.cell for run in of_text(tmp_path, VDBENCH_50407).runs]
    assert cells == [*whole[:1], "vdbench.run", *whole[2:]]
