"""The crates: who may know whom, and what each may never do."""

import tomllib

import pytest

from tests.house.repository import CRATES, ROOT, crates, files, manifest, name_of

#: Each crate and all the crates of the house it may depend on.
MAY_KNOW = {
    "mileage-units": set(),
    "mileage-memory": set(),
    "mileage-workload": {"units"},
    "mileage-measure": {"units"},
    "mileage-profile": {"units"},
    "mileage-engine": {"units", "workload", "measure"},
    "mileage-drive": {"units", "memory", "workload", "measure", "profile"},
    "mileage-host": {"units", "workload", "measure", "drive"},
    "mileage-serve": {"measure", "drive"},
    "mileage-python": {"units", "workload", "measure", "engine", "drive", "host", "serve"},
}
UNSAFE_ALLOWED = {"mileage-engine", "mileage-memory", "mileage-python"}
CLOCK_BANNED = {"mileage-workload", "mileage-profile", "mileage-drive", "mileage-host"}
#: The crates that others may use from Rust, and what these need.
PUBLIC = ("mileage-units", "mileage-measure", "mileage-workload", "mileage-drive")
PUBLISHED = {*PUBLIC, "mileage-memory", "mileage-profile"}
EXAMPLES_MIN = 2
PURE_DEPENDENCIES = {"serde", "spec_math", "thiserror", "rand", "rand_xoshiro"}
LINES_PER_FUNCTION_MAX = 70


@pytest.mark.parametrize("crate", crates())
def test_a_crate_knows_only_the_crates_below_it(crate: str) -> None:
    assert crate in MAY_KNOW, f"{crate}: say here which crates it may know"
    text = manifest(crate)
    tables = [text, *text.get("target", {}).values()]
    names = {
        name
        for table in tables
        for kind in ("dependencies", "build-dependencies", "dev-dependencies")
        for name in table.get(kind, {})
    }
    ours = {name.removeprefix("mileage-") for name in names if name.startswith("mileage-")}
    ours -= {crate.removeprefix("mileage-")}
    assert ours <= MAY_KNOW[crate], f"{crate} must not know {sorted(ours - MAY_KNOW[crate])}"


def test_the_table_itself_goes_one_way() -> None:
    assert "drive" not in MAY_KNOW["mileage-engine"]
    assert "engine" not in MAY_KNOW["mileage-drive"]
    for crate, below in MAY_KNOW.items():
        for name in below:
            assert crate.removeprefix("mileage-") not in MAY_KNOW[f"mileage-{name}"], (
                f"{crate} and {name}: a cycle"
            )


@pytest.mark.parametrize("crate", crates())
def test_a_crate_is_named_as_its_folder_and_inherits(crate: str) -> None:
    text = manifest(crate)
    assert text["package"]["name"] == crate
    assert text["package"]["version"] == {"workspace": True}, "the version is said once, in the workspace"
    assert text["lints"] == {"workspace": True}


@pytest.mark.parametrize("crate", PUBLIC)
def test_a_public_crate_has_a_tested_readme_and_examples(crate: str) -> None:
    folder = CRATES / crate
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert manifest(crate)["package"]["readme"] == "README.md"
    assert "## Refused" in text, f"{crate}/README.md does not say what the crate refuses"
    assert "\n```\n" in text, f"{crate}/README.md has no example in Rust"
    source = (folder / "src" / "lib.rs").read_text(encoding="utf-8")
    assert 'include_str!("../README.md")' in source, f"{crate}: the README's example is no document test"
    examples = sorted(path.stem for path in folder.glob("examples/*.rs"))
    assert len(examples) >= EXAMPLES_MIN, f"{crate}: found the examples {examples}, expected {EXAMPLES_MIN}"
    unnamed = [example for example in examples if f"`{example}`" not in text and f" {example}" not in text]
    assert not unnamed, f"{crate}/README.md does not list the examples {unnamed}"


@pytest.mark.parametrize("crate", crates())
def test_a_crate_can_be_published_or_says_that_it_is_not(crate: str) -> None:
    package = manifest(crate)["package"]
    if crate not in PUBLISHED:
        assert package["publish"] == {"workspace": True}, f"{crate}: publish.workspace = true, which is false"
        return
    assert "publish" not in package
    missing = {"description", "license", "categories", "keywords", "rust-version"} - package.keys()
    assert not missing, f"{crate}/Cargo.toml lacks {sorted(missing)}"
    needed = {name for name in manifest(crate).get("dependencies", {}) if name.startswith("mileage-")}
    assert needed <= PUBLISHED, f"{crate} cannot be published without {sorted(needed - PUBLISHED)}"


def test_dependencies_within_the_workspace_have_its_version() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    ours = {name: found for name, found in workspace["dependencies"].items() if name.startswith("mileage-")}
    other = [name for name, found in ours.items() if found.get("version") != workspace["package"]["version"]]
    assert not other, f"Cargo.toml: {other} have another version than the workspace, or none"


@pytest.mark.parametrize("crate", ["mileage-units", "mileage-workload", "mileage-measure"])
def test_a_pure_crate_depends_on_nothing_that_reaches_the_host(crate: str) -> None:
    others = {name for name in manifest(crate)["dependencies"] if not name.startswith("mileage-")}
    assert others <= PURE_DEPENDENCIES, f"{crate}: {sorted(others - PURE_DEPENDENCIES)} could do I/O"


@pytest.mark.parametrize("crate", sorted(set(crates()) - UNSAFE_ALLOWED))
def test_unsafe_code_is_forbidden(crate: str) -> None:
    assert "#![forbid(unsafe_code)]" in (CRATES / crate / "src" / "lib.rs").read_text(encoding="utf-8")


@pytest.mark.parametrize("crate", crates())
def test_a_crate_states_its_invariant_and_the_guard(crate: str) -> None:
    text = (CRATES / crate / "src" / "lib.rs").read_text(encoding="utf-8")
    head = "\n".join(line for line in text.splitlines() if line.startswith("//!"))
    assert "# Invariant" in head, f"{crate}/src/lib.rs does not state its invariant"
    assert "Guard:" in head, f"{crate}/src/lib.rs does not name what guards its invariant"


@pytest.mark.parametrize("crate", sorted(CLOCK_BANNED & set(crates())))
def test_the_host_clock_is_banned_by_lint(crate: str) -> None:
    settings = tomllib.loads((CRATES / crate / "clippy.toml").read_text(encoding="utf-8"))
    banned = {entry["path"] for entry in settings["disallowed-methods"]}
    assert {"std::time::Instant::now", "std::time::SystemTime::now", "std::thread::sleep"} <= banned
    assert all(entry.get("reason") for entry in settings["disallowed-methods"]), "a ban gives its reason"


def test_every_clippy_file_repeats_the_function_limit() -> None:
    found = [path for path in files(".toml") if path.name == "clippy.toml"]
    assert ROOT / "clippy.toml" in found
    for path in found:
        limit = tomllib.loads(path.read_text(encoding="utf-8")).get("too-many-lines-threshold")
        assert limit == LINES_PER_FUNCTION_MAX, (
            f"{name_of(path)}: it replaces the root's file, so it must repeat it"
        )


def test_the_binding_crate_has_no_tests_of_its_own() -> None:
    """`make test` leaves the crate out of `cargo test`: a Rust test there would never run."""
    for path in files(".rs"):
        if path.is_relative_to(CRATES / "mileage-python"):
            assert "#[test]" not in path.read_text(encoding="utf-8"), f"{name_of(path)}: test it from Python"
