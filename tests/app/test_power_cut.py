"""Power cuts under a real file system: what must be kept is kept, what is not synced is lost, and checks see both."""

import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mileage.app import power_cut
from mileage.app.commit_loop import RECORD_BYTES, check_records, check_rows, record
from mileage.app.power_cut import PowerCutOptions, check_campaign, run_combination
from mileage.app.power_cut_apps import AppState, Command, apps_of
from mileage.app.power_cut_process import CutAnswer
from mileage.app.power_cut_result import (
    CampaignResult,
    Combination,
    CombinationResult,
    CutResult,
    loss_bound,
    row_of,
    sentence_of,
)
from mileage.errors import Refused
from mileage.report.power_cut_page import HEADS, power_cut_text
from mileage.targets.ledger import Ledger
from mileage.targets.profiles import drive_names
from mileage.targets.queue_settings import Settings, apply_settings
from tests.command import mileage
from tests.house.repository import ROOT

CAN_SERVE = os.geteuid() == 0 and Path("/dev/fuse").exists() and Path("/dev/loop-control").exists()


def needs_devices(test: Callable[..., None]) -> Callable[..., None]:
    for mark in (
        pytest.mark.slow,
        pytest.mark.xdist_group("devices"),
        pytest.mark.skipif(not CAN_SERVE, reason="power cuts need root, /dev/fuse and /dev/loop-control"),
    ):
        test = mark(test)
    return test


def combination(app: str = "fsync-loop", **changes: bool) -> Combination:
    settings = {"barriers": True, "protected": False, "honest": True, "asks": True, **changes}
    return Combination(fs="ext4", app=app, **settings)


def cut(**changes: Any) -> CutResult:
    found = {
        "cut": 0,
        "seed": 5,
        "drawn_s": 0.1,
        "after_s": 0.1,
        "answer": CutAnswer(at_ns=1, lost_parts=1, old_sectors=8),
        "flushes": 9,
        "acknowledged": 10,
        "promised": 10,
        "lost": 0,
        "torn": 0,
        "recovery_s": 0.5,
    }
    return CutResult(**{**found, **changes})


def result_of(settings: Combination, *cuts: CutResult, **changes: Any) -> CombinationResult:
    return CombinationResult(combination=settings, planned=len(cuts), cuts=cuts, **changes)


def said_of(*results: CombinationResult, speed: str = "real") -> str:
    return sentence_of(
        CampaignResult(drive="x25e", profile="profile 0123", speed=speed, seed=1, combinations=results)
    )


def test_what_must_be_kept_follows_from_the_settings() -> None:
    assert combination().must_keep
    assert not combination(barriers=False).must_keep
    assert not combination(honest=False).must_keep
    assert not combination(asks=False, protected=True).must_keep
    assert combination(barriers=False, honest=False, protected=True).must_keep


def test_sentence_has_drive_cuts_and_bound_of_each_claim() -> None:
    kept = result_of(combination(), cut(), cut(answer=CutAnswer()))
    loser = result_of(combination(barriers=False), cut(lost=1, flushes=0))
    assert said_of(kept, loser, speed="x0.05") == (
        "On the simulated drive x25e (profile 0123), at speed x0.05: the one combination that must keep every"
        " acknowledged transaction kept all 20 in 2 cuts; the drive lost something in 1 of these; at most 78 % of the"
        " cuts break the promise (95 % confidence); the other one lost or damaged data in 1 of 1 cut."
    )
    broken = result_of(combination(), cut(), cut(corrupt="row missing"))
    assert (
        "1 of the 2 combinations that must keep every acknowledged transaction failed"
        " (ext4, fsync-loop, barriers, volatile, honest: 1 of 2 cuts)"
    ) in said_of(kept, broken)
    assert "in real time: the one combination that must" in said_of(broken)
    assert broken.total("corrupt") == 1
    harmless = result_of(combination(honest=False), cut(), cut())
    assert "none of the 2 others lost anything in 4 cuts" in said_of(harmless, harmless)


def test_bound_is_that_of_the_binomial_distribution() -> None:
    for failed, cuts in [(0, 60), (0, 1), (3, 60), (10, 12)]:
        share = loss_bound(failed, cuts)
        tail = sum(math.comb(cuts, k) * share**k * (1 - share) ** (cuts - k) for k in range(failed + 1))
        assert tail == pytest.approx(0.05)
    assert loss_bound(2, 2) == 1.0


def test_transactions_that_nobody_could_look_for_are_not_lost() -> None:
    blind = result_of(combination(), cut(unreplayable="mount failed", is_examined=False, promised=12), cut())
    assert (blind.total("lost"), blind.unexamined) == (0, 12)
    row = dict(zip(HEADS, row_of(blind), strict=True))
    assert (row["lost"], row["not examined"], row["unreplayable"], row["at stake"]) == ("0", "12", "1", "2")


def test_combination_that_ended_early_says_so_and_is_not_called_kept_without_cuts() -> None:
    early = result_of(combination(), cut(), ended="the check hangs")
    early = msgspec.structs.replace(early, planned=60)
    assert "ended after 1 of 60 cuts: the check hangs" in said_of(early)
    none = msgspec.structs.replace(early, cuts=())
    assert not none.is_judged
    assert "not judged, because no cut was made" in said_of(none)
    left = result_of(combination(), cut(ended="ended with exit status 1"), cut())
    assert "in 1 cut the application had ended before the power failed" in said_of(left)


def test_combination_whose_drive_got_the_wrong_flushes_is_not_judged() -> None:
    deaf = result_of(combination(), cut(flushes=0, lost=3))
    assert not deaf.is_judged
    assert "not judged, because the drive got no flush though barriers are on" in said_of(deaf)
    assert "not judged" in row_of(deaf)
    settings = combination(barriers=False, protected=True)
    chatty = result_of(settings, cut(flushes=4), cut(flushes=0))
    assert "the drive got 4 flushes without barriers" in said_of(chatty)
    idle = result_of(combination(asks=False), cut(flushes=0))
    assert idle.why_not_judged == "", "an application that does not sync need not flush"


def test_check_of_records_sees_missing_and_damaged_ones(tmp_path: Path) -> None:
    whole = b"".join(record(number) for number in range(5))
    torn = bytearray(whole)
    torn[2 * RECORD_BYTES + 512 : 2 * RECORD_BYTES + 1024] = bytes(512)
    (tmp_path / "log").write_bytes(torn[:-100])
    assert check_records(tmp_path) == {"found": [0, 1, 3], "damaged": [2], "corrupt": "", "open": ""}


def test_record_that_cannot_be_read_is_corrupt_and_not_missing(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    answer = check_records(tmp_path)
    assert answer["found"] is None
    assert "log: Is a directory" in answer["corrupt"]
    (tmp_path / "database").write_bytes(b"x" * 8192)
    answer = check_rows(tmp_path, "wal-full")
    assert answer["found"] is None
    assert answer["open"]


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


@needs_devices
def test_synced_commits_are_kept_and_others_lost() -> None:
    options = PowerCutOptions(cuts=2, repeats=0)
    for name in ("sqlite:delete-extra", "sqlite:wal-off"):
        (app,) = apps_of([name])
        result = run_combination(
            combination(app.name, asks=app.asks_for_durability), app, options, lambda _: None
        )
        assert result.total("acknowledged") > 0
        assert (result.total("lost") > 0) == (name == "sqlite:wal-off"), result


@needs_devices
@pytest.mark.skipif(shutil.which("mkfs.xfs") is None, reason="mkfs.xfs is not installed")
def test_hidden_write_cache_of_xfs_is_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop device keeps the word: without that the next combination, and everybody's file system, has no flushes."""
    used: dict[Path, str] = {}

    def noted(what: str, device: Path, settings: Settings, ledger: Ledger) -> None:
        path = Path("/sys/block", device.name, "queue/write_cache")
        used.setdefault(path, path.read_text())
        apply_settings(what, device, settings, ledger)

    monkeypatch.setattr(power_cut, "apply_settings", noted)
    (app,) = apps_of(["fsync-loop"])
    options = PowerCutOptions(cuts=1, repeats=0)
    for barriers in (False, True):
        settings = msgspec.structs.replace(combination(barriers=barriers), fs="xfs")
        result = run_combination(settings, app, options, lambda _: None)
        assert (result.total("flushes") > 0) == barriers
        assert result.why_not_judged == ""
        assert {path: path.read_text() for path in used} == used


SCRIPT = """#!/bin/sh
n=$3
case $1 in
run) while :; do echo x > $2/$n && sync $2/$n $2 || exit 1; echo $n; n=$((n + 1)); done ;;
check) {check}for f in $2/[0-9]*; do [ -s $f ] && basename $f; done; true ;;
esac
"""


def script_at(path: Path, check: str = "") -> Path:
    path.write_text(SCRIPT.replace("{check}", check))
    path.chmod(0o755)
    return path


@needs_devices
def test_own_command_is_checked_as_documented(tmp_path: Path) -> None:
    script = str(script_at(tmp_path / "app"))
    options = PowerCutOptions(cuts=1, repeats=0)
    result = run_combination(combination(script), Command(script), options, lambda _: None)
    assert result.total("acknowledged") > 0
    assert result.first_failure is None, result
    assert result.cuts[0].answer.at_ns > 0
    assert result.cuts[0].after_s >= result.cuts[0].drawn_s


@needs_devices
def test_failure_of_the_bench_keeps_the_cuts_before_it_and_is_no_loss(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    check = f"[ -e {mark} ] && {{ echo no number; exit; }}; touch {mark}; "
    script = str(script_at(tmp_path / "app", check))
    result = run_combination(
        combination(script), Command(script), PowerCutOptions(cuts=3, repeats=0), lambda _: None
    )
    assert len(result.cuts) == 1
    assert result.first_failure is None
    assert "its check printed 'no'" in result.ended


class ServerApp(Command):
    """A database whose server runs from its recovery until it is stopped, as PostgreSQL's does."""

    server: subprocess.Popen[bytes] | None = None
    checks = 0

    def state(self, folder: Path) -> AppState:
        found = super().state(folder)
        self.server = subprocess.Popen(["sleep", "600"], cwd=folder)
        self.checks += 1
        return AppState(found=None, corrupt="row 3 is torn") if self.checks == 1 else found

    def stop(self, folder: Path) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait()


@needs_devices
def test_damaged_database_is_replaced_and_what_nobody_saw_is_not_lost(tmp_path: Path) -> None:
    app = ServerApp(str(script_at(tmp_path / "app")))
    options = PowerCutOptions(cuts=2, repeats=0)
    result = run_combination(combination(app.name), app, options, lambda _: None)
    assert result.ended == ""
    first, second = result.cuts
    assert (first.corrupt, first.lost, first.is_examined) == ("row 3 is torn", 0, False)
    assert result.unexamined == first.promised > 0
    assert second.promised == second.acknowledged, "the second cut is on a new file system"
    assert not second.is_failure


@needs_devices
def test_termination_undoes_everything_and_reports_what_was_done(tmp_path: Path) -> None:
    page = tmp_path / "page"
    words = [sys.executable, "-m", "mileage", "powercut", "--cuts", "9999", "--report", str(page)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    place = f"/run/mileage-powercut-{process.pid}-1"
    end = time.monotonic() + 60
    while f"{place}/fs" not in Path("/proc/self/mounts").read_text():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, message = process.communicate(timeout=60)
    assert process.returncode == 3, message
    assert "interrupted" in out
    assert "of 9,999 cuts: interrupted" in (page / "report.html").read_text()
    assert place not in Path("/proc/self/mounts").read_text()
    assert not Path(place).exists()


class SignalledApp(Command):
    """An application at whose start Ctrl-C is pressed."""

    load: subprocess.Popen[bytes] | None = None

    def start(self, folder: Path, first: int) -> subprocess.Popen[bytes]:
        self.load = super().start(folder, first)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        return self.load


@needs_devices
def test_load_that_is_being_started_at_a_signal_is_ended(tmp_path: Path) -> None:
    app = SignalledApp(str(script_at(tmp_path / "app")))
    result = run_combination(combination(app.name), app, PowerCutOptions(cuts=1), lambda _: None)
    assert result.is_interrupted
    assert app.load is not None
    assert app.load.returncode == -signal.SIGKILL


@needs_devices
def test_existing_folder_of_the_report_is_refused_before_the_first_cut(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = mileage("powercut", "--report", str(tmp_path))
    assert done.returncode == 2
    assert "nothing is written over" in done.stderr
    assert "cuts" not in done.stderr.replace("powercut", "")


def test_options_without_effect_and_unknown_buffers_are_refused() -> None:
    for drive, words in [
        ("intel-x25e-64gb,write_buffer_power=protected", "--power"),
        ("intel-x25e-64gb,write_buffer_flush=ignored", "--flush"),
        ("sata-7k2", "intel-x25e-64gb has both kinds"),
        ("adaptec-8-sas-raid10", "an array"),
        ("raid1(plain-64gib,plain-64gib)", "an array"),
        ("samsung-960-pro-512gb", "--power volatile"),
    ]:
        with pytest.raises(Refused, match=words):
            check_campaign(["ext4"], [True, False], PowerCutOptions(drive=drive))
    page = (ROOT / "docs/how-to/power-cuts.md").read_text(encoding="utf-8")
    for drive in drive_names():
        row = next((row for row in page.splitlines() if row.startswith("| `") and f"`{drive}`" in row), "")
        for power in ("volatile", "protected"):
            try:
                check_campaign(["ext4"], [power == "protected"], PowerCutOptions(drive=drive))
            except Refused as refusal:
                has_one = refusal.refusals[0].code != "unsupported"
            else:
                has_one = True
            assert (f"`{power}`" in row) == has_one, f"{drive} {power}"
    for speed in ("unbounded", "x0", "fast", "xnan"):
        with pytest.raises(Refused, match=r"x0\.001 to x1000"):
            check_campaign(["ext4"], [False], PowerCutOptions(speed=speed))


def test_text_of_a_campaign_is_not_wider_than_asked_and_has_every_figure() -> None:
    row = tuple(f"{'x' * (30 if at == 1 else 4)}{at}" for at in range(len(HEADS)))
    text = power_cut_text("word " * 60, [row, row], 80)
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    assert all(words.count(f"{head}: {cell}") == 2 for head, cell in zip(HEADS, row, strict=True))
