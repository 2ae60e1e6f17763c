"""Who was left behind is seen at once and may be had by anybody; who lives is never robbed, however it is looked at."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from crashes.killing import Theatre, check_calls, check_resumed, left_by
from leadhand import Leadhand, Limits, RunOwned, RunStatus, ToolReturn, tool
from leadhand.cli.app import main
from leadhand.core.errors import UsageError
from leadhand.core.events import AttemptReturned, RunClaimed, ToolCallReturned
from leadhand.core.run import ENDED
from leadhand.ports import ContextStore
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask

PIECES = [("piece", 1), ("piece", 2)]


@pytest.fixture
def any_theatre(url: str, tmp_path: Path) -> Theatre:
    return Theatre(url, tmp_path, list(PIECES))


@pytest.fixture
def theatre(sqlite_url: str, tmp_path: Path) -> Theatre:
    return Theatre(sqlite_url, tmp_path, list(PIECES))


def listed(capsys: pytest.CaptureFixture[str], *place: str) -> dict[str, Any]:
    """The only run, as ``leadhand runs list`` has it."""
    capsys.readouterr()
    assert main(["runs", "list", "--json", *place]) == 0
    (line,) = json.loads(capsys.readouterr().out)
    return line


async def test_a_living_process_is_not_robbed_from_another_home(
    theatre: Theatre, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = str(tmp_path / "another home")
    place = ("--home", elsewhere, "--database", theatre.url)
    async with theatre.life(hold="piece 2") as life:
        run_id = (await life.said())["run_id"]
        await theatre.held("piece 2")
        assert (await asyncio.to_thread(listed, capsys, *place))["orphan"] is False
        async with theatre.life(resume=run_id, home=elsewhere) as thief:
            (refused,) = await thief.rest()
        assert refused["refused"] == "RunOwned"
        await life.kill()
    cut = await left_by(theatre, run_id)
    assert cut.state.epoch == 1, "somebody else has decided something"
    line = await asyncio.to_thread(listed, capsys, *place)
    assert (line["run_id"], line["orphan"], line["owner"]) == (run_id, True, None)
    theatre.config["home"] = elsewhere
    await check_resumed(theatre, cut)


@pytest.mark.slow
async def test_a_forked_child_is_no_owner(any_theatre: Theatre) -> None:
    """A tool forks; its parent is killed, and the child lives on with all that a fork copies."""
    theatre = any_theatre
    theatre.plan = [("fork", 1), ("piece", 2)]
    async with theatre.life(hold="piece 2", max_workers=1) as life:
        run_id = (await life.said())["run_id"]
        await theatre.held("piece 2")
        (child,) = theatre.noted("forked")
        async with theatre.store() as store:
            assert not (await store.run(run_id)).orphan
        try:
            await life.kill()
            cut = await left_by(theatre, run_id)
            os.kill(int(child), 0)  # it lives
            assert cut.completed == {"wo-001.0"}
            await check_resumed(theatre, cut)
        finally:
            os.kill(int(child), 9)


async def test_of_many_who_resume_a_run_at_once_one_gets_it(theatre: Theatre) -> None:
    async with theatre.life(hold="piece 2") as life:
        run_id = (await life.said())["run_id"]
        await theatre.held("piece 2")
        await life.kill()
    cut = await left_by(theatre, run_id)
    async with AsyncExitStack() as stack:
        # Whoever gets it holds it until all have asked.
        lives = [
            await stack.enter_async_context(theatre.life(resume=run_id, await_go=True, hold="piece 2"))
            for _ in range(4)
        ]
        for life in lives:
            assert await life.said() == {"ready": True}
        for life in lives:
            await life.tell()
        first = [await life.said() for life in lives]
        winner = lives[first.index({"run_id": run_id})]
        assert sorted(said.get("refused", "") for said in first) == ["", "RunOwned", "RunOwned", "RunOwned"]
        theatre.gate.touch()
        assert await winner.rest() == [{"status": "succeeded", "answer": theatre.answer}]
    await check_calls(theatre, cut)


def test_two_threads_with_a_leadhand_each_do_not_rob_each_other(sqlite_url: str, tmp_path: Path) -> None:
    """One process, one home, one database: alive is who has a Leadhand open, not who has the process."""
    made: list[int] = []
    run_ids: list[str] = []
    ended: list[RunStatus] = []
    held, refused, closed = threading.Event(), threading.Event(), threading.Event()

    @tool
    async def look(n: int) -> ToolReturn:
        """Look at number n; the second one waits until its first Leadhand is closed."""
        made.append(n)
        while n == 2 and not closed.is_set():
            held.set()
            await asyncio.sleep(0.005)
        return ToolReturn(raw=n, summary=f"saw {n}")

    def lead() -> Leadhand:
        planned = plans(subtask("a", "look", n=1), subtask("b", "look", n=2))
        models = ScriptedModel(plan=planned, lenient=True)
        return Leadhand(models=models, tools=[look], home=tmp_path, store=sqlite_url, limits=Limits(max_workers=1))

    async def owner() -> None:
        async with lead() as mine:
            run_ids.append((await mine.start("look twice")).run_id)
            await asyncio.to_thread(refused.wait, 30)

    async def other() -> None:
        await asyncio.to_thread(held.wait, 30)
        async with lead() as mine:
            (run_id,) = run_ids
            with pytest.raises(RunOwned):
                await mine.resume(run_id)
            assert (await mine.attach(run_id)).state.epoch == 1, "it was taken over by being looked at"
            refused.set()
            await asyncio.to_thread(thread.join)
            closed.set()
            ended.append((await (await mine.resume(run_id)).answer()).status)

    thread = threading.Thread(target=lambda: asyncio.run(owner()))
    thread.start()
    try:
        asyncio.run(other())
    finally:
        refused.set()
        thread.join()
    assert ended == [RunStatus.SUCCEEDED]
    assert made == [1, 2, 2]


async def test_a_run_whose_lead_was_closed_is_an_orphan_at_once(sqlite_url: str, tmp_path: Path) -> None:
    """Nobody is killed: a program that closes its Leadhand lets go, and the next one finds the run."""
    began = asyncio.Event()

    @tool
    async def hang() -> None:
        """Hang."""
        began.set()
        await asyncio.Event().wait()

    def lead() -> Leadhand:
        models = ScriptedModel(plan=plans(subtask("a", "hang")), lenient=True)
        return Leadhand(models=models, tools=[hang], home=tmp_path, store=sqlite_url)

    async with lead() as first:
        run_id = (await first.start("hang")).run_id
        await began.wait()
    began.clear()
    async with lead() as second:
        store = (await second.runtime()).store
        listing = await store.run(run_id)
        assert (listing.orphan, listing.owner, listing.epoch) == (True, None, 1)
        assert not began.is_set(), "it was taken over unasked"
        run = await second.attach(run_id)
        await began.wait()
        assert run.state.epoch == 2


PROCESSES = 4
RUNS = 4
"""How many runs each process makes one after another, three times at once."""


async def steals(store: ContextStore, refusals: Counter[str]) -> None:
    """Try to become the owner of every run there is, again and again."""
    while True:
        for listing in await store.runs(status=RunStatus.RUNNING):
            try:
                await store.claim(listing.run_id)
            except (RunOwned, UsageError) as refusal:
                refusals[type(refusal).__name__] += 1
            else:
                refusals["none"] += 1
        await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_nothing_is_locked_lost_or_stolen(sqlite_url: str, tmp_path: Path) -> None:
    theatre = Theatre(sqlite_url, tmp_path, [("piece", n) for n in range(10)])
    refusals: Counter[str] = Counter()
    async with theatre.store() as store, AsyncExitStack() as stack:
        lives = [await stack.enter_async_context(theatre.life(hammer=RUNS)) for _ in range(PROCESSES)]
        for life in lives:
            assert await life.said() == {"ready": True}
        for life in lives:
            await life.tell()
        thief = asyncio.create_task(steals(store, refusals))
        said = [line for life in lives for line in await life.rest()]  # a complaint of any would end the test here
        thief.cancel()
        await asyncio.gather(thief, return_exceptions=True)

        assert refusals["RunOwned"] > 0, "the thief never got near a run"
        assert refusals["none"] == 0, "a run was stolen from a living process"
        assert len(said) == PROCESSES * 3 * RUNS
        assert {(line["status"], line["answer"]) for line in said} == {("succeeded", theatre.answer)}
        calls = Counter(theatre.noted("call"))
        assert set(calls.values()) == {1}
        returned: list[str] = []
        for line in said:
            run_id = line["run_id"]
            listing = await store.run(run_id)
            log = await store.read(run_id)
            assert [entry.seq for entry in log] == list(range(1, listing.head_seq + 1))
            assert not any(isinstance(entry.event, RunClaimed) for entry in log)
            assert not any(isinstance(entry.event, AttemptReturned) and entry.event.lost for entry in log)
            assert (listing.status in ENDED, listing.owner, listing.completed) == (True, None, len(theatre.plan))
            returned += [f"{run_id}/{e.event.call_id}" for e in log if isinstance(e.event, ToolCallReturned)]
        assert Counter(returned) == calls, "what a tool returned is not in the log, or twice"
