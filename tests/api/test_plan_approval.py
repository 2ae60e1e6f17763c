"""Plans that a person sees before work begins: nothing runs early, and what was approved is what is carried out."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from processes import Process

from leadhand import Leadhand, RunStatus, ToolReturn, UsageError, tool
from leadhand.testing.scripted_model import ScriptedModel
from leadhand.testing.steps import plans, reviews, subtask

CALLED: list[str] = []


@tool
async def look(what: str) -> ToolReturn:
    """Look at something."""
    CALLED.append(what)
    return ToolReturn(summary=f"saw {what}")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    CALLED.clear()


def plan_of(*what: str) -> Any:
    return plans(*(subtask(f"look at {each}", "look", what=each) for each in what))


def lead_on(home: Path, *planned: Any, **settings: Any) -> Leadhand:
    model = ScriptedModel(plan=planned, lenient=True)
    return leadhand_of(models=model, tools=[look], home=home, **settings)


async def types_of(run: Any) -> list[str]:
    return [entry.event.type for entry in await run._runtime.store.read(run.run_id)]


async def test_no_work_begins_before_the_plan_is_approved(home: Path) -> None:
    async with lead_on(home, plan_of("tide", "wind").slowly(0.001)) as lead:
        run = await lead.start("look around", approve_plan=True)
        assert (await run.wait()).status is RunStatus.WAITING
        assert CALLED == []
        types = await types_of(run)
        assert not {"order_issued", "tool_call_began"}.intersection(types)

        (asked,) = await lead.approvals()
        assert asked.approval.kind == "plan"
        assert [each["args"] for each in asked.approval.args["subtasks"]] == [{"what": "tide"}, {"what": "wind"}]
        await lead.approve(asked)
        answer = await run.answer()

    assert answer.status is RunStatus.SUCCEEDED
    assert sorted(CALLED) == ["tide", "wind"]
    assert answer.plan == asked.approval.args
    assert answer.document["approve_plan"] is True


async def test_a_plan_is_approved_only_once(home: Path) -> None:
    async with lead_on(home, plan_of("tide")) as lead:
        run = await lead.start("look", approve_plan=True)
        await run.wait()
        (asked,) = await lead.approvals()
        both = await asyncio.gather(lead.approve(asked), lead.deny(asked, reason="no"), return_exceptions=True)
        assert sum(isinstance(each, UsageError) for each in both) == 1
        with pytest.raises(UsageError, match="already"):
            await lead.approve(asked)
        await run.answer()
        assert (await types_of(run)).count("order_issued") <= 1


async def test_a_plan_denied_with_a_reason_is_made_again(home: Path) -> None:
    model = ScriptedModel(plan=[plan_of("tide"), plan_of("wind")], lenient=True)
    async with Leadhand(models=model, tools=[look], home=home) as lead:
        run = await lead.start("look", approve_plan=True)
        await run.wait()
        await lead.deny((await lead.approvals())[0], reason="not the tide")
        assert (await run.wait()).status is RunStatus.WAITING
        (asked,) = await lead.approvals()
        assert asked.approval.args["subtasks"][0]["args"] == {"what": "wind"}
        await lead.approve(asked)
        answer = await run.answer()

    assert (answer.status, CALLED) == (RunStatus.SUCCEEDED, ["wind"])
    second = [each for each in model.requests if each.worker == "plan"][-1]
    assert "not the tide" in second.messages[-1].text


async def test_denials_of_plans_are_bounded(home: Path) -> None:
    async with lead_on(home, plan_of("a"), plan_of("b"), plan_of("c"), plan_of("d")) as lead:
        run = await lead.start("look", approve_plan=True)
        for number in range(3):
            assert (await run.wait()).status is RunStatus.WAITING
            await lead.deny((await lead.approvals())[0], reason=f"no {number}")
        answer = await run.answer()

    assert (answer.status, CALLED) == (RunStatus.FAILED, [])
    assert answer.document["failure"]["type"] == "plan_denied"
    assert "no 2" in answer.document["failure"]["message"]


async def test_a_plan_denied_without_a_reason_ends_the_run(home: Path) -> None:
    async with lead_on(home, plan_of("a")) as lead:
        run = await lead.start("look", approve_plan=True)
        await run.wait()
        await lead.deny((await lead.approvals())[0])
        answer = await run.answer()
    assert (answer.status, CALLED) == (RunStatus.FAILED, [])
    assert answer.document["failure"]["type"] == "plan_denied"


async def test_a_plan_cannot_be_edited_or_approved_for_all_calls(home: Path) -> None:
    async with lead_on(home, plan_of("a")) as lead:
        run = await lead.start("look", approve_plan=True)
        await run.wait()
        (asked,) = await lead.approvals()
        for changed in ({"args": {"goal": "x", "subtasks": []}}, {"always": True}):
            with pytest.raises(UsageError, match="plan"):
                await lead.approve(asked, **changed)
        assert CALLED == []


async def test_a_repair_with_calls_that_nobody_approved_is_asked_about(home: Path) -> None:
    review = reviews(accept=["wo-001.0"], missing=[subtask("look at b", "look", what="b")])
    model = ScriptedModel(plan=[plan_of("a")], review=[review], lenient=True)
    async with Leadhand(models=model, tools=[look], home=home) as lead:
        run = await lead.start("look", approve_plan=True)
        await run.wait()
        await lead.approve((await lead.approvals())[0])
        assert (await run.wait()).status is RunStatus.WAITING
        (asked,) = await lead.approvals()
        assert (asked.approval.approval_id, CALLED) == ("wo-002", ["a"])
        await lead.deny(asked, reason="enough")
        answer = await run.answer()
    assert CALLED == ["a"]
    assert answer.status is RunStatus.PARTIAL


def result_of(key: int | str) -> dict[str, Any]:
    return {"$result": {"subtask": key, "path": "/summary"}}


@pytest.mark.parametrize(
    "repair",
    [
        reviews(
            accept=["wo-001.0", "wo-001.1"],
            replan={"wo-001.2": subtask("c", "look", what=result_of("wo-001.1"), needs=["wo-001.0"])},
        ),
        reviews(
            replan={"wo-001.0": subtask("a", "look", what="b"), "wo-001.1": subtask("b", "look", what="a")},
            retry=["wo-001.2"],
        ),
        reviews(
            accept=["wo-001.0", "wo-001.1"],
            replan={"wo-001.2": subtask("c", "look", what=result_of("wo-001.0"))},
        ),
    ],
    ids=["another reference", "calls exchanged", "fewer needs"],
)
async def test_a_repair_that_sends_another_result_into_an_approved_call_is_asked_about(home: Path, repair: Any) -> None:
    plan = plans(
        subtask("a", "look", what="a"),
        subtask("b", "look", what="b"),
        subtask("c", "look", what=result_of(0), needs=[1]),
    )
    model = ScriptedModel(plan=[plan], review=[repair], lenient=True)
    async with Leadhand(models=model, tools=[look], home=home) as lead:
        run = await lead.start("look", approve_plan=True)
        await run.wait()
        await lead.approve((await lead.approvals())[0])
        assert (await run.wait()).status is RunStatus.WAITING
        (asked,) = await lead.approvals()
        assert (asked.approval.approval_id, sorted(CALLED)) == ("wo-002", ["a", "b", "saw a"])


async def test_a_repeated_call_that_gets_the_result_of_another_repeated_subtask_is_asked_about(home: Path) -> None:
    plan = plans(subtask("a", "look", what="a"), subtask("b", "look", what=result_of(0)))
    model = ScriptedModel(plan=[plan], review=[reviews(retry=["wo-001.0", "wo-001.1"])], lenient=True)
    async with Leadhand(models=model, tools=[look], home=home) as lead:
        run = await lead.start("look", approve_plan=True)
        await run.wait()
        await lead.approve((await lead.approvals())[0])
        await run.wait()
        assert CALLED == ["a", "saw a"]
        (asked,) = await lead.approvals()
        assert asked.approval.approval_id == "wo-002"
        await lead.approve(asked)
        answer = await run.answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert CALLED == ["a", "saw a", "a", "saw a"]
    again = answer.document["work_orders"][1]["subtasks"][1]
    assert again["args"] == {"what": result_of("wo-002.0")}


async def test_plan_only_stops_with_the_plan_and_a_resume_carries_it_out(home: Path) -> None:
    async with lead_on(home, plan_of("tide")) as lead:
        answer = await lead.run("look", plan_only=True)
        assert (answer.status, CALLED) == (RunStatus.WAITING, [])
        assert answer.plan is not None
        assert answer.plan["subtasks"][0]["tool"] == "look"
    async with lead_on(home, plan_of("never asked")) as other:
        answer = await (await other.resume(answer.run_id)).answer()
    assert (answer.status, CALLED) == (RunStatus.SUCCEEDED, ["tide"])
    (asked,) = answer.document["approvals"]
    assert (asked["kind"], asked["status"], asked["reason"]) == ("plan", "approved", "resumed")


async def test_a_resume_does_not_approve_a_plan_that_a_person_has_to_approve(home: Path) -> None:
    async with lead_on(home, plan_of("tide")) as lead:
        answer = await lead.run("look", plan_only=True, approve_plan=True)
        answer = await (await lead.resume(answer.run_id)).answer()
    assert (answer.status, CALLED) == (RunStatus.WAITING, [])


async def test_flows_without_a_plan_refuse_to_show_one(home: Path) -> None:
    async with lead_on(home, plan_of("tide")) as lead:
        for option in ("plan_only", "approve_plan"):
            with pytest.raises(UsageError, match="research"):
                await lead.start("why?", flow="research", **{option: True})


async def test_a_report_shows_its_plan_before_research_begins(home: Path) -> None:
    async with Leadhand(model="offline", home=home) as lead:
        answer = await lead.report("event sourcing", approve_plan=True)
        assert answer.status is RunStatus.WAITING
        assert {each["worker"] for each in answer.document["steps"]} == {"planner"}
        assert answer.plan is not None
        assert answer.plan["sections"]
        run = await lead.get(answer.run_id)
        await run.approve((await run.approvals())[0])
        answer = await run.answer()
    assert answer.status is not RunStatus.WAITING
    assert any(each["worker"] == "researcher" for each in answer.document["steps"])


async def test_a_plan_that_nobody_approves_in_time_ends_the_run(home: Path) -> None:
    async with lead_on(home, plan_of("tide"), approval_timeout=0.05) as lead:
        run = await lead.start("look", approve_plan=True)
        await run.wait()
        await asyncio.sleep(0.06)
        answer = await (await lead.resume(run.run_id)).answer()
    assert (answer.status, CALLED) == (RunStatus.FAILED, [])
    assert answer.document["failure"]["type"] == "plan_denied"


async def test_on_approval_is_asked_about_plans(home: Path) -> None:
    kinds: list[str] = []

    def answer_plan(asked: Any) -> bool:
        kinds.append(asked.approval.kind)
        return True

    async with lead_on(home, plan_of("tide"), on_approval=answer_plan) as lead:
        answer = await lead.run("look", approve_plan=True)
    assert (answer.status, kinds) == (RunStatus.SUCCEEDED, ["plan"])


PROGRAM = """
import asyncio, sys
from leadhand import Leadhand

async def main(home):
    async with Leadhand(model="offline", home=home) as lead:
        run = await lead.start("What is the weather in Paris tomorrow?", approve_plan=True)
        await run.wait()
        print(run.run_id, flush=True)
        await asyncio.sleep(600)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.slow
async def test_a_plan_still_waits_after_its_process_was_killed(home: Path) -> None:
    process = Process([sys.executable, "-c", PROGRAM, str(home)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    run_id = (await asyncio.to_thread(process.stdout.readline)).strip()
    process.kill()
    process.wait()
    process.stdout.close()
    async with Leadhand(model="offline", home=home) as lead:
        run = await lead.resume(run_id)
        assert (await run.wait()).status is RunStatus.WAITING
        assert "order_issued" not in await types_of(run)
        (asked,) = await lead.approvals()
        await lead.approve(asked)
        answer = await run.answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.document["work_orders"][0]["subtasks"][0]["args"] == asked.approval.args["subtasks"][0]["args"]


async def test_the_plan_of_a_follow_up_is_approved_too(home: Path) -> None:
    async with lead_on(home, plan_of("tide"), plan_of("wind")) as lead:
        first = await lead.start("look around", approve_plan=True)
        await first.wait()
        await first.approve((await first.approvals())[0])
        assert (await first.answer()).status is RunStatus.SUCCEEDED
        later = await first.follow_up("and the wind?")
        assert (await later.wait()).status is RunStatus.WAITING
    assert CALLED == ["tide"]


async def test_a_fork_after_the_plan_was_approved_has_no_open_question_about_it(home: Path) -> None:
    async with lead_on(home, plan_of("tide")) as lead:
        run = await lead.start("look around", approve_plan=True)
        await run.wait()
        await run.approve((await run.approvals())[0])
        await run.answer()
        ordered = (await types_of(run)).index("order_issued") + 1
        fork = await lead.fork(run.run_id, ordered)
        assert (await fork.answer()).status is RunStatus.SUCCEEDED
        assert not await lead.approvals()
