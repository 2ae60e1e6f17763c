"""Full-text search in documents, with SQLite's FTS5. What is indexed are their passages."""

from __future__ import annotations

import sqlite3

from leadhand.domain.relevance import terms
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
MOST_TERMS = 24
"""Words of a query that are looked for."""
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


def remove(database: sqlite3.Connection, number: int) -> None:
    """Remove the document with this id."""
    database.execute("DELETE FROM passages WHERE document = ?", (number,))
    database.execute("DELETE FROM documents WHERE id = ?", (number,))


def search(database: sqlite3.Connection, query: str, limit: int) -> list[Page]:
    """Return the documents that fit a query best, by their best passages (BM25).

    A passage, with the title, has to contain every word of a query of one or two, else two or three of them.
    """
    asked = list(dict.fromkeys(terms(query)))[:MOST_TERMS]
    if not asked:
        return []
    quoted = [f'"{term}"' for term in asked]
    least = len(asked) if len(asked) <= 2 else 2 if len(asked) <= 4 else 3
    each = " UNION ALL ".join(["SELECT rowid AS found FROM passages WHERE passages MATCH ?"] * len(quoted))
    rows = database.execute(_SEARCH.format(each=each, columns=_COLUMNS), (" OR ".join(quoted), *quoted, least, limit))
    return [_page(row) for row in rows]


def find(database: sqlite3.Connection, url: str) -> Page | None:
    """Return the document with this URL."""
    row = database.execute(f"SELECT {_COLUMNS} FROM documents WHERE url = ?", (url,)).fetchone()  # noqa: S608
    return None if row is None else _page(row)


def _page(row: tuple[str, str, int, str, str]) -> Page:
    url, published, sample, title, text = row
    return Page(url=url, published=published, sample=bool(sample), title=title, text=text)
