"""Sizes, shares and times are exact, and mean the same in Python and in Rust."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mileage.plan import sizes

UNITS = ["", "B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "K", "k", "kiB", "PB", "%", "x"]
SIZE_TEXTS = st.one_of(
    st.text(alphabet="0123456789.kKMGTiB -\t\x1c\x85\u2003", max_size=12),
    st.builds(
        "{}{}{}{}".format,
        st.integers(0, 2**66),
        st.sampled_from(["", ".5", ".25", ".000000001", ".0000000000", "."]),
        st.sampled_from(["", " ", "\t", "\x1c"]),
        st.sampled_from(UNITS),
    ),
)


@pytest.fixture
def core() -> Any:
    """The compiled module; its tests are skipped by name where it is not installed."""
    return pytest.importorskip("mileage._core", reason="the compiled module mileage._core is not installed")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("4KiB", 4096),
        (" 4 KiB ", 4096),
        ("1.5GiB", 3 << 29),
        ("64GB", 64_000_000_000),
        ("0.5 kB", 500),
        ("16TiB", 16 << 40),
        ("18446744073709551615", 2**64 - 1),
        ("0" * 60 + "7B", 7),
    ],
)
def test_sizes_mean_what_they_say(text: str, size: int) -> None:
    assert sizes.parse_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "4K",
        "4k",
        "1.5",
        "1.5B",
        "-1",
        "1e3",
        ".5GB",
        "1.GB",
        "4 KiBs",
        "99999999TiB",
        "0.0001kB",
        "9" * 5000,
    ],
)
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{text!r} is not a size: expected")):
        sizes.parse_bytes(text)


@given(SIZE_TEXTS)
@example("4\x1cKiB")
@example("1.0000000000GB")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rust_and_python_read_the_same_sizes(core: Any, text: str) -> None:
    def outcome(parse: object) -> int | None:
        try:
            return int(parse(text))  # type: ignore[operator]
        except ValueError:
            return None

    assert outcome(sizes.parse_bytes) == outcome(core.parse_bytes)


@given(st.integers(0, 2**64 - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rust_and_python_print_the_same_sizes(core: Any, size: int) -> None:
    assert sizes.format_bytes(size) == core.format_bytes(size)


@given(st.integers(0, 2**64 - 1))
def test_exact_texts_are_read_back(size: int) -> None:
    assert sizes.parse_bytes(sizes.exact_bytes(size)) == size


@given(st.integers(1, (2**64 - 1) // 2))
def test_exact_times_are_read_back(time_ns: int) -> None:
    assert sizes.parse_time_ns(sizes.exact_time(time_ns)) == time_ns


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("10 s", 10**10),
        ("0.5ms", 500_000),
        ("2 min", 12 * 10**10),
        ("1h", 36 * 10**11),
        ("7ns", 7),
        ("3us", 3000),
    ],
)
def test_times_mean_what_they_say(text: str, time_ns: int) -> None:
    assert sizes.parse_time_ns(text) == time_ns


@pytest.mark.parametrize(
    "text", ["", "10", "s", "0 s", "0.5 ns", "10 seconds", "-1 s", "300 years", "9999999999 h"]
)
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time: expected a number with ns, us"):
        sizes.parse_time_ns(text)


@pytest.mark.parametrize(
    ("value", "area"),
    [
        ("file", 10_000),
        ("100%", 10_000),
        ("25%", 2500),
        ("2.2x", 22_000),
        ("0.001%", 100),
        ("33 %", 3300),
        (4096, 4096),
        ("4KiB", 4096),
    ],
)
def test_shares_are_rounded_down_to_whole_records_and_sizes_are_not(value: int | str, area: int) -> None:
    assert sizes.area_bytes(value, work_bytes=10_000, multiple_bytes=100) == area


@given(st.integers(1, 10**6), st.integers(1, 2**40), st.integers(1, 10**5))
def test_a_multiple_of_the_area_is_exact(tenths: int, work_bytes: int, multiple_bytes: int) -> None:
    wanted = tenths * work_bytes // 10
    area = sizes.area_bytes(f"{tenths / 10:.1f}x", work_bytes=work_bytes, multiple_bytes=multiple_bytes)
    assert area % multiple_bytes == 0
    assert area == multiple_bytes or wanted - multiple_bytes < area <= wanted


@pytest.mark.parametrize("value", ["0%", "0x", "0.0 x"])
def test_a_share_of_nothing_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="is nothing: expected more than 0"):
        sizes.area_bytes(value, work_bytes=100, multiple_bytes=1)


@pytest.mark.parametrize(
    ("value", "size"), [("2x memory", 2000), ("0.5 x memory", 500), ("8 KiB", 8192), (17, 17)]
)
def test_work_files_may_follow_the_memory(value: int | str, size: int) -> None:
    assert sizes.file_bytes(value, memory_bytes=1000) == size


def test_a_multiple_of_an_unknown_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="the memory of this target is not known; give a size"):
        sizes.file_bytes("2x memory", memory_bytes=0)
    with pytest.raises(ValueError, match='expected for example "2x memory"'):
        sizes.file_bytes("twice memory", memory_bytes=1000)
