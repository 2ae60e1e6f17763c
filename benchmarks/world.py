"""A scripted world for benchmarks: a lead plans N calls of one tool and accepts what comes back, without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from leadhand.app.runtime.clock import SystemClock, new_run_id
from leadhand.core.conversation import AssistantMessage
from leadhand.core.events import RunStarted
from leadhand.core.evolve import start
from leadhand.core.limits import Limits, Usage
from leadhand.core.run import ModelChoice, RunDefinition, RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import ToolReturn
from leadhand.dispatch.local import LocalDispatcher
from leadhand.engine.calls.model_calls import ModelCalls
from leadhand.engine.calls.tool_calls import ToolCalls
from leadhand.engine.controller import Controller
from leadhand.engine.log import RunLog
from leadhand.engine.redaction import Redactor
from leadhand.engine.session.host import Host
from leadhand.flows.work_order.flow import WORK_ORDER
from leadhand.flows.work_order.roles import ROLES
from leadhand.ports import ContextStore
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest
from leadhand.tools.decorator import tool
from leadhand.tools.tool import Tool
from leadhand.tools.toolbox import Toolbox


class ScriptedLead:
    """Plans ``count`` subtasks, accepts every completed one, answers with every result; costs nothing."""

    def __init__(self, count: int) -> None:
        self._answer = " ".join(f"Piece {n} is done." for n in range(count))
        self._plan: dict[str, Any] = {
            "goal": "benchmark",
            "subtasks": [{"name": f"piece_{n}", "tool": "piece", "args": {"n": n}} for n in range(count)],
        }

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, free=True)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if request.output is None:
            return ModelReply(message=AssistantMessage(text=self._answer), usage=Usage(nanousd=0))
        if request.output.name == "plan":
            value = self._plan
        else:
            facts = json.loads(request.messages[1].text)  # type: ignore[union-attr]
            verdicts = [{"subtask": piece["subtask"], "verdict": "accept"} for piece in facts["subtasks"]]
            value: dict[str, Any] = {"verdicts": verdicts, "complete": True}
            if facts.get("compose"):
                value["answer"] = self._answer
        return ModelReply(message=AssistantMessage(), value=value, usage=Usage(nanousd=0))

    async def aclose(self) -> None:
        """There is nothing to close."""


def piece(seconds: float) -> Tool[..., Any]:
    """A tool that takes ``seconds`` and says so."""

    @tool(name="piece", timeout=60)
    async def work(n: int) -> ToolReturn:
        """Do one piece of the work."""
        if seconds:
            await asyncio.sleep(seconds)
        return ToolReturn(raw={"n": n}, summary=f"piece {n} is done")

    return work


async def carry_out(store: ContextStore, count: int, seconds: float) -> RunState:
    """A whole run of ``count`` subtasks of ``seconds`` each, all at once; raises if it did not succeed."""
    clock = SystemClock()
    toolbox = Toolbox([piece(seconds)])
    redactor = Redactor()
    host = Host(
        store, ModelCalls(ScriptedLead(count), store, clock), ToolCalls(toolbox.bound, _no_web, clock, store), redactor
    )
    dispatcher = LocalDispatcher(host, clock)
    definition = RunDefinition(
        request="benchmark",
        flow="work-order",
        workers=ROLES,
        models=ModelChoice(default="scripted", windows={"scripted": 1_000_000}),  # one call composes the answer
        tools=toolbox.specs(),
        limits=Limits(max_workers=count, max_output_tokens=20_000),
    )
    run_id = new_run_id()
    entry = await store.create(run_id, RunStarted(definition=definition))
    controller = Controller(
        start(run_id, entry),
        log=RunLog(store, run_id, redactor),
        store=store,
        flow=WORK_ORDER,
        dispatcher=dispatcher,
        clock=clock,
    )
    state = await controller.drive()
    await dispatcher.aclose()
    if state.status is not RunStatus.SUCCEEDED:
        raise RuntimeError(f"the run ended as {state.status}")
    return state


def _no_web(_offline: bool) -> Any:
    return None
