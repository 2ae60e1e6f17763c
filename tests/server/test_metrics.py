"""What Prometheus reads: counted from the log of the runs that are driven here, and from the requests served."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from engine.fakes import FakeModels, down
from engine.tools import Bench, refusal
from engine.worlds import World, ask, plan
from fastapi import APIRouter, FastAPI
from logged import request
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from leadhand import Leadhand, RunStatus, ToolReturn, tool
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.events import Entry, ModelCallReturned, StepRequested, ToolCallReturned
from leadhand.core.evolve import evolve, replay
from leadhand.core.limits import Usage
from leadhand.ports.models import ModelProfile
from leadhand.server.logs import AccessLog
from leadhand.server.metrics import Metrics


@pytest.fixture
def metrics() -> Metrics:
    return Metrics("1.2.3")


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """The value of one sample, None where there is none."""
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return sample.value
    return None


def watch(metrics: Metrics, runtime: Runtime) -> None:
    runtime.watchers.append(metrics.watch)
    runtime.on_release.append(metrics.release)


def watch_log(metrics: Metrics, entries: Sequence[Entry], known: int = 1, *, let_go: bool = True) -> None:
    """Count a drive that began when so many entries were known."""
    state = replay("run_1", entries[:known])
    for entry in entries[known:]:
        state = evolve(state, entry)
        metrics.watch(state, [entry])
    if let_go:
        metrics.release(state)


async def log_of(world: World) -> list[Entry]:
    await world.run()
    return await world.entries()


# --- runs ------------------------------------------------------------------------------------------------------------


async def test_a_run_is_counted_with_its_subtasks_and_calls(metrics: Metrics, tmp_path: Path) -> None:
    async with Leadhand(model="offline", home=tmp_path) as lead:
        watch(metrics, await lead.runtime())
        await lead.run("Weather in Paris and in Lyon")

    assert value(metrics, "leadhand_runs_started_total", flow="work-order") == 1
    assert value(metrics, "leadhand_runs_finished_total", flow="work-order", status="succeeded") == 1
    assert value(metrics, "leadhand_runs_driving") == 0
    assert value(metrics, "leadhand_subtasks_settled_total", outcome="completed") == 2
    assert value(metrics, "leadhand_tool_calls_total", tool="weather_tool", outcome="ok") == 2
    assert value(metrics, "leadhand_tool_call_duration_seconds_count", tool="weather_tool") == 2
    assert value(metrics, "leadhand_model_calls_total", model="offline", outcome="ok") == 2
    assert value(metrics, "leadhand_model_call_duration_seconds_count", model="offline") == 2


async def test_a_run_counts_as_driven_until_it_is_let_go(metrics: Metrics, open_world: Any) -> None:
    log = await log_of(open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look]))
    watch_log(metrics, log, let_go=False)
    assert value(metrics, "leadhand_runs_driving") == 1
    metrics.release(replay("run_1", log))
    assert value(metrics, "leadhand_runs_driving") == 0


@pytest.mark.parametrize(("nanousd", "usd", "unpriced"), [(500_000_000, 0.5, None), (None, None, 1)])
async def test_tokens_and_dollars_are_added_up_by_model_and_calls_without_a_price_are_counted_apart(
    metrics: Metrics, open_world: Any, nanousd: int | None, usd: float | None, unpriced: int | None
) -> None:
    profile = ModelProfile(name="fake") if nanousd is None else None
    given: dict[str, Any] = {"profile": profile} if profile else {}
    usage = Usage(input_tokens=11, output_tokens=7, nanousd=nanousd)
    log = await log_of(open_world(FakeModels(plan(ask("a", "look", n=1)), usage=usage, **given), [Bench().look]))
    watch_log(metrics, log)
    calls = sum(isinstance(entry.event, ModelCallReturned) for entry in log)
    assert calls > 1
    assert value(metrics, "leadhand_model_tokens_total", model="fake", direction="input") == 11 * calls
    assert value(metrics, "leadhand_model_tokens_total", model="fake", direction="output") == 7 * calls
    assert value(metrics, "leadhand_model_cost_usd_total", model="fake") == (usd and usd * calls)
    assert value(metrics, "leadhand_model_calls_unpriced_total", model="fake") == (unpriced and unpriced * calls)


async def test_failures_are_counted_by_their_class(metrics: Metrics, open_world: Any) -> None:
    bench = Bench()
    subtasks = [ask("a", "broken"), {**ask("b", "look", n=1), "needs": [0]}, ask("c", "look", n=2)]
    models = FakeModels(plan(*subtasks), work="cannot")
    watch_log(metrics, await log_of(open_world(models, [bench.broken(refusal(), retries=0), bench.look])))

    assert (value(metrics, "leadhand_tool_calls_total", tool="broken", outcome="invalid") or 0) >= 1
    assert value(metrics, "leadhand_subtasks_settled_total", outcome="failed") == 1
    assert value(metrics, "leadhand_subtasks_settled_total", outcome="blocked") == 1
    assert value(metrics, "leadhand_subtasks_settled_total", outcome="completed") == 1
    assert value(metrics, "leadhand_runs_finished_total", flow="work-order", status="partial") == 1


async def test_a_model_that_is_down_fails_the_run(metrics: Metrics, open_world: Any) -> None:
    watch_log(metrics, await log_of(open_world(FakeModels(down()), [Bench().look])))
    assert value(metrics, "leadhand_model_calls_total", model="fake", outcome="unavailable") == 1
    assert value(metrics, "leadhand_runs_finished_total", flow="work-order", status="failed") == 1


async def test_open_questions_stay_counted_while_the_run_waits_and_a_resumed_run_is_not_started_again(
    metrics: Metrics, tmp_path: Path
) -> None:
    bench = Bench()
    models = FakeModels(plan(ask("a", "send", amount=1), ask("b", "send", amount=2)))
    async with Leadhand(models=models, tools=[bench.send()], home=tmp_path) as lead:
        watch(metrics, await lead.runtime())
        run = await lead.start("send")
        assert (await run.wait()).status is RunStatus.WAITING
        assert value(metrics, "leadhand_approvals_open") == 2
        assert value(metrics, "leadhand_runs_driving") == 0
        for asked in await run.approvals():
            await run.approve(asked)
        await (await lead.resume(run.run_id)).wait()

    assert value(metrics, "leadhand_approvals_open") == 0
    assert value(metrics, "leadhand_runs_started_total", flow="work-order") == 1
    assert value(metrics, "leadhand_runs_finished_total", flow="work-order", status="succeeded") == 1


async def test_what_a_person_left_out_is_counted_as_skipped(metrics: Metrics, open_world: Any) -> None:
    hold = asyncio.Event()

    @tool
    async def slow() -> ToolReturn:
        """Waits."""
        await hold.wait()
        return ToolReturn(summary="slow")

    world: World = open_world(FakeModels(plan(ask("a", "slow"), ask("b", "send", amount=1))), [slow, Bench().send()])
    run_id = await world.start()
    driving = world.driving(run_id)
    await world.until(lambda state: state.parked)
    await world.append(run_id, StepRequested(what="skip", steps=("wo-001.1",), by="me"))
    await world.until(lambda state: state.steps["wo-001.1"].status == "dropped")
    hold.set()
    await driving
    watch_log(metrics, await world.entries())
    assert value(metrics, "leadhand_subtasks_settled_total", outcome="skipped") == 1


async def test_names_that_nobody_defined_do_not_become_labels(metrics: Metrics, open_world: Any) -> None:
    log = await log_of(open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look]))
    made_up: list[Entry] = []
    for entry in log:
        event = entry.event
        if isinstance(event, ToolCallReturned):
            event = event.evolve(tool="made_up_by_a_model")
        elif isinstance(event, ModelCallReturned):
            event = event.evolve(model="made-up")
        made_up.append(entry._replace(event=event))
    watch_log(metrics, made_up)
    assert value(metrics, "leadhand_tool_calls_total", tool="other", outcome="ok") == 1
    assert (value(metrics, "leadhand_model_calls_total", model="other", outcome="ok") or 0) > 1
    assert b"made" not in metrics.text().replace(b"Runs made", b"")


async def test_no_word_of_what_a_run_is_about_is_in_the_metrics(
    metrics: Metrics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_TOKEN", "canary-value-4711-hidden")

    @tool
    async def leak(what: str) -> ToolReturn:
        """Tell a secret, or break."""
        if what == "break":
            raise ValueError("canary-value-4711-hidden marzipan")
        return ToolReturn(raw="canary-value-4711-hidden marzipan", summary="marzipan")

    models = FakeModels(plan(ask("marzipan", "leak", what="marzipan"), ask("b", "leak", what="break")), work="marzipan")
    async with Leadhand(models=models, tools=[leak], home=tmp_path) as lead:
        watch(metrics, await lead.runtime())
        await lead.run("marzipan and canary-value-4711-hidden")
    assert value(metrics, "leadhand_tool_calls_total", tool="leak", outcome="ok") == 1
    assert b"canary" not in metrics.text()
    assert b"marzipan" not in metrics.text()


# --- serving ---------------------------------------------------------------------------------------------------------


def test_requests_are_counted_by_template_method_and_status(metrics: Metrics) -> None:
    metrics.http("GET", "/api/runs/{run_id}", 200, 0.02)
    metrics.http("GET", "/api/runs/{run_id}", 200, 0.02)
    metrics.http("BREW", None, 404, 0.001)
    template = "/api/runs/{run_id}"
    assert value(metrics, "leadhand_http_requests_total", method="GET", route=template, status="200") == 2
    assert value(metrics, "leadhand_http_request_duration_seconds_sum", method="GET", route=template) == 0.04
    assert value(metrics, "leadhand_http_requests_total", method="other", route="unmatched", status="404") == 1


async def test_a_path_is_never_a_label(metrics: Metrics) -> None:
    """A real application tells the template of a route, and nothing of what was asked for."""
    app, api, runs = FastAPI(), APIRouter(prefix="/api"), APIRouter(prefix="/runs")

    @runs.get("/{run_id}")
    async def show(run_id: str) -> str:
        return run_id

    @app.get("/direct/{name}")
    async def direct(name: str) -> str:
        return name

    api.include_router(runs)
    app.include_router(api)
    served = AccessLog(app, metrics.http)
    for path in ("/api/runs/canary", "/direct/canary", "/api/nowhere/canary"):
        await request(served, path)
    assert value(metrics, "leadhand_http_requests_total", method="GET", route="/api/runs/{run_id}", status="200") == 1
    assert value(metrics, "leadhand_http_requests_total", method="GET", route="unmatched", status="404") == 1
    assert value(metrics, "leadhand_http_requests_total", method="GET", route="/direct/{name}", status="200") == 1
    assert b"canary" not in metrics.text()


def test_streams_count_while_they_are_open(metrics: Metrics) -> None:
    with metrics.stream(), metrics.stream():
        assert value(metrics, "leadhand_sse_streams_open") == 2
    with pytest.raises(ConnectionResetError), metrics.stream():
        raise ConnectionResetError
    assert value(metrics, "leadhand_sse_streams_open") == 0


def test_names_follow_the_conventions_and_each_says_what_it_is(metrics: Metrics) -> None:
    families = {
        family.name: family
        for family in text_string_to_metric_families(metrics.text().decode())
        if not family.name.startswith("process_")
    }
    assert value(metrics, "leadhand_build_info", version="1.2.3") == 1
    assert len(families) > 14
    assert metrics.content_type.startswith("text/plain; version=0.0.4")
    for name, family in families.items():
        assert name.startswith("leadhand_")
        assert family.documentation
        if family.type == "histogram":
            assert name.endswith("_seconds")


async def test_every_metric_is_in_the_guide_for_operators_with_its_labels(metrics: Metrics, open_world: Any) -> None:
    usage = Usage(input_tokens=1, output_tokens=1, nanousd=1)
    watch_log(metrics, await log_of(open_world(FakeModels(plan(ask("a", "look", n=1)), usage=usage), [Bench().look])))
    metrics.http("GET", "/", 200, 0.1)
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "observe.md").read_text(encoding="utf-8")
    documented = {
        row[1].removesuffix("_total"): set(re.findall(r"`(\w+)`", row[2]))
        for row in re.finditer(r"^\| `(leadhand_\w+)` \| ([^|]*)\|", guide, re.MULTILINE)
    }

    named: set[str] = set()
    for family in text_string_to_metric_families(metrics.text().decode()):
        if not family.name.startswith("leadhand_") or family.name.endswith("_created"):
            continue
        name = family.name.removesuffix("_total")
        named.add(name)
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == documented[name], name
    assert named == set(documented)


def test_two_servers_of_one_process_do_not_share_their_figures(metrics: Metrics) -> None:
    other = Metrics("1.2.3")
    metrics.http("GET", "/", 200, 0.1)
    assert value(other, "leadhand_http_requests_total", method="GET", route="/", status="200") is None
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("leadhand")]
