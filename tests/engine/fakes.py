"""Stand-ins for the world outside: a clock that is set, and models that answer by the schema they are given."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from leadhand.core.conversation import AssistantMessage, ToolCall, ToolMessage
from leadhand.core.errors import Failure
from leadhand.core.limits import Usage
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest
from leadhand.testing.steps import results_of, worker_of

NOON = datetime(2025, 12, 16, 10, tzinfo=UTC)

Answer = Any
"""A dict is a structured answer, a str a text, ``calls(…)`` tool calls, an exception is raised; a function of the
request and its facts makes any of these."""


class FixedClock:
    """Time stands still but for sleeping, which takes no time: ``slept`` says how long it would have been."""

    def __init__(self, now: datetime = NOON) -> None:
        self.time = now
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.slept.append(seconds)
            self.time = max(self.time, self.time + timedelta(seconds=seconds))
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def calls(*wanted: tuple[str, Any], text: str = "") -> AssistantMessage:
    """A reply that calls tools: pairs of a name and arguments (a str stands for what is no JSON object)."""
    return AssistantMessage(
        text=text,
        tool_calls=tuple(
            ToolCall(id=f"call_{number}", name=name, arguments=None, raw=args)
            if isinstance(args, str)
            else ToolCall(id=f"call_{number}", name=name, arguments=args)
            for number, (name, args) in enumerate(wanted)
        ),
    )


def down(message: str = "the model is down", class_: str = "unavailable", type_: str = "http_401") -> ModelError:
    """A model call that fails."""
    return ModelError(Failure.model_validate({"message": message, "type": type_, "class": class_}), Usage(nanousd=0))


def judged(request: ModelRequest, facts: dict[str, Any]) -> dict[str, Any]:
    """The review of a lead that accepts what is completed and drops the rest; with an answer where one is asked for."""
    results = results_of(facts)
    verdicts = [{"subtask": key, "verdict": "drop" if result is None else "accept"} for key, result in results.items()]
    review: dict[str, Any] = {
        "verdicts": verdicts,
        "complete": all(verdict["verdict"] == "accept" for verdict in verdicts),
    }
    if facts.get("compose"):
        done = [*facts.get("accepted", ()), *(result for result in results.values() if result is not None)]
        review["answer"] = "; ".join(result.get("summary") or str(result["raw"]) for result in done)
    return review


def composed(request: ModelRequest, facts: dict[str, Any]) -> str:
    """An answer that says all it was told."""
    results = [result.get("summary") or str(result["raw"]) for result in facts.get("results", [])]
    gaps = [f"no {gap['what']}: {gap['reason']}" for gap in facts.get("gaps", [])]
    return "; ".join([*results, *gaps]) or "nothing"


def confirmed(request: ModelRequest, facts: dict[str, Any]) -> dict[str, Any]:
    """The reply of a judge that confirms every claim."""
    return {"verdicts": {str(claim["n"]): "confirmed" for claim in facts["claims"]}}


def kept(request: ModelRequest, facts: dict[str, Any]) -> str:
    """A writer that is sure of its answer."""
    return facts["answer"]


def told(request: ModelRequest, facts: dict[str, Any]) -> str:
    """A worker that repeats the last thing a tool said to it."""
    last = request.messages[-1]
    return f"done: {last.content}" if isinstance(last, ToolMessage) else "done"


def facts_of(request: ModelRequest) -> dict[str, Any]:
    """The facts a request opens with."""
    return json.loads(request.messages[1].text)  # pyright: ignore[reportAttributeAccessIssue]


class FakeModels:
    """Models by worker: each has an answer for every call, or a list of answers, the last of which stays.

    Whatever is sent is held against the protocol: a model that is shown a call of its own is shown what came of it.
    """

    def __init__(
        self,
        plan: Answer | None = None,
        *,
        review: Answer = judged,
        compose: Answer = composed,
        work: Answer = told,
        judge: Answer = confirmed,
        correct: Answer = kept,
        profile: ModelProfile | None = None,
        usage: Usage | None = None,
        hold: Callable[[ModelRequest], Any] | None = None,
    ) -> None:
        self._answers = {
            worker: list(answer) if isinstance(answer, list) else [answer]
            for worker, answer in {
                "plan": plan,
                "review": review,
                "compose": compose,
                "work": work,
                "judge": judge,
                "correct": correct,
                "confirm": {"missing": []},
            }.items()
        }
        self._profile = profile or ModelProfile(name="fake", free=True)
        self._usage = usage or Usage(input_tokens=10, output_tokens=5, nanousd=0)
        self._hold = hold
        self.asked: list[ModelRequest] = []
        self.broken: list[str] = []
        self.at_once = 0
        self.most_at_once = 0

    def profile(self, model: str) -> ModelProfile:
        return self._profile

    async def aclose(self) -> None:
        pass

    def requests(self, worker: str) -> list[ModelRequest]:
        """What was asked of a worker, in order."""
        return [request for request in self.asked if worker_of(request) == worker]

    def facts(self, worker: str) -> list[dict[str, Any]]:
        """What a worker was told, in order."""
        return [facts_of(request) for request in self.requests(worker)]

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        self.asked.append(request)
        self.broken += protocol_faults(request)
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            await asyncio.sleep(0)
            if self._hold is not None:
                await self._hold(request)
        finally:
            self.at_once -= 1
        queue = self._answers[worker_of(request)]
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        if callable(answer):
            answer = answer(request, facts_of(request))
        match answer:
            case BaseException():
                raise answer
            case AssistantMessage():
                return ModelReply(message=answer, usage=self._usage)
            case str():
                if on_text is not None:
                    on_text(answer)
                return ModelReply(message=AssistantMessage(text=answer), usage=self._usage)
            case _:
                return ModelReply(
                    message=AssistantMessage(text=json.dumps(answer)),
                    value=json.loads(json.dumps(answer)),
                    usage=self._usage,
                )


def protocol_faults(request: ModelRequest) -> Iterable[str]:
    """What every provider refuses: a call without its answer, an answer without its call, an odd last word."""
    waiting: list[str] = []
    for message in request.messages:
        if isinstance(message, ToolMessage):
            if message.call_id not in waiting:
                yield f"{request.key}: an answer to {message.call_id}, which was not called just before"
            else:
                waiting.remove(message.call_id)
            continue
        if waiting:
            yield f"{request.key}: no answer to {waiting}"
        waiting = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    if waiting:
        yield f"{request.key}: no answer to {waiting}"
    if isinstance(request.messages[-1], AssistantMessage):
        yield f"{request.key}: the model is asked to answer itself"
