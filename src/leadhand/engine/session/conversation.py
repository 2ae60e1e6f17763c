"""The conversation of an attempt's lineage, rebuilt from the log, and shortened if it exceeds the context window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from leadhand.core.conversation import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from leadhand.core.decide.attempts import TOO_LONG
from leadhand.core.errors import FailureClass
from leadhand.core.ids import place_of
from leadhand.core.secret import has_secret
from leadhand.core.state import Compacted, ModelTurn
from leadhand.core.tool import OF_RUN, CallState, Effect
from leadhand.core.value import Json
from leadhand.core.work_order import resolved
from leadhand.engine.log import RunLog
from leadhand.engine.session.turn import Turn, with_listed_calls
from leadhand.ports import Work

ENDING = frozenset({FailureClass.RATE_LIMITED, FailureClass.LOST})
"""Failures of a call after which the controller retries the attempt; a model could not act on them."""
KEPT = (4_000, 1_000, 250)
"""Characters of a tool result that remain after each compaction; further ones leave out turns."""
LATEST_SHOWN = 4
"""The latest turns, which are not left out of a conversation."""
MOST_IDLE = 3
"""The turns in a row whose calls brought nothing new after which an attempt ends."""
ORDERED_ID = "ordered00"
"""The id of the ordered call in a conversation: nine letters and digits, as Mistral requires. It is the same for all
workers, so that providers reuse the beginning of the prompt."""


ABOUT_SECRETS = (
    "A text such as [secret:sec_0a1b2c3d4e5f] stands for a secret that you cannot see: where a tool needs the secret,"
    " write that text exactly as it is, as an argument or as a part of one."
)
"""The explanation for a model that is shown references to secrets."""


def new_turn(work: Work, number: int, message: AssistantMessage, value: Json = None) -> Turn:
    """Return a reply of a model as a turn, of which no call has a result yet."""
    return Turn(work.key, work.attempt.conversation, number, with_listed_calls(message, work.tools), value)


def ordered_turn(work: Work, tool: str, args: dict[str, Json], number: int = 0, first: int = 0) -> Turn:
    """Return the call that a subtask names, as if a model had made it: turn 0."""
    call = ToolCall(id=ORDERED_ID, name=tool, arguments=args)
    message = AssistantMessage(tool_calls=(call,))
    return Turn(work.key, work.attempt.conversation, number, message, first=first)


async def rebuilt(work: Work, log: RunLog) -> list[Turn]:
    """Return the turns from the log of the lineage, with large payloads loaded.

    Calls of the last turn with failures that are not final are left out: they are made again, with the same key.
    """
    calls, turns = work.lineage.calls, dict[int, Turn]()
    last = place_of(calls[-1].call_id)[0] if calls else 0
    for call in calls:
        number, position = place_of(call.call_id)
        if isinstance(call, ModelTurn):
            if call.asked is None:
                turns[number] = new_turn(work, number, call.message, call.value)
        elif number < last or is_final(work, call):
            if number not in turns:
                subtask = work.step.subtask
                args = resolved(subtask.args, work.needs) if subtask is not None else call.args
                turns[number] = ordered_turn(work, call.tool, args, number)
            turns[number].done[position] = call._replace(raw=await log.unpack(call.raw))
    return [turns[number] for number in sorted(turns)]


def is_final(work: Work, call: CallState) -> bool:
    """Whether a call is not made again when its attempt is continued: it succeeded, or failed for good."""
    failure = call.failure
    if call.question is not None:
        return False
    if failure is None or failure.class_ not in (*ENDING, FailureClass.TRANSIENT):
        return True
    if failure.class_ in ENDING or work.names(call.tool):
        return False
    retries = next((tool.retries for tool in work.definition.tools if tool.name == call.tool), 0)
    return work.tries_of(call.call_id) > retries


def idle_turns(work: Work, turns: Sequence[Turn]) -> int:
    """Return how many turns in a row, up to the last, made calls that brought nothing new.

    Results of polling tools are always new, and so are those of calls with the effect ``once``.
    """
    if len(turns) < MOST_IDLE:
        return 0
    tools = work.definition.tools
    polling = {tool.name for tool in tools if tool.polling}
    seen, idle = set[int](), 0
    for turn in filter(lambda each: each.calls, turns):
        changing = (each.tool in polling or each.effect is Effect.ONCE for each in turn.results)
        is_new = turn.news - seen or any(changing)
        idle = 0 if is_new else idle + 1
        seen |= turn.news
    return idle


# --- what the model is shown -----------------------------------------------------------------------------------------


def messages_of(
    work: Work,
    first: Sequence[Message],
    turns: Sequence[Turn],
    compacted: Compacted,
    objection: Callable[[Turn], str],
) -> tuple[Message, ...]:
    """Return all messages so far, after the ``first``. ``objection`` returns why a reply was not accepted."""
    said: list[Message] = [*first]
    if work.attempt.feedback:
        said.append(UserMessage(text=f"An earlier answer was not accepted: {asked_again(work)}"))
    if compacted.left_out:
        said.append(UserMessage(text=_left_out(work, compacted.left_out)))
    for turn in _shown(turns, compacted):
        said += turn.messages(compacted.keep if turn.number <= compacted.through else None)
        if not turn.message.tool_calls or work.worker.loop == "reply":
            said.append(UserMessage(text=objection(turn)))
    return tuple(said)


def explained(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return messages with what references to secrets are, after the first that has any and is not the model's own."""
    for at, each in enumerate(messages):
        text = each.content if isinstance(each, ToolMessage) else each.text
        if has_secret(text) and not isinstance(each, AssistantMessage):
            end = next((n for n in range(at + 1, len(messages)) if not isinstance(messages[n], ToolMessage)), None)
            return (*messages[:end], UserMessage(text=ABOUT_SECRETS), *(messages[end:] if end is not None else ()))
    return messages


def asked_again(work: Work) -> str:
    """Return why the last attempt was not accepted, as the model reads it. It belongs in no answer."""
    feedback = work.attempt.feedback
    if feedback == TOO_LONG:
        words = max(work.definition.limits.max_output_tokens // 3, 10)
        feedback = f"{feedback}. Write it again in at most {words} words"
    return f"{feedback}. Do not mention this."


def compact(work: Work, turns: Sequence[Turn], now: Compacted) -> Compacted | None:
    """Return how a conversation is shortened further; None if nothing is left to shorten.

    First, tool results are cut, in three steps. Then old turns are left out, half of them at a time.
    """
    shown = _shown(turns, now)
    lengths = ((turn, len(turn.content(position))) for turn in shown for position in turn.done)
    longest = max(
        (min(length, now.keep) if turn.number <= now.through else length for turn, length in lengths), default=0
    )
    for keep in KEPT:
        if longest > keep and keep <= (now.keep or keep):
            return Compacted(turns[-1].number, keep, now.left_out)
    old = [turn.number for turn in shown if turn.number > 0][:-LATEST_SHOWN]
    if not old or work.worker.loop == "reply":
        return None
    return now._replace(left_out=old[(len(old) - 1) // 2])


def _shown(turns: Sequence[Turn], compacted: Compacted) -> list[Turn]:
    return [turn for turn in turns if turn.number > compacted.left_out or turn.number == 0]


def _left_out(work: Work, last: int) -> str:
    """Return the message that stands for the turns that are left out."""
    tools = work.tools.values()
    shows = [tool.name for tool in tools if tool.toolset in OF_RUN and not tool.parameters.get("required")]
    where = f" To see what there is now, call {' or '.join(shows)}." if shows else ""
    return f"Turns 1 to {last} of this conversation are left out, since it exceeded the context window.{where}"


@lru_cache(maxsize=8)
def beginning(instructions: str, facts: str) -> tuple[SystemMessage, UserMessage]:
    """Return the first messages of a conversation, which are often the same for all workers of a run."""
    return SystemMessage(text=instructions), UserMessage(text=facts)
