"""A model that follows a script: unexpected calls and unused steps fail the test."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Self

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.limits import Usage
from leadhand.core.value import compact_json, object_of, objects_of, text_of
from leadhand.ports.models import ModelError, ModelProfile, ModelReply, ModelRequest

from .steps import Answer, Scripted, step_of, words_of
from .steps import Step as Step
from .steps import all_confirmed as all_confirmed
from .steps import brief_of as brief_of
from .steps import calls as calls
from .steps import calls_all as calls_all
from .steps import fails as fails
from .steps import gives as gives
from .steps import judges as judges
from .steps import plans as plans
from .steps import results_of as results_of
from .steps import reviews as reviews
from .steps import says as says
from .steps import subtask as subtask
from .steps import worker_of as worker_of

Predicate = Callable[[ModelRequest], bool]
Script = Iterable[Scripted] | Step | Callable[[ModelRequest], Answer | Awaitable[Answer]]
"""Steps in turn, or one step or function for every call."""


class ScriptError(ModelError, AssertionError):
    """A call was unexpected, or a step of the script was not used."""

    def __init__(self, message: str) -> None:
        how = "add a reply to the script, or correct what the run asks for"
        super().__init__(Failure.of(message, "no_rules", FailureClass.UNAVAILABLE, how), Usage(nanousd=0))


@dataclass(slots=True)
class _Rule:
    """Answers for some requests. Without ``steps`` left, ``always`` answers; without that, nothing does."""

    label: str
    matches: Predicate
    steps: deque[Scripted] = field(default_factory=deque[Scripted])
    always: Scripted | None = None
    used: int = 0

    def take(self, request: ModelRequest) -> Scripted | None:
        """Return the next answer, or None if the rule has none for this request."""
        if (not self.steps and self.always is None) or not self.matches(request):
            return None
        self.used += 1
        return self.steps.popleft() if self.steps else self.always


class ScriptedModel(AbstractContextManager["ScriptedModel"], AbstractAsyncContextManager["ScriptedModel"]):
    """The Models port, scripted.

    Steps are taken in order: ``ScriptedModel([plans(...), calls("weather_tool", location="Paris"), says("…")])``; or by
    the worker of a request (:func:`worker_of`), where calls come in no fixed order: ``ScriptedModel(plan=[…], work=[…],
    review=[…], judge=all_confirmed)``; or by a predicate, with :meth:`on`. Predicates are tried first, then workers,
    then the plain list. A single step or function instead of a list answers every call of its worker.

    ``lenient`` reviews, composes and judges by itself where nothing is scripted: it accepts what completed, drops the
    rest, joins the summaries and confirms every claim. ``sleep`` is what a step's delay waits with.

    As a context manager, sync or async, it checks at the end that every step was used. ``requests`` are the calls in
    the order of arrival, ``most_at_once`` is how many ran at the same time, ``abandoned`` how many were cancelled. A
    step that takes longer than its request's deadline is a timeout at the deadline.
    """

    def __init__(
        self,
        script: Iterable[Scripted] = (),
        *,
        lenient: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        **workers: Script,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.most_at_once = 0
        self.abandoned = 0
        self._running = 0
        self._unexpected: list[str] = []
        self._rules: list[_Rule] = []
        self._script = _rule("the script", lambda _: True, script)
        self._workers = [
            _rule(worker, lambda request, worker=worker: worker_of(request) == worker, steps)
            for worker, steps in workers.items()
        ]
        self._lenient = lenient
        self._sleep = sleep

    def on(self, matches: Predicate, *steps: Scripted, always: Scripted | None = None) -> Self:
        """Answer requests that match with ``steps`` in turn, then with ``always`` if it is given."""
        self._rules.append(_Rule(f"rule {len(self._rules) + 1}", matches, deque(steps), always))
        return self

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Return the next step for this request. Raises :class:`ScriptError` if the script has none left."""
        self.requests.append(request)
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        try:
            step = await self._next(request)
            if step.delay_s > request.deadline_s:
                await self._sleep(request.deadline_s)
                step = fails("transient", "timeout", f"no answer within {request.deadline_s:g} s")
            elif step.delay_s > 0:
                await self._sleep(step.delay_s)
            if on_text is not None and (request.output is None or step.pause_s):
                for word in words_of(step.text):
                    on_text(word)
                    if step.pause_s:
                        await self._sleep(step.pause_s)
            return step.reply(request)
        except asyncio.CancelledError:
            self.abandoned += 1
            raise
        finally:
            self._running -= 1

    def profile(self, model: str) -> ModelProfile:
        """Return the profile of a free model with a large window."""
        return ModelProfile(name=model, window=1_000_000, input_nanousd=0, output_nanousd=0, free=True)

    async def aclose(self) -> None:
        """Do nothing: there are no open resources."""

    def asked(self, worker: str) -> list[ModelRequest]:
        """Return the requests of one worker, in the order of their arrival."""
        return [request for request in self.requests if worker_of(request) == worker]

    def assert_done(self) -> None:
        """Raise :class:`ScriptError` if a call was unexpected, even if its error was swallowed, or a step is unused."""
        if self._unexpected:
            raise ScriptError("\n".join(self._unexpected))
        left = [
            f"{len(rule.steps)} of {rule.label}" for rule in (*self._rules, *self._workers, self._script) if rule.steps
        ]
        left += [f"{rule.label}, never matched" for rule in self._rules if rule.always is not None and rule.used == 0]
        if left:
            raise ScriptError(f"unused steps: {'; '.join(left)}")

    async def _next(self, request: ModelRequest) -> Step:
        for rule in (*self._rules, *self._workers, self._script):
            scripted = rule.take(request)
            if scripted is not None:
                return await _resolved(scripted, request)
        worker = worker_of(request)
        if self._lenient and worker == "review":
            return _lenient_review(brief_of(request))
        if self._lenient and worker == "compose":
            return says(_joined(objects_of(brief_of(request).get("results"))))
        if self._lenient and worker == "judge":
            return all_confirmed(request)
        message = f"the script has no reply to call {len(self.requests)}, of {_described(request, worker)}"
        self._unexpected.append(message)
        raise ScriptError(message)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.assert_done()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.__exit__(kind)


def _rule(label: str, matches: Predicate, steps: Script) -> _Rule:
    if isinstance(steps, Step) or callable(steps):
        return _Rule(label, matches, always=steps)
    return _Rule(label, matches, deque(steps))


async def _resolved(scripted: Scripted, request: ModelRequest) -> Step:
    if not callable(scripted):
        return step_of(scripted)
    made = scripted(request)
    answer: Answer = await made if inspect.isawaitable(made) else made
    return step_of(answer)


def _described(request: ModelRequest, worker: str) -> str:
    last = request.messages[-1] if request.messages else None
    said = "" if last is None else getattr(last, "text", "") or getattr(last, "content", "")
    return f"{request.worker or worker} (key {request.key or 'none'}), last message: {said[:200]!r}"


def _lenient_review(brief: dict[str, Any]) -> Step:
    results = results_of(brief)
    return reviews(
        accept=[key for key, result in results.items() if result is not None],
        drop={key: "it did not complete" for key, result in results.items() if result is None},
        answer=_joined([*objects_of(brief.get("accepted")), *results.values()]) if brief.get("compose") else None,
    )


def _joined(results: Iterable[dict[str, Any] | None]) -> str:
    shown = [object_of(result) for result in results]
    said = (text_of(each.get("summary")) or compact_json(each["raw"]) for each in shown if each)
    return "\n".join(filter(None, said)) or "nothing to say"
