"""Where a scan of record sizes changes its level: worked by hand, with the caches of a machine."""

from __future__ import annotations

from mileage.analysis.scan_steps import landmarks_of, step_lines
from mileage.report.chart_data import Landmark, ScanPoint
from mileage.report.scan_chart import scan_chart

KIB = 1024


def points(rates: list[float], spread: float | None = 0.01) -> list[ScanPoint]:
    return [
        ScanPoint(
            series="iozone.record_rewrite", level=f"{size} KiB", at=size * KIB, metric="rate_bytes_per_s",
            mean=rate, low=None if spread is None else rate * (1 - spread),
            high=None if spread is None else rate * (1 + spread),
        )
        for size, rate in zip((256, 512, 1024, 2048, 4096), rates, strict=True)
    ]  # fmt: skip


def test_sizes_that_are_no_numbers_are_no_landmarks() -> None:
    """Texts of a folder from a stranger: `isdigit` accepts the first, and `int` refuses the second."""
    for text in ("\u00b2", "9" * 5000, "-1", "", "0", "1e9"):
        assert landmarks_of({"cpu.l2_bytes": text}) == []


def test_the_fall_behind_a_cache_is_said_with_the_size_of_the_cache() -> None:
    marks = landmarks_of(
        {"cpu.l2_bytes": str(1 << 20), "cpu.l3_bytes": "unknown", "memory.total_bytes": "16000000000"}
    )
    assert marks == [Landmark("L2 cache", 1 << 20), Landmark("memory", 16e9)]
    lines = step_lines(points([9e9, 9.05e9, 9e9, 4e9, 4e9]), marks)
    assert lines == [
        "iozone.record_rewrite: falls from 9,000 MB/s to 4,000 MB/s (-55.6 %) between 1024 KiB and 2048 KiB.",
        "For comparison: L2 cache 1 MiB, memory 14.9 GiB.",
    ]
    assert "L2 cache" in str(scan_chart(points([9e9] * 5), factor="record", width=400, landmarks=marks))


def test_overlapping_intervals_and_single_runs_have_no_step() -> None:
    opening = "No step between neighbouring sizes is shown: "
    overlap = [f"{opening}intervals overlap, or means differ by less than a tenth."]
    assert step_lines(points([9e9, 9e9, 9e9, 4e9, 4e9], spread=0.5), []) == overlap
    assert step_lines(points([9e9, 9e9, 9e9, 8.5e9, 8.5e9]), []) == overlap
    single = step_lines(points([9e9, 9e9, 9e9, 4e9, 4e9], spread=None), [Landmark("L2 cache", 1 << 20)])
    assert single == [f"{opening}single runs have no interval.", "For comparison: L2 cache 1 MiB."]
    assert step_lines([], [Landmark("L2 cache", 1 << 20)]) == []
