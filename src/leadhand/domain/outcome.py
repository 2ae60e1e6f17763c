"""The outcome of a run: the results behind its answer, their sources, the gaps, and the resulting status."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .advice import ASK_AGAIN, more_steps, next_action
from .citations import as_data, without_own_sources
from .commands import Cited, Outcome
from .counting import subtask_counts
from .errors import HOOK_BLOCKED, HOOK_FAILED, Failure, FailureClass
from .events import RunFinished
from .ordered_calls import written_call
from .run import CitedSource, Gap, RunStatus
from .state import INDETERMINATE, AssignmentState, RunState
from .text import is_blank, late_pattern
from .work_result import VerdictKind

SAMPLE = "Sample data was used."
SUMMARY_LIMIT = 2_000
"""Characters of one summary or reason in :func:`plain_summary`; the run document holds all of it."""


UNSTATED = frozenset({"flow_error", "no_progress"})
"""Types of failures after which results can be missing although no gap names them."""
CHECK_FIRST = "find out what it did before you ask for it again"
"""What a person can do about a gap of an assignment that did something irreversible."""
CHECK = "check it yourself, or have a tool called that shows it"
"""What a person can do about a result that no call proves."""
_WORD = late_pattern(r"\w[\w'’-]*")
_FEWEST_WORDS = 3
"""Words from which on a text cannot have a reason, or what a call returned, by chance."""
_ASKING = late_pattern(r"\b(?:ask|try) (?:again|more|for)\b")


def concluded(state: RunState, outcome: Outcome, failure: Failure | None, *, cancelled: bool = False) -> RunFinished:
    """Return the end of a run: the outcome that its flow states, as far as the evidence supports it."""
    used = [state.assignments[key] for key in dict.fromkeys(outcome.uses) if key in state.assignments]
    results = [each for each in used if may_be_used(each)]
    gaps = all_gaps(state, outcome, failure)
    named = {gap.assignment for gap in gaps}
    gaps += _careful(
        state, [_rejected(state, each) for each in used if not may_be_used(each) and each.key not in named]
    )
    if failure is not None and _acted(state):
        failure = failure.evolve(next_action=_not_repeating(next_action(state, failure)))
    if failure is not None and not gaps and (results or failure.type in (HOOK_BLOCKED, HOOK_FAILED)):
        action = next_action(state, failure)
        gaps.append(
            Gap(name="the request as a whole", class_=failure.class_, reason=failure.message, next_action=action)
        )
    status = RunStatus.FAILED if not results else RunStatus.PARTIAL if gaps else RunStatus.SUCCEEDED
    if cancelled:
        status = RunStatus.CANCELLED
    if status is RunStatus.FAILED and failure is None and not gaps:
        unknown = [key for key in outcome.uses if key not in state.assignments]
        named = f": the flow's outcome uses {unknown[0]!r}, which is not an assignment" if unknown else ""
        failure = Failure.of(f"the answer rests on no result{named}", "no_evidence", FailureClass.INSUFFICIENT)
    return RunFinished(
        status=status,
        number=len(state.answers) + 1,
        answer=_answer(state, outcome.answer, results, gaps, failure),
        value=outcome.value if results else None,
        sources=tuple(sources_of(results) if outcome.sources is None else _cited(outcome.sources, results)),
        gaps=tuple(gaps),
        failure=failure,
        listed=subtask_counts(state),
    )


def _answer(
    state: RunState, text: str, results: Sequence[AssignmentState], gaps: Sequence[Gap], failure: Failure | None
) -> str:
    """The text that people get: what was composed, or else the plain list, with all that it does not say itself.

    Nothing but the gaps can be said where there are no results: a text that does not name them is replaced.
    """
    text = without_own_sources(text)
    text = _labelled("" if is_blank(text) else text, results)
    unnamed = _unnamed(text, gaps)
    if not text or (unnamed and not results):
        text = plain_summary(state, results, gaps)
    elif unnamed:
        shown = {result.key for result in results}
        for heading, doubted in (("Not verified:", True), ("Not answered:", False)):
            named = [gap for gap in unnamed if (gap.assignment in shown or gap.next_action == CHECK) is doubted]
            if doubted and len(named) == 1 and named[0].assignment is None:  # about the answer as a whole
                text = f"{text}\n\n{heading} {named[0].reason} ({named[0].next_action})."
            elif named:
                text = "\n".join([f"{text}\n\n{heading}", *_gap_lines(named)])
    if failure is not None and failure.message not in text and not results and not gaps:
        text += f"\n\nNot answered: {failure.message} ({failure.class_}; {failure.next_action})"
    acts = "\n".join(_acts(state, results, text))
    return f"{text}\n\n{acts}" if acts else text


def _unnamed(text: str, gaps: Sequence[Gap]) -> list[Gap]:
    """Return the gaps that a text does not name, or whose reason it does not give as it is.

    The name may stand anywhere if it is in the words of the gap; if not, in one sentence with the reason. A reason of a
    word or two, such as "closed", says too little to be recognized.
    """
    said = _words(text)
    sentences = map(_words, re.split(r"[.!?]\s|\n", text) if gaps else ())
    each_with_words = [(sentence, frozenset(sentence.split())) for sentence in sentences]

    def is_named(gap: Gap) -> bool:
        name, reason = _words(gap.name), _words(gap.reason)
        if len(reason.split()) < _FEWEST_WORDS or reason not in said:
            return False
        named = set(name.split())
        return name in said or any(named <= words and reason in sentence for sentence, words in each_with_words)

    return [gap for gap in gaps if not is_named(gap)]


def _words(text: str) -> str:
    """The words of a text in lower case, each between two spaces: a phrase is in it as whole words, or not at all."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _acts(state: RunState, results: Sequence[AssignmentState], text: str) -> Iterator[str]:
    """What was done for good and the answer does not say: calls of rejected, failed and dropped assignments, too.

    A text says what a call did only if it uses the assignment's result. What was done twice has to be said twice.
    """
    used = {each.key for each in results}
    words = frozenset(_WORD.findall(text.casefold()))
    calls = [(each, call) for each in state.assignments.values() for call in each.made if call.acted]
    times = Counter(call.said.strip() for _, call in calls)
    lines: list[str] = []
    for assignment, call in calls:
        given, data, said = assignment.assignment.subtask, assignment.data, call.said.strip()
        args = call.args if call.args is not None else given.args if given is not None else {}
        if call.sure and said and assignment.key in used:
            own = _WORD.findall(said.casefold())
            ordered = given is not None and call.tool == given.tool and data is not None and said in data.summary
            values = json.dumps([*args.values()], ensure_ascii=False).casefold()
            particular = {word for word in (*own, *_WORD.findall(values)) if len(word) > 3 or word.isdigit()}
            if len(own) >= _FEWEST_WORDS and text.count(said) >= times[said]:
                continue
            if ordered and times[said] == 1 and not particular.isdisjoint(words):
                continue
        what = said or "done" if call.sure else "it may have happened; its end was not seen"
        lines.append(f"- {written_call(call.tool, args)}: {_shortened(as_data(what))}")
    if lines:
        yield from ["Done for good; leave it out if you ask again:", *lines]


def withheld_answer(state: RunState, failure: Failure) -> str:
    """Return the text of an answer that people do not get: why, and which calls were made for good, by name."""
    lines = [f"- {call.tool} ({each.key})" for each in state.assignments.values() for call in each.made if call.acted]
    text = f"The answer is withheld: {failure.message}."
    return "\n".join([text, "", "Done for good; leave it out if you ask again:", *lines]) if lines else text


def _labelled(answer: str, results: Sequence[AssignmentState]) -> str:
    """Return the answer, with a note if it uses sample data and does not say so."""
    sample = any(each.data is not None and each.data.sample for each in results)
    return f"{answer}\n\n{SAMPLE}" if answer and sample and "sample" not in answer.lower() else answer


def may_be_used(assignment: AssignmentState) -> bool:
    """Whether an answer may use a result: it is completed, not superseded, and no review rejected it."""
    rejected = assignment.verdict is not None and assignment.verdict.verdict is not VerdictKind.ACCEPT
    return assignment.ok and assignment.data is not None and assignment.superseded_by is None and not rejected


def sources_of(results: Iterable[AssignmentState]) -> list[CitedSource]:
    """Return the sources of some results, without duplicates; the first is cited as [1]."""
    sources: dict[tuple[str, str], CitedSource] = {}
    for result in results:
        for source in result.data.sources if result.data is not None else ():
            sources.setdefault(
                (source.title, source.url),
                CitedSource(title=source.title, url=source.url, event_id=result.event_ids[-1]),
            )
    return list(sources.values())


def _cited(sources: Iterable[Cited], results: Sequence[AssignmentState]) -> Iterator[CitedSource]:
    """The sources that a flow names, in its order, each with the result that has it."""
    events = {result.key: result.event_ids[-1] for result in results}
    for title, url, assignment in sources:
        if assignment in events:
            yield CitedSource(title=title, url=url, event_id=events[assignment])


def own_sources(results: Iterable[AssignmentState]) -> list[tuple[str, str]]:
    """Return the sources of some results, by title and address, without duplicates."""
    found = {(s.title, s.url): None for result in results if result.data is not None for s in result.data.sources}
    return list(found)


def source_numbers(sources: Sequence[CitedSource]) -> dict[tuple[str, str], int]:
    """Return the citation number of each source, by title and address."""
    return {(source.title, source.url): number for number, source in enumerate(sources, start=1)}


# --- gaps ------------------------------------------------------------------------------------------------------------


def all_gaps(state: RunState, outcome: Outcome, failure: Failure | None = None) -> list[Gap]:
    """Return the gaps that the flow names, and one for every failed assignment that counts and is not waived."""
    named = {gap.assignment: gap for gap in outcome.gaps if gap.assignment is not None}
    found: list[Gap] = []
    for key, assignment in state.assignments.items():
        if key in named:
            found.append(named[key])
        elif assignment.counts and assignment.superseded_by is None and key not in outcome.waived:
            if not assignment.ok:
                found.append(gap_of(state, assignment, failure))
            elif assignment.doubt and may_be_used(assignment):
                reason = f"{assignment.doubt}: unverified"
                found.append(gap(assignment, FailureClass.INSUFFICIENT, reason, CHECK))
    return _careful(state, [*found, *(gap for gap in outcome.gaps if gap.assignment is None)])


def _careful(state: RunState, gaps: list[Gap]) -> list[Gap]:
    """The gaps with advice that repeats nothing irreversible."""
    if not _acted(state):
        return gaps
    found: list[Gap] = []
    for each in gaps:
        about = state.assignments.get(each.assignment or "")
        unseen = about is not None and about.failure is not None and about.failure.type == INDETERMINATE
        acted = about is not None and about.acted and not about.accepted and not unseen
        advice = each.next_action if unseen else _not_repeating(each.next_action)
        found.append(each.evolve(next_action=CHECK_FIRST if acted else advice))
    return found


def _acted(state: RunState) -> bool:
    return any(call.acted for assignment in state.assignments.values() for call in assignment.made)


def _not_repeating(action: str) -> str:
    return f"{action}, without what is done already" if _ASKING.search(action) else action


def gap_of(state: RunState, assignment: AssignmentState, ending: Failure | None = None) -> Gap:
    """Return the gap of an assignment that did not succeed; ``ending`` is why the run ends, if it ends early."""
    if assignment.failure is not None:
        failure = assignment.failure
        return gap(assignment, failure.class_, failure.message, next_action(state, failure))
    if assignment.verdict is not None and assignment.verdict.verdict is VerdictKind.DROP:
        reason = assignment.verdict.reason or "the lead dropped it"
        return gap(assignment, FailureClass.INSUFFICIENT, reason, more_steps(state))
    if state.cancel_by is not None:
        reason = f"the run was cancelled by {state.cancel_by} before it started"
        return gap(assignment, FailureClass.REJECTED, reason, ASK_AGAIN)
    cause = used_up(state) or ending
    if cause is None:
        return gap(assignment, FailureClass.EXHAUSTED, "it was not carried out", ASK_AGAIN)
    reason = f"it was not started: {cause.message}"
    return gap(assignment, FailureClass.EXHAUSTED, reason, next_action(state, cause))


def gap(assignment: AssignmentState, class_: FailureClass, reason: str, action: str) -> Gap:
    """Return a gap for one assignment."""
    return Gap(
        work_order_id=assignment.order or None,
        subtask_index=assignment.position if assignment.order else None,
        assignment=assignment.key,
        name=assignment.assignment.name,
        class_=class_,
        reason=reason,
        next_action=action,
    )


def used_up(state: RunState) -> Failure | None:
    """Return the failure of the first assignment that a limit ended, None if no limit did."""
    failures = (assignment.failure for assignment in state.assignments.values())
    return next((each for each in failures if each is not None and each.class_ is FailureClass.EXHAUSTED), None)


def _rejected(state: RunState, assignment: AssignmentState) -> Gap:
    """Return the gap of a result that the flow uses although the evidence does not support it."""
    if not assignment.ok:
        return gap_of(state, assignment)
    reason = assignment.verdict.reason if assignment.verdict is not None else ""
    return gap(assignment, FailureClass.INSUFFICIENT, reason or "the review rejected the result", more_steps(state))


# --- in plain words --------------------------------------------------------------------------------------------------


def plain_summary(state: RunState, results: Sequence[AssignmentState], gaps: Sequence[Gap]) -> str:
    """Return the answer as a plain list of results and gaps, for runs in which no model composed one."""
    numbers = source_numbers(sources_of(results))
    named = {each.assignment: each for each in gaps if each.assignment is not None}
    found: list[str] = []
    unreviewed: list[str] = []
    doubts = [named[result.key] for result in results if result.data is not None and result.key in named]
    # All have the same cause, unless parts of an order were reviewed separately.
    cause = f": {_shortened(doubts[0].reason)}" if len({each.reason for each in doubts}) == 1 else ""
    for result in results:
        data = result.data
        if data is None:
            continue
        cited = "".join(f" [{numbers[source.title, source.url]}]" for source in data.sources)
        sample = " (sample data)" if data.sample else ""
        text = _shortened(as_data(data.summary), f"leadhand runs show {state.run_id} --json")
        doubt = named.get(result.key)
        if doubt is None:
            found.append(f"- {text}{sample}{cited}")
        else:
            mark = "unverified" if cause else f"unverified: {_shortened(doubt.reason)}"
            unreviewed.append(f"- {result.assignment.name}: {text}{sample} ({mark}){cited}")
    shown = {result.key for result in results}
    missing = [each for each in gaps if each.assignment not in shown]
    parts: list[list[str]] = []
    if state.cancel_by is not None:
        parts.append([f"The run was cancelled by {state.cancel_by}."])
    if found:
        parts.append(found)
    if unreviewed:
        advice = "; ".join(dict.fromkeys(each.next_action for each in doubts))
        parts.append([f"Found, but not verified{cause} ({advice}).", *unreviewed])
    if missing:
        heading = "Not answered:" if found or unreviewed else "No part of the request could be answered:"
        parts.append([heading, *_gap_lines(missing)])
    if not (found or unreviewed or missing):
        parts.append(["No part of the request could be answered."])
    return "\n\n".join("\n".join(lines) for lines in parts)


def _gap_lines(gaps: Iterable[Gap]) -> Iterator[str]:
    """The gaps, a line each; those with the same reason share one."""
    same: dict[tuple[str, str, str], list[str]] = {}
    for each in gaps:
        same.setdefault((each.reason, each.class_, each.next_action), []).append(each.name)
    for (reason, class_, action), names in same.items():
        yield f"- {', '.join(names)}: {_shortened(reason)} ({class_}; {action})"


def _shortened(text: str, where: str = "") -> str:
    if len(text) <= SUMMARY_LIMIT:
        return text
    rest = f", see {where}" if where else ""
    return f"{text[:SUMMARY_LIMIT].rstrip()}… ({len(text):,} characters in all{rest})"
