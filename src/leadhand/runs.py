"""Runs and their answers in the Python API, and the replies of people to open questions."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

from leadhand.app import approvals, operator
from leadhand.app.approvals import OpenApproval
from leadhand.app.runtime import Runtime
from leadhand.domain.decide.operator_requests import OperatorRequest
from leadhand.domain.events import (
    CancelRequested,
    Entry,
    PauseRequested,
    RunClaimed,
    RunFinished,
    RunPaused,
    RunReopened,
    RunResumed,
    RunWaiting,
)
from leadhand.domain.listing import RunListing
from leadhand.domain.run import ENDED, RunStatus
from leadhand.domain.state import RunState
from leadhand.domain.value import Json

AT_REST = ENDED | {RunStatus.PAUSED, RunStatus.WAITING}
LOOK_EVERY_S = 0.1


class Answer:
    """The outcome of a run. ``str(answer)`` is the text; ``document`` the run document of ``leadhand run --json``."""

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


class Answering:
    """Methods that answer the open questions of runs. Name a question by its id or pass the question itself.

    An answer applies to what was shown: it raises UsageError if the question is no longer open or its arguments have
    changed. You can answer from any process; the one that drives the run notices. A run at rest continues when it is
    resumed.
    """

    async def _question(self, question: OpenApproval | str) -> tuple[Runtime, OpenApproval]:
        raise NotImplementedError

    async def approve(
        self,
        question: OpenApproval | str,
        *,
        args: dict[str, Any] | None = None,
        always: bool = False,
        reason: str = "",
    ) -> None:
        """Approve a call, with the arguments shown or with ``args`` in place of all of them.

        ``always`` approves every call of this tool in this run. Raises UsageError for arguments that the tool does
        not accept, and for a question about a call that had begun; see :meth:`settle_effect`.
        """
        runtime, asked = await self._question(question)
        await approvals.answer(runtime, asked, by=user(), approve=True, args=args, always=always, reason=reason)

    async def deny(self, question: OpenApproval | str, *, reason: str = "") -> None:
        """Deny a call; the lead receives the reason. Raises as :meth:`approve` does."""
        runtime, asked = await self._question(question)
        await approvals.answer(runtime, asked, by=user(), approve=False, reason=reason)

    async def settle_effect(
        self, question: OpenApproval | str, *, happened: bool, summary: str = "", raw: Json = None
    ) -> None:
        """State whether a call happened that had begun and whose end was not recorded.

        If it ``happened`` it counts as made, with ``summary`` and ``raw`` as its result, and is not made again. If not,
        it may be made again. Raises UsageError for a question about a call that is yet to be made.
        """
        runtime, asked = await self._question(question)
        await approvals.settle_effect(runtime, asked, by=user(), happened=happened, summary=summary, raw=raw)


class Run(Answering):
    """One run: driven by this process, or followed while another drives it.

    Iterate over it for its events, as they are committed, from the first on; await :meth:`answer` for its outcome.
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
        """Call ``watcher`` with the state after every batch of events, while this process drives the run."""
        self._watchers.append(watcher)

    async def __aiter__(self) -> AsyncGenerator[Entry]:
        """Every event of the run, from the first; ends when the run ends, is paused, or waits for people."""
        rest = _Rest()
        async with contextlib.aclosing(self._runtime.store.follow(self.run_id)) as batches:
            reading: asyncio.Future[list[Entry]] | None = None
            try:
                while True:
                    reading = reading or asyncio.ensure_future(anext(batches))
                    await asyncio.wait({reading}, timeout=LOOK_EVERY_S if rest.doubtful else None)
                    if reading.done():
                        batch, reading = reading.result(), None
                        for entry in batch:
                            yield entry
                            rest.take(entry)
                    if (rest.resting or rest.doubtful) and rest.reached(await self._runtime.store.run(self.run_id)):
                        return
            finally:
                if reading is not None:
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)

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
        """Return the outcome of the run, once it is over, paused or waiting for people. Raises as :meth:`wait` does."""
        await self.wait()
        return Answer(await self.document())

    async def document(self) -> dict[str, Any]:
        """The run document as of now."""
        return (await self._runtime.document(self.run_id)).as_json()

    async def approvals(self) -> list[OpenApproval]:
        """The open questions of this run, newest first."""
        asked = await approvals.open_approvals(self._runtime, self.run_id)
        return [each for each in asked if not each.expired]

    async def _question(self, question: OpenApproval | str) -> tuple[Runtime, OpenApproval]:
        return self._runtime, await approvals.find_approval(self._runtime, question, run_id=self.run_id)

    async def pause(self, reason: str = "") -> None:
        """Pause the run: what is finished is kept, what was under way is done again when you resume it."""
        await self._runtime.log(self.run_id).append(PauseRequested(by=user(), reason=reason))

    async def cancel(self) -> None:
        """End the run: nothing new starts, requests in flight are closed."""
        await self._runtime.log(self.run_id).append(CancelRequested(by=user()))

    async def retry(
        self, subtasks: Iterable[str] = (), args: dict[str, Any] | None = None, *, confirmed: bool = False
    ) -> None:
        """Retry subtasks by their keys (without keys: all that failed), and what waited for them.

        ``args`` replaces all arguments of one subtask; ``confirmed`` allows a retry of what did, or may have done,
        something irreversible. It works while the run is driven, here or by another process, and after its end:
        the run then reopens and continues here in the background, unless another process drives it; :meth:`answer`
        gives the new answer. A paused run retries when it is resumed. Raises UsageError for what cannot be retried,
        ConfigurationError if the run continues here and a tool it needs is missing.
        """
        await self._want(operator.retry(by=user(), subtasks=subtasks, args=args, confirmed=confirmed))

    async def skip(self, subtask: str, reason: str = "") -> None:
        """Skip a subtask that is not under way: it becomes a gap of the answer. As with :meth:`retry`, this works from
        any process, and after the end. Raises UsageError for a subtask that cannot be skipped."""
        await self._want(operator.skip(by=user(), subtask=subtask, reason=reason))

    async def supply(self, subtask: str, summary: str, raw: Json = None) -> None:
        """Give the result of a subtask that failed or has not begun: ``summary`` as text, ``raw`` as data.

        It counts as evidence given by a person. Subtasks that need it can start; a finished run
        reopens, as with :meth:`retry`.
        Raises UsageError for a subtask that is under way or has its result.
        """
        await self._want(operator.supply(by=user(), subtask=subtask, summary=summary, raw=raw))

    async def _want(self, request: OperatorRequest) -> None:
        """Carry out a request of a person, and drive the run if no other process does."""
        state = await operator.want(self._runtime, self.run_id, request)
        if state is not None:
            self._state = state
            self._driving = self._runtime.driving(state, self._note)
        elif self._driving is not None and self._driving.done():
            self._driving = None  # another process drives it now, or will


class _Rest:
    """Whether a run is at rest, by its events: over, paused or waiting for people.

    ``doubtful``: a process took it over while it rested; it may continue, or be released again without an event.
    """

    def __init__(self) -> None:
        self.resting = False
        self.doubtful = False
        self._seq = 0

    def take(self, entry: Entry) -> None:
        self._seq = entry.seq
        match entry.event:
            case RunFinished() | RunPaused() | RunWaiting():
                self.resting, self.doubtful = True, False
            case RunResumed() | RunReopened():
                self.resting = self.doubtful = False
            case RunClaimed():
                self.resting, self.doubtful = False, self.resting or self.doubtful
            case _:
                pass

    def reached(self, listing: RunListing) -> bool:
        """Whether no further events of the run will follow."""
        if listing.head_seq != self._seq:
            return False
        return self.resting or (listing.owner is None and listing.status in AT_REST)


def user() -> str:
    """Who is asking, for the log."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
