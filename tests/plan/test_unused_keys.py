"""A key that only says how real storage is reached is refused where no storage is reached."""

from __future__ import annotations

import inspect
import re

import pytest

from mileage.model.target_kind import capabilities_of
from mileage.plan.file_job import Job
from mileage.plan.io_options import CALL_KEYS, HOW_KEYS, IoOptions, reach_of, unused_keys, without_effect
from mileage.plan.run_action import FILE_JOBS


def test_every_key_that_makes_up_a_reach_has_no_effect_on_a_virtual_drive() -> None:
    read = set(re.findall(r"\bhow\.(\w+)", inspect.getsource(reach_of)))
    assert read == set(unused_keys(capabilities_of("virtual:x")))


def test_the_null_target_ignores_calls_and_data_but_not_processors() -> None:
    unused = unused_keys(capabilities_of("null:"))
    assert set(CALL_KEYS) < set(unused) <= set(HOW_KEYS)
    assert not {"pin", "interval", "processes"} & set(unused)


HOST = capabilities_of("virtual:x@y")
TOOLS = [job for job in FILE_JOBS if HOST.does(job.word())]


@pytest.mark.parametrize("job", TOOLS, ids=lambda job: job.word())
def test_no_work_on_files_of_a_host_has_a_time_out(job: type[Job]) -> None:
    given = IoOptions(timeout="30 s", pin=(0,), verify="all")
    refused = {fault.where for fault in job.not_on_a_host(given, HOST, "warm")}
    assert refused == {"timeout", "pin", "verify"} & set(job.keys)
    assert "timeout" in refused


@pytest.mark.parametrize("job", TOOLS, ids=lambda job: job.word())
@pytest.mark.parametrize("cache", ["cold", "dropped", "hot", "limited:1GiB"])
def test_no_work_on_files_of_a_host_takes_a_state_of_the_page_cache_that_it_cannot_bring_about(
    job: type[Job], cache: str
) -> None:
    how = IoOptions()
    refused = [*job.not_on_a_host(how, HOST, cache), *job.without_effect(how, cache)]
    assert [fault.where for fault in refused] == ["cache"]
    for known in ("warm", "direct"):
        assert not [*job.not_on_a_host(how, HOST, known), *job.without_effect(how, known)]


@pytest.mark.parametrize("target", ["dir:/mnt", "file:/mnt/a", "block:/dev/sdb", "loop:1GiB"])
def test_real_storage_is_reached_with_every_key(target: str) -> None:
    assert unused_keys(capabilities_of(target)) == ()


def test_the_refusal_says_why() -> None:
    (fault,) = without_effect(IoOptions(settle="2 s"), capabilities_of("virtual:x"))
    assert fault.where == "settle"
    assert (
        fault.sentence == "work on a virtual drive makes no system calls, so this has no effect; leave it out"
    )
    (fault,) = without_effect(IoOptions(cache="direct"), capabilities_of("virtual:x"))
    assert fault.sentence == "a virtual drive has no page cache, so this has no effect; leave it out"
