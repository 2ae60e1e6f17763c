"""A directory of the user's documents, indexed in a file of its own, which is refreshed when files change."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from leadhand.core.errors import ToolError
from leadhand.ports import Page
from leadhand.tools.services import unavailable

from . import index
from .extraction import TYPES, extracted

SCHEME = "document:"
MOST_FILES = 10_000
MOST_BYTES = 20_000_000
"""Bytes of one file."""
PATIENCE_S = 20.0
"""Seconds to wait for another thread or process that writes a document to the index."""
_VERSION = 2
"""Part of the name of the index: another form of it is another file."""

LOGGER = logging.getLogger("leadhand.documents")
_T = TypeVar("_T")


class LocalDocuments:
    """The documents of a directory, found by their text. All methods block.

    Symbolic links that leave the directory are not followed, hidden files are not read. ``redact`` is applied to all
    text before it is stored or returned.
    """

    def __init__(self, directory: Path, folder: Path, redact: Callable[[str], str] = str) -> None:
        """``folder`` is where indexes are kept, one for each directory."""
        self._directory = directory
        name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:32]
        self._file = folder / f"{name}-{_VERSION}.db"
        self._redact = redact
        self._reported: set[str] = set()
        self.left = 0
        """The files that are still to be indexed."""

    def search(self, query: str, limit: int) -> list[Page]:
        """Return the documents of the index that fit a query best."""
        return self._with(lambda database: index.search(database, query, limit))

    def find(self, url: str) -> Page | None:
        """Return the document of the index with this URL, ``document:relative/path.md``."""
        found = self._with(lambda database: index.find(database, url))
        return found if found is not None and found.text else None

    def refresh(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Bring the index to the state of the files, by size and time of change. Ends early once ``stopped``.

        Each file is a transaction of its own, so other threads and processes can read and refresh the index meanwhile.
        Raises ToolError if the directory cannot be read.
        """
        files = self._files()
        self._with(lambda database: self._refresh(database, files, stopped))

    def _with(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return self._opened(work)
        except sqlite3.OperationalError:  # locked, or the disk is full
            raise
        except sqlite3.DatabaseError:  # damaged: it can be made again from the files
            self._file.unlink(missing_ok=True)
            return self._opened(work)

    def _opened(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        with closing(sqlite3.connect(self._file, timeout=PATIENCE_S, isolation_level=None)) as database:
            self._file.chmod(0o600)
            database.executescript(index.SCHEMA)
            database.execute("PRAGMA synchronous = OFF")  # the index can be made again from the files
            return work(database)

    def _refresh(
        self, database: sqlite3.Connection, files: dict[str, tuple[Path, int, int]], stopped: Callable[[], bool]
    ) -> None:
        known = index.known(database)
        for url in known.keys() - files.keys():
            index.put(database, url, None)
        new = [url for url, (_, *about) in files.items() if known.get(url) != tuple(about)]
        for self.left, url in zip(range(len(new), 0, -1), new, strict=True):
            if stopped():
                return
            file, size, changed = files[url]
            index.put(database, url, self._page(url, file), size=size, changed=changed)

    def _page(self, url: str, file: Path) -> Page | None:
        """Return the text of a file; None if it may be readable the next time."""
        try:
            page = extracted(_content(file), TYPES[file.suffix.lower()], url=url, title=file.name)
        except (ToolError, OSError) as error:
            if url not in self._reported:
                self._reported.add(url)
                LOGGER.warning("the document %s is left out: %s", file, error)
            if not isinstance(error, ToolError) or error.failure.type == "missing_extra":
                return None
            page = Page(url=url, title=file.name, text="")  # until it changes
        return replace(page, title=self._redact(page.title), text=self._redact(page.text))

    def _files(self) -> dict[str, tuple[Path, int, int]]:
        """Return the documents of the directory by URL: the file, its size, and the time of its last change in ns."""
        if not self._directory.is_dir():
            how = "restore it, or start another run with --documents DIR"
            raise unavailable(f"the directory of documents {self._directory} is not there", "no_documents", how)
        root = self._directory.resolve()
        files: dict[str, tuple[Path, int, int]] = {}
        for file in _documents_in(root):
            try:
                real = file.resolve(strict=True)
                about = real.stat()
            except OSError:  # removed meanwhile, or a link to nothing
                continue
            if real.is_relative_to(root) and stat.S_ISREG(about.st_mode) and about.st_size <= MOST_BYTES:
                name = file.relative_to(root).as_posix().encode(errors="replace").decode()
                files[SCHEME + name] = (real, about.st_size, about.st_mtime_ns)
            if len(files) >= MOST_FILES:
                break
        return files


def _documents_in(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):  # it does not follow links to directories
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in TYPES:
                yield Path(folder, name)


def _content(file: Path) -> bytes:
    """Read a file that was resolved before; what has become a link since is refused (OSError)."""
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as content:
        return content.read(MOST_BYTES)
