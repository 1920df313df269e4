"""`mileage iometer`: a configuration becomes a study; settings without equivalent are reported with their line."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.errors import Refused
from mileage.formats.icf import read_icf
from mileage.store import StudyFolder
from tests.command import mileage

ICF = """Version 1.1.0
'TEST SETUP ====
'Test Description
	two mixes
'Run Time
'	hours      minutes    seconds
	0          0          2
'Ramp Up Time (s)
	0
'END test setup
'ACCESS SPECIFICATIONS ====
'Access specification name,default assignment
	Mix,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
	512,10,80,100,0,1,0,0
	4096,90,80,100,0,1,0,0
'Access specification name,default assignment
	64K; sequential read,DISK
'size,% of size,% reads,% random,delay,burst,align,reply
	65536,100,100,0,0,1,0,0
'End access specifications
'MANAGER LIST ====
'Worker
	Worker 1
'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value
	4,DISABLED,1,DISABLED,0
'Disk maximum size,starting sector,Data pattern
	131072,0,0
'Assigned access specs
	Mix
	64K; sequential read
'Target
	C: ""
'End worker
"""


def dropin(place: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    (place / "test.icf").write_text(text)
    return mileage("iometer", *words, "test.icf", "--save", "study", cwd=place)


def test_a_configuration_is_done_on_a_virtual_drive(tmp_path: Path) -> None:
    done = dropin(tmp_path, ICF, "-t", "virtual:plain-64gib", "-r", "results.csv")
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "results.csv").read_text().split("'Results\n")[1].split("'Time Stamp")[0]
    rows = list(csv.DictReader(table.splitlines()))
    assert [row["Access Specification Name"] for row in rows] == ["Mix", "64K; sequential read"] * 2
    mix, sequential = rows[:2]
    share = int(mix["Read I/Os"]) / (int(mix["Read I/Os"]) + int(mix["Write I/Os"]))
    assert share == pytest.approx(0.8, abs=0.02)
    assert (sequential["Write I/Os"], mix["Queue Depth"]) == ("0", "4")
    assert int(sequential["Bytes Read"]) == 65536 * int(sequential["Read I/Os"])
    rate = float(sequential["Read MiBps (Binary)"]) * (1 << 20)
    assert rate == pytest.approx(float(sequential["Read MBps (Decimal)"]) * 1e6, rel=1e-4)
    entries = StudyFolder.open(tmp_path / "study").content().runs()
    measured = [entry for entry in entries if entry.role == "measure"]
    assert all(entry.record.elapsed_ns == pytest.approx(2e9, rel=0.01) for entry in measured)


def test_a_configuration_is_done_on_a_modelled_host_with_its_operations_in_flight(tmp_path: Path) -> None:
    rates = []
    for depth in (1, 4):
        place = tmp_path / str(depth)
        place.mkdir()
        text = ICF.replace("4,DISABLED,1", f"{depth},DISABLED,1")
        done = dropin(place, text, "-t", "virtual:intel-x25e-64gb@phenom-8gib", "--seconds", "1")
        assert done.returncode == 0, done.stderr
        entries = StudyFolder.open(place / "study").content().runs()
        mix, sequential = (entry.record for entry in entries if entry.role == "measure")
        assert mix.elapsed_ns == pytest.approx(1e9, rel=0.01)
        assert sequential.bytes_written == 0
        table = done.stdout.split("'Results\n")[1].split("'Time Stamp")[0]
        assert next(csv.DictReader(table.splitlines()))["Queue Depth"] == str(depth)
        rates.append(mix.operations)
    assert rates[1] > 2 * rates[0]


@pytest.mark.parametrize(
    ("found", "instead", "output"),
    [
        ("Version 1.1.0", "IOzone", "line 1: found 'IOzone', expected IOMeter's Version"),
        ("4096,90,80", "4096,80,80", "line 15: the shares add up to 90 percent"),
        ("4096,90,80,100", "4096,90,180,100", "out of range"),
        ("4096,90,80", "4096,many,80", "line 16: found '4096,many,80,100,0,1,0,0', expected 8 whole numbers"),
        ("65536,100,100,0,0,1,0,0", "65536,100,100,0,0,1,0,64", "a network target"),
        (
            "	64K; sequential read\n'Target",
            "	Missing\n'Target",
            "'Missing' is assigned and has no lines",
        ),
        ("	0          0          2", "	0 0 0", "no run time"),
    ],
)
def test_settings_without_equivalent_are_reported(
    tmp_path: Path, found: str, instead: str, output: str
) -> None:
    assert found in ICF
    done = dropin(tmp_path, ICF.replace(found, instead, 1), "-t", "virtual:plain-64gib")
    assert done.returncode == 2, done.stdout
    assert output in done.stderr
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("found", "changed", "output"),
    [
        (
            "'END test setup",
            "'Test Type\n\tCYCLE_OUTSTANDING_IOS\n'END test setup",
            "line 11: found test type",
        ),
        ("4,DISABLED,1", "4,ENABLED,1", "a test of connection rates"),
        ("'Target\n", "'Favourite colour\n\tblue\n'Target\n", "'favourite colour' is not understood"),
    ],
)
def test_what_is_not_done_is_refused_by_its_line(
    tmp_path: Path, found: str, changed: str, output: str
) -> None:
    path = tmp_path / "x.icf"
    path.write_text(ICF.replace(found, changed, 1))
    with pytest.raises(Refused, match=output):
        read_icf(path)


def test_a_target_must_be_named(tmp_path: Path) -> None:
    done = dropin(tmp_path, ICF)
    assert done.returncode == 2
    assert "-t: missing" in done.stderr


@given(st.binary(max_size=300), st.integers(0, len(ICF)), st.integers(0, 40))
def test_a_damaged_configuration_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, at: int, cut: int
) -> None:
    path = tmp_path_factory.mktemp("icf") / "x.icf"
    path.write_bytes(ICF.encode()[:at] + junk + ICF.encode()[at + cut :])
    try:
        read_icf(path)
        output = str(path)
    except Refused as refusal:
        output = str(refusal)
    assert str(path) in output
