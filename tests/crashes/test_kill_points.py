"""Processes that are really killed, at named points: what was finished stays so, what was under way is done again."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashes.killing import Theatre, check_resumed, left_by
from leadhand.core.approval import args_hash
from leadhand.core.events import ApprovalAnswered, ApprovalRequested, AttemptReturned, RunClaimed
from leadhand.core.evolve import replay
from leadhand.core.run import RunStatus

THREE = [("piece", 1), ("piece", 2), ("piece", 3)]
BELOW = [("piece", 1), ("piece", -2), ("piece", 3)]
"""The second piece fails for good, and a repair order does it another way."""


@pytest.fixture
def theatre(sqlite_url: str, tmp_path: Path) -> Theatre:
    return Theatre(sqlite_url, tmp_path, list(THREE))


@pytest.fixture
def any_theatre(url: str, tmp_path: Path) -> Theatre:
    """On each kind of database in turn."""
    return Theatre(url, tmp_path, list(THREE))


@pytest.mark.parametrize("point", ["plan", "piece 2", "review", "compose"])
async def test_killed_while(theatre: Theatre, point: str) -> None:
    theatre.plan = BELOW  # its second piece is done by the repair order
    async with theatre.life(hold=point) as life:
        run_id = (await life.said())["run_id"]
        await theatre.held(point)
        await life.kill()
    cut = await left_by(theatre, run_id)
    if point == "piece 2":
        assert list(cut.state.orders) == ["wo-001", "wo-002"]
        assert cut.completed == {"wo-001.0", "wo-001.2"}
    await check_resumed(theatre, cut)


async def test_killed_while_the_answer_is_shaped(theatre: Theatre) -> None:
    """The value is there after the restart, and what was done before is not done again."""
    theatre.config = {"shape": True}
    async with theatre.life(hold="shape") as life:
        run_id = (await life.said())["run_id"]
        await theatre.held("shape")
        await life.kill()
    cut = await left_by(theatre, run_id)
    await check_resumed(theatre, cut)
    asked = theatre.noted("asked", cut.lines)
    assert [each.rpartition("/")[0] for each in asked] == [f"{run_id}/shape"]
    async with theatre.store() as store:
        finished = replay(run_id, await store.read(run_id)).finished
    assert finished is not None
    assert sorted(finished.value["pieces"]) == ["piece 1", "piece 2", "piece 3"]


async def test_killed_before_the_answer_is_shaped(theatre: Theatre) -> None:
    theatre.config = {"shape": True}
    async with theatre.life(die=["before", "step_issued", "shape"]) as life:
        run_id = (await life.said())["run_id"]
        await life.died()
    cut = await left_by(theatre, run_id)
    assert "shape" not in cut.state.steps
    await check_resumed(theatre, cut)
    async with theatre.store() as store:
        finished = replay(run_id, await store.read(run_id)).finished
    assert finished is not None
    assert len(finished.value["pieces"]) == 3


async def test_killed_in_the_middle_of_a_fan_out(any_theatre: Theatre) -> None:
    """A hundred pieces in twenty slots; killed as soon as thirty are seen to be complete, wherever it then is."""
    theatre = any_theatre
    theatre.plan = [("piece", n) for n in range(100)]
    theatre.config = {"max_workers": 20, "seconds": 0.1}
    async with theatre.life() as life, theatre.store() as store:
        run_id = (await life.said())["run_id"]
        async for batch in store.follow(run_id):
            if batch and (await store.run(run_id)).completed >= 30:
                break
        await life.kill()
    cut = await left_by(theatre, run_id)
    assert 30 <= len(cut.completed) < 100
    await check_resumed(theatre, cut)
    assert len(set(theatre.noted("call"))) == 100
    assert len(theatre.noted("call")) <= 100 + 20, "more was done again than was under way"


async def test_killed_while_the_plan_is_being_written(theatre: Theatre) -> None:
    """Pieces that were done before the plan was complete are not done again, although the plan is."""
    theatre.plan = [("piece", n) for n in range(20)]
    async with theatre.life(word_s=0.05) as life, theatre.store() as store:
        run_id = (await life.said())["run_id"]
        async for batch in store.follow(run_id):
            if batch and (await store.run(run_id)).completed >= 3:
                break
        await life.kill()
    cut = await left_by(theatre, run_id)
    assert not cut.state.orders
    assert len(cut.completed) >= 3
    await check_resumed(theatre, cut)
    made = theatre.noted("call")
    assert all(made.count(f"{run_id}/{key}/t0/c0") == 1 for key in cut.completed)


@pytest.mark.parametrize(
    ("moment", "event", "subject"),
    [
        ("before", "tool_call_returned", "wo-001.1"),
        ("after", "attempt_returned", "wo-001.1"),
        ("before", "step_settled", "wo-001.1"),
        ("before", "run_finished", ""),
    ],
)
async def test_killed_in_the_middle_of_the_commit_of(theatre: Theatre, moment: str, event: str, subject: str) -> None:
    await _killed_in_a_commit(theatre, moment, event, subject)


async def test_killed_between_a_result_and_its_commit_on_a_server(postgres_tables_url: str, tmp_path: Path) -> None:
    await _killed_in_a_commit(
        Theatre(postgres_tables_url, tmp_path, list(THREE)), "before", "attempt_returned", "wo-001.1"
    )


async def _killed_in_a_commit(theatre: Theatre, moment: str, event: str, subject: str) -> None:
    async with theatre.life(die=[moment, event, subject], max_workers=1) as life:
        run_id = (await life.said())["run_id"]
        await life.died()
    cut = await left_by(theatre, run_id)
    there = [entry for entry in cut.log if entry.event.type == event and entry.event.subject.startswith(subject)]
    assert bool(there) is (moment == "after")
    await check_resumed(theatre, cut)


async def test_killed_at_the_very_end_the_run_is_over_and_its_answer_is_there(theatre: Theatre) -> None:
    async with theatre.life(die=["after", "run_finished", ""]) as life:
        run_id = (await life.said())["run_id"]
        await life.died()
    async with theatre.life(resume=run_id) as life:
        (refused,) = await life.rest()
    assert refused["refused"] == "UsageError"
    async with theatre.store() as store:
        listing = await store.run(run_id)
        assert (listing.status, listing.owner, listing.orphan) == (RunStatus.SUCCEEDED, None, False)


async def test_killed_again_and_again_it_comes_to_its_end(theatre: Theatre) -> None:
    theatre.plan = BELOW
    run_id = ""
    for point in ("plan", "piece 1", "piece 2"):
        async with theatre.life(hold=point, **({"resume": run_id} if run_id else {})) as life:
            run_id = (await life.said())["run_id"]
            await theatre.held(point)
            await life.kill()
    await check_resumed(theatre, await left_by(theatre, run_id))


async def test_killed_while_one_is_parked_and_others_work_it_asks_once(theatre: Theatre) -> None:
    theatre.plan = [("pay", 5), ("piece", 1), ("piece", 2)]
    async with theatre.life(hold="piece 2") as life, theatre.store() as store:
        run_id = (await life.said())["run_id"]
        async for batch in store.follow(run_id):
            if any(entry.event.type == "approval_requested" for entry in batch):
                break
        await theatre.held("piece 2")
        await life.kill()
    cut = await left_by(theatre, run_id)
    assert list(cut.state.parked) == ["wo-001.0"]

    # Resumed, it does what is left and waits for the answer; and is killed while it waits.
    async with theatre.life(resume=run_id, hold="end") as life:
        await life.said()
        assert (await life.said())["status"] == "waiting"
        await life.kill()
    assert not [call for call in theatre.noted("call") if "wo-001.0" in call], "it was paid without a yes"
    async with theatre.store() as store:
        log = await store.read(run_id)
        assert sum(isinstance(entry.event, ApprovalRequested) for entry in log) == 1
        assert not (await store.run(run_id)).orphan, "who waits for a person is not left behind"
        (asked,) = replay(run_id, log).approvals.values()
        answer = ApprovalAnswered(approval_id=asked.approval_id, approve=True, args_hash=args_hash(asked.args), by="me")
        await store.append(run_id, [answer])

    assert await theatre.resumed(run_id) == {"status": "succeeded", "answer": theatre.answer}
    assert len([call for call in theatre.noted("call") if "wo-001.0" in call]) == 1


async def test_killed_in_the_middle_of_what_is_done_once_it_is_never_done_again(theatre: Theatre) -> None:
    """A person is to say what became of it."""
    theatre.plan = [("pay", 5), ("piece", 1)]
    async with theatre.life(hold="end") as life:
        run_id = (await life.said())["run_id"]
        assert (await life.said())["status"] == "waiting"
    async with theatre.store() as store:
        (asked,) = replay(run_id, await store.read(run_id)).approvals.values()
        answer = ApprovalAnswered(approval_id=asked.approval_id, approve=True, args_hash=args_hash(asked.args), by="me")
        await store.append(run_id, [answer])
    async with theatre.life(resume=run_id, hold="pay") as life:
        await life.said()
        await theatre.held("pay")
        await life.kill()
    ended = await theatre.resumed(run_id)
    assert ended["status"] == "waiting"
    assert len([call for call in theatre.noted("call") if "wo-001.0" in call]) == 1
    async with theatre.store() as store:
        state = replay(run_id, await store.read(run_id))
    assert list(state.parked) == ["wo-001.0"]
    (question,) = [asked for asked in state.approvals.values() if asked.status == "pending"]
    assert question.kind == "effect"


@pytest.mark.slow
async def test_of_two_processes_on_one_database_one_is_killed_and_the_other_is_as_well_as_ever(
    any_theatre: Theatre,
) -> None:
    theatre = any_theatre
    async with theatre.life(hold="piece 2") as doomed, theatre.life(hold="piece 3") as other:
        lost, kept = (await doomed.said())["run_id"], (await other.said())["run_id"]
        await theatre.held("piece 2")
        await theatre.held("piece 3")
        await doomed.kill()
        cut = await left_by(theatre, lost)
        theatre.gate.touch()
        assert await other.rest() == [{"status": "succeeded", "answer": theatre.answer}]
    async with theatre.store() as store:
        events = [entry.event for entry in await store.read(kept)]
        assert not any(isinstance(event, RunClaimed) for event in events)
        assert not any(isinstance(event, AttemptReturned) and event.lost for event in events)
        assert await store.read(lost) == cut.log, "the other touched what is not its own"
        assert (await store.run(lost)).orphan
    await check_resumed(theatre, cut)
