"""The Python door: ``Leadhand``, the runs it starts and attaches to, and their answers."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Self, TypeVar

from leadhand.domain.document import run_document
from leadhand.domain.errors import UsageError
from leadhand.domain.events import CancelRequested, Entry, RunClaimed, RunFinished, RunPaused, RunResumed, RunWaiting
from leadhand.domain.limits import Limits, nanousd
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.domain.tool import ApprovalPolicy
from leadhand.ports import Models
from leadhand.project.runtime import Runtime, open_runtime
from leadhand.project.settings import Settings, settings
from leadhand.project.toolsets import toolbox
from leadhand.tools.decorator import Tool

LONGEST_REQUEST = 100_000
"""Characters a request may have; more belongs into files that tools read."""

_T = TypeVar("_T")


class Answer:
    """What came of a run. ``str(answer)`` is the text; ``document`` is the run document of ``leadhand run --json``."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Answer {self.status.value} of {self.run_id}>"

    @property
    def text(self) -> str:
        """The answer; empty while the run has none."""
        return self.document["answer"] or ""

    @property
    def run_id(self) -> str:
        return self.document["run_id"]

    @property
    def status(self) -> RunStatus:
        return RunStatus(self.document["status"])

    @property
    def sources(self) -> list[dict[str, str]]:
        """``title``, ``url`` and ``event_id`` of what the answer rests on."""
        return self.document["sources"]

    @property
    def gaps(self) -> list[dict[str, Any]]:
        """What the answer does not hold, with class, reason and next action."""
        return self.document["gaps"]

    @property
    def cost_usd(self) -> float | None:
        """Dollars spent; None when a price is unknown."""
        return self.document["usage"]["cost_usd"]


class Run:
    """One run: driven by this process, or followed while another drives it.

    Iterate over it for its events, as they are committed, from the first on; await :meth:`answer` for what comes of it.
    """

    def __init__(self, runtime: Runtime, state: RunState, *, drive: bool) -> None:
        self._runtime = runtime
        self._state = state
        self._watchers: list[Callable[[RunState], None]] = []
        self._driving = runtime.driving(state, self._note) if drive else None

    @property
    def run_id(self) -> str:
        return self._state.run_id

    @property
    def state(self) -> RunState:
        """The latest state this process knows."""
        return self._state

    def _note(self, state: RunState) -> None:
        self._state = state
        for watcher in self._watchers:
            watcher(state)

    def watch(self, watcher: Callable[[RunState], None]) -> None:
        """Have ``watcher`` told the state after every batch of events, while this process drives the run."""
        self._watchers.append(watcher)

    async def __aiter__(self) -> AsyncGenerator[Entry]:
        """Every event of the run, from the first; ends when the run ends, is paused, or waits for people."""
        resting = False
        async with contextlib.aclosing(self._runtime.store.follow(self.run_id)) as batches:
            async for batch in batches:
                for entry in batch:
                    yield entry
                    if isinstance(entry.event, RunFinished | RunPaused | RunWaiting):
                        resting = True
                    elif isinstance(entry.event, RunResumed | RunClaimed) and self._state.finished is None:
                        resting = False
                if resting and (await self._runtime.store.run(self.run_id)).head_seq == batch[-1].seq:
                    return

    async def wait(self) -> RunState:
        """The state of the run, once it is over, paused or waiting for people.

        Raises what ended the driving: StoreError, or Fenced when another process took the run over.
        """
        if self._driving is not None:
            self._state = await self._driving
        else:
            async for _ in self:
                pass
            self._state = await self._runtime.load(self.run_id)
        return self._state

    async def answer(self) -> Answer:
        """What came of the run, once it is over, paused or waiting for people. Raises as :meth:`wait` does."""
        await self.wait()
        return Answer(await self.document())

    async def document(self) -> dict[str, Any]:
        """The run document as of now."""
        store = self._runtime.store
        entries = await store.read(self.run_id)
        state = self._state if self._state.seq == entries[-1].seq else await self._runtime.load(self.run_id)
        return run_document(state, entries, owner=(await store.run(self.run_id)).owner)

    async def pause(self, reason: str = "") -> None:
        """Park the run: what is finished is kept, what was under way is done again when it is resumed."""
        await self._runtime.pause(self.run_id, by=user(), reason=reason)

    async def cancel(self) -> None:
        """End the run: nothing new starts, requests in flight are closed."""
        await self._runtime.log(self.run_id).append(CancelRequested(by=user()))


class Leadhand:
    """A lead with its tools, models and limits; and the runs it carries out.

    ``model`` names the model of every role (``offline``, ``ollama:llama3.1``, ``openai:gpt-…``; not given, the
    environment decides); ``lead_model``, ``worker_model`` and ``review_model`` those of single roles; ``models`` is a
    port of your own, such as ``leadhand.testing.scripted_model.ScriptedModel``. ``tools`` are functions, plain or
    decorated with ``@tool``; not given, those that ship. ``budget`` is in US dollars (None: no limit), ``timeout`` in
    seconds (None: no limit). ``home`` and ``database`` say where runs are kept.

    Use it as ``async with Leadhand(…) as lead``, or call :meth:`run_sync`, which needs no loop.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] | None = None,
        models: Models | None = None,
        lead_model: str | None = None,
        worker_model: str | None = None,
        review_model: str | None = None,
        offline: bool = False,
        home: Path | str | None = None,
        database: str | None = None,
        max_steps: int = 3,
        max_workers: int = 32,
        batch_size: int | None = None,
        budget: float | None = 1.0,
        timeout: float | None = 1_800.0,
        approve: str = "ask",
        on_text: Callable[[str, str, str], None] | None = None,
    ) -> None:
        roles = {"lead": lead_model, "worker": worker_model, "review": review_model}
        self._settings = settings(
            home=home,
            database=database,
            model=model,
            models={role: name for role, name in roles.items() if name is not None},
            offline=offline,
            limits=limits(
                max_steps=max_steps, max_workers=max_workers, batch_size=batch_size, budget=budget, timeout=timeout
            ),
            approve=approval_policy(approve),
        )
        self._toolbox = toolbox(tools)
        self._models = models
        self._on_text = on_text
        self._runtime: Runtime | None = None

    @property
    def settings(self) -> Settings:
        return self._settings

    async def runtime(self) -> Runtime:
        """The opened parts of this process; opened on first use."""
        if self._runtime is None:
            self._runtime = await open_runtime(
                self._settings, self._toolbox, models=self._models, on_text=self._on_text
            )
        return self._runtime

    async def __aenter__(self) -> Self:
        await self.runtime()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop what this process drives and close the store; unfinished runs can be attached to or resumed later."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.aclose()

    async def start(self, request: str) -> Run:
        """Start a run and return at once; it is carried out in the background of this loop.

        Raises UsageError for an empty or overlong request, ConfigurationError for a model, home or database that
        cannot be used.
        """
        checked = check_request(request)
        runtime = await self.runtime()
        return Run(runtime, await runtime.start(checked), drive=True)

    async def run(self, request: str) -> Answer:
        """Carry a request out and return its answer. Raises as :meth:`start` does; a failed run is an answer too."""
        return await (await self.start(request)).answer()

    async def attach(self, run_id: str) -> Run:
        """Get hold of a run: follow it while another process drives it, and go on with it if its process died.

        A paused run stays paused; see :meth:`resume`. Raises NoSuchRun.
        """
        runtime = await self.runtime()
        listing = await runtime.store.run(run_id)
        if listing.orphan:
            return Run(runtime, await runtime.take_over(run_id), drive=True)
        return Run(runtime, await runtime.load(run_id), drive=False)

    async def resume(self, run_id: str) -> Run:
        """Go on with a run that is paused, waiting or orphaned.

        Raises NoSuchRun, RunOwned while another process drives it, and UsageError when it is over.
        """
        runtime = await self.runtime()
        return Run(runtime, await runtime.resume(run_id, by=user()), drive=True)

    def run_sync(self, request: str) -> Answer:
        """:meth:`run`, for code without a loop; in a notebook, too."""
        return self._sync(self.run(request))

    def resume_sync(self, run_id: str) -> Answer:
        """:meth:`resume` and its answer, for code without a loop."""

        async def resume() -> Answer:
            return await (await self.resume(run_id)).answer()

        return self._sync(resume())

    def _sync(self, wanted: Coroutine[Any, Any, _T]) -> _T:
        async def once() -> _T:
            try:
                return await wanted
            finally:
                await self.aclose()

        if self._runtime is not None:
            wanted.close()
            raise UsageError(
                "this Leadhand is open in a running loop", "Await run() there, or make another one for run_sync()."
            )
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(once())
        # A notebook's loop cannot be entered again: a thread with a loop of its own carries the run.
        outcome: list[_T] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                outcome.append(asyncio.run(once()))
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=work, name="leadhand-run-sync")
        thread.start()
        thread.join()
        if failure:
            raise failure[0]
        return outcome[0]


def limits(
    *, max_steps: int, max_workers: int, batch_size: int | None, budget: float | None, timeout: float | None
) -> Limits:
    """Limits as a person gives them: money in dollars, time in seconds. Raises UsageError for what cannot be."""
    for name, value, least in (
        ("max_steps", max_steps, 1),
        ("max_workers", max_workers, 1),
        ("batch_size", batch_size, 1),
        ("budget", budget, 0),
        ("timeout", timeout, 0.001),
    ):
        if value is not None and not value >= least:
            raise UsageError(f"{name} is {value}", f"Give {name} as {least} or more.")
    for name, value, most in (
        ("max_steps", max_steps, 100),
        ("max_workers", max_workers, 10_000),
        ("budget", budget, 1_000_000),
        ("timeout", timeout, 365 * 86_400),
    ):
        if value is not None and value > most:
            raise UsageError(f"{name} is {value}", f"Give {name} as {most:,} or less.")
    return Limits(
        max_steps=max_steps,
        max_workers=max_workers,
        batch_size=batch_size,
        budget_nanousd=None if budget is None else nanousd(budget),
        timeout_s=timeout,
    )


def approval_policy(name: str) -> ApprovalPolicy:
    """The policy of that name. Raises UsageError for another."""
    try:
        return ApprovalPolicy(name)
    except ValueError as error:
        raise UsageError(f"approve is {name!r}", "It is one of: ask, auto, never.") from error


def check_request(request: str) -> str:
    """The request, trimmed. Raises UsageError when it is empty or too long."""
    trimmed = request.strip()
    if not trimmed:
        raise UsageError("the request is empty", 'Say what you want: leadhand run "What is the weather in Paris?"')
    if len(trimmed) > LONGEST_REQUEST:
        raise UsageError(
            f"the request has {len(trimmed):,} characters, and {LONGEST_REQUEST:,} are the most",
            "Put long material into files, and say in the request what to do with it.",
        )
    return trimmed


def user() -> str:
    """Who is asking, for the log."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
