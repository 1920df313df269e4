"""Parsing and printing of target texts."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.errors import Refused
from mileage.targets.spec import SCHEMES, TargetSpec, parse_target

DRIVES = ("intel-x25e-64gb", "plain-nvme", "small")

printable = st.text(min_size=1).filter(lambda text: text.isprintable() and bool(text.strip()))


@given(scheme=st.sampled_from(["dir", "file", "block"]), name=printable)
def test_a_path_target_prints_as_it_was_written(scheme: str, name: str) -> None:
    spec = parse_target(f"{scheme}:{name}")
    assert (spec.scheme, spec.name) == (scheme, name)
    assert str(spec) == f"{scheme}:{name}"
    assert parse_target(str(spec)) == spec


@given(name=st.sampled_from(DRIVES))
def test_a_known_drive_is_accepted(name: str) -> None:
    assert parse_target(f"virtual:{name}", DRIVES) == TargetSpec(scheme="virtual", name=name)


@given(text=st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(Refused):
        assert str(parse_target(text, DRIVES)) == text


@given(name=printable.filter(lambda text: ":" not in text))
def test_text_without_a_scheme_is_refused_and_the_forms_are_listed(name: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_target(name, DRIVES)
    for scheme in SCHEMES:
        assert f"{scheme}:" in refusal.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dri:/mnt", "did you mean dir:?"),
        ("DIR:/mnt", "did you mean dir:?"),
        ("device:/dev/sda", "unknown scheme 'device'"),
        ("/mnt/a:b", "does not say what it is"),
        ("dir:", "has no path"),
        ("dir:   ", "has no path"),
        ("virtual:", "has no name"),
        ("dir:/a\0b", "cannot be printed"),
        ("dir:/a\nb", "cannot be printed"),
        ("virtual:small@phenom-9gib", "unknown host 'phenom-9gib'"),
        ("virtual:small@", "unknown host ''"),
        ("virtual:plain-nvm", "did you mean virtual:plain-nvme?"),
        ("virtual:zzz", "known drives: intel-x25e-64gb, plain-nvme, small"),
    ],
)
def test_the_refusal_says_why(text: str, expected: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_target(text, DRIVES)
    assert expected in refusal.value.message


def test_a_profile_of_ones_own_needs_no_known_name() -> None:
    assert parse_target("virtual:./my@drive.toml", ()).name == "./my@drive.toml"


def test_no_drives_at_all_is_said() -> None:
    with pytest.raises(Refused, match="none are installed"):
        parse_target("virtual:small", ())
