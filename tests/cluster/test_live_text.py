"""The text that a model writes on one host is seen by those who watch the run elsewhere, while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from cli.terminals import ESCAPES, spawn
from server.streams import Text, first, streamed

from cluster.machines import Cluster, until
from leadhand.dispatch.cluster.live_text import LiveText
from leadhand.engine.redaction import REDACTED
from leadhand.stores.postgres.messages import LARGEST_MESSAGE, MessageBus
from leadhand.testing.faults import Way, sent
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import says

FLOWS = str(Path(__file__).with_name("authors.py"))
SECRET = "hunter2hunter2"
HALF = f"It rains in Paris 🌧 {SECRET} and it is quiet. "
"""What the model says before it stops."""
SHOWN = f"It rains in Paris 🌧 {REDACTED} and it is "
SOON_S = 2.0


@pytest.fixture
async def model() -> AsyncIterator[ScriptedServer]:
    words = len(HALF.split())
    async with ScriptedServer(lambda _: sent(Way.HANG_BODY, says(HALF + "word " * words))) as server:
        yield server


async def writing(cluster: Cluster, model: ScriptedServer) -> str:
    """Start a run that only a host can carry out, and return its id once the model has been asked."""
    words = ("run", "--detach", "--flows", FLOWS, "--flow", "author", "--model", "openai_compatible:m", "write")
    said = await cluster.said(*words)
    await model.until(lambda: len(model.requests) >= 1)
    return said.split()[0]


@pytest.mark.slow
async def test_text_of_a_host_is_streamed_by_a_server_elsewhere(cluster: Cluster, model: ScriptedServer) -> None:
    cluster.environment |= {"LEADHAND_BASE_URL": model.base_url, "BANK_PASSWORD": SECRET}
    async with cluster.process("work", "--flows", FLOWS, "--model", "openai_compatible:m", name="host") as host:
        host.host = await host.line()
        del cluster.environment["BANK_PASSWORD"]  # only the host knows the secret
        async with cluster.process("serve", "--offline", "--port", "0", name="server") as server:
            address = await server.line()
            run_id = await writing(cluster, model)
            text, loop = Text(), asyncio.get_running_loop()
            async with httpx2.AsyncClient(base_url=address, verify=False) as client:
                for _ in range(2):  # a reload gets the text so far
                    text, began = Text(), loop.time()
                    async with streamed(client, f"/api/runs/{run_id}/events/stream", headers={}, params={}) as stream:
                        while not text.of("text/a1").startswith(SHOWN):
                            text.take(await first(stream, "delta"))
                            assert "hunter2" not in text.of("text/a1")
                    assert loop.time() - began < SOON_S
                events = (await client.get(f"/api/runs/{run_id}/events")).text
            assert "It rains" not in events, "live text is never in the log"
            child = await asyncio.to_thread(
                spawn, "runs", "watch", run_id, "--home", str(cluster.folder / "watcher"),
                LEADHAND_DATABASE_URL=cluster.url, NO_COLOR="1",
            )  # fmt: skip
            try:
                await asyncio.to_thread(child.expect, "It rains in Paris", 20)
                assert "hunter2" not in ESCAPES.sub("", child.before)
            finally:
                await asyncio.to_thread(child.close, True)
            await cluster.said("runs", "cancel", run_id)


class Bus:
    """Processes that hear each other, and may lose what is said."""

    def __init__(self) -> None:
        self.hearing: dict[Any, Callable[[str], None]] = {}
        self.said: list[str] = []
        self.loses: Callable[[str], bool] = lambda _: False

    def process(self, on_text: Callable[[str, str, str], None] = lambda *_: None) -> LiveText:
        return LiveText(cast("MessageBus", Ear(self)), on_text)


class Ear:
    """One process's end of the bus."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def listen(self, hear: Callable[[str], None], connected: Callable[[], None]) -> None:
        if self not in self._bus.hearing:
            self._bus.hearing[self] = hear
            connected()

    def send(self, messages: list[str]) -> None:
        for message in messages:
            self._bus.said.append(message)
            assert len(message.encode()) <= LARGEST_MESSAGE
            for ear, hear in list(self._bus.hearing.items()):
                if ear is not self and not self._bus.loses(message):
                    hear(message)


class Watcher:
    """What one process has heard of the texts of a run."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def write(self, run_id: str, attempt: str, piece: str) -> None:
        self.texts[attempt] = self.texts.get(attempt, "") + piece if piece else ""

    async def sees(self, attempt: str, text: str) -> None:
        await until(lambda: self.texts.get(attempt) == text)


def opened() -> tuple[Bus, LiveText, Watcher, LiveText]:
    bus, watcher = Bus(), Watcher()
    author, watching = bus.process(), bus.process(watcher.write)
    author.start()
    return bus, author, watcher, watching


async def test_nothing_is_sent_while_nobody_watches() -> None:
    bus, author, watcher, watching = opened()
    author.write("run", "a", "Light rain. ")
    assert author._timer is None
    assert bus.said == []
    watching.watch("run")
    await watcher.sees("a", "Light rain. ")
    assert watching.unwatch("run") == {"a"}


async def test_text_that_is_long_or_strange_arrives_as_it_is_shown_here() -> None:
    _, author, watcher, watching = opened()
    watching.watch("run")
    text = '\x00\x01"\\\n🌧é ' * 5_000
    author.write("run", "a", text)
    author.write("run", "b", "beside it")
    await watcher.sees("a", text)
    await watcher.sees("b", "beside it")
    author.write("run", "a", "")
    author.write("run", "a", "Anew ")
    await watcher.sees("a", "Anew ")


async def test_a_lost_message_is_followed_by_the_whole_text() -> None:
    bus, author, watcher, watching = opened()
    watching.watch("run")
    author.write("run", "a", "One ")
    await watcher.sees("a", "One ")
    bus.loses = lambda message: "two" in message
    author.write("run", "a", "two ")
    await until(lambda: any("two" in each for each in bus.said))
    bus.loses = lambda _: False
    author.write("run", "a", "three ")
    await watcher.sees("a", "One two three ")


async def test_a_text_that_ended_is_forgotten_and_a_stranger_is_ignored() -> None:
    bus, author, watcher, watching = opened()
    author.write("run", "a", "One ")
    author.ended("run", "a")
    assert author._written == {}
    watching.watch("run")
    stranger = Ear(bus)
    stranger.send(["not JSON", '["later", 1]', '["text", "other", "a", 0, 0, "x"]', "{}"])
    author.write("run", "b", "Two ")
    await watcher.sees("b", "Two ")
    assert watcher.texts == {"b": "Two "}
