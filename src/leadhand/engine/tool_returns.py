"""What a tool returned, as JSON: bounded in size and depth, so that no return value can stop the process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from threading import Event
from typing import Any, cast

from pydantic_core import from_json, to_json

from leadhand.core.errors import ToolError
from leadhand.core.tool import TOOL_ERROR, Delegate, ToolReturn
from leadhand.core.value import DEEPEST, TOO_DEEP, Json, fitting, json_problem, one_line
from leadhand.engine.gate import schema_flaw

LARGEST_RETURN = 2_000_000
"""Characters of everything that one call returns, at most, as JSON."""
SMALL = 20_000
"""Characters of a value that is converted on the event loop; a larger one is converted on a thread."""


class Unreadable(ToolError):
    """The tool has finished, but what it returned cannot be used."""


def _not_json(why: str) -> Unreadable:
    return Unreadable(f"the tool's answer {why}", type="not_json", next_action="return only values that JSON can hold")


def returned_value(value: object, abandoned: Event | None = None) -> ToolReturn:
    """Return the result of a tool as a ToolReturn with JSON data. Stops reading generators once ``abandoned`` is set.

    ``{"isError": true, "message": …}`` (the seeds' primitive tools) is a failure. Raises ToolError for that, Unreadable
    for a value that JSON cannot represent, or that is nested too deeply or too large to be stored.
    """
    returned = value if isinstance(value, ToolReturn) else ToolReturn()
    given = value.raw if isinstance(value, ToolReturn) else value
    room = _Room(LARGEST_RETURN, abandoned)
    try:
        for part in (returned.summary, *map(vars, returned.sources), *map(vars, returned.asks)):
            room.listed(part)
        written = to_json(room.listed(given), inf_nan_mode="null")  # exactly as the log will hold it
        room.check(len(written))
        raw: Any = from_json(written)
        for part in (*returned.sources, *returned.asks):
            fitting(type(part), part)
        for ask in returned.asks:
            if isinstance(ask, Delegate) and ask.output is not None and (flaw := schema_flaw(ask.output)):
                raise Unreadable(f"the output of a delegation is not a usable JSON schema: {flaw}", type="bad_schema")
    except ToolError:
        raise
    except Exception as error:
        raise _not_json(f"is not JSON: {described(error)}") from error
    deep = written.count(b"[") + written.count(b"{") > DEEPEST
    if problem := (json_problem(raw) if deep else "") or json_problem(returned.summary):
        raise _not_json(f"cannot be stored as JSON: {problem}")
    returned = returned.model_copy(update={"raw": raw})  # which freezes it
    match raw:
        case {"isError": True, **rest}:
            raise ToolError(str(rest.get("message", "the tool reports an error")), type=TOOL_ERROR)
        case _:
            return returned


def is_small(value: object) -> bool:
    """Whether a return value is plain data that is certainly converted at once. Looks at few items of a large one."""
    room, parts = _Room(SMALL, plain=True), [value]
    if isinstance(value, ToolReturn):
        parts = [value.raw, value.summary, *value.asks, *map(vars, value.sources)]
    try:
        for part in parts:
            room.listed(part)
    except ToolError:
        return False
    return True


def described(error: BaseException) -> str:
    """Return an exception as one line: its type, and the beginning of what it says."""
    text = one_line(error) if isinstance(error, ValueError) else str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class _Room:
    """Counts the characters of a return value while its generators are read, which may be endless."""

    def __init__(self, characters: int, abandoned: Event | None = None, *, plain: bool = False) -> None:
        """``plain``: anything but plain data is as good as too large."""
        self._most = self._left = characters
        self._abandoned, self._plain = abandoned, plain

    def listed(self, value: Json, depth: int = 0) -> Json:
        """Return a value with lists in place of generators and other collections. Raises ToolError."""
        size = (
            len(value) if isinstance(value, str | bytes) else value.bit_length() // 4 if isinstance(value, int) else 0
        )
        self._left -= 2 + size  # at least: itself and a comma
        if self._left < 0:
            self.check(0)
        if self._abandoned is not None and self._abandoned.is_set():
            raise Unreadable("nobody waits for what the tool returned")
        if value is None or isinstance(value, str | int | float | bytes):
            return value
        is_mapping = isinstance(value, Mapping)
        if self._plain and not isinstance(value, list | tuple | dict):
            self.check(self._most + 1)
        if not is_mapping and not isinstance(value, list | tuple | Set | Iterator):
            return value
        if depth > DEEPEST:
            raise _not_json(f"cannot be stored as JSON: {TOO_DEEP}")
        if is_mapping:
            items = cast("Mapping[Any, Any]", value).items()
            return {self.listed(key, depth + 1): self.listed(each, depth + 1) for key, each in items}
        return [self.listed(each, depth + 1) for each in cast("Iterator[Any]", value)]

    def check(self, characters: int) -> None:
        """Raise ToolError if the value is larger than allowed, or has ``characters`` more than that."""
        if self._left < 0 or characters > self._most:
            raise Unreadable(
                f"the tool returned more than {self._most:,} characters",
                type="too_large_return",
                next_action="return a part, and write the rest to a file: ToolReturn(asks=(WriteArtifact(…),))",
            )
