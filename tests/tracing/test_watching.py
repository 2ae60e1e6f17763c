"""Whoever watches runs is told what is committed of them, and can do them no harm."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan

from leadhand import Leadhand, RunStatus
from leadhand.core.events import Entry
from leadhand.core.state import RunState


class Watcher:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[Entry] = []
        self.states: list[RunState] = []
        self.let_go: list[RunState] = []

    def watch(self, state: RunState, entries: list[Entry]) -> None:
        self.told += entries
        self.states.append(state)
        assert state.seq == entries[-1].seq

    def note_end(self, state: RunState) -> None:
        self.let_go.append(state)


async def test_a_watcher_is_told_every_entry_of_the_driving_once_and_the_state_after_it(tmp_path: Path) -> None:
    watcher, bench = Watcher(), Bench()
    async with Leadhand(models=FakeModels(plan(ask("a", "look", n=1))), tools=[bench.look], home=tmp_path) as lead:
        runtime = await lead.runtime()
        runtime.watchers.append(watcher.watch)
        runtime.on_release.append(watcher.note_end)
        run = await lead.start("look")
        state = await run.wait()
        log = await runtime.store.read(run.run_id)

    assert watcher.told == log[1:]
    assert watcher.states[-1] == state
    assert watcher.let_go == [state]


async def test_what_was_known_before_the_driving_is_not_told_again(tmp_path: Path) -> None:
    watcher, bench = Watcher(), Bench()
    models = FakeModels(plan(ask("a", "send", amount=5)))
    async with Leadhand(models=models, tools=[bench.send()], home=tmp_path) as lead:
        run = await lead.start("send")
        assert (await run.wait()).status is RunStatus.WAITING
        (asked,) = await run.approvals()
        await run.approve(asked)
        runtime = await lead.runtime()
        known = len(await runtime.store.read(run.run_id))
        runtime.watchers.append(watcher.watch)
        await (await lead.resume(run.run_id)).wait()

    assert min(entry.seq for entry in watcher.told) > known


async def test_a_watcher_that_fails_harms_neither_the_run_nor_the_others_and_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_told: Any) -> None:
        raise ZeroDivisionError("canary: what the run is about")

    watcher, bench = Watcher(), Bench()
    async with Leadhand(models=FakeModels(plan(ask("a", "look", n=1))), tools=[bench.look], home=tmp_path) as lead:
        runtime = await lead.runtime()
        runtime.watchers += [fail, watcher.watch]
        runtime.on_release += [fail, watcher.note_end]
        with caplog.at_level(logging.ERROR, "leadhand"):
            answer = await lead.run("look")

    assert answer.status is RunStatus.SUCCEEDED
    assert len(watcher.states) > 1
    assert len(watcher.let_go) == 1
    (record,) = caplog.records
    assert "ZeroDivisionError" in record.getMessage()
    assert "canary" not in caplog.text


async def test_letting_go_is_told_of_a_run_that_is_stopped_in_the_middle(tmp_path: Path) -> None:
    watcher, begun = Watcher(), asyncio.Event()

    def note(_state: RunState, _entries: list[Entry]) -> None:
        begun.set()

    models = FakeModels(plan(ask("a", "hanging")))
    async with Leadhand(models=models, tools=[Bench().hanging(timeout=30)], home=tmp_path) as lead:
        runtime = await lead.runtime()
        runtime.watchers += [watcher.watch, note]
        runtime.on_release.append(watcher.note_end)
        await lead.start("hang")
        await begun.wait()

    (last,) = watcher.let_go
    assert last.status is RunStatus.RUNNING
    assert last == watcher.states[-1]
