"""A run as one self-contained page of HTML: without scripts or network access, and with all text escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Any

from leadhand.app.beside import failure_of, lines_beside
from leadhand.app.document.event_line import event_line
from leadhand.app.formatting import GLYPHS, count, label, money, shortened, spent
from leadhand.app.markdown_html import link_html, markdown_html, table_html, text_html
from leadhand.app.report_export import ReportPage
from leadhand.core.events import Entry

LONGEST_EVENT = 2_000
"""Characters of an event that the page shows; the JSON export has all of it."""
LONGEST_RESULT = 300
"""Characters of the result of a subtask above which it is folded."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CITATION = re.compile(r"\[(\d{1,4}(?:, ?\d{1,4})*)\]")


def page(document: dict[str, Any], entries: Iterable[Entry], *, notice: str = "") -> str:
    """The page of a run: header, notice, answer with its sources, gaps, evidence, the work behind it, and the log."""
    title = text_html(" ".join(document["request"].split())[:200])
    report = ReportPage.of(document)
    parts = [
        *_header(document, title),
        *([f'<p class="failed">{text_html(notice)}</p>'] if notice else []),
        *(_answer(document) if report is None or not report.drafted else report.text()),
        *_gaps(document),
        *_evidence(document),
        *(_sources(document) if report is None or not report.drafted else ()),
        *(() if report is None else (*report.sources(), *report.work())),
        *_orders(document),
        *_log(entries),
        "</main>",
    ]
    style = (files("leadhand.app") / "export.css").read_text("utf-8")
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
        "model": ", ".join([document["model"], *(f"{role}: {name}" for role, name in document["models"].items())]),
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

    yield f'<h2>Answer</h2><div class="prose">{markdown_html(document["answer"] or "No answer yet.", cite)}</div>'


def _sources(document: dict[str, Any]) -> Iterator[str]:
    if document["sources"]:
        yield '<h2>Sources</h2><ol class="sources">'
        for number, source in enumerate(document["sources"], start=1):
            yield f'<li id="source-{number}" dir="auto">{link_html(source["title"], source["url"], name="source")}</li>'
        yield "</ol>"


def _gaps(document: dict[str, Any]) -> Iterator[str]:
    if document["question"] is not None:
        yield f'<h2>Question</h2><p class="plain" dir="auto">{text_html(document["question"]["text"])}</p>'
    if (failure := failure_of(document)) is not None:
        why = text_html(f"{failure.message} ({failure.class_.value})")
        yield f'<h2>Why it failed</h2><p class="failed">{why}</p>'
    if document["gaps"]:
        yield "<h2>Gaps</h2>"
        fields = ("name", "class", "reason", "next_action")
        rows = ([text_html(gap[field]) for field in fields] for gap in document["gaps"])
        yield from table_html(("what", "class", "why", "what you can do"), rows)


def _evidence(document: dict[str, Any]) -> Iterator[str]:
    if lines := lines_beside(document):
        yield "<h2>Evidence</h2><ul>"
        yield from (f'<li dir="auto">{text_html(line)}</li>' for line in lines)
        yield "</ul>"


def _orders(document: dict[str, Any]) -> Iterator[str]:
    events = {event["event_id"]: event for event in document["context_store"]["events"]}
    for order, state in zip(document["work_orders"], document["work_states"], strict=True):
        repairs = f", repairs {text_html(order['repairs'])}" if order.get("repairs") else ""
        yield f"<h2>{text_html(order['work_order_id'])}{repairs}</h2>"
        yield from table_html(("key", "subtask", "status", "attempts", "result"), _subtasks(order, state, events))


def _subtasks(order: dict[str, Any], state: dict[str, Any], events: dict[str, Any]) -> Iterator[list[str]]:
    for index, subtask in enumerate(order["subtasks"]):
        at = state["subtask_state"][str(index)]
        attempts = [events[event_id] for event_id in at["event_ids"] if event_id in events]
        status = text_html(at["status"])
        yield [
            f'<span class="id">{text_html(order["work_order_id"])}.{index}</span>',
            text_html(label(subtask["name"], subtask["args"])),
            f'<span class="{status}">{GLYPHS[at["status"]]} {status}</span>',
            str(len(attempts)),
            _result(_outcome(attempts[-1]["content"]) if attempts else ""),
        ]


def _result(text: str) -> str:
    """Return the HTML of a result; a long one is folded."""
    html = f'<div class="prose">{markdown_html(text, text_html)}</div>'
    if len(text) <= LONGEST_RESULT:
        return html
    return f"<details><summary>{text_html(shortened(text, LONGEST_RESULT))}</summary>{html}</details>"


def _outcome(content: dict[str, Any]) -> str:
    match content:
        case {"error": {"message": str() as message}}:
            return message
        case {"summary": str() as summary}:
            return summary
        case _:
            return ""


def _log(entries: Iterable[Entry]) -> Iterator[str]:
    yield '<section><h2>Log</h2><details class="folded"><summary>Event log</summary>'
    yield from table_html(("seq", "at", "event", "content"), map(_event, entries))
    yield "</details></section>"


def _event(entry: Entry) -> list[str]:
    body = event_line(entry)
    seq, at, type_ = (body.pop(name) for name in ("seq", "at", "type"))
    body.pop("epoch")
    content = json.dumps(body, ensure_ascii=False)
    content = content if len(content) <= LONGEST_EVENT else f"{content[:LONGEST_EVENT]}…"
    return [
        str(seq),
        f'<span class="time">{text_html(at)}</span>',
        f"<code>{text_html(type_)}</code>",
        f"<pre>{text_html(content)}</pre>",
    ]
