"""What `mileage hdparm` and `mileage dd` print is read back, to the digits that are printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.formats.raw_print import summary, timing_line
from tests.formats.sample_reader import of_text

MIB = 1 << 20


@given(
    mib=st.integers(1, 1 << 16),
    seconds=st.floats(0.5, 9.0),
    what=st.sampled_from(["cached", "buffered"]),
    direct=st.booleans(),
)
def test_hdparm(
    tmp_path_factory: pytest.TempPathFactory, mib: int, seconds: float, what: str, direct: bool
) -> None:
    text = "\n/dev/sdb:\n" + timing_line(what, direct, mib * MIB, seconds)
    result = of_text(tmp_path_factory.mktemp("hdparm"), text)
    (run,) = result.runs
    assert (result.unread, run.cell) == ([], f"hdparm.{what}" + ("_direct" if direct else ""))
    assert run.levels == {"device": "/dev/sdb"}
    assert run.bytes_read == mib * MIB
    assert run.elapsed_s == pytest.approx(seconds, abs=0.005001)
    assert run.rate_bytes_per_s == pytest.approx(mib * MIB / seconds, abs=0.005001 * MIB)


@given(
    records=st.integers(1, 1 << 20),
    block=st.sampled_from([512, 4096, 1 << 20]),
    seconds=st.floats(0.001, 1000),
)
def test_dd(tmp_path_factory: pytest.TempPathFactory, records: int, block: int, seconds: float) -> None:
    result = of_text(tmp_path_factory.mktemp("dd"), summary(records * block, block, seconds))
    (run,) = result.runs
    assert (result.unread, run.cell, run.levels) == ([], "dd.copy", {"bs": str(block)})
    assert run.elapsed_s == pytest.approx(seconds, rel=1e-5)
    assert run.rate_bytes_per_s == pytest.approx(records * block / seconds, rel=1e-5)
