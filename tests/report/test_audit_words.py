"""Each kind that an audit can find has words with its figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mileage.judge import audit, disturbance, memory_rate
from mileage.judge.audit import Audit
from mileage.judge.memory_rate import MemoryRate
from mileage.report.audit_words import _WORDS, audit_words

FIGURES: dict[str, float | int | str] = {
    "cell": "iops.read 4 KiB",
    "queue_share": 0.5,
    "due_share": 0.975,
    "memory_share": 0.25,
    "foreign_share": 0.125,
    "worst_share": 0.4,
    "limit_share": 0.1,
    "disturbed_runs": 3,
    "runs": 7,
    "late_p50_ns": 101_000,
    "late_p99_ns": 450_000,
    "late_max_ns": 2_000_000,
    "late_runs": 2,
    "highest_celsius": 51.0,
    "rise_celsius": 6.0,
    "throttles": 3,
    "answer_ns": 2500.0,
    "stream_bytes_per_s": 5e9,
    "elapsed_s": 0.129,
    "write_ops_per_s": 50,
    "target": "/dev/shm",
    "file_system": "tmpfs",
}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("device-behind", "iops.read 4 KiB: the device, which did 97.5% of"),
        (
            "other-load",
            "other programs used up to 40.0% of all processor time (above 10% in 3 of 7 runs); most in iops.read 4 KiB",
        ),
        ("late-answers", "half by 101 us, 1 % by 450 us, one by 2,000 us in the worst run"),
        ("group-limit", "the control group's limit of writes to 50 operations/s (iops.read 4 KiB)"),
        ("heat", "runs began within 6 C; processors slowed down for heat 3 times"),
    ],
)
def test_words_have_the_figures(kind: str, words: str) -> None:
    assert words in audit_words(Audit(name="x", state="warn", kind=kind, figures=FIGURES))


def test_a_time_has_no_exponent() -> None:
    assert "5.0 GB/s in one stream for 129 ms" in audit_words(MemoryRate(False, "stream-rate", FIGURES))


def test_every_kind_has_words_and_every_word_a_kind() -> None:
    sources = [Path(str(module.__file__)).read_text() for module in (audit, disturbance, memory_rate)]
    literals = {word for text in sources for word in re.findall(r'"([a-z][a-z-]+)"', text)}
    elsewhere = {"memory-file-system"}
    assert set(_WORDS) - elsewhere <= literals
    for kind in _WORDS:
        assert audit_words(Audit(name="x", state="warn", kind=kind, figures=FIGURES))
