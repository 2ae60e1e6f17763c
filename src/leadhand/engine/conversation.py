"""The conversation of an attempt's lineage, rebuilt from the log, and shortened if it exceeds the context window."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

from leadhand.domain.asks import Delegate
from leadhand.domain.conversation import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from leadhand.domain.decide.attempts import TOO_LONG
from leadhand.domain.errors import FailureClass
from leadhand.domain.evolve.calls import CHILD_FAILED
from leadhand.domain.state import ModelTurn
from leadhand.domain.tool import TOOL_ERROR, Effect, ToolResult
from leadhand.domain.value import Json, compact_json, is_object, list_of, object_of, text_of
from leadhand.engine.log import RunLog
from leadhand.ports import Work

PASSING = frozenset({FailureClass.TRANSIENT, FailureClass.RATE_LIMITED, FailureClass.LOST})
"""Failures of a call after which the controller retries the attempt; a model could not fix them."""
LONGEST_KEPT = 4_000
"""Characters of a tool result that remain after the first compaction; each further one keeps a quarter of them."""
LEAST_KEPT = 200
_TO_THE_MODEL = re.compile(
    r"\b(?:an earlier answer was not accepted|that was not accepted:|that cannot be used:|do not mention this\b)",
    re.IGNORECASE,
)
SAME_RESULTS = 2
"""Equal results of one call in a row after which it is not made again."""
REPEATED = "repeated_call"
"""The type of failure of a call that was not made, and of an attempt that keeps asking for one."""
MOST_REPEATED = 2
"""How often a worker asks for such a call until its attempt ends."""
BUDGET = "tool_budget"
"""The type of failure of a call that was not made because no calls are left."""
MOST_IDLE = 3
"""The turns in a row whose calls brought nothing new after which an attempt ends."""

PLAIN_FACTS = frozenset({"goal", "request", "today", "subtask"})
"""The facts of a subtask that repairs nothing and needs no results."""


def content_of(result: ToolResult, keep: int | None = None) -> str:
    """Return the result of a call as the model sees it: JSON, cut after ``keep`` characters."""
    whole = _content(result)
    if keep is None or len(whole) <= keep:
        return whole
    note = f"shortened: {len(whole)} characters in all, too many for this conversation"
    return json.dumps({"note": note, "beginning": whole[:keep]}, ensure_ascii=False)


def _content(result: ToolResult) -> str:
    failure, raw = result.failure, result.raw
    if failure is not None:
        error = {"isError": True, "message": failure.message}
        own = failure.type in (TOOL_ERROR, CHILD_FAILED)  # the words of the tool, or of another worker
        return compact_json(error if own else {**error, "class": failure.class_.value})
    if is_object(raw) and isinstance(raw.get("isError"), bool):
        return compact_json(raw)
    tasks = sum(isinstance(ask, Delegate) for ask in result.asks)
    if tasks and result.summary is None and is_object(raw):  # the structured answers of other workers
        return compact_json(_answer(raw) if tasks == 1 else {key: _answer(each) for key, each in raw.items()})
    fields = {"summary": None if _repeats(result.summary, raw) else result.summary, "raw": raw}
    if result.sources:
        fields["sources"] = [source.model_dump() for source in result.sources]
    if result.artifacts:
        fields["artifacts"] = result.artifacts
    if result.sample:
        fields["sample"] = True
    return compact_json({key: value for key, value in fields.items() if value is not None})


def _repeats(summary: str | None, raw: Json) -> bool:
    """Whether a summary only repeats the data."""
    is_json = summary is not None and summary[:1] in ("{", "[")
    return summary is not None and summary == (compact_json(raw) if is_json else raw)


def _answer(value: Json) -> Json:
    """Return the answer of another worker without the passages that code recorded with it."""
    if not is_object(value):
        return value
    return {key: each for key, each in value.items() if key != "passages" and each is not None}


@dataclass(slots=True)
class Turn:
    """One reply of the model (or, as turn 0, the call that the subtask itself names), and the results of its calls.

    ``done`` are the results of its calls by position, ``refused`` the positions of those that were not made.
    ``calls`` are its calls in one flat list, whose positions number them: a call of one of the ``parallel`` tools is
    replaced by the calls that it lists. ``outer`` is, for each of them, the parallel call that lists it, if any;
    ``spans`` are the positions of each call of the message. ``objection`` is the message to the model if the reply was
    not accepted; "" until it is needed. ``first`` is the number of its first call.
    """

    number: int
    message: AssistantMessage
    value: Json = None
    done: dict[int, ToolResult] = field(default_factory=dict[int, ToolResult])
    refused: set[int] = field(default_factory=set[int])
    objection: str = ""
    first: int = 0
    parallel: InitVar[frozenset[str]] = frozenset()
    calls: tuple[ToolCall, ...] = field(init=False)
    outer: tuple[ToolCall | None, ...] = field(init=False)
    spans: tuple[range, ...] = field(init=False)

    def __post_init__(self, parallel: frozenset[str]) -> None:
        made: list[tuple[ToolCall, ToolCall | None]] = []
        spans: list[range] = []
        for call in self.message.tool_calls:
            first, listed = len(made), _listed_calls(call) if call.name in parallel else []
            made += [(inner, call) for inner in listed] or [(call, None)]
            spans.append(range(first, len(made)))
        self.calls, self.outer, self.spans = tuple(each for each, _ in made), tuple(by for _, by in made), tuple(spans)

    @property
    def said(self) -> AssistantMessage:
        """Return the message of the model; a structured answer is written as JSON."""
        if self.value is None or self.message.text or self.message.tool_calls:
            return self.message
        return self.message.model_copy(update={"text": json.dumps(self.value, ensure_ascii=False)})

    def repeats_feedback(self, brief: Json) -> bool:
        """Whether the text repeats a message to the model about an answer that was not accepted."""
        return any(found[0] not in compact_json(brief) for found in _TO_THE_MODEL.finditer(self.message.text))


def _listed_calls(call: ToolCall) -> list[ToolCall]:
    """Return the calls that a call of a parallel tool lists; [] if its arguments are not such a list."""
    found: list[ToolCall] = []
    for number, each in enumerate(list_of((call.arguments or {}).get("calls"))):
        listed = object_of(each)
        name, args = text_of(listed.get("tool")), listed.get("args", {})
        found.append(ToolCall(id=f"{call.id}.{number}", name=name, arguments=args if is_object(args) else None))
    return found


def parallel_tools(work: Work) -> frozenset[str]:
    """Return the tools of the run whose calls are lists of calls."""
    return frozenset(tool.name for tool in work.definition.tools if tool.parallel)


def asked_again(work: Work) -> str:
    """Return why the last attempt was not accepted, as the model reads it. It belongs in no answer."""
    feedback = work.attempt.feedback
    if feedback == TOO_LONG:
        words = max(work.definition.limits.max_output_tokens // 3, 10)
        feedback = f"{feedback}. Write it again in at most {words} words"
    return f"{feedback}. Do not mention this."


class Conversation:
    """The turns of an attempt's lineage. All of it comes from the log."""

    def __init__(self, work: Work, turns: list[Turn]) -> None:
        self._work = work
        self.turns = turns
        self.compacted = work.compacted
        """The last turn whose tool results are shortened (-1: none), and their length in characters."""
        tools = work.definition.tools
        self._changing = frozenset(tool.name for tool in tools if tool.polling or tool.effect is Effect.ONCE)
        self._seen: set[str] = set()
        self._read = self._idle = 0

    def compact(self) -> bool:
        """Shorten tool results further. Return False if nothing is left to shorten."""
        keep = self.compacted[1] // 4 if self.compacted[1] else LONGEST_KEPT
        while keep >= LEAST_KEPT:
            if any(len(content_of(done)) > keep for done in self.finished()):
                self.compacted = (self.turns[-1].number, keep)
                return True
            keep //= 4
        return False

    @classmethod
    async def rebuilt(cls, work: Work, log: RunLog) -> Conversation:
        """Return the conversation from the log of the lineage, with large payloads fetched.

        Calls with temporary failures are left out: they are made again, with the same key.
        """
        turns: dict[int, Turn] = {}
        finished: list[ToolResult] = []
        parallel = parallel_tools(work)
        for call in work.calls:
            if isinstance(call, ModelTurn):
                number = int(call.call_id.rpartition("/t")[2])
                turns[number] = Turn(number=number, message=call.message, value=call.value, parallel=parallel)
            elif call.failure is None or call.failure.class_ not in PASSING:
                finished.append(call)
        for evidence in finished:
            number, position = (int(part) for part in evidence.call_id.rpartition("/t")[2].split("/c"))
            if number not in turns:
                turns[number] = Turn(number=number, message=ordered_call(evidence.tool, evidence.args))
            turns[number].done[position] = evidence._replace(raw=await log.unpack(evidence.raw))
        return cls(work, [turns[number] for number in sorted(turns)])

    def messages(self, objection: Callable[[Turn], str]) -> tuple[Message, ...]:
        """Return all messages so far. ``objection`` is why a reply that ended a turn was not accepted."""
        said: list[Message] = [
            SystemMessage(text=self._work.instructions),
            UserMessage(text=compact_json(self._facts())),
        ]
        if self._work.attempt.feedback:
            said.append(UserMessage(text=f"An earlier answer was not accepted: {asked_again(self._work)}"))
        through, keep = self.compacted
        for turn in self.turns:
            kept = keep if turn.number <= through else None
            said.append(turn.said)
            for call, span in zip(turn.message.tool_calls, turn.spans, strict=True):
                contents = [content_of(turn.done[position], kept) for position in span]
                ok = any(turn.done[position].ok for position in span)
                content = contents[0] if turn.outer[span.start] is None else f"[{','.join(contents)}]"
                said.append(ToolMessage(call_id=call.id, name=call.name, content=content, ok=ok))
            if not turn.message.tool_calls or self._work.role.loop == "reply":
                said.append(UserMessage(text=objection(turn)))
        return tuple(said)

    def _facts(self) -> Mapping[str, Any]:
        """Return the facts of the brief that the model is shown.

        Beside the call that the subtask names, the goal is enough: the facts are then the same for all workers of a
        run, so that providers reuse the beginning of the prompt. Other workers receive all other facts.
        """
        brief, subtask = self._work.brief, self._work.assignment.subtask
        if subtask is None:
            return brief
        done = self.turns[0].done.get(0) if self.turns and not self.turns[0].number else None
        plain = not subtask.expected_output and "goal" in brief and brief.keys() <= PLAIN_FACTS
        called = done is not None and done.ok and plain
        return {name: value for name, value in brief.items() if (name == "goal") is called}

    def finished(self, through: Turn | None = None) -> list[ToolResult]:
        """Return the finished tool calls, in order; with ``through``, those of this turn and the ones before it.

        Repeated calls that were not made are left out.
        """
        turns = [turn for turn in self.turns if through is None or turn.number <= through.number]
        done = (turn.done[position] for turn in turns for position in sorted(turn.done))
        return [result for result in done if not _is_refused(result)]

    def repeated(self, turn: Turn, position: int) -> int:
        """Return how often a call of ``turn`` was asked for although its result did not change: 0 unless it is refused.

        That is the case once its latest results were the same. Calls with the effect ``once`` are left to people.
        """
        call = turn.calls[position]
        if call.name in self._changing:
            return 0
        refused = 1
        results: list[str] = []
        for each in self.turns:
            if each.number > turn.number:
                break
            made = [done for place, done in each.done.items() if _equal(each.calls[place], call)]
            refused += any(_is_refused(done) for done in made if each is not turn)
            # What a call of the same reply asked for is not decided yet, so its result is not final.
            final = [done for done in made if not _is_refused(done) and not (each is turn and done.asks)]
            results += map(content_of, final)
        latest = results[-SAME_RESULTS:]
        return refused if len(latest) == SAME_RESULTS and len(set(latest)) == 1 else 0

    def idle_turns(self) -> int:
        """Return how many turns in a row, up to the last, made calls that brought nothing new.

        A result is new if the same call has not had it before, an error of a child if it is another one than before.
        Results of polling tools are always new, and so are those of calls with the effect ``once``.
        """
        for turn in self.turns[self._read :]:
            found = [self._news(turn, position) for position in turn.done]
            new = {each for each in found if each} - self._seen
            changing = any(turn.calls[position].name in self._changing for position in turn.done)
            self._seen |= new
            if turn.calls:
                self._idle = 0 if new or changing else self._idle + 1
        self._read = len(self.turns)
        return self._idle

    def _news(self, turn: Turn, position: int) -> str:
        """Return what a call brought, in short; "" if it was refused because it would bring nothing."""
        call, done = turn.calls[position], turn.done[position]
        if done.failure is not None and done.failure.type in (REPEATED, BUDGET):
            return ""
        args = None if done.failure is not None and done.failure.type == CHILD_FAILED else call.arguments
        written = f"{call.name} {json.dumps(args, sort_keys=True)} {content_of(done)}"
        return hashlib.sha256(written.encode()).hexdigest()

    @property
    def replies(self) -> int:
        """The number of model replies."""
        return sum(1 for turn in self.turns if turn.number > 0)


def _equal(one: ToolCall, other: ToolCall) -> bool:
    return (one.name, one.arguments) == (other.name, other.arguments)


def _is_refused(result: ToolResult) -> bool:
    return result.failure is not None and result.failure.type == REPEATED


ORDERED_ID = "ordered00"
"""The id of the ordered call in a conversation: nine letters and digits, as Mistral requires. It is the same for all
workers, so that providers reuse the beginning of the prompt."""


def ordered_call(tool: str, args: dict[str, Json]) -> AssistantMessage:
    """Return the call that a subtask names, as if a model had made it: turn 0."""
    return AssistantMessage(tool_calls=(ToolCall(id=ORDERED_ID, name=tool, arguments=args),))
