"""One open connection to an MCP server. A task of its own opens and closes it, as the library requires."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Any, cast

import httpx2
from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from leadhand.core.errors import ConfigurationError
from leadhand.core.value import compact_json, one_line
from leadhand.ports import ToolContext
from leadhand.tools.mcp import McpServer
from leadhand.tools.mcp.questions import DECLINE, question_of, response_of, written
from leadhand.tools.source import from_environment

OPENING_S = 60.0
"""Seconds in which a server has to answer for the first time: its command may have to install it first."""
SILENT_S = 5.0
"""Seconds of them after which a warning is written."""
HTTP = httpx2.Timeout(30.0, read=None)
"""Seconds to connect and to send a request. How long a server may be silent depends on the call."""
DECLINING_S = 1.0
"""Seconds before the end of a call when a question of the old protocol is declined, so that the call can return."""
PROGRESS_S = 1.0
"""Seconds between two reports of the progress of a call."""
_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
PASSED_ON = re.compile(r"(?i)lang|lc_all|tz|tmpdir|(http|https|all|no)_proxy|ssl_cert_(file|dir)|\w+_ca_(certs|bundle)")
"""The variables that the process of a server gets besides PATH, HOME and the like: language, time, and the network,
without which a command such as uvx installs nothing behind a proxy."""
LEASH = (sys.executable, "-I", "-S", os.path.join(os.path.dirname(__file__), "leash.py"))
HAS_LEASH = bool(sys.executable) and os.path.exists("/proc/self/fd")  # on Linux
LOGGER = logging.getLogger("leadhand.tools.mcp")
logging.getLogger("mcp").addHandler(logging.NullHandler())  # else Python writes its warnings to stderr


class Link:
    """A connection, from its opening to its end. Use :meth:`open`."""

    def __init__(self, server: McpServer, environment: Mapping[str, str]) -> None:
        self._server, self._environment = server, environment
        self.over = asyncio.Event()
        """Set when the connection is to be closed, and when it was lost."""
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(), name=f"mcp:{server.name}")
        self._listed: tuple[float, dict[str, types.Tool]] | None = None
        self._status = 0
        """The last HTTP status."""
        self._calls: list[tuple[ToolContext, float, list[str]]] = []
        """The calls that have not returned, until when a person can be asked, and what nobody answered."""
        self._wrote = ""
        """The last line that the process wrote to stderr."""

    @classmethod
    async def open(cls, server: McpServer, environment: Mapping[str, str]) -> Link:
        """Open a connection. Raises ConfigurationError, with what the server wrote, if that fails."""
        link = cls(server, environment)
        try:
            if not (await asyncio.wait({link._opened}, timeout=SILENT_S))[0]:
                LOGGER.warning("the MCP server %s has not answered yet; it has %g s", server.name, OPENING_S - SILENT_S)
            await asyncio.shield(link._opened)
        except BaseException as error:
            await link.aclose()
            if not isinstance(error, Exception):
                raise
            raise link._fault(error) from error
        return link

    @property
    def client(self) -> Client:
        return self._opened.result()

    async def aclose(self) -> None:
        """Close the connection; a process that does not end by itself is terminated, with its children."""
        self.over.set()
        await asyncio.wait({self._owner})

    async def _own(self) -> None:
        """Open the connection, keep it until it is closed or lost, and close it."""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(OPENING_S):
                    client = Client(
                        await self._transport(stack),
                        mode="auto",
                        cache=None,
                        client_info=types.Implementation(name="leadhand", version=version("leadhand")),
                        elicitation_callback=self._asked,
                    )
                    await stack.enter_async_context(client)
                stack.callback(self.over.set)
                self._opened.set_result(client)
                await self.over.wait()
        except Exception as error:
            LOGGER.debug("the connection to the MCP server %s ended", self._server.name, exc_info=error)
            if not self._opened.done():
                self._opened.set_exception(error)
        finally:
            self._opened.cancel()  # of no use if it is set; else somebody would wait for ever

    async def _transport(self, stack: AsyncExitStack) -> Any:
        server, whose = self._server, f"the MCP server {self._server.name}"
        if server.url:
            headers = from_environment(server.headers, self._environment, whose)
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=HTTP))
            http.event_hooks["response"] = [self._note_status]
            return streamable_http_client(server.url, http_client=http)
        env = {name: value for name, value in self._environment.items() if PASSED_ON.fullmatch(name)}
        env |= from_environment(server.env, self._environment, whose)
        (reading, writing), ends = os.pipe(), os.pipe()
        for end in ends:
            stack.callback(os.close, end)
        reader = threading.Thread(target=self._read, args=(reading,), daemon=True)
        reader.start()
        stack.push_async_callback(asyncio.to_thread, reader.join, 1.0)
        errlog = stack.enter_context(os.fdopen(writing, "w"))
        leash = (*LEASH, f"/proc/{os.getpid()}/fd/{ends[0]}") if HAS_LEASH else ()
        command, *args = (*leash, *server.command)
        given = StdioServerParameters(command=command, args=args, env=env, cwd=server.directory or None)
        return stdio_client(given, errlog)

    def _read(self, stderr: int) -> None:
        """Log what a process writes to stderr, until it and its children have ended."""
        with os.fdopen(stderr, errors="replace") as lines:
            for line in filter(None, map(str.strip, lines)):
                self._wrote = line
                LOGGER.debug("the MCP server %s wrote: %s", self._server.name, line)

    async def _note_status(self, response: httpx2.Response) -> None:
        self._status = response.status_code

    async def listed(self, since: float) -> Mapping[str, types.Tool]:
        """Return the tools that the server offers, by name, as asked for at a time of the monotonic clock or later.
        Raises ConfigurationError; the connection is closed then, unless the server is only overloaded."""
        if self._listed is None or self._listed[0] < since:
            asked_at, found = time.monotonic(), dict[str, types.Tool]()
            cursor: str | None = None
            try:
                for _ in range(100):  # pages; a broken server could have them without end
                    page = await self.client.list_tools(cursor=cursor)
                    found |= {each.name: each for each in page.tools}
                    if (cursor := page.next_cursor) is None:
                        break
            except (MCPError, ValidationError) as error:
                if self._status != 429 and self._status < 500:  # it ended, or started again and forgot the session
                    self.over.set()
                raise self._fault(error) from error
            self._listed = (asked_at, found)
        return self._listed[1]

    async def call(
        self, params: types.CallToolRequestParams, context: ToolContext, until: float
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool, for which there is time ``until`` then. Raises as the library does."""
        reported_at, unanswered = 0.0, list[str]()
        asked = (context, until - DECLINING_S, unanswered)

        async def report(progress: float, total: float | None, message: str | None) -> None:
            nonlocal reported_at
            if (now := time.monotonic()) >= reported_at + PROGRESS_S:
                reported_at, of, about = now, f" of {total:g}" if total else "", f": {message}" if message else ""
                context.emit(f"{params.name}: {progress:g}{of}{about}")

        self._calls.append(asked)
        try:
            request = types.CallToolRequest(params=params)
            result = await self.client.session.send_request(request, _RESULT, progress_callback=report)
        finally:
            self._calls.remove(asked)
        if not unanswered or not isinstance(result, types.CallToolResult):
            return result
        # The server knows only that it was declined, and may say that a person did so.
        said = f"Nobody replied in time to what the server asked, so it was declined: {'; '.join(unanswered)}"
        return result.model_copy(update={"content": [types.TextContent(type="text", text=said), *result.content]})

    async def _asked(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Answer what a server of the old protocol asks in the middle of a call: with what a person says meanwhile."""
        if not self._calls:
            return types.ElicitResult(action="cancel")
        call, until, unanswered = self._calls[-1]
        asks, problem = written(params), ""
        while True:
            question = question_of(self._server.name, asks, problem)
            if (reply := await call.ask(*question, until - time.monotonic())) is None:
                unanswered.append(params.message)
                return types.ElicitResult(action=DECLINE)
            try:
                return types.ElicitResult.model_validate(response_of(asks, reply))
            except ValueError as error:
                problem = str(error)

    def _fault(self, error: BaseException) -> ConfigurationError:
        """Return why the server cannot be used, and what to do about it."""
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[Exception]", error).exceptions[0]
        if isinstance(error, ConfigurationError):
            return error
        server, said = self._server, one_line(error)[:300] or "it ended"
        if isinstance(error, TimeoutError):
            said = "it did not answer in time"
        elif isinstance(error, MCPError) and error.code == types.PARSE_ERROR:
            said = "its answer is not MCP"
        if server.command:
            wrote = f"; it wrote: {self._wrote}" if self._wrote else ""
            what = f"the MCP server {server.name} cannot be used: {said}{wrote}"
            return ConfigurationError(what, f"Correct its command, or run it to see more: {' '.join(server.command)}")
        status = f" (HTTP {self._status})" if self._status >= 400 else ""
        what = f"the MCP server {server.name} at {server.url} cannot be used: {said}{status}"
        how = 'Correct its address, which often ends in /mcp, or send its key: headers={"Authorization": "env:NAME"}.'
        return ConfigurationError(what, how)


def digest_of(tool: types.Tool) -> str:
    """Return the digest of what a run has pinned of a tool."""
    said = tool.model_dump(
        mode="json", include={"name", "description", "input_schema", "output_schema", "annotations"}, exclude_none=True
    )
    return hashlib.sha256(compact_json(said).encode()).hexdigest()[:16]
