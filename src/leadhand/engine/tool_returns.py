"""What a tool returned, as JSON: bounded in size and depth, so that no return value can stop the process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from numbers import Integral, Real
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from leadhand.core.artifact import digest_of
from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.tool import TOOL_ERROR, Ask, AskPerson, Delegate, ToolReturn, WriteArtifact
from leadhand.core.value import DEEPEST, Value, fitting, json_problem, one_line
from leadhand.engine.gate import schema_flaw, schema_problems

LARGEST_RETURN = 2_000_000
"""Characters of everything that one call returns, at most, as JSON."""
SMALL = 20_000
"""Characters of a value that is converted on the event loop; a larger one is converted on a thread."""


class Unreadable(ToolError):
    """The tool has finished, but what it returned cannot be used."""


def _not_json(why: str) -> Unreadable:
    return Unreadable(f"the tool's answer {why}", type="not_json", next_action="return only values that JSON can hold")


def returned_value(value: object, output: dict[str, Any] | None = None) -> ToolReturn:
    """Return the result of a tool as a ToolReturn with JSON data, which fits the schema ``output``.

    ``{"isError": true, "message": …}`` (the seeds' primitive tools) is a failure. Raises ToolError for that, Unreadable
    for a value that JSON cannot represent, that does not fit, or that is nested too deeply or too large to be stored.
    """
    returned, given = (value, value.raw) if isinstance(value, ToolReturn) else (ToolReturn(), value)
    try:
        written = b"" if _outgrows(value, LARGEST_RETURN) else to_json(given, inf_nan_mode="null", fallback=_number)
        if not written or len(written) > LARGEST_RETURN:
            raise Unreadable(
                f"the tool returned more than {LARGEST_RETURN:,} characters",
                type="too_large_return",
                next_action="return a part, and write the rest to a file: ToolReturn(asks=(WriteArtifact(…),))",
            )
        raw: Any = from_json(written)  # exactly as the log will hold it
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
            asks = any(isinstance(each, AskPerson) for each in returned.asks)  # the result comes later
            if output is not None and not asks and (problems := schema_problems(output, raw)):
                how = "correct the tool, or the schema of its results"
                said = f"the tool's answer does not fit its schema: {'; '.join(problems)}"
                raise Unreadable(said, type="bad_result", class_=FailureClass.INVALID, next_action=how)
            return returned


def _number(value: object) -> float:
    """Return a number of another library, such as NumPy's, as JSON holds it. Raises for other values."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise PydanticSerializationError(f"Unable to serialize unknown type: {type(value)}")


def is_small(value: object) -> bool:
    """Whether a return value is plain data that is certainly converted at once. Looks at few items of a large one."""
    return not _outgrows(value, SMALL, plain=True)


def _outgrows(value: object, most: int, *, plain: bool = False) -> bool:
    """Whether a value has more than ``most`` characters as JSON; with ``plain``, also if it is not plain data. Looks at
    no more items than that. Raises Unreadable for generators, which may be endless."""
    open_, size = [value], 0
    while open_ and size <= most:
        part: Any = open_.pop()
        text = len(part) if isinstance(part, str | bytes) else part.bit_length() // 4 if isinstance(part, int) else 0
        size += 2 + text  # at least: itself and a comma
        if isinstance(part, Value):
            open_ += vars(part).values()
        elif isinstance(part, Mapping) and (not plain or isinstance(part, dict)):
            open_ += [*part, *part.values()]
        elif isinstance(part, list | tuple) or (isinstance(part, Set) and not plain):
            open_ += part
        elif plain and part is not None and not isinstance(part, str | int | float | bytes):
            return True
        elif isinstance(part, Iterator):
            raise _not_json("has a generator in it, whose items are read only once: return a list of them")
    return size > most


def kept_asks(asks: tuple[Ask, ...]) -> tuple[tuple[Ask, ...], dict[str, bytes]]:
    """Return a tool's asks for the log, and the content of the artifacts among them by digest."""
    kept, contents = list[Ask](), dict[str, bytes]()
    for ask in asks:
        if isinstance(ask, WriteArtifact) and ask.content is not None:
            content = ask.content.encode()
            contents[digest := digest_of(content)] = content
            ask = ask.evolve(content=None, digest=digest, size=len(content))
        kept.append(ask)
    return tuple(kept), contents


def described(error: BaseException) -> str:
    """Return an exception as one line: its type, and the beginning of what it says."""
    text = one_line(error) if isinstance(error, ValueError) else str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
