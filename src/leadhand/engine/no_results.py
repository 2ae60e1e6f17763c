"""Say why an attempt ends without a result."""

from __future__ import annotations

from leadhand.engine.conversation import MOST_IDLE, Conversation
from leadhand.engine.conversation_turn import Turn


def no_news(turn: Turn) -> str:
    """Return why an attempt ends whose latest turns brought nothing new."""
    failed = [result.failure.message for result in turn.done.values() if result.failure is not None]
    why = f": {failed[-1]}" if failed else ""
    return f"the calls of the worker's last {MOST_IDLE} turns brought nothing new{why}"


def no_result(conversation: Conversation) -> str:
    """Return that the turns are used up, with the last call that failed, if one did."""
    turns = conversation.replies
    done = (turn.done[at] for turn in reversed(conversation.turns) for at in sorted(turn.done, reverse=True))
    errors = (f"; the last error: {each.tool}: {each.failure.message}" for each in done if each.failure is not None)
    return f"no result after {turns:,} {'turn' if turns == 1 else 'turns'}{next(errors, '')}"
