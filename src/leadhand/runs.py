"""Runs and what comes of them, as the Python door hands them out; and the answers that people give to runs."""

from __future__ import annotations

import contextlib
import getpass
from collections.abc import AsyncGenerator, Callable
from typing import Any

from leadhand.domain.document import run_document
from leadhand.domain.events import CancelRequested, Entry, RunClaimed, RunFinished, RunPaused, RunResumed, RunWaiting
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.domain.value import Json
from leadhand.project import answering
from leadhand.project.answering import OpenApproval
from leadhand.project.runtime import Runtime


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


class Answering:
    """What a person can say to the open questions of runs. Each is named by its id, or by the question itself.

    An answer is bound to what was shown: one to a question that is not open any more, or that shows other arguments by
    now, raises UsageError. It works from any process; the one that drives the run notices. A run that rests goes on
    when it is resumed.
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
        """Say yes to a call: with the arguments shown, or with ``args`` in their place, all of them.

        ``always`` is a yes to every call of this tool in this run. Raises UsageError for arguments that the tool does
        not take, and for a question about a call that had begun; see :meth:`settle_effect`.
        """
        runtime, asked = await self._question(question)
        await answering.approve(runtime, asked, by=user(), args=args, always=always, reason=reason)

    async def deny(self, question: OpenApproval | str, *, reason: str = "") -> None:
        """Say no to a call; the lead is told the reason. Raises as :meth:`approve` does."""
        runtime, asked = await self._question(question)
        await answering.deny(runtime, asked, by=user(), reason=reason)

    async def settle_effect(
        self, question: OpenApproval | str, *, happened: bool, summary: str = "", raw: Json = None
    ) -> None:
        """Say what became of a call that had begun and whose end nobody saw.

        If it ``happened`` it counts as made, with ``summary`` and ``raw`` as its result, and is not made again. If not,
        it may be made again. Raises UsageError for a question about a call that is yet to be made.
        """
        runtime, asked = await self._question(question)
        await answering.settle_effect(runtime, asked, by=user(), happened=happened, summary=summary, raw=raw)


class Run(Answering):
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

    async def approvals(self) -> list[OpenApproval]:
        """The open questions of this run, newest first."""
        asked = await answering.open_approvals(self._runtime, self.run_id)
        return [each for each in asked if not each.expired]

    async def _question(self, question: OpenApproval | str) -> tuple[Runtime, OpenApproval]:
        return self._runtime, await answering.find_approval(self._runtime, question, run_id=self.run_id)

    async def pause(self, reason: str = "") -> None:
        """Park the run: what is finished is kept, what was under way is done again when it is resumed."""
        await self._runtime.pause(self.run_id, by=user(), reason=reason)

    async def cancel(self) -> None:
        """End the run: nothing new starts, requests in flight are closed."""
        await self._runtime.log(self.run_id).append(CancelRequested(by=user()))


def user() -> str:
    """Who is asking, for the log."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
