"""The app on a team of its own: asked over HTTP in this process, or served for real on a free port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Self

import httpx2
from fastapi import FastAPI
from leads import leadhand_of
from server.streams import Streamed, streamed

from leadhand import Leadhand
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.steering.access import Scope
from leadhand.app.steering.keys import make_key
from leadhand.server.app import Doors, create_app
from leadhand.server.schemas import PARTS
from leadhand.server.service import Live, Service
from leadhand.server.serving import Server, bind

BASE = "http://127.0.0.1:8700"
PATIENCE_S = 90.0
OVER = ("succeeded", "partial", "failed", "cancelled")


class Door:
    """A server's app and what it stands on. Opened by :func:`door`."""

    def __init__(self, lead: Leadhand, runtime: Runtime, service: Service, app: FastAPI) -> None:
        self.lead = lead
        self.runtime = runtime
        self.service = service
        self.app = app
        self.http = self.client()
        self._moved = asyncio.Event()
        runtime.watchers.append(lambda *_: self._moved.set())
        self._let_go = asyncio.Event()
        runtime.on_release.append(lambda _: self._let_go.set())

    def client(self, base: str = BASE, **options: Any) -> httpx2.AsyncClient:
        """A client that asks the app without a network; what the app raises does not reach the client."""
        transport = httpx2.ASGITransport(self.app, raise_app_exceptions=False, client=("127.0.0.1", 4_711))
        return httpx2.AsyncClient(transport=transport, base_url=base, **options)

    async def get(self, path: str, **options: Any) -> httpx2.Response:
        return await self.http.get(path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> httpx2.Response:
        return await self.http.post(path, **({} if body is None else {"json": body}), **options)

    async def started(self, request: str = "do it", **options: Any) -> str:
        """Start a run; its id."""
        response = await self.post("/api/runs", {"request": request}, **options)
        assert response.status_code == 202, response.text
        return response.json()["run_id"]

    async def run(self, run_id: str) -> dict[str, Any]:
        """The run's document with all of its parts."""
        return (await self.get(f"/api/runs/{run_id}", params={"include": PARTS})).json()

    async def until(self, run_id: str, *statuses: str) -> dict[str, Any]:
        """The run's document, once it has one of these statuses."""
        return await self.seen(lambda: self.run(run_id), lambda run: run["status"] in statuses)

    async def over(self, run_id: str) -> dict[str, Any]:
        """The run's document, once it is over and nobody drives it any more."""
        return await self._rests(run_id, lambda run: run["status"] in OVER)

    async def parked(self, run_id: str) -> dict[str, Any]:
        """The run's document, once it is paused and nobody drives it any more."""
        return await self._rests(run_id, lambda run: run["status"] == "paused")

    async def asked(self, run_id: str) -> list[dict[str, Any]]:
        """The open questions of a run, once it waits for their answers and nobody drives it any more."""
        await self._rests(run_id, lambda run: run["status"] == "waiting")
        return (await self.get("/api/approvals", params={"run_id": run_id})).json()["approvals"]

    async def _rests(self, run_id: str, holds: Callable[[Any], object]) -> dict[str, Any]:
        """The run's document, once it is as it should be and nobody drives it any more."""

        def rests(run: dict[str, Any]) -> bool:
            return bool(holds(run)) and run["owner"] is None

        return await self.seen(lambda: self.run(run_id), rests, self._let_go)

    async def seen(
        self, look: Callable[[], Awaitable[Any]], holds: Callable[[Any], object], moved: asyncio.Event | None = None
    ) -> Any:
        """What is seen, once it is as it should be.

        A look costs as much as a step of a run. So there is one after each step, or after the event ``moved``, and
        now and then: other processes set no event, and a run is released a moment after its event.
        """
        moved = moved or self._moved
        async with asyncio.timeout(PATIENCE_S):
            while not holds(seen := await look()):
                pause_s = 0.01 if moved.is_set() else 0.1
                moved.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await moved.wait()
        return seen

    async def events(self, run_id: str) -> list[dict[str, Any]]:
        """All events of a run."""
        return (await self.get(f"/api/runs/{run_id}/events", params={"limit": 1_000})).json()["events"]

    async def key(self, name: str = "ann", *scopes: Scope) -> dict[str, str]:
        """Make a key; the header that shows it."""
        _, secret = await make_key(self.runtime.database, name, scopes or (Scope.READ, Scope.RUN))
        return {"authorization": f"Bearer {secret}"}


@contextlib.asynccontextmanager
async def door(
    home: Path, *, doors: Doors | None = None, console: Path | None = None, **team: Any
) -> AsyncGenerator[Door]:
    """A team's app, up: with its resumer. ``team`` is what :class:`leadhand.Leadhand` takes."""
    live = Live()
    async with leadhand_of(home=home, **team) as lead:
        runtime = await lead.runtime()
        runtime.texts.on_text = live.write
        service = live.service(runtime)
        app = create_app(service, doors=doors, console=console)
        opened = Door(lead, runtime, service, app)
        async with app.router.lifespan_context(app), opened.http:
            yield opened


class Served:
    """A team's app behind a real server, on a port of this machine."""

    def __init__(
        self,
        home: Path,
        *,
        doors: Doors | None = None,
        buffer: int | None = None,
        server: type[Server] = Server,
        **team: Any,
    ) -> None:
        """``buffer``: bytes that the system keeps for a client that does not read."""
        self._home, self._doors, self._buffer, self._server, self._team = home, doors, buffer, server, team
        self._open = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        live = Live()
        lead = await self._open.enter_async_context(leadhand_of(home=self._home, **self._team))
        runtime = await lead.runtime()
        runtime.texts.on_text = live.write
        service = live.service(runtime)
        self.door = Door(lead, runtime, service, create_app(service, doors=self._doors))
        self.server = self._server(self.door.app)
        listening = self._open.enter_context(contextlib.closing(bind("127.0.0.1", 0)))
        if self._buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._buffer)  # connections have it from here
        self.port: int = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.serving = asyncio.create_task(self.server.serve(sockets=[listening]))
        await self.door.http.aclose()
        client = httpx2.AsyncClient(base_url=self.url, timeout=PATIENCE_S, verify=False)  # no certificates are loaded
        self.door.http = await self._open.enter_async_context(client)
        async with asyncio.timeout(PATIENCE_S):
            while not self.server.started:  # noqa: ASYNC110 (uvicorn says it nowhere else)
                await asyncio.sleep(0.005)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()
        await self._open.aclose()

    async def end(self) -> None:
        """End the server as a signal does, and wait until it is gone."""
        self.server.should_exit = True
        async with asyncio.timeout(PATIENCE_S):
            await self.serving

    def watch(
        self, run_id: str, *, headers: dict[str, str] | None = None, **params: Any
    ) -> contextlib.AbstractAsyncContextManager[AsyncIterator[Streamed]]:
        """The stream of a run's events."""
        return streamed(self.door.http, f"/api/runs/{run_id}/events/stream", headers=headers or {}, params=params)

    def watch_view(
        self, run_id: str, *, headers: dict[str, str] | None = None, **params: Any
    ) -> contextlib.AbstractAsyncContextManager[AsyncIterator[Streamed]]:
        """The stream of a run's view."""
        return streamed(self.door.http, f"/api/runs/{run_id}/view/stream", headers=headers or {}, params=params)
