"""The connection of a process to an MCP server: opened when it is needed, and again whenever it was lost."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from mcp import types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from leadhand.core.errors import ConfigurationError, FailureClass, ToolError
from leadhand.core.tool import ApprovalPolicy, Effect, ToolReturn, ToolSpec
from leadhand.core.value import Json, compact_json, one_line
from leadhand.engine.tool_returns import Unreadable
from leadhand.ports import ToolContext
from leadhand.tools.mcp import McpServer
from leadhand.tools.mcp.link import Link, digest_of
from leadhand.tools.mcp.questions import Conversation
from leadhand.tools.mcp.results import returned
from leadhand.tools.source import chosen, name_of
from leadhand.tools.tool import Tool

PATIENCE_S = 15.0
"""Seconds for which a call waits until a server can be reached again, and at most half of its own time."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 30.0
"""The wait after the first failure to reach a server, and after many."""
UNSURE = frozenset({types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, types.INTERNAL_ERROR})
"""Errors after which nobody knows whether the call was made."""


class McpConnection:
    """The tools of a server. Each call of one finds the connection, or opens it."""

    def __init__(self, server: McpServer, environment: Mapping[str, str]) -> None:
        self._server, self._environment = server, environment
        self._opening = asyncio.Lock()
        self._link: Link | None = None
        self._failures = 0
        """How often the server could not be reached, or was lost, since the last call that it answered."""
        self._not_before = 0.0

    async def tools(self) -> Sequence[Tool[..., Any]]:
        """Return the tools that the server offers now. Raises ConfigurationError if it cannot be reached or used."""
        server, (link, listed) = self._server, await self._ready(0.0)
        offered = [(each, [name]) for name, each in listed.items()]
        used = chosen(f"the MCP server {server.name}", offered, server.include, server.effects)
        return [self._tool(each, effect, link.client) for each, _, effect in used]

    def bind(self, spec: ToolSpec) -> Tool[..., Any]:
        """Return the tool that a run has recorded, without asking the server."""
        tool = Tool.from_schema(spec.name, spec.description, spec.parameters, partial(self._call, spec))
        tool.confirm = partial(self._confirm, spec)
        return tool

    async def _confirm(self, spec: ToolSpec) -> None:
        """Check a tool before a person is asked. Raises ToolError as :meth:`_compare` does."""
        with suppress(ConfigurationError, TimeoutError):  # the call finds out
            async with asyncio.timeout(PATIENCE_S):
                self._compare(spec, (await self._ready(0.0))[1])

    async def aclose(self) -> None:
        """Close the connection, and end the process of the server."""
        if self._link is not None:
            await self._link.aclose()

    def _tool(self, listed: types.Tool, given: Effect | None, client: Any) -> Tool[..., Any]:
        """Return a tool, with the effect that it is ``given``, else that of its hints. A server that calls one
        destructive has a person asked, also if a second call is harmless."""
        server, hints, about = self._server, listed.annotations or types.ToolAnnotations(), client.server_info
        hinted = Effect.PURE if hints.read_only_hint else Effect.IDEMPOTENT if hints.idempotent_hint else Effect.ONCE
        asks = given is None and hints.destructive_hint and not hints.read_only_hint
        at = urlsplit(server.url).hostname if server.url else server.command[0].rpartition("/")[2]

        async def call(args: dict[str, Json], context: ToolContext) -> ToolReturn:
            return await self._call(tool.spec, args, context)

        tool = Tool.from_schema(
            name_of(f"{server.prefix}{listed.name}"),
            listed.description or listed.title or hints.title or listed.name,
            listed.input_schema,
            call,
            effect=given or hinted,
            approval=ApprovalPolicy.ASK if asks else None,
            output=listed.output_schema,
            origin=f"mcp:{server.name}",
            listed_as=listed.name,
            fingerprint=digest_of(listed),
            target=f"{listed.name} of the MCP server {server.name} ({at})",
            timeout=server.timeout,
            toolset=f"mcp:{server.name}",
            version=f"MCP {client.protocol_version}"
            + (f", {about.name} {about.version}".rstrip() if about is not None else ""),
        )
        return tool

    async def _call(self, spec: ToolSpec, args: dict[str, Json], context: ToolContext) -> ToolReturn:
        """Call a tool that a run has recorded.

        The server is asked for the tool before: one that is away gets no call of which nobody knows whether it was
        made. Raises ToolError: ``transient`` if the call may have been made, ``unavailable`` if it was not.
        """
        conversation = Conversation(self._server.name, context.replied)
        name, until = spec.import_path.rpartition(":")[2], time.monotonic() + spec.timeout_s
        while (question := conversation.question) is None:
            link = await self._offering(spec)
            try:
                params = types.CallToolRequestParams(name=name, arguments=args, **conversation.params)
                result = await link.call(params, context, until)
            except MCPError as error:
                if conversation.restarts(error):
                    continue
                class_ = FailureClass.TRANSIENT if error.code in UNSURE else FailureClass.INVALID
                said = error.message if error.data is None else f"{error.message} {compact_json(error.data)}"
                raise ToolError(f"{spec.name}: {said}", type="mcp_error", class_=class_) from error
            except ValidationError as error:
                said = f"the answer is not what MCP defines: {one_line(error)[:300]}"
                raise Unreadable(said, type="bad_result") from error
            self._failures = 0
            if isinstance(result, types.CallToolResult):
                return returned(result)
            conversation.record(result)
            await asyncio.sleep(FIRST_WAIT_S)  # a server may ask nothing, to be called again
        return question

    async def _offering(self, spec: ToolSpec) -> Link:
        """Return a connection to a server that offers the tool as the run has recorded it. Raises ToolError."""
        try:
            link, listed = await self._ready(min(PATIENCE_S, spec.timeout_s / 2))
        except ConfigurationError as error:  # it was not called: it can be, but not by itself if it acts once
            class_ = FailureClass.UNAVAILABLE if spec.effect is Effect.ONCE else FailureClass.TRANSIENT
            what = f"{spec.name} was not called: {error.what}"
            how = error.how
            raise ToolError(what, type="server_away", class_=class_, next_action=how, not_made=True) from error
        self._compare(spec, listed)
        return link

    def _compare(self, spec: ToolSpec, listed: Mapping[str, types.Tool]) -> None:
        """Raise ToolError if the server offers another tool than the run has recorded, or none."""
        found = listed.get(name := spec.import_path.rpartition(":")[2])
        if found is None or digest_of(found) != spec.fingerprint:
            what = "has changed" if found is not None else "is not offered any more"
            raise ToolError(
                f"{name} of the MCP server {self._server.name} {what} since the run began, so it was not called",
                type="tool_changed",
                class_=FailureClass.UNAVAILABLE,
                next_action="start the run again, with the tools as they are now",
                not_made=True,
            )

    async def _ready(self, patience_s: float) -> tuple[Link, Mapping[str, types.Tool]]:
        """Return an open connection, and the tools that the server offers now; calls that begin together ask once.
        Raises ConfigurationError if it could not be reached for so long."""
        asked_at = time.monotonic()
        until = asked_at + patience_s
        async with self._opening:
            while True:
                link = self._link
                is_new = link is None or link.over.is_set()
                try:
                    if link is None or is_new:
                        await self.aclose()
                        await asyncio.sleep(max(0.0, min(self._not_before, until) - time.monotonic()))
                        link = self._link = await Link.open(self._server, self._environment)
                    return link, await link.listed(asked_at)
                except ConfigurationError:
                    self._failures += 1
                    longest_s = min(FIRST_WAIT_S * 2 ** (self._failures - 1), LONGEST_WAIT_S)
                    self._not_before = time.monotonic() + longest_s * random.uniform(0.5, 1)
                    if (is_new and time.monotonic() >= until) or (link is not None and not link.over.is_set()):
                        raise
