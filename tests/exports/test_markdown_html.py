"""Untrusted Markdown becomes HTML that only shows text: nothing in it runs, loads, sends, or takes too long."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from exports.pages import Page

from leadhand.app.export.markdown_html import LONGEST_MARKDOWN, Mark, markdown_html, text_html
from leadhand.verify.claims import claims_of

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
    "⸪0⸫⸪7⸫ <b>⸪99⸫",
    "[a](https://a.example 'One. Two')",
]


def marks(text: str) -> list[Mark]:
    """A mark for each claim of a text, with its number and its words as the hint."""
    return [
        Mark(each.start or 0, each.end or 0, f"s{each.n}", "✗", f'{each.n}: "{each.text}"') for each in claims_of(text)
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_untrusted_text_never_becomes_markup(text: str) -> None:
    for marked in ([], marks(text)):
        page = Page(markdown_html(text, text_html, marked))
        page.check_harmless()
        assert not page.of("b")
        assert all(set(attrs) <= {"href", "rel", "title"} for attrs in page.of("a"))
        assert not {"⸪", "⸫"} & set(page.text)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a](https://a.example/x?y=1&z=2)", ["https://a.example/x?y=1&z=2"]),
        ("<https://a.example> [b](mailto:a@b.example) [c](#c-1)", ["https://a.example", "mailto:a@b.example", "#c-1"]),
        ("[a][1]\n\n[1]: http://a.example", ["http://a.example"]),
    ],
)  # fmt: skip
def test_links_to_the_web_to_mail_and_in_the_page_stay(text: str, links: list[str]) -> None:
    assert Page(markdown_html(text, text_html)).links == links


def test_markdown_keeps_its_shape_below_the_headings_of_the_page() -> None:
    html = markdown_html(
        "# One\n\n###### Six\n\n- a\n- *b*\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n\u05e9\u05dc", text_html
    )

    assert '<h3 dir="auto">One</h3>' in html
    assert '<h6 dir="auto">Six</h6>' in html
    assert '<li dir="auto"><em>b</em></li>' in html.replace("\n", "")
    assert '<td dir="auto">2</td>' in html
    assert '<p dir="auto">\u05e9\u05dc</p>' in html


DRAFT = """# Title here

A first one. **A second one** is here. Third _one._

> Quoted first. And
> quoted second.
> Third on its own line.

1. An item. Its end.
   - A nested item
2. `Code. In` an item

| Head | Other |
|------|-------|
| cell | **x** |

```python
x = 1. # Not a sentence.
```

**Bold first. Bold second** and its end. [Linked. Twice](https://a.example/b) end.

[ref]: https://a.example "Title. Of it"
"""


def test_each_claim_gets_its_sign_and_the_text_stays_the_same() -> None:
    plain = Page(markdown_html(DRAFT, text_html))
    marked = Page(markdown_html(DRAFT, text_html, marks(DRAFT)))

    signs = [attrs["title"] for attrs in marked.of("span") if (attrs.get("class") or "").startswith("sign ")]
    assert signs == [each.hint for each in marks(DRAFT) if "x = 1" not in each.hint and "[ref]:" not in each.hint]
    assert marked.text.replace("✗", "").split() == plain.text.split()
    assert [tag for tag, _ in marked.tags if tag != "span"] == [tag for tag, _ in plain.tags]


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
    Page(markdown_html(text, text_html)).check_harmless()


def test_text_too_long_for_markdown_is_shown_whole_as_it_is() -> None:
    text = "# <b>long</b> [x](javascript:alert(1)) " * 26_000
    page = Page(markdown_html(text, text_html))

    assert len(text) > max(1_000_000, LONGEST_MARKDOWN)
    assert page.text == text
    assert [tag for tag, _ in page.tags] == ["p"]


def test_importing_leadhand_does_not_import_the_parser() -> None:
    code = "import sys, leadhand, leadhand.app.export.export; sys.exit('markdown_it' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_claims_that_share_a_line_stay_in_order() -> None:
    text = "One [1]. Two [2]. Three [3]."
    html = markdown_html(text, text_html, marks(text))
    assert all(html.index(f'sign s{a}"') < html.index(f'sign s{b}"') for a, b in pairwise(range(1, 4)))
