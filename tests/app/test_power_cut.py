"""Power cuts under a real file system: what must be kept is kept, what is not synced is lost, and checks see both."""

import os
import shutil
import sqlite3
from pathlib import Path

import msgspec
import pytest

from mileage.app.commit_loop import RECORD_BYTES, check_records, check_rows, record
from mileage.app.power_cut import PowerCutOptions, run_combination
from mileage.app.power_cut_apps import Command, apps_of
from mileage.app.power_cut_result import Combination, CombinationResult, CutResult, row_of, sentence_of
from mileage.errors import Refused

CAN_SERVE = os.geteuid() == 0 and Path("/dev/fuse").exists() and Path("/dev/loop-control").exists()


def combination(app: str = "fsync-loop", **changes: bool) -> Combination:
    settings = {"barriers": True, "protected": False, "honest": True, "asks": True, **changes}
    return Combination(fs="ext4", app=app, **settings)


def cut(**changes: int | str) -> CutResult:
    found = {
        "cut": 0,
        "seed": 5,
        "after_s": 0.1,
        "flushes": 9,
        "acknowledged": 10,
        "lost": 0,
        "torn": 0,
        "recovery_s": 0.5,
    }
    return CutResult(**{**found, **changes})


def test_what_must_be_kept_follows_from_the_settings() -> None:
    assert combination().must_keep
    assert not combination(barriers=False).must_keep
    assert not combination(honest=False).must_keep
    assert not combination(asks=False, protected=True).must_keep
    assert combination(barriers=False, honest=False, protected=True).must_keep


def test_sentence_counts_what_was_kept_and_what_was_lost() -> None:
    kept = CombinationResult(combination=combination(), cuts=(cut(), cut()))
    loser = CombinationResult(combination=combination(barriers=False), cuts=(cut(lost=1, flushes=0),))
    assert sentence_of([kept, loser]) == (
        "In 3 power cuts the one combination that must keep every acknowledged transaction kept all 20 of them;"
        " 1 of 1 others lost or damaged data."
    )
    broken = CombinationResult(combination=combination(), cuts=(cut(), cut(corrupt="row missing")))
    assert "1 of the 1 combinations that must keep" in sentence_of([broken])
    assert broken.total("corrupt") == 1


def test_combination_whose_drive_got_the_wrong_flushes_is_not_judged() -> None:
    deaf = CombinationResult(combination=combination(), cuts=(cut(flushes=0, lost=3),))
    assert not deaf.is_judged
    assert "not judged, because the drive got no flush though barriers are on" in sentence_of([deaf])
    assert "not judged" in row_of(deaf)
    settings = combination(barriers=False, protected=True)
    chatty = CombinationResult(combination=settings, cuts=(cut(flushes=4), cut(flushes=0)))
    assert "the drive got 4 flushes without barriers" in sentence_of([chatty])
    idle = CombinationResult(combination=combination(asks=False), cuts=(cut(flushes=0),))
    assert idle.why_not_judged == "", "an application that does not sync need not flush"


def test_check_of_records_sees_missing_and_damaged_ones(tmp_path: Path) -> None:
    whole = b"".join(record(number) for number in range(5))
    torn = bytearray(whole)
    torn[2 * RECORD_BYTES + 512 : 2 * RECORD_BYTES + 1024] = bytes(512)
    (tmp_path / "log").write_bytes(torn[:-100])
    assert check_records(tmp_path) == {"found": [0, 1, 3], "damaged": [2], "corrupt": "", "open": ""}


def test_check_of_rows_sees_a_damaged_database(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "database", isolation_level=None)
    connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, data BLOB)")
    for number in range(200):
        connection.execute("INSERT INTO t VALUES (?, ?)", (number, record(number)[:1000]))
    connection.execute("UPDATE t SET data = x'00' WHERE number = 7")
    connection.close()
    answer = check_rows(tmp_path, "delete-full")
    assert answer["damaged"] == [7]
    assert answer["corrupt"] == ""
    data = bytearray((tmp_path / "database").read_bytes())
    data[8192:12288] = bytes(4096)
    (tmp_path / "database").write_bytes(data)
    assert check_rows(tmp_path, "delete-full")["corrupt"]


def test_unknown_application_and_option_are_refused() -> None:
    with pytest.raises(Refused, match="did you mean sqlite"):
        apps_of(["sqlit"])
    with pytest.raises(Refused, match="sqlite:wal-full"):
        apps_of(["sqlite:wal"])
    assert len(apps_of(["sqlite", "fsync-loop"])) == 9


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(not CAN_SERVE, reason="power cuts need root, /dev/fuse and /dev/loop-control")
def test_synced_commits_are_kept_and_others_lost() -> None:
    options = PowerCutOptions(cuts=2, repeats=0)
    for name in ("sqlite:delete-extra", "sqlite:wal-off"):
        (app,) = apps_of([name])
        result = run_combination(
            combination(app.name, asks=app.asks_for_durability), app, options, lambda _: None
        )
        assert result.total("acknowledged") > 0
        assert (result.total("lost") > 0) == (name == "sqlite:wal-off"), result


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(not CAN_SERVE, reason="power cuts need root, /dev/fuse and /dev/loop-control")
@pytest.mark.skipif(shutil.which("mkfs.xfs") is None, reason="mkfs.xfs is not installed")
def test_hidden_write_cache_of_xfs_is_shown_again() -> None:
    """A loop device keeps the word: without that the next combination, and everybody's file system, has no flushes."""

    def words() -> dict[str, str]:
        return {
            str(path): path.read_text().strip() for path in Path("/sys/block").glob("loop*/queue/write_cache")
        }

    before = words()
    (app,) = apps_of(["fsync-loop"])
    options = PowerCutOptions(cuts=1, repeats=0)
    for barriers in (False, True):
        settings = msgspec.structs.replace(combination(barriers=barriers), fs="xfs")
        result = run_combination(settings, app, options, lambda _: None)
        assert (result.total("flushes") > 0) == barriers
        assert result.why_not_judged == ""
    assert before.items() <= words().items()
    assert {words()[path] for path in words().keys() - before.keys()} <= {"write back"}


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(not CAN_SERVE, reason="power cuts need root, /dev/fuse and /dev/loop-control")
def test_own_command_is_checked_as_documented(tmp_path: Path) -> None:
    script = tmp_path / "app"
    script.write_text(
        """#!/bin/sh
n=$3
case $1 in
run) while :; do echo x > $2/$n && sync $2/$n $2 || exit 1; echo $n; n=$((n + 1)); done ;;
check) for f in $2/[0-9]*; do [ -s $f ] && basename $f; done; true ;;
esac
"""
    )
    script.chmod(0o755)
    options = PowerCutOptions(cuts=1, repeats=0)
    result = run_combination(combination(str(script)), Command(str(script)), options, lambda _: None)
    assert result.total("acknowledged") > 0
    assert result.first_failure is None, result
