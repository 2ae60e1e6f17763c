"""Full-text search in documents, with SQLite's FTS5. What is indexed are their passages."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from leadhand.ports import Page

from .passages import passages

SCHEMA = """
CREATE TABLE IF NOT EXISTS documents(
    id INTEGER PRIMARY KEY, url TEXT UNIQUE, size INTEGER, changed INTEGER, published TEXT, sample INTEGER, title TEXT,
    text TEXT
);
CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5(
    document UNINDEXED, title, text, tokenize = 'porter unicode61 remove_diacritics 2'
);
"""
MOST_TERMS = 64
"""Words of a query that are looked for."""
RARE = 0.1
"""The share of the passages that contain a rare word, at most."""
_WORD = re.compile(r"\w+")
_COLUMNS = "url, published, sample, title, text"
_SEARCH = """
WITH ranked AS MATERIALIZED (
    SELECT document, bm25(passages, 0, 2.0, 1.0) AS score FROM passages
    WHERE passages MATCH ? AND rowid IN (SELECT found FROM ({each}) GROUP BY found HAVING count(*) >= ?)
)
SELECT {columns} FROM documents JOIN (SELECT document, min(score) AS score FROM ranked GROUP BY document)
ON id = document ORDER BY score, url LIMIT ?
"""


def add(database: sqlite3.Connection, page: Page, *, size: int = 0, changed: int = 0) -> None:
    """Add a document, whose file has this size and time of change."""
    placed = database.execute(
        f"INSERT INTO documents (size, changed, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (size, changed, page.url, page.published, page.sample, page.title, page.text),
    )
    database.executemany(
        "INSERT INTO passages (document, title, text) VALUES (?, ?, ?)",
        [(placed.lastrowid, page.title, passage) for passage in passages(page.text)],
    )


def known(database: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Return the size and the time of change of each document's file when it was indexed, by URL."""
    rows = database.execute("SELECT url, size, changed FROM documents").fetchall()
    return {url: (size, changed) for url, size, changed in rows}


def put(database: sqlite3.Connection, url: str, page: Page | None, *, size: int = 0, changed: int = 0) -> None:
    """Add a document in place of an earlier version, or remove it (None), in a transaction of its own."""
    database.execute("BEGIN IMMEDIATE")
    try:
        for number, *about in database.execute("SELECT id, size, changed FROM documents WHERE url = ?", (url,)):
            if page is not None and about == [size, changed]:  # another process has added it meanwhile
                page = None
                continue
            database.execute("DELETE FROM passages WHERE document = ?", (number,))
            database.execute("DELETE FROM documents WHERE id = ?", (number,))
        if page is not None:
            add(database, page, size=size, changed=changed)
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def search(database: sqlite3.Connection, query: str, limit: int, *, strict: bool = False) -> list[Page]:
    """Return the documents that fit a query best, by their best passages (BM25).

    If ``strict``, a passage, with the title, has to contain every rare word of a query with one or two, else two or
    three.
    """
    asked = [f'"{term}"' for term in terms(query)[:MOST_TERMS]]
    rare = _rare(database, asked) if strict else asked
    if not rare:
        return []
    least = (len(rare) if len(rare) <= 2 else 2 if len(rare) <= 4 else 3) if strict else 1
    each = " UNION ALL ".join(["SELECT rowid AS found FROM passages WHERE passages MATCH ?"] * len(rare))
    rows = database.execute(_SEARCH.format(each=each, columns=_COLUMNS), (" OR ".join(asked), *rare, least, limit))
    return [_page(row) for row in rows]


def terms(text: str) -> list[str]:
    """Return the words of a text in lower case, each once."""
    return list(dict.fromkeys(_WORD.findall(text.casefold())))


def _rare(database: sqlite3.Connection, quoted: Sequence[str]) -> list[str]:
    """Return the words that few passages contain: the others say little about what a text is about."""
    ((every,),) = database.execute("SELECT count(*) FROM passages")
    count = "SELECT count(*) FROM passages WHERE passages MATCH ?"
    return [word for word in quoted if database.execute(count, (word,)).fetchone()[0] <= RARE * every]


def find(database: sqlite3.Connection, url: str) -> Page | None:
    """Return the document with this URL."""
    row = database.execute(f"SELECT {_COLUMNS} FROM documents WHERE url = ?", (url,)).fetchone()  # noqa: S608
    return None if row is None else _page(row)


def _page(row: tuple[str, str, int, str, str]) -> Page:
    url, published, sample, title, text = row
    return Page(url=url, published=published, sample=bool(sample), title=title, text=text)
