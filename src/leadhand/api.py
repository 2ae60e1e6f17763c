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
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.ports import Models
from leadhand.project.arguments import approval_policy, check_methods, check_request, limits, text
from leadhand.project.runtime import Runtime, open_runtime
from leadhand.project.settings import Settings, settings
from leadhand.project.toolsets import toolbox
from leadhand.tools.decorator import Tool

PORT = ("ask", "profile", "aclose")
EXAMPLE = 'lead.run("What is the weather in Paris?")'
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
    seconds (None: no limit); ``max_requests`` and ``max_tokens`` bound the model calls of a run and the tokens of all
    of them together, ``max_output_tokens`` those of one reply (a model that thinks at length, and a long plan, need
    more). ``home`` and ``database`` say where runs are kept.

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
        max_requests: int | None = None,
        max_tokens: int | None = None,
        max_output_tokens: int = 2_000,
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
                max_steps=max_steps,
                max_workers=max_workers,
                batch_size=batch_size,
                budget=budget,
                timeout=timeout,
                max_requests=max_requests,
                max_tokens=max_tokens,
                max_output_tokens=max_output_tokens,
            ),
            approve=approval_policy(approve),
        )
        check_methods(
            models, "models", PORT, "Pass an object with the methods of leadhand.ports.Models, or leave it out."
        )
        check_methods(on_text, "on_text", ("__call__",), "Pass a function of run, attempt and piece, or leave it out.")
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
        checked = check_request(request, example=EXAMPLE)
        runtime = await self.runtime()
        return Run(runtime, await runtime.start(checked), drive=True)

    async def run(self, request: str) -> Answer:
        """Carry a request out and return its answer. Raises as :meth:`start` does; a failed run is an answer too."""
        return await (await self.start(request)).answer()

    async def attach(self, run_id: str) -> Run:
        """Get hold of a run: follow it while another process drives it, and go on with it if its process died.

        A paused run stays paused; see :meth:`resume`. Raises NoSuchRun.
        """
        run_id = _id(run_id)
        runtime = await self.runtime()
        listing = await runtime.store.run(run_id)
        if listing.orphan:
            return Run(runtime, await runtime.take_over(run_id), drive=True)
        return Run(runtime, await runtime.load(run_id), drive=False)

    async def resume(self, run_id: str) -> Run:
        """Go on with a run that is paused, waiting or orphaned.

        Raises NoSuchRun, RunOwned while another process drives it, and UsageError when it is over.
        """
        run_id = _id(run_id)
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


def _id(run_id: object) -> str:
    return text(run_id, "the run's id", "Give the run_id of a Run or an Answer.")


def user() -> str:
    """Who is asking, for the log."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
