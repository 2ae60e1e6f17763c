"""Checks of the text that people get: it uses every result, cites what is there, and states what evidence explains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from leadhand.domain.citations import CITATION, cited, without_own_sources
from leadhand.domain.explaining import Evidence
from leadhand.domain.figures import stated
from leadhand.domain.run import Gap
from leadhand.domain.state import AssignmentState, RunState
from leadhand.domain.text import error_in, is_blank
from leadhand.domain.value import Json

MANY = 5
"""Results from which on a text may name their number instead of each."""
_SHOWN = 5


def text_problems(
    state: RunState, text: str, results: Sequence[AssignmentState], numbers: Collection[int], gaps: Sequence[Gap] = ()
) -> list[str]:
    """Return what is wrong with a text about some results, one sentence each.

    ``numbers`` are those of the sources that it may cite, ``gaps`` what it may say is missing.
    """
    text = without_own_sources(text)
    if is_blank(text):
        return ["the text is empty"]
    given: list[Json] = [state.definition.request, [gap.model_dump(mode="json") for gap in gaps]]
    evidence = Evidence([*map(_found, results), *given], state.created_at.date())
    error = error_in(text)
    if error and results and not gaps and error.casefold() not in evidence.folded:
        return [f"the text is an error: {error}"]
    found: list[str] = []
    foreign = sorted(cited(CITATION.sub(lambda mark: " " if mark[0].casefold() in evidence.folded else mark[0], text)))
    foreign = [number for number in foreign if number not in numbers]
    if foreign:
        listed = ", ".join(f"[{number}]" for number in sorted(numbers)) or "none"
        found.append(f"the text cites [{foreign[0]}], and the sources are: {listed}")
    invented = evidence.unexplained(CITATION.sub(" ", text))
    if invented:
        found.append(f"the text states {', '.join(invented[:_SHOWN])}, and no result holds that")
    unused = _unused(text, results)
    if unused:
        found.append(f"the text leaves out the result of {', '.join(unused[:_SHOWN])}")
    return found


def _found(result: AssignmentState) -> Json:
    """What a result lets a text say."""
    data, subtask = result.data, result.assignment.subtask
    if data is None:
        return ""
    sources = [[source.title, source.url] for source in data.sources]
    return [data.summary, data.raw, result.value, subtask.args if subtask is not None else None, sources]


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
    # Results whose summaries are alike differ in their arguments only. A text about all of them may name none of these.
    by_args = [_by_args(result, own) for result, own in zip(results, particulars, strict=True)]
    named = any(own & said for own, only in zip(particulars, by_args, strict=True) if only)
    return [
        results[index].assignment.name
        for index in silent
        if (named or not by_args[index]) and (shared or any(word[:1].isdigit() for word in particulars[index]))
    ]


def _by_args(result: AssignmentState, particular: set[str]) -> bool:
    """Whether what tells a result from the others is in its arguments only."""
    return particular.isdisjoint(_words(result.data.summary if result.data is not None else ""))


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
