"""The spans of a run say what its log says: who did what, when, how it ended, and nothing of what it was about."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from engine.fakes import FakeModels, calls, down
from engine.tools import Bench, refusal
from engine.worlds import World, ask, plan
from opentelemetry.trace import SpanKind, StatusCode

from leadhand import Leadhand, RunStatus, ToolReturn, tool
from leadhand.app.telemetry.spans import outermost
from leadhand.core.errors import ToolError
from leadhand.core.events import Entry, RunClaimed, RunStarted, StepRequested, StepSettled, ToolCallBegan
from leadhand.core.limits import Limits, Usage
from leadhand.core.state import RunState
from leadhand.core.work_result import ResultData
from leadhand.ports import ToolContext

from .trees import Spans

QUESTION = "What's the weather in Paris tomorrow, and how do I get from the Louvre to Orly airport?"
AGENT = "invoke_agent worker_{}"


def of(span: Any, *names: str) -> tuple[Any, ...]:
    """Attributes of a span, None where it has none of that name."""
    attributes: dict[str, Any] = dict(span.attributes)
    return tuple(attributes.get(name) for name in names)


async def log_of(world: World) -> list[Entry]:
    await world.run()
    return await world.entries()


# --- a run as it goes ------------------------------------------------------------------------------------------------


async def test_a_run_is_one_trace_of_its_attempts_and_their_calls(tmp_path: Path) -> None:
    spans = Spans()
    async with Leadhand(model="offline", home=tmp_path) as lead:
        spans.of(await lead.runtime())
        run = await lead.start(QUESTION)
        log = [entry async for entry in run]
        answer = await run.answer()

    assert spans.tree(answer.run_id) == [
        (
            "invoke_workflow work-order",
            [
                ("invoke_agent lead", [("chat offline", [])]),
                ("invoke_agent worker_weather", [("execute_tool weather_tool", [])]),
                ("invoke_agent worker_directions", [("execute_tool directions_tool", [])]),
                ("invoke_agent reviewer", [("chat offline", [])]),
            ],
        )
    ]
    assert {span.context.trace_id for span in spans.all} == {outermost(answer.run_id).trace_id}
    assert {of(span, "leadhand.run.id") for span in spans.all} == {(answer.run_id,)}
    assert {span.status.status_code for span in spans.all} == {StatusCode.UNSET}
    whole = spans.one("invoke_workflow work-order")
    assert of(whole, "gen_ai.operation.name", "gen_ai.workflow.name") == ("invoke_workflow", "work-order")
    assert of(whole, "leadhand.run.status", "leadhand.run.epoch") == ("succeeded", 1)
    weather = spans.one(AGENT.format("weather"))
    assert of(weather, "gen_ai.operation.name", "gen_ai.agent.name") == ("invoke_agent", "worker_weather")
    assert of(weather, "leadhand.step", "leadhand.attempt") == ("wo-001.0", "wo-001.0/a1")
    assert of(weather, "leadhand.worker", "leadhand.outcome") == ("work", "ok")
    called = spans.one("execute_tool weather_tool")
    assert of(called, "gen_ai.operation.name", "gen_ai.tool.name") == ("execute_tool", "weather_tool")
    assert of(called, "gen_ai.tool.call.id", "gen_ai.tool.type") == ("wo-001.0/t0/c0", "function")
    assert of(called, "leadhand.tool.effect", "leadhand.sample") == ("pure", True)
    chat = spans.named("chat offline")[0]
    assert of(chat, "gen_ai.operation.name", "gen_ai.request.model") == ("chat", "offline")
    assert of(chat, "gen_ai.provider.name", "leadhand.cost_usd") == ("leadhand", 0.0)
    assert chat.kind is SpanKind.CLIENT
    by_id = {span.context.span_id: span for span in spans.all}
    for span in spans.all:
        parent = by_id.get(span.parent.span_id)
        if parent is not None:
            assert parent.start_time <= span.start_time <= span.end_time <= parent.end_time
    began = next(e.at for e in log if isinstance(e.event, ToolCallBegan) and e.event.tool == "weather_tool")
    times = called.start_time, whole.start_time, whole.end_time
    assert times == tuple(round(at.timestamp() * 1_000_000) * 1_000 for at in (began, log[0].at, log[-1].at))


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "type_"),
    [(refusal("no room for Mr. Smith"), "refused"), (ToolError("no", type="no room for Mr. Smith"), "invalid")],
    ids=["type", "type of several words"],
)
async def test_a_tool_that_fails_is_an_error_of_its_call_and_of_its_worker(
    open_world: Any, failure: Exception, type_: str
) -> None:
    bench, spans = Bench(), Spans()
    broken = bench.broken(failure, retries=0)
    models = FakeModels(plan(ask("a", "broken"), ask("b", "look", n=1)), work="cannot")
    spans.of_log(await log_of(open_world(models, [broken, bench.look])))

    call, worker = spans.named("execute_tool broken")[0], spans.named(AGENT.format("broken"))[-1]
    assert {call.status.status_code, worker.status.status_code} == {StatusCode.ERROR}
    assert of(call, "error.type", "leadhand.failure.class") == (type_, "invalid")
    assert of(worker, "leadhand.outcome") == ("failed",)
    assert spans.one(AGENT.format("look")).status.status_code is StatusCode.UNSET
    assert "Smith" not in spans.text()


async def test_every_attempt_has_a_span_of_its_own(open_world: Any) -> None:
    bench, spans = Bench(), Spans()
    spans.of_log(await log_of(open_world(FakeModels(plan(ask("a", "flaky", n=1))), [bench.flaky(1)])))

    first, second = spans.named(AGENT.format("flaky"))
    assert of(first, "leadhand.attempt", "leadhand.outcome") == ("wo-001.0/a1", "failed")
    assert of(first, "error.type", "leadhand.failure.class") == ("connection", "transient")
    assert first.status.status_code is StatusCode.ERROR
    assert of(second, "leadhand.attempt", "leadhand.continues") == ("wo-001.0/a2", "wo-001.0/a1")
    assert second.status.status_code is StatusCode.UNSET
    assert [call.status.status_code for call in spans.named("execute_tool flaky")] == [
        StatusCode.ERROR,
        StatusCode.UNSET,
    ]


async def test_a_run_that_fails_says_of_what(open_world: Any) -> None:
    spans = Spans()
    spans.of_log(await log_of(open_world(FakeModels(down("the key ends in 4711")), [Bench().look])))

    run = spans.one("invoke_workflow work-order")
    assert run.status.status_code is StatusCode.ERROR
    assert of(run, "leadhand.run.status", "error.type") == ("failed", "http_401")
    assert of(spans.named("chat fake")[0], "error.type") == ("http_401",)
    assert "4711" not in spans.text()


# --- rest, and other processes ---------------------------------------------------------------------------------------


async def test_a_parked_attempt_has_ended_and_its_child_comes_under_it(open_world: Any) -> None:
    from engine.test_children import delegates, helper, workers

    def tea(_request: Any, _facts: Any, _said: Any) -> str:
        return "tea is ready"

    spans = Spans()
    models = FakeModels(plan(ask("a")), work=workers(a=delegates, helper=tea))
    spans.of_log(await log_of(open_world(models, [helper])))

    asked, continued = spans.named("invoke_agent worker")
    assert of(asked, "leadhand.attempt", "leadhand.outcome") == ("wo-001.0/a1", "parked")
    assert of(continued, "leadhand.attempt", "leadhand.outcome") == ("wo-001.0/a2", "ok")
    child = spans.one("invoke_agent helper")
    assert child.parent is not None
    assert child.parent.span_id == asked.context.span_id
    assert asked.end_time <= child.start_time


async def test_a_run_that_waits_for_people_has_nothing_open_and_goes_on_in_the_same_trace(open_world: Any) -> None:
    bench, spans = Bench(), Spans()
    world: World = open_world(FakeModels(plan(ask("a", "send", amount=5))), [bench.send()])
    first = await log_of(world)
    spans.of_log(first)
    waited = spans.all
    await world.answer("run_1")
    await world.take_over("run_1")
    log = await world.entries()
    spans.of_log(log, known=1 + next(n for n, entry in enumerate(log) if isinstance(entry.event, RunClaimed)))

    assert of(waited[0], "leadhand.run.status") == ("waiting",)
    assert of(waited[-1], "leadhand.outcome") == ("parked",)
    assert {span.context.trace_id for span in spans.all} == {outermost("run_1").trace_id}
    before, after = spans.named("invoke_workflow work-order")
    assert before.parent == after.parent == outermost("run_1")
    assert of(after, "leadhand.run.status", "leadhand.run.epoch") == ("succeeded", 2)
    assert of(spans.one("execute_tool send"), "leadhand.attempt") == ("wo-001.0/a2",)


async def test_a_run_that_is_paused_and_resumed_elsewhere_is_one_trace(tmp_path: Path) -> None:
    """What was known when it was taken up is not traced again."""
    spans, go_on = Spans(), asyncio.Event()

    @tool
    async def step(n: int) -> ToolReturn:
        """One step; the second waits for a sign."""
        if n == 1:
            await go_on.wait()
        return ToolReturn(raw=n, summary=f"step {n}")

    models = FakeModels(plan(ask("a", "step", n=0), ask("b", "step", n=1)))
    async with Leadhand(models=models, tools=[step], home=tmp_path) as lead:
        spans.of(await lead.runtime())
        run = await lead.start("two steps")
        async for entry in run:
            if isinstance(entry.event, StepSettled) and entry.event.attempt == "wo-001.0/a1":
                await run.pause()
        assert (await run.wait()).status is RunStatus.PAUSED
    cut_short = spans.named(AGENT.format("step"))[1]
    assert of(cut_short, "leadhand.attempt", "leadhand.outcome") == ("wo-001.1/a1", "interrupted")
    assert cut_short.status.status_code is StatusCode.UNSET
    go_on.set()
    async with Leadhand(models=models, tools=[step], home=tmp_path) as lead:
        spans.of(await lead.runtime())
        await (await lead.resume(run.run_id)).wait()

    first, second = spans.named("invoke_workflow work-order")
    assert of(first, "leadhand.run.status") == ("paused",)
    assert of(second, "leadhand.run.status") == ("succeeded",)
    assert {span.context.trace_id for span in spans.all} == {outermost(run.run_id).trace_id}
    assert [of(span, "leadhand.attempt")[0] for span in spans.named(AGENT.format("step"))] == [
        "wo-001.0/a1",
        "wo-001.1/a1",
        "wo-001.1/a2",
    ]


async def test_what_a_process_leaves_behind_ends_as_an_error(tmp_path: Path) -> None:
    spans, begun = Spans(), asyncio.Event()

    @tool
    async def hang() -> None:
        """Never answers."""
        await asyncio.Event().wait()

    def note(state: RunState, entries: list[Entry]) -> None:
        if any(isinstance(entry.event, ToolCallBegan) for entry in entries):
            begun.set()

    async with Leadhand(models=FakeModels(plan(ask("a", "hang"))), tools=[hang], home=tmp_path) as lead:
        runtime = await lead.runtime()
        spans.of(runtime)
        runtime.watchers.append(note)
        await lead.start("hang")
        await begun.wait()

    for name in ("execute_tool hang", AGENT.format("hang"), "invoke_workflow work-order"):
        span = spans.one(name)
        assert span.status.status_code is StatusCode.ERROR
        assert of(span, "error.type", "leadhand.failure.class") == ("driver_gone", "lost")


async def test_an_attempt_that_died_with_its_process_shows_in_the_next_one(open_world: Any) -> None:
    bench, spans = Bench(), Spans()
    world: World = open_world(FakeModels(plan(ask("a", "look", n=1))), [bench.look])
    log = await log_of(world)
    cut = next(n for n, entry in enumerate(log) if isinstance(entry.event, ToolCallBegan))
    other: World = open_world(FakeModels(plan(ask("a", "look", n=1))), [bench.look])
    assert isinstance(log[0].event, RunStarted)
    await other.store.create("run_1", log[0].event)
    await other.store.append("run_1", [entry.event for entry in log[1 : cut + 1]])
    await other.take_over("run_1")
    spans.of_log(await other.entries(), known=cut + 2)  # the take-over itself was known when the driving began

    lost, again = spans.named(AGENT.format("look"))
    assert of(lost, "leadhand.attempt", "leadhand.outcome", "error.type") == ("wo-001.0/a1", "lost", "process_died")
    assert lost.start_time == lost.end_time
    assert of(again, "leadhand.attempt", "leadhand.outcome") == ("wo-001.0/a2", "ok")


async def test_a_call_that_returns_after_its_begin_was_missed_is_as_long_as_it_says(open_world: Any) -> None:
    spans = Spans()
    log = await log_of(open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look]))
    began = next(n for n, entry in enumerate(log) if isinstance(entry.event, ToolCallBegan))
    returned = log[began + 1]
    log[began + 1] = returned._replace(event=returned.event.evolve(duration_ms=250))
    spans.of_log(log, known=began + 1)

    call = spans.one("execute_tool look")
    assert call.end_time - call.start_time == 250_000_000


async def test_an_attempt_that_began_while_a_person_settled_its_subtask_is_withdrawn(open_world: Any) -> None:
    spans = Spans()
    log = await log_of(open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look]))
    cut = 1 + next(n for n, entry in enumerate(log) if isinstance(entry.event, ToolCallBegan))
    settled = StepSettled(step="wo-001.0", ok=True, data=ResultData(summary="by hand"), by="me")
    spans.of_log([*log[:cut], log[cut]._replace(event=settled)])

    withdrawn = spans.one(AGENT.format("look"))
    assert of(withdrawn, "leadhand.outcome", "error.type") == ("withdrawn", None)
    assert withdrawn.end_time == spans.one("execute_tool look").end_time == spans.all[0].end_time


async def test_a_run_out_of_time_leaves_no_span_open(open_world: Any) -> None:
    spans = Spans()
    world: World = open_world(
        FakeModels(plan(ask("a", "hanging"))), [Bench().hanging(timeout=30)], limits=Limits(timeout=5)
    )
    run_id = await world.start()
    driving = world.driving(run_id)
    await world.until(lambda state: "wo-001.0" in state.live and state.steps["wo-001.0"].status == "running")
    world.clock.advance(10)
    await world.append(
        run_id, StepRequested(what="skip", steps=("wo-001.9",), by="me")
    )  # anything that wakes the driver
    await driving
    spans.of_log(await world.entries())

    assert of(spans.one(AGENT.format("hanging")), "leadhand.outcome", "error.type") == ("lost", "time")
    assert spans.one("execute_tool hanging").end_time == spans.one("invoke_workflow work-order").end_time


# --- what is not told ------------------------------------------------------------------------------------------------


async def test_no_word_of_what_a_run_is_about_is_in_its_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither secrets nor ordinary text: not of the request, the plan, arguments, results, failures or the answer."""
    monkeypatch.setenv("CANARY_API_KEY", "canary-value-4711-hidden")
    spans = Spans()

    @tool
    async def visit(where: str, context: ToolContext) -> ToolReturn:
        """Go somewhere."""
        if where == "nowhere":
            raise ValueError("marzipan canary-value-4711-hidden")
        return ToolReturn(raw={"text": "marzipan canary-value-4711-hidden"}, summary="marzipan in results")

    subtasks = [
        {**ask("marzipan_one", "visit", where="marzipan"), "expected_output": "marzipan"},
        ask("marzipan_two", "visit", where="nowhere"),
        ask("marzipan_three"),
    ]
    models = FakeModels(plan(*subtasks), work=[calls(("visit", {"where": "marzipan"})), "marzipan", "marzipan"])
    async with Leadhand(models=models, tools=[visit], home=tmp_path) as lead:
        spans.of(await lead.runtime())
        answer = await lead.run("Where is marzipan, and canary-value-4711-hidden?")

    assert "marzipan" in answer.text
    assert len(spans.named("execute_tool visit")) > 2
    assert "marzipan" not in spans.text()
    assert "canary" not in spans.text()


async def test_every_attribute_is_in_the_guide_for_operators(open_world: Any) -> None:
    spans, bench = Spans(), Bench()
    broken = bench.broken(refusal(), retries=0)
    usage = Usage(input_tokens=11, output_tokens=7, nanousd=2_500_000)
    models = FakeModels(plan(ask("a", "broken"), ask("b", "flaky", n=1)), work="cannot", usage=usage)
    spans.of_log(await log_of(open_world(models, [broken, bench.flaky(1)])))

    chat = spans.named("chat fake")[0]
    assert of(chat, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens") == (11, 7)
    assert of(chat, "leadhand.cost_usd", "gen_ai.provider.name") == (0.0025, None)
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "observe.md").read_text(encoding="utf-8")
    told = {name for span in spans.all for name in span.attributes}
    assert len(told) > 20
    assert [name for name in sorted(told) if f"`{name}`" not in guide] == []


def test_the_trace_of_a_run_is_known_from_its_id() -> None:
    """SHA-256 of the run's id: the first 16 bytes name the trace, the next 8 the outermost span."""
    context = outermost("run_1")
    assert f"{context.trace_id:032x}" == "37ddff8ee13f1e57937fd048fa323f5e"
    assert f"{context.span_id:016x}" == "a5258c106dfc7be9"
    assert context.is_remote
    assert context.trace_flags.sampled
