"""Typed answers: ``output=MyModel`` on any flow, checked by schema and evidence, within the limits of the run."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Literal

import pytest
from leads import leadhand_of
from pydantic import BaseModel, field_validator

from leadhand import Leadhand, RunStatus, ToolReturn, UsageError, Worker, tool
from leadhand.app.steering.model_calls import model_call
from leadhand.flows import FlowContext, Retry, flow
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, gives, plans, says, subtask


class Offer(BaseModel):
    shop: str
    price_eur: float
    delivered: date | None = None
    rating: Literal[1, 2, 3, 4, 5] = 3


class Cheapest(BaseModel):
    offers: list[Offer]
    cheapest: str

    @field_validator("cheapest")
    @classmethod
    def _short(cls, name: str) -> str:
        if len(name) > 20:
            raise ValueError("name the shop only")
        return name


@tool
def price(shop: str) -> ToolReturn:
    """Return the price in a shop."""
    euros = {"Blum": 12.5, "Adler": 9.75}[shop]
    return ToolReturn(raw={"shop": shop, "price_eur": euros, "delivered": "2026-03-01"}, summary=f"{shop}: {euros} EUR")


PLAN = plans(subtask("blum", "price", shop="Blum"), subtask("adler", "price", shop="Adler"))
GOOD = {
    "offers": [{"shop": "Blum", "price_eur": 12.5}, {"shop": "Adler", "price_eur": 9.75, "rating": 5}],
    "cheapest": "Adler",
}


def scripted(*shapes: Any) -> ScriptedModel:
    return ScriptedModel(plan=[PLAN], shape=shapes, lenient=True)


async def asked(home: Path, models: Any, output: Any = Cheapest, **settings: Any) -> Any:
    async with leadhand_of(models=models, tools=[price], home=home, **settings) as lead:
        return await lead.run("Compare the prices", output=output)


def shapings(models: ScriptedModel) -> list[Any]:
    return [request for request in models.requests if request.worker == "shape"]


# --- the work-order flow ---------------------------------------------------------------------------------------------


async def test_the_value_is_an_instance_of_the_model_and_the_text_stays(tmp_path: Path) -> None:
    with scripted(gives(GOOD)) as models:
        answer = await asked(tmp_path, models)
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.value == Cheapest.model_validate(GOOD)
    assert "Adler: 9.75 EUR" in answer.text
    assert answer.document["value"] == GOOD
    brief = brief_of(shapings(models)[0])
    assert brief["answer"] == answer.text
    assert brief["results"][0]["raw"] == {"shop": "Blum", "price_eur": 12.5, "delivered": "2026-03-01"}


async def test_the_prompt_of_the_shaping_call_can_be_looked_at(tmp_path: Path) -> None:
    with scripted(gives(GOOD)) as models:
        async with Leadhand(models=models, tools=[price], home=tmp_path) as lead:
            run = await lead.start("Compare the prices", output=Cheapest)
            await run.answer()
            call = await model_call(await lead.runtime(), run.run_id, "shape/t1")
    (sent,) = shapings(models)
    assert [each.text for each in call.prompt.messages] == [each.text for each in sent.messages]


async def test_a_json_schema_gives_a_value_as_json(tmp_path: Path) -> None:
    answer = await asked(tmp_path, scripted(gives(GOOD)), Cheapest.model_json_schema())
    assert answer.value == GOOD


async def test_without_an_output_no_call_is_made_and_the_value_is_none(tmp_path: Path) -> None:
    answer = await asked(tmp_path, scripted(), None)
    assert answer.value is None
    assert answer.document["value"] is None
    assert answer.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"offers": []}, '"cheapest"'),
        ({**GOOD, "cheapest": "the shop that is called Adler"}, "cheapest: "),
        ({**GOOD, "offers": [{"shop": "Blum", "price_eur": 12.5, "delivered": "on 2026-03-01"}]}, "offers.0.delivered"),
    ],
    ids=["schema", "validator", "format"],
)
async def test_what_cannot_be_shaped_is_a_gap_and_the_text_stays(tmp_path: Path, value: Any, why: str) -> None:
    models = ScriptedModel(plan=[PLAN], shape=gives(value), lenient=True)
    answer = await asked(tmp_path, models)
    assert answer.status is RunStatus.PARTIAL
    assert answer.value is None
    assert "Adler: 9.75 EUR" in answer.text
    (gap,) = answer.gaps
    assert gap.class_ == "invalid"
    assert why in gap.reason


async def test_what_the_results_lack_is_said_instead_of_invented(tmp_path: Path) -> None:
    answer = await asked(tmp_path, scripted(calls("give_up", reason="no delivery date")))
    (gap,) = answer.gaps
    assert "no delivery date" in gap.reason


async def test_a_model_that_fails_leaves_the_text(tmp_path: Path) -> None:
    answer = await asked(tmp_path, ScriptedModel(plan=[PLAN], lenient=True))
    assert answer.value is None
    assert "Adler: 9.75 EUR" in answer.text
    assert answer.status is RunStatus.PARTIAL


async def test_nothing_is_shaped_where_nothing_was_found(tmp_path: Path) -> None:
    models = ScriptedModel(plan=[plans(cannot={"prices": "no tool knows them"})], lenient=True)
    answer = await asked(tmp_path, models)
    assert answer.status is RunStatus.FAILED
    assert [gap.name for gap in answer.gaps] == ["prices"]
    assert not shapings(models)


async def test_a_figure_that_the_checked_text_works_out_may_be_in_the_value(tmp_path: Path) -> None:
    class Gap(BaseModel):
        apart_eur: float

    models = ScriptedModel(
        plan=[PLAN],
        review=lambda request: gives({"verdicts": [], "complete": True}),
        compose=[says("Blum asks 12.50 EUR and Adler 9.75 EUR, a difference of 2.75 EUR.")],
        shape=[gives({"apart_eur": 2.75})],
    )
    answer = await asked(tmp_path, models, Gap)
    assert answer.value == Gap(apart_eur=2.75), answer.gaps


async def test_room_for_the_shape_is_held_back(tmp_path: Path) -> None:
    """Workers that would use up every request leave those for the review, the answer and its shape."""
    expecting = [
        {"name": f"s{number}", "tool": "price", "args": {"shop": "Blum"}, "expected_output": "the price"}
        for number in range(12)
    ]
    models = ScriptedModel(
        plan=[gives({"goal": "all", "subtasks": expecting})],
        work=says("12.5 EUR"),
        shape=[gives({"offers": [{"shop": "Blum", "price_eur": 12.5}], "cheapest": "Blum"})],
        lenient=True,
    )
    answer = await asked(tmp_path, models, max_requests=9)
    assert answer.status is RunStatus.PARTIAL
    assert len(models.requests) <= 9
    assert answer.value is not None, answer.gaps
    assert [request for request in models.requests if request.worker == "review"]


# --- other flows -----------------------------------------------------------------------------------------------------


WORKER = Worker("worker", "Answer.", tools=())


@flow
async def own(run: FlowContext) -> str:
    """A flow as users write it."""
    return " ".join(map(str, await run.gather(run.ask(WORKER, key=key) for key in ("one", "two"))))


async def test_a_flow_of_ones_own_needs_to_know_nothing_of_it(tmp_path: Path) -> None:
    models = ScriptedModel(always_of("4 EUR."), shape=[gives({"price": 4, "currency": "EUR"})])

    class Found(BaseModel):
        price: int
        currency: str

    async with Leadhand(models=models, flows=[own], home=tmp_path) as lead:
        answer = await lead.run("x", flow="own", output=Found)
    assert answer.value == Found(price=4, currency="EUR")
    assert answer.text == "4 EUR. 4 EUR."


async def test_a_retried_run_is_shaped_again_and_a_follow_up_has_the_same_output(tmp_path: Path) -> None:
    refused = [True]

    def check(text: str, given: Any) -> None:
        if refused:
            raise Retry("no")

    checked = WORKER.version(validate=check)

    @flow(name="own")
    async def twice(run: FlowContext) -> str:
        asked = (run.ask(WORKER, key="one"), run.ask(checked, key="two"))
        return " ".join(str(each) for each in await run.gather(asked, return_failures=True) if each.ok)

    models = ScriptedModel(always_of("4 EUR."), shape=[gives({"n": 1}), gives({"n": 2}), gives({"n": 1})])

    class Count(BaseModel):
        n: int

    async with Leadhand(models=models, flows=[twice], home=tmp_path) as lead:
        run = await lead.start("x", flow="own", output=Count)
        first = await run.answer()
        assert (first.status, first.value) == (RunStatus.PARTIAL, Count(n=1))
        refused.clear()
        await run.retry("two")
        second = await run.answer()
        assert (second.status, second.value) == (RunStatus.SUCCEEDED, Count(n=2))
        followed = await (await run.follow_up("y")).answer()
    assert followed.value == Count(n=1)


def always_of(text: str) -> list[str]:
    return [text] * 20


# --- a worker of a project -------------------------------------------------------------------------------------------


class Verdict(BaseModel):
    shop: str
    price_eur: float


def project(tmp_path: Path, *, output: bool) -> Path:
    """A project with a worker that compares prices, and answers with an object if ``output``."""
    folder = tmp_path / "project"
    (folder / "workers").mkdir(parents=True)
    schema = "output: {type: object, properties: {shop: {type: string}, price_eur: {type: number}}}\n" if output else ""
    text = f"---\nname: buyer\ntools: [price]\n{schema}---\nFind the price.\n"
    (folder / "workers" / "buyer.worker").write_text(text)
    (folder / "leadhand.toml").write_text('worker_files = ["workers/*.worker"]\n')
    return folder


async def bought(tmp_path: Path, models: ScriptedModel, output: Any, *, own: bool) -> Any:
    lead = Leadhand.of_project(project(tmp_path, output=own), home=tmp_path / "home", models=models, tools=[price])
    async with lead:
        return await lead.run("Which price?", worker="buyer", output=output)


async def test_the_value_of_a_worker_with_an_output_schema_is_its_own(tmp_path: Path) -> None:
    with ScriptedModel([calls("price", shop="Blum"), gives({"shop": "Blum", "price_eur": 12.5})]) as models:
        answer = await bought(tmp_path, models, None, own=True)
    assert answer.value == {"shop": "Blum", "price_eur": 12.5}
    assert answer.status is RunStatus.SUCCEEDED


async def test_such_a_value_that_fits_the_output_of_the_run_needs_no_further_call(tmp_path: Path) -> None:
    with ScriptedModel([calls("price", shop="Blum"), gives({"shop": "Blum", "price_eur": 12.5})]) as models:
        answer = await bought(tmp_path, models, Verdict, own=True)
    assert answer.value == Verdict(shop="Blum", price_eur=12.5)
    assert answer.status is RunStatus.SUCCEEDED


async def test_one_that_does_not_fit_is_shaped(tmp_path: Path) -> None:
    script = [calls("price", shop="Blum"), gives({"shop": "Blum"})]
    with ScriptedModel(script, shape=[gives({"shop": "Blum", "price_eur": 12.5})]) as models:
        answer = await bought(tmp_path, models, Verdict, own=True)
    assert answer.value == Verdict(shop="Blum", price_eur=12.5)


async def test_the_text_of_a_worker_is_shaped(tmp_path: Path) -> None:
    script = [calls("price", shop="Blum"), says("Blum: 12.5 EUR.")]
    with ScriptedModel(script, shape=[gives({"shop": "Blum", "price_eur": 12.5})]) as models:
        answer = await bought(tmp_path, models, Verdict, own=False)
    assert (answer.value, answer.text) == (Verdict(shop="Blum", price_eur=12.5), "Blum: 12.5 EUR.")


# --- offline ---------------------------------------------------------------------------------------------------------


class Place(BaseModel):
    location: str
    temperature_max: float | None = None
    note: str | None = None


class Forecast(BaseModel):
    answer: str
    places: list[Place]


async def test_the_built_in_model_fills_in_what_the_data_has(tmp_path: Path) -> None:
    async with Leadhand(model="offline", home=tmp_path) as lead:
        answer = await lead.run("What is the weather in Paris and Lyon tomorrow?", output=Forecast)
    assert answer.value is not None
    assert [place.location for place in answer.value.places] == ["Paris", "Lyon"]
    assert all(f"{place.temperature_max:g}" in answer.text for place in answer.value.places)
    assert [place.note for place in answer.value.places] == [None, None]
    assert answer.status is RunStatus.SUCCEEDED


class Report(BaseModel):
    answer: str


async def test_reports_and_research_have_typed_answers_offline(tmp_path: Path) -> None:
    async with Leadhand(model="offline", home=tmp_path) as lead:
        report = await lead.report("Heat pumps in old houses", output=Report)
        found = await lead.research("How do heat pumps perform in old houses?", output={**SCHEMA, "title": "Found"})
    assert report.value is not None
    assert report.text.startswith(report.value.answer)
    assert found.text.startswith(found.value["answer"])


SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


async def test_the_built_in_model_invents_nothing(tmp_path: Path) -> None:
    class Priced(BaseModel):
        price: float

    async with Leadhand(model="offline", home=tmp_path) as lead:
        answer = await lead.run("What is the weather in Paris?", output=Priced)
    assert answer.value is None
    assert "price" in answer.gaps[0].reason


# --- misuse ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "named"),
    [
        (int, "int"),
        ("Offer", "'Offer'"),
        ({"type": "array"}, "array|object"),
        ({"type": "object", "properties": {"a": {"type": "numbr"}}}, "numbr"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}, "https://example.com/a.json"),
    ],
)
async def test_an_output_that_cannot_be_used_is_refused_at_once(tmp_path: Path, output: Any, named: str) -> None:
    async with Leadhand(models=ScriptedModel([]), home=tmp_path) as lead:
        with pytest.raises(UsageError, match=named):
            await lead.run("x", output=output)


async def test_a_model_that_refers_to_itself_can_be_used(tmp_path: Path) -> None:
    class Part(BaseModel):
        name: str
        parts: list[Part] = []

    answer = await asked(tmp_path, scripted(gives({"name": "shops", "parts": [{"name": "Blum"}]})), Part)
    assert answer.value == Part(name="shops", parts=[Part(name="Blum")])
