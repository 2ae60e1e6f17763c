"""The Models port by rules: those of each flow for its workers, and the facts for workers without a rule."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from leadhand.core.conversation import AssistantMessage, ToolCall, ToolMessage, UserMessage
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.limits import Usage
from leadhand.core.tool import GIVE_UP
from leadhand.core.value import fitting, list_of, object_of, text_of
from leadhand.flows.flow import fault_of
from leadhand.flows.offline.calls import Calls
from leadhand.flows.offline.rule import Call, OfflineRequest, OfflineRule, Reply, Rules, reported, shape
from leadhand.flows.shaping import SHAPE
from leadhand.flows.work_order.offline import RULES
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

_OF_ORDERS = {"work": RULES["work"]}
"""The rules for the workers of work orders, which every flow can issue."""
_WORD = re.compile(r"\s*\S+\s*")


class OfflineModels:
    """The built-in model ``offline``: rule-based, deterministic, free, and it says so in every answer.

    ``rules`` returns the offline rules of a flow by its name. The rule for its worker answers a request, else the
    facts do that fill the arguments of a worker's only tool or the fields of its schema, or a request for that tool.
    Anything else fails with a reason. A call counts as one request without tokens.
    """

    def __init__(self, rules: Callable[[str], Sequence[Rules]] = lambda _flow: ()) -> None:
        self._rules = rules

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Answer at once; ``on_text`` gets text word by word. Raises :class:`ModelError` (``unavailable``) for a worker
        without a rule."""
        facts, seen = _read(request)
        built_in = RULES if request.flow in ("", "work-order") else _OF_ORDERS
        known = (*self._rules(request.flow), built_in, {SHAPE: shape})
        rules = [rules[seen.worker] for rules in known if seen.worker in rules]
        found = (_ruled(rule, facts, seen) for rule in (*rules, _answer))
        said = next((reply for reply in found if reply is not None), None)
        if said is None:
            message = f"the built-in rule-based model has no rule for the worker {seen.worker!r}"
            how = "start another run with a model: leadhand run --model NAME"
            raise ModelError(Failure.of(message, "no_rules", FailureClass.UNAVAILABLE, how))
        if isinstance(said, Call):
            written = json.dumps(said.args, ensure_ascii=False)
            calls = sum(isinstance(message, ToolMessage) for message in request.messages)
            call = ToolCall(id=f"call_{calls}", name=said.tool, arguments=said.args, raw=written)
            message = AssistantMessage(tool_calls=(call,))
        else:
            message = AssistantMessage(text=said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))
        if on_text is not None and isinstance(said, str):
            for word in _WORD.findall(said):
                on_text(word)
                await asyncio.sleep(0)  # a reader sees the text grow, without long waits
        return ModelReply(
            message=message,
            value=said if isinstance(said, dict) else None,
            usage=Usage(requests=1, input_tokens=0, output_tokens=0, nanousd=0),
            finish_reason="tool_calls" if message.tool_calls else "stop",
            model="offline",
        )

    def profile(self, model: str) -> ModelProfile:
        """Return the profile of a free model with a very large context window."""
        return ModelProfile(name=model, window=1_000_000, input_nanousd=0, output_nanousd=0, free=True)

    async def aclose(self) -> None:
        """Do nothing: there are no open resources."""


def _ruled(rule: OfflineRule, facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Return what a flow's rule answers. Raises :class:`ModelError` for whatever it raises: it is user code."""
    try:
        said = rule(facts, request)
        return fitting(Call if isinstance(said, Call) else str | dict[str, Any] | None, said)
    except (Exception, SystemExit) as error:
        name = getattr(rule, "__qualname__", type(rule).__qualname__)
        message = fault_of(f"the flow's offline rule {name} for the worker {request.worker!r}", error)
        advice = "correct the rule in the flow's offline attribute"
        raise ModelError(Failure.of(message, "flow_error", FailureClass.UNAVAILABLE, advice)) from error


def _read(request: ModelRequest) -> tuple[dict[str, Any], OfflineRequest]:
    """The facts of a request (the first user message, as JSON or as a text named ``request``), and its other parts."""
    users = [message.text for message in request.messages if isinstance(message, UserMessage)]
    facts: dict[str, Any] = {"request": users[0]} if users else {}
    with suppress(IndexError, ValueError, RecursionError):  # it can be plain text
        facts = object_of(json.loads(users[0])) or facts
    asks_for = request.output.name if request.output is not None else str(facts.get("task", ""))
    turns = [at for at, message in enumerate(request.messages) if getattr(message, "tool_calls", ())]
    latest = request.messages[turns[-1] :] if turns else ()
    return facts, OfflineRequest(
        worker=request.worker or asks_for,
        tools=request.tools,
        schema=request.output.schema_ if request.output is not None else None,
        results=tuple(message for message in latest if isinstance(message, ToolMessage)),
        messages=request.messages,
    )


def _answer(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Answer for any worker if the facts are sufficient, else return None.

    A structured answer needs all its required fields among the facts. The result of a worker's only tool is the answer.
    """
    if request.schema is not None:
        required = list_of(request.schema.get("required"))
        fields = {name: facts[name] for name in object_of(request.schema.get("properties")) if name in facts}
        return fields if required and fields.keys() >= set(required) else None
    if request.results:
        return reported(request)
    tools = [tool for tool in request.tools if tool.name != GIVE_UP]
    if len(tools) != 1:
        return None
    (tool,) = tools
    given = {name: facts[name] for name in object_of(tool.parameters.get("properties")) if name in facts}
    if tool.required and tool.required <= given.keys():
        return Call(tool.name, given)
    calls = Calls(text_of(facts.get("request")), [tool.model_dump()], facts.get("today"))
    found = calls.subtasks()
    return Call(tool.name, found[0]["args"]) if len(found) == 1 and not calls.cannot else None
