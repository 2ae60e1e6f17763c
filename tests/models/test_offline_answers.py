"""The built-in model reviews, composes and works by rules, and signs what it writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import GIVE_UP, SHIPPED, WEATHER, asking, planning, spec
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.conversation import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from leadhand.core.errors import FailureClass
from leadhand.core.limits import Usage
from leadhand.core.work_result import Review, VerdictKind
from leadhand.flows.offline.rule import render
from leadhand.flows.work_order.offline import BYLINE
from leadhand.flows.work_order.offline import SAMPLE_NOTE as SAMPLE
from leadhand.models.offline import OfflineModels
from leadhand.ports import ModelError


def done(key: str, summary: str | None = "18 °C", **result: Any) -> dict[str, Any]:
    told = None if summary is None and not result else {"summary": summary, **result}
    return {"subtask": key, "name": f"task {key}", "status": "completed", "result": told, "error": None}


def failed(key: str, class_: str, message: str = "it broke") -> dict[str, Any]:
    error = {"message": message, "type": "t", "class": class_, "next_action": "mend it"}
    return {"subtask": key, "name": f"task {key}", "status": "failed", "result": None, "error": error}


async def reviewed(*subtasks: dict[str, Any], **brief: Any) -> Review:
    document = {
        "request": "q",
        "today": "2026-11-21",
        "tools": [],
        "plan_cannot": [],
        "order": {"work_order_id": "wo-001", "goal": "g"},
        "subtasks": list(subtasks),
        "accepted": [],
        "compose": False,
        "last_order": False,
        **brief,
    }
    reply = await OfflineModels().ask(asking(document, output="review"))
    return Review.model_validate(reply.value)


def decisions(review: Review) -> list[VerdictKind]:
    return [verdict.verdict for verdict in review.verdicts]


class TestReview:
    async def test_accepts_what_has_a_result(self) -> None:
        review = await reviewed(done("wo-001.0"), done("wo-001.1", None, raw={"a": 1}))
        assert decisions(review) == ["accept", "accept"]
        assert review.complete

    async def test_a_completed_subtask_without_a_result_is_not_taken_at_its_word(self) -> None:
        assert decisions(await reviewed(done("wo-001.0", None))) == ["drop"]

    async def test_what_may_work_another_time_is_tried_again_until_the_last_order(self) -> None:
        review = await reviewed(failed("wo-001.0", "transient"), done("wo-001.1"))
        assert decisions(review) == ["retry", "accept"]
        assert not review.complete
        last = await reviewed(failed("wo-001.0", "transient"), last_order=True)
        assert decisions(last) == ["drop"]
        assert last.complete

    @pytest.mark.parametrize(
        "class_",
        ["invalid", "exhausted", "made up"],
    )
    async def test_what_failed_is_dropped_with_its_own_words(self, class_: str) -> None:
        review = await reviewed(failed("wo-001.0", class_, "no such place"))
        assert decisions(review) == ["drop"]
        assert review.verdicts[0].reason == "no such place"
        assert review.complete

    async def test_writes_the_answer_when_asked_to_and_nothing_is_left_to_do(self) -> None:
        review = await reviewed(
            done("wo-001.1", "Lyon: 20 °C", sample=True, sources=[2]),
            failed("wo-001.2", "invalid", "no such place"),
            as_ordered={"wo-001.0": {"name": "n", "summary": "Paris: 18 °C", "sources": [1]}},
            compose=True,
            sources=[{"n": 1, "title": "a", "url": "u"}, {"n": 2, "title": "b", "url": "v"}],
        )
        results, signed = (review.answer or "").split("\n\n")
        assert [line[-3:] for line in results.splitlines()] == ["[1]", "[2]"]
        assert signed == f"{BYLINE}{SAMPLE}"

    async def test_writes_no_answer_while_something_is_tried_again(self) -> None:
        assert (await reviewed(done("wo-001.0"), failed("wo-001.1", "transient"), compose=True)).answer is None
        assert (await reviewed(done("wo-001.0"))).answer is None


async def composed(**brief: Any) -> str:
    document = {"task": "compose", "request": "q", "today": "d", "results": [], "gaps": [], "sources": [], **brief}
    return (await OfflineModels().ask(asking(document))).message.text


class TestCompose:
    async def test_tells_one_result_in_a_paragraph_with_its_sources(self) -> None:
        answer = await composed(
            results=[{"name": "n", "summary": "Paris: 18 °C.", "sample": False, "sources": [1, 2, 9]}],
            sources=[{"n": 1, "title": "t", "url": "u"}, {"n": 2, "title": "t", "url": "u"}],
        )
        assert answer == f"Paris: 18 °C. [1][2]\n\n{BYLINE}"

    async def test_tells_several_in_their_order_and_labels_sample_data(self) -> None:
        results = [
            {"name": "a", "summary": "Paris: 18 °C", "sample": True, "sources": []},
            {"name": "b", "summary": "Lyon (a sample): 20 °C", "sample": True},
            {"name": "c", "summary": "Oslo: 2 °C", "sample": False},
        ]
        answer = await composed(results=results)
        lines = answer.split("\n")
        assert ["sample" in line for line in lines[:3]] == [True, True, False]
        assert lines[2] == "- Oslo: 2 °C"
        assert lines[-1] == f"{BYLINE}{SAMPLE}"

    async def test_a_result_without_a_summary_is_told_from_its_data(self) -> None:
        assert (await composed(results=[{"name": "find", "summary": "", "raw": {"a": 1}}])).startswith("find: a: 1")


def working(*more: Message, tool: str | None = "weather_tool", args: dict[str, Any] | None = None) -> Any:
    brief = {
        "task": "work",
        "request": "q",
        "today": "d",
        "subtask": {"name": "n", "tool": tool, "args": {"location": "Paris"} if args is None else args},
    }
    return asking(brief, *more, tools=[spec(WEATHER), GIVE_UP])


def returned(content: Any, *, ok: bool = True) -> tuple[Message, Message]:
    text = content if isinstance(content, str) else json.dumps(content)
    call = ToolCall(id="c", name="weather_tool", arguments={})
    return AssistantMessage(tool_calls=(call,)), ToolMessage(call_id="c", name="weather_tool", content=text, ok=ok)


async def step(request: Any) -> AssistantMessage:
    return (await OfflineModels().ask(request)).message


class TestWork:
    async def test_says_what_the_tool_returned(self) -> None:
        assert (await step(working(*returned({"summary": "18 °C", "raw": {}})))).text == "18 °C"
        raw = {"max_temp": 18.0, "rain": False}
        assert (await step(working(*returned({"raw": raw})))).text.endswith(render(raw))

    @pytest.mark.parametrize(
        ("request_made", "reason"),
        [
            (working(*returned({"error": {"message": "no such place"}}, ok=False)), "no such place"),
            (working(*returned("it broke", ok=False)), "it broke"),
            (working(tool="moon_tool"), "moon_tool"),
            (working(tool=None), "tool"),
        ],
    )
    async def test_gives_up_and_says_why(self, request_made: Any, reason: str) -> None:
        message = await step(request_made)
        assert [call.name for call in message.tool_calls] == ["give_up"]
        assert reason in (message.tool_calls[0].arguments or {})["reason"]

    async def test_without_a_way_to_give_up_it_says_so_in_words(self) -> None:
        request = working(tool=None)
        assert (await step(request.evolve(tools=(spec(WEATHER),)))).text.startswith("CANNOT: ")

    async def test_calls_of_one_conversation_have_ids_of_their_own(self) -> None:
        first = await step(working())
        told = UserMessage(text="You have not called weather_tool with success.")
        second = await step(working(*returned("it broke", ok=False), told))
        assert first.tool_calls[0].id != second.tool_calls[0].id


async def test_counts_one_request_no_tokens_and_no_cost() -> None:
    models = OfflineModels()
    for request in (planning("weather in Paris"), working(), asking({"task": "compose"})):
        assert (await models.ask(request)).usage == Usage(requests=1, input_tokens=0, output_tokens=0, nanousd=0)
    profile = models.profile("offline")
    assert (profile.free, profile.window) == (True, 1_000_000)


async def test_goes_by_the_schema_and_the_brief_never_by_the_words_of_a_prompt() -> None:
    models = OfflineModels()
    brief = {"request": "weather in Paris", "tools": list(SHIPPED), "task": "compose", "results": []}
    assert "subtasks" in (await models.ask(asking(brief, output="plan"))).value
    assert BYLINE in (await models.ask(asking(brief))).message.text
    for request in (asking("Please plan and review everything."), asking({"request": "q"}, output="poem")):
        with pytest.raises(ModelError) as caught:
            await models.ask(request)
        assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.UNAVAILABLE, "no_rules")


_JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=20) | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_NAMES = ("request", "subtasks", "accepted", "results", "gaps", "sources", "compose", "last_order", "subtask", "needs")
_FIELDS = st.dictionaries(st.sampled_from([*_NAMES, "task", "plan_cannot"]), _JSON)


@pytest.mark.slow
@given(_FIELDS)
async def test_a_brief_of_any_shape_is_answered(brief: dict[str, Any]) -> None:
    models = OfflineModels()
    Review.model_validate((await models.ask(asking(brief, output="review"))).value)
    for task in ("compose", "work"):
        assert (await models.ask(asking({**brief, "task": task}, tools=[spec(WEATHER), GIVE_UP]))).message


@given(_JSON)
def test_any_data_is_rendered_in_a_few_words(raw: Any) -> None:
    assert len(render(raw)) <= 600
