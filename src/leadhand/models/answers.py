"""Parse the answers of models, for all adapters: structured answers, arguments of calls, wrapped JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from pydantic_core import from_json

from leadhand.core.conversation import ToolCall
from leadhand.core.limits import Usage
from leadhand.core.value import is_object, list_of
from leadhand.ports.models import ModelProfile, ModelRequest, OutputSpec, input_bound

Cost = Callable[[str, Usage], int | None]
"""What a usage of a model, by its full name, cost in nano-dollars."""

_MOST_TOKENS = 1_000_000_000
"""More than any model reads or writes in one call: a higher count is a defect that would use up all budgets."""
_OBJECT = re.compile(r'\{\s*["}]')
"""How an object begins, unlike braces in prose."""


def clean(text: str) -> str:
    """Return ``text`` with a question mark for each lone surrogate, which a log cannot store."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def answer_function(output: OutputSpec) -> str:
    """The name of the function for a structured answer that has to be a call."""
    return f"give_{output.name}"


def object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a function's parameters, which must be that of an object."""
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return schema if schema.get("type") == "object" else {**nothing, **schema}


def token_count(value: object) -> int | None:
    """A number of tokens as a server reports it; None unless it is a whole number that one call can have used."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST_TOKENS or value % 1:
        return None
    return int(value)


def counted_usage(
    sent: int | None, written: int | None, *, empty: bool, cached: int | None = None, into_cache: int | None = None
) -> Usage | None:
    """The usage of a reply as its server counted it; None if it cannot be true, so that the budget holds.

    Every request has input, and every reply has output that is not ``empty``. Of the input, ``cached`` tokens were read
    from the server's cache, and ``into_cache`` tokens were written there.
    """
    if not sent or written is None or (written == 0 and not empty):
        return None
    cached = min(cached or 0, sent)
    into_cache = min(into_cache or 0, sent - cached)
    return Usage(input_tokens=sent, output_tokens=written, cached_tokens=cached, cache_write_tokens=into_cache)


def priced(counted: Usage | None, request: ModelRequest, profile: ModelProfile, cost: Cost | None) -> Usage:
    """Return what a call used, with its cost. If the server did not count it, that is all that was reserved."""
    if counted is not None:
        return counted if cost is None else counted.evolve(nanousd=cost(request.model, counted))
    bound = input_bound(request.messages, request.tools, request.output)
    most = profile.highest_cost(bound, request.max_tokens)
    return Usage(input_tokens=bound, output_tokens=request.max_tokens, nanousd=most)


def tool_call(id: str, name: str, written: object) -> ToolCall:
    """Return a call with the arguments that a model wrote, as an object (None if they are not one) and as text."""
    raw = clean(written if isinstance(written, str) else json.dumps(written, ensure_ascii=False))
    if not raw.strip() or written is None:
        return ToolCall(id=id, name=name, arguments={}, raw="")
    try:
        decoded = decode_json(raw, finite=True)
        if isinstance(decoded, str):  # encoded twice
            decoded = decode_json(decoded, finite=True)
    except ValueError:
        decoded = None
    return ToolCall(id=id, name=name, arguments=decoded if is_object(decoded) else None, raw=raw)


def structured_answer(
    output: OutputSpec, text: str, calls: tuple[ToolCall, ...]
) -> tuple[dict[str, Any] | None, str, tuple[ToolCall, ...]]:
    """Return the structured answer (from its call or from the text), the answer as text, and the other calls."""
    name = answer_function(output)
    answer = next((call for call in calls if call.name == name), None)
    if answer is None:
        return decode_object(text), text, calls
    return answer.arguments, answer.raw, tuple(call for call in calls if call.name != name)


def decode_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in ``text``: bare, in a code fence, or inside prose; else None.

    A list of one object counts as that object, since small models often wrap it. The objects inside one that is cut off
    or malformed are never taken for it.
    """
    try:
        return _object(decode_json(text.strip(), finite=True))
    except ValueError:
        pass
    begins = _OBJECT.search(text)
    if begins is None:
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(text, begins.start())
        return _object(decode_json(text[begins.start() : end], finite=True))
    except (ValueError, RecursionError):
        return None


def _object(found: object) -> dict[str, Any] | None:
    wrapped = list_of(found)
    if len(wrapped) == 1:
        found = wrapped[0]
    return found if is_object(found) else None


def decode_json(written: str | bytes, *, finite: bool = False) -> Any:
    """Decode JSON from a server that may not be well-formed text.

    Drops a byte-order mark and replaces what the log cannot store. ``finite`` rejects NaN and infinities.

    Raises ValueError for invalid JSON, and for values that are nested too deeply.
    """
    try:
        return from_json(written, allow_inf_nan=not finite)
    except (ValueError, TypeError):  # TypeError: text with a lone surrogate
        pass
    # The fast parser is strict: the lenient one may still accept what it refuses.
    text = written if isinstance(written, str) else written.decode("utf-8", "replace")
    try:
        plain = json.dumps(json.loads(text.removeprefix("\ufeff")), ensure_ascii=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return from_json(plain.encode("utf-8", "replace"), allow_inf_nan=not finite)
