"""fio's JSON is read as fio means it: against the numbers of real files, and whole however it was damaged."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from mileage.app.importer import metrics_of
from mileage.errors import Refused
from mileage.formats.fio_json import read
from mileage.formats.input_file import open_source
from mileage.formats.readers import read_source
from mileage.formats.result import Result, ToolRun
from tests.answers import fio_report

SAMPLES = Path(__file__).parent / "samples"


def of(path: Path) -> Result:
    return read_source(open_source(path))


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    return path


def sample(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLES / name).read_text())
    return found


def test_one_job_has_the_figures_that_fio_prints() -> None:
    result = of(SAMPLES / "fio-one-job.json")
    (run,) = result.runs
    words = sample("fio-one-job.json")["jobs"][0]["read"]
    assert (result.tool, result.version, result.unread, result.lost) == ("fio", "3.33", [], [])
    assert run.cell == "fio.randread 4 KiB"
    assert run.rate_bytes_per_s == words["bw_bytes"]
    assert run.ops_per_s == words["iops"]
    assert run.elapsed_s == words["runtime"] / 1000
    assert (run.bytes_read, run.ops_read, run.bytes_written) == (words["io_bytes"], words["total_ios"], 0)
    assert run.latency_p99_ns == words["clat_ns"]["percentile"]["99.000000"]
    assert run.quantiles_ns["max"] == words["clat_ns"]["max"]
    assert run.outstanding == 1
    assert dict(run.printed)["read.lat_ns.mean"] == words["lat_ns"]["mean"]


def test_a_job_that_syncs_is_judged_by_its_syncs() -> None:
    (run,) = of(SAMPLES / "fio-fdatasync.json").runs
    job = sample("fio-fdatasync.json")["jobs"][0]
    sync = job["sync"]["lat_ns"]
    assert run.cell == "fio.write 2300 B"
    assert run.latencies_ns == {
        "sync_p50_ns": sync["percentile"]["50.000000"],
        "sync_p99_ns": sync["percentile"]["99.000000"],
    }
    assert metrics_of(run) == ("throughput", "sync_p50", "sync_p99")
    waited = job["write"]["lat_ns"]["mean"] * job["write"]["total_ios"] + sync["mean"] * sync["N"]
    assert run.latency_sum_ns == pytest.approx(waited)


@pytest.mark.parametrize(("count", "kept"), [(1000, 2), (999, 1), (20, 1), (19, 0)])
def test_quantiles_of_few_syncs_are_left_out(tmp_path: Path, count: int, kept: int) -> None:
    text = sample("fio-fdatasync.json")
    text["jobs"][0]["sync"]["lat_ns"]["N"] = count
    (run,) = of(written(tmp_path, json.dumps(text))).runs
    assert len(run.latencies_ns) == kept
    assert ("p99" in metrics_of(run)) == (kept == 0)


def test_bins_become_a_histogram_of_every_operation() -> None:
    write, mixed = of(SAMPLES / "fio-two-groups-plus.json").runs
    assert (write.cell, write.kind) == ("fio.write 1 MiB", "throughput")
    assert (mixed.cell, mixed.kind) == ("fio.randrw 4 KiB, 70 % reads, 2 jobs", "iops")
    words = sample("fio-two-groups-plus.json")["jobs"]
    for direction in ("read", "write"):
        found, theirs = mixed.latency[direction], words[1][direction]["clat_ns"]
        assert found.count == theirs["N"] == sum(theirs["bins"].values())
        assert found.sum_ns == pytest.approx(theirs["mean"] * theirs["N"])
        ours = found.quantile_ns(0.99)
        assert ours == pytest.approx(theirs["percentile"]["99.000000"], rel=0.02)
    both = words[1]["read"]["io_bytes"] + words[1]["write"]["io_bytes"]
    assert mixed.rate_bytes_per_s == pytest.approx(both / (words[1]["read"]["runtime"] / 1000))


def test_clients_are_runs_of_their_hosts_and_of_all() -> None:
    host, everyone = of(SAMPLES / "fio-client.json").runs
    words = sample("fio-client.json")["client_stats"]
    assert (host.cell, everyone.cell) == ("fio.randread 4 KiB, 2 jobs, host 127.0.0.1", "fio.all clients")
    assert host.ops_read == words[0]["read"]["total_ios"] + words[1]["read"]["total_ios"] == everyone.ops_read
    assert everyone.rate_bytes_per_s == words[2]["read"]["bw_bytes"]
    assert host.latency_p99_ns is None, "percentiles of two jobs cannot be joined"


def test_text_around_the_document_is_named_line_by_line() -> None:
    result = of(SAMPLES / "fio-normal-terse-json.out")
    lines = (SAMPLES / "fio-normal-terse-json.out").read_text().splitlines()
    assert [run.cell for run in result.runs] == ["fio.randwrite 4 KiB"]
    assert {entry.line for entry in result.unread} == {
        number
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith((" ", "{", "}"))
    } | {n for n, line in enumerate(lines, 1) if n > 278 and line.strip()}
    for entry in result.unread:
        assert lines[entry.line - 1].strip().startswith(entry.text.removesuffix("..."))


def test_a_warning_within_the_document_costs_no_run(tmp_path: Path) -> None:
    lines = (SAMPLES / "fio-one-job.json").read_text().splitlines()
    lines.insert(20, "fio: pid=12, err=5/file:io_u.c:1845, func=io_u error, error=Input/output error")
    result = of(written(tmp_path, "\n".join(lines)))
    assert [entry.line for entry in result.unread] == [21]
    assert result.runs == of(SAMPLES / "fio-one-job.json").runs


def test_two_documents_in_one_file_are_two_repetitions(tmp_path: Path) -> None:
    text = (SAMPLES / "fio-one-job.json").read_text()
    later = text.replace('"timestamp_ms" : 1795312540592', '"timestamp_ms" : 1795312550592')
    result = of(written(tmp_path, f"{text}\nsecond run\n{later}"))
    assert [run.cell for run in result.runs] == ["fio.randread 4 KiB"] * 2
    assert [entry.text for entry in result.unread] == ["second run"]


def test_a_file_cut_anywhere_gives_what_is_whole_and_says_what_is_lost(tmp_path: Path) -> None:
    text = (SAMPLES / "fio-two-groups-plus.json").read_text()
    whole = of(SAMPLES / "fio-two-groups-plus.json").runs
    first_ends = text.index('"jobname" : "rand"')
    for cut in range(200, len(text) - 2, 997):
        path = written(tmp_path, text[:cut])
        if cut < first_ends - 100:
            with pytest.raises(Refused, match="no JSON document of fio with whole jobs"):
                of(path)
            continue
        result = of(path)
        assert result.lost or cut > text.index('"disk_util"')
        assert [run.cell for run in result.runs] == [run.cell for run in whole][: len(result.runs)]
        assert result.runs[0].rate_bytes_per_s == whole[0].rate_bytes_per_s


def test_figures_that_are_none_are_omitted(tmp_path: Path) -> None:
    text = (SAMPLES / "fio-one-job.json").read_text()
    words = sample("fio-one-job.json")["jobs"][0]["read"]
    text = text.replace(f'"iops" : {words["iops"]:.6f}', '"iops" : -nan')
    text = text.replace(f'"bw_bytes" : {words["bw_bytes"]}', '"bw_bytes" : -1')
    (run,) = of(written(tmp_path, text)).runs
    assert (run.ops_per_s, run.rate_bytes_per_s) == (None, None)
    assert run.elapsed_s == words["runtime"] / 1000


def test_fio_2_has_other_units_and_is_refused(tmp_path: Path) -> None:
    text = (SAMPLES / "fio-one-job.json").read_text().replace("fio-3.33", "fio-2.21")
    with pytest.raises(Refused, match=r"line 1: fio-2.21; expected fio 3"):
        of(written(tmp_path, text))


def test_fio_2_without_its_version_is_known_by_its_names(tmp_path: Path) -> None:
    """An excerpt has no version, and io_bytes of fio 2 is in KiB."""
    data = sample("fio-one-job.json")
    del data["fio version"]
    assert of(written(tmp_path, json.dumps(data))).version is None
    for name in ("read", "write", "trim"):
        part = data["jobs"][0][name]
        data["jobs"][0][name] = {
            "io_bytes": part["io_bytes"] // 1024,
            "bw": part["bw"],
            "clat": {"mean": 60.0, "percentile": {"99.000000": 90}},
            **{key: part[key] for key in ("iops", "runtime", "total_ios")},
        }
    with pytest.raises(Refused, match="no version, and latencies without clat_ns; expected fio 3"):
        of(written(tmp_path, json.dumps(data)))


def test_sizes_follow_kb_base(tmp_path: Path) -> None:
    data = sample("fio-one-job.json")
    for base, size, label in (("1000", "4k", "fio.randread 4000 B"), ("1000", "4ki", "fio.randread 4 KiB")):
        job = data["jobs"][0]
        job["job options"] |= {"kb_base": base, "bs": size}
        job["read"]["io_bytes"] = job["read"]["total_ios"] * (4000 if size == "4k" else 4096)
        assert of(written(tmp_path, json.dumps(data))).runs[0].cell == label


def of_job(tmp_path: Path, job: dict[str, Any]) -> ToolRun:
    (run,) = of(written(tmp_path, json.dumps(fio_report.report([job])))).runs
    return run


def test_bandwidth_that_fio_3_1_gives_in_kibibytes(tmp_path: Path) -> None:
    job = fio_report.job("slow", iops=0.1)
    del job["read"]["bw_bytes"]
    assert of_job(tmp_path, job).rate_bytes_per_s == pytest.approx(409.6)
    del job["read"]["io_bytes"]
    assert of_job(tmp_path, job).rate_bytes_per_s == job["read"]["bw"] * 1024


@pytest.mark.parametrize(
    ("engine", "switched_off", "counted"),
    [("libaio", "slat_ns lat_ns", False), ("libaio", "lat_ns", True), ("psync", "slat_ns lat_ns", True)],
)
def test_the_latency_of_submission_is_counted_or_not_known(
    tmp_path: Path, engine: str, switched_off: str, counted: bool
) -> None:
    job = fio_report.job("x", iops=7_500, clat_ns=98_000, ioengine=engine)
    operations = job["read"]["total_ios"]
    job["read"]["slat_ns"] = fio_report.times(33_000, operations, percentiles=False)
    for name in switched_off.split():
        job["read"][name] = fio_report.times(0, 0)
    run = of_job(tmp_path, job)
    with_submission = 98_000 + ("slat_ns" not in switched_off) * 33_000
    assert run.latency_sum_ns == pytest.approx(with_submission * operations)
    assert run.submission_counted is counted
    assert any("submission takes 25% of the latency" in note for note in run.notes) is (
        "slat" not in switched_off
    )


def test_a_group_of_different_jobs_has_the_name_of_none(tmp_path: Path) -> None:
    reads = fio_report.job("reads")
    assert of_job(tmp_path, reads).cell == "fio.randread 4 KiB"
    reads["write"] = fio_report.direction(500, 90_000, 60_000)
    assert of_job(tmp_path, reads).cell == "fio.group of reads and others"
    both = fio_report.job("one", numjobs="2")
    both["job_runtime"] = 120_000
    assert of_job(tmp_path, both).cell == "fio.randread 4 KiB, 2 jobs"
    both["job_runtime"] = 180_000
    run = of_job(tmp_path, both)
    assert (run.cell, run.outstanding, run.levels["job"]) == ("fio.group of one and others", None, "one")
    assert "iodepth" not in run.levels
    assert "names only the first" in run.notes[0]


def test_a_job_that_verifies_or_ramps_up_is_no_group(tmp_path: Path) -> None:
    # fio's job_runtime has the time of reading back, and has not that of ramp_time.
    job = fio_report.job("one", rw="randwrite", verify="crc32c", ramp_time="10")
    job["read"] = fio_report.direction(10_000, 90_000, 55_000)
    job["job_runtime"] = 115_000
    assert "others" not in of_job(tmp_path, job).cell
    job["job options"]["verify"] = "0"
    assert "others" in of_job(tmp_path, job).cell


def test_a_group_whose_operations_have_another_size_holds_other_jobs(tmp_path: Path) -> None:
    """A short job of 8 KiB next to a long one of 4 KiB adds little to the run times."""
    job = fio_report.job("one")
    job["read"]["total_ios"] += 50_000
    job["read"]["io_bytes"] += 50_000 * 8192
    assert of_job(tmp_path, job).cell == "fio.group of one and others"
    for name in ("total_ios", "runtime"):
        damaged = fio_report.job("one")
        damaged["read"][name] = -1
        assert of_job(tmp_path, damaged).cell == "fio.randread 4 KiB", "what is not known shows no other job"
    part = fio_report.job("one")
    part["read"]["total_ios"] += 1
    part["read"]["io_bytes"] += 512
    assert of_job(tmp_path, part).cell == "fio.randread 4 KiB"


def test_reads_of_verify_are_no_part_of_the_rate(tmp_path: Path) -> None:
    """They come after the writes, so bytes of both over the longer time are a rate of neither."""
    alone = fio_report.job("one", rw="write", verify="crc32c")
    job = copy.deepcopy(alone)
    job["read"] = fio_report.direction(20_000, 40_000, 30_000)
    run, writes = of_job(tmp_path, job), of_job(tmp_path, alone)
    assert run.cell == writes.cell == "fio.write 4 KiB"
    for name in (
        "rate_bytes_per_s",
        "ops_per_s",
        "elapsed_s",
        "latency_p99_ns",
        "latency_sum_ns",
        "bytes_written",
    ):
        assert getattr(run, name) == getattr(writes, name), name
    assert (run.ops_read, run.counters["verified_ops"]) == (None, 600_000)
    mixed = copy.deepcopy(job)
    mixed["job options"]["rw"] = "rw"
    assert of_job(tmp_path, mixed).ops_read == 600_000


def test_latencies_that_were_not_measured_are_not_zero(tmp_path: Path) -> None:
    """With gtod_reduce and disable_clat fio writes 0 for all of them."""
    job = fio_report.job("one")
    for kind in ("clat_ns", "lat_ns", "slat_ns"):
        job["read"][kind] = fio_report.times(0, 0)
    assert of_job(tmp_path, job).quantiles_ns == {}


def test_percentiles_of_total_latency_are_called_so(tmp_path: Path) -> None:
    job = fio_report.job("x", clat_ns=98_000)
    operations = job["read"]["total_ios"]
    completion = of_job(tmp_path, job)
    job["read"]["clat_ns"] = fio_report.times(98_000, operations, percentiles=False)
    job["read"]["lat_ns"] = fio_report.times(131_000, operations)
    total = of_job(tmp_path, job)
    assert total.latency_p99_ns == job["read"]["lat_ns"]["percentile"]["99.000000"]
    assert {run.levels["percentiles"] for run in (completion, total)} == {
        "of completion latency",
        "of total latency",
    }


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 100_000, "[" * 50_000, '{"fio version": "fio-3.1", "jobs": 5}', '{"jobs": [' + "9" * 10_000],
)
def test_what_is_hostile_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused) as refusal:
        read(open_source(written(tmp_path, text)))
    assert "\n" not in str(refusal.value)
