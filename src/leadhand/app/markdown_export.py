"""A run as Markdown: its answer with numbered sources, what the answer lacks, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadhand.app.beside import failure_of, lines_beside
from leadhand.app.flows import REPORT
from leadhand.app.formatting import clean
from leadhand.core.value import object_of
from leadhand.flows.report.task import escaped, markdown_link


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


def _parts(document: dict[str, Any]) -> Iterator[str]:
    if report := report_of(document).get("final_report"):
        yield report
    else:
        yield document["answer"] or draft_of(document) or f"*No answer: the run is {document['status']}.*"
        yield _listed("Sources", list(_sources(document)))
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


def _sources(document: dict[str, Any]) -> Iterator[str]:
    for number, source in enumerate(document["sources"], start=1):
        yield f"{number}. {markdown_link(source['title'] or source['url'], source['url'])}"


def _gaps(document: dict[str, Any]) -> Iterator[str]:
    for each in document["gaps"]:
        action = f" — {escaped(each['next_action'])}" if each["next_action"] else ""
        yield f"- **{escaped(each['name'])}** ({escaped(each['class'])}): {escaped(each['reason'])}{action}"
