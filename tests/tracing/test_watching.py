"""Whoever watches runs is told what is committed of them, and can do them no harm."""

from __future__ import annotations

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
