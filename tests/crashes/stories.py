"""Stories: runs whose every part is a function of what it is told, so that a fresh process carries them on alike.

A story is told once, whole. Then its log is cut somewhere, a fresh world is given the beginning, and what it makes of
it is held against the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.fakes import FakeModels, FixedClock
from engine.worlds import World, plan
from memory_store import MemoryStore

from leadhand.core.conversation import AssistantMessage, ToolMessage
from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.events import (
    Entry,
    ModelCallReturned,
    RunClaimed,
    RunFinished,
    RunStarted,
    ToolCallBegan,
    ToolCallReturned,
)
from leadhand.core.evolve import replay
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus, StepStatus
from leadhand.core.state import RunState
from leadhand.core.tool import Effect, Source, ToolReturn
from leadhand.core.work_result import Check
from leadhand.ports import ToolContext
from leadhand.ports.models import ModelProfile, ModelRequest
from leadhand.testing.steps import results_of
from leadhand.tools.decorator import tool
from leadhand.tools.tool import Tool

RUN = "run_1"
LARGE = "x" * 6_000
"""More than the log itself holds of a payload."""
FAILURES = 1
"""How often the flaky tool fails for each number."""


class Outside:
    """The world the tools act upon: what was done to it is remembered, whichever process did it."""

    def __init__(self, earlier: Iterable[tuple[str, int]] = ()) -> None:
        self.called: list[str] = []
        self._tried: Counter[int] = Counter(n for name, n in earlier if name == "flaky")

    def _note(self, context: ToolContext) -> None:
        self.called.append(context.call_id.removeprefix(f"{RUN}/"))

    def tools(self) -> list[Tool[..., Any]]:
        @tool
        async def look(n: int, context: ToolContext) -> ToolReturn:
            """Look at number n; there is nothing to see below zero."""
            self._note(context)
            if n < 0:
                raise ToolError(f"there is no {n}", type="no_such", class_=FailureClass.UNAVAILABLE)
            page = Source(title=f"page {n}", url=f"https://example.org/{n}")
            return ToolReturn(raw={"n": n, "large": LARGE if n == 7 else ""}, summary=f"saw {n}", sources=(page,))

        @tool
        async def flaky(n: int, context: ToolContext) -> ToolReturn:
            """Look at number n, with bad luck."""
            self._note(context)
            self._tried[n] += 1
            if self._tried[n] <= FAILURES:
                raise ConnectionError("the line is dead")
            return ToolReturn(raw=n, summary=f"saw {n} at last")

        @tool
        async def measure(n: int, context: ToolContext) -> dict[str, int]:
            """Measure number n; the words are a model's."""
            self._note(context)
            return {"value": 10 * n}

        @tool(effect="once", approval="auto")
        async def send(n: int, context: ToolContext) -> ToolReturn:
            """Send n coins."""
            self._note(context)
            return ToolReturn(raw={"sent": n}, summary=f"sent {n}")

        return [look, flaky, measure, send]


def judged(request: ModelRequest, facts: dict[str, Any]) -> dict[str, Any]:
    """A review that accepts what is there, has the rest done another way where there is one, and drops what is not.

    It writes the answer only with the first order, and does not miss anything.
    """
    if "missing" in facts:
        return {"verdicts": [], "complete": True}
    verdicts: list[dict[str, Any]] = []
    for shown in facts["subtasks"]:
        verdict: dict[str, Any] = {"subtask": shown["subtask"], "verdict": "drop", "reason": "it cannot be had"}
        if shown["status"] == "completed":
            verdict = {"subtask": shown["subtask"], "verdict": "accept"}
        elif shown["error"]["class"] == "blocked":
            verdict |= {"verdict": "retry", "reason": "what it needs may come"}
        elif shown.get("tool") == "look":
            again = {"name": shown["name"], "tool": "look", "args": {"n": -shown["args"]["n"]}}
            verdict |= {"verdict": "replan", "reason": "look above zero", "replacement": again}
        verdicts.append(verdict)
    complete = all(verdict["verdict"] == "accept" for verdict in verdicts)
    review: dict[str, Any] = {"verdicts": verdicts, "complete": complete}
    if facts.get("compose") and complete and not facts.get("accepted"):
        review["answer"] = "; ".join(result["summary"] for result in results_of(facts).values() if result is not None)
    return review


def worked(request: ModelRequest, facts: dict[str, Any]) -> str:
    """What a model makes of a tool's numbers, or of what it was told where there is no tool."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return f"measured {last.content}"
    return f"{facts['subtask']['name']} over {sorted(facts.get('needs', ()))}"


def doubted(request: ModelRequest, facts: dict[str, Any]) -> dict[str, Any]:
    """A judge that misses something, and contradicts what was measured."""
    wrong = {claim["n"]: "measured" in claim["text"] for claim in facts["claims"]}
    doubts = [{"claim": n, "part": "measured", "why": "it was counted", "action": True} for n in wrong if wrong[n]]
    verdicts = {str(n): "contradicted" if wrong[n] else "confirmed" for n in wrong}
    return {"verdicts": verdicts, "doubts": doubts, "missing": [{"part": "all", "request": facts["request"]}]}


def corrected(request: ModelRequest, facts: dict[str, Any]) -> str:
    """The answer without what the judge contradicts."""
    return facts["answer"].replace("measured", "counted")


@dataclass(frozen=True, kw_only=True)
class Story:
    """What the lead plans, and within which limits. ``slip`` makes its first plan one that has to be written anew.

    ``window`` is the context window of its model, None for one that nobody knows.
    """

    subtasks: tuple[dict[str, Any], ...]
    limits: Limits = field(default_factory=Limits)
    slip: bool = False
    window: int | None = None
    check: Check = "off"

    def _planned(self, request: ModelRequest, facts: dict[str, Any]) -> dict[str, Any]:
        objected = any(isinstance(message, AssistantMessage) for message in request.messages)
        if self.slip and not objected:
            return plan({"name": "nonsense", "tool": "no_such_tool", "args": {}})
        return plan(*self.subtasks)

    def world(self, outside: Outside) -> World:
        """A fresh process: nothing in it knows of an earlier one but the store and the world outside."""
        clock = FixedClock()
        profile = ModelProfile(name="fake", free=True, window=self.window)
        models = FakeModels(
            self._planned, review=judged, work=worked, judge=doubted, correct=corrected, profile=profile
        )
        store = MemoryStore(clock)
        return World(models, outside.tools(), limits=self.limits, clock=clock, store=store, check=self.check)


@dataclass(frozen=True, kw_only=True)
class Told:
    """A story that came to rest: its state and log, and what this process alone called and asked."""

    state: RunState
    log: list[Entry]
    blobs: dict[str, bytes]
    called: list[str]
    asked: list[str]


async def tell(story: Story) -> Told:
    """The story as it goes when nothing happens to it."""
    outside = Outside()
    world = story.world(outside)
    return await _told(world, outside, await world.run())


async def retell(story: Story, beginning: Sequence[Entry], blobs: dict[str, bytes]) -> Told:
    """The story as a fresh process goes on with it, when the one before died after ``beginning``."""
    outside = Outside(
        (entry.event.tool, entry.event.args["n"]) for entry in beginning if isinstance(entry.event, ToolCallBegan)
    )
    world = story.world(outside)
    first = beginning[0].event
    assert isinstance(first, RunStarted)
    await world.store.create(RUN, first)
    for entry in beginning[1:]:
        if isinstance(entry.event, RunClaimed):
            await world.store.release(RUN, entry.epoch - 1)
            await world.store.claim(RUN)
        else:
            await world.store.append(RUN, [entry.event], blobs=blobs)
    return await _told(world, outside, await world.take_over(RUN))


async def _told(world: World, outside: Outside, state: RunState) -> Told:
    log = await world.entries(RUN)
    await world.aclose()
    assert isinstance(world.models, FakeModels)
    return Told(
        state=state,
        log=log,
        blobs=dict(world.store.blobs),
        called=outside.called,
        asked=[request.key.removeprefix(f"{RUN}/") for request in world.models.asked],
    )


def in_doubt(beginning: Sequence[Entry]) -> set[str]:
    """The ``once`` calls that had begun when the process died, and whose end nobody saw."""
    begun = _once(beginning)
    return begun - {entry.event.call_id for entry in beginning if isinstance(entry.event, ToolCallReturned)}


def _once(log: Sequence[Entry]) -> set[str]:
    return {
        entry.event.call_id
        for entry in log
        if isinstance(entry.event, ToolCallBegan) and entry.event.effect is Effect.ONCE
    }


def check_resumed(whole: Told, beginning: Sequence[Entry], resumed: Told) -> None:
    """Hold a story that was cut and taken up against the same story told whole."""
    doubted = in_doubt(beginning)
    _check_nothing_twice(beginning, resumed)
    if doubted:
        _check_doubt(doubted, resumed.state)
        return
    assert resumed.state.finished is not None
    assert whole.state.finished is not None
    assert resumed.state.status is whole.state.status
    assert resumed.state.finished.answer == whole.state.finished.answer
    assert resumed.state.finished.gaps == whole.state.finished.gaps
    assert _sources(resumed.state.finished) == _sources(whole.state.finished)
    assert resumed.state.finished.judgement == whole.state.finished.judgement
    assert _statuses(resumed.state) == _statuses(whole.state)
    assert [order.order for order in resumed.state.orders.values()] == [
        order.order for order in whole.state.orders.values()
    ]
    # Not a question too many, and none too few: what was answered before the cut, and what was asked after it.
    assert _answered(beginning) + Counter(resumed.asked) == Counter(whole.asked)
    assert {*_well(beginning), *resumed.called} == set(whole.called)
    assert not Counter(resumed.called) - Counter(whole.called), "a call was made more often than without a crash"


def _check_nothing_twice(beginning: Sequence[Entry], resumed: Told) -> None:
    before = replay(RUN, beginning)
    completed = {
        key for key, subtask in before.steps.items() if subtask.counts and subtask.status is StepStatus.COMPLETED
    }
    again = [call for call in resumed.called if call.partition("/")[0] in completed]
    assert not again, "a completed subtask was carried out again"
    assert not set(_well(beginning)) & set(resumed.called), "a call that had come back well was made again"
    assert not _once(beginning) & set(resumed.called), "a once call that had begun was made again"
    closed = {key for key, step in before.steps.items() if step.closed}
    assert not [key for key in resumed.asked if _step(key) in closed], "a model was asked for what is settled"


def _check_doubt(doubted: set[str], state: RunState) -> None:
    """A ``once`` call in doubt goes to a person, and the run waits for nothing else."""
    assert state.status is RunStatus.WAITING
    assert set(state.parked) == {_step(call) for call in doubted}
    assert {asked.kind for asked in state.approvals.values() if asked.status == "pending"} == {"effect"}


def _sources(finished: RunFinished) -> list[str]:
    return [each.url for each in finished.sources]


def _statuses(state: RunState) -> dict[str, tuple[str, bool]]:
    return {key: (subtask.status.value, subtask.accepted) for key, subtask in state.steps.items()}


def _answered(log: Sequence[Entry]) -> Counter[str]:
    return Counter(entry.event.call_id for entry in log if isinstance(entry.event, ModelCallReturned))


def _well(log: Sequence[Entry]) -> list[str]:
    return [
        entry.event.call_id
        for entry in log
        if isinstance(entry.event, ToolCallReturned) and (entry.event.ok or _ends_it(entry.event))
    ]


def _ends_it(event: ToolCallReturned) -> bool:
    """Whether a call's failure is one that trying again does not mend."""
    return event.failure is not None and event.failure.class_ is FailureClass.UNAVAILABLE


def _step(call: str) -> str:
    return call.rpartition("/t")[0]
