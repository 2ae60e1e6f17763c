"""A report as parts of a page: its text with the verdict on each claim, its sources with passages, and its drafts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from leadhand.app.beside import VERDICTS
from leadhand.app.flows import REPORT
from leadhand.app.markdown_html import Mark, link_html, markdown_html, table_html, text_html
from leadhand.core.judgement import ClaimVerdict
from leadhand.core.value import Json, is_object, text_of
from leadhand.flows.passages import Passage
from leadhand.flows.report.rendering import Numbered, beginning, body, numbered, source_list
from leadhand.verify.claims import citations_in

SIGNS = {
    ClaimVerdict.CONFIRMED: "✓",
    ClaimVerdict.DERIVED: "≈",
    ClaimVerdict.OWN_WORDS: "○",
    ClaimVerdict.UNCONFIRMED: "?",
    ClaimVerdict.CONTRADICTED: "✗",
    ClaimVerdict.NOT_CHECKED: "·",
}
_NAME = re.compile(r"\bp\d{1,5}\b")


def legend(claims: Iterable[Mapping[str, Any]]) -> str:
    """Return what the signs of claims mean, with how many claims have each."""
    counted = Counter(each["verdict"] for each in claims)
    signs = (
        f'<span><span class="sign {each.value}">{sign}</span>{VERDICTS[each]} ({counted[each.value]})</span>'
        for each, sign in SIGNS.items()
        if counted[each.value]
    )
    return f'<p class="legend">{" ".join(signs)}</p>'


def claim_marks(claims: Iterable[Mapping[str, Any]]) -> list[Mark]:
    """Return a mark for each claim that is part of a text."""
    marks: list[Mark] = []
    for each in claims:
        verdict = ClaimVerdict(each["verdict"])
        if each.get("start") is not None:
            why = f": {each['why']}" if each.get("why") else ""
            hint = f"{VERDICTS[verdict]}{why}"
            marks.append(Mark(each["start"], each["end"], verdict.value, SIGNS[verdict], hint[:1].upper() + hint[1:]))
    return marks


class ReportPage:
    """The parts of the page of a report. All of it comes from the run document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._task: dict[str, Any] = document["task"]
        self._drafts: list[dict[str, Any]] = self._task["drafts"]
        self._links: dict[str, str] = {id_: each["link"] for id_, each in self._task["passages"].items()}
        self._passages = {
            id_: Passage.model_validate({name: value for name, value in each.items() if name != "link"})
            for id_, each in self._task["passages"].items()
        }

    @classmethod
    def of(cls, document: dict[str, Any]) -> ReportPage | None:
        """Return the parts of the page of a run; None if it is not a report."""
        return cls(document) if document["flow"] == REPORT and document.get("task") is not None else None

    @property
    def drafted(self) -> bool:
        """Whether there is a draft."""
        return self._latest is not None

    # --- Markdown ----------------------------------------------------------------------------------------------------

    def markdown(self) -> str:
        """Return the latest draft with numbered sources, for a report that is not finished."""
        draft = self._draft
        named = self._named(draft)
        sources = numbered(draft["text"], named)
        return f"{body(draft['text'], sources)}\n\n{source_list(sources, named)}".strip()

    # --- the page ----------------------------------------------------------------------------------------------------

    def text(self) -> Iterator[str]:
        """The report, each claim with its verdict, and what the signs mean."""
        yield "<h2>Report</h2>"
        draft = self._draft
        if self._document["finished_at"] is None:
            yield '<p class="waiting">This report is not finished. This is its latest draft.</p>'
        yield legend(draft["claims"])
        yield f'<div class="prose">{self._draft_html(draft)}</div>'

    def sources(self) -> Iterator[str]:
        """The sources that the report cites, by number, and those that it does not cite, each with its passages."""
        cited, others = self._cited, self._uncited
        if cited:
            yield '<h2>Sources</h2><ol class="sources">'
            yield from (self._source(number, each, f"source-{number}") for number, each in cited.items())
            yield "</ol>"
        if others:
            yield '<details class="folded"><summary>Sources and passages that the report does not cite</summary>'
            yield '<ol class="sources">'
            yield from (self._source(number, each, f"other-{number}") for number, each in others.items())
            yield "</ol></details>"

    def work(self) -> Iterator[str]:
        """Research, drafts and reviews, folded."""
        yield "<section><h2>Drafts and reviews</h2>"
        for draft in self._drafts:
            verdict = (draft["verdict"] or "no verdict").replace("_", " ").lower()
            yield f'<details class="folded"><summary>Draft {draft["number"]}: {verdict}</summary>'
            if draft["error"]:
                yield f'<p class="failed">{text_html(draft["error"])}</p>'
            if draft is not self._latest and draft["text"]:
                yield f'<div class="prose">{self._draft_html(draft)}</div>'
            yield from self._reviews(draft)
            yield "</details>"
        yield "</section><section><h2>Research</h2>"
        for each in self._task["research"]:
            summary = text_html(f"{each['heading']}: {each['status']}")
            yield f'<details class="folded"><summary dir="auto">{summary}</summary>'
            yield f'<p dir="auto">{text_html(each["question"])}</p>'
            if each["error"]:
                yield f'<p class="failed">{text_html(each["error"])}</p>'
            yield "<ul>"
            for finding in each["findings"]:
                links = self._citation(finding["passages"])
                yield f'<li dir="auto">{text_html(finding["statement"])} {links}</li>'
            yield "</ul></details>"
        yield "</section>"

    # --- sentences and citations -------------------------------------------------------------------------------------

    @cached_property
    def _latest(self) -> dict[str, Any] | None:
        return next((draft for draft in reversed(self._drafts) if draft["text"]), None)

    @property
    def _draft(self) -> dict[str, Any]:
        if self._latest is None:
            raise ValueError("the report has no draft")
        return self._latest

    def _named(self, draft: dict[str, Any]) -> dict[str, Passage]:
        """The passages that a draft can cite, as p1, p2, …: those of its research in order, each once."""
        research = {each["key"]: each["passages"] for each in self._task["research"]}
        ids = dict.fromkeys(id_ for key in draft["research"] for id_ in research.get(key, ()))
        return {f"p{number}": self._passages[id_] for number, id_ in enumerate(ids, start=1) if id_ in self._passages}

    def _draft_html(self, draft: dict[str, Any]) -> str:
        named = self._named(draft)

        def cite(text: str) -> str:
            parts: list[str] = []
            at = 0
            for found in citations_in(text):
                ids = [named[name].id for name in found.ids if name in named]
                if ids:
                    parts += [text_html(text[at : found.start]), " ", self._citation(ids)]
                    at = found.end
            return "".join([*parts, text_html(text[at:])])

        return markdown_html(draft["text"], cite, claim_marks(draft["claims"]))

    def _labelled(self, problem: str, named: dict[str, Passage]) -> str:
        """A problem that names passages as the page does."""
        return _NAME.sub(lambda name: self._labels[named[name[0]].id] if name[0] in named else name[0], problem)

    def _citation(self, ids: Iterable[str]) -> str:
        return f"[{', '.join(self._passage_link(id_) for id_ in dict.fromkeys(ids) if id_ in self._passages)}]"

    def _passage_link(self, id_: str) -> str:
        passage = self._passages[id_]
        title = text_html(f"{passage.title}: “{beginning(passage.text)}”")
        return f'<a href="#passage-{text_html(id_)}" title="{title}">{self._labels[id_]}</a>'

    @cached_property
    def _cited(self) -> dict[int, Numbered]:
        """The sources that the report cites, by number. Their passages are named by their ids."""
        if self._latest is None:
            return {}
        named = self._named(self._latest)
        found = numbered(self._latest["text"], named)
        return {
            number: source._replace(passages=tuple(named[name].id for name in source.passages))
            for number, source in enumerate(found, start=1)
        }

    @cached_property
    def _uncited(self) -> dict[int, Numbered]:
        """The sources of all other passages. They are numbered behind those that the answer has."""
        seen = {id_ for source in self._cited.values() for id_ in source.passages}
        found: dict[tuple[str, str], list[str]] = {}
        for passage in self._passages.values():
            if passage.id not in seen:
                found.setdefault((passage.title, passage.url), []).append(passage.id)
        first = 1 + (len(self._cited) if self.drafted else len(self._document["sources"]))
        return {
            number: Numbered(title, url, tuple(ids))
            for number, ((title, url), ids) in enumerate(found.items(), start=first)
        }

    @cached_property
    def _labels(self) -> dict[str, str]:
        """What a passage is called: the number of its source, with a letter if more passages of it are listed."""
        return {
            id_: str(number) if len(source.passages) == 1 else f"{number}{_letters(index)}"
            for number, source in (self._cited | self._uncited).items()
            for index, id_ in enumerate(source.passages)
        }

    def _source(self, number: int, source: Numbered, anchor: str) -> str:
        passages = "".join(self._passage(id_) for id_ in source.passages)
        title = link_html(source.title or source.url or "untitled", source.url, name="source")
        return f'<li id="{anchor}" value="{number}"><span dir="auto">{title}</span>{passages}</li>'

    def _passage(self, id_: str) -> str:
        """A passage. Its text has the anchor, because a browser opens what is folded around the target of a link."""
        passage, link = self._passages[id_], self._links[id_]
        web = link.startswith(("http://", "https://"))
        opened = f"<p>{link_html('Open the source at this passage', link)}</p>" if web else ""
        label = self._labels[id_]
        return (
            f'<details class="passage"><summary>{label}: <span dir="auto">“{text_html(beginning(passage.text))}”</span>'
            f'</summary><blockquote id="passage-{text_html(id_)}" dir="auto">'
            f'<span class="plain">{label}: {text_html(passage.text)}</span>'
            f"{opened}</blockquote></details>"
        )

    def _reviews(self, draft: dict[str, Any]) -> Iterator[str]:
        rows = [
            [text_html(each[name] or "") for name in ("key", "stage", "status")]
            + [text_html(each["error"] or _verdict(each["answer"]))]
            for each in draft["reviews"]
        ]
        if rows:
            yield from table_html(("review", "stage", "status", "result"), rows)
        if draft["findings"]:
            named = self._named(draft)
            yield "<p>Findings:</p>"
            cells = (
                map(
                    text_html,
                    (
                        each["by"],
                        self._labelled(each["text"] or "the report", named),
                        self._labelled(each["problem"], named),
                    ),
                )
                for each in draft["findings"]
            )
            yield from table_html(("by", "statement", "problem"), cells)
        for what in draft["unreviewed"]:
            yield f'<p class="waiting">Not reviewed: {text_html(what)}</p>'


def _verdict(answer: Json) -> str:
    """What a review says, in words."""
    if not is_object(answer):
        return ""
    return text_of(answer.get("verdict")).replace("_", " ").lower()


def _letters(index: int) -> str:
    """a, b, …, z, aa, ab, …"""
    return (_letters(index // 26 - 1) if index >= 26 else "") + chr(ord("a") + index % 26)
