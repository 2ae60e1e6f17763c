"""The connection of a process to an MCP server: opened when it is needed, and again whenever it was lost."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from pydantic import ValidationError

from leadhand.core.errors import ConfigurationError, FailureClass, ToolError
from leadhand.core.tool import Effect, ToolReturn, ToolSpec
from leadhand.core.value import Json, compact_json, one_line
from leadhand.engine.tool_returns import Unreadable
from leadhand.ports import ToolContext
from leadhand.tools.mcp.settings import McpSettings
from leadhand.tools.source import name_of
from leadhand.tools.tool import Tool

try:
    from mcp import types
    from mcp.shared.exceptions import MCPError

    from leadhand.tools.mcp.link import Link, digest_of
    from leadhand.tools.mcp.questions import Conversation
    from leadhand.tools.mcp.results import returned
except ImportError as missing:
    what = "MCP servers need the package mcp 2, which is not installed"
    raise ConfigurationError(what, 'Run: pip install "leadhand[mcp]"') from missing

PATIENCE_S = 15.0
"""Seconds for which a call waits until a server can be reached again, and at most half of its own time."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 30.0
"""The wait after the first failure to reach a server, and after many."""
FRESH_S = 0.05
"""Seconds for which a list is used before calls that can be made again: those that begin together share one."""
UNSURE = frozenset({types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, types.INTERNAL_ERROR})
"""Errors after which nobody knows whether the call was made."""


class McpConnection:
    """The tools of a server. Each call of one finds the connection, or opens it."""

    def __init__(self, server: McpSettings, environment: Mapping[str, str]) -> None:
        self._server, self._environment = server, environment
        self._opening = asyncio.Lock()
        self._link: Link | None = None
        self._failures = 0
        """How often the server could not be reached, or was lost, since the last call that it answered."""
        self._not_before = 0.0

    async def tools(self) -> Sequence[Tool[..., Any]]:
        """Return the tools that the server offers now. Raises ConfigurationError if it cannot be reached or used."""
        link = await self._linked(0, at_once=True)
        try:
            listed = await link.listed()
        except (MCPError, ValidationError) as error:
            if link.forgot or not link.is_open:  # it was lost since the last run; this ends at a server that is away
                await self._lost(link)
                return await self.tools()
            whose = f"the tools of the MCP server {self._server.name}"
            raise ConfigurationError(
                f"{whose} cannot be listed: {one_line(error)[:300]}", "Correct the server."
            ) from error
        included = [each for each in listed.values() if self._includes(each.name)]
        if listed and not included:
            what = f"the MCP server {self._server.name} has no tool {' or '.join(self._server.include)}"
            raise ConfigurationError(what, f"Choose from: {', '.join(listed)}.")
        for pattern in self._server.effects:
            if not any(fnmatchcase(each.name, pattern) for each in included):
                what = f"the MCP server {self._server.name} has no tool {pattern}, which has an effect in its settings"
                raise ConfigurationError(what, f"Choose from: {', '.join(each.name for each in included)}.")
        return [self._tool(each, link) for each in included]

    def bind(self, spec: ToolSpec) -> Tool[..., Any]:
        """Return the tool that a run has recorded, without asking the server."""
        return Tool.from_schema(
            spec.name,
            spec.description,
            spec.parameters,
            partial(self._call, spec),
            effect=spec.effect,
            output=spec.output,
            origin=spec.origin,
            fingerprint=spec.fingerprint,
        )

    async def aclose(self) -> None:
        """Close the connection, and end the process of the server."""
        if self._link is not None:
            await self._link.aclose()

    # --- tools -------------------------------------------------------------------------------------------------------

    def _includes(self, name: str) -> bool:
        return not self._server.include or any(fnmatchcase(name, each) for each in self._server.include)

    def _tool(self, listed: types.Tool, link: Link) -> Tool[..., Any]:
        server, hints, client = self._server, listed.annotations or types.ToolAnnotations(), link.client
        hinted = Effect.PURE if hints.read_only_hint else Effect.IDEMPOTENT if hints.idempotent_hint else Effect.ONCE
        given = (effect for pattern, effect in server.effects.items() if fnmatchcase(listed.name, pattern))
        about = client.server_info
        digest, name = digest_of(listed), name_of(f"{server.prefix}{listed.name}")

        async def call(args: dict[str, Json], context: ToolContext) -> ToolReturn:
            return await self._call(tool.spec, args, context)

        tool = Tool.from_schema(
            name,
            listed.description or listed.title or hints.title or listed.name,
            listed.input_schema,
            call,
            effect=next(given, hinted),
            output=listed.output_schema,
            origin=f"mcp:{server.name}",
            listed_as=listed.name,
            fingerprint=digest,
            timeout=server.timeout,
            toolset=f"mcp:{server.name}",
            version=f"MCP {client.protocol_version}"
            + (f", {about.name} {about.version}".rstrip() if about is not None else ""),
        )
        return tool

    # --- calls -------------------------------------------------------------------------------------------------------

    async def _call(self, spec: ToolSpec, args: dict[str, Json], context: ToolContext) -> ToolReturn:
        """Call a tool that a run has recorded. A call that was certainly not sent is sent again.

        Raises ToolError: ``transient`` if it may have been made, ``unavailable`` if it was not.
        """
        conversation = Conversation(self._server.name, context.replied)
        name, started = spec.import_path.rpartition(":")[2], time.monotonic()
        patience_s = min(PATIENCE_S, spec.timeout_s / 2)
        while (question := conversation.question) is None:
            try:
                link = await self._linked(started + patience_s - time.monotonic())
            except ConfigurationError as error:
                raise _away(spec, error.what, error.how) from error
            params = types.CallToolRequestParams(name=name, arguments=args, **conversation.params)
            left_s, sent = started + spec.timeout_s - time.monotonic(), False
            try:
                await self._check(spec, name, link)
                sent = True
                result = await link.call(params, context, left_s)
            except MCPError as error:
                if (forgot := link.forgot) or not link.is_open:
                    await self._lost(link)
                    sent = sent and not forgot
                    if not sent and time.monotonic() - started < patience_s:
                        continue
                if conversation.restarts(error):
                    continue
                raise _failed(spec, error) if sent else _away(spec, one_line(error)) from error
            except ValidationError as error:
                raise Unreadable(
                    f"the answer is not what MCP defines: {one_line(error)[:300]}", type="bad_result"
                ) from error
            self._failures = 0
            if isinstance(result, types.CallToolResult):
                return returned(result)
            conversation.record(result)
            await asyncio.sleep(FIRST_WAIT_S)  # a server may ask nothing, to be called again
        return question

    async def _check(self, spec: ToolSpec, name: str, link: Link) -> None:
        """Raise ToolError if the server offers another tool than the run has recorded, or none. The server is asked
        before each call that acts: one that is away gets no call of which nobody knows whether it was made."""
        listed = (await link.listed(0 if spec.effect is Effect.ONCE else FRESH_S)).get(name)
        if listed is not None and digest_of(listed) == spec.fingerprint:
            return
        what = "has changed" if listed is not None else "is not offered any more"
        raise ToolError(
            f"{name} of the MCP server {self._server.name} {what} since the run began",
            type="tool_changed",
            class_=FailureClass.UNAVAILABLE,
            next_action="start the run again, with the tools as they are now",
        )

    async def _linked(self, patience_s: float, *, at_once: bool = False) -> Link:
        """Return an open connection. Raises ConfigurationError if the server could not be reached for so long."""
        until = time.monotonic() + patience_s
        async with self._opening:
            while self._link is None or not self._link.is_open:
                wait_s = 0.0 if at_once else self._not_before - time.monotonic()
                if wait_s > 0:
                    await asyncio.sleep(min(wait_s, max(0.0, until - time.monotonic())))
                try:
                    self._link = await Link.open(self._server, self._environment)
                except ConfigurationError:
                    self._wait()
                    if time.monotonic() >= until:
                        raise
            return self._link

    async def _lost(self, link: Link) -> None:
        """Close a connection that cannot be used any more."""
        if link is self._link:
            self._link = None
            self._wait()
        await link.aclose()

    def _wait(self) -> None:
        self._failures += 1
        longest_s = min(FIRST_WAIT_S * 2 ** (self._failures - 1), LONGEST_WAIT_S)
        self._not_before = time.monotonic() + longest_s * random.uniform(0.5, 1)


def _away(spec: ToolSpec, why: str, how: str = "check that the server runs") -> ToolError:
    """Return the failure of a call that was not made: it can be made again, but not by itself if it acts once."""
    class_ = FailureClass.UNAVAILABLE if spec.effect is Effect.ONCE else FailureClass.TRANSIENT
    return ToolError(f"{spec.name} was not called: {why}", type="server_away", class_=class_, next_action=how)


def _failed(spec: ToolSpec, error: MCPError) -> ToolError:
    """Return the failure of a call that the server answered with an error, or did not answer at all."""
    class_ = FailureClass.TRANSIENT if error.code in UNSURE else FailureClass.INVALID
    said = error.message if error.data is None else f"{error.message} {compact_json(error.data)}"
    return ToolError(f"{spec.name}: {said}", type="mcp_error", class_=class_)
