"""Two flows name a worker alike: each has its own offline rule, also for the flows that it calls."""

from __future__ import annotations

from pathlib import Path

from leadhand import Leadhand, Worker
from leadhand.flows import FlowContext, flow

ONE = Worker("writer", "Write one.", tools=())
TWO = Worker("writer", "Write two.", tools=())
INNER = Worker("inner", "Write.", tools=())


@flow(offline={ONE: lambda _facts, _request: "one"})
async def first(run: FlowContext) -> str:
    return (await run.ask(ONE)).text


@flow(offline={INNER: lambda _facts, _request: "inner"})
async def nested(run: FlowContext) -> str:
    return (await run.ask(INNER)).text


@flow(offline={TWO: lambda _facts, _request: "two"})
async def second(run: FlowContext) -> str:
    text = (await run.ask(TWO)).text
    return f"{text} {await nested(run)}"


def test_each_flow_has_the_rules_of_its_workers(tmp_path: Path) -> None:
    def answered(name: str) -> str:
        lead = Leadhand(flows=[first, second, nested], model="offline", tools=[], home=tmp_path)
        return lead.run_sync("Go", flow=name).text

    assert [answered(name) for name in ("first", "second", "nested")] == ["one", "two inner", "inner"]
