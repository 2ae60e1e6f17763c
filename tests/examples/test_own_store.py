"""The example of a store of one's own: it passes the contract and survives a crash."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from processes import run
from stores.contract import (
    OneStoreContract,
    asks,
    began,
    lost,
    pauses,
    returned,
    started,
    tokens,
    tokens_at_most,
    tokens_left,
)

from leadhand.core.errors import StoreError
from leadhand.core.events import RunFinished
from leadhand.core.limits import Limits, Usage
from leadhand.core.run import RunStatus
from leadhand.ports import ContextStore
from leadhand.ports.heads import RunHead

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "own_store.py"


def example() -> Any:
    spec = importlib.util.spec_from_file_location("own_store", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


JsonLinesStore = example().JsonLinesStore


class TestJsonLinesStore(OneStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[ContextStore]:
        async with aclosing(JsonLinesStore(tmp_path / "runs.jsonl")) as store:
            yield store


async def test_everything_but_caches_is_there_after_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    within = {"a": tokens_at_most(50)}
    async with aclosing(JsonLinesStore(path)) as store:
        await store.create("run-1", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
        await store.append(
            "run-1", [began("c1", tokens(30), within=within), began("c2", tokens(10))], blobs={"d": b"\0"}
        )
        await store.append(
            "run-1",
            [returned("c2", Usage(input_tokens=3)), asks("wo-001.0/t0/c0"), lost("wo-001.1/a1")],
            head=RunHead(6, 2, asking=1),
        )
        await store.append("run-1", [], head=RunHead(1))
        await store.create("run-2", started())
        await store.append("run-2", [RunFinished(status=RunStatus.FAILED, answer="")])
        entries, before = await store.read("run-1"), await store.runs()
    async with aclosing(JsonLinesStore(path)) as store:
        assert await store.read("run-1") == entries
        assert [run.evolve(owner=None, orphan=False) for run in await store.runs()] == [
            run.evolve(owner=None, orphan=False) for run in before
        ], "the same, but for the owner"
        assert (await store.run("run-1")).orphan, "nobody drives it until it is claimed"
        assert await store.blob("d") == b"\0"
        assert await tokens_left(store, "run-1", within=within) == 20
        assert await tokens_left(store, "run-1") == 67
        assert await store.claim("run-1") == 2


async def test_a_line_that_a_crash_cut_off_was_never_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    async with aclosing(JsonLinesStore(path)) as store:
        await store.create("run-1", started())
        await store.append("run-1", pauses("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"run_id": "run-1", "entr')
    async with aclosing(JsonLinesStore(path)) as store:
        assert len(await store.read("run-1")) == 2
        await store.append("run-1", pauses("b"))
    async with aclosing(JsonLinesStore(path)) as store:
        assert len(await store.read("run-1")) == 3


async def test_after_a_write_that_failed_nothing_builds_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.jsonl"
    async with aclosing(JsonLinesStore(path)) as store:
        await store.create("run-1", started())
        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", lambda descriptor: fail())
            with pytest.raises(StoreError, match="No space left"):
                await store.append("run-1", pauses("a"))
        with pytest.raises(StoreError, match="No space left"):
            await store.append("run-1", pauses("b"))
        with pytest.raises(StoreError, match="No space left"):
            await store.read("run-1")


def fail() -> None:
    raise OSError(28, "No space left on device")


async def test_a_second_store_on_the_file_is_refused(tmp_path: Path) -> None:
    async with aclosing(JsonLinesStore(tmp_path / "runs.jsonl")):
        with pytest.raises(StoreError, match=r"runs\.jsonl"):
            JsonLinesStore(tmp_path / "runs.jsonl")


def test_the_example_runs_as_a_program(tmp_path: Path) -> None:
    """own_store.py answers a request with its store."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEADHAND_")}
    ran = run([sys.executable, str(EXAMPLE)], env={**kept, "LEADHAND_HOME": str(tmp_path / "home"), "NO_COLOR": "1"})
    assert ran.returncode == 0, ran.stderr
    assert "Paris" in ran.stdout
    assert "succeeded" in ran.stdout
    assert ran.stderr == ""
