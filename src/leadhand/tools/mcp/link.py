"""One open connection to an MCP server. A task of its own opens and closes it, as the library requires."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any, cast

import anyio
import httpx2
from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from leadhand.core.errors import ConfigurationError
from leadhand.core.value import compact_json, one_line
from leadhand.ports import ToolContext
from leadhand.tools.mcp.questions import DECLINE, answer_within
from leadhand.tools.mcp.settings import McpSettings
from leadhand.tools.source import from_environment

OPENING_S = 60.0
"""Seconds in which a server has to answer for the first time: its command may have to install it first."""
MOST_PAGES = 100
HTTP = httpx2.Timeout(30.0, read=None)
"""Seconds to connect and to send a request. How long a server may be silent depends on the call."""
ASKING_SHARE = 0.8
"""The part of the time of a call in which a person can answer a server of the old protocol; then it is declined."""
PROGRESS_S = 1.0
"""Seconds between two reports of the progress of a call."""
_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
PASSED_ON = re.compile(r"(?i)lang|lc_all|tz|tmpdir|(http|https|all|no)_proxy|ssl_cert_(file|dir)|\w+_ca_(certs|bundle)")
"""The variables that the process of a server gets besides PATH, HOME and the like: language, time, and the network,
without which a command such as uvx installs nothing behind a proxy."""
LOGGER = logging.getLogger("leadhand.tools.mcp")
logging.getLogger("mcp").addHandler(logging.NullHandler())  # else Python writes its warnings to stderr


class Link:
    """A connection, from its opening to its end. Use :meth:`open`."""

    def __init__(self, server: McpSettings) -> None:
        self._server = server
        self._over = asyncio.Event()
        """Set when the connection is to be closed, and when it was lost."""
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner: asyncio.Task[None] | None = None
        self._listed: tuple[float, dict[str, types.Tool]] | None = None
        self._status = 0
        """The last HTTP status of an error."""
        self._calls: list[tuple[ToolContext, float, list[str]]] = []
        """The calls that have not returned, and when their time is up."""
        self._wrote = ""
        """The last line that the process wrote to stderr."""

    @classmethod
    async def open(cls, server: McpSettings, environment: Mapping[str, str]) -> Link:
        """Open a connection. Raises ConfigurationError, with what the server wrote, if that fails."""
        whose = f"the MCP server {server.name}"
        env = {name: value for name, value in environment.items() if PASSED_ON.fullmatch(name)}
        env |= from_environment(server.env, environment, whose)
        headers = from_environment(server.headers, environment, whose)
        link = cls(server)
        link._owner = asyncio.create_task(link._own(env, headers), name=f"mcp:{server.name}")
        try:
            await asyncio.shield(link._opened)
        except asyncio.CancelledError:
            await link.aclose()
            raise
        except Exception as error:
            await link.aclose()
            raise link._fault(error) from error
        return link

    @property
    def client(self) -> Client:
        return self._opened.result()

    @property
    def is_open(self) -> bool:
        return not self._over.is_set()

    @property
    def forgot(self) -> bool:
        """Whether the server refused the last request since it does not know the session: it was started again. Only
        the old protocol has sessions; in the new one, such a status belongs to an error of the request."""
        return 400 <= self._status < 500 and self.client.protocol_version not in MODERN_PROTOCOL_VERSIONS

    async def aclose(self) -> None:
        """Close the connection; a process that does not end by itself is terminated, with its children."""
        self._over.set()
        if self._owner is not None:
            await asyncio.wait({self._owner})

    async def _own(self, env: Mapping[str, str], headers: Mapping[str, str]) -> None:
        """Open the connection, keep it until it is closed or lost, and close it."""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(OPENING_S):
                    transport = await self._transport(stack, env, headers)
                    client = Client(
                        _watched(transport, self._over),
                        mode="auto",
                        cache=None,
                        client_info=types.Implementation(name="leadhand", version=version("leadhand")),
                        elicitation_callback=self._asked,
                    )
                    await stack.enter_async_context(client)
                self._opened.set_result(client)
                await self._over.wait()
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(error if isinstance(error, Exception) else ConnectionError(str(error)))
            if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit):
                raise
            LOGGER.debug("the connection to the MCP server %s ended", self._server.name, exc_info=error)
        finally:
            self._over.set()

    async def _transport(self, stack: AsyncExitStack, env: Mapping[str, str], headers: Mapping[str, str]) -> Any:
        server = self._server
        if server.url:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=dict(headers), timeout=HTTP))
            http.event_hooks["response"] = [self._note_status]
            return streamable_http_client(server.url, http_client=http)
        command, *args = server.command
        reading, writing = os.pipe()
        reader = threading.Thread(target=self._read, args=(reading,), daemon=True)
        reader.start()
        stack.push_async_callback(asyncio.to_thread, reader.join, 1.0)
        errlog = stack.enter_context(os.fdopen(writing, "w"))
        given = StdioServerParameters(command=command, args=args, env=dict(env), cwd=server.directory or None)
        return stdio_client(given, errlog)

    def _read(self, stderr: int) -> None:
        """Log what a process writes to stderr, until it and its children have ended."""
        with os.fdopen(stderr, errors="replace") as lines:
            for line in filter(None, map(str.strip, lines)):
                self._wrote = line
                LOGGER.debug("the MCP server %s wrote: %s", self._server.name, line)

    async def _note_status(self, response: httpx2.Response) -> None:
        self._status = response.status_code if response.status_code >= 400 else self._status

    # --- requests ----------------------------------------------------------------------------------------------------

    async def listed(self, fresh_s: float = 0.0) -> Mapping[str, types.Tool]:
        """Return the tools that the server offers, by name, as it said at most ``fresh_s`` seconds ago. Raises as the
        library does."""
        if self._listed is None or self._listed[0] + fresh_s <= time.monotonic():
            self._status = 0
            found: dict[str, types.Tool] = {}
            cursor: str | None = None
            for _ in range(MOST_PAGES):
                page = await self.client.list_tools(cursor=cursor)
                found |= {each.name: each for each in page.tools}
                if (cursor := page.next_cursor) is None:
                    break
            self._listed = (time.monotonic(), found)
        return self._listed[1]

    async def call(
        self, params: types.CallToolRequestParams, context: ToolContext, timeout_s: float
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool, for which there are ``timeout_s`` seconds. Raises as the library does."""
        self._status, reported_at = 0, 0.0
        unanswered = list[str]()
        asked = (context, time.monotonic() + ASKING_SHARE * timeout_s, unanswered)

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
        response = await answer_within(call, self._server.name, params, until)
        if response is None:
            unanswered.append(params.message)
        return response or types.ElicitResult(action=DECLINE)

    def _fault(self, error: Exception) -> ConfigurationError:
        """Return why the server cannot be used, and what to do about it."""
        found, server = next(_leaves(error)), self._server
        said = one_line(found)[:300] or "it did not answer in time"
        known = (f" at {server.url}" * bool(server.url), f" (HTTP {self._status})" * bool(self._status))
        wrote = f"; it wrote: {self._wrote}" * bool(self._wrote)
        what = f"the MCP server {server.name}{known[0]} cannot be used: {said}{known[1]}{wrote}"
        if server.command:
            return ConfigurationError(what, f"Correct its command, or run it to see more: {' '.join(server.command)}")
        return ConfigurationError(what, 'Correct its address, or send its key: headers={"Authorization": "env:NAME"}.')


def digest_of(tool: types.Tool) -> str:
    """Return the digest of what a run has pinned of a tool."""
    said = tool.model_dump(
        mode="json", include={"name", "description", "input_schema", "output_schema", "annotations"}, exclude_none=True
    )
    return hashlib.sha256(compact_json(said).encode()).hexdigest()[:16]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in cast("tuple[BaseException, ...]", error.exceptions):
            yield from _leaves(each)
    else:
        yield error


@asynccontextmanager
async def _watched(transport: Any, ended: asyncio.Event) -> AsyncGenerator[Any]:
    """Open a transport, and set ``ended`` when the server closes its side: the library does not tell."""
    async with transport as (read, write):
        into, out = anyio.create_memory_object_stream[Any](0)

        async def forward() -> None:
            async with into:
                async for message in read:
                    await into.send(message)
                ended.set()

        async with anyio.create_task_group() as group:
            group.start_soon(forward)
            try:
                yield out, write
            finally:
                group.cancel_scope.cancel()
                out.close()
