"""Untrusted Markdown as HTML: no raw HTML, no pictures, no links but to the web, to mail addresses and in the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from leadhand.app.export.formatting import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token

LONGEST_MARKDOWN = 100_000
"""Characters that are read as Markdown; longer text is shown as it is, because reading it takes too long."""
HEADING_SHIFT = 2
"""The levels by which headings move down: the page has the first two."""
_SAFE_LINK = re.compile(r"https?://[^\s/]|mailto:[^\s]|#[\w.-]+$", re.IGNORECASE)
_BLOCKS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "th", "td"})


def markdown_html(text: str, cite: Callable[[str], str], *, shift: int = HEADING_SHIFT) -> str:
    """Return Markdown as HTML. ``cite`` returns the HTML of a piece of its text, outside of links.

    Headings move down by ``shift`` levels.
    """
    if len(text) > LONGEST_MARKDOWN:
        return f'<p class="plain" dir="auto">{cite(clean(text))}</p>'
    text = clean(text)
    parser = _parser()
    env: dict[str, Any] = {"cite": cite, "links": 0}
    tokens = parser.parse(text, env)
    for token in tokens:
        if token.nesting == 1 and token.tag in _BLOCKS:
            token.attrSet("dir", "auto")
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + shift)}"
    return parser.renderer.render(tokens, parser.options, env)


def link_html(label: str, url: str, *, name: str = "") -> str:
    """Return a link if the URL is one of the web; otherwise its text."""
    if not url.lower().startswith(("http://", "https://")):
        return f"{text_html(label)} ({text_html(url)})" if url else text_html(label)
    css = f' class="{name}"' if name else ""
    return f'<a{css} href="{text_html(url)}" rel="noopener noreferrer nofollow">{text_html(label)}</a>'


def table_html(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Return a table of cells that are HTML."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in headings)
    yield f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>'
    yield from (f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    yield "</tbody></table></div>"


def text_html(value: str) -> str:
    """Return text, without control characters, as HTML shows it."""
    return escape(clean(value), quote=True)


@cache
def _parser() -> MarkdownIt:
    """Return the parser. It is imported when it is needed: the import takes a while."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: _SAFE_LINK.match(url) is not None
    for name, rule in (
        ("text", _text_rule),
        ("code_block", _block_rule),
        ("fence", _block_rule),
        ("image", _image_rule),
        ("link_open", _link_rule),
        ("link_close", _link_rule),
        ("table_open", _table_rule),
        ("table_close", _table_rule),
    ):
        parser.add_render_rule(name, rule)
    return parser


def _text_rule(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
    content = tokens[index].content
    return text_html(content) if env["links"] else env["cite"](content)


def _block_rule(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
    return f'<pre dir="auto"><code>{escape(tokens[index].content)}</code></pre>\n'


def _image_rule(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
    """A picture is its description: the page loads nothing."""
    return text_html(tokens[index].content)


def _link_rule(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
    token = tokens[index]
    env["links"] += token.nesting
    if token.nesting == 1:
        token.attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, index, options, env)


def _table_rule(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: dict[str, Any]) -> str:
    return '<div class="scroll"><table>\n' if tokens[index].nesting == 1 else "</table></div>\n"
