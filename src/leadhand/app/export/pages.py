"""A run as Markdown, and as one self-contained page of HTML: without scripts or network access, all text escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leadhand.app.export.formatting import GLYPHS, clean, count, label, money, spent
from leadhand.app.export.markdown_html import is_web, markdown_html
from leadhand.app.export.outcome import VERDICTS, failure_of, lines_beside
from leadhand.app.project.flows import REPORT
from leadhand.core.value import is_list, is_object, object_of

if TYPE_CHECKING:
    from jinja2 import Environment

SIGNS = {
    "confirmed": "✓",
    "derived": "≈",
    "own_words": "○",
    "unconfirmed": "?",
    "contradicted": "✗",
    "not_checked": "·",
}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def markdown(document: Mapping[str, Any]) -> str:
    """Return the answer of a run as Markdown, with its sources, gaps and evidence."""
    run = _cleaned(document)
    return _markdown(run, run["answer"] or _draft(run) or f"*No answer: the run is {run['status']}.*")


def page(document: Mapping[str, Any]) -> str:
    """Return the page of a run: header, answer with its sources, gaps, evidence, and the work behind it."""
    run = _cleaned(document)
    passages = _report(run).get("passages", {})
    cited = dict.fromkeys(name for claim in run["claims"] for name in claim.get("cites", ()) if name in passages)
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            run=run,
            title=" ".join(run["request"].split())[:200],
            facts=_facts(run),
            answer=run["answer"] or _draft(run) or "No answer yet.",
            beside=_markdown(run),
            cited=[passages[name] for name in cited],
            steps=[each for each in run["steps"] if each["counts"]],
            labels={
                f"{order['work_order_id']}.{index}": label(each["name"], each["args"])
                for order in run["work_orders"]
                for index, each in enumerate(order["subtasks"])
            },
            verdicts=VERDICTS,
            signs=SIGNS,
            glyphs=GLYPHS,
        )
    )


def _markdown(run: Mapping[str, Any], answer: str = "") -> str:
    """Return an answer and what is beside it: an open question, why a run failed, gaps and evidence."""
    shown = {"run": run, "answer": answer, "failure": failure_of(run), "lines": lines_beside(run)}
    return _templates().get_template("run.md.j2").render(shown).strip() + "\n"


def _facts(run: Mapping[str, Any]) -> dict[str, str]:
    usage, most = run["usage"], run["limits"]["budget"]
    tokens = usage["input_tokens"] + usage["output_tokens"], usage["cost_usd"]
    budget = "no budget" if most is None else f"{money(most)} at most"
    return {
        "run": run["run_id"],
        "status": run["status"],
        "model": ", ".join([run["model"], *(f"{use}: {name}" for use, name in run["models"].items())]),
        "started": run["created_at"],
        "finished": run["finished_at"] or "not yet",
        "spent": spent(usage["requests"], *tokens, usage["cached_tokens"], usage["cache_write_tokens"]),
        "limits": f"{budget} · {count(run['limits']['max_steps'], 'work order')}" if run["work_orders"] else budget,
    }


def _report(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a run document that a report has; {} for any other run."""
    return object_of(run["task"]) if run["flow"] == REPORT else {}


def _draft(run: Mapping[str, Any]) -> str:
    """Return the latest draft of a report that is not finished, with names of passages; "" for any other run."""
    draft = _report(run).get("draft")
    return f"*This report is not finished: the run is {run['status']}.*\n\n{draft}" if draft else ""


def _cleaned(value: Any) -> Any:
    """Return JSON data without control characters."""
    if is_object(value):
        return {name: _cleaned(each) for name, each in value.items()}
    if is_list(value):
        return [_cleaned(each) for each in value]
    return clean(value) if isinstance(value, str) else value


def _plain(text: str) -> str:
    """Return a text on one line in which nothing is Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _source_link(source: Mapping[str, str]) -> str:
    """Return a link if the URL is one of the web; otherwise only the title: a source may name any URL."""
    title, url = _plain(source["title"] or source["url"]), quote(source["url"], safe=":/?#[]@!$&'*+,;=%~-._")
    return f"[{title}]({url})" if is_web(url) else title


@cache
def _templates() -> Environment:
    """Return the templates. Jinja is imported when it is needed: the import takes a while."""
    from jinja2 import Environment, PackageLoader, select_autoescape

    templates = Environment(
        loader=PackageLoader("leadhand.app", "export"),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
    )
    filters: dict[str, Any] = {"markdown": markdown_html, "plain": _plain, "source_link": _source_link, "web": is_web}
    templates.filters.update(filters)
    return templates
