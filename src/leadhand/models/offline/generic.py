"""Answers for roles without a rule, where the grammar is enough: one tool to call, or a schema that the facts fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.domain.days import read_date
from leadhand.domain.value import object_of, text_of, texts_of
from leadhand.flows.offline.arguments import Offers
from leadhand.flows.offline.asks import DIRECTIONS_TOOL, WEATHER_TOOL
from leadhand.flows.offline.calls import Calls
from leadhand.flows.offline.listening import understand
from leadhand.flows.offline.rendering import result_words
from leadhand.flows.offline.rule import Call, OfflineRequest, Reply

_TEXTS = ("title", "question", "topic", "text", "input", "request")
GIVE_UP = "give_up"


def answer(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Call the role's only tool if the facts say its arguments, then repeat its result; None if they do not."""
    if request.schema is not None:
        return _fields(facts, request.schema)
    if request.results:
        return "\n".join(result_words(result) for result in request.results)
    tools = [tool for tool in request.tools if tool.name != GIVE_UP]
    if len(tools) != 1:
        return None
    tool = tools[0]
    given = {name: facts[name] for name in object_of(tool.parameters.get("properties")) if name in facts}
    if tool.required and tool.required <= given.keys():
        return Call(tool.name, given)
    text = next((said for name in _TEXTS if (said := text_of(facts.get(name)))), "")
    offers = Offers([tool.model_dump()], apart=(WEATHER_TOOL, DIRECTIONS_TOOL))
    calls = Calls(understand(text, offers, read_date(facts.get("today"))), offers)
    found = list(calls.found.values())
    return Call(tool.name, found[0]["args"]) if len(found) == 1 and not calls.gaps else None


def _fields(facts: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A structured answer whose required fields are all among the facts, under the same names."""
    required = texts_of(schema.get("required"))
    if not required or any(name not in facts for name in required):
        return None
    return {name: facts[name] for name in object_of(schema.get("properties")) if name in facts}
