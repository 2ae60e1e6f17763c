"""Tools of MCP servers: what a project says of a server. Its connection is opened when a run needs it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, cast
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.limits import Seconds
from leadhand.core.tool import Effect
from leadhand.core.value import Value, one_line, shown
from leadhand.tools.source import Connection


def _words(command: object) -> object:
    return tuple(shlex.split(command) if isinstance(command, str) else cast("Iterable[str]", command))


class McpServer(Value):
    """An MCP server as a source of tools, started by a ``command`` in a ``directory``, or reached at a ``url``. Make
    one with :func:`mcp`."""

    kind: ClassVar[str] = "mcp"
    name: str = Field(default="", pattern=r"^[A-Za-z_]\w*$|^$")
    command: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()
    url: str = Field(default="", pattern=r"^https?://|^$")
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    include: tuple[str, ...] = ()
    effects: dict[str, Effect] = {}
    prefix: str = Field(default="", pattern=r"^[A-Za-z_]\w*$|^$")
    timeout: Seconds = 30.0
    directory: str = ""

    @model_validator(mode="after")
    def _is_one(self) -> McpServer:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a command or a url")
        if self.headers if self.command else self.env:
            raise ValueError("a command takes env, and a url headers")
        return self

    def connect(self, environment: Mapping[str, str]) -> Connection:
        """Return a connection, which is opened when it is needed. Raises ConfigurationError without the extra."""
        try:
            from leadhand.tools.mcp.connection import McpConnection  # most processes have no MCP servers
        except ImportError as missing:
            what = "MCP servers need the package mcp 2, which is not installed"
            raise ConfigurationError(what, 'Run: pip install "leadhand[mcp]"') from missing
        return McpConnection(self, environment)


def mcp(
    server: str | Sequence[str],
    *,
    name: str = "",
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    include: Sequence[str] = (),
    effects: Mapping[str, str] | None = None,
    prefix: str = "",
    timeout: float | str = 30.0,
) -> McpServer:
    """Return an MCP server, whose tools you pass with others: ``Leadhand(tools=[mcp("uvx mcp-server-time")])``.

    :param server: the command that starts it, as one text or as a list of words, or its URL.
    :param name: what logs call it; by default, it follows from the command or the URL.
    :param env: variables of its process. It gets PATH, HOME, proxies and the like, and no other.
    :param headers: headers of each request to its URL. In both, ``env:NAME`` stands for the variable NAME.
    :param include: the names of the tools to use, or patterns such as ``read_*``; by default, all.
    :param effects: what a second call does, by the name of the tool or a pattern: ``pure``, ``idempotent`` or ``once``.
        By default, what the server says of it; ``once`` if it says nothing.
    :param prefix: comes before the name of each tool. Without it, only names that another tool has get one.
    :param timeout: the time of one call: seconds, or a text such as ``"2m"``.

    Raises UsageError for what is neither a command nor a URL, and for invalid settings.
    """
    is_url = isinstance(server, str) and re.match(r"https?://", server) is not None
    given: Any = {"env": env or {}, "headers": headers or {}, "effects": effects or {}, "include": tuple(include)}
    given |= {"url" if is_url else "command": server, "timeout": timeout}
    try:
        made = McpServer(name=name, prefix=prefix, **given)
    except ValueError as error:
        how = 'Pass a command, or a URL: mcp("uvx mcp-server-time"), mcp("https://example.org/mcp").'
        raise UsageError(f"{shown(server)} cannot be used as an MCP server: {one_line(error)}", how) from error
    return made if made.name else made.evolve(name=_name_of(made))


def _name_of(server: McpServer) -> str:
    """Return a name for a server that has none: ``time`` for ``uvx mcp-server-time``, or of its host."""
    words = [os.path.basename(word) for word in server.command if not word.startswith("-")]
    named = next((word for word in words if re.search("mcp|server", word)), (*words, "")[0])
    parts = re.findall(r"\w+", urlsplit(server.url).hostname or re.sub(r"@.*|\.\w+$", "", named))
    name = "_".join(part for part in parts if part not in ("mcp", "server")) or "mcp"
    return name if name.isidentifier() else f"mcp_{name}"
