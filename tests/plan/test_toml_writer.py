"""What is written as TOML reads back as the same study."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.model.target_facts import TargetFacts
from mileage.plan import Study, builtin_names, builtin_text, parse_study, to_toml
from mileage.plan.resolver import resolve
from mileage.plan.study import Compare, Measure, Relevance, Repeat, Stage, State, StopRule, Torture

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,12}", fullmatch=True)
RECORDS = st.sampled_from([4096, "4KiB", "128 KiB", "1MiB", 65536])
SHARES = st.sampled_from(["file", "25%", "2.2x", "64MiB", 1 << 20])
TIMES = st.sampled_from(["10 s", "500 ms", "1 h"])
SYNCS = st.sampled_from(["none", "fsync", "fdatasync"])
CONTENTS = st.sampled_from(["incompressible", "zeros"])
LINES = st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=40).filter(
    str.isprintable
)
STOPS = st.one_of(
    st.builds(StopRule, bytes=SHARES, time=st.none() | TIMES),
    st.builds(StopRule, operations=st.integers(1, 10**9)),
    st.builds(StopRule, time=TIMES),
)
MEASURES = st.builds(
    Measure,
    workload=st.sampled_from(["throughput.*", "iops.random_read", ("iops.random_read", "throughput.write")]),
    record=RECORDS | st.lists(st.sampled_from([512, "4KiB", "1MiB"]), min_size=1, unique=True).map(tuple),
    stop=STOPS,
    span=SHARES,
    threads=st.integers(1, 1024)
    | st.lists(st.integers(1, 64), min_size=1, unique=True, max_size=4).map(tuple),
    depth=st.integers(1, 4096),
    repeat=st.integers(1, 100) | st.builds(Repeat, min=st.integers(1, 100)),
    sync=SYNCS,
    content=CONTENTS,
    metric=st.none() | st.sampled_from(["p99", ("throughput", "iops")]),
)
TORTURES = st.builds(
    Torture,
    workload=st.sampled_from(["throughput.write", "iops.random_write", "iops.shuffled_write"]),
    record=RECORDS,
    amount=SHARES,
    span=SHARES,
    threads=st.integers(1, 1024),
    depth=st.integers(1, 4096),
    time=st.none() | TIMES,
    sync=SYNCS,
    content=CONTENTS,
)
MARGINS = st.floats(1e-9, 0.999)


@st.composite
def studies(draw: st.DrawFn) -> Study:
    measures = draw(st.dictionaries(NAMES, MEASURES, min_size=1, max_size=3))
    tortures = draw(st.dictionaries(NAMES, TORTURES, min_size=1, max_size=3))
    stages = (
        Stage("fill", prepare=tuple(tortures)),
        Stage("before", measure=tuple(measures)),
        Stage("torture", torture=tuple(tortures)),
        Stage("rest", idle=draw(TIMES)),
        Stage("after", measure=draw(st.just("before") | st.just(tuple(measures)))),
    )
    margins = st.builds(Relevance, throughput=MARGINS, iops=MARGINS, p99=MARGINS)
    return Study(
        name=draw(NAMES),
        target="virtual:plain",
        stage=stages,
        question=draw(LINES),
        seed=draw(st.integers(0, 2**63 - 1)),
        cycles=draw(st.integers(1, 1000)),
        sham=draw(st.booleans()),
        allow_wear=draw(st.booleans()),
        state=State(file=draw(st.sampled_from(["2x memory", "8GiB"]) | st.just(1 << 30))),
        measure=measures,
        torture=tortures,
        compare=Compare(
            baseline=draw(st.sampled_from([None, "before"])),
            candidate=draw(st.sampled_from([None, "after"])),
            relevance=draw(margins),
        ),
    )


@given(studies())
def test_writing_and_reading_gives_the_same_study(study: Study) -> None:
    assert parse_study(to_toml(study), "again") == study


@pytest.mark.parametrize("name", builtin_names())
def test_a_built_in_study_survives(name: str) -> None:
    study = parse_study(builtin_text(name), name)
    assert parse_study(to_toml(study), name) == study


@pytest.mark.parametrize(
    "question", ['a "quoted" word', "back\\slash", "don't", "\u00fcber 100 \u00b5s", "# no comment"]
)
def test_awkward_texts_are_escaped(small_text: str, question: str) -> None:
    study = parse_study(small_text, "small.toml")
    awkward = parse_study(to_toml(study).replace('"Is it slower?"', f"'''{question}'''"), "awkward")
    assert awkward.question == question
    assert parse_study(to_toml(awkward), "again") == awkward


def test_the_resolved_plan_carries_its_hash_and_resolves_to_itself(small: Study, drive: TargetFacts) -> None:
    plan = resolve(small, drive)
    text = plan.to_toml()
    assert resolve(parse_study(text, "plan.toml"), drive) == plan
    assert text.startswith(
        "# The resolved study. Resolving it again for the same target gives the same plan.\n"
        f"# plan {plan.hash}\n"
    )
    assert "\n# target virtual:plain, 64000000000 bytes; work area 63999836160 bytes\n" in text


def test_a_path_cannot_end_the_comment_it_stands_in(small_text: str, drive: TargetFacts) -> None:
    study = parse_study(small_text, "s")
    text = resolve(study, drive, target="virtual:caf\u00e9 'x'.toml").to_toml()
    assert parse_study(text, "plan.toml").target == "virtual:caf\u00e9 'x'.toml"
