"""A refusal is a value: its parts are rendered once for a study file, an option, Python and `--json`."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from mileage._core import cpus_of_node
from mileage.errors import Refusal, Refused
from tests.command import mileage

FULL = Refusal(
    "measure.iops.depth", "0", "a whole number from 1 to 4096", "leave it out", "out-of-range", line=7
)


def test_the_sentence_is_made_of_the_parts() -> None:
    sentence = "found 0, expected a whole number from 1 to 4096; leave it out"
    assert FULL.sentence == sentence
    assert FULL.words == f"line 7: measure.iops.depth: {sentence}"
    assert FULL.below("torture.t").words == f"line 7: torture.t.measure.iops.depth: {sentence}"
    assert Refusal(text="no limit").words == "no limit"
    assert Refusal(text="no limit", expected="one").words == "no limit; expected one"
    assert Refusal(text="no limit", found="0", expected="one").words == "no limit, found 0, expected one"


def test_a_refused_carries_its_reasons() -> None:
    refused = Refused("--depth", found="0", expected="more", code="out-of-range")
    assert str(refused) == "--depth: found 0, expected more"
    assert [reason.code for reason in refused.refusals] == ["out-of-range"]
    assert str(refused.within("factor.depth")) == "factor.depth: --depth: found 0, expected more"
    again = pickle.loads(pickle.dumps(refused))
    assert (str(again), again.refusals) == (str(refused), refused.refusals)
    plain = Refused("", "a sentence")
    assert (str(plain), plain.refusals) == ("a sentence", (Refusal(text="a sentence"),))


def test_what_the_core_refuses_is_a_value_too() -> None:
    with pytest.raises(Refused) as refused:
        cpus_of_node(10**6)
    assert [reason.sentence for reason in refused.value.refusals] == [str(refused.value)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("measure", "-t", "virtual:plain-64gib", "--threads", "0"),
            {
                "where": "--threads",
                "found": "0",
                "expected": "a whole number from 1 to 1024",
                "text": "found 0, expected a whole number from 1 to 1024",
            },
        ),
        (("run", "no-such-study"), {"where": "no-such-study", "code": "unknown-name"}),
        (("compare", "nowhere", "elsewhere"), {"where": "nowhere", "code": "not-found"}),
    ],
)
def test_every_command_prints_its_refusal_as_json(
    tmp_path: Path, words: tuple[str, ...], expected: dict[str, str]
) -> None:
    plain = mileage(*words, cwd=tmp_path)
    done = mileage(*words, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, plain.stderr)
    assert plain.stdout == ""
    (reason,) = json.loads(done.stdout)["refused"]["faults"]
    assert expected.items() <= reason.items()
    assert reason["text"] in done.stderr
