"""The Python rooms: a study flows one way through them; `model`, `plan` and `judge` are pure."""

import ast
from pathlib import Path

import pytest

from tests.house.repository import PACKAGE, imports, modules, name_of, tree

ROOMS = ("model", "plan", "targets", "store", "execute", "judge", "report", "analysis")
#: What every room may import besides the rooms before it: its errors, the compiled core, the version, the terminal,
#: what one process of a run does, the helper by which a package loads its public names lazily, and the log.
SHARED = {
    *("mileage.errors", "mileage._core", "mileage.__version__", "mileage.terminal", "mileage.worker"),
    "mileage.drive_server",
    *(
        "mileage.lazy_names",
        "mileage.file_lock",
        "mileage.json_text",
        "mileage.log",
        "mileage.regular_file",
        "mileage.scratch",
        "mileage.formats.histogram",
    ),
}
PURE_ROOMS = ("model", "plan", "judge")
#: Functions of the compiled core that pure rooms may call: values in, values out.
PURE_FUNCTIONS = {
    *("latency_quantile_ns", "library_random", "metadata_problem", "shuffled_offsets"),
    *("toml_faults", "toml_lines", "workload_problem"),
    *("binomial_tails", "chi_square_below", "noncentral_t_above", "t_quantile", "t_two_sided"),
}
#: The one module that reads the package's own study files.
PURE_EXCEPT = {PACKAGE / "plan" / "builtin.py"}
HOST_MODULES = {
    *("asyncio", "datetime", "duckdb", "importlib", "io", "logging", "multiprocessing", "os", "pathlib"),
    *("platform", "random", "secrets", "shutil", "socket", "subprocess", "sys", "tempfile", "threading"),
    *("time", "uuid"),
}
HOST_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}
SEEDED_RANDOM = {"default_rng", "Generator", "SeedSequence", "PCG64", "Philox"}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def in_rooms(*rooms: str) -> list[Path]:
    return [path for path in modules() if room_of(path) in rooms]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_knows_only_the_rooms_before_it(room: str) -> None:
    allowed = {f"mileage.{name}" for name in ROOMS[: ROOMS.index(room) + 1]}
    for path in in_rooms(room):
        for name in imports(path):
            if name == "mileage" or not name.startswith("mileage"):
                continue
            known = name in SHARED or any(name.startswith(shared + ".") for shared in SHARED)
            ok = known or any(name == other or name.startswith(other + ".") for other in allowed)
            assert ok, f"{name_of(path)} imports {name}: {room} knows only {', '.join(sorted(allowed))}"


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_knows_no_room_that_touches_the_world(room: str) -> None:
    banned = {"mileage.targets", "mileage.store", "mileage.execute", "mileage.report"}
    for path in in_rooms(room):
        found = {name for name in imports(path) if ".".join(name.split(".")[:2]) in banned}
        assert not found, f"{name_of(path)} imports {sorted(found)}"
        called = {name for name in from_core(path) if name not in PURE_FUNCTIONS}
        assert not called, f"{name_of(path)} uses {sorted(called)} of the core, which is not pure"


def from_core(path: Path) -> set[str]:
    """What a module imports from the compiled core by name; "*" where it imports it as a whole."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module == "mileage._core":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "mileage":
            found |= {"*" for alias in node.names if alias.name == "_core"}
        elif isinstance(node, ast.Import):
            found |= {"*" for alias in node.names if alias.name == "mileage._core"}
    return found


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_has_no_file_no_clock_and_no_unseeded_randomness(room: str) -> None:
    for path in in_rooms(room):
        if path in PURE_EXCEPT:
            continue
        found = {name for name in imports(path) if name.split(".")[0] in HOST_MODULES}
        assert not found, f"{name_of(path)} imports {sorted(found)}: it must be a function of its arguments"
        for node in ast.walk(tree(path)):
            place = f"{name_of(path)}:{getattr(node, 'lineno', 0)}"
            assert not isinstance(node, ast.Global), f"{place}: no global state"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in HOST_CALLS, f"{place}: {node.func.id}() reaches outside"
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {"np.random", "numpy.random"}:
                assert node.attr in SEEDED_RANDOM, f"{place}: numpy's global generator has no recorded seed"
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("default_rng"):
                assert node.args or node.keywords, f"{place}: default_rng() without a seed"


def test_the_exceptions_still_exist() -> None:
    assert set(modules()) >= PURE_EXCEPT


def test_every_folder_of_the_package_says_what_lives_there() -> None:
    folders = {path.parent for path in modules()}
    for folder in folders:
        start = folder / "__init__.py"
        assert start.is_file(), f"{name_of(folder)} has no __init__.py"
        assert ast.get_docstring(tree(start)), f"{name_of(start)} does not say what lives here"


def test_every_module_says_what_it_is() -> None:
    silent = [name_of(path) for path in modules() if not ast.get_docstring(tree(path))]
    assert not silent, f"no docstring: {silent}"
