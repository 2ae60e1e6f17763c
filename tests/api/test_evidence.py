"""What stands beside an answer in Python: what was done, from the log, and what a judge says of its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from refusals import refused

from leadhand import (
    Answer,
    ConfigurationError,
    FailureClass,
    Leadhand,
    Limits,
    RunStatus,
    ToolError,
    ToolReturn,
    UsageError,
    Worker,
    tool,
)
from leadhand.flows import FlowContext, StepFailed, flow
from leadhand.hooks import BeforeAnswer, Block, before_answer
from leadhand.testing.scripted_model import (
    ScriptedModel,
    all_confirmed,
    brief_of,
    gives,
    judges,
    plans,
    reviews,
    says,
    subtask,
)

PAY = subtask("pay", "pay", name="Bob", euros=30)


@tool
async def look(n: int) -> ToolReturn:
    """Look for a book."""
    return ToolReturn(summary=f"book {n} is on shelf 7")


@tool(effect="once", retries=0)
async def pay(name: str, euros: int) -> ToolReturn:
    """Pay somebody."""
    if name == "Eve":
        raise ToolError("no such account", type="account", class_=FailureClass.UNAVAILABLE)
    return ToolReturn(summary=f"paid {euros} euros to {name}")


async def answered(home: Path, *subtasks: dict[str, Any], **script: Any) -> Answer:
    model = ScriptedModel(lenient=True, plan=[plans(*subtasks)], **script)
    async with Leadhand(
        models=model, tools=[look, pay], home=home, approve="auto", check="judge", limits=Limits(max_steps=1)
    ) as lead:
        return await lead.run("Look for book 3, and pay Bob 30 euros.")


@pytest.mark.parametrize("said", ["Nobody was paid.", "He pagado 30 euros a Bob.", "I have paid Bob 30 euros twice."])
async def test_done_is_what_the_log_has_whatever_the_answer_says(home: Path, said: str) -> None:
    review = reviews(accept=["wo-001.0"], answer=said)
    answer = await answered(home, PAY, review=[review])

    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, said)
    (done,) = answer.done
    assert (done.tool, done.args, done.effect, done.ok) == ("pay", {"name": "Bob", "euros": 30}, "once", True)
    assert done.event_id in {each["event_id"] for each in answer.document["context_store"]["events"]}
    assert "pay · Bob, 30" in str(answer).removeprefix(said)


async def test_every_call_with_an_effect_is_listed_also_one_that_failed_or_was_dropped(home: Path) -> None:
    plan = [PAY, {**PAY, "name": "again"}, subtask("eve", "pay", name="Eve", euros=1), subtask("look", "look", n=3)]
    review = reviews(accept=["wo-001.0", "wo-001.3"], drop={"wo-001.1": "not needed", "wo-001.2": "it failed"})
    answer = await answered(home, *plan, review=[review], compose=says("Bob got 30 euros."))

    assert answer.status is RunStatus.PARTIAL
    assert [(each.args["name"], each.ok) for each in answer.done] == [("Bob", True), ("Bob", True), ("Eve", False)]
    assert (answer.document["calls"], answer.document["failed_calls"]) == (4, 1)
    assert [gap.name for gap in answer.gaps] == ["again", "eve"]


async def test_without_calls_and_tools_with_an_effect_nothing_is_judged(home: Path) -> None:
    model = ScriptedModel(plan=[gives({"answer": "Hello!"})])
    async with Leadhand(models=model, tools=[look], home=home, check="judge") as lead:
        answer = await lead.run("Hello")
    assert (answer.status, answer.text, answer.evidence.judged_by) == (RunStatus.SUCCEEDED, "Hello!", None)
    assert (answer.done, answer.gaps, answer.doubts) == ((), (), ())
    assert answer.outcome.actions == ()


async def test_an_answer_that_a_hook_withholds_is_not_quoted_beside_it(home: Path) -> None:
    @before_answer
    def no_cards(answer: BeforeAnswer) -> Block | None:
        return Block("it names a card") if "4111" in answer.answer else None

    model = ScriptedModel(
        plan=[plans(subtask("look", "look", n=3))],
        review=[reviews(accept=["wo-001.0"], answer="Book 3 costs card 4111.")],
        compose=says("Card 4111 again."),
        judge=judges({"part": "4111", "verdict": "unconfirmed", "why": "No result names it."}),
    )
    async with Leadhand(models=model, tools=[look], home=home, check="judge", hooks=[no_cards]) as lead:
        answer = await lead.run("Look for book 3")
    assert answer.status is RunStatus.PARTIAL
    assert "4111" not in answer.text + str(answer) + str(answer.document["evidence"]) + str(answer.document["claims"])


@flow
async def offering(run: FlowContext, pieces: int = 10) -> str:
    """Look for two books, of which one may be missing, and make an offer."""
    await run.call("look", n=3)
    try:
        await run.call("fetch")
    except StepFailed as failed:
        failed.waive()
    draft = await run.ask(Worker("writer", "Write.", loop="reply"), pieces=pieces, final=True)
    return draft.text


@tool
async def fetch() -> str:
    """Fetch what is not there."""
    raise ToolError("it is not there", class_=FailureClass.UNAVAILABLE)


async def test_a_judge_is_shown_the_options_of_a_flow_and_the_gaps_that_a_person_sees(home: Path) -> None:
    model = ScriptedModel(writer=[says("```markdown\n30 pieces, from shelf 7.\n```")], judge=all_confirmed)
    async with Leadhand(models=model, tools=[look, fetch], flows=[offering], home=home, check="judge") as lead:
        answer = await lead.run("An offer, please.", flow="offering", pieces=30)
    (request,) = model.asked("judge")
    context = brief_of(request)["context"]
    assert context["options"] == {"pieces": 30}
    assert "gaps" not in context
    assert (answer.status, answer.gaps) == (RunStatus.SUCCEEDED, ())
    assert answer.text == "30 pieces, from shelf 7."


async def test_a_call_that_failed_and_was_retried_is_listed_with_both_ends(home: Path) -> None:
    full = True

    @tool(effect="once", approval="auto")
    async def mail(person: str) -> ToolReturn:
        """Mail a person."""
        if full:
            raise ToolError("the mailbox is full", class_=FailureClass.UNAVAILABLE)
        return ToolReturn(summary=f"mailed {person}")

    model = ScriptedModel(lenient=True, plan=[plans(subtask("mail", "mail", person="Ann"))])
    async with Leadhand(models=model, tools=[mail], home=home, check="judge") as lead:
        run = await lead.start("Mail Ann")
        assert [each.ok for each in (await run.answer()).done] == [False]
        full = False
        await run.retry(confirmed=True)
        answer = await run.answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert [(each.tool, each.ok) for each in answer.done] == [("mail", False), ("mail", True)]
    (request,) = model.asked("judge")
    assert [each["ok"] for each in brief_of(request)["calls"]] == [False, True]
    assert brief_of(request)["evidence"]["wo-001.0"]["said"] == ["mailed Ann"]


@flow
async def sorting(run: FlowContext) -> str:
    """Look something up, have it sorted, and hand on only the value."""
    found = await run.call("look", n=3)
    shelf = await run.ask(SORTER, found=found)
    draft = await run.ask(Worker("writer", "Write.", loop="reply"), shelf=shelf.value, final=True)
    return draft.text


SORTER = Worker("sorter", "Sort.", output={"type": "object", "properties": {"shelf": {}}}, loop="reply")


async def test_a_judge_is_shown_what_the_workers_of_a_flow_wrote_also_where_only_the_value_was_handed_on(
    home: Path,
) -> None:
    model = ScriptedModel(sorter=[gives({"shelf": 7})], writer=[says("It is on shelf 7.")], judge=all_confirmed)
    async with Leadhand(models=model, tools=[look], flows=[sorting], home=home, check="judge") as lead:
        answer = await lead.run("Where is book 3?", flow="sorting")
    assert answer.status is RunStatus.SUCCEEDED
    (request,) = model.asked("judge")
    evidence = brief_of(request)["evidence"].values()
    assert [each["written"] for each in evidence if "written" in each] == [{"shelf": 7}]
    assert any("returned" in each or "said" in each for each in evidence)


async def test_a_failed_run_names_its_cause_and_what_helps_once(home: Path) -> None:
    answer = await answered(home, subtask("eve", "pay", name="Eve", euros=1), judge=all_confirmed)
    assert (answer.status, answer.document["answer"]) == (RunStatus.FAILED, None)
    (gap,) = answer.gaps
    assert answer.failure is not None
    assert (answer.failure.class_, answer.failure.next_action) == (gap.class_, gap.next_action)
    assert answer.outcome.causes == (f"eve: {gap.reason}",)
    assert [str(answer).count(said) for said in (gap.reason, gap.next_action)] == [1, 1]


@pytest.mark.parametrize(
    ("settings", "field"),
    [({"check": "sometimes"}, "check"), ({"check": 5}, "check"), ({"verifier": object()}, "")],
)
def test_values_that_name_no_check_are_refused(home: Path, settings: dict[str, Any], field: str) -> None:
    with refused(UsageError, *settings, field=field):
        leadhand_of(model="offline", home=home, **settings)


async def test_the_built_in_model_is_no_judge(home: Path) -> None:
    async with Leadhand(model="offline", home=home, check="judge") as lead:
        with refused(UsageError, "--review-model"):
            await lead.run("Weather in Paris?")


def test_a_project_and_the_environment_say_who_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_CHECK", "sometimes")
    with refused(UsageError, "LEADHAND_CHECK"):
        Leadhand(model="offline", home=tmp_path)
    monkeypatch.delenv("LEADHAND_CHECK")
    manifest = tmp_path / "leadhand.toml"
    for line, named in (('check = "maybe"', "check"), ('strict = "yes"', "strict")):
        manifest.write_text(line)
        with refused(ConfigurationError, f"{manifest}:1", named):
            Leadhand.of_project(manifest)
