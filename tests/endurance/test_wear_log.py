"""The log of a watch survives kills, refuses other targets and other files, and is written by one watch at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.endurance.wear_rate import Counter, Sample, WearLog
from mileage.errors import Refused

SAMPLE = Sample(1.5, "boot", {"kernel": Counter(3, 512, True)}, 7)


def test_samples_are_kept_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with WearLog(path, "/srv", "one") as log:
        log.append(SAMPLE)
    with WearLog(path, "/srv", "one") as log:
        assert log.samples == [SAMPLE]
        log.append(SAMPLE)
    assert path.read_bytes().count(b"\n") == 3


def test_any_torn_end_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with WearLog(path, "/srv", "one") as log:
        log.append(SAMPLE)
        log.append(SAMPLE)
    whole = path.read_bytes()
    begin = len('{"format":"mileage wear log 1"')
    for kept in (0, *range(begin, len(whole) + 1)):
        path.write_bytes(whole[:kept])
        with WearLog(path, "/srv", "one") as log:
            assert log.samples == [SAMPLE] * max(whole[:kept].count(b"\n") - 1, 0)
            log.append(SAMPLE)
        with WearLog(path, "/srv", "one") as log:
            assert log.samples[-1] == SAMPLE


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hello\n", "exists"),
        ('{"format":"x","target":"","identity":"one"}\n', "exists"),
        ('{"format":"mileage wear log 1","target":"","identity":"one"}\n{}\n', "malformed"),
        ('{"format":"mileage wear log 1","target":"/a","identity":"two"}\n', "mismatch"),
    ],
)
def test_another_file_is_refused_and_kept(text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(Refused) as refusal:
        WearLog(path, "/srv", "one")
    assert refusal.value.refusals[0].code == code
    assert path.read_text() == text


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with WearLog(path, "/srv", "one"), pytest.raises(Refused, match="another watch is writing it"):
        WearLog(path, "/srv", "one")
