"""What a user asks of `compare --fail-if` in a pipeline. The results are fio's, with figures chosen here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.answers import fio_report
from tests.answers.question import ask, ask_both, ask_json
from tests.command import mileage

JOBS = {"oltp": "randread", "log": "randwrite"}


def import_runs(folder: Path, out: str, jobs: dict[str, str], iops: float = 1.0, latency: float = 1.0) -> str:
    """Five runs of fio with 0.4 % between them, imported as a study; the factors scale rate and latency."""
    names = []
    for run in range(5):
        done = [
            fio_report.job(
                name, iops=(10_000 + 37 * run) * iops, clat_ns=(95_000 - 350 * run) * latency, rw=rw
            )
            for name, rw in jobs.items()
        ]
        document = fio_report.report(done, at_s=1_700_000_000 + 100 * run)
        names.append(fio_report.save(folder / f"{out}-{run}.json", document))
    ask("import", *names, "--out", out, "--session", "lab", cwd=folder)
    return out


def test_a_job_that_disappeared_fails_the_gate(tmp_path: Path) -> None:
    """Did a job disappear from tonight's results?

    Truth: yes, by construction: last night has two jobs, tonight has one. A pipeline that stays green then guards
    nothing.
    """
    before = import_runs(tmp_path, "before", JOBS)
    after = import_runs(tmp_path, "after", {"oltp": "randread"})
    compared = ask("compare", before, after, cwd=tmp_path)
    assert "randwrite" in compared
    assert mileage("compare", before, after, "--fail-if", "slower", cwd=tmp_path).returncode == 1


def test_a_new_job_is_listed(tmp_path: Path) -> None:
    """Is there a job tonight that last night did not have?

    Truth: yes, by construction.
    """
    before = import_runs(tmp_path, "before", {"oltp": "randread"})
    after = import_runs(tmp_path, "after", JOBS)
    assert "randwrite" in ask("compare", before, after, cwd=tmp_path)
    assert "randwrite" in str(ask_json("compare", before, after, cwd=tmp_path))


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ("slower", 1),
        ("slower > 49%", 1),
        ("different > 49%", 1),
        ("faster", 0),
        ("slower > 120%", 0),
        ("slower by a lot", 2),
    ],
)
def test_the_exit_status_follows_from_the_rule(tmp_path: Path, rule: str, status: int) -> None:
    """With which status does a gate end when every rate is halved and every latency doubled?

    Truth: rates changed by -50 % and latencies by +100 % by construction; 1 is a judged failure and 2 a wrong rule, as
    README has it.
    """
    before = import_runs(tmp_path, "before", JOBS)
    after = import_runs(tmp_path, "after", JOBS, iops=0.5, latency=2.0)
    ask("compare", before, after, "--fail-if", rule, cwd=tmp_path, status=status)


def test_a_gate_sees_a_latency_that_rose_at_the_same_rate(tmp_path: Path) -> None:
    """Does a gate fail when the rate is the same and the 99th percentile is twice as high?

    Truth: the second study is slower in latency by 100 %, by construction: half the queue depth was in use before. The
    rule "slower > 5%" does not exclude latency.
    """
    before = import_runs(tmp_path, "before", {"oltp": "randread"}, latency=0.5)
    after = import_runs(tmp_path, "after", {"oltp": "randread"})
    _, errors = ask_both("compare", before, after, "--fail-if", "slower > 5%", cwd=tmp_path, status=1)
    assert "p99" in errors


def test_a_gate_can_fail_when_nothing_is_decided(tmp_path: Path) -> None:
    """Can a gate fail when the data cannot decide?

    Truth: one run on each side has no spread, so the difference of 30 % cannot be judged; a user whose gate must prove
    that nothing became slower asks for the fifth of the verdicts that README lists.
    """
    for name, iops in (("before", 10_000), ("after", 7_000)):
        document = fio_report.report([fio_report.job("oltp", iops=iops, clat_ns=950_000_000 / iops)])
        ask(
            "import",
            fio_report.save(tmp_path / f"{name}.json", document),
            "--out",
            name,
            "--session",
            "lab",
            cwd=tmp_path,
        )
    assert "undecided" in ask("compare", "before", "after", cwd=tmp_path)
    done = mileage("compare", "before", "after", "--fail-if", "undecided", cwd=tmp_path)
    assert done.returncode == 1, done.stderr


def test_runs_at_a_fixed_rate_are_not_duplicates(tmp_path: Path) -> None:
    """Are five runs of a job that is held to 1,000 IOPS five runs?

    Truth: yes, by construction: start time and latency differ from run to run, up to fourfold; only the rate is equal,
    because the job asks for it.
    """
    names = []
    for run, latency_ns in enumerate((90_000, 110_000, 360_000, 120_000, 100_000)):
        job = fio_report.job("paced", iops=1000, clat_ns=latency_ns, rate_iops="1000")
        document = fio_report.report([job], at_s=1_700_000_000 + 100 * run)
        names.append(fio_report.save(tmp_path / f"r{run}.json", document))
    done = mileage("import", *names, "--out", "paced", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = ask_json("query", "SELECT count(DISTINCT run) AS runs FROM samples", "paced", cwd=tmp_path)
    assert row["runs"] == 5
