"""Sources of tools, such as an MCP server or an OpenAPI document: what a project names, and the connection to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from leadhand.core.errors import ConfigurationError
from leadhand.core.tool import Effect, ToolSpec
from leadhand.tools.tool import Tool

T = TypeVar("T")
LONGEST_NAME = 64
"""Characters of a tool's name that every provider of models takes."""

_VARIABLE = re.compile(r"(?<!\S)env:([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)


class Connection(Protocol):
    """A connection to a source, of one process and event loop. It is opened when it is needed."""

    async def tools(self) -> Sequence[Tool[..., Any]]:
        """Return the tools that the source offers now. Raises ConfigurationError if it cannot be reached or used."""
        ...

    def bind(self, spec: ToolSpec) -> Tool[..., Any]:
        """Return the tool that a run has recorded, without asking the source. A call of it fails (``unavailable``,
        ``tool_changed``) if the source offers another one under its name, or none."""
        ...

    async def aclose(self) -> None: ...


@runtime_checkable
class ToolSource(Protocol):
    """What a project says of a source: an immutable description. Its ``kind`` and ``name`` make its origin."""

    kind: ClassVar[str]
    """``mcp`` or ``openapi``."""

    @property
    def name(self) -> str:
        """Its name, unique among the sources of its kind."""
        ...

    def connect(self, environment: Mapping[str, str]) -> Connection:
        """Return a connection, which is not opened yet; its keys come from the ``environment``."""
        ...


def origin_of(source: ToolSource) -> str:
    """Return what the tools of a source have in common in a log: ``mcp:NAME``."""
    return f"{source.kind}:{source.name}"


def name_of(text: str) -> str:
    """Return a name that models and work orders can use: ``get_sum`` for ``get-sum``."""
    found = re.sub(r"\W", "_", text, flags=re.ASCII)
    found = found if found.isidentifier() else f"_{found}"
    tail = f"_{sha256(text.encode()).hexdigest()[:8]}" if len(found) > LONGEST_NAME else ""
    return f"{found[: LONGEST_NAME - len(tail)]}{tail}"


def chosen(
    whose: str, offered: Sequence[tuple[T, Sequence[str]]], include: Sequence[str], effects: Mapping[str, Effect]
) -> list[tuple[T, Sequence[str], Effect | None]]:
    """Return what a project uses of what a source offers, each thing with its names (first its own), and with the
    effect that the project gives it: that of the first pattern that fits; None leaves it to the source.

    Raises ConfigurationError for a pattern that fits no name.
    """
    for pattern in (*include, *effects):
        if not any(fnmatchcase(name, pattern) for _, names in offered for name in names):
            known = ", ".join(names[0] for _, names in offered[:20])
            raise ConfigurationError(f"{whose} offers nothing named {pattern}", f"Choose from: {known or 'nothing'}.")

    def fitting(patterns: Iterable[str], names: Sequence[str]) -> Iterator[str]:
        return (pattern for pattern in patterns if any(fnmatchcase(name, pattern) for name in names))

    used = (each for each in offered if not include or any(fitting(include, each[1])))
    return [(each, names, effects.get(next(fitting(effects, names), ""))) for each, names in used]


def from_environment(given: Mapping[str, str], environment: Mapping[str, str], whose: str) -> dict[str, str]:
    """Return values in which ``env:NAME``, also after other words (``Bearer env:NAME``), is replaced by the variable
    NAME. Raises ConfigurationError without it."""
    for name, value in given.items():
        for variable in variables_in(value):
            if variable not in environment:
                problem = f"{name} of {whose} is read from the variable {variable}, which is not set"
                raise ConfigurationError(problem, f"Set it: export {variable}=…")
    return {name: _VARIABLE.sub(lambda found: environment[found[1]], value) for name, value in given.items()}


def variables_in(value: str) -> list[str]:
    """Return the names of the variables from which a value is read."""
    return _VARIABLE.findall(value)
