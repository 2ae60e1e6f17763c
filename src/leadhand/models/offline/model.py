"""The Models port, answered by rules: planning, reviewing, composing, working, told apart by what a request wants."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

from leadhand.domain.conversation import AssistantMessage, ModelProfile, ModelReply, ModelRequest, ToolCall
from leadhand.domain.errors import Failure
from leadhand.domain.limits import Usage
from leadhand.ports import ModelError

from .briefs import Turn, read_turn
from .composing import BYLINE, compose
from .planning import plan
from .reviewing import review
from .working import Wish, work

NAME = "offline"
WINDOW = 1_000_000

_WORD = re.compile(r"\s*\S+\s*")


class OfflineModels:
    """The built-in model ``offline``: rule-based, deterministic, free, and it says so in every answer.

    It understands English questions about weather and directions, and tools that a request speaks of by name. It goes
    by the schema that is asked for and by the brief, never by the words of the instructions. It counts one request and
    no tokens, for it uses none.
    """

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Answers at once. Text goes to ``on_text`` word by word. Raises :class:`ModelError` (``unavailable``) for a
        structured answer it has no rules for."""
        turn = read_turn(request)
        if request.output is not None:
            value = self._structured(request.output.name, turn)
            return _reply(AssistantMessage(text=json.dumps(value, ensure_ascii=False)), value=value)
        answer = self._free(request, turn)
        if isinstance(answer, Wish):
            call = ToolCall(
                id=f"call_{turn.calls}",
                name=answer.tool,
                arguments=answer.args,
                raw=json.dumps(answer.args, ensure_ascii=False),
            )
            return _reply(AssistantMessage(tool_calls=(call,)), finish_reason="tool_calls")
        if on_text is not None:
            for word in _WORD.findall(answer):
                on_text(word)
                await asyncio.sleep(0)  # whoever watches sees it grow, and nobody waits for a long answer
        return _reply(AssistantMessage(text=answer))

    def profile(self, model: str) -> ModelProfile:
        """Free, with a window no conversation fills."""
        return ModelProfile(name=model, window=WINDOW, input_nanousd=0, output_nanousd=0, free=True)

    async def aclose(self) -> None:
        """Nothing is held open."""

    def _structured(self, name: str, turn: Turn) -> dict[str, Any]:
        brief = turn.brief or {}
        if name == "plan":
            return plan(brief, turn.refused)
        if name == "review":
            return review(brief)
        raise ModelError(
            Failure.model_validate(
                {
                    "message": f"the built-in offline model has no rules for a structured answer named {name!r}",
                    "type": "no_rules",
                    "class": "unavailable",
                    "next_action": "choose a model with --model",
                }
            )
        )

    def _free(self, request: ModelRequest, turn: Turn) -> str | Wish:
        match (turn.brief or {}).get("task"):
            case "compose":
                return compose(turn.brief or {})
            case "work":
                return work(turn.brief or {}, turn.results, request.tools)
            case _:
                return (
                    "This is Leadhand's built-in rule-based model. It cannot hold a conversation: it plans, reviews "
                    "and answers requests about weather and directions. Choose a model with --model for anything else."
                    f"\n\n{BYLINE}"
                )


def _reply(message: AssistantMessage, *, value: Any = None, finish_reason: str = "stop") -> ModelReply:
    return ModelReply(
        message=message,
        value=value,
        usage=Usage(requests=1, input_tokens=0, output_tokens=0, nanousd=0),
        finish_reason=finish_reason,
        model=NAME,
    )
