"""Checks of the text that people get: it uses every result, cites what is there, and states what evidence explains."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from leadhand.domain.citations import CITATION, cited, named_sources, without_own_sources
from leadhand.domain.explaining import Evidence, statements
from leadhand.domain.figures import stated
from leadhand.domain.outcome import own_sources
from leadhand.domain.run import Gap
from leadhand.domain.state import AssignmentState, RunState
from leadhand.domain.text import error_in, is_blank
from leadhand.domain.value import Json

from .action_claims import unshown_actions

EMPTY = "the text is empty"
MANY = 5
"""Results from which on a text may name their number instead of each."""
_SHOWN = 5
_LEAD_IN = 25
"""Characters before a citation at the beginning of a sentence: "According to [1], …"."""
_MARKS = rf"(?:(?<!\s)\s*(?:{CITATION.pattern}))+"
_MARKS_AFTER_STOP = rf"([.!?。])({_MARKS})"
"""Citations behind a full stop belong to the sentence that it ends."""


def text_problems(
    state: RunState,
    text: str,
    results: Sequence[AssignmentState],
    numbers: Mapping[tuple[str, str], int],
    gaps: Sequence[Gap] = (),
) -> list[str]:
    """Return what is wrong with a text about some results, one sentence each.

    ``numbers`` are those of the sources that it may cite, by title and address, ``gaps`` what it may say is missing.
    """
    run = state.definition
    return list(_problems(_Checked(text, tuple(results), numbers, tuple(gaps), run.request, state.created_at.date())))


@dataclass(frozen=True, slots=True, eq=False)
class _Checked:
    """A text and all that it may rest on, as a cache key: an attempt and the controller check the same ones."""

    text: str
    results: tuple[AssignmentState, ...]
    numbers: Mapping[tuple[str, str], int]
    gaps: tuple[Gap, ...]
    request: str
    today: date

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        """Results are compared by identity: values of JSON can be equal although they differ, such as 1 and true."""
        return (
            isinstance(other, _Checked)
            and len(self.results) == len(other.results)
            and all(map(operator.is_, self.results, other.results))
            and (self.text, self.numbers, self.gaps) == (other.text, other.numbers, other.gaps)
            and (self.request, self.today) == (other.request, other.today)
        )


@lru_cache(maxsize=2)
def _problems(checked: _Checked) -> list[str]:
    text, results, numbers, gaps = without_own_sources(checked.text), checked.results, checked.numbers, checked.gaps
    if is_blank(text):
        return [EMPTY]
    given = _given(checked.request, gaps)
    evidence = Evidence([*map(_found, results), *given], checked.today)
    error = error_in(text)
    if error and results and not gaps and error.casefold() not in evidence.folded:
        return [f"the text is an error: {error}"]
    found = _unfounded(text, evidence, numbers, _misplaced(text, results, numbers, given))
    if claims := unshown_actions(text, "\n".join(map(_shown_by, results))):
        found.append(f"the text says {claims[0]!r}, and no result shows that this was done")
    if unused := _unused(text, results):
        how = f"; name each one, or say that there are {len(results)}" if len(results) >= MANY else ""
        found.append(f"the text leaves out the result of {', '.join(unused[:_SHOWN])}{how}")
    return found


def evidence_of(
    state: RunState, results: Sequence[AssignmentState], gaps: Sequence[Gap], also: Sequence[Json] = ()
) -> Evidence:
    """Return what a text about some results may rest on."""
    return Evidence([*map(_found, results), *_given(state.definition.request, gaps), *also], state.created_at.date())


def opening_problems(
    state: RunState, text: str, below: Sequence[Json], numbers: Mapping[tuple[str, str], int], gaps: Sequence[Gap]
) -> list[str]:
    """Return what is wrong with a text that introduces other texts, ``below``, and need not repeat what they say."""
    text = without_own_sources(text)
    evidence = Evidence([*below, *_given(state.definition.request, gaps)], state.created_at.date())
    return [EMPTY] if is_blank(text) else _unfounded(text, evidence, numbers)


def _unfounded(
    text: str, evidence: Evidence, numbers: Mapping[tuple[str, str], int], misplaced: Sequence[str] = ()
) -> list[str]:
    """Return what a text cites, names or states without evidence."""
    found: list[str] = []
    foreign = sorted(cited(CITATION.sub(lambda mark: " " if mark[0].casefold() in evidence.folded else mark[0], text)))
    foreign = [number for number in foreign if number not in numbers.values()]
    if foreign:
        listed = ", ".join(f"[{number}]" for number in sorted(numbers.values())) or "none"
        found.append(f"the text cites [{foreign[0]}], and the sources are: {listed}")
    own = [each for each in named_sources(text) if not evidence.mentions(each)]
    if own:
        found.append(f"the text names {own[0]!r} as a source, and no result does")
    found += misplaced
    invented = evidence.unexplained(CITATION.sub(" ", text))
    if invented:
        found.append(f"the text states {', '.join(invented[:_SHOWN])}, and no result holds that")
    return found


def unknown_names(state: RunState, text: str, results: Sequence[AssignmentState], gaps: Sequence[Gap]) -> list[str]:
    """Return the names of two words and more that a text about some results states, and nothing that it rests on."""
    asked = [each.assignment.name for each in state.assignments.values()]
    evidence = Evidence([*map(_found, results), *_given(state.definition.request, gaps), asked])
    return evidence.unknown_names(text)[:_SHOWN]


def _given(request: str, gaps: Sequence[Gap]) -> list[Json]:
    """What a text may repeat besides results: the request, and what is missing."""
    return [request, [gap.model_dump(mode="json") for gap in gaps]]


def _misplaced(
    text: str, results: Sequence[AssignmentState], numbers: Mapping[tuple[str, str], int], given: Sequence[Json]
) -> list[str]:
    """Return the problem of statements whose citations name other results than the ones that hold them.

    A statement belongs to the citations next to it. It may compare: one of several in the results cited is enough.
    A result without sources cannot be cited.
    """
    of = {result.key: {numbers[source] for source in own_sources([result]) if source in numbers} for result in results}
    if sum(map(bool, of.values())) < 2 or CITATION.search(text) is None:
        return []
    found: list[str] = []
    for part, marks in _cited_parts(text):
        meant = [result for result in results if of[result.key] & marks or not of[result.key]]
        if len(meant) == len(results) or not any(of[result.key] for result in meant):
            continue
        absent = Evidence([*map(_found, meant), *given]).unexplained(part)
        if absent and len(absent) == statements(part):
            elsewhere = Evidence([_found(result) for result in results if result not in meant])
            found += [each for each in absent if not elsewhere.unexplained(each)]
    shown = ", ".join(dict.fromkeys(found[:_SHOWN]))
    return [f"the text cites a source for {shown} that does not hold it"] if found else []


def _cited_parts(text: str) -> Iterator[tuple[str, set[int]]]:
    """Parts of the sentences of a text, between citations, each with the numbers that are cited beside it."""
    for sentence in re.split(r"(?<=[.!?。])\s|\n", re.sub(_MARKS_AFTER_STOP, r"\2\1", text, flags=re.IGNORECASE)):
        groups = list(re.finditer(_MARKS, sentence, re.IGNORECASE))
        before: set[int] = set()
        begin = 0
        for group in groups:
            marks = cited(group[0])
            yield sentence[begin : group.start()], before | marks
            before, begin = marks, group.end()
        if len(groups) == 1 and groups[0].start() <= _LEAD_IN:
            yield sentence[begin:], before


def _found(result: AssignmentState) -> Json:
    """What a result lets a text say."""
    data, subtask = result.data, result.assignment.subtask
    if data is None:
        return ""
    sources = [[source.title, source.url] for source in data.sources]
    return [data.summary, data.raw, result.value, subtask.args if subtask is not None else None, sources]


def _shown_by(result: AssignmentState) -> str:
    """What shows which actions a result reports: its own words, what its tool returned, and the name of its tool."""
    data, subtask = result.data, result.assignment.subtask
    found = [data.summary, data.raw] if data is not None else []
    return str([subtask.tool if subtask is not None else None, *found, result.value])


def _unused(text: str, results: Sequence[AssignmentState]) -> list[str]:
    """The names of the results of which nothing is in a text: none of their own words, figures or sources.

    Nothing can be said of a result without names and figures where the text is in another language.
    """
    said = _words(text)
    if len(results) >= MANY and str(len(results)) in said:
        return []
    words = [_words(_own_text(result)) for result in results]
    among = Counter(word for own in words for word in own)
    sources: Counter[str] = Counter(url for result in results for url in _urls(result))
    place = {url: number for number, url in enumerate(sources, start=1)}
    marks = cited(text)
    particulars = [{word for word in own if among[word] == 1} or own for own in words]
    silent = [
        index
        for index, (result, own) in enumerate(zip(results, particulars, strict=True))
        if own.isdisjoint(said) and own and not any(sources[url] == 1 and place[url] in marks for url in _urls(result))
    ]
    if not silent:
        return []
    shared = any(len(word) > 3 and not word.isdigit() for word in said & among.keys())
    # Results whose summaries are alike differ in their arguments only. A text about all of them may name none of these,
    # but says how many there are, or repeats each.
    by_args = [_by_args(result, own) for result, own in zip(results, particulars, strict=True)]
    named = any(own & said for own, only in zip(particulars, by_args, strict=True) if only)
    alike = Counter(_summary(result) for result, only in zip(results, by_args, strict=True) if only)
    repeated = all(text.casefold().count(summary) >= count for summary, count in alike.items())
    named = named or (alike.total() >= MANY and str(alike.total()) not in said and not repeated)
    return [
        results[index].assignment.name
        for index in silent
        if (named or not by_args[index]) and (shared or any(word[:1].isdigit() for word in particulars[index]))
    ]


def _by_args(result: AssignmentState, particular: set[str]) -> bool:
    """Whether what tells a result from the others is in its arguments only."""
    return particular.isdisjoint(_words(_summary(result)))


def _summary(result: AssignmentState) -> str:
    return result.data.summary.casefold() if result.data is not None else ""


def _own_text(result: AssignmentState) -> str:
    subtask, data = result.assignment.subtask, result.data
    args = " ".join(str(value) for value in subtask.args.values()) if subtask is not None else ""
    return f"{data.summary if data is not None else ''} {args}"


def _urls(result: AssignmentState) -> list[str]:
    return [source.url for source in result.data.sources] if result.data is not None else []


def _words(text: str) -> set[str]:
    """The words of a text, and its figures, rounded as well."""
    found = set(re.findall(r"[^\W\d_]{3,}", text.casefold()))
    for figure in stated(text, labels=True).figures:
        for value, _ in figure.readings:
            found |= {f"{value:.15g}", f"{round(value)}"}
    return found | set(re.findall(r"\d+", text))
