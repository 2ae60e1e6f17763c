"""Untrusted Markdown as HTML: no raw HTML, no pictures, no links but to the web, to mail addresses and in the page."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LONGEST_MARKDOWN = 100_000
"""Characters that are read as Markdown; longer text is shown as it is, because reading it takes too long."""
_SAFE_LINK = re.compile(r"https?://[^\s/]|mailto:[^\s]|#[\w.-]+$", re.IGNORECASE)
_CITATION = re.compile(r"\[(\d{1,4}(?:, ?\d{1,4})*)\]")
_BLOCKS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "th", "td"})


def markdown_html(text: str, sources: int = 0, shift: int = 0) -> str:
    """Return Markdown as HTML, its citations of the first so many ``sources`` (``[1]``) as links to them.

    Headings move down by ``shift`` levels.
    """
    if len(text) > LONGEST_MARKDOWN:
        return f'<p class="plain" dir="auto">{escape(text)}</p>'
    tokens = _parser().parse(text)
    for token in tokens:
        if token.nesting == 1 and token.tag in _BLOCKS:
            token.attrSet("dir", "auto")
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + shift)}"
        in_link = 0
        for child in token.children or ():
            in_link += child.nesting if child.tag == "a" else 0
            if child.type == "text" and not in_link:
                child.type, child.content = "html_inline", _cited(escape(child.content), sources)
    return _parser().renderer.render(tokens, _parser().options, {})


def is_web(url: str) -> bool:
    """Whether a URL is one of the web."""
    return url.lower().startswith(("http://", "https://"))


def _cited(html: str, sources: int) -> str:
    def link(citation: re.Match[str]) -> str:
        numbers = [int(number) for number in citation[1].split(",")]
        if not all(0 < number <= sources for number in numbers):
            return citation[0]
        links = (f'<a href="#source-{number}">{number}</a>' for number in numbers)
        return f"[{', '.join(links)}]"

    return _CITATION.sub(link, html)


@cache
def _parser() -> MarkdownIt:
    """Return the parser. It is imported when it is needed: the import takes a while."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = lambda url: _SAFE_LINK.match(url) is not None
    return parser
