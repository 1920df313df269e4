"""Each purpose on virtual drives whose figure follows from their profile: fast, slow, and at the limit."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from mileage.app.fitness import FitOptions, check_fitness, load_purpose, plans_for
from mileage.errors import Refused
from mileage.model.metrics import METRICS
from mileage.plan.builtin import purpose_names, purpose_text
from mileage.plan.purpose import Purpose, parse_purpose
from mileage.report.fitness import CANNOT_SAY, FitResult, status_of

PROGRAM_US = 400.0 + 4096 / 3940 + 6
"""Time of a page on plain-64gib, in microseconds: its program, its transfer, its command (profiles/drives)."""
COPY = 12_000.0
"""Bytes that the host copies in a microsecond; it needs 0.04 us for a page and 0.1 us for a call (profiles/hosts)."""
DISK = "virtual:sata-7k2"


class Truth(NamedTuple):
    """Targets of a purpose whose figure is below, above and at a limit."""

    limit: str
    fast: str
    slow: str
    near: str
    value: float | None = None
    """The figure at the limit as the profile gives it; None where only its being at the limit is known."""


def flushes(limit_us: float, before_us: float) -> Truth:
    """A drive whose flush takes a time that is known: `before_us` passes in addition to it."""
    fast, slow, near = (
        f"virtual:plain-64gib,flush_us={round(time_us)}"
        for time_us in (100, 2 * limit_us, limit_us - before_us)
    )
    return Truth(f"{limit_us / 1000:g} ms", fast, slow, near, limit_us * 1e3)


def links(host_us_per_byte: float) -> Truth:
    """A drive behind a link of a rate, and the time of a host before its data passes it."""
    fast = "virtual:samsung-960-pro-512gb"
    near = 1 / (1 / 90 - host_us_per_byte)
    return Truth("90 MB/s", fast, f"{fast},link_mb_per_s=30", f"{fast},link_mb_per_s={near:.3f}", 90e6)


TRUTHS = {
    # fdatasync writes two pages on as many planes, then flushes; the commit has the copy into the cache, too.
    "etcd": flushes(10_000, PROGRAM_US),
    "postgresql-wal": flushes(10_000, PROGRAM_US),
    "sqlite-wal": flushes(10_000, PROGRAM_US),
    # Records of 512 bytes: the drive reads and programs the page again for each, and the file system its journal.
    "innodb-log": flushes(10_000, 3 * PROGRAM_US),
    # 32 pages on the planes of the drive, then a flush.
    "zfs-intent-log": flushes(10_000, PROGRAM_US + 32 * 4096 / 3940),
    # Writes with FUA are in order on one track: one revolution each.
    "ceph-journal": Truth("10 ms", f"{DISK},rpm=15000", f"{DISK},rpm=4200", f"{DISK},rpm=6036", 10e6),
    # Nothing passes a link faster than its rate; a host copies into its cache first, and syncs at the end.
    "video-4k": links(0.0),
    "kafka-segment": links(1 / COPY + 0.04 / 4096 + 0.1 / 16384),
    "backup": links(1 / COPY + 0.04 / 4096),
    # A file is two operations on names, its creation and its closing, in memory.
    "build": Truth(
        "500",
        "virtual:optane-16gb@server-2025,name_us=10",
        "virtual:optane-16gb@server-2025,name_us=2000",
        "virtual:optane-16gb@server-2025,name_us=1000",
        500.0,
    ),
    # 8 or 32 outstanding at random on a disk: each waits for several seeks and half a revolution, 4 ms each at least.
    "swap": Truth("10 ms", "virtual:samsung-960-pro-512gb", DISK, ""),
    "vm-images": Truth("10 ms", "virtual:samsung-960-pro-512gb", DISK, ""),
}


def with_limit(name: str, text: str) -> Purpose:
    """The load of a purpose with a limit of one's own in place of what is published."""
    toml = "".join(
        line
        for line in purpose_text(name).splitlines(keepends=True)
        if not line.startswith(
            ("at_most", "at_least", 'title = "SD', 'title = "etcd doc', "url", "says", "read =")
        )
        and line.strip() != "[purpose.source]"
    )
    metric = METRICS[parse_purpose(purpose_text(name), name, name).metric.word]
    key = "at_least" if metric.higher_is_better else "at_most"
    own = f'[purpose]\n{key} = "{text}"\nsource = {{ title = "a test" }}'
    return parse_purpose(toml.replace("[purpose]", own, 1), f"{name}.toml", name)


def checked(purpose: Purpose, target: str) -> FitResult:
    (plan,) = plans_for(purpose, [target], FitOptions())
    (found,) = check_fitness([plan], purpose).checked
    return found


def test_every_purpose_has_a_truth_and_cites_its_limit() -> None:
    assert set(purpose_names()) == set(TRUTHS)
    for name in purpose_names():
        head = parse_purpose(purpose_text(name), name, name).head
        limit = head.at_most or head.at_least
        assert (limit is None) == (head.source is None)
        if head.source is not None:
            assert head.source.url.startswith("https://")
            assert head.source.says
            assert head.source.read


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize(("kind", "outcome", "status"), [("fast", "fit", 0), ("slow", "not fit", 1)])
def test_a_purpose_on_a_fast_and_a_slow_drive(name: str, kind: str, outcome: str, status: int) -> None:
    truth = TRUTHS[name]
    found = checked(with_limit(name, truth.limit), getattr(truth, kind))
    assert (found.fitness.outcome, found.status) == (outcome, status), found.verdict
    assert len(found.fitness.values) == 5
    assert found.verdict.startswith(f"{outcome} for {name} in this simulation: ")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TRUTHS)
def test_at_its_limit_a_purpose_cannot_be_judged(name: str) -> None:
    truth = TRUTHS[name]
    if truth.value is None:
        # The limit is what the drive was found to do: an interval contains its own mean.
        value = checked(load_purpose(name), truth.fast).fitness.value
        assert value is not None
        found = checked(with_limit(name, f"{round(value)} ns"), truth.fast)
    else:
        found = checked(with_limit(name, truth.limit), truth.near)
        assert found.fitness.value == pytest.approx(truth.value, rel=0.004)
    assert (found.fitness.outcome, found.status) == ("cannot say", CANNOT_SAY), found.verdict


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", purpose_names())
def test_a_purpose_as_it_ships(name: str) -> None:
    purpose = load_purpose(name)
    found = checked(purpose, TRUTHS[name].fast)
    assert found.status == 0
    assert found.fitness.outcome == ("no limit" if purpose.limit is None else "fit")
    assert (found.power_loss is None) == (not purpose.is_durable)
    if found.power_loss is not None:
        assert not found.power_loss.tested
        assert found.power_loss.cache is not None


def test_two_drives_are_compared_on_the_figure_that_is_judged() -> None:
    purpose = load_purpose("ceph-journal")
    (plan,) = plans_for(purpose, [f"{DISK},rpm=15000", f"{DISK},rpm=6000"], FitOptions())
    done = check_fitness([plan], purpose)
    assert done.comparison is not None
    (cell,) = done.comparison.cells
    assert cell.metric == "commit_p99_ns"
    # The ratio of the periods of rotation, and of the time of a command in both.
    assert cell.ratio == pytest.approx(10.06 / 4.06, rel=0.01)
    values = [one.fitness.value for one in done.checked]
    assert cell.ratio == pytest.approx((values[1] or 0) / (values[0] or 1), rel=1e-6)


def test_shares_are_those_of_the_file_also_where_a_drive_is_used_whole() -> None:
    """Half of 4 MiB, filled twice before: and not half of the drive."""
    toml = (
        '[purpose]\ntitle = "half"\nmetric = "p99"\n[state]\nfile = "4MiB"\n'
        '[torture.fill]\nworkload = "pattern.sequential_write"\nrecord = "64KiB"\namount = "2x"\n'
        '[measure.half]\nworkload = "pattern.random_write"\nrecord = "4KiB"\nspan = "50%"\n'
        "stop = { operations = 1000 }\n"
    )
    (plan,) = plans_for(parse_purpose(toml, "half.toml", "half"), ["virtual:plain-64gib"], FitOptions())
    (cell,) = plan.cells
    assert cell.workload is not None
    assert cell.workload.span_bytes == 2 << 20
    assert sum(run.action.bytes_written for run in plan.runs if run.role != "measure") == 8 << 20


def test_the_status_of_two_is_the_worse_answer() -> None:
    fit, limit = checked(load_purpose("ceph-journal"), DISK), with_limit("ceph-journal", "1 ms")
    unfit = checked(limit, DISK)
    unknown = checked(with_limit("ceph-journal", "10 ms"), f"{DISK},rpm=6036")
    assert status_of([fit, unfit]) == status_of([unknown, unfit]) == 1
    assert status_of([fit, unknown]) == CANNOT_SAY
    assert status_of([fit, fit]) == 0


def test_what_a_profile_says_of_the_cache_is_reported() -> None:
    purpose = load_purpose("zfs-intent-log")
    targets = {
        "virtual:plain-64gib": ("none", False),
        "virtual:intel-x25e-64gb": ("volatile", False),
        "virtual:micron-7450-pro-1920gb": ("protected", False),
        "virtual:samsung-960-pro-512gb": ("not stated", False),
        "virtual:intel-x25e-64gb,write_buffer_flush=ignored": ("volatile", True),
        DISK: ("volatile", False),
    }
    for target, known in targets.items():
        loss = checked(purpose, target).power_loss
        assert loss is not None
        assert loss.cache is not None
        assert (loss.cache.kind, loss.cache.ignores_flushes) == known


def test_what_cannot_be_planned_is_refused_by_name(tmp_path: Path) -> None:
    purpose = load_purpose("etcd")
    for runs in (4, 1001):
        with pytest.raises(Refused, match="--runs"):
            plans_for(purpose, [DISK], FitOptions(runs=runs))
    with pytest.raises(Refused, match="--max-writes"):
        plans_for(purpose, [f"dir:{tmp_path}"], FitOptions(max_write_bytes=1 << 20))
    with pytest.raises(Refused, match="given twice"):
        plans_for(purpose, [DISK, DISK], FitOptions())
    with pytest.raises(Refused, match="stores nothing"):
        plans_for(purpose, ["null:"], FitOptions())
    with pytest.raises(Refused, match="no purpose"):
        load_purpose("etc")
    with pytest.raises(Refused, match="no such file"):
        load_purpose(f"{tmp_path}/none.toml")
