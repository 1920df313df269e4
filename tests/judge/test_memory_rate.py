"""Rates that only memory can give are distinguished from those of devices."""

from __future__ import annotations

import pytest

from mileage.judge.memory_rate import RateFacts, memory_rate


def facts(
    rate: float = 1e8,
    ops: float | None = None,
    streams: int | None = 1,
    elapsed_s: float = 60.0,
    device: int | None = None,
    bypasses: bool = False,
    waits: bool = False,
) -> RateFacts:
    return RateFacts(
        cell="x",
        streams=streams,
        bypasses=bypasses,
        waits=waits,
        rate_bytes_per_s=rate,
        ops_per_s=rate / 4096 if ops is None else ops,
        elapsed_s=elapsed_s,
        moved_bytes=round(rate * elapsed_s),
        device_bytes=device,
    )


@pytest.mark.parametrize(
    ("run", "certain"),
    [
        # A drive of 14 GB/s, read past the page cache with 32 outstanding operations of 128 KiB, and by buffers.
        (facts(14e9, ops=107_000, streams=32, bypasses=True, waits=True), None),
        (facts(2.5e9, ops=610_000), None),
        # 400,000 random reads a second at depth 1 leave 2.5 us for each; at depth 4 they leave 10 us.
        (facts(1.6e9, ops=400_000, waits=True), True),
        (facts(1.6e9, ops=400_000, streams=4, waits=True), None),
        (facts(3.8e9, ops=930_000, bypasses=True, waits=True), True),
        # A cluster of 1,000 tasks with 1 GB/s each; one task with 5 GB/s, and with 2 GB/s for a tenth of a second.
        (facts(1e12, streams=1000), None),
        (facts(5e9), False),
        (facts(2e9, elapsed_s=0.1), False),
        (facts(5e9, streams=None), None),
        # The device moved all, all and somebody else's, a half, and a fifth.
        (facts(1e8, device=6_000_000_000), None),
        (facts(1e8, device=9_000_000_000), None),
        (facts(1e8, device=3_000_000_000), False),
        (facts(1e8, device=1_200_000_000), True),
    ],
)
def test_memory_rates_are_distinguished_from_device_rates(run: RateFacts, certain: bool | None) -> None:
    found = memory_rate(run)
    assert (None if found is None else found.certain) == certain
