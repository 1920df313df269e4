"""Names in the kernel's tables: split where the kernel means it, whatever else is in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.targets.guard import block_device_refusal, loop_devices, uses_elsewhere
from mileage.targets.kernel_text import fields_of, lines_of, printable, read_text, unescape
from mileage.targets.memory_limit import find_controller
from mileage.targets.mounts import parse_mountinfo, parse_swaps, read_mounts, read_swaps
from tests.house.repository import PACKAGE, modules, name_of

NAMES = {
    "carriage return": b"a\rb",
    "vertical tab": b"a\x0bb",
    "form feed": b"a\x0cb",
    "next line": "a\u0085b".encode(),
    "line separator": "a\u2028b".encode(),
    "no-break space": "a\u00a0b".encode(),
    "file separator": b"a\x1cb",
    "space": b"a b ",
    "tab": b"a\tb",
    "line feed": b"a\nb",
    "backslash": b"a\\040b",
    "not UTF-8": b"a\xff\xfeb",
}


def escaped(name: bytes) -> bytes:
    """As mangle_path() of the kernel writes it."""
    return b"".join(b"\\%03o" % byte if bytes([byte]) in b" \t\n\\" else bytes([byte]) for byte in name)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_mount_point_is_read_as_it_is(name: bytes, machine: Callable[[dict[str, str]], Path]) -> None:
    root = machine({"proc/self/mountinfo": "", "proc/swaps": "", "sys/block/loop3/loop/backing_file": ""})
    place = b"/mnt/" + name
    lines = [b"20 1 8:1 / / rw - ext4 /dev/sda1 rw", b"21 20 8:2 / %s rw - ext4 /dev/sdb rw" % escaped(place)]
    (root / "proc/self/mountinfo").write_bytes(b"\n".join(lines) + b"\n")
    (root / "proc/swaps").write_bytes(b"Filename\tType\n%s  file\t\t1\t0\t-2\n" % escaped(place))
    (root / "sys/block/loop3/loop/backing_file").write_bytes(place + b"\n")
    expected = os.fsdecode(place)
    assert [mount.mount_point for mount in read_mounts(root)] == ["/", expected]
    assert read_swaps(root) == (expected,)
    assert loop_devices(root) == (("loop3", expected),)
    printable(expected).encode()


@given(st.lists(st.binary(min_size=1).filter(lambda name: b"\0" not in name), min_size=1, max_size=4))
def test_any_names_are_read_back(names: list[bytes]) -> None:
    lines = [b"%d 1 0:1 / /%s rw - tmpfs %s rw\n" % (n, escaped(x), escaped(x)) for n, x in enumerate(names)]
    mounts = parse_mountinfo(b"".join(lines).decode("utf-8", "surrogateescape"))
    assert [os.fsencode(mount.mount_point) for mount in mounts] == [b"/" + name for name in names]
    assert [os.fsencode(mount.source) for mount in mounts] == names


def test_what_was_mounted_may_have_no_name() -> None:
    (mount,) = parse_mountinfo("24 21 0:45 / /data rw - tmpfs  rw,size=4k\n")
    assert (mount.source, mount.super_options) == ("", ("rw", "size=4k"))


MOUNTED = "21 1 0:5 / / rw - tmpfs t rw\n22 21 8:16 / /mnt/a\rb\x0b\u2028c rw - ext4 /dev/sdb rw\n"


@pytest.mark.parametrize(
    "first",
    [
        # A process that ended while it was looked at, and one that sees less from below its root.
        {"proc/7/mountinfo": "", "proc/7/root": "-> /"},
        {"proc/7/mountinfo": "30 1 0:5 / / rw - tmpfs t rw\n", "proc/7/root": "-> /jail"},
    ],
)
def test_no_mount_of_another_namespace_is_skipped(
    first: dict[str, str], machine: Callable[[dict[str, str]], Path]
) -> None:
    others = {"proc/8/mountinfo": MOUNTED, "proc/8/root": "-> /"}
    spaces = {f"proc/{number}/ns/mnt": "-> mnt:[9]" for number in (7, 8)}
    (found,) = uses_elsewhere("8:16", root=machine({**first, **others, **spaces}))
    assert found == "mounted at /mnt/a\rb\x0b\u2028c in the mount namespace of process 8"


def test_a_table_that_cannot_be_read_counts_as_a_use(machine: Callable[[dict[str, str]], Path]) -> None:
    root = machine({"proc/7/mountinfo": "nonsense\n", "proc/7/ns/mnt": "-> mnt:[9]", "proc/7/root": "-> /"})
    (found,) = uses_elsewhere("8:16", root=root)
    assert "what process 7 has mounted cannot be read" in found


def test_a_control_group_may_have_any_name(machine: Callable[[dict[str, str]], Path]) -> None:
    root = machine(
        {
            "proc/self/cgroup": "0::/a\x0b\u2028b\n",
            "proc/self/mountinfo": "29 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
            "sys/fs/cgroup/a\x0b\u2028b/memory.max": "max\n",
        }
    )
    found = find_controller(root)
    assert found is not None
    assert found.own == root / "sys/fs/cgroup/a\x0b\u2028b"


def test_lines_and_fields_of_padded_columns() -> None:
    assert lines_of("a\r\x85\n\nb\u2028\n") == ["a\r\x85", "b\u2028"]
    assert fields_of(" 1\t2  3\u00a0 \n") == ["1", "2", "3\u00a0"]
    assert parse_swaps("Filename\n") == ()
    assert unescape(r"\134040\040") == "\\040 "
    assert read_text(Path("/none/such")) == ""


IN_NAMESPACE = """
import os, sys
from pathlib import Path
for name in eval(sys.argv[2]):
    place = os.path.join(os.fsencode(sys.argv[1]), name)
    os.mkdir(place)
    if os.spawnlp(os.P_WAIT, "mount", "mount", "-t", "tmpfs", "tmpfs", place):
        sys.exit(77)
from mileage.targets.mounts import read_mounts
found = {os.fsencode(m.mount_point) for m in read_mounts()}
assert {os.path.join(os.fsencode(sys.argv[1]), name) for name in eval(sys.argv[2])} <= found
from tests.command import mileage
from mileage.store.environment import raw_snapshot, snapshot
import msgspec
for name in eval(sys.argv[2]):
    place = Path(os.fsdecode(os.path.join(os.fsencode(sys.argv[1]), name)))
    msgspec.json.encode([snapshot(place), raw_snapshot()])
done = mileage("doctor", f"dir:{sys.argv[1]}")
assert done.returncode == 0 and "Traceback" not in done.stderr, done
print("read")
"""


@pytest.mark.xdist_group("devices")
def test_real_mounts_of_all_these_names_stop_no_command(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    command = ["unshare", "-m", "--propagation", "private", sys.executable, "-c", IN_NAMESPACE]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [*command, str(tmp_path), repr(list(NAMES.values()))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
        timeout=120,
    )
    if done.returncode in (1, 77) and "unshare" in done.stderr:
        pytest.skip("the kernel makes no mount namespace here")
    assert done.stdout.strip() == "read", done.stderr


def test_a_device_mounted_only_elsewhere_at_such_a_place_is_refused(
    loop_device: Path, tmp_path: Path
) -> None:
    subprocess.run(["mkfs.ext4", "-q", str(loop_device)], check=True)
    place = tmp_path / "a\rb\x0b\u0085\u2028c"
    place.mkdir()
    script = 'mount "$1" "$2" && echo mounted && read -r _'
    with subprocess.Popen(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", str(loop_device), str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "mounted\n"
        refusal = block_device_refusal("block:X", loop_device, probe=lambda _path: False)
        other.communicate("done\n")
    assert "in the mount namespace of process" in str(refusal)


#: Modules that read /proc or /sys, and also what programs print.
PRINTED = {
    "targets/privileged_steps.py": 2,
    "targets/purge.py": 2,
    "execute/command.py": 1,
    "store/query.py": 1,
    "store/environment.py": 2,
}


def test_no_module_that_reads_the_kernel_splits_by_itself() -> None:
    for path in modules():
        text = path.read_text(encoding="utf-8")
        if not re.search(r'["/ ](proc|sys)/|read_word|read_text\(root', text):
            continue
        found = re.findall(r"\.splitlines\(|\.split\(\)|\.split\(None", text)
        name = name_of(path).removeprefix(f"{PACKAGE.name}/").removeprefix("python/mileage/")
        allowed = PRINTED.get(name, 0)
        assert len(found) <= allowed, f"{name}: {found}; use mileage.targets.kernel_text"
