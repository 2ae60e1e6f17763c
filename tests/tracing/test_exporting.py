"""Traces are made where somebody takes them, and sent; and where nobody does, nothing of OpenTelemetry is imported."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from engine.fakes import FakeModels
from engine.worlds import ask, plan

from leadhand import Leadhand, RunStatus, ToolReturn, tool
from leadhand.app.telemetry import tracing as tracing_module
from leadhand.app.telemetry.spans import outermost
from leadhand.app.telemetry.tracing import telemetry

from .collector import collecting

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
ASK = "What is the weather in Paris?"

LOADED = "[name for name in sys.modules if name.partition('.')[0] == 'opentelemetry']"
COMMAND = f"""
import sys
from leadhand.cli.app import main
sys.argv = ["leadhand", *{{}}]
try:
    main()
except SystemExit as end:
    code = end.code
else:
    code = 0
assert not code, code
print({LOADED}, file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def nothing_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("OTEL_", "LEADHAND_"))]:
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    tracing_module.warn_once.cache_clear()


def python(code: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own that runs some code."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LEADHAND_HOME": str(home), "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=90,
        check=False,
    )


# --- nothing set up --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{}, {ENDPOINT: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}])
def test_without_a_place_for_traces_nothing_of_opentelemetry_is_imported(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """One process imports more and more, and says after each step what it has imported by then."""
    says = f"print({LOADED}, file=sys.stderr)"
    steps = [
        f"import leadhand, sys; from leadhand import Leadhand; {says}",
        f"import leadhand.api, leadhand.cli.parser; {says}",
        COMMAND.format(["--version"]),
        COMMAND.format(["run", "--offline", ASK]),
    ]
    ran = python("\n".join(steps), tmp_path, **environment)
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stderr.splitlines() if line.startswith("[")] == ["[]"] * len(steps)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {ENDPOINT: " "},
        {ENDPOINT: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "TRUE"},
        {TRACES_ENDPOINT: "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nobody_takes_traces_who_is_not_named_or_is_switched_off(environment: dict[str, str]) -> None:
    assert telemetry(environment) is None


# --- over HTTP -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_spans_of_a_command_reach_a_collector_over_http(tmp_path: Path) -> None:
    with collecting() as collector:
        ran = python(COMMAND.format(["run", "--offline", ASK]), tmp_path, **{ENDPOINT: collector.url + "/"})

    assert ran.returncode == 0, ran.stderr
    assert {path for path, _ in collector.requests} == {"/v1/traces"}
    assert {span.name.partition(" ")[2] for span in collector.spans} >= {
        "work-order",
        "worker_weather",
        "weather_tool",
        "offline",
    }
    (trace,) = {span.trace_id for span in collector.spans}
    (run,) = [span for span in collector.spans if span.name.startswith("invoke_workflow")]
    run_id = next(each.value.string_value for each in run.attributes if each.key == "leadhand.run.id")
    assert trace == outermost(run_id).trace_id.to_bytes(16)
    assert collector.resource["service.name"] == "leadhand"
    assert "Paris" not in str(collector.spans)


async def test_python_s_door_sends_to_the_endpoint_for_traces_alone_and_under_the_name_that_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
        monkeypatch.setenv(TRACES_ENDPOINT, f"{collector.url}/custom")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "travel-desk")
        async with Leadhand(model="offline", home=tmp_path) as lead:
            answer = await lead.run(ASK)

    assert answer.status is RunStatus.SUCCEEDED
    assert ({path for path, _ in collector.requests}, collector.metrics) == ({"/custom"}, [])
    assert collector.resource["service.name"] == "travel-desk"
    assert len(collector.spans) > 4


async def test_a_secret_of_request_and_result_is_in_nothing_that_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool
    async def leak(what: str) -> ToolReturn:
        """Tell a secret."""
        return ToolReturn(raw={"password": "hidden-in-a-field", "text": os.environ["CANARY_TOKEN"]}, summary=what)

    monkeypatch.setenv("CANARY_TOKEN", "canary-value-4711-hidden")
    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        models = FakeModels(plan(ask("a", "leak", what="an ordinary word")))
        async with Leadhand(models=models, tools=[leak], home=tmp_path) as lead:
            await lead.run("Tell me about canary-value-4711-hidden")

    sent = b"".join(collector.bodies)
    assert b"execute_tool leak" in sent
    for word in (b"canary", b"hidden", b"ordinary", b"Tell me"):
        assert word not in sent


async def test_figures_of_calls_reach_a_collector_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        async with Leadhand(model="offline", home=tmp_path) as lead:
            answer = await lead.run(ASK)
    calls = {each["gen_ai.operation.name"]: each for each in collector.points("gen_ai.client.operation.duration")}
    assert calls["execute_tool"]["gen_ai.tool.name"] == "weather_tool"
    assert (calls["chat"]["count"], calls["chat"]["gen_ai.provider.name"]) == (answer.usage.requests, "leadhand")
    tokens = {each["gen_ai.token.type"]: each["sum"] for each in collector.points("gen_ai.client.token.usage")}
    assert tokens == {"input": answer.usage.input_tokens, "output": answer.usage.output_tokens}
    assert b"Paris" not in b"".join(collector.bodies)


async def test_a_process_says_when_its_runs_begin_and_how_they_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "leadhand.runs"):
        async with Leadhand(model="offline", home=tmp_path) as lead:
            answer = await lead.run(ASK)
            failed = await lead.run("qwertz")
    fields = [(record.getMessage(), record.__dict__["leadhand_fields"]) for record in caplog.records]
    assert [said for said, _ in fields] == ["run started", "run ended"] * 2
    assert [about["run_id"] for _, about in fields] == [answer.run_id] * 2 + [failed.run_id] * 2
    assert {about["trace_id"] for _, about in fields[:2]} == {answer.document["trace_id"]}
    assert [fields[n][1]["status"] for n in (1, 3)] == [answer.status.value, failed.status.value]
    assert "Paris" not in str(fields)
    assert "qwertz" not in str(fields)


async def test_a_collector_that_hangs_does_not_hold_up_the_end_of_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tracing_module, "FLUSH_S", 0.2)
    with collecting() as collector:
        collector.answers.clear()
        monkeypatch.setenv(ENDPOINT, collector.url)
        with caplog.at_level(logging.WARNING, "leadhand"):
            async with Leadhand(model="offline", home=tmp_path) as lead:
                answer = await lead.run(ASK)
        assert not collector.requests
        assert answer.status is RunStatus.SUCCEEDED
        (said,) = [record.getMessage() for record in caplog.records if record.name == "leadhand"]
        assert "0.2 s" in said
        collector.answers.set()
        await asyncio.to_thread(_join)
        assert collector.spans, "what hung was the last of the spans"


def _join() -> None:
    """Wait for the thread that still sends."""
    for thread in threading.enumerate():
        if thread.name == "leadhand-telemetry":
            thread.join(60)


# --- a provider of the program's own ---------------------------------------------------------------------------------

OWN = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from leadhand import Leadhand

with trace.get_tracer("mine").start_as_current_span("mine") as mine:
    Leadhand(model="offline").run_sync("What is the weather in Paris?")
spans = {span.name: span for span in exporter.get_finished_spans()}
run = spans["invoke_workflow work-order"]
assert "execute_tool weather_tool" in spans
assert [link.context.span_id for link in run.links] == [mine.get_span_context().span_id]
assert run.context.trace_id != mine.get_span_context().trace_id
with provider.get_tracer("mine").start_as_current_span("after"):
    pass
assert "after" in {span.name for span in exporter.get_finished_spans()}, "the program's provider was shut down"
"""


@pytest.mark.slow
def test_a_provider_that_the_program_has_set_is_used_and_left_alone(tmp_path: Path) -> None:
    """The span it was in when it started the run is linked; an endpoint in the environment does not come before it."""
    ran = python(OWN, tmp_path, **{TRACES_ENDPOINT: "http://127.0.0.1:9"})
    assert ran.returncode == 0, ran.stderr


# --- what cannot be set up -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [{}, {"OTEL_BSP_MAX_QUEUE_SIZE": "-4711"}], ids=["no extra", "refused"])
async def test_what_cannot_be_set_up_is_said_once_without_values_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, setting: dict[str, str]
) -> None:
    for name, value in {TRACES_ENDPOINT: "http://127.0.0.1:9", **setting}.items():
        monkeypatch.setenv(name, value)
    if not setting:
        monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    for _ in range(2):
        async with Leadhand(model="offline", home=tmp_path) as lead:
            assert (await lead.run(ASK)).status is RunStatus.SUCCEEDED

    (record,) = [record for record in caplog.records if record.name == "leadhand"]
    for word in ("OTEL_", "ValueError") if setting else ("leadhand[otel]",):
        assert word in record.getMessage()
    assert "4711" not in record.getMessage()
    assert record.levelno == logging.WARNING
