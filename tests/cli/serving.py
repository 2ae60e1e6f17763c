"""A scripted model behind a real server, for commands that run in the test's own thread or in other processes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Generator

import pytest

from leadhand.ports import Models
from leadhand.testing.faults import served_by
from leadhand.testing.model_server import ScriptedServer

SCRIPTED = "openai_compatible:scripted"
"""The model that :func:`serving` serves."""


@contextlib.contextmanager
def serving(models: Models, monkeypatch: pytest.MonkeyPatch) -> Generator[ScriptedServer]:
    """Serve a model from another thread, where commands look for :data:`SCRIPTED`."""
    loop, server = asyncio.new_event_loop(), ScriptedServer(served_by(models))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(60)
    monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
