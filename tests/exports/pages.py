"""A page of HTML as tests read it, and the export of a run."""

from __future__ import annotations

import asyncio
import json
from html.parser import HTMLParser
from pathlib import Path

from leadhand import Leadhand
from leadhand.app.export.export import Format, export

ALLOWED = {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "dl", "dt", "dd", "div", "p"}
ALLOWED |= {"h1", "h2", "h3", "h4", "h5", "h6", "span", "a", "ol", "ul", "li", "blockquote", "details", "summary"}
ALLOWED |= {"table", "thead", "tbody", "tr", "th", "td", "code", "pre", "em", "strong", "s", "br", "hr"}
ATTRIBUTES = {"class", "id", "href", "rel", "title", "dir", "role", "aria-label", "scope", "value", "start"}
ATTRIBUTES |= {"lang", "charset", "name", "content", "http-equiv"}


class Page(HTMLParser):
    """The tags and the text of a page. A tag that is not closed in its order is a fault."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every tag of this name."""
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def links(self) -> list[str]:
        """What the page links to."""
        return [attrs.get("href") or "" for attrs in self.of("a")]

    def check_harmless(self) -> None:
        """Check that the page has nothing that runs, loads, sends or hides something."""
        assert {tag for tag, _ in self.tags} <= ALLOWED
        assert {name for _, attrs in self.tags for name in attrs} <= ATTRIBUTES
        assert all(link.lower().startswith(("https://", "http://", "mailto:", "#")) for link in self.links)


def exported(home: Path, run_id: str, format: Format) -> str:
    """A run of this home as a file."""

    async def read() -> str:
        async with Leadhand(home=home) as lead:
            text, damage = await export(
                (runtime := await lead.runtime()).store, runtime.flows, run_id, json.dumps, format=format
            )
        assert damage is None
        return text

    return asyncio.run(read())
