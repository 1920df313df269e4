"""The content of writes, and the share of reads that is compared with it.

Scope: `Content` and `Verify` of the Rust crate `mileage-workload`. One without numbers is a word
("zeros", "all"); one with numbers is a table of one entry that has its name.
What it refuses: what the Rust rules refuse; a table with no entry, or with several.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

from mileage.plan.rules import U32_MAX

ContentName = Literal[
    "incompressible", "zeros", "fio_scrambled", "fio_constant", "iozone_default", "iozone_diagnostic"
]
CONTENT_NAMES: Final[tuple[ContentName, ...]] = get_args(ContentName)


class MixedContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Compressibility and duplication as two independent knobs."""

    compressible_percent: int = 0
    """Share of each 4 KiB block that a compressor saves, 0..100 percent."""
    duplicate_percent: int = 0
    """Share of 4 KiB blocks that another block of the same writing equals, 0..100 percent."""


class IozoneDedup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Duplicate share of IOzone's data as set by `-+w`, `-+y` and `-+C`, in percent; the shares multiply."""

    within_percent: int
    across_percent: int
    compress_percent: int


class IozonePattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One byte repeated, as IOzone's `-V` (every byte) and `-+Z` (first word of each page, the rest zero) write."""

    byte: int
    whole: bool


class ContentTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A content that has numbers: exactly one of these is given."""

    mixed: MixedContent | None = None
    iozone_dedup: IozoneDedup | None = None
    iozone_pattern: IozonePattern | None = None


Content = ContentName | ContentTable


class SampledVerification(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Compare one read in `one_in`, drawn by seed."""

    one_in: int
    """Reads for each one that is compared, 2 or more."""


class VerifyTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A verification that has a number."""

    sampled: SampledVerification


Verify = Literal["off", "all"] | VerifyTable


_CONTENT_FORMS: Final = (
    f"{', '.join(CONTENT_NAMES)}, or shares in percent: compressible=50,duplicate=20 (IOzone's: "
    "within=98,across=98,compress=98), or a byte of IOzone's: pattern=3, page=165"
)


def read_content(text: str) -> Content:
    """The content that a text names: a word, or "compressible=50,duplicate=20" in percent. Raises ValueError."""
    for name in CONTENT_NAMES:
        if text == name:
            return name
    shares: dict[str, int] = {}
    for part in text.split(","):
        key, _, value = part.strip().partition("=")
        is_byte = key.strip() in ("pattern", "page")
        digits = value.strip() if is_byte else value.strip().removesuffix("%")
        most = 255 if is_byte else 100
        if not digits.isdecimal() or not digits.isascii() or int(digits) > most or key.strip() in shares:
            raise ValueError(f"{text!r} is not a content: expected {_CONTENT_FORMS}")
        shares[key.strip()] = int(digits)
    if shares.keys() <= {"compressible", "duplicate"}:
        return ContentTable(mixed=MixedContent(shares.get("compressible", 0), shares.get("duplicate", 0)))
    if shares.keys() == {"pattern"}:
        return ContentTable(iozone_pattern=IozonePattern(shares["pattern"], whole=True))
    if shares.keys() == {"page"}:
        return ContentTable(iozone_pattern=IozonePattern(shares["page"], whole=False))
    if shares.keys() == {"within", "across", "compress"}:
        return ContentTable(iozone_dedup=IozoneDedup(shares["within"], shares["across"], shares["compress"]))
    raise ValueError(f"{text!r} is not a content: expected {_CONTENT_FORMS}")


def read_verify(text: str) -> Verify:
    """The verification that a text names: "off", "all" or "1 in 100". Raises ValueError."""
    if text == "off":
        return "off"
    if text == "all":
        return "all"
    words = text.split()
    if len(words) == 3 and words[:2] == ["1", "in"] and words[2].isdecimal() and words[2].isascii():
        one_in = int(words[2])
        if 2 <= one_in <= U32_MAX:
            return VerifyTable(SampledVerification(one_in))
    raise ValueError(
        f'{text!r} is not a verification: expected off, all, or a share of the reads such as "1 in 100"'
    )
