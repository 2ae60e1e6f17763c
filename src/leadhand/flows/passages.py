"""Passages: the pieces of what tools found that a text may cite."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.core.state import RunState
from leadhand.core.tool import CallState, message_of
from leadhand.core.value import Json, Value, is_object, objects_of, text_of
from leadhand.verify.claims import PASSAGE_ID, citations_in
from leadhand.verify.material import Material, calls_of, earlier_answer

_ID = re.compile(PASSAGE_ID)
LONGEST_PASSAGE = 4_000
"""Characters of a passage, at most. The tools of Leadhand cut far shorter ones; a user's tool may return anything."""


class Passage(Value):
    """A piece of a source. ``id`` is the digest of the whole source and a number; the same text has the same id."""

    id: str
    text: str
    title: str = ""
    url: str = ""
    source: str = ""
    published: str = ""


class WrittenFile(Passage):
    """A file that a worker wrote: it proves nothing by itself, but the passages do that its text cites."""


def passages_in(result: CallState) -> list[Passage]:
    """Return the passages that a call returned; of a tool that returns other data, the data as one passage.

    A search returns ``{"results": [source, …]}``, a fetch one source: ``{"title", "url", "source", "published",
    "passages": [{"id", "text"}]}``. A failed call and a search without results give no passages.
    """
    if not result.ok:
        return []
    returned = message_of(result.raw)
    found = passages_of(returned)
    if found or _sources(returned) or (is_object(returned) and returned.get("results") == []):
        return found
    raw = returned if isinstance(returned, str) else json.dumps(returned, ensure_ascii=False, default=str)
    text = (result.summary or ("" if returned is None else raw)).strip()[:LONGEST_PASSAGE]
    if not text:
        return []
    credited = result.sources[0] if len(result.sources) == 1 else None
    title, url = (credited.title, credited.url) if credited is not None else (result.tool, "")
    source = digest_of(text)
    return [Passage(id=f"{source}.1", text=text, title=title, url=url, source=source)]


def passages_of(returned: Json) -> list[Passage]:
    """Return the passages in the data of a search or a fetch."""
    return [each for source in _sources(returned) for each in _passages_of(source)]


def returned_passages(calls: Iterable[CallState]) -> dict[str, Passage]:
    """Return the passages that calls returned, by id."""
    return {passage.id: passage for call in calls for passage in passages_in(call)}


def of_passages(state: RunState, passages: Mapping[str, Passage], gaps: Sequence[Json] = ()) -> Material:
    """Return the material for a text that cites passages by their names. A citation of a file that a worker wrote
    refers also to the passages of the sources that the file cites."""

    def keys(name: str, passage: Passage) -> tuple[str, ...]:
        if not isinstance(passage, WrittenFile):
            return (name,)
        sources = {id_.partition(".")[0] for each in citations_in(passage.text) for id_ in each.ids}
        return (name, *(other for other, each in passages.items() if each.source in sources))

    return Material(
        evidence={name: passage_facts(each) for name, each in passages.items()} | earlier_answer(state),
        keys={name: keys(name, each) for name, each in passages.items()},
        addresses=frozenset(each.url for each in passages.values() if each.url),
        calls=tuple(calls_of(state)),
        gaps=tuple(gaps),
    )


def passage_facts(passage: Passage) -> Json:
    """Return what a judge is shown of a passage."""
    kind = "written" if isinstance(passage, WrittenFile) else "passage"
    about = {"title": passage.title, "published": passage.published}
    return {kind: passage.text, **{name: value for name, value in about.items() if value}}


def said(message: str) -> dict[str, Json]:
    """Return what a primitive tool says if it succeeded; :func:`~leadhand.core.tool.message_of` reads it."""
    return {"isError": False, "message": message}


def digest_of(text: str) -> str:
    """Return the id of a source: the first 8 hexadecimal digits of the SHA-256 of its whole text."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


def _sources(raw: Json) -> list[dict[str, Any]]:
    if not is_object(raw):
        return []
    return [raw] if "passages" in raw else [each for each in objects_of(raw.get("results")) if "passages" in each]


def _passages_of(source: dict[str, Any]) -> list[Passage]:
    """The passages of a source. One with an id that no source can have, as a user's tool may give, gets its own."""
    title, url, published = (text_of(source.get(name)) for name in ("title", "url", "published"))
    found: list[Passage] = []
    for each in objects_of(source.get("passages")):
        text = text_of(each.get("text")).strip()[:LONGEST_PASSAGE]
        id_ = text_of(each.get("id"))
        id_ = id_ if _ID.fullmatch(id_) else f"{digest_of(text)}.1"
        if text:
            about = {"title": title, "url": url, "published": published}
            found.append(Passage(id=id_, text=text, source=id_.partition(".")[0], **about))
    return found


# --- citations by number ---------------------------------------------------------------------------------------------


class Numbered(NamedTuple):
    """A source of the report and the passages of it that are cited, by name."""

    title: str
    url: str
    passages: tuple[str, ...]


def numbered(text: str, passages: Mapping[str, Passage]) -> list[Numbered]:
    """Return the sources that a draft cites, in the order in which it cites them; the first is [1]."""
    cited: dict[tuple[str, str], dict[str, None]] = {}
    for name in (name for citation in citations_in(text) for name in citation.ids):
        if name in passages:
            cited.setdefault((passages[name].title, passages[name].url), {})[name] = None
    return [Numbered(title, url, tuple(names)) for (title, url), names in cited.items()]


def body(text: str, sources: Sequence[Numbered]) -> str:
    """Return a draft whose citations are numbers of sources. A citation of what does not exist stays as it is."""
    numbers = {name: number for number, source in enumerate(sources, start=1) for name in source.passages}
    written, at = "", 0
    for citation in citations_in(text):
        if found := sorted({numbers[name] for name in citation.ids if name in numbers}):
            before = text[at : citation.start]
            unknown = [f"[{name}]" for name in citation.ids if name not in numbers]
            marks = " ".join([f"[{', '.join(map(str, found))}]", *unknown])
            written += f"{before}{'' if not before or before[-1:].isspace() else ' '}{marks}"
            at = citation.end
    return (written + text[at:]).strip()
