"""What a tool returned is the result of its subtask: no model call puts it into other words, unless a run says so."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import Leadhand, RunStatus, UsageError, tool
from leadhand.ports.models import ModelProfile
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, plans, says, subtask, worker_of

CITIES = ("Paris", "Lyon", "Nice")


@tool
def weather(city: str) -> dict[str, Any]:
    """Return the weather in a city."""
    return {"city": city, "max_c": 21.5}


@tool
def forecast(city: str) -> str:
    """Return the forecast of a city, as a text."""
    return f"Sunny in {city}."


@tool
def find(city: str) -> dict[str, float]:
    """Return the place of a city."""
    return {"lat": 48.85, "lon": float(len(city))}


@tool
def height(lat: float, lon: float = 0.0) -> dict[str, float]:
    """Return the height of a place."""
    return {"metres": lat + lon}


@tool
def archive(pages: int) -> dict[str, Any]:
    """Return many pages."""
    return {"pages": [f"page {number}" for number in range(pages)]}


def roles(model: ScriptedModel) -> Counter[str]:
    return Counter(worker_of(request) for request in model.requests)


def three(name: str) -> Any:
    return plans(*(subtask(f"{name}_{city}", name, city=city) for city in CITIES))


@pytest.mark.parametrize(
    ("look_up", "summaries"),
    [
        (weather, [f'{{"city":"{city}","max_c":21.5}}' for city in CITIES]),
        (forecast, [f"Sunny in {city}." for city in CITIES]),
    ],
    ids=["JSON", "text"],
)
async def test_three_look_ups_take_two_calls_and_one_to_judge(
    tmp_path: Path, look_up: Any, summaries: list[str]
) -> None:
    with ScriptedModel(plan=[three(look_up.name)], lenient=True) as model:
        async with Leadhand(models=model, tools=[look_up], check="judge", home=tmp_path) as lead:
            answer = await lead.run("How is the weather in Paris, Lyon and Nice?")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert roles(model) == {"plan": 1, "review": 1, "judge": 1}
    assert answer.document["usage"]["requests"] == 3
    events = answer.document["context_store"]["events"]
    assert sorted(each["content"]["summary"] for each in events) == sorted(summaries)
    (judged,) = model.asked("judge")
    evidence = [each for each in brief_of(judged)["evidence"].values() if each.get("called")]
    assert len(evidence) == 3
    assert not any("written" in each for each in evidence), "nobody has written anything"


@pytest.mark.parametrize("look_up", [weather, forecast])
async def test_always_has_every_worker_write_its_result(tmp_path: Path, look_up: Any) -> None:
    with ScriptedModel(plan=[three(look_up.name)], work=says("It is sunny."), lenient=True) as model:
        async with leadhand_of(
            models=model, tools=[look_up], check="judge", worker_calls="always", home=tmp_path
        ) as lead:
            answer = await lead.run("How is the weather in Paris, Lyon and Nice?")

    assert roles(model) == {"plan": 1, "work": 3, "review": 1, "judge": 1}
    events = answer.document["context_store"]["events"]
    assert {each["content"]["summary"] for each in events} == {"It is sunny."}


async def test_a_follow_up_has_its_results_written_as_the_earlier_run_had(tmp_path: Path) -> None:
    settings: Any = {"tools": [weather], "home": tmp_path}
    with ScriptedModel(plan=[three("weather")] * 2, work=says("It is sunny."), lenient=True) as model:
        async with leadhand_of(models=model, worker_calls="always", **settings) as lead:
            first = await lead.run("How is the weather in Paris, Lyon and Nice?")
        async with leadhand_of(models=model, **settings) as lead:
            _ = await (await lead.follow_up(first.run_id, "And tomorrow?")).answer()

    assert roles(model)["work"] == 6


async def test_a_result_that_fits_the_schema_is_enough_and_another_one_is_not(tmp_path: Path) -> None:
    fields = {"city": {"type": "string"}, "max_c": {"type": "number"}}
    schema = {"type": "object", "properties": fields, "required": [*fields]}
    fits = {**subtask("fits", "weather", city="Paris"), "expected_output": schema}
    other = {**subtask("other", "find", city="Paris"), "expected_output": schema}
    work = says(json.dumps({"city": "Paris", "max_c": 20}))
    with ScriptedModel(plan=[plans(fits, other)], work=[work], lenient=True) as model:
        async with Leadhand(models=model, tools=[weather, find], home=tmp_path) as lead:
            answer = await lead.run("How is the weather in Paris?")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert roles(model)["work"] == 1
    values = [each["content"]["value"] for each in answer.document["context_store"]["events"]]
    assert sorted(each["max_c"] for each in values) == [20, 21.5]


async def test_a_path_of_a_result_is_an_argument_and_one_to_be_worked_out_is_asked_for_first(tmp_path: Path) -> None:
    path = {"$result": {"subtask": "0", "path": "/raw/lat"}}
    known = {**subtask("known", "height", lat=path), "needs": [0]}
    unknown = {**subtask("unknown", "height", lat={"$result": {"subtask": "0"}}), "needs": [0]}
    work = [calls("height", lat=40.0)]
    with ScriptedModel(
        plan=[plans(subtask("place", "find", city="Paris"), known, unknown)], work=work, lenient=True
    ) as model:
        async with Leadhand(models=model, tools=[find, height], home=tmp_path) as lead:
            answer = await lead.run("How high is Paris?")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert roles(model)["work"] == 1
    events = {each["task_name"]: each["content"] for each in answer.document["context_store"]["events"]}
    assert events["known"]["raw"] == {"metres": 48.85}
    assert events["unknown"]["raw"] == {"metres": 40.0}
    assert list(brief_of(model.asked("work")[0])["work_out"]) == ["lat"]


@pytest.mark.parametrize("pages", [100, 5_000])
async def test_the_lead_writes_the_answer_from_all_that_was_returned(tmp_path: Path, pages: int) -> None:
    with ScriptedModel(plan=[plans(subtask("pages", "archive", pages=pages))], lenient=True) as model:
        async with Leadhand(models=model, tools=[archive], home=tmp_path) as lead:
            answer = await lead.run("What is on the last page?")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    (event,) = answer.document["context_store"]["events"]
    assert len(event["content"]["summary"]) == 300
    (review,) = model.asked("review")
    assert f"page {pages - 1}" in json.dumps(brief_of(review))


class Narrow(ScriptedModel):
    """A model with a small context window."""

    def profile(self, model: str) -> ModelProfile:
        return super().profile(model).model_copy(update={"window": 16_000})


async def test_what_does_not_fit_into_the_window_of_the_lead_is_cut(tmp_path: Path) -> None:
    with Narrow(
        plan=[plans(*(subtask(f"pages_{n}", "archive", pages=n) for n in (400, 5_000)))], lenient=True
    ) as model:
        async with Leadhand(models=model, tools=[archive], home=tmp_path) as lead:
            answer = await lead.run("What is on the last page?")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    (review,) = model.asked("review")
    shown = json.dumps(brief_of(review))
    assert '"page 399"' in shown
    assert "page 700" in shown
    assert "page 4999" not in shown
    assert len(shown) / 3 < 0.5 * 16_000


async def test_another_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="worker_calls"):
        leadhand_of(worker_calls="never", home=tmp_path)  # type: ignore[arg-type]
