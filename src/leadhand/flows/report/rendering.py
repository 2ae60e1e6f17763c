"""The final report as Markdown: numbered sources instead of passages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from leadhand.flows.passages import Passage
from leadhand.verify.claims import citations_in

from .shapes import Research

_HEADINGS = re.compile(r"\A(?:\s*#+ [^\n]*\n)+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_WEB = ("https://", "http://")


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


def source_list(sources: Sequence[Numbered], passages: Mapping[str, Passage]) -> str:
    """Return the sources as a numbered list with links to the passages that the report cites; "" without sources."""
    lines = ["## Sources", ""] if sources else []
    for number, source in enumerate(sources, start=1):
        where = "" if not source.url or source.url.startswith(_WEB) else f" ({source.url})"
        lines.append(f"{number}. {markdown_link(source.title or source.url or 'untitled', source.url)}{where}")
        cited = (passages[name] for name in source.passages)
        lines += [f"   - {markdown_link(f'“{shortened(_prose(each), 120)}”', link_to(each))}" for each in cited]
    return "\n".join(lines)


def findings_as_text(title: str, found: Iterable[Research], passages: Mapping[str, Passage]) -> str:
    """Return findings as a draft, for a report that no model could write; "" without findings."""
    names = {passage.id: name for name, passage in passages.items()}
    parts: list[str] = []
    for item in (each for each in found if each.findings):
        cited = ((each, ", ".join(names[id_] for id_ in each.passages if id_ in names)) for each in item.findings)
        parts += [f"## {item.heading}", "\n".join(f"- {each.statement} [{marks}]" for each, marks in cited)]
    return "\n\n".join([f"# {title}", *parts]) if parts else ""


def link_to(passage: Passage) -> str:
    """Return the address of a passage: of a web page with a text fragment, so that it opens at the passage."""
    if not passage.url.startswith(_WEB):
        return passage.url
    words = _prose(passage).split()
    ends = [words] if len(words) <= 10 else [words[:5], words[-5:]]
    text = ",".join(quote(" ".join(each), safe="").replace("-", "%2D") for each in ends)
    return f"{passage.url}{'' if '#' in passage.url else '#'}:~:text={text}"


def markdown_link(label: str, url: str) -> str:
    """Return a link if the URL is one of the web; otherwise only the label: a source may name any URL."""
    address = quote(url, safe=":/?#[]@!$&'*+,;=%~-._")
    return f"[{escaped(label)}]({address})" if url.startswith(_WEB) else escaped(label)


def escaped(text: str) -> str:
    """Return a text on one line in which nothing is Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def shortened(text: str, most: int = 100) -> str:
    """Return the first words of a text, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"


def _prose(passage: Passage) -> str:
    """Return the text of a passage without the headings above it."""
    return _HEADINGS.sub("", passage.text).strip() or passage.text
