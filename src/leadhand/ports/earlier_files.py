"""Files under ``memory/`` that later runs may read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from leadhand.core.artifact import MEMORY
from leadhand.core.events import ArtifactWritten
from leadhand.core.run import EarlierFile
from leadhand.core.state import ArtifactVersion


def earlier_file(path: str, written: ArtifactWritten | ArtifactVersion, run_id: str, at: datetime) -> EarlierFile:
    """Return a file that a run wrote as later runs refer to it."""
    return EarlierFile(
        path=path,
        digest=written.digest,
        size=written.size,
        media_type=written.media_type,
        run_id=run_id,
        at=at,
    )


def may_share(earlier: tuple[bool, str], offline: bool, documents: str) -> bool:
    """Whether a run may read the files of an ``earlier`` one, given as its ``offline`` and its ``documents``.

    What offline runs write stays offline, since it may rest on sample data and on documents that no service has seen.
    What rests on a directory of documents is for runs that search the same directory.
    """
    return earlier[0] == offline and earlier[1] in ("", documents)


def newest_files(written: Iterable[EarlierFile], limit: int) -> list[EarlierFile]:
    """Return the files that later runs may read, one for each path: the first that is given."""
    newest: dict[str, EarlierFile] = {}
    for file in written:
        if file.path.startswith(MEMORY) and len(newest) < limit:
            newest.setdefault(file.path, file)
    return list(newest.values())
