"""Work orders of a flow, and what it asks people: plans, questions, and calls that need a yes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from flows.seam.lives import Lives, a, b, begun_again, c, cut, finished, log_of, steps_of, wrong_prefixes
from leadhand import FailureClass, RunStatus, ToolError, UsageError, tool
from leadhand.core.evolve import replay
from leadhand.flows import Denied, FlowContext, StepFailed, flow
from leadhand.testing.scripted_model import says

AWAY = ["Oslo"]
SENT: list[str] = []


@tool
def look(town: str) -> dict[str, Any]:
    """Look up the weather."""
    if town in AWAY:
        raise ToolError(f"no weather for {town}", class_=FailureClass.UNAVAILABLE)
    return {"town": town, "degrees": len(town)}


@tool
def add(one: int, other: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": one + other}


@tool(effect="once", approval="ask")
def send(to: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return f"sent to {to}"


TOOLS = [look, add, send]


def subtask(name: str, tool: str, *, needs: tuple[int, ...] = (), **args: Any) -> dict[str, Any]:
    return {"name": name, "tool": tool, "args": args, "needs": list(needs)}


@flow
async def travel(run: FlowContext, towns: list[str] = ["Paris", "Oslo", "Rome"]) -> Any:  # noqa: B006
    """Look up towns as a work order, and repair what failed."""
    found = await run.order("look", [subtask(each, "look", town=each) for each in towns])
    failed = [each for each in found if not each.ok]
    if failed:
        again = [{**subtask("instead", "look", town="Bergen"), "repairs_subtask": each.key} for each in failed]
        found = [each for each in found if each.ok] + await run.order("again", again, repairs="wo-001")
    return await run.ask(a, found=found)


async def test_the_results_of_an_order_come_in_order_and_failed_ones_are_not_ok(tmp_path: Path) -> None:
    @flow
    async def plain(run: FlowContext) -> str:
        found = await run.order(
            "look",
            [
                subtask("one", "look", town="Paris"),
                subtask("two", "look", town="Oslo"),
                subtask("three", "add", one=1, other={"$result": {"subtask": "0", "path": "/raw/degrees"}}),
                subtask("four", "look", town="Rome", needs=(1,)),
            ],
        )
        return " ".join(f"{each.key}:{each.raw or each.failure.type}" for each in found)

    async with Lives(tmp_path, tools=TOOLS).life(plain) as lead:
        run, answer = await finished(lead, plain)
        log = await log_of(lead, run.run_id)
    degrees = {"town": "Paris", "degrees": 5}
    assert answer.text == f"wo-001.0:{degrees} wo-001.1:tool_error wo-001.2:{{'sum': 6}} wo-001.3:needs_failed" or (
        answer.text.startswith(f"wo-001.0:{degrees} wo-001.1:") and answer.text.endswith("wo-001.3:needs_failed")
    )
    assert "wo-001.2:{'sum': 6}" in answer.text
    assert answer.status is RunStatus.PARTIAL
    assert [(gap.work_order_id, gap.subtask_index) for gap in answer.gaps] == [("wo-001", 1), ("wo-001", 3)]
    assert wrong_prefixes(plain, log, run.run_id) == []


async def test_a_repair_order_replaces_what_it_repairs(tmp_path: Path) -> None:
    lives = Lives(tmp_path, lambda worker, given: says(str(len(given.get("found", ())))), tools=TOOLS)
    async with lives.life(travel) as lead:
        run, answer = await finished(lead, travel)
        log = await log_of(lead, run.run_id)
        assert (answer.status, answer.text, answer.gaps) == (RunStatus.SUCCEEDED, "3", ())
        assert wrong_prefixes(travel, log, run.run_id) == []
        for at in range(5, len(log), 9):
            await cut(lead, log[:at], f"cut-{at}")
            again = await (await lead.resume(f"cut-{at}")).answer()
            assert (again.status, again.text) == (RunStatus.SUCCEEDED, "3"), at
            entries = await log_of(lead, f"cut-{at}")
            assert steps_of(entries).keys() == steps_of(log).keys()
            assert not begun_again(entries)


async def test_a_subtask_is_retried_in_place_and_what_uses_it_is_new(tmp_path: Path) -> None:
    @flow
    async def plain(run: FlowContext) -> Any:
        found = await run.order("look", [subtask(each, "look", town=each) for each in ("Paris", "Oslo")])
        return await run.ask(a, found=[each for each in found if each.ok])

    lives = Lives(tmp_path, lambda worker, given: says(str(len(given.get("found", ())))), tools=TOOLS)
    async with lives.life(plain) as lead:
        run, answer = await finished(lead, plain)
        assert (answer.status, answer.text) == (RunStatus.PARTIAL, "1")
        AWAY.clear()
        try:
            await run.retry()
            answer = await run.answer()
        finally:
            AWAY.append("Oslo")
        state = replay(run.run_id, await log_of(lead, run.run_id))
    assert (answer.status, answer.text, answer.gaps) == (RunStatus.SUCCEEDED, "2", ())
    assert list(state.orders) == ["wo-001"]
    assert lives.new().count("A") == 2


@pytest.mark.parametrize(
    "wrong",
    [
        [{"name": "x", "tool": "unknown", "args": {}}],
        [{"name": "x", "tool": "look", "args": {"village": "Paris"}}],
        [{"name": "x", "tool": "look", "args": {"town": "Paris"}, "needs": [0]}],
        [],
    ],
    ids=["tool", "arguments", "cycle", "nothing"],
)
async def test_an_order_that_is_refused_raises_and_nothing_of_it_runs(wrong: list[Any], tmp_path: Path) -> None:
    @flow
    async def ordering(run: FlowContext) -> str:
        try:
            await run.order("x", wrong)
        except ValueError as refused:
            again = await run.order("look", [subtask("x", "look", town="Paris")])
            return f"{bool(str(refused))} {again[0].ok}"
        return "never"

    async with Lives(tmp_path, tools=TOOLS).life(ordering) as lead:
        run, answer = await finished(lead, ordering)
        state = replay(run.run_id, await log_of(lead, run.run_id))
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "True True"), answer.document["failure"]
    assert list(state.orders) == ["wo-001"]


@pytest.mark.parametrize("gated", [True, False])
async def test_a_plan_and_an_order_with_a_secret_are_known_again(gated: bool, tmp_path: Path) -> None:
    secret = "sk-" + "abcd1234" * 4

    @flow
    async def secretive(run: FlowContext) -> Any:
        await run.approve({"steps": ["look"], "token": secret})
        found = [] if gated else await run.order("look", [subtask("look", "look", town=secret)])
        done = await run.ask(a, token=secret, found=found)
        return await run.ask(b, of=done)

    lives = Lives(tmp_path, tools=TOOLS)
    async with lives.life(secretive) as lead:
        run = await lead.start("go", flow="secretive", approve_plan=gated)
        if gated:
            asked = await approval(lead, run.run_id)
            assert secret not in str(asked.approval.args)
            await lead.approve(asked)
        assert (await run.answer()).text.startswith("B of ")
        log = await log_of(lead, run.run_id)
    assert secret not in "".join(each.event.model_dump_json() for each in log)
    assert wrong_prefixes(secretive, log, run.run_id) == []


# --- people ----------------------------------------------------------------------------------------------------------


@flow
async def planned(run: FlowContext) -> Any:
    """Plan until a person approves, then do it."""
    plan = await run.ask(a, request=run.request)
    decided = await run.approve(plan)
    while isinstance(decided, Denied):
        plan = await run.ask(a, request=run.request, denied=decided.reason)
        decided = await run.approve(plan)
    return await run.ask(b, plan=plan, by=bool(decided.by))


async def approval(lead: Any, run_id: str) -> Any:
    """The open approval of a run, once it waits."""
    run = await lead.get(run_id)
    await run.wait()
    (asked,) = await run.approvals()
    return asked


async def test_a_plan_is_denied_and_approved_and_each_process_in_between_dies(tmp_path: Path) -> None:
    lives = Lives(tmp_path, lambda worker, given: says(f"{worker} {given.get('denied', '')}".strip()))
    async with lives.life(planned) as lead:
        run = await lead.start("go", flow="planned", approve_plan=True)
        assert (await run.answer()).status is RunStatus.WAITING
    async with lives.life(planned) as lead:
        asked = await approval(lead, run.run_id)
        assert asked.approval.args == {"plan": "A"}
        with pytest.raises(UsageError):
            await lead.approve(asked, args={"plan": "other"})
        await lead.deny(asked, reason="shorter")
    async with lives.life(planned) as lead:
        assert (await (await lead.resume(run.run_id)).answer()).status is RunStatus.WAITING
        asked = await approval(lead, run.run_id)
        assert asked.approval.args == {"plan": "A shorter"}
        await lead.approve(asked)
    async with lives.life(planned) as lead:
        answer = await (await lead.resume(run.run_id)).answer()
        log = await log_of(lead, run.run_id)
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "B")
    assert lives.new() == ["A", "A", "B"]
    assert wrong_prefixes(planned, log, run.run_id) == []


async def test_nobody_is_asked_about_a_plan_without_the_wish(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    async with lives.life(planned) as lead:
        _, answer = await finished(lead, planned)
    assert answer.status is RunStatus.SUCCEEDED
    assert lives.asked[-1][1]["by"] is False


async def test_the_approval_of_one_plan_is_not_that_of_another(tmp_path: Path) -> None:
    """A person repeats the step that planned: its new plan has to be approved, too."""
    plans = iter(["one", "two", "three"])
    lives = Lives(tmp_path, lambda worker, given: says(next(plans) if worker == "A" else f"did {given['plan']}"))
    async with lives.life(planned) as lead:
        run = await lead.start("go", flow="planned", approve_plan=True)
        await lead.approve(await approval(lead, run.run_id))
        assert (await run.answer()).text == "did one"
        await run.retry(["a"])
        assert (await run.answer()).status is RunStatus.WAITING
        asked = await approval(lead, run.run_id)
        assert asked.approval.args == {"plan": "two"}
        await lead.approve(asked)
        assert (await run.answer()).text == "did two"


@flow
async def asking(run: FlowContext) -> Any:
    """Ask the person, twice the same."""
    town = await run.person("Where?", choices=["Oslo", "Rome"])
    also = await run.person("Where?", choices=["Oslo", "Rome"])
    return await run.ask(a, towns=[town, also])


async def test_a_question_is_answered_while_no_process_drives_the_run(tmp_path: Path) -> None:
    lives = Lives(tmp_path, lambda worker, given: says(" and ".join(given["towns"])))
    async with lives.life(asking) as lead:
        run = await lead.start("go", flow="asking")
        answer = await run.answer()
        assert (answer.status, answer.question.text) == (RunStatus.WAITING, "Where?")
        assert answer.question.choices == ("Oslo", "Rome")
    for town in ("Oslo", "2"):
        async with lives.life(asking) as lead:
            await lead.reply(run.run_id, town)
        async with lives.life(asking) as lead:
            answer = await (await lead.resume(run.run_id)).answer()
            log = await log_of(lead, run.run_id)
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "Oslo and Rome")
    assert lives.new() == ["A"]
    assert wrong_prefixes(asking, log, run.run_id) == []


async def test_equal_questions_of_several_branches_are_asked_one_by_one(tmp_path: Path) -> None:
    @flow
    async def several(run: FlowContext) -> str:
        return " ".join(await run.gather(run.person("Where?") for _ in range(2)))

    async with Lives(tmp_path).life(several) as lead:
        run = await lead.start("go", flow="several")
        for town in ("Oslo", "Rome"):
            await run.wait()
            await run.reply(town)
        assert (await run.answer()).text == "Oslo Rome"


async def test_a_branch_goes_on_when_its_question_is_answered_and_others_are_open(tmp_path: Path) -> None:
    @flow
    async def several(run: FlowContext) -> str:
        async def branch(n: int) -> Any:
            return await run.ask(a, n=n, where=await run.person(f"Where is {n}?"))

        return " ".join(map(str, await run.gather(branch(n) for n in range(2))))

    lives = Lives(tmp_path)
    async with lives.life(several) as lead:
        run = await lead.start("go", flow="several")
        await run.wait()
        await run.reply("Oslo")
        assert (await run.answer()).status is RunStatus.WAITING
        assert [given["n"] for _, given in lives.asked] == [0]
        await run.reply("Rome")
        assert (await run.answer()).status is RunStatus.SUCCEEDED
    assert [given["n"] for _, given in lives.asked] == [0, 1]


@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_without_a_model_waits_for_a_yes_and_is_made_once(approved: bool, tmp_path: Path) -> None:
    @flow
    async def sends(run: FlowContext) -> str:
        try:
            return str(await run.call("send", to="bob"))
        except StepFailed as failed:
            return f"not sent: {failed.failure.class_.value if failed.failure else ''}"

    SENT.clear()
    lives = Lives(tmp_path, tools=TOOLS)
    async with lives.life(sends) as lead:
        run = await lead.start("go", flow="sends")
        assert (await run.answer()).status is RunStatus.WAITING
        assert SENT == []
    async with lives.life(sends) as lead:
        asked = await approval(lead, run.run_id)
        assert (asked.approval.tool, asked.approval.args) == ("send", {"to": "bob"})
        await (lead.approve(asked) if approved else lead.deny(asked, reason="no"))
        answer = await (await lead.resume(run.run_id)).answer()
    assert (["bob"] if approved else []) == SENT
    assert answer.text == ("sent to bob" if approved else "not sent: rejected")
    assert answer.status is (RunStatus.SUCCEEDED if approved else RunStatus.PARTIAL)


async def test_a_function_of_the_project_is_a_step_that_may_await_anything(tmp_path: Path) -> None:
    made: list[Any] = []

    async def fetch(town: str, of: Any = None) -> dict[str, Any]:
        made.append(town)
        await asyncio.sleep(0.01)
        return {"town": town, "of": of}

    async def breaks() -> None:
        raise LookupError("nothing there")

    @flow
    async def doing(run: FlowContext) -> Any:
        first = await run.do(fetch, town="Oslo")
        second = await run.do(fetch, town="Rome", of=first)
        broken = await run.do(breaks, optional=True)
        assert broken.failure is not None
        return await run.ask(c, found=second, why=broken.failure.message)

    lives = Lives(tmp_path)
    async with lives.life(doing) as lead:
        run, answer = await finished(lead, doing)
        assert answer.status is RunStatus.SUCCEEDED, answer.document["failure"]
        log = await log_of(lead, run.run_id)
        assert "nothing there" in lives.asked[0][1]["why"]
        assert lives.asked[0][1]["found"] == {"town": "Rome", "of": {"town": "Oslo", "of": None}}
        made.clear()
        began = next(
            each.seq for each in log if each.event.type == "attempt_started" and each.event.attempt == "fetch-2/a1"
        )
        await cut(lead, log[:began], "cut")
        again = await (await lead.resume("cut")).answer()
        assert not begun_again(await log_of(lead, "cut"))
    assert again.status is RunStatus.SUCCEEDED
    assert made == ["Rome"]
