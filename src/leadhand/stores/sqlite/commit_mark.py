"""The number of the last commit, in a SQLite database and in a file beside it, so that a loss is noticed.

Each commit raises the number in the table ``meta``, then writes it to ``<database>.mark``. The file is therefore never
ahead, unless the database was truncated, lost its ``-wal`` file, or was replaced by an older copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from leadhand.core.errors import StoreError
from leadhand.stores.connection import Corrupt, Row

Execute = Callable[[str], list[Row]]

DIGITS = 10
PAGES_OFFSET = 28
"""Where the header of a database has its number of pages."""


class CommitMark:
    """The file beside a database at ``path``. One object belongs to one connection that writes."""

    def __init__(self, path: Path) -> None:
        self._database = path
        self._path = path.with_name(path.name + ".mark")
        self._descriptor: int | None = None

    def check_file(self) -> None:
        """Raise StoreError if the database's file has lost content; SQLite would delete its log."""
        if self._database.exists() and not self._database.is_file():
            return  # SQLite's error names it
        size = self._database.stat().st_size if self._database.exists() else 0
        if size == 0 and self._written() is not None:
            raise self._lost("is missing or empty")
        if size and self._is_cut_off() and self._is_cut_off():  # twice, as another process may just have shortened it
            raise self._lost("is cut off")

    def _is_cut_off(self) -> bool:
        """Whether the file is shorter than its header says, with no log that holds the rest."""
        with self._database.open("rb") as file:
            header = file.read(PAGES_OFFSET + 4)
        log = self._database.with_name(self._database.name + "-wal")
        if not header.startswith(b"SQLite format 3\0") or (log.exists() and log.stat().st_size):
            return False
        page_size = int.from_bytes(header[16:18])
        pages = int.from_bytes(header[PAGES_OFFSET:])
        return self._database.stat().st_size < pages * (65_536 if page_size == 1 else page_size)

    def check_number(self, execute: Execute) -> None:
        """Raise StoreError if the database has fewer commits than the file says."""
        written = self._written()  # before the database's number, which others raise meanwhile
        if written is None:
            return
        number = _in_table(execute)
        if number is not None and number < written:
            raise self._lost(f"lacks its last commits ({number:,} of {written:,})")

    def open(self) -> None:
        """Open the file: not before a transaction, as a database of another program gets no file. Raises StoreError."""
        if self._descriptor is None:
            self._descriptor = self._opened()

    def write(self, number: int) -> None:
        """Write the number of a commit to the file."""
        if self._descriptor is not None:
            with suppress(OSError):  # the commit is done; an older number only makes the check less strict
                os.pwrite(self._descriptor, b"%-*d\n" % (DIGITS, number), 0)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _opened(self) -> int:
        try:
            return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreError(
                f"cannot write {self._path}: {error.strerror or error}",
                "make the file writable, or choose another database with --database",
            ) from error

    def _written(self) -> int | None:
        """Return the number in the file; None without one."""
        try:
            text = self._path.read_text(errors="replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(
                f"cannot read {self._path}: {error.strerror or error}", "make the file readable for this user"
            ) from error
        return int(text) if text.isascii() and text.isdecimal() else None

    def _lost(self, what: str) -> Corrupt:
        return Corrupt(
            f"{self._database} has lost events: it {what}",
            f"restore it from a backup, with its -wal file if there is one; to continue with what is left, "
            f"delete {self._path}",
        )


def _in_table(execute: Execute) -> int | None:
    """Return the number in the table; None for tables that are damaged, or of another program: that is explained later.

    A database without any tables has no commits.
    """
    if not execute("SELECT 1 FROM pragma_table_info('meta') WHERE name = 'commits'"):
        return None if execute("SELECT 1 FROM sqlite_master LIMIT 1") else 0
    return execute("SELECT max(commits) FROM meta")[0][0]
