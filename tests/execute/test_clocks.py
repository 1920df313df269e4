"""How far two clocks are apart: the estimate keeps its bound, whatever the way and the clock."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from mileage.execute.mpi.leader import Exchange, Offset, between, offset_of, shifts_of

DELAYS = st.lists(
    st.tuples(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**6)), min_size=1, max_size=40
)


def exchanged(offset_ns: int, delays: list[tuple[int, int, int]], drift_ppb: int = 0) -> list[Exchange]:
    """Exchanges with a clock that is ahead, over a way that takes this long there and back, with pauses between."""
    now_ns, found = 10**9, []
    for there_ns, back_ns, pause_ns in delays:
        arrived_ns = now_ns + there_ns
        read_ns = arrived_ns + offset_ns + (arrived_ns - 10**9) * drift_ppb // 10**9
        found.append((now_ns, read_ns, arrived_ns + back_ns))
        now_ns = arrived_ns + back_ns + pause_ns
    return found


@given(offset_ns=st.integers(-(10**18), 10**18), delays=DELAYS)
def test_the_error_is_within_the_stated_bound(offset_ns: int, delays: list[tuple[int, int, int]]) -> None:
    found = offset_of(exchanged(offset_ns, delays))
    assert abs(found.offset_ns - offset_ns) <= found.bound_ns
    shortest_ns = min(there + back for there, back, _ in delays)
    assert found.round_trip_ns == shortest_ns
    assert found.bound_ns <= shortest_ns // 2 + 2, "never worse than half the shortest round trip"


@given(offset_ns=st.integers(-(10**15), 10**15), delays=DELAYS, drift_ppb=st.integers(-100_000, 100_000))
def test_a_clock_that_drifts_is_known_within_its_drift(
    offset_ns: int, delays: list[tuple[int, int, int]], drift_ppb: int
) -> None:
    exchanges = exchanged(offset_ns, delays, drift_ppb)
    found = offset_of(exchanges)
    lasted_ns = exchanges[-1][2] - exchanges[0][0]
    drifted_ns = abs(lasted_ns * drift_ppb // 10**9) + 1
    assert abs(found.offset_ns - offset_ns) <= found.bound_ns + drifted_ns


def test_between_two_estimates_the_bound_covers_both() -> None:
    found = between(Offset(100, 10, 20), Offset(160, 12, 24))
    assert found == Offset(130, 12 + 30, 20)
    assert all(abs(at - found.offset_ns) <= found.bound_ns for at in (100, 160))


def test_shares_of_machines_with_different_clocks_count_from_one_instant() -> None:
    """Begun 7 and 3 microseconds after the first, on clocks that are a day and a month ahead."""
    ahead = [0, 86_400 * 10**9, 30 * 86_400 * 10**9]
    starts = [10**12 + late_ns for late_ns in (0, 7_000, 3_000)]
    origins = [start + offset for start, offset in zip(starts, ahead, strict=True)]
    assert shifts_of(origins, [Offset(offset, 0, 0) for offset in ahead]) == [0, 7_000, 3_000]
    order = random.Random(5).sample(range(3), 3)
    again = shifts_of([origins[n] for n in order], [Offset(ahead[n], 0, 0) for n in order])
    assert again == [[0, 7_000, 3_000][n] for n in order]
