"""A run as Markdown, and as one self-contained page of HTML: without scripts or network access, all text escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from leadhand.app.export.formatting import GLYPHS, clean, count, label, money, spent
from leadhand.app.export.markdown_html import link_html, markdown_html, table_html, text_html
from leadhand.app.export.outcome import VERDICTS, failure_of, lines_beside
from leadhand.app.project.flows import REPORT
from leadhand.core.value import object_of
from leadhand.core.work_result import ClaimVerdict

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def markdown(document: dict[str, Any]) -> str:
    """Return the answer of a run as Markdown, with its sources, gaps and evidence."""
    return clean("\n\n".join(part for part in _parts(document) if part)) + "\n"


def report_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a run document that a report has; {} for any other run."""
    return object_of(document["task"]) if document["flow"] == REPORT else {}


def draft_of(document: dict[str, Any]) -> str:
    """Return the latest draft of a report that is not finished, with names of passages; "" for any other run."""
    draft = report_of(document).get("draft")
    return f"*This report is not finished: the run is {document['status']}.*\n\n{draft}" if draft else ""


def markdown_link(label: str, url: str) -> str:
    """Return a link if the URL is one of the web; otherwise only the label: a source may name any URL."""
    address = quote(url, safe=":/?#[]@!$&'*+,;=%~-._")
    return f"[{escaped(label)}]({address})" if url.startswith(("https://", "http://")) else escaped(label)


def escaped(text: str) -> str:
    """Return a text on one line in which nothing is Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _parts(document: dict[str, Any]) -> Iterator[str]:
    yield document["answer"] or draft_of(document) or f"*No answer: the run is {document['status']}.*"
    yield _listed("Sources", list(_source_lines(document)))
    yield from parts_beside(document)


def parts_beside(document: dict[str, Any]) -> Iterator[str]:
    """Yield as Markdown what is shown with an answer: an open question, why a run failed, gaps and evidence."""
    if document["question"] is not None:
        yield f"## Question\n\n{escaped(document['question']['text'])}"
    if (failure := failure_of(document)) is not None:
        yield f"## Why it failed\n\n{escaped(failure.message)}"
    yield _listed("Gaps", list(_gaps(document)))
    yield _listed("Evidence", [f"- {escaped(line)}" for line in lines_beside(document)])


def _listed(heading: str, lines: list[str]) -> str:
    return f"## {heading}\n\n" + "\n".join(lines) if lines else ""


def _source_lines(document: dict[str, Any]) -> Iterator[str]:
    for number, source in enumerate(document["sources"], start=1):
        yield f"{number}. {markdown_link(source['title'] or source['url'], source['url'])}"


def _gaps(document: dict[str, Any]) -> Iterator[str]:
    for each in document["gaps"]:
        action = f" — {escaped(each['next_action'])}" if each["next_action"] else ""
        yield f"- **{escaped(each['name'])}** ({escaped(each['class'])}): {escaped(each['reason'])}{action}"


SIGNS = {
    ClaimVerdict.CONFIRMED: "✓",
    ClaimVerdict.DERIVED: "≈",
    ClaimVerdict.OWN_WORDS: "○",
    ClaimVerdict.UNCONFIRMED: "?",
    ClaimVerdict.CONTRADICTED: "✗",
    ClaimVerdict.NOT_CHECKED: "·",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CITATION = re.compile(r"\[(\d{1,4}(?:, ?\d{1,4})*)\]")


def page(document: dict[str, Any]) -> str:
    """The page of a run: header, answer with its sources, gaps, evidence, and the work behind it."""
    title = text_html(" ".join(document["request"].split())[:200])
    parts = [
        *_header(document, title),
        *_answer(document),
        *(markdown_html(part, text_html, shift=0) for part in parts_beside(document)),
        *_claims(document),
        *_sources(document),
        *_work(document),
        "</main>",
    ]
    style = (files("leadhand.app.export") / "export.css").read_text("utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{title} · Leadhand</title>
<style>
{style}</style>
</head>
<body>
{chr(10).join(parts)}
</body>
</html>
"""


def _header(document: dict[str, Any], title: str) -> Iterator[str]:
    usage = document["usage"]
    used = spent(
        usage["requests"],
        usage["input_tokens"] + usage["output_tokens"],
        usage["cost_usd"],
        usage["cached_tokens"],
        usage["cache_write_tokens"],
    )
    limits = document["limits"]
    budget = "no budget" if limits["budget_usd"] is None else f"{money(limits['budget_usd'])} at most"
    facts = {
        "run": document["run_id"],
        "status": document["status"],
        "model": ", ".join([document["model"], *(f"{use}: {name}" for use, name in document["models"].items())]),
        "started": document["created_at"],
        "finished": document["finished_at"] or "not yet",
        "spent": used,
        "limits": f"{budget} · {count(limits['max_steps'], 'work order')}" if document["work_orders"] else budget,
    }
    yield f'<header><h1 dir="auto">{title}</h1><dl>'
    for name, value in facts.items():
        kind = f' class="{text_html(value)}"' if name == "status" else ""
        yield f"<dt>{name}</dt><dd{kind}>{text_html(value)}</dd>"
    yield "</dl></header><main>"
    if len(document["request"]) > 200:
        yield f'<h2>Request</h2><p class="plain" dir="auto">{text_html(document["request"])}</p>'


def _answer(document: dict[str, Any]) -> Iterator[str]:
    most = len(document["sources"])

    def cite(text: str) -> str:
        return _CITATION.sub(link, text_html(text))

    def link(citation: re.Match[str]) -> str:
        numbers = [int(number) for number in citation[1].split(",")]
        if not all(0 < number <= most for number in numbers):
            return citation[0]
        links = (f'<a href="#source-{number}">{number}</a>' for number in numbers)
        return f"[{', '.join(links)}]"

    yield "<h2>Answer</h2>"
    text = document["answer"] or draft_of(document) or "No answer yet."
    yield f'<div class="prose">{markdown_html(text, cite)}</div>'


def _claims(document: dict[str, Any]) -> Iterator[str]:
    """The claims of an answer that was judged, each with its verdict and the reasons of its doubts."""
    if document["evidence"]["judged_by"] is None or not document["claims"]:
        return
    rows: list[tuple[str, str, str]] = []
    for claim in document["claims"]:
        verdict = ClaimVerdict(claim["verdict"])
        why = text_html(" ".join(each["why"] for each in document["evidence"]["doubts"] if each["n"] == claim["n"]))
        sign = f'<span class="sign {verdict.value}">{SIGNS[verdict]} {VERDICTS[verdict]}</span>'
        rows.append((sign, text_html(claim["text"]), why))
    yield "<h2>Claims</h2>"
    yield from table_html(("verdict", "claim", "why"), rows)


def _sources(document: dict[str, Any]) -> Iterator[str]:
    """The sources, each with the passages of it that the answer cites."""
    if not document["sources"]:
        return
    passages = report_of(document).get("passages", {})
    cited = dict.fromkeys(id_ for claim in document["claims"] for id_ in claim.get("cites", ()) if id_ in passages)
    yield '<h2>Sources</h2><ol class="sources">'
    for number, source in enumerate(document["sources"], start=1):
        yield f'<li id="source-{number}" dir="auto">{link_html(source["title"], source["url"], name="source")}'
        of_source = (each for each in map(passages.__getitem__, cited) if _of(each) == _of(source))
        yield from (f'<blockquote dir="auto">{_passage(each)}</blockquote>' for each in of_source)
        yield "</li>"
    yield "</ol>"


def _of(source: dict[str, Any]) -> tuple[str, str]:
    return source["title"], source["url"]


def _passage(passage: dict[str, Any]) -> str:
    text, link = f'<span class="plain">{text_html(passage["text"])}</span>', passage["link"]
    web = link.startswith(("http://", "https://"))
    return f"{text}<p>{link_html('Open the source at this passage', link)}</p>" if web else text


def _work(document: dict[str, Any]) -> Iterator[str]:
    """The steps whose results belong to the answer."""
    named = {
        f"{order['work_order_id']}.{index}": label(each["name"], each["args"])
        for order in document["work_orders"]
        for index, each in enumerate(order["subtasks"])
    }
    if steps := [each for each in document["steps"] if each["counts"]]:
        yield "<h2>Work</h2>"
        rows = (_row(each, named.get(each["id"]) or str(each["title"])) for each in steps)
        yield from table_html(("key", "step", "status", "attempts", "result"), rows)


def _row(step: dict[str, Any], name: str) -> Iterator[str]:
    status, failure = step["status"], step["failure"]
    yield f'<span class="id">{text_html(step["id"])}</span>'
    yield text_html(name)
    yield f'<span class="{status}">{GLYPHS[status]} {status}</span>'
    yield str(step["attempts"])
    yield markdown_html(step["summary"] or (failure["message"] if failure is not None else ""), text_html)
