"""The conversation of an attempt's lineage, rebuilt from the log, and shortened if it exceeds the context window."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from leadhand.core.conversation import AssistantMessage, Message, SystemMessage, ToolCall, UserMessage
from leadhand.core.decide.attempts import TOO_LONG
from leadhand.core.errors import FailureClass
from leadhand.core.state import Compacted, ModelTurn
from leadhand.core.tool import OF_RUN, CallState, Effect
from leadhand.core.value import Json, compact_json
from leadhand.core.work_order import resolved
from leadhand.engine.attempts.conversation_turn import REPEATED, Turn
from leadhand.engine.log import RunLog
from leadhand.ports import Work

ENDING = frozenset({FailureClass.RATE_LIMITED, FailureClass.LOST})
"""Failures of a call after which the controller retries the attempt; a model could not act on them."""
LONGEST_KEPT = 4_000
"""Characters of a tool result that remain after the first compaction; each further one keeps a quarter of them."""
LEAST_KEPT = 200
LATEST_SHOWN = 4
"""The latest turns, which are not left out of a conversation."""
SAME_RESULTS = 2
"""Equal results of one call in a row after which it is not made again."""
MOST_IDLE = 3
"""The turns in a row whose calls brought nothing new after which an attempt ends."""


def parallel_tools(work: Work) -> frozenset[str]:
    """Return the tools of the run whose calls are lists of calls."""
    return frozenset(tool.name for tool in work.definition.tools if tool.parallel)


def is_final(work: Work, call: CallState) -> bool:
    """Whether a call is not made again when its attempt is continued: it succeeded, or failed for good."""
    failure = call.failure
    if failure is None or failure.class_ not in (*ENDING, FailureClass.TRANSIENT):
        return True
    if failure.class_ in ENDING or work.names(call.tool):
        return False
    retries = next((tool.retries for tool in work.definition.tools if tool.name == call.tool), 0)
    return work.tries_of(call.call_id) > retries


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
        tools = work.definition.tools
        self._changing = frozenset(tool.name for tool in tools if tool.polling or tool.effect is Effect.ONCE)
        self._seen: set[str] = set()
        self._read = self._idle = 0

    def compact(self) -> bool:
        """Shorten the conversation further. Return False if nothing is left to shorten.

        First, tool results are cut, in three steps. Then old turns are left out, half of them at a time. At last, the
        results of the latest turns are cut as well.
        """
        shown = [turn for turn in self.turns if self._is_shown(turn)]
        longest = max((len(turn.content(position)) for turn in shown for position in turn.done), default=0)
        through, before, left_out = self.compacted
        last = self.turns[-1].number if self.turns else 0
        keep = before // 4 if before else LONGEST_KEPT
        while keep >= LEAST_KEPT:
            if longest > keep:
                self.compacted = Compacted(last, keep, left_out)
                return True
            keep //= 4
        if (old := [turn.number for turn in shown if turn.number > 0][:-LATEST_SHOWN]) and not self._one_reply:
            self.compacted = Compacted(through, before, old[(len(old) - 1) // 2])
            return True
        if longest > before > 0 and through < last:
            self.compacted = Compacted(last, before, left_out)
            return True
        return False

    @property
    def _one_reply(self) -> bool:
        return self._work.worker.loop == "reply"

    def _is_shown(self, turn: Turn) -> bool:
        return turn.number > self.compacted.left_out or turn.number == 0

    @classmethod
    async def rebuilt(cls, work: Work, log: RunLog) -> Conversation:
        """Return the conversation from the log of the lineage, with large payloads fetched.

        Calls of the last turn with failures that are not final are left out: they are made again, with the same key.
        """
        turns: dict[int, Turn] = {}
        finished: list[CallState] = []
        parallel, subtask = parallel_tools(work), work.step.subtask
        numbers = [_place(call.call_id)[0] for call in work.calls]
        for call, number in zip(work.calls, numbers, strict=True):
            if isinstance(call, ModelTurn) and call.asked is not None:
                continue
            if isinstance(call, ModelTurn):
                cut = work.worker.continues and call.finish_reason == "length" and not call.message.tool_calls
                turns[number] = Turn(number=number, message=call.message, value=call.value, cut=cut, parallel=parallel)
            elif number < numbers[-1] or is_final(work, call):
                finished.append(call)
        for evidence in finished:
            number, position = _place(evidence.call_id)
            if number not in turns:
                args = resolved(subtask.args, work.needs) if subtask is not None else evidence.args
                turns[number] = Turn(number=number, message=ordered_call(evidence.tool, args))
            turns[number].done[position] = evidence._replace(raw=await log.unpack(evidence.raw))
        return cls(work, [turns[number] for number in sorted(turns)])

    def messages(self, objection: Callable[[Turn], str]) -> tuple[Message, ...]:
        """Return all messages so far. ``objection`` is why a reply that ended a turn was not accepted."""
        said: list[Message] = [*_beginning(self._work.instructions, compact_json(self._work.brief))]
        if self._work.attempt.feedback:
            said.append(UserMessage(text=f"An earlier answer was not accepted: {asked_again(self._work)}"))
        through, keep, left_out = self.compacted
        if left_out:
            said.append(UserMessage(text=self._left_out(left_out)))
        for turn in filter(self._is_shown, self.turns):
            said += turn.messages(keep if turn.number <= through else None)
            if not turn.message.tool_calls or self._one_reply:
                said.append(UserMessage(text=objection(turn)))
        return tuple(said)

    def _left_out(self, last: int) -> str:
        """Return the message that stands for the turns that are left out."""
        shows = [
            tool.name
            for tool in self._work.definition.tools
            if tool.name in self._work.tools and tool.toolset in OF_RUN and not tool.parameters.get("required")
        ]
        where = f" To see what there is now, call {' or '.join(shows)}." if shows else ""
        return f"Turns 1 to {last} of this conversation are left out, since it exceeded the context window.{where}"

    def finished(self, through: Turn | None = None) -> list[CallState]:
        """Return the finished tool calls, in order; with ``through``, those of this turn and the ones before it.

        Repeated calls that were not made are left out.
        """
        turns = [turn for turn in self.turns if through is None or turn.number <= through.number]
        done = (turn.done[position] for turn in turns for position in sorted(turn.done))
        return [result for result in done if not _is_refused(result)]

    def is_repeated(self, turn: Turn, position: int) -> bool:
        """Whether the latest results of a call that ``turn`` asks for are the same, so that it is not made again.

        Calls with the effect ``once`` are left to people.
        """
        call = turn.calls[position]
        results = [
            each.content(place)
            for each in self.turns
            for place, done in each.done.items()
            if each.number <= turn.number and _equal(each.calls[place], call) and not _is_refused(done)
            if each is not turn or not done.asks  # what a call of the same reply asked for is not decided yet
        ]
        latest = results[-SAME_RESULTS:]
        return call.name not in self._changing and len(latest) == SAME_RESULTS and len(set(latest)) == 1

    def idle_turns(self) -> int:
        """Return how many turns in a row, up to the last, made calls that brought nothing new.

        A result is new if the same call has not had it before, an error of a child if it is another one than before.
        Results of polling tools are always new, and so are those of calls with the effect ``once``.
        """
        for turn in self.turns[self._read :]:
            found = [turn.news(position) for position in turn.done]
            new = {each for each in found if each} - self._seen
            changing = any(turn.calls[position].name in self._changing for position in turn.done)
            self._seen |= new
            if turn.calls:
                self._idle = 0 if new or changing else self._idle + 1
        self._read = len(self.turns)
        return self._idle

    @property
    def next_number(self) -> int:
        """The number of the next model call."""
        return max([0, *(turn.number for turn in self.turns[-1:])]) + 1

    @property
    def replies(self) -> int:
        """The number of model replies."""
        return sum(1 for turn in self.turns if turn.number > 0)

    @property
    def answers(self) -> int:
        """The number of model replies that are whole, or the end of a text in parts."""
        return sum(1 for turn in self.turns if turn.number > 0 and not turn.cut)


@lru_cache(maxsize=8)
def _beginning(instructions: str, facts: str) -> tuple[SystemMessage, UserMessage]:
    """Return the first messages of a conversation, which are often the same for all workers of a run."""
    return SystemMessage(text=instructions), UserMessage(text=facts)


def _place(call_id: str) -> tuple[int, int]:
    """Return the number of the turn of a call, and its position; of a reply, the position is -1."""
    number, _, position = call_id.rpartition("/t")[2].partition("/c")
    return int(number), int(position or -1)


def _equal(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and one.arguments == other.arguments


def _is_refused(result: CallState) -> bool:
    return result.failure is not None and result.failure.type == REPEATED


ORDERED_ID = "ordered00"
"""The id of the ordered call in a conversation: nine letters and digits, as Mistral requires. It is the same for all
workers, so that providers reuse the beginning of the prompt."""


def ordered_call(tool: str, args: dict[str, Json]) -> AssistantMessage:
    """Return the call that a subtask names, as if a model had made it: turn 0."""
    return AssistantMessage(tool_calls=(ToolCall(id=ORDERED_ID, name=tool, arguments=args),))
