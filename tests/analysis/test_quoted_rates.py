"""Quoted and measured rates: a ratio at the same conditions only, the closest cell otherwise, with what differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mileage.analysis.quoted_rates import MeasuredRate, quoted_pairs
from mileage.analysis.quoted_text import quoted_text
from mileage.model.data_sheet import DataSheet, QuotedFigure, QuotedRate
from tests.command import mileage


def sheet(*rates: QuotedRate) -> DataSheet:
    return DataSheet(
        "x", "X", QuotedFigure(10**12, "maker", "source"), QuotedFigure("tlc", "maker", "source"), rate=rates
    )


def quoted(workload: str, value: float, unit: str, **conditions: object) -> QuotedRate:
    return QuotedRate(workload, value, unit, "maker", "source", **conditions)  # type: ignore[arg-type]


def measured(
    workload: str, rate: float, *, record: int = 4096, depth: int = 32, stage: str = "a"
) -> MeasuredRate:
    content = "incompressible" if workload.endswith("write") else ""
    megabytes = rate * record / 1e6
    runs = tuple(factor * rate for factor in (1 / 1.01, 1.0, 1.01))
    return MeasuredRate(
        f"{workload} {depth}", stage, workload, record, depth, 10**9, content, (megabytes,) * 3, runs
    )


def test_a_ratio_needs_the_same_conditions() -> None:
    rates = [measured("random_read", 90_000), measured("random_read", 9_000, depth=1)]
    same, deep, larger = quoted_pairs(
        sheet(
            quoted("random_read", 100_000, "iops", record_bytes=4096, depth=32),
            quoted("random_read", 100_000, "iops", record_bytes=4096, depth=128),
            quoted("random_read", 10_000, "iops", record_bytes=8192, depth=1),
        ),
        rates,
    )
    assert same.ratio == pytest.approx(0.9)
    assert same.low is not None
    assert same.low < 90_000
    assert (deep.ratio, deep.value) == (None, pytest.approx(90_000))
    assert deep.differs == ("quoted at depth 128, measured at 32",)
    assert larger.differs == ("quoted at 8 KiB, measured at 4 KiB",)
    assert larger.measured is not None
    assert larger.measured.depth == 1


def test_where_the_sheet_states_no_depth_the_best_counts() -> None:
    rates = [
        measured("sequential_read", 100, record=1 << 20, depth=1),
        measured("sequential_read", 300, record=1 << 20),
    ]
    (pair,) = quoted_pairs(sheet(quoted("sequential_read", 500, "mb_per_s")), rates)
    assert pair.measured == rates[1]
    assert pair.ratio == pytest.approx(300 * (1 << 20) / 1e6 / 500)


def test_iops_without_a_record_size_are_of_4_kib() -> None:
    (pair,) = quoted_pairs(
        sheet(quoted("random_write", 1000, "iops")), [measured("random_write", 500, record=8192)]
    )
    assert pair.ratio is None
    assert "without a record size" in pair.differs[0]


def test_span_and_content_are_conditions() -> None:
    rates = [measured("random_write", 500)]
    (pair,) = quoted_pairs(
        sheet(quoted("random_write", 1000, "iops", span_bytes=5 * 10**8, content="compressible")), rates
    )
    assert len(pair.differs) == 2
    (pair,) = quoted_pairs(sheet(quoted("random_write", 1000, "iops", span_bytes=2 * 10**9)), rates)
    assert pair.ratio == pytest.approx(0.5)


def test_each_stage_has_a_row_and_what_was_not_measured_says_so() -> None:
    rates = [measured("random_read", 900, stage="before"), measured("random_read", 450, stage="after")]
    found = sheet(
        quoted("random_read", 1000, "iops"),
        quoted("random_write", 1000, "iops"),
        quoted("random_read", 80, "mean_us", depth=1),
    )
    before, after, missing = quoted_pairs(found, rates)
    assert (before.ratio, after.ratio, missing.measured) == (pytest.approx(0.9), pytest.approx(0.45), None)
    text = "\n".join(quoted_text(found, [before, after, missing], 72))
    assert "measured: after: 4 KiB, depth 32" in text
    assert "not measured" in text
    assert max(map(len, text.splitlines())) <= 72


def test_check_compares_with_a_data_sheet(tmp_path: Path) -> None:
    words = ["check", "virtual:intel-x25e-64gb", "--seconds", "0.02"]
    done = mileage(*words, "--datasheet", "intel-x25e-64gb")
    assert done.returncode in (0, 1), done.stderr
    assert "Data sheet of Intel X25-E 64 GB" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 72
    found = json.loads(mileage(*words, "-d", "intel-x25e-64gb", "--json").stdout)
    pairs = {(pair["quoted"]["workload"], pair["quoted"]["unit"]): pair for pair in found["quoted"]}
    read = pairs["random_read", "iops"]
    # The same drive is fitted to this rate (profiles/drives): the share of the quoted one that it reaches.
    assert 0.9 < read["ratio"] < 1.1
    plain = json.loads(mileage(*words, "--json").stdout)
    assert plain["quoted"] == []
    assert mileage("check", ".", ".", "-d", "intel-x25e-64gb").returncode == 2
    assert "there is no data sheet" in mileage(*words, "-d", "no-such").stderr
