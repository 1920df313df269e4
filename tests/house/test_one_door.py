"""A path that a user named is made, written, cut off or removed by one package, `mileage.targets.door`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.repository import PACKAGE, modules, tree
from tests.house.test_packages import PURE_ROOMS
from tests.house.write_calls import write_calls

DOOR = "targets/door/"
#: Modules that write elsewhere: why, and which.
EXCEPTIONS = {
    "temporary directories of their own, below a random name": (
        *("scratch.py", "app/power_cut.py", "store/query.py"),
    ),
    "a file system that they made or mounted themselves, empty before": (
        *("app/commit_loop.py", "app/power_cut_apps.py", "targets/aging.py", "targets/filesystem_setup.py"),
    ),
    "study folders, by their safe directory or below it": (
        *("store/safe_directory.py", "store/journal.py", "store/tables.py"),
    ),
    "a new directory that is renamed into place as a whole, where nothing or an empty one is": (
        *("store/export_folder.py", "store/export_folder.py"),
    ),
    "the ledger, and the undoing of steps that are in it": (
        *("targets/ledger.py", "targets/privileged_steps.py"),
    ),
    "settings of the kernel": (
        *("targets/memory_limit.py", "targets/page_cache.py", "targets/processor_governor.py"),
        "targets/queue_settings.py",
    ),
    "the work file of a target, by identity and its own mark": (
        *("targets/workfile.py", "targets/directory.py", "targets/in_place_target.py"),
        *("targets/file_identity.py", "targets/filesystem.py"),
    ),
    "files and directories named after the work file, and what IOzone's tests were found to have made": (
        *("execute/run.py", "execute/tasks.py"),
    ),
    "a token in the directory that all ranks share, under a random name": ("execute/mpi/leader.py",),
    "an address without a path, and a file that the door opened": ("drive_server.py",),
    "does what `execute` has opened and checked, in a process of its own": ("worker.py",),
    "pages of the manual, when the wheel is built": ("cli/manual_pages.py",),
}


def outside(path: Path) -> list[str]:
    """Write-capable calls of a module, but for those of the engine in the package that does studies."""
    name = path.relative_to(PACKAGE).as_posix()
    if name.startswith((DOOR, *(f"{room}/" for room in PURE_ROOMS))):
        return []
    return [
        f"{name}:{line}: {text}"
        for line, text in write_calls(tree(path))
        if not (name.startswith("execute/") and text.startswith("_core."))
    ]


def test_nothing_is_written_outside_the_door() -> None:
    excepted = {name for names in EXCEPTIONS.values() for name in names}
    found = {path.relative_to(PACKAGE).as_posix(): outside(path) for path in modules()}
    others = [text for name, texts in found.items() if name not in excepted for text in texts]
    print(f"write-capable calls outside the door and the exceptions: {len(others)}")
    assert not others, "open it by mileage.targets.door:\n" + "\n".join(others)
    idle = sorted(name for name in excepted if not found.get(name))
    assert not idle, f"no exception is needed for {idle}"


@pytest.mark.parametrize(
    "text",
    [
        "open(p, 'w')",
        "open(p, mode)",
        "open(p, mode='r+b')",
        "p.open('a')",
        "p.open(mode=how)",
        "os.open(p, os.O_WRONLY)",
        "os.open(p, os.O_RDONLY | os.O_CREAT)",
        "os.open(p, flags)",
        "F: Final = os.O_RDWR | os.O_CLOEXEC\nos.open(p, F)",
        "def f(flags=os.O_RDONLY):\n    os.open(p, flags)",
        "flags = os.O_RDONLY\nflags |= os.O_TRUNC\nos.open(p, flags)",
        "os.fdopen(d, 'w')",
        *(
            f"os.{name}(p)"
            for name in ("unlink", "remove", "truncate", "mkdir", "mknod", "rmdir", "setxattr")
        ),
        "os.replace(p, q)",
        "how = {'delete': os.unlink}",
        "from os import unlink",
        "p.write_text('x')",
        "partial(p.write_bytes, b'')",
        "p.unlink(missing_ok=True)",
        "p.replace(q)",
        "p.rename(q)",
        "p.symlink_to(q)",
        "shutil.rmtree(p)",
        "shutil.copyfile(p, q)",
        "tempfile.mkstemp()",
        "s.bind('/run/x')",
        "np.save(p, a)",
        "duckdb.connect(p)",
        "c.execute(f'COPY t TO {p}')",
        "xlsxwriter.Workbook(p)",
        "_core.run_file(p, w)",
        "from mileage._core import run_iozone",
    ],
)
def test_a_planted_call_is_found(text: str) -> None:
    assert list(write_calls(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "open(p)",
        "open(p, 'rb')",
        "p.open()",
        "StudyFolder.open(p)",
        "os.open(p, os.O_RDONLY | os.O_CLOEXEC)",
        "F: Final = os.O_RDONLY | os.O_NOFOLLOW\nos.open(p, F)",
        "os.open(os.devnull, os.O_WRONLY)",
        "'a'.replace('a', 'b')",
        "msgspec.structs.replace(x, y=1)",
        "str(value.write_bytes)",
        "s.bind((host, 0))",
        "duckdb.connect()",
        "c.execute('SELECT 1')",
        "tempfile.TemporaryFile()",
    ],
)
def test_a_call_that_reads_is_none(text: str) -> None:
    assert not list(write_calls(ast.parse(text)))
