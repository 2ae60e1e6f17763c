"""The text of a document: HTML, PDF, Markdown and plain text, in whatever encoding it came."""

from __future__ import annotations

import codecs
import io
import re
from typing import Any

from leadhand.core.errors import ToolError
from leadhand.ports import Page
from leadhand.tools.services import unavailable

from .text import MOST_CHARS, normalized

HTML, PDF = frozenset({"text/html", "application/xhtml+xml"}), "application/pdf"
PLAIN = frozenset({"text/plain", "text/markdown", "text/x-markdown", "text/x-rst"})
TYPES = {
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".rst": "text/x-rst",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": PDF,
}
"""The type of a file by its ending; other files are not read."""
MOST_PDF_PAGES = 300

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]{2,40})", re.IGNORECASE)
_CHARSET = re.compile(
    r"(?i)(?:ascii|big5|cp\d+|euc[-_]|gb\d+|gbk|iso|koi8|latin|mac|shift|sjis|us-|utf-?(?:8|16)|windows)"
)
"""Encodings that pages use. Python knows others, of which some take very long."""
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def extracted(content: bytes, kind: str, *, url: str, charset: str = "", title: str = "") -> Page:
    """Return a document of this media type as text. ``title`` is used if the document has none.

    Raises ToolError: ``unsupported_type``, ``missing_extra``, ``unreadable``, or ``no_text`` if nothing is in it.
    """
    published = ""
    if content.startswith(b"%PDF-"):
        kind = PDF
    if kind in HTML:
        text, found, published = _html(decoded(content, charset), url)
    elif kind == PDF:
        text, found, published = _pdf(content)
    elif kind in PLAIN:
        text = decoded(content, charset)
        heading = re.match(r"\s*#\s+(.+)", text)
        found = heading[1] if heading else ""
    else:
        how = "use another source: HTML, PDF, Markdown or plain text"
        raise unavailable(f"{url} is {kind or 'of an unknown type'}, which cannot be read", "unsupported_type", how)
    text = normalized(text)
    if not text:
        how = "use another source: this one may need a browser, or consist of pictures"
        raise unavailable(f"{url} contains no text", "no_text", how)
    return Page(
        url=url, title=" ".join(normalized(found or title or url).split())[:300], text=text, published=published
    )


def decoded(content: bytes, charset: str = "") -> str:
    """Return text in the encoding that fits: its mark, UTF-8, what was declared, else Windows-1252."""
    for mark, name in _BOMS:
        if content.startswith(mark):
            return content.decode(name, "replace")
    meta = _META.search(content[:2048])
    for name in ("utf-8", charset, meta[1].decode("ascii", "replace") if meta else ""):
        if _CHARSET.match(name):
            try:
                return content.decode(name)
            except (LookupError, ValueError):
                continue
    return content.decode("cp1252", "replace")


def missing(package: str) -> ToolError:
    """Return the error for a package of the extra ``web`` that is not installed."""
    how = 'install it: pip install "leadhand[web]"'
    return unavailable(f"the package {package} is not installed", "missing_extra", how)


def _unreadable(url: str, error: Exception) -> ToolError:
    return unavailable(f"{url} cannot be read: {type(error).__name__}", "unreadable", "use another source")


def _html(text: str, url: str) -> tuple[str, str, str]:
    """Return the main text of a page as Markdown, its title, and the date of its publication."""
    try:
        import trafilatura
    except ImportError:
        raise missing("trafilatura") from None
    try:
        found: Any = trafilatura.bare_extraction(
            text,
            url=url,
            with_metadata=True,
            include_comments=False,
            include_images=False,
            include_formatting=True,
            favor_recall=True,  # else most lists of pages without an <article> are left out
        )
    except Exception as error:  # whatever a parser makes of hostile markup
        raise _unreadable(url, error) from error
    if found is None:
        return "", "", ""
    published = found.date if _DATE.fullmatch(found.date or "") else ""
    return _EMPHASIS.sub(r"\2", found.text or ""), found.title or "", published


def _pdf(content: bytes) -> tuple[str, str, str]:
    """Return the text of a PDF, its title, and the date of its creation."""
    try:
        import pypdf
    except ImportError:
        raise missing("pypdf") from None
    parts: list[str] = []
    room = MOST_CHARS
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        for page in reader.pages[:MOST_PDF_PAGES]:
            parts.append(page.extract_text())
            room -= len(parts[-1])
            if room <= 0:
                break
        about = reader.metadata
        title = str(about.title or "") if about is not None else ""
        created = about.creation_date if about is not None else None
    except Exception as error:  # whatever a broken or hostile file causes
        raise _unreadable("the PDF", error) from error
    return "\n\n".join(parts), title, created.date().isoformat() if created is not None else ""
