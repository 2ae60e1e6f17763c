"""Untrusted Markdown becomes HTML that only shows text: nothing in it runs, loads, sends, or takes too long."""

from __future__ import annotations

import subprocess
import sys

import pytest
from exports.pages import Page

from leadhand.app.export.markdown_html import LONGEST_MARKDOWN, markdown_html

HOSTILE = [
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "<details open ontoggle=alert(1)>",
    "![x](https://evil.example/pixel.png)",
    '![x" onerror="alert(1)](javascript:alert(1))',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](<java\nscript:alert(1)>)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example/a)",
    "[x](/api/session)",
    "[x](\x01javascript:alert(1))",
    "<javascript:alert(1)>",
    "[x][y]\n\n[y]: javascript:alert(1)",
    '[x](https://a.example/"onmouseover="alert(1))',
    '[x](https://a.example "t\\" onclick=\\"alert(1)")',
    '```" onclick="alert(1)\ncode\n```',
    '~~~html"><script>\n<script>alert(1)</script>\n~~~',
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62;",
    "`<b onclick=alert(1)>`",
    "| <b> | [x](javascript:alert(1)) |\n|---|---|\n| <script> | `<i>` |",
    "\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07",
    "[a](https://a.example 'One. Two')",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_untrusted_text_never_becomes_markup(text: str) -> None:
    page = Page(markdown_html(text))
    page.check_harmless()
    assert not page.of("b")
    assert all(set(attrs) <= {"href", "rel", "title"} for attrs in page.of("a"))


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a](https://a.example/x?y=1&z=2)", ["https://a.example/x?y=1&z=2"]),
        ("<https://a.example> [b](mailto:a@b.example) [c](#c-1)", ["https://a.example", "mailto:a@b.example", "#c-1"]),
        ("[a][1]\n\n[1]: http://a.example", ["http://a.example"]),
    ],
)  # fmt: skip
def test_links_to_the_web_to_mail_and_in_the_page_stay(text: str, links: list[str]) -> None:
    assert Page(markdown_html(text)).links == links


def test_citations_of_sources_that_there_are_lead_to_them_unless_they_are_in_a_link() -> None:
    assert Page(markdown_html("[see [1]](https://a.example) [1] [1, 2] [3]", 2)).links == [
        "https://a.example",
        "#source-1",
        "#source-1",
        "#source-2",
    ]


def test_markdown_keeps_its_shape_below_the_headings_of_the_page() -> None:
    html = markdown_html(
        "# One\n\n###### Six\n\n- a\n- *b*\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n\u05e9\u05dc", shift=2
    )

    assert '<h3 dir="auto">One</h3>' in html
    assert '<h6 dir="auto">Six</h6>' in html
    assert '<li dir="auto"><em>b</em></li>' in html.replace("\n", "")
    assert '<td dir="auto">2</td>' in html
    assert '<p dir="auto">\u05e9\u05dc</p>' in html


@pytest.mark.parametrize(
    "text",
    [
        "> " * 50_000 + "x",
        "".join("  " * i + "- x\n" for i in range(400)),
        "[" * 4_000,
        "*a _b " * 3_000,
        "`" * 90_000,
    ],
    ids=["quotes", "lists", "brackets", "stars", "ticks"],
)
def test_deep_nesting_is_read_without_an_error(text: str) -> None:
    Page(markdown_html(text)).check_harmless()


def test_text_too_long_for_markdown_is_shown_whole_as_it_is() -> None:
    text = "# <b>long</b> [x](javascript:alert(1)) " * 26_000
    page = Page(markdown_html(text))

    assert len(text) > max(1_000_000, LONGEST_MARKDOWN)
    assert page.text == text
    assert [tag for tag, _ in page.tags] == ["p"]


def test_importing_leadhand_imports_neither_the_parser_nor_the_templates() -> None:
    code = (
        "import sys, leadhand, leadhand.app.export.export; sys.exit(bool({'markdown_it', 'jinja2'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
