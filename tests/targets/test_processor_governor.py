"""The frequency governor: set for a study and its levels, set back, and refused where it cannot be set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mileage import app
from mileage.errors import Refused
from mileage.execute import cycle, environment_guard
from mileage.plan import parse_study
from mileage.plan.faults import BrokenStudy
from mileage.targets.processor_governor import ProcessorGovernor

CPU = "sys/devices/system/cpu"
STUDY = """
name = "governed"
target = "TARGET"
report = "none"
[state]
file = "1MiB"
cache = "warm"
[factor.governor]
levels = ["performance", "powersave"]
[[stage]]
name = "only"
measure = ["m"]
[measure.m]
workload = "iops.random_write"
record = "4KiB"
repeat = 3
stop = { operations = 8 }
[compare]
arms = "governor"
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of three processors, one of which has another governor, that the study takes for this one."""
    root = tmp_path / "machine"
    for number, word in enumerate(("schedutil", "schedutil", "ondemand")):
        folder = root / CPU / f"cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(word + "\n")
        (folder / "scaling_available_governors").write_text("performance powersave schedutil ondemand\n")
    monkeypatch.setattr(environment_guard, "HOST", root)
    return root


def governors(root: Path) -> list[str]:
    files = sorted((root / CPU).glob("cpu[0-9]*/cpufreq/scaling_governor"))
    return [file.read_text().strip() for file in files]


def test_every_processor_gets_it_and_its_own_back(host: Path) -> None:
    governor = ProcessorGovernor(root=host)
    governor.set("performance")
    assert governors(host) == ["performance"] * 3
    governor.set("powersave")
    assert governors(host) == ["powersave"] * 3
    governor.set(None)
    assert governors(host) == ["schedutil", "schedutil", "ondemand"]


def test_one_that_a_processor_does_not_offer_changes_none(host: Path) -> None:
    (host / CPU / "cpu2/cpufreq/scaling_available_governors").write_text("schedutil ondemand\n")
    with pytest.raises(Refused, match=r"cpu2.*does not offer 'performance'"):
        ProcessorGovernor(root=host).set("performance")
    assert governors(host) == ["schedutil", "schedutil", "ondemand"]


def test_one_that_is_changed_meanwhile_is_left_alone(host: Path) -> None:
    governor = ProcessorGovernor(root=host)
    governor.set("performance")
    (host / CPU / "cpu0/cpufreq/scaling_governor").write_text("ondemand\n")
    governor.undo()
    assert governors(host) == ["ondemand", "schedutil", "ondemand"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a study that changes the machine needs root")
def test_each_run_of_a_study_has_the_governor_of_its_level(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    genuine = cycle.perform

    def perform(target, run, **rest):  # type: ignore[no-untyped-def]
        if run.workload is not None:
            seen.append((str(run.cell), tuple(set(governors(host)))))
        return genuine(target, run, **rest)

    monkeypatch.setattr(cycle, "perform", perform)
    (tmp_path / "disk").mkdir()
    (tmp_path / "study.toml").write_text(STUDY.replace("TARGET", f"dir:{tmp_path}/disk"))
    app.run(str(tmp_path / "study.toml"), out=tmp_path / "out")
    assert len(seen) == 6
    for cell, found in seen:
        assert found == ("performance" if "performance" in cell else "powersave",)
    assert governors(host) == ["schedutil", "schedutil", "ondemand"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a study that changes the machine needs root")
def test_a_machine_without_governors_refuses_the_plan_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment_guard, "HOST", tmp_path / "empty")
    (tmp_path / "disk").mkdir()
    (tmp_path / "study.toml").write_text(STUDY.replace("TARGET", f"dir:{tmp_path}/disk"))
    for ask in (app.plan, app.run):
        with pytest.raises(Refused, match=r"state\.governor: the governor cannot be set"):
            ask(str(tmp_path / "study.toml"))


@pytest.mark.parametrize(
    ("target", "level", "words"),
    [
        ("virtual:plain-64gib", "powersave", "has no effect on virtual:plain-64gib, whose time is simulated"),
        ("dir:/tmp", "../powersave", "expected the name of one"),
    ],
)
def test_a_level_without_effect_is_refused(target: str, level: str, words: str) -> None:
    with pytest.raises(BrokenStudy, match=words):
        parse_study(STUDY.replace("TARGET", target).replace("powersave", level), "governed.toml")
