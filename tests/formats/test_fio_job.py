"""Jobs of the kinds that fio's examples show, written anew: each runs as a study or is refused by an option's name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage import app
from mileage.errors import Refused
from mileage.formats.fio_job import read_job
from mileage.plan import Study, resolver

JOBS = Path(__file__).parent / "jobs"
RUN = ("random-read", "random-write", "sequential", "ssd", "file-server", "zipf", "threads", "paced")
REFUSED = {
    "profile": r"profile\.fio, line 5: \[device\] random_generator=lfsr: a study has nothing that does this",
    "surface": r"surface\.fio, line 8: \[write-and-verify\] verify=crc32c: a study has nothing that does this",
    "side-by-side": r"\[writer\]: has no stonewall: fio would run it with \[reader\]",
    "nothing": r"nothing\.fio, line 3: \[null\] ioengine=null: expected one of psync",
}


UNHURRIED_NS = 120 * 10**9


def study_of(text: str) -> Study:
    return read_job(text, "job.fio", "job", "dir:/tmp")


def test_every_kind_is_tried() -> None:
    assert {path.stem for path in JOBS.glob("*.fio")} == {*RUN, *REFUSED}
    assert len(RUN) + len(REFUSED) >= 10


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", RUN)
def test_a_job_runs_as_a_study(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A quick run ends after half a second: on a busy machine before its bytes are done, wherever that is.
    monkeypatch.setattr(resolver, "RUN_TIME_NS_MAX", UNHURRIED_NS)
    place = tmp_path / "place"
    place.mkdir()
    result = app.run(str(JOBS / f"{name}.fio"), target=f"dir:{place}", quick=True, out=tmp_path / "study")
    samples = result.samples()
    assert {sample.stage for sample in samples} == {"jobs"}
    jobs = (JOBS / f"{name}.fio").read_text().count("\n[") - 1
    assert len({sample.cell for sample in samples}) in (jobs, 1)
    assert [sample for sample in samples if sample.value <= 0] == []
    stops = {run.index: run.workload.stop for run in result.plan.runs if run.workload is not None}
    for entry in result.content().runs():
        stop, record = stops[entry.run], entry.record
        if stop.bytes is not None and stop.time_ns == UNHURRIED_NS:
            # The last record of a mixture may reach beyond the amount.
            assert record.bytes_read + record.bytes_written >= stop.bytes, entry


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_study_cannot_do_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(Refused, match=REFUSED[name]):
        app.plan(str(JOBS / f"{name}.fio"), target="dir:/tmp")


def test_options_mean_what_they_mean_to_fio() -> None:
    study = study_of(
        "[global]\nsize=1g\nkb_base=1024\nnumjobs=3\n[a]\nrw=randrw\nrwmixread=70\nbs=8k\nrate_iops=100\nrate=\n"
        "thinktime=500\nfdatasync=4\nioengine=io_uring\niodepth=16\nramp_time=2\noffset=64m\n".replace(
            "rate=\n", ""
        )
    )
    (measure,) = study.measure.values()
    assert (measure.workload, measure.record, measure.reads) == ("pattern.mix", "8KiB", 70)
    assert (measure.threads, measure.processes, measure.depth, measure.api) == (3, 3, 16, "uring")
    assert (measure.cap, measure.think, measure.warm_up) == (300, "500 us", "2 s")
    assert (measure.sync, measure.sync_every, measure.cache) == ("fdatasync", 4, "cold")
    assert (measure.span, measure.span_start) == ("1GiB", "64MiB")
    assert measure.stop is not None
    assert measure.stop.bytes == "3GiB"
    assert study.state.file == "1088MiB"


@pytest.mark.parametrize(
    ("lines", "done"),
    [
        ("ioengine=libaio", (1, "pread", True)),
        ("ioengine=libaio\ndirect=0", (1, "pread", True)),
        ("ioengine=libaio\nbuffered=1", (1, "pread", True)),
        ("ioengine=libaio\ndirect=1", (32, "uring", False)),
        ("ioengine=libaio\nbuffered=0", (32, "uring", False)),
        ("ioengine=io_uring", (32, "uring", False)),
    ],
)
def test_libaio_through_the_page_cache_waits_for_each(lines: str, done: tuple[int, str, bool]) -> None:
    study = study_of(f"[a]\nsize=1g\nrw=randread\niodepth=32\n{lines}\n")
    (measure,) = study.measure.values()
    assert (measure.depth, measure.api, "[a]: libaio without direct=1 waits" in study.question) == done


def test_a_sync_unlike_that_of_fio_is_reported() -> None:
    for sync, output in (("1", True), ("sync", True), ("dsync", False), ("0", False)):
        study = study_of(f"[a]\nsize=1g\nrw=write\nsync={sync}\n")
        assert ("rates can be higher than fio's" in study.question) == output


def test_a_time_ends_a_run_and_time_based_continues() -> None:
    text = "[a]\nsize=1g\nrw=read\nruntime=30\n"
    (until,) = study_of(text).measure.values()
    (on,) = study_of(text + "time_based\n").measure.values()
    assert until.stop is not None
    assert on.stop is not None
    assert (until.stop.bytes, until.stop.time, on.stop.bytes, on.stop.time) == ("1GiB", "30 s", None, "30 s")


READING = "[a]\nfilename={}\nrw=randread\nsize=64k\n"


def test_a_file_that_is_only_read_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    text = READING.format(path)
    missing = read_job(text, "job.fio", "job")
    path.write_bytes(b"x" * (64 << 10))
    there = read_job(text, "job.fio", "job")
    written = read_job(text.replace("randread", "randrw"), "job.fio", "job")
    assert [study.state.start for study in (missing, there, written)] == ["purged", "kept", "purged"]
    assert [len(study.stage) for study in (missing, there, written)] == [2, 1, 2]


def test_a_file_that_holds_a_part_of_what_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_bytes(b"x" * (32 << 10))
    with pytest.raises(
        Refused, match=r"line 4: \[a\] size=64k: .* holds 32768 bytes and the job reads 65536"
    ):
        read_job(READING.format(path), "job.fio", "job")


@pytest.mark.parametrize(
    ("lines", "output"),
    [
        ("rw=randread", "size: is not given"),
        ("size=10%", "line 2: .a. size=10%: expected a size"),
        ("size=1g\nrw=zoned", "line 3: .a. rw=zoned: expected one of read"),
        ("size=1g\niodepth=4", "line 3: .a. iodepth=4: has no effect with ioengine=psync"),
        ("size=1g\nflow=8", "line 3: .a. flow=8: a study has nothing that does this"),
        ("size=${SIZE}", "line 2: size=.{7}: variables and includes"),
        ("size=1g\ndirect=yes", "line 3: .a. direct=yes: expected 0 or 1"),
        (
            "size=1g\nrw=randread\nrandom_distribution=pareto:0.2",
            "line 4: .a. random_distribution=pareto:0.2: a study",
        ),
    ],
)
def test_a_refusal_names_the_option_and_the_line(lines: str, output: str) -> None:
    with pytest.raises(Refused, match=output):
        study_of(f"[a]\n{lines}\n")


HOST = "virtual:intel-x25e-64gb@phenom-8gib"
ON_HOST = "[a]\nsize=8m\nfilename=it\nrw=randread\nbs=4k\nio_size=4m\n"


def rate_on_a_host(place: Path, more: str) -> float:
    (place / "job.fio").write_text(ON_HOST + more)
    result = app.run(str(place / "job.fio"), target=HOST, out=place / f"study-{len(more)}")
    records = [entry.record for entry in result.content().runs() if entry.role == "measure"]
    assert {record.bytes_read for record in records} == {4 << 20}
    return (4 << 20) / min(record.elapsed_ns for record in records)


def test_a_job_runs_on_a_modelled_host_with_several_reads_in_flight(tmp_path: Path) -> None:
    alone = rate_on_a_host(tmp_path, "direct=1\n")
    together = rate_on_a_host(tmp_path, "direct=1\nioengine=libaio\niodepth=4\n")
    jobs = rate_on_a_host(tmp_path, "direct=1\nnumjobs=4\nthread\nio_size=1m\n")
    # The drive reads from ten channels at once.
    assert 2.5 * alone < together < 4.2 * alone
    assert jobs == pytest.approx(together, rel=0.1)


@pytest.mark.parametrize(
    ("lines", "output"),
    [
        ("ioengine=mmap\n", r"ioengine=mmap: a modelled host has no mmap"),
        ("ioengine=io_uring\niodepth=4\n", r"depth: .*only direct I/O has several operations of a thread"),
        ("numjobs=2\nthread\n", r"numjobs=2: gives each job a file of its own"),
    ],
)
def test_what_a_modelled_host_does_not_do_is_refused_by_its_name(
    tmp_path: Path, lines: str, output: str
) -> None:
    text = ON_HOST.replace("filename=it\n", "") if "numjobs" in lines else ON_HOST
    (tmp_path / "job.fio").write_text(text + lines)
    with pytest.raises(Refused, match=output):
        app.plan(str(tmp_path / "job.fio"), target=HOST)


@given(st.text(alphabet="[]abcdefgilmnorstuwz=0123456789k%$:/\n ._-#;", max_size=400))
def test_any_text_is_a_study_or_refused(text: str) -> None:
    for whole in (text, f"[a]\nsize=1g\n{text}"):
        try:
            study_of(whole)
        except Refused as refusal:
            assert "\n" not in str(refusal)  # noqa: PT017
