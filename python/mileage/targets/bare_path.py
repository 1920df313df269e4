"""A path without a scheme as the target that it is: a directory is `dir:`, a block device `block:`, a file `file:`.

Scope: what a user means by `/mnt/ssd` or `/dev/sdb`, from what the path is now. Links are followed to find
that out; the path stays as it was written, so that `--destroy` names it in the same words.
What it refuses: a path that does not exist, since it may be a directory or a file that is still to be made, and what
holds no data (pipes, sockets, character devices). Nothing is opened.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from mileage.errors import Refused
from mileage.targets.guard import kind_of
from mileage.targets.profiles import drive_names
from mileage.targets.spec import SCHEMES, parse_target

_SCHEMES: Final = ((stat.S_ISDIR, "dir"), (stat.S_ISBLK, "block"), (stat.S_ISREG, "file"))


def with_scheme(text: str) -> str:
    """A target with its scheme; the text itself where it has one. Raises Refused for a path that is no target."""
    head, colon, _ = text.partition(":")
    if (colon and head in SCHEMES) or not text.strip() or not text.isprintable():
        return text
    try:
        mode = os.stat(text).st_mode
    except OSError:
        raise _nothing_there(text) from None
    scheme = next((scheme for is_one, scheme in _SCHEMES if is_one(mode)), None)
    if scheme is None:
        raise Refused(
            f"target {text!r}",
            f"is {kind_of(mode)}",
            expected="a directory, a file or a block device",
            code="wrong-kind",
        )
    return f"{scheme}:{text}"


def _nothing_there(text: str) -> Refused:
    """Error for a path that does not exist, with what the user may have meant."""
    head, colon, _ = text.partition(":")
    if colon and "/" not in head:
        try:
            parse_target(text)
        except Refused as refusal:
            return refusal
    if text in drive_names():
        return Refused(
            f"target {text!r}",
            "does not exist here",
            advice=f"did you mean the virtual drive virtual:{text}?",
            code="not-found",
        )
    if text.startswith("/dev/"):
        return Refused(
            f"target {text!r}",
            "does not exist",
            advice="`lsblk` lists the block devices of this machine",
            code="not-found",
        )
    if "/" not in text and os.path.exists(f"/sys/class/block/{text}"):
        return Refused(
            f"target {text!r}",
            "does not exist here",
            advice=f"did you mean the block device /dev/{text}?",
            code="not-found",
        )
    return Refused(
        f"target {text!r}",
        "does not exist",
        advice=f"a directory must be made first (mkdir -p {text}, then dir:{text}), a new file of "
        f"Mileage's own is file:{text}",
        code="not-found",
    )
