"""A run as one self-contained page of HTML: without scripts or network access, and with all text escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from leadhand.app.formatting import GLYPHS, clean, count, label, money, spent
from leadhand.domain.document import event_line
from leadhand.domain.events import Entry

LONGEST_EVENT = 2_000
"""Characters of an event that the page shows; the JSON export has all of it."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --line: light-dark(#d8d8d4, #3a3a3c); --quiet: light-dark(#5c5c58, #a0a0a4);
  --good: light-dark(#1a6b34, #6fcf8a); --bad: light-dark(#a3232a, #ff8a8a); --wait: light-dark(#7a5200, #e9b949); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 2rem 1rem 4rem; font: 16px/1.55 system-ui, sans-serif;
  background: light-dark(#fdfdfb, #161618); color: light-dark(#1d1d1b, #ececee); }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2.25rem 0 .5rem; }
code, pre, .id { font: .85em/1.5 ui-monospace, monospace; }
.quiet { color: var(--quiet); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 1rem 0; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
.answer { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--line); padding-left: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
.completed, .succeeded, .success { color: var(--good); }
.failed, .dropped, .failure, .cancelled { color: var(--bad); }
.waiting, .paused, .partial, .running { color: var(--wait); }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 16rem; overflow-y: auto; }
"""


def page(document: dict[str, Any], entries: Iterable[Entry], *, notice: str = "") -> str:
    """The page of a run: header, notice, answer, sources, gaps, subtasks by order, and the log."""
    title = _text(" ".join(document["request"].split())[:200])
    parts = [
        *_header(document, title),
        *([f'<p class="failed">{_text(notice)}</p>'] if notice else []),
        *_answer(document),
        *_gaps(document),
        *_orders(document),
        *_log(entries),
        "</main>",
    ]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{title} · Leadhand</title>
<style>{_STYLE}</style>
</head>
<body>
{chr(10).join(parts)}
</body>
</html>
"""


def _header(document: dict[str, Any], title: str) -> Iterator[str]:
    usage = document["usage"]
    used = spent(
        usage["requests"], usage["input_tokens"] + usage["output_tokens"], usage["cost_usd"], usage["cached_tokens"]
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
        "limits": f"{budget} · {count(limits['max_steps'], 'work order')}",
    }
    yield f"<header><h1>{title}</h1><dl>"
    for name, value in facts.items():
        kind = f' class="{_text(value)}"' if name == "status" else ""
        yield f"<dt>{name}</dt><dd{kind}>{_text(value)}</dd>"
    yield "</dl></header><main>"
    if len(document["request"]) > 200:
        yield f'<h2>Request</h2><p class="answer">{_text(document["request"])}</p>'


def _answer(document: dict[str, Any]) -> Iterator[str]:
    yield "<h2>Answer</h2>"
    yield f'<p class="answer">{_text(document["answer"] or "No answer yet.")}</p>'
    if document["sources"]:
        yield "<h2>Sources</h2><ol>"
        yield from (f"<li>{_link(source['title'], source['url'])}</li>" for source in document["sources"])
        yield "</ol>"


def _gaps(document: dict[str, Any]) -> Iterator[str]:
    failure = document.get("failure")
    if failure is not None:
        yield f'<h2>Why it failed</h2><p class="failed">{_text(failure["message"])} ({_text(failure["class"])})</p>'
    if document["gaps"]:
        yield "<h2>Not answered</h2>"
        fields = ("name", "class", "reason", "next_action")
        rows = ([_text(gap[field]) for field in fields] for gap in document["gaps"])
        yield from _table(("what", "class", "why", "what you can do"), rows)


def _orders(document: dict[str, Any]) -> Iterator[str]:
    events = {event["event_id"]: event for event in document["context_store"]["events"]}
    for order, state in zip(document["work_orders"], document["work_states"], strict=True):
        repairs = f", repairs {_text(order['repairs'])}" if order.get("repairs") else ""
        yield f"<h2>{_text(order['work_order_id'])}{repairs}</h2>"
        yield from _table(("key", "subtask", "status", "attempts", "result"), _subtasks(order, state, events))


def _subtasks(order: dict[str, Any], state: dict[str, Any], events: dict[str, Any]) -> Iterator[list[str]]:
    for index, subtask in enumerate(order["subtasks"]):
        at = state["subtask_state"][str(index)]
        attempts = [events[event_id] for event_id in at["event_ids"] if event_id in events]
        status = _text(at["status"])
        yield [
            f'<span class="id">{_text(order["work_order_id"])}.{index}</span>',
            _text(label(subtask["name"], subtask["args"])),
            f'<span class="{status}">{GLYPHS[at["status"]]} {status}</span>',
            str(len(attempts)),
            _text(_outcome(attempts[-1]["content"]) if attempts else ""),
        ]


def _outcome(content: dict[str, Any]) -> str:
    match content:
        case {"error": {"message": str() as message}}:
            return message
        case {"summary": str() as summary}:
            return summary
        case _:
            return ""


def _log(entries: Iterable[Entry]) -> Iterator[str]:
    yield "<h2>Event log</h2>"
    yield from _table(("seq", "at", "event", "content"), map(_event, entries))


def _event(entry: Entry) -> list[str]:
    body = event_line(entry)
    seq, at, type_ = (body.pop(name) for name in ("seq", "at", "type"))
    body.pop("epoch")
    content = json.dumps(body, ensure_ascii=False)
    content = content if len(content) <= LONGEST_EVENT else f"{content[:LONGEST_EVENT]}…"
    return [str(seq), _text(at), f"<code>{_text(type_)}</code>", f"<pre>{_text(content)}</pre>"]


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    cells = "".join(f'<th scope="col">{name}</th>' for name in headings)
    yield f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>'
    yield from (f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    yield "</tbody></table></div>"


def _link(title: str, url: str) -> str:
    """A link if the URL is http or https; otherwise its text."""
    if not url.lower().startswith(("http://", "https://")):
        return f"{_text(title)} ({_text(url)})" if url else _text(title)
    return f'<a href="{_text(url)}" rel="noopener noreferrer nofollow">{_text(title)}</a>'


def _text(value: str) -> str:
    """Text, without control characters, as HTML shows it."""
    return escape(clean(value), quote=True)
