"""A run as Markdown: its answer with numbered sources, what the answer lacks, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadhand.app.beside import failure_of, lines_beside
from leadhand.app.formatting import clean
from leadhand.app.report_export import ReportPage
from leadhand.flows.report.rendering import escaped, markdown_link


def markdown(document: dict[str, Any], *, notice: str = "") -> str:
    """Return the answer of a run as Markdown, with its sources, gaps and evidence."""
    return clean("\n\n".join(part for part in _parts(document, notice) if part)) + "\n"


def _parts(document: dict[str, Any], notice: str) -> Iterator[str]:
    report = ReportPage.of(document)
    if notice:
        yield f"*{escaped(notice)}*"
    if report is not None and document["task"]["final_report"]:
        yield document["task"]["final_report"]
    elif report is not None and report.drafted:
        yield f"*This report is not finished: the run is {document['status']}.*"
        yield report.markdown()
    else:
        yield document["answer"] or f"*No answer: the run is {document['status']}.*"
        yield _listed("Sources", list(_sources(document)))
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
