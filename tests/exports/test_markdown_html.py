"""Untrusted Markdown becomes HTML that only shows text: nothing in it runs, loads, sends, or takes too long."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from exports.pages import Page

from leadhand.app.markdown_html import LONGEST_MARKDOWN, Sentence, markdown_html, text_html
from leadhand.flows.report.sentences import Kind, sentences_of

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
    "⸪0⸫⸬7⸫ <b>⸪99⸫",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_untrusted_text_never_becomes_markup(text: str) -> None:
    sentences = [
        Sentence(each.offset, each.offset + len(each.text), "unsupported", "✗", f'Not supported: "{each.text}"')
        for each in sentences_of(text)
    ]
    for marked in ([], sentences):
        page = Page(markdown_html(text, text_html, marked))
        page.check_harmless()
        assert not page.of("b")
        assert all(set(attrs) <= {"href", "rel", "title"} for attrs in page.of("a"))
        assert not {"⸪", "⸫", "⸬"} & set(page.text)


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


def test_the_items_of_a_task_list_have_boxes() -> None:
    html = markdown_html("- [x] done\n- [ ] open\n- a [x] b\n\n[x] no item", text_html)
    assert "☑ done" in html
    assert "☐ open" in html
    assert html.count("[x]") == 2


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


def test_each_sentence_gets_its_sign_and_the_text_stays_the_same() -> None:
    found = [each for each in sentences_of(DRAFT) if each.kind is not Kind.CODE]
    sentences = [
        Sentence(each.offset, each.offset + len(each.text), "supported", "✓", str(number))
        for number, each in enumerate(found)
    ]
    plain = markdown_html(DRAFT, text_html)
    marked = Page(markdown_html(DRAFT, text_html, sentences))

    signs = [attrs["title"] for attrs in marked.of("span") if attrs.get("class") == "sign supported"]
    assert signs == [str(number) for number, each in enumerate(found) if each.kind is not Kind.FOOTNOTE]
    assert marked.text.replace("✓", "").split() == Page(plain).text.split()
    kept = [tag for tag, _ in marked.tags if tag != "span"]
    assert kept == [tag for tag, _ in Page(plain).tags]


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
    code = "import sys, leadhand, leadhand.app.export; sys.exit('markdown_it' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_sentences_that_share_a_line_stay_in_order() -> None:
    text = "One. Two. Three."
    sentences = [
        Sentence(each.offset, each.offset + len(each.text), f"s{n}", str(n), "")
        for n, each in enumerate(sentences_of(text))
    ]
    html = markdown_html(text, text_html, sentences)
    assert all(html.index(f'"s{a}"') < html.index(f'"s{b}"') for a, b in pairwise(range(3)))
