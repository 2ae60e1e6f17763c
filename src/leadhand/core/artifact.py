"""Artifacts: named files that a run produces, stored by digest, each version under its path within the run."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from .errors import UsageError
from .text import late_pattern

ALGORITHM = "sha256:"
_DIGEST = late_pattern(r"sha256:[0-9a-f]{64}")

MEDIA_TYPE = late_pattern(r"[\w.+-]{1,100}/[\w.+-]{1,100}(; ?[\w.+-]{1,100}=[\w.+-]{1,100})*", re.ASCII)
LONGEST_PATH = 500
"""The longest path, in bytes of UTF-8."""
LONGEST_NAME = 200
"""The longest name of a file or folder, in bytes of UTF-8."""
MEMORY = "memory/"
"""The folder whose files later runs of the same flow can read."""
MAX_DEPTH = 16
"""The maximum number of names in one path."""


def digest_of(content: bytes) -> str:
    """Return the digest under which content is stored: ``sha256:`` and 64 hexadecimal digits."""
    return ALGORITHM + hashlib.sha256(content).hexdigest()


def is_digest(text: str) -> bool:
    """Whether a text has the form of :func:`digest_of`."""
    return _DIGEST.fullmatch(text) is not None


def confined(path: str) -> str:
    """Return ``path`` in its normal form: relative, below the run's folder, the same on every system.

    Empty names and ``.`` are dropped, and the text is composed (Unicode NFC), so that two spellings of a path are one
    artifact. Raises UsageError for a path that leaves the folder or that some system would read differently: absolute,
    with ``..``, with a backslash, a drive, a reserved name or character, an invisible character, or too long.
    """
    names = [name for name in unicodedata.normalize("NFC", path).split("/") if name not in ("", ".")]
    problem = _problem(path, names)
    if problem:
        shown = ascii(path[:80]) + "…" * (len(path) > 80)
        how = "use a relative path such as notes/summary.md"
        raise UsageError(f"{shown} is not a path for an artifact: {problem}", how)
    return "/".join(names)


def _problem(path: str, names: list[str]) -> str:
    return _first(
        (path.startswith("/"), "it is absolute"),
        (not names, "it names no file"),
        (path.endswith(("/", "/.")), "it names a folder"),
        (len(names) > MAX_DEPTH, f"it has more than {MAX_DEPTH} names"),
    ) or next(
        (found for name in names if (found := _name_problem(name))),
        _first(
            (len("/".join(names).encode(errors="replace")) > LONGEST_PATH, f"it is longer than {LONGEST_PATH} bytes")
        ),
    )


def _first(*problems: tuple[bool, str]) -> str:
    return next((why for is_so, why in problems if is_so), "")


# Names that Windows gives to devices, in any case and with any extension.
_DEVICES = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(10)
}
_RESERVED = frozenset('\\:*?"<>|')
_FOLDED = _RESERVED | set("/.~ ")
_LIKE_SEPARATORS = "\u2044\u2215\u29f8\u2216\u29f5\u29f9\ufe68"


def _name_problem(name: str) -> str:
    stem = unicodedata.normalize("NFKC", name).casefold().partition(".")[0].rstrip()
    return _first(
        (name == "..", "it leaves its folder (..)"),
        (name.startswith("~"), "a name begins with ~, which some programs expand to a home folder"),
    ) or next(
        (found for letter in name if (found := _letter_problem(letter))),
        _first(
            (name != name.strip() or name.endswith("."), "a name begins or ends with a space, or ends with a dot"),
            (stem in _DEVICES, f"{name} is the name of a device on Windows"),
            (len(name.encode(errors="replace")) > LONGEST_NAME, f"a name is longer than {LONGEST_NAME} bytes"),
        ),
    )


def _letter_problem(letter: str) -> str:
    if letter.isascii():
        is_bad = letter in _RESERVED or not letter.isprintable()
    else:  # invisible or unassigned; or some systems fold it to a separator or a dot; or it looks like a separator
        folded = unicodedata.normalize("NFKC", letter)
        is_bad = unicodedata.category(letter)[0] in "CZ" or letter in _LIKE_SEPARATORS or not _FOLDED.isdisjoint(folded)
    shown = letter if letter.isascii() and letter.isprintable() else f"U+{ord(letter):04X}"
    return f"it contains {shown}, which does not mean the same everywhere" if is_bad else ""
