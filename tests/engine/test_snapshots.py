"""A snapshot is a cache of the log: with it, without it or with a damaged one, the state is the same."""

from __future__ import annotations

from typing import Any

import pytest
from core.histories import History
from core.invariants import differences, parts
from core.moves import histories
from hypothesis import given
from pydantic import TypeAdapter

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.core.decide import due
from leadhand.core.errors import StoreError
from leadhand.core.state import RunState
from leadhand.engine import snapshots

STATE = TypeAdapter(RunState)


@pytest.mark.slow
@given(histories(most_steps=60))
def test_a_state_read_back_from_json_is_the_same_state_and_wants_the_same(history: History):
    again = STATE.validate_json(STATE.dump_json(history.state))

    assert differences(again, history.state) == {}
    assert due(again) == due(history.state)
    assert [*history.policy.next(again)] == [*history.policy.next(history.state)]
    for kind in ("ready", "live", "parked", "unsettled", "steps", "orders"):
        assert list(getattr(again, kind)) == list(getattr(history.state, kind)), f"{kind} are in another order"


@pytest.mark.parametrize("damage", ["none", "not kept", "cut off", "of another run"])
async def test_a_run_is_loaded_as_its_log_has_it_whatever_became_of_its_snapshot(
    open_world: Any, monkeypatch: pytest.MonkeyPatch, damage: str
):
    monkeypatch.setattr(snapshots, "LONG", 10)
    world = open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look])
    state = await world.run()
    entries = await world.entries()
    middle = world.state_of(entries[: len(entries) // 2])
    if damage != "not kept":
        await snapshots.keep(world.store, middle)
    for key, (seq, body) in list(world.store._snapshots.items()):
        if damage == "cut off":
            world.store._snapshots[key] = (seq, body[: len(body) // 2])
        elif damage == "of another run":
            world.store._snapshots[key] = (seq, b"{}")

    assert differences(await snapshots.load(world.store, "run_1"), state) == {}


async def test_nothing_in_a_state_from_a_snapshot_can_be_changed(open_world: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshots, "LONG", 10)
    world = open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look])
    await world.run()
    entries = await world.entries()
    running = next(entry.seq for entry in entries if entry.event.type == "tool_call_returned")
    await snapshots.keep(world.store, world.state_of(entries[:running]))

    loaded = await snapshots.load(world.store, "run_1")

    assert world.store._snapshots
    assert {type(each) for each in parts(loaded)} & {dict, list, set} == set()


async def test_a_short_run_is_not_worth_a_snapshot(open_world: Any):
    world = open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look])
    await snapshots.keep(world.store, await world.run())

    assert world.store._snapshots == {}


async def test_a_run_that_is_driven_keeps_a_snapshot_now_and_then(open_world: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshots, "LONG", 10)
    monkeypatch.setattr(snapshots, "EVERY", 10)
    world = open_world(FakeModels(plan(*(ask(f"s{n}", "look", n=n) for n in range(5)))), [Bench().look])
    entries = (await world.run()) and await world.entries()
    keeper = snapshots.SnapshotKeeper(world.store, world.state_of(entries[:1]))
    kept: list[int] = []
    for seq in range(2, len(entries) + 1):
        keeper.note(world.state_of(entries[:seq]))
        await keeper.aclose()
        kept += [seq for key, (seq, _) in world.store._snapshots.items() if seq not in kept]

    assert kept == list(range(11, len(entries) + 1, 10))


async def test_at_most_half_of_a_log_was_written_after_its_snapshot(open_world: Any, monkeypatch: pytest.MonkeyPatch):
    """Until a run is long; then snapshots are so many entries apart."""
    monkeypatch.setattr(snapshots, "LONG", 5)
    monkeypatch.setattr(snapshots, "EVERY", 20)
    world = open_world(FakeModels(plan(*(ask(f"s{n}", "look", n=n) for n in range(12)))), [Bench().look])
    entries = (await world.run()) and await world.entries()
    keeper = snapshots.SnapshotKeeper(world.store, world.state_of(entries[:1]))
    kept: list[int] = []
    for seq in range(2, len(entries) + 1):
        keeper.note(world.state_of(entries[:seq]))
        await keeper.aclose()
        kept += [seq for _, (seq, _) in world.store._snapshots.items() if seq not in kept]

    assert kept == [6, 12, 24, *range(44, len(entries) + 1, 20)]
    assert len(kept) > 3


async def test_a_store_that_cannot_keep_a_snapshot_is_no_trouble(open_world: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshots, "LONG", 1)
    world = open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look])
    state = await world.run()

    async def full(*_: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(world.store, "save_snapshot", full)
    await snapshots.keep(world.store, state)


async def test_the_snapshot_of_a_run_that_rests_is_kept_and_that_of_a_short_one_that_is_over_is_not(
    open_world: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(snapshots, "LONG", 1)
    world = open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look])
    state = await world.run()
    entries = await world.entries()
    keeper = snapshots.SnapshotKeeper(world.store, world.state_of(entries[:1]))
    await keeper.rest(state)
    assert world.store._snapshots == {}

    await keeper.rest(world.state_of(entries[:-1]))
    assert [seq for seq, _ in world.store._snapshots.values()] == [len(entries) - 1]
