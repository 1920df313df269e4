"""Every command that Mileage advises can be typed: it ends with status 0 on the same target, at the same free space.

Truth: the exit status of the command as it was printed. Which commands there are is read off the source.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from mileage.targets.ledger import LEDGER_VARIABLE
from tests.answers.advice import PLACEHOLDER, Site, on_page, printed, sites
from tests.answers.advice_scenarios import NOTHING, SCENARIOS, Scenario
from tests.answers.question import suppose
from tests.command import mileage

ON_DEVICES = Path(__file__).with_name("test_device_advice.py")
"""The scenarios that need devices, mounts or root."""
NO_ADVICE = {
    "analysis/check_text.py: mileage check": "a heading",
    "analysis/view.py: mileage run {}": "how a study was made",
    "app/comparison_report.py: mileage {}, {}": "the version",
    "app/multi_study.py: mileage {}": "the version",
    "app/drive_fit.py: mileage drive fit {}": "how a log was made",
    "app/model_band.py: mileage run --band": "how a study was made",
    "app/sweep.py: mileage sweep": "how a study was made",
    "cli/__init__.py: mileage {}": "the version",
    "dropin/task_tools.py: mileage metarates ...": "begins with mpirun, and needs the other hosts",
    "report/replications.py: mileage drive array-tests --page FILE": "how the page was made",
    "report/published_rates.py: mileage drive fit": "a name",
    "report/published_rates.py: mileage drive rates --page FILE": "how the page was made",
    "report/replications.py: mileage drive raw-tests --page FILE": "how the page was made",
}
MARKS = {"": (), "slow": (pytest.mark.slow,), "thorough": (pytest.mark.thorough, pytest.mark.timeout(3600))}


def test_every_advised_command_has_a_scenario() -> None:
    known = {f"{site.module}: {site.template}" for site in sites()}
    covered = {name for scenario in SCENARIOS for name in scenario.prints}
    covered |= set(re.findall(r'"([\w/.]+: mileage [^"]+)"', ON_DEVICES.read_text()))
    assert sorted(known - covered - NO_ADVICE.keys()) == [], "write a scenario that prints it"
    assert sorted((covered | NO_ADVICE.keys()) - known) == [], "nothing in the source prints it"


@pytest.mark.parametrize(
    "scenario", [pytest.param(one, id=one.line, marks=MARKS[one.tier]) for one in SCENARIOS]
)
def test_an_advised_command_runs_as_it_was_printed(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    place = tmp_path / "my place"
    place.mkdir()
    scenario.make(place)
    done = mileage(*shlex.split(scenario.line), cwd=place, env=scenario.env)
    suppose(done.returncode == scenario.status, f"{done.returncode}: {done.stderr}")
    texts = [done.stdout, done.stderr]
    texts += [page.read_text() for page in sorted(place.glob(scenario.pages))] if scenario.pages else []
    advised = commands_of(*texts)
    check_printed(advised, *scenario.prints)
    scenario.before(place)
    for command in advised:
        run_as_printed(command, place, scenario.placeholders)


def commands_of(*texts: str) -> list[str]:
    """The advised commands of texts and of pages, each once."""
    found = (on_page(one) if "<html" in one[:200] else printed(one) for one in texts)
    return list(dict.fromkeys(itertools.chain(*found)))


def check_printed(advised: list[str], *names: str) -> None:
    for name in names:
        module, _, template = name.partition(": ")
        assert any(Site(module, template).prints(command) for command in advised), f"{name}: {advised}"


def run_as_printed(command: str, place: Path, placeholders: Mapping[str, str] = NOTHING) -> None:
    """End with 0, with what its placeholders stand for in their place."""
    typed = command
    for name, value in placeholders.items():
        typed = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", lambda _, value=value: value, typed)
    filled = {word for value in placeholders.values() for word in shlex.split(value)}
    assert not {word for word in shlex.split(typed) if re.fullmatch(PLACEHOLDER, word)} - filled, command
    ran = mileage(*shlex.split(typed)[1:], cwd=place)
    assert ran.returncode == 0, f"{command}: {ran.stderr}"
