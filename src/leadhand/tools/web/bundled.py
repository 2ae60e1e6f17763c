"""The documents that come with Leadhand, for searches offline: sample documents and Leadhand's own documentation."""

from __future__ import annotations

import re
import sqlite3
import threading
from functools import cache
from pathlib import Path

from leadhand.ports import Page

from . import index
from .text import normalized

SCHEME = "leadhand:"
SAMPLES = Path(__file__).parent / "samples"
_PACKAGE = Path(__file__).parents[2]
_LOCK = threading.Lock()
_PUBLISHED = "Published: "
_CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
"""Blocks of code in the documentation: their examples name topics that it is not about."""


def search(query: str, limit: int) -> list[Page]:
    """Return the bundled documents that fit a query best; most queries are not about them."""
    with _LOCK:
        return index.search(_opened(), query, limit, strict=True)


def find(url: str) -> Page | None:
    """Return the bundled document with this URL."""
    with _LOCK:
        return index.find(_opened(), url)


def documentation() -> Path:
    """Return the folder of Leadhand's documentation: in the package, or in the checkout that it is installed from."""
    packaged = _PACKAGE / "_docs"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / "docs"


@cache
def _opened() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.executescript(index.SCHEMA)
    for file in sorted(SAMPLES.glob("*.md")):
        index.add(database, _sample(file))
    folder = documentation()
    for file in sorted(folder.rglob("*.md")):
        title, _, text = _CODE.sub("", file.read_text(encoding="utf-8")).removeprefix("# ").partition("\n")
        url = f"{SCHEME}docs/{file.relative_to(folder).as_posix()}"
        index.add(database, Page(url=url, title=f"Leadhand documentation: {title.strip()}", text=normalized(text)))
    return database


def _sample(file: Path) -> Page:
    """Return a sample document: its title, the day of its publication, and its text."""
    title, dated, text = file.read_text(encoding="utf-8").removeprefix("# ").split("\n\n", 2)
    return Page(
        url=f"{SCHEME}samples/{file.name}",
        title=f"{title} (sample document)",
        text=normalized(text),
        published=dated.removeprefix(_PUBLISHED),
        sample=True,
    )
