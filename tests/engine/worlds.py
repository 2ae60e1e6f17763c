"""A world to carry runs out in: everything real but the models, the clock and the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, TypeVar

from core.invariants import check_list, check_log
from memory_store import MemoryStore

from leadhand.app.export.run_document import run_document
from leadhand.core.approval import args_hash
from leadhand.core.events import AnyEvent, ApprovalAnswered, Entry
from leadhand.core.evolve import replay
from leadhand.core.limits import NOTHING, Concurrency, Limits, Money, SharedBudget
from leadhand.core.run import ModelChoice, RunDefinition, RunStatus, WorkerCalls
from leadhand.core.state import RunState
from leadhand.core.tool import ApprovalPolicy
from leadhand.core.work_result import Check
from leadhand.dispatch.local import LocalDispatcher
from leadhand.engine.calls.limiter import Limiter
from leadhand.engine.calls.model_calls import ModelCalls
from leadhand.engine.calls.tool_calls import ToolCalls
from leadhand.engine.controller import Controller
from leadhand.engine.log import RunLog
from leadhand.engine.redaction import Redactor
from leadhand.engine.session.host import Host
from leadhand.flows.work_order.flow import WORK_ORDER
from leadhand.flows.work_order.roles import ROLES
from leadhand.ports.heads import head_of
from leadhand.tools.toolbox import Toolbox
from leadhand.verify.judge import judging_workers

from .fakes import FakeModels, FixedClock

PATIENCE_S = 90.0
"""Nothing here takes long; this only ends a test that would wait for ever."""

_E = TypeVar("_E", bound=AnyEvent)


def ask(name: str, tool: str | None = None, **args: Any) -> dict[str, Any]:
    """A subtask as a lead proposes it: to call ``tool`` with ``args``."""
    return {"name": name, "tool": tool, "args": args}


def plan(*subtasks: dict[str, Any], cannot: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    """A plan as a lead writes it."""
    return {"goal": "all of it", "subtasks": list(subtasks), "cannot": list(cannot)}


class World:
    """A store in memory, tools and models: start runs, drive them, look at what they left.

    ``written`` is the live text that was broadcast: run, attempt and piece.
    """

    def __init__(
        self,
        models: FakeModels,
        tools: Iterable[Any] = (),
        *,
        limits: Limits | None = None,
        approve: ApprovalPolicy = ApprovalPolicy.ASK,
        held_back: Money = NOTHING,
        held_back_s: float = 0.0,
        clock: Any = None,
        store: MemoryStore | None = None,
        secrets: Iterable[str] = (),
        sound: bool = True,
        budgets: Iterable[SharedBudget] = (),
        concurrency: Concurrency | None = None,
        check: Check = "off",
        worker_calls: WorkerCalls = "auto",
    ) -> None:
        self.models = models
        self.clock = clock or FixedClock()
        self.store = store or MemoryStore(self.clock)
        self.toolbox = Toolbox(tools)
        self.redactor = Redactor(secrets)
        self.limits = limits or Limits()
        self._approve = approve
        self.workers = ROLES
        self._held_back = held_back
        self._held_back_s = held_back_s
        self._sound = sound
        self.budgets = tuple(budgets)
        self.concurrency = concurrency or Concurrency()
        self._check: Check = check
        self._worker_calls: WorkerCalls = worker_calls
        self._numbers = count(1)
        self._drives: list[asyncio.Task[RunState]] = []
        self.written: list[tuple[str, str, str]] = []
        self.dispatcher = self._dispatcher()

    def _dispatcher(self) -> LocalDispatcher:
        limiter = Limiter(self.store, self.clock)
        tools = ToolCalls(
            self.toolbox.bound,
            lambda _offline: None,  # pyright: ignore[reportArgumentType]
            self.clock,
            self.store,
            limiter=limiter,
        )
        models = ModelCalls(self.models, self.store, self.clock, limiter)
        host = Host(self.store, models, tools, self.redactor, lambda _: lambda *piece: self.written.append(piece))
        return LocalDispatcher(host, self.clock)

    # --- driving -----------------------------------------------------------------------------------------------------

    async def start(self, request: str = "do it", **more: Any) -> str:
        """Make a run, with further fields of its definition, and return its id."""
        window = self.models.profile("fake").window
        judging = judging_workers(self._check, self.workers, verifier=False)
        definition = RunDefinition(
            request=request,
            flow="work-order",
            workers=(*self.workers, *judging),
            models=ModelChoice(default="fake", windows={"fake": window} if window is not None else {}),
            tools=self.toolbox.specs(),
            limits=self.limits,
            approve=self._approve,
            held_back=self._held_back,
            held_back_s=self._held_back_s,
            budgets=self.budgets,
            concurrency=self.concurrency,
            check=self._check,
            worker_calls=self._worker_calls,
            judging=tuple(each.name for each in judging),
            **more,
        )
        run_id = f"run_{next(self._numbers)}"
        await RunLog(self.store, run_id, self.redactor).create(definition)
        return run_id

    async def drive(
        self, run_id: str, *, flow: Any = None, dispatcher: Any = None, asleep: Callable[[], float] = lambda: 0.0
    ) -> RunState:
        """Drive a run that this world owns until it is over, paused or waiting; then let go of it."""
        state = replay(run_id, await self.store.read(run_id))
        controller = Controller(
            state,
            log=RunLog(self.store, run_id, self.redactor),
            store=self.store,
            flow=flow or WORK_ORDER,
            dispatcher=dispatcher or self.dispatcher,
            clock=self.clock,
            asleep=asleep,
        )
        async with asyncio.timeout(PATIENCE_S):
            state = await controller.drive()
        await self.store.release(run_id, state.epoch)
        return state

    def driving(self, run_id: str) -> asyncio.Task[RunState]:
        """:meth:`drive`, in the background."""
        task = asyncio.ensure_future(self.drive(run_id))
        self._drives.append(task)
        return task

    async def run(self, request: str = "do it") -> RunState:
        """Make a run and drive it."""
        return await self.drive(await self.start(request))

    async def take_over(self, run_id: str, *, ended: bool = False) -> RunState:
        """Drive a run as another process would, once its own is gone: with a host of its own, under a new epoch.

        ``ended``: it may have ended.
        """
        await self.dispatcher.aclose()
        self.dispatcher = self._dispatcher()
        await self.store.release(run_id, (await self.store.run(run_id)).epoch)
        await self.store.claim(run_id, ended=ended)
        return await self.drive(run_id)

    async def run_answered(self, **answer: Any) -> RunState:
        """Drive a run until it waits, :meth:`answer` its questions, and take it over."""
        run_id = await self.start()
        assert (await self.drive(run_id)).status is RunStatus.WAITING
        await self.answer(run_id, **answer)
        return await self.take_over(run_id)

    async def append(self, run_id: str, *events: AnyEvent) -> None:
        """Write events as another process would: a person's request, or what was left of an earlier life."""
        await self.store.append(run_id, events)

    async def answer(self, run_id: str, *, approve: bool = True, only: str = "", **more: Any) -> None:
        """Answer every open question about a call, or ``only`` this one."""
        state = await self.state(run_id)
        for asked in state.approvals.values():
            if asked.status == "pending" and asked.kind == "call" and only in ("", asked.approval_id):
                word = {"args_hash": args_hash(asked.args), "by": "me", **more}
                await self.append(run_id, ApprovalAnswered(approval_id=asked.approval_id, approve=approve, **word))

    async def says(
        self, run_id: str = "run_1", *, at_most_pending: bool = True, happened: bool, summary: str = "", raw: Any = None
    ) -> None:
        """Give a person's word on every call whose end nobody saw."""
        state = await self.state(run_id)
        for asked in state.approvals.values():
            if asked.kind == "effect" and (asked.status == "pending" or not at_most_pending):
                word = {"approve": happened, "reason": summary, "raw": raw}
                await self.append(run_id, ApprovalAnswered(approval_id=asked.approval_id, by="me", **word))

    # --- looking -----------------------------------------------------------------------------------------------------

    async def entries(self, run_id: str = "run_1") -> list[Entry]:
        return await self.store.read(run_id)

    def state_of(self, entries: Sequence[Entry]) -> RunState:
        """The state that the beginning of a log says."""
        return replay("run_1", entries)

    async def state(self, run_id: str = "run_1") -> RunState:
        return replay(run_id, await self.entries(run_id))

    async def events(self, kind: type[_E], run_id: str = "run_1") -> list[_E]:
        """Every event of one kind, in order."""
        return [entry.event for entry in await self.entries(run_id) if isinstance(entry.event, kind)]

    async def document(self, run_id: str = "run_1") -> dict[str, Any]:
        return run_document(await self.state(run_id), owner=None).as_json()

    async def until(self, reached: Callable[[RunState], Any], run_id: str = "run_1") -> RunState:
        """The state of a run, once it is as wanted."""
        async with asyncio.timeout(PATIENCE_S):
            while not reached(state := await self.state(run_id)):  # noqa: ASYNC110 (it may not be in the log at all)
                await asyncio.sleep(0.001)
        return state

    async def aclose(self) -> None:
        """Stop everything; and whatever happened, the logs must be sound and the models must have been asked well."""
        for task in self._drives:
            task.cancel()
        await asyncio.gather(*self._drives, return_exceptions=True)
        await self.dispatcher.aclose()
        for listing in await self.store.runs():
            entries = await self.store.read(listing.run_id)
            if self._sound:
                head = head_of(check_log(listing.run_id, entries))
                check_list(listing.run_id, entries)
                shown = (listing.subtasks, listing.completed, listing.failed)
                assert shown == (head.subtasks, head.completed, head.failed), "the list says something else"
        assert not self.models.broken
