"""Servers for browsers: an app in this process, or `leadhand serve` as a process that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self

import httpx2
from leads import leadhand_of
from processes import start_async

from leadhand.server.app import Doors, create_app
from leadhand.server.console import built_console
from leadhand.server.service import Live
from leadhand.server.serving import Server, bind

PATIENCE_S = 90.0
OVER = ("succeeded", "partial", "failed", "cancelled")
NO_MODEL = "127.0.0.1:9"
"""An address at which no model listens."""
_listening: list[socket.socket] = []
"""Sockets of servers that ended. They go on listening, so that the next server has the same origin: Chromium then does
not compile the console again."""


class Client:
    """A client of a server that waits for states."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx2.AsyncClient(base_url=url, timeout=PATIENCE_S, verify=False)  # no certificates are loaded

    async def get(self, path: str, **params: Any) -> Any:
        """Return the document at a path."""
        response = await self.http.get(path, params=params)
        response.raise_for_status()
        return response.json()

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post a body; return the document of the response."""
        response = await self.http.post(path, json=body)
        assert response.is_success, response.text
        return response.json()

    async def started(self, request: str, **more: Any) -> str:
        """Start a run; return its ID."""
        return (await self.post("/api/runs", {"request": request, **more}))["run_id"]

    async def until(self, run_id: str, *statuses: str) -> dict[str, Any]:
        """Wait until the run has one of these statuses; return its document."""
        return await self.wait_for(lambda: self.get(f"/api/runs/{run_id}"), lambda run: run["status"] in statuses)

    async def finished(self, run_id: str) -> dict[str, Any]:
        """Wait until the run is over and no process executes it; return its document."""
        return await self.wait_for(
            lambda: self.get(f"/api/runs/{run_id}"), lambda run: run["status"] in OVER and run["owner"] is None
        )

    async def open_approvals(self, run_id: str, number: int = 1) -> list[dict[str, Any]]:
        """Wait until a run has so many open approvals; return them."""
        found = await self.wait_for(
            lambda: self.get("/api/approvals", run_id=run_id), lambda page: len(page["approvals"]) >= number
        )
        return found["approvals"]

    async def event(self, run_id: str, type_: str) -> dict[str, Any]:
        """Wait for the first event of a type; return it."""

        async def look() -> list[dict[str, Any]]:
            page = await self.get(f"/api/runs/{run_id}/events", limit=1_000)
            return [each for each in page["events"] if each["type"] == type_]

        return (await self.wait_for(look, bool))[0]

    async def wait_for(self, look: Callable[[], Awaitable[Any]], holds: Callable[[Any], object]) -> Any:
        """Call ``look`` until its result passes ``holds``; return the result."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds(seen := await look()):  # noqa: ASYNC110 (others change it)
                await asyncio.sleep(0.05)
        return seen


class Served(Client):
    """An app with the console on a free port, in this loop. ``team`` are arguments of Leadhand."""

    def __init__(self, home: Path, *, doors: Doors | None = None, console: bool = True, **team: Any) -> None:
        self._home, self._doors, self._team = home, doors, team
        self._console = built_console() if console else None
        self._open = contextlib.AsyncExitStack()
        self._listening = _listening.pop() if _listening else bind("127.0.0.1", 0)
        super().__init__(f"http://127.0.0.1:{self._listening.getsockname()[1]}")

    async def __aenter__(self) -> Self:
        live = Live()
        self._open.callback(_listening.append, self._listening)
        self._open.push_async_callback(self.http.aclose)
        lead = await self._open.enter_async_context(leadhand_of(home=self._home, **self._team))
        self.runtime = await lead.runtime()
        self.runtime.texts.on_text = live.write
        self.service = live.service(self.runtime)
        server = Server(create_app(self.service, doors=self._doors, console=self._console))
        serving = asyncio.create_task(server.serve(sockets=[self._listening.dup()]))
        self._open.push_async_callback(self._end, server, serving)
        async with asyncio.timeout(PATIENCE_S):
            while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
                await asyncio.sleep(0.005)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def _end(self, server: Server, serving: asyncio.Task[None]) -> None:
        server.should_exit = True
        async with asyncio.timeout(PATIENCE_S):
            await serving


class Process(Client):
    """`leadhand serve --offline` as a process that can be killed and started again."""

    def __init__(self, home: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        with contextlib.closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._command = [sys.executable, "-m", "leadhand", "serve", "--offline", "--port", str(port)]
        self._command += ["--home", str(home), *arguments]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LEADHAND_", "OLLAMA_"))}
        self._environment = {**kept, "OLLAMA_HOST": NO_MODEL, "LEADHAND_LOG_LEVEL": "error", **(environment or {})}
        self._log = home.with_name("serve.log")
        self._process: asyncio.subprocess.Process | None = None
        super().__init__(f"http://127.0.0.1:{port}")

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()
        await self.kill()

    async def start(self) -> None:
        """Start the process and wait until it listens."""
        with self._log.open("ab") as log:
            self._process = await start_async(
                *self._command, stdout=asyncio.subprocess.PIPE, stderr=log, env=self._environment
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        assert line.decode().strip() == self.url, self._log.read_text()
        await self.wait_for(self._answers, bool)

    async def kill(self) -> None:
        """Kill the process with SIGKILL."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await process.communicate()

    async def _answers(self) -> bool:
        try:
            return (await self.http.get("/healthz")).is_success
        except httpx2.TransportError:
            return False
