"""What a project says of an MCP server: how to start or reach it, and which of its tools to use."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from leadhand.core.errors import UsageError
from leadhand.core.value import one_line, shown
from leadhand.tools.mcp.settings import McpSettings
from leadhand.tools.source import Connection

RUNNERS = frozenset({"uvx", "npx", "bunx", "pipx", "uv", "python", "python3", "node", "deno", "docker", "run", "exec"})
"""Programs, and their subcommands, that start a server whose name follows."""
HOW = 'Pass a command, or a URL: mcp("uvx mcp-server-time"), mcp("https://example.org/mcp").'


class McpServer(McpSettings):
    """An MCP server as a source of tools. Make one with :func:`mcp`."""

    kind: ClassVar[str] = "mcp"

    def connect(self, environment: Mapping[str, str]) -> Connection:
        """Return a connection, which is opened when it is needed. Raises ConfigurationError without the extra."""
        from leadhand.tools.mcp.connection import McpConnection  # most processes have no MCP servers

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
    timeout: float = 30.0,
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
    :param timeout: seconds for one call.

    Raises UsageError for what is neither a command nor a URL, and for invalid settings.
    """
    is_url = isinstance(server, str) and re.match(r"https?://", server) is not None
    given: Any = {"env": env or {}, "headers": headers or {}, "effects": effects or {}, "include": tuple(include)}
    given |= {"url" if is_url else "command": server}
    try:
        made = McpServer(name=name, prefix=prefix, timeout=timeout, **given)
    except ValueError as error:
        raise UsageError(f"{shown(server)} cannot be used as an MCP server: {one_line(error)}", HOW) from error
    return made if made.name else made.evolve(name=_name_of(made))


def _name_of(server: McpServer) -> str:
    """Return a name for a server that has none: ``time`` for ``uvx mcp-server-time``."""
    words = [word for word in server.command if not word.startswith("-")]
    while len(words) > 1 and os.path.basename(words[0]) in RUNNERS:
        del words[0]
    named = urlsplit(server.url).hostname or "" if server.url else os.path.basename(words[0]) if words else ""
    parts = re.split(r"\W+", re.sub(r"(?<=.)@.*|\.(?:py|js|ts|mjs|exe)$", "", named))
    name = "_".join(part for part in parts if part and part not in ("mcp", "server")) or "mcp"
    return name if name.isidentifier() else f"mcp_{name}"
