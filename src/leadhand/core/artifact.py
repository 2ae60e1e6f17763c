"""Artifacts: named files that a run produces, stored by digest, each version under its path within the run."""

import hashlib
import unicodedata
from collections.abc import Iterator
from datetime import datetime

from .errors import UsageError
from .value import Value

ALGORITHM = "sha256:"
LONGEST_PATH = 500
"""The longest path, in bytes of UTF-8."""
LONGEST_NAME = 200
"""The longest name of a file or folder, in bytes of UTF-8."""
MEMORY = "memory/"
"""The folder whose files later runs of the same flow can read."""
MAX_DEPTH = 16
"""The maximum number of names in one path."""


class FileVersion(Value):
    """One version of a file, by the digest of its content; ``by`` is the step that wrote it, and ``run_id`` the earlier
    run that it comes from ("": this run)."""

    path: str
    digest: str
    size: int
    media_type: str
    at: datetime
    by: str = ""
    run_id: str = ""


def digest_of(content: bytes) -> str:
    """Return the digest under which content is stored: ``sha256:`` and 64 hexadecimal digits."""
    return ALGORITHM + hashlib.sha256(content).hexdigest()


def confined(path: str) -> str:
    """Return ``path`` in its normal form: relative, below the run's folder, the same on every system.

    Empty names and ``.`` are dropped, and the text is composed (Unicode NFC), so that two spellings of a path are one
    artifact. Raises UsageError for a path that leaves the folder or that some system would read differently: absolute,
    with ``..``, with a backslash, a drive, a reserved name or character, an invisible character, or too long.
    """
    names = [name for name in unicodedata.normalize("NFC", path).split("/") if name not in ("", ".")]
    problem = next((why for why, is_so in _problems(path, names) if is_so), None)
    if problem is not None:
        shown = ascii(path[:80]) + "…" * (len(path) > 80)
        how = "use a relative path such as notes/summary.md"
        raise UsageError(f"{shown} is not a path for an artifact: {problem}", how)
    return "/".join(names)


# Names that Windows gives to devices, in any case and with any extension.
_DEVICES = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(10)
}
_RESERVED = frozenset('\\:*?"<>|\u2044\u2215\u29f8\u2216\u29f5\u29f9')
"""Characters that some system reserves, and those that look like a separator."""


def _problems(path: str, names: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield what can be wrong with a path, and whether it is."""
    yield "it is absolute", path.startswith("/")
    yield "it names no file", not names
    yield "it names a folder", path.endswith(("/", "/."))
    yield f"it has more than {MAX_DEPTH} names", len(names) > MAX_DEPTH
    yield "it leaves its folder (..)", ".." in names
    yield "a name begins with ~, which some programs expand to a home folder", any(name[0] == "~" for name in names)
    for letter in "".join(names):
        # Invisible, unassigned or reserved; or systems that fold it (NFKC) read another character.
        odd = letter in _RESERVED or not letter.isprintable() or unicodedata.normalize("NFKC", letter) != letter
        shown = letter if letter.isascii() and letter.isprintable() else f"U+{ord(letter):04X}"
        yield f"it contains {shown}, which does not mean the same everywhere", odd
    ends = any(name != name.strip() or name.endswith(".") for name in names)
    yield "a name begins or ends with a space, or ends with a dot", ends
    device = next((name for name in names if name.casefold().partition(".")[0].rstrip() in _DEVICES), None)
    yield f"{device} is the name of a device on Windows", device is not None
    longest = max((len(name.encode()) for name in names), default=0)
    yield f"a name is longer than {LONGEST_NAME} bytes", longest > LONGEST_NAME
    yield f"it is longer than {LONGEST_PATH} bytes", len("/".join(names).encode()) > LONGEST_PATH
