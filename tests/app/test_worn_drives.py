"""A virtual drive that is written until it is worn out lasts as long as the calculator says, for three workloads."""

from __future__ import annotations

import pytest

from mileage._core import Drive
from mileage.endurance.life import Rating, life_of
from mileage.model.run_record import RunRecord
from mileage.plan.workload import Stop, Workload
from mileage.targets.profiles import load_profile

CYCLES = 400
BLOCKS_PER_PLANE = 8
RAW_BYTES = 32 * BLOCKS_PER_PLANE << 20
#: 15 % over-provisioning beyond the two blocks that each of the 32 planes keeps.
CAPACITY_BYTES = int(32 * (BLOCKS_PER_PLANE - 2) * (1 << 20) / 1.15) >> 20 << 20
DRIVE = (
    f"plain-64gib,blocks_per_plane={BLOCKS_PER_PLANE},capacity_bytes={CAPACITY_BYTES},pe_cycles={CYCLES},"
    "end_of_life=read-only,levelling=dynamic"
)


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("pattern", "record_bytes", "span_share"),
    [("sequential", 1 << 20, 1.0), ("random", 4096, 1.0), ("random", 4096, 0.6)],
)
def test_a_drive_lasts_as_the_calculator_says(pattern: str, record_bytes: int, span_share: float) -> None:
    drive = Drive(load_profile(DRIVE))
    span = int(CAPACITY_BYTES * span_share) >> 20 << 20
    work = Workload(
        pattern=pattern,  # type: ignore[arg-type]
        read_percent=0,
        record_bytes=record_bytes,
        span_start_bytes=0,
        span_bytes=span,
        depth=32,
        threads=1,
        stop=Stop(bytes=1 << 42),
        seed=3,
    )
    record = RunRecord.from_json(drive.run(work.to_json()))
    assert record.error is not None
    assert "worn out" in record.error.message
    rate = record.bytes_written / record.elapsed_s
    rating = Rating("worn", CAPACITY_BYTES, cycles=CYCLES, raw_bytes=RAW_BYTES)
    predicted = life_of(rating, rate, record.write_amplification).years
    assert predicted is not None
    lived = record.elapsed_s / (365 * 86_400)
    print(f"{pattern}, {span_share:g}: lived {lived / predicted - 1:+.2%} of the prediction")
    assert lived == pytest.approx(predicted, rel=0.02)
