"""Work orders whose answers a model judges, and plans that ask the person a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from pydantic import BaseModel

from flows.judges import Wrong, briefs, judge, step_of
from flows.scripts import Script, accept, look
from leadhand import Answer, Leadhand, RunStatus, ToolError, ToolReturn, tool
from leadhand.core import events as ev
from leadhand.core.work_result import ClaimVerdict
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, calls, fails, gives, plans, reviews, says, subtask

REQUEST = "How loud is it in Paris and in Rome?"
ROME = {"part": "the noise in Rome", "request": "in Rome"}
PARIS_ONLY = "Paris: 40 dB."
BOTH = "Paris: 40 dB. Rome: 40 dB."


@tool
async def measure(place: str) -> ToolReturn:
    """Measure the noise at a place."""
    return ToolReturn(summary=f"{place}: 40 dB", raw={"place": place, "dB": 40})


def measured(place: str) -> dict[str, Any]:
    return subtask(f"measure_{place.lower()}", "measure", place=place)


def confirmed(*reasons: str) -> Any:
    """What the lead says of the parts that a judge misses."""
    return gives({"missing": [{"n": n, "reason": reason} for n, reason in enumerate(reasons, start=1)]})


def scripted(judging: Any, *reviewed: Any, **more: Any) -> ScriptedModel:
    """A model that plans to measure Paris only."""
    model = ScriptedModel(plan=[plans(measured("Paris"))], review=list(reviewed), **more)
    return model.on(lambda request: request.worker == "judge", always=judging)


def answered(home: Path, model: ScriptedModel, **more: Any) -> Answer:
    """Carry out the request, and check that the whole script was used."""
    with model:
        return leadhand_of(home=home, models=model, tools=[measure], check="judge", **more).run_sync(REQUEST)


def orders(answer: Answer) -> list[list[str]]:
    """The places of each work order."""
    return [[each["args"]["place"] for each in order["subtasks"]] for order in answer.document["work_orders"]]


@tool
async def ask_the_mayor(place: str) -> ToolReturn:
    """Ask the mayor of a place."""
    raise ToolError("the mayor is away")


class Noise(BaseModel):
    decibels: int


def test_a_review_knows_the_day_and_the_data_that_is_wanted_and_the_composer_what_was_tried_before(
    tmp_path: Path,
) -> None:
    instead = {"wo-001.0": measured("Paris")}
    model = ScriptedModel(
        plan=[plans(subtask("ask_paris", "ask_the_mayor", place="Paris"))],
        work=[says("CANNOT: the mayor is away")],
        review=[reviews(replan=instead), reviews(accept=["wo-002.0"])],
        compose=[says(PARIS_ONLY)],
        shape=[gives({"decibels": 40})],
    )
    with model:
        lead = Leadhand(home=tmp_path, models=model, tools=[measure, ask_the_mayor], check="exact")
        answer = lead.run_sync(REQUEST, output=Noise)

    first, second = briefs(model, "review")
    (composing,) = briefs(model, "compose")
    tried = {"name": "ask_paris", "tool": "ask_the_mayor", "args": {"place": "Paris"}, "reason": "another way"}
    assert answer.status is RunStatus.SUCCEEDED
    assert "compose" not in first
    assert first["today"] == second["today"] == composing["today"]
    assert first["data"]["properties"].keys() == {"decibels"}
    assert [each["tried_before"] for each in (*second["as_ordered"].values(), *composing["results"])] == [[tried]] * 2


WRITTEN = reviews(accept=["wo-001.0"], answer=PARIS_ONLY)


@pytest.mark.parametrize("again", [confirmed(), confirmed("nobody measured it")], ids=["found", "missed again"])
def test_a_part_that_the_judge_misses_and_the_lead_confirms_causes_one_order(tmp_path: Path, again: Any) -> None:
    """Also if the judge misses it again in the answer to that order: it is a gap then, if the lead confirms that."""
    more = {
        "work": [calls("measure", place="Rome"), says("Rome: 40 dB.")],
        "confirm": [confirmed("it is missing"), again],
    }
    second = reviews(accept=["wo-002.0"], answer=BOTH)
    answer = answered(tmp_path, scripted(judge(missing=(ROME,)), WRITTEN, second, **more))

    assert (answer.status is RunStatus.SUCCEEDED, answer.text) == (again == confirmed(), BOTH)
    assert [gap.name for gap in answer.gaps] == ([] if again == confirmed() else [ROME["part"]])
    _, order = answer.document["work_orders"]
    assert (order["repairs"], [each["name"] for each in order["subtasks"]]) == ("wo-001", [ROME["part"]])


@tool
async def archive(place: str) -> ToolReturn:
    """What was measured at a place before."""
    return ToolReturn(summary=f"{place}: 40 dB", raw={"place": place, "dB": 40})


def test_what_an_answer_says_could_not_be_done_is_ordered_if_nobody_tried(tmp_path: Path) -> None:
    call = {"n": 1, "reason": "it was not tried", "tool": "archive", "args": {"place": "Rome"}}
    confirm = [gives({"missing": [call]}), confirmed()]
    judging, second = judge(missing=({**ROME, "admitted": True},)), reviews(accept=["wo-002.0"], answer=BOTH)
    with scripted(judging, WRITTEN, second, confirm=confirm) as model:
        lead = leadhand_of(home=tmp_path, models=model, tools=[measure, archive], check="judge")
        answer = lead.run_sync(REQUEST)
    assert [(each["tool"], each["args"]) for each in answer.document["work_orders"][1]["subtasks"]] == [
        ("archive", {"place": "Rome"})
    ]
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, BOTH)


@pytest.mark.parametrize("said", [confirmed(), fails("unavailable", "quota")], ids=["nothing is missing", "lead away"])
def test_a_part_that_the_judge_misses_is_not_ordered_unless_the_lead_confirms_it(tmp_path: Path, said: Any) -> None:
    answer = answered(tmp_path, scripted(judge(missing=(ROME,)), WRITTEN, confirm=[said]))

    assert (answer.status, answer.text, answer.gaps) == (RunStatus.SUCCEEDED, PARIS_ONLY, ())
    assert orders(answer) == [["Paris"]]


def test_a_call_that_two_missing_parts_name_is_made_once(tmp_path: Path) -> None:
    part = {"tool": "measure", "args": {"place": "Rome"}, "reason": "it is missing"}
    also = {"part": "Rome", "request": "Rome"}
    confirm = [gives({"missing": [{"n": 1, **part}, {"n": 2, **part}]}), confirmed()]
    second = reviews(accept=["wo-002.0"], answer=BOTH)
    answer = answered(tmp_path, scripted(judge(missing=(ROME, also)), WRITTEN, second, confirm=confirm))

    assert orders(answer) == [["Paris"], ["Rome"]]
    assert (answer.status, answer.gaps) == (RunStatus.SUCCEEDED, ())
    assert answer.document["work_orders"][1]["goal"] == ROME["part"]


def test_a_missing_part_whose_call_was_made_is_a_gap_and_the_call_is_not_made_again(tmp_path: Path) -> None:
    part = {"n": 1, "tool": "measure", "args": {"place": "Paris"}, "reason": "it is missing"}
    answer = answered(tmp_path, scripted(judge(missing=(ROME,)), WRITTEN, confirm=[gives({"missing": [part]})]))

    assert orders(answer) == [["Paris"]]
    assert (answer.status, answer.text) == (RunStatus.PARTIAL, PARIS_ONLY)
    assert [gap.name for gap in answer.gaps] == [ROME["part"]]


def test_a_part_that_cannot_be_ordered_any_more_is_a_gap(tmp_path: Path) -> None:
    model = scripted(judge(missing=(ROME,)), WRITTEN, confirm=[confirmed("it is missing")])
    answer = answered(tmp_path, model, max_steps=1)

    assert (answer.status, answer.text) == (RunStatus.PARTIAL, PARIS_ONLY)
    assert [gap.name for gap in answer.gaps] == [ROME["part"]]


@pytest.mark.parametrize("approve", [True, False])
async def test_what_is_ordered_after_the_judgement_waits_for_approval_like_any_order(
    tmp_path: Path, *, approve: bool
) -> None:
    more = [reviews(accept=["wo-002.0"], answer=BOTH)] if approve else []
    work = {"work": [calls("measure", place="Rome"), says("Rome: 40 dB.")]} if approve else {}
    confirm = [confirmed("it is missing"), *([confirmed()] if approve else [])]
    model = scripted(judge(missing=(ROME,)), WRITTEN, *more, confirm=confirm, **work)
    async with Leadhand(home=tmp_path, models=model, tools=[measure], check="judge") as lead:
        run = await lead.start(REQUEST, approve_plan=True)
        for decide in (True, approve):
            assert (await run.wait()).status is RunStatus.WAITING
            (asked,) = await lead.approvals()
            await (lead.approve if decide else lead.deny)(asked)
        answer = await run.answer()
    assert (answer.status, answer.text) == ((RunStatus.SUCCEEDED, BOTH) if approve else (RunStatus.PARTIAL, PARIS_ONLY))
    assert len(answer.gaps) == (not approve)


def test_a_missing_part_that_quotes_nothing_of_the_request_does_not_count(tmp_path: Path) -> None:
    model = scripted(judge(missing=({**ROME, "request": "in Oslo"},)), WRITTEN)

    assert answered(tmp_path, model).status is RunStatus.SUCCEEDED


WRONG = Wrong("41 dB", "wo-001.0", "40 dB")
WRITTEN_WRONG = PARIS_ONLY.replace("40", "41")


def test_a_contradicted_claim_is_corrected_once_by_the_writer_and_the_correction_is_streamed(tmp_path: Path) -> None:
    written: dict[str, str] = {}

    def note(_run: str, attempt: str, piece: str) -> None:
        written[attempt] = written.get(attempt, "") + piece

    review = reviews(accept=["wo-001.0"], answer=WRITTEN_WRONG)
    model = scripted(judge(WRONG), review).on(lambda request: request.worker == "compose", says(PARIS_ONLY))
    answer = answered(tmp_path, model, on_text=note)

    assert (answer.status, answer.text, answer.doubts) == (RunStatus.SUCCEEDED, PARIS_ONLY, ())
    (correcting,) = briefs(model, "compose")
    assert correcting["answer"] == WRITTEN_WRONG
    assert [(each["words"], each["quote"]) for each in correcting["problems"]] == [(WRONG.words, WRONG.quote)]
    assert [len(each["claims"]) for each in briefs(model, "judge")] == [1, 1]
    assert [text for attempt, text in written.items() if attempt.startswith("correct-")] == [PARIS_ONLY]


@pytest.mark.parametrize(
    ("said", "status", "verdict"),
    [
        (says(WRITTEN_WRONG), RunStatus.PARTIAL, ClaimVerdict.CONTRADICTED),
        (fails("invalid", "bad_request"), RunStatus.PARTIAL, ClaimVerdict.CONTRADICTED),
        (fails("unavailable", "quota"), RunStatus.SUCCEEDED, ClaimVerdict.UNCONFIRMED),
    ],
    ids=["kept", "failed", "away, and so is the judge"],
)
def test_a_contradiction_makes_the_run_partial_only_if_two_judgements_share_it(
    tmp_path: Path, said: Any, status: RunStatus, verdict: ClaimVerdict
) -> None:
    """The text stays as it was written in any case, with the doubt beside it."""
    model = scripted(judge(WRONG), reviews(accept=["wo-001.0"], answer=WRITTEN_WRONG))
    answer = answered(tmp_path, model.on(lambda request: request.worker == "compose", said))

    assert (answer.status, answer.text, answer.gaps) == (status, WRITTEN_WRONG, ())
    assert [(each.verdict, each.part, each.quote) for each in answer.doubts] == [(verdict, WRONG.words, WRONG.quote)]


@pytest.mark.slow
async def test_a_judged_run_that_is_cut_at_any_event_ends_with_the_same_answer(tmp_path: Path) -> None:
    said = {"plan": plans(measured("Paris")), "review-wo-001-0": reviews(accept=["wo-001.0"], answer=WRITTEN_WRONG)}
    judging = judge(WRONG)

    def reply(request: ModelRequest) -> Any:
        return judging(request) if request.worker == "judge" else said.get(step_of(request), PARIS_ONLY)

    async with Leadhand(home=tmp_path, models=ScriptedModel(reply), tools=[measure], check="judge") as lead:
        whole = await lead.run(REQUEST)
        entries = await (await lead.runtime()).store.read(whole.run_id)
        assert any(getattr(each.event, "attempt", "").startswith("correct-") for each in entries)
        for entry in entries[1:-1]:
            answer = await (await lead.fork(whole.run_id, entry.seq)).answer()
            assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, PARIS_ONLY), entry
            assert orders(answer) == [["Paris"]]
            assert answer.evidence == whole.evidence


# --- questions -------------------------------------------------------------------------------------------------------


def test_a_question_of_the_plan_makes_the_run_wait_and_its_answer_reaches_the_planner():
    script = Script()
    script.think("plan", {"question": "Which one?"})
    (question,) = script.state.questions.values()
    assert (script.state.status, script.under_way, question.text) == (RunStatus.WAITING, [], "Which one?")

    script.write(ev.QuestionAnswered(by="Ann", question_id=question.id, text="The left one."))
    script.decide_all()
    (planner,) = script.under_way
    assert script.facts(planner)["answered"] == [{"question": "Which one?", "answer": "The left one."}]

    script.think(planner, {"goal": "it", "subtasks": [look("a")], "cannot": []})
    assert script.facts("wo-001.0")["answered"] == script.facts(planner)["answered"]
    script.done("wo-001.0")
    script.reviewed(accept("wo-001.0"), answer="Done.")
    assert (script.finished.status, script.finished.answer) == (RunStatus.SUCCEEDED, "Done.")


async def test_a_run_waits_for_the_answer_to_its_question_and_continues_with_it(tmp_path: Path) -> None:
    model = ScriptedModel(plan=[gives({"question": "Which one?"}), plans(measured("Rome"))], lenient=True)
    async with Leadhand(home=tmp_path, models=model, tools=[measure]) as lead:
        run = await lead.start("How loud is it there?")
        assert (await run.wait()).status is RunStatus.WAITING
        await run.reply("In Rome.")
        answer = await run.answer()
    assert orders(answer) == [["Rome"]]
