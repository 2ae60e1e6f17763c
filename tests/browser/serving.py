"""Servers for browsers: an app on a team of its own, or `leadhand serve` as a process that can be killed."""

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

from leadhand import Leadhand
from leadhand.server.app import Doors, create_app
from leadhand.server.console import built_console
from leadhand.server.serving import Server, bind
from leadhand.server.wiring import Live

PATIENCE_S = 60.0
OVER = ("succeeded", "partial", "failed", "cancelled")
NOBODY = "127.0.0.1:9"
"""Where no model listens."""


class Asking:
    """Asks a server what a page asks it, too, and waits until it answers what is wanted."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx2.AsyncClient(base_url=url, timeout=PATIENCE_S)

    async def get(self, path: str, **params: Any) -> Any:
        """The document at a path."""
        response = await self.http.get(path, params=params)
        response.raise_for_status()
        return response.json()

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """What the service answers to a wish."""
        response = await self.http.post(path, json=body)
        assert response.is_success, response.text
        return response.json()

    async def started(self, request: str, **more: Any) -> str:
        """Start a run; its id."""
        return (await self.post("/api/runs", {"request": request, **more}))["run_id"]

    async def until(self, run_id: str, *statuses: str) -> dict[str, Any]:
        """The run's document, once it has one of these statuses."""
        return await self.seen(lambda: self.get(f"/api/runs/{run_id}"), lambda run: run["status"] in statuses)

    async def over(self, run_id: str) -> dict[str, Any]:
        """The run's document, once it is over and nobody drives it any more."""
        return await self.seen(
            lambda: self.get(f"/api/runs/{run_id}"), lambda run: run["status"] in OVER and run["owner"] is None
        )

    async def asked(self, run_id: str, number: int = 1) -> list[dict[str, Any]]:
        """The open questions of a run, once there are so many."""
        found = await self.seen(
            lambda: self.get("/api/approvals", run_id=run_id), lambda page: len(page["approvals"]) >= number
        )
        return found["approvals"]

    async def event(self, run_id: str, type_: str) -> dict[str, Any]:
        """The first event of a type, once there is one."""

        async def look() -> list[dict[str, Any]]:
            page = await self.get(f"/api/runs/{run_id}/events", limit=1_000)
            return [each for each in page["events"] if each["type"] == type_]

        return (await self.seen(look, bool))[0]

    async def seen(self, look: Callable[[], Awaitable[Any]], holds: Callable[[Any], object]) -> Any:
        """What is seen, once it is as it should be."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds(seen := await look()):  # noqa: ASYNC110 (others change it)
                await asyncio.sleep(0.02)
        return seen


class Served(Asking):
    """An app with the console on a free port of this machine, in this loop. ``team`` is what Leadhand takes."""

    def __init__(self, home: Path, *, doors: Doors | None = None, console: bool = True, **team: Any) -> None:
        self._home, self._doors, self._team = home, doors, team
        self._console = built_console() if console else None
        self._open = contextlib.AsyncExitStack()
        self._listening = bind("127.0.0.1", 0)
        super().__init__(f"http://127.0.0.1:{self._listening.getsockname()[1]}")

    async def __aenter__(self) -> Self:
        live = Live()
        self._open.callback(self._listening.close)
        self._open.push_async_callback(self.http.aclose)
        lead = await self._open.enter_async_context(Leadhand(home=self._home, on_text=live.write, **self._team))
        self.runtime = await lead.runtime()
        self.service = live.service(self.runtime)
        server = Server(create_app(self.service, doors=self._doors, console=self._console))
        serving = asyncio.create_task(server.serve(sockets=[self._listening]))
        self._open.push_async_callback(self._end, server, serving)
        async with asyncio.timeout(PATIENCE_S):
            while not server.started:  # noqa: ASYNC110 (uvicorn says it nowhere else)
                await asyncio.sleep(0.005)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def _end(self, server: Server, serving: asyncio.Task[None]) -> None:
        server.should_exit = True
        async with asyncio.timeout(PATIENCE_S):
            await serving


class Process(Asking):
    """`leadhand serve --offline` with tools of a file: a process that can be killed, and started again where it was."""

    def __init__(self, home: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        with contextlib.closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._command = [sys.executable, "-m", "leadhand", "serve", "--offline", "--port", str(port)]
        self._command += ["--home", str(home), *arguments]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LEADHAND_", "OLLAMA_"))}
        self._environment = {**kept, "OLLAMA_HOST": NOBODY, "LEADHAND_LOG_LEVEL": "error", **(environment or {})}
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
        """Start it, and wait until it listens."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdout=asyncio.subprocess.PIPE, stderr=log, env=self._environment
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        assert line.decode().strip() == self.url, self._log.read_text()
        await self.seen(self._answers, bool)

    async def kill(self) -> None:
        """SIGKILL: it has no time for a word."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await process.communicate()

    async def _answers(self) -> bool:
        try:
            return (await self.http.get("/healthz")).is_success
        except httpx2.TransportError:
            return False
