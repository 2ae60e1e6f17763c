"""Everything that a home keeps but the values of secrets: each row of each other table, and each file of runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def kept_in(home: Path, table: str = "secrets") -> bytes:
    """Return all that is in a home outside of this table, the full-text index included, as bytes."""
    found: list[bytes] = []
    for path in sorted(home.rglob("*")):
        if path.is_file() and path.read_bytes()[:6] == b"SQLite":
            with closing(sqlite3.connect(path)) as database:
                names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                assert table in names
                for name in names:
                    if name != table:
                        rows = database.execute(f'SELECT * FROM "{name}"')
                        cells = (cell for row in rows for cell in row if cell is not None)
                        found += (cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells)
        elif path.is_file() and not path.name.endswith(("-wal", "-shm")):
            found.append(path.read_bytes())
    return b"\n".join(found)
