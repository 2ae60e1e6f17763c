"""Files under ``memory/`` that later runs may read."""

from __future__ import annotations

from collections.abc import Iterable

from leadhand.core.artifact import MEMORY, FileVersion


def may_share(earlier: tuple[bool, str], offline: bool, documents: str) -> bool:
    """Whether a run may read the files of an ``earlier`` one, given as its ``offline`` and its ``documents``.

    What offline runs write stays offline, since it may rest on sample data and on documents that no service has seen.
    What rests on a directory of documents is for runs that search the same directory.
    """
    return earlier[0] == offline and earlier[1] in ("", documents)


def newest_files(written: Iterable[FileVersion], limit: int) -> list[FileVersion]:
    """Return the files that later runs may read, one for each path: the first that is given."""
    newest: dict[str, FileVersion] = {}
    for file in written:
        if file.path.startswith(MEMORY) and len(newest) < limit:
            newest.setdefault(file.path, file)
    return list(newest.values())
