"""A run of the research flow that is taken over at any event asks for exactly the steps of its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.judges import judge
from leadhand import Leadhand, Limits
from leadhand.core.events import Entry, StepIssued
from leadhand.core.evolve import replay
from leadhand.flows.closing import policy_of
from leadhand.flows.research.flow import research as flow
from leadhand.testing.scripted_model import ScriptedModel, calls, fails

from .runs import CONTRADICTED, QUESTION, SOUND, WRONG, both, lead, model, search, task

AWAY = fails("invalid", "bad_request", "away")


def judged(**answers: Any) -> ScriptedModel:
    return model(judge=judge(CONTRADICTED), writer=SOUND, **answers)


def assert_asked_again(entries: list[Entry], *, is_continued: bool = False) -> None:
    """``is_continued``: the last entries are those of a run that was reopened, whose earlier answer is out of date."""
    issued = {each.event.step.step_id for each in entries if isinstance(each.event, StepIssued)}
    for length in range(1, len(entries)):
        state = replay("run", entries[:length])
        run = policy_of(flow, state.definition)
        asked = run.advanced(state)
        closed = {key for key, each in state.steps.items() if each.closed and each.step.parent is None}
        assert asked.steps.keys() <= issued, f"at event {length}"
        if not is_continued:
            assert closed <= asked.steps.keys(), f"at event {length}"
            assert not asked.strays, f"at event {length}"
        asked.close()


async def log_of(home: Path, scripted: ScriptedModel, **options: Any) -> list[Entry]:
    async with Leadhand(home=home, models=scripted, tools=[search], check="judge") as opened:
        answer = await opened.research(QUESTION, **options)
        return await (await opened.runtime()).store.read(answer.run_id)


@pytest.mark.parametrize(
    "scripted",
    [
        judged(lead=lead(both, SOUND)),
        judged(lead=lead(both, WRONG)),
        judged(lead=lead(both, AWAY)),
        judged(lead=lead(both, WRONG), costs=AWAY),
        judged(lead=lead(calls("subagent_run", **task("size")), AWAY), size=AWAY),
    ],
    ids=["sound", "corrected", "without an answer", "with a gap", "failed"],
)
async def test_a_pass_over_any_part_of_a_log_asks_for_its_steps(home: Path, scripted: ScriptedModel) -> None:
    assert_asked_again(await log_of(home, scripted))


async def test_a_pass_over_the_log_of_a_run_that_continued_asks_for_its_steps(home: Path) -> None:
    scripted = judged(lead=lead(both, calls("filesystem_tree"), WRONG))
    async with Leadhand(home=home, models=scripted, tools=[search], check="judge") as opened:
        answer = await opened.research(QUESTION, max_turns=1)
        before = await (await opened.runtime()).store.read(answer.run_id)
        await (await opened.resume(answer.run_id, limits=Limits(max_turns=5))).answer()
        entries = await (await opened.runtime()).store.read(answer.run_id)
    assert_asked_again(before)
    assert_asked_again(entries, is_continued=True)
