"""How an answer names what it rests on: passages by their ids, files of earlier runs by their paths.

Before the citations are checked, both become the numbers of passages, ``[p1]``, as in reports.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

_ID = r"[0-9a-f]{8}\.\d{1,5}"
_PATH = r"memory/[^\s\[\],;]+"
_CITATION = re.compile(rf"\[\s*({_ID}|{_PATH})((?:\s*(?:[,;&]|and)\s*(?:{_ID}|{_PATH}))*)\s*\](?!\()")
_NAMED = re.compile(rf"{_ID}|{_PATH}")
_FILE = re.compile(r"\bmemory/[^\s\[\]()<>\"'`*,;:|]+\.\w{1,8}\b")


def cited_ids(text: str) -> list[str]:
    """Return the ids of passages in a text, each once, in their order."""
    return list(dict.fromkeys(re.findall(rf"(?<![\w.]){_ID}(?![\w])", text)))


def cited_names(text: str) -> list[str]:
    """Return the ids and paths that a text cites, each once, in their order."""
    return list(dict.fromkeys(name for found in _CITATION.finditer(text) for name in _NAMED.findall(found[0])))


def without_citations(text: str) -> str:
    """Return a text without its citations: their ids are not part of what it says."""
    return re.sub(rf"[ \t]*{_CITATION.pattern}", "", text)


def renumbered(text: str, names: Mapping[str, str]) -> str:
    """Return a text whose citations are numbers: ``names`` has that of each passage and file. Unknown ones remain."""

    def numbered(found: re.Match[str]) -> str:
        given = _NAMED.findall(found[0])
        known = ", ".join(dict.fromkeys(names[name] for name in given if name in names))
        unknown = [f"[{name}]" for name in given if name not in names]
        return " ".join([*([f"[{known}]"] if known else []), *unknown])

    return _CITATION.sub(numbered, text)


def unknown_files(text: str, known: Collection[str]) -> list[str]:
    """Return the paths of files in a text that do not exist."""
    return [path for path in dict.fromkeys(_FILE.findall(text)) if path not in known]


def numbers(ids: Iterable[str]) -> dict[str, str]:
    """Return the number of each passage, in this order: ``p1``, ``p2``, …"""
    return {id_: f"p{number}" for number, id_ in enumerate(dict.fromkeys(ids), start=1)}
