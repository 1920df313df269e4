"""For all tests: one printed seed that replays the random ones, how thoroughly they search, and which overlap.

MILEAGE_TEST_SEED=N replays a run; MILEAGE_TEST_PROFILE=thorough searches forty times longer.

A test whose cases are a grid may be marked `sampled(N)`: N of its cases, drawn by the seed, are run; all of them in the
tier `thorough`. Marked modules draw among the parameters of all their tests, so that a drawn one has all its tests.

Of the cases of tests that are not fast (those in `tests/durations.json`) a run of all tests does a share, drawn by the
seed; the tier `rest` does the others of the same seed, and CI runs both.

Tests run in several processes. Those that share something of the whole machine (loop devices, the page cache, MPI) are
in a named group, and the tests of a group run one after another: `pytestmark = pytest.mark.xdist_group("devices")`.
Tests that share a fixture of their module are kept together here.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import settings

from tests import durations

# Pictures are most of a small study's time. The tests that are about them ask for them.
os.environ.setdefault("MILEAGE_REPORT", "text")
# Each process that a test starts would compile the whole package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile("fast", max_examples=50, deadline=None, print_blob=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, print_blob=True)


TIERS = ("quick", "test", "rest", "whole", "thorough")
DRAWN_SHARE = 1 / 8
COLLECTED = pytest.StashKey[set[Path]]()
"""The files of all tests that were collected, also of those that this run does not do."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which tests are run, as CONTRIBUTING has it."""
    parser.addoption("--tier", choices=TIERS, default="test", help="how much is tested")
    parser.addoption("--changed", default="", help="changed files: their tests are run in the tier quick too")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile and the seed before the first property is collected, and let signals through.

    A shell that starts this in the background without job control has it, and all it starts, ignore SIGINT; nohup does
    the same with SIGHUP.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    settings.load_profile(os.environ.get("MILEAGE_TEST_PROFILE", "fast"))
    # The processes that run the tests get the seed of the one that started them.
    seed = os.environ.setdefault("MILEAGE_TEST_SEED", str(secrets.randbelow(2**32)))
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = seed
    if not hasattr(config, "workerinput") and config.getoption("--tier") in ("test", "rest", "whole"):
        recorder = durations.Recorder(adds=config.getoption("--tier") == "rest")
        config.pluginmanager.register(recorder, "durations")


def pytest_report_header(config: pytest.Config) -> str:
    """The line that says how to replay this run."""
    return f"random tests: MILEAGE_TEST_SEED={config.getoption('hypothesis_seed')} repeats them"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of the tier, and keep those together that share a fixture of their module: it is built once."""
    config.stash[COLLECTED] = {item.path for item in items}
    chosen = _of_tier(config.getoption("--tier"), config.getoption("--changed").split(), items)
    if is_run_of_all(config) and config.getoption("--tier") in ("test", "rest"):
        seed = os.environ["MILEAGE_TEST_SEED"]
        tests = config.getoption("--tier") == "test"
        chosen = {item for item in chosen if is_drawn(item.nodeid, seed) == tests}
    if len(chosen) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]
    for item in items:
        if item.get_closest_marker("xdist_group") is None and (group := _shared_fixtures(item)):
            item.add_marker(pytest.mark.xdist_group(group))


def is_run_of_all(config: pytest.Config) -> bool:
    """Whether no test or folder was asked for by name."""
    return config.args in ([str(Path(__file__).parent)], ["tests"])


def is_drawn(nodeid: str, seed: str) -> bool:
    """Whether a case is in the tier `test`; a case of a long test that is not is in the tier `rest`."""
    if durations.kept().get(durations.function_of(nodeid), 0.0) < durations.LONG_S:
        return True
    return random.Random(f"{seed} {nodeid.partition('@')[0]}").random() < DRAWN_SHARE


def _shared_fixtures(item: pytest.Item) -> str:
    """The group of a test that shares a fixture of its module, with the parameters of that fixture; empty: none."""
    known = getattr(item, "_fixtureinfo", None)
    found = known.name2fixturedefs if known is not None else {}
    shared = [name for name, definitions in found.items() if definitions[-1].scope in ("module", "class")]
    callspec = getattr(item, "callspec", None)
    given = [str(callspec.params[name]) for name in shared if callspec and name in callspec.params]
    return "-".join([item.path.stem, *given]) if shared else ""


def _sampled(items: list[pytest.Item]) -> list[pytest.Item]:
    """Without the cases of marked tests that the seed has not drawn. Of cases that are asked for by name, all stay."""
    counts: dict[str, int] = {}
    cases: dict[str, set[str]] = {}
    for item in items:
        if mark := item.get_closest_marker("sampled"):
            counts[_grid(item)] = mark.args[0]
            cases.setdefault(_grid(item), set()).add(_case(item))
    seed = os.environ["MILEAGE_TEST_SEED"]
    drawn = {
        grid: set(random.Random(f"{seed} {grid}").sample(sorted(found), min(counts[grid], len(found))))
        for grid, found in cases.items()
    }
    return [item for item in items if _grid(item) not in drawn or _case(item) in drawn[_grid(item)]]


def _grid(item: pytest.Item) -> str:
    """What the cases of a marked test are drawn among: its module when all of that is marked, else itself."""
    module = item.getparent(pytest.Module)
    whole = module is not None and any(mark.name == "sampled" for mark in module.own_markers)
    return item.nodeid.partition("::")[0] if whole else item.nodeid.partition("[")[0]


def _case(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    return "" if callspec is None else str(callspec.id)


def _of_tier(tier: str, changed: Iterable[str], items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests of a tier. `changed`: paths from the root of the repository."""
    if tier == "thorough":
        return set(items)
    of_test = [item for item in items if item.get_closest_marker("thorough") is None]
    of_test = _sampled(of_test)
    if tier != "quick":
        return set(of_test)
    long, paths = durations.kept(), [Path(path) for path in changed]
    direct = {path.name for path in paths if path.name.startswith("test_")}
    direct |= {f"test_{path.stem}.py" for path in paths if path.suffix == ".py"}
    return {
        item
        for item in of_test
        if item.path.name in direct
        or (
            durations.function_of(item.nodeid) not in long
            and not any(map(item.get_closest_marker, ("slow", "xdist_group")))
        )
    }
