"""Runs and their answers in the Python API, and people's answers to approvals."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Generic

from leadhand.app.arguments import check_request
from leadhand.app.arguments import limits as limits_given
from leadhand.app.export.answers import Answer as Answer
from leadhand.app.export.answers import ValueT as ValueT
from leadhand.app.run_settings import NewRun, Output
from leadhand.app.runtime.answer_text import TextPiece as TextPiece
from leadhand.app.runtime.answer_text import TextRestarted as TextRestarted
from leadhand.app.runtime.answer_text import pieces_of
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import user
from leadhand.app.steering import approvals, follow_ups, operator, questions
from leadhand.app.steering.approvals import OpenApproval
from leadhand.core import events as ev
from leadhand.core.approval import Approval
from leadhand.core.decide import due
from leadhand.core.errors import RunOwned, UsageError
from leadhand.core.limits import Limits
from leadhand.core.relations import open_approvals
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.state import RunState
from leadhand.core.value import Json, shown

AT_REST = ENDED | {RunStatus.PAUSED, RunStatus.WAITING}
LOOK_EVERY_S = 0.1
OnApproval = Callable[[OpenApproval], "bool | Awaitable[bool | None] | None"]
"""Answers an approval: True approves the call or the plan, False denies it, None leaves it open. For kind ``effect``,
True says that the call happened, False that it did not. It may be a coroutine function; a plain function is called on a
thread, so it may block."""


class Answering:
    """Methods that answer the open approvals of runs. Pass the id of an approval or the approval itself.

    An answer applies to the arguments shown: it raises UsageError if the approval is no longer open or its arguments
    have changed. The process that drives the run notices it; if none does, :meth:`Run.answer` continues it here, also
    of a run from :meth:`Leadhand.get`.
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
        """Approve a plan, or a call with the arguments shown, or with ``args``, which replace all of them.

        ``always`` approves every call of this tool in this run. Raises UsageError for arguments that the tool does
        not accept, and for an interrupted call; see :meth:`settle_effect`.
        """
        runtime, asked = await self._question(question)
        await approvals.answer(runtime, asked, by=user(), approve=True, args=args, always=always, reason=reason)
        runtime.answered.add(asked.run_id)

    async def deny(self, question: OpenApproval | str, *, reason: str = "") -> None:
        """Deny a call or a plan; the lead receives the reason. A plan denied without a reason ends its run.

        Raises as :meth:`approve` does.
        """
        runtime, asked = await self._question(question)
        await approvals.answer(runtime, asked, by=user(), approve=False, reason=reason)
        runtime.answered.add(asked.run_id)

    async def settle_effect(
        self, question: OpenApproval | str, *, happened: bool, summary: str = "", raw: Json = None
    ) -> None:
        """State whether an interrupted call happened.

        If it ``happened``, it counts as made, with ``summary`` and ``raw`` as its result, and is not repeated. If not,
        it can be made again. Raises UsageError for a call that has not started yet.
        """
        runtime, asked = await self._question(question)
        await approvals.settle_effect(runtime, asked, by=user(), happened=happened, summary=summary, raw=raw)
        runtime.answered.add(asked.run_id)


class Run(Answering, Generic[ValueT]):
    """One run: driven by this process, or followed while another drives it.

    Iterate over it to receive its events as they are committed; await :meth:`answer` for the outcome.
    """

    def __init__(
        self,
        runtime: Runtime,
        state: RunState,
        *,
        drive: bool,
        on_approval: OnApproval | None = None,
        output: Output = None,
        deps: Any = None,
    ) -> None:
        """``deps`` are objects of this run alone, which it has whenever it is driven here."""
        self._runtime = runtime
        self._output = output
        self._state = state
        self._watchers: list[Callable[[RunState], None]] = []
        self._on_approval = on_approval
        self._asked: dict[tuple[str, str], asyncio.Task[None]] = {}
        """The calls of ``on_approval``, by the id of the approval and its attempt."""
        self._drives = drive
        self._deps = runtime.toolbox.deps_of_runs.get(state.run_id) if deps is None else deps
        self._driving = self._driven(state) if drive else None
        if self._driving is not None and runtime.cluster is not None and runtime.texts.shows_all:
            live = runtime.cluster.live
            live.watch(state.run_id)
            self._driving.add_done_callback(lambda _: live.unwatch(state.run_id))

    def _driven(self, state: RunState) -> asyncio.Task[RunState]:
        """Drive the run in the background."""
        self._runtime.give(state.run_id, self._deps)
        return self._runtime.driving(state, self._note)

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
        self._ask_new()

    def _ask_new(self) -> None:
        """Have each new approval answered by the function of the program, if there is one."""
        if self._on_approval is None or self._state.finished is not None:
            return
        for approval in open_approvals(self._state):
            name = approval.approval_id, approval.attempt
            if name not in self._asked:
                self._asked[name] = asyncio.ensure_future(self._ask(self._on_approval, approval))

    async def _ask(self, on_approval: OnApproval, approval: Approval) -> None:
        asked = OpenApproval.of(self._state, approval)
        if asked.expired or self._state.approvals.get(approval.approval_id) != approval:
            return
        if inspect.iscoroutinefunction(on_approval):
            answer = await on_approval(asked)
        else:
            answer = await asyncio.to_thread(on_approval, asked)
            answer = await answer if inspect.isawaitable(answer) else answer
        if answer is not None and answer is not True and answer is not False:  # "no" is true, too
            raise UsageError(f"on_approval returned {shown(answer)}", "Return True, False, or None to leave it open.")
        if answer is not None:
            with contextlib.suppress(UsageError):  # somebody else has answered it in the meantime
                if asked.approval.kind == "effect":
                    await self.settle_effect(asked, happened=answer)
                else:
                    await (self.approve(asked) if answer else self.deny(asked))

    def watch(self, watcher: Callable[[RunState], None]) -> None:
        """Call ``watcher`` with the state after every batch of events, while this process drives the run."""
        self._watchers.append(watcher)

    async def __aiter__(self) -> AsyncGenerator[ev.Entry]:
        """Every event of the run, from the first; ends when the run ends, is paused, or waits for people."""
        seq, resting, claimed = 0, False, False  # who takes over a run at rest may release it without an event
        async with contextlib.aclosing(self._runtime.store.follow(self.run_id)) as batches:
            reading: asyncio.Future[list[ev.Entry]] | None = None
            try:
                while True:
                    reading = reading or asyncio.ensure_future(anext(batches))
                    await asyncio.wait({reading}, timeout=LOOK_EVERY_S if claimed else None)
                    if reading.done():
                        batch, reading = reading.result(), None
                        for entry in batch:
                            yield entry
                            seq = entry.seq
                            match entry.event:
                                case ev.RunFinished() | ev.RunStatusSet(status=RunStatus.PAUSED | RunStatus.WAITING):
                                    resting, claimed = True, False
                                case ev.RunStatusSet():
                                    resting = claimed = False
                                case ev.RunClaimed():
                                    claimed = resting
                                case _:
                                    pass
                    run = await self._runtime.store.run(self.run_id) if resting else None
                    released = run is not None and run.owner is None and run.status in AT_REST
                    if run is not None and run.head_seq == seq and (released or not claimed):
                        return
            finally:
                if reading is not None:
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)

    async def events(self) -> AsyncGenerator[ev.AnyEvent]:
        """Every event of the run as it is committed, from the first: one of the classes of :mod:`leadhand.events`.

        Ends when the run ends, is paused, or waits for people. Iterate over the run itself for the entries of its log,
        which have the number and the time, too.
        """
        async with contextlib.aclosing(self.__aiter__()) as entries:
            async for entry in entries:
                yield entry.event

    def text(self) -> AsyncGenerator[TextPiece | TextRestarted]:
        """The answer while it is written: the texts of the pieces since the last restart, joined, are ``answer.text``.

        A text that is written, and then not accepted or corrected, restarts. Without an adapter that streams, there is
        one piece. Ends when the run ends, is paused, or waits for people. Raises as :meth:`wait` does.
        """
        return pieces_of(self._runtime, self.run_id, self.wait)

    async def wait(self) -> RunState:
        """Return the state of the run once it has ended, is paused or waits for people.

        A run that was started, resumed or answered here continues if its approvals were answered. Raises the error
        that stopped the run here: StoreError, or Fenced if another process took over the run; and what ``on_approval``
        raised.
        """
        while True:
            if self._driving is not None:
                self._state = await self._driving
            else:
                async for _ in self:
                    pass
                self._state = await self._runtime.load(self.run_id)
            if self._drives:
                self._ask_new()
            await asyncio.gather(*self._asked.values())
            if not await self._continued():
                return self._state

    async def _continued(self) -> bool:
        """Continue a run that waits although its approvals are answered; return whether it continues."""
        if self._state.finished is not None:
            self._runtime.answered.discard(self.run_id)
        mine = self._drives or self.run_id in self._runtime.answered
        if not mine or self._state.status is not RunStatus.WAITING:
            return False
        if not due(state := await self._runtime.load(self.run_id, self._state)):
            return False
        try:
            with self._runtime.lending(self.run_id, self._deps):
                state = await self._runtime.take_over(self.run_id, known=state)
        except RunOwned:
            self._driving = None  # another process was faster: follow it
        else:
            self._driving = self._driven(state)
        return True

    async def answer(self) -> Answer[ValueT]:
        """The outcome of the run once it has ended, is paused or waits for people. Raises as :meth:`wait` does.

        A run that waits has an answer without text: answer its approvals or its question, then call this again.
        """
        await self.wait()
        return Answer(await self.document(), self._output)

    async def document(self) -> dict[str, Any]:
        """Return the current run document."""
        return (await self._runtime.document(self.run_id, self._state)).as_json()

    async def approvals(self) -> list[OpenApproval]:
        """Return the open approvals of this run, newest first."""
        asked = await approvals.open_approvals(self._runtime, self.run_id)
        return [each for each in asked if not each.expired]

    async def _question(self, question: OpenApproval | str) -> tuple[Runtime, OpenApproval]:
        return self._runtime, await approvals.find_approval(self._runtime, question, run_id=self.run_id)

    async def follow_up(
        self,
        request: str,
        *,
        flow: str = "",
        model: str | None = None,
        limits: Limits | None = None,
        output: Output = None,
        name: str = "",
        tags: Mapping[str, str] | None = None,
        deps: Any = None,
        **options: Any,
    ) -> Run[Any]:
        """Start a run that follows up this one, and return at once; it continues in the background of this loop.

        It has the flow, the options, the models, the documents, the limits, the output and the tags of this run, where
        you give no others: ``flow``, ``options`` of the flow, one ``model`` for all workers, ``limits``, an ``output``,
        and ``tags``. It has a ``name`` and ``deps`` of its own. Its planner receives this run's request, answer and
        sources. Raises UsageError while this run has not ended, and otherwise as :meth:`Leadhand.start` does.
        """
        checked, runtime = check_request(request, example='run.follow_up("And tomorrow?")'), self._runtime
        earlier = await follow_ups.load_earlier(runtime, self.run_id)
        settings = follow_ups.continued(earlier.definition, runtime.settings, model=model, limits=limits_given(limits))
        output = self._output if output is None else output
        run = NewRun(name=name, tags=tags, output=output, deps=deps)
        state = await follow_ups.start(
            runtime, earlier, checked, flow=flow, options=options, settings=settings, run=run
        )
        return Run(runtime, state, drive=True, on_approval=self._on_approval, output=output, deps=deps)

    async def reply(self, text: str) -> None:
        """Answer the oldest open question of the run; :meth:`answer` then continues it, if no other process drives it.

        Raises UsageError for an empty answer, and for a run that has no open question.
        """
        _ = await questions.reply(self._runtime, self.run_id, text, by=user())
        self._runtime.answered.add(self.run_id)

    async def signal(self, name: str, value: Json = None) -> None:
        """Send a signal to the flow, which receives its ``value`` from ``run.wait_for(name)``, also later.

        Raises UsageError for a run that has ended.
        """
        await questions.signal(self._runtime, self.run_id, name, value, by=user())
        self._runtime.answered.add(self.run_id)

    async def pause(self, reason: str = "") -> None:
        """Pause the run. Finished work is kept; running work starts again when you resume the run."""
        await self._stop(ev.RunRequested(what="pause", by=user(), reason=reason), ENDED | {RunStatus.PAUSED})

    async def cancel(self) -> None:
        """Cancel the run: nothing new starts, and open requests are closed."""
        await self._stop(ev.RunRequested(what="cancel", by=user()), ENDED)

    async def _stop(self, request: ev.RunRequested, until: Collection[RunStatus]) -> None:
        """Record a request for the process that drives the run; if none does, carry it out here."""
        listing = await self._runtime.store.run(self.run_id)
        if listing.owner is not None:
            await self._runtime.log(self.run_id).append(request)
        elif listing.status not in until:
            await operator.stop(self._runtime, listing, request, until=until)

    async def retry(
        self,
        subtasks: Iterable[str] = (),
        args: dict[str, Any] | None = None,
        *,
        confirmed: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """Retry subtasks by their keys (without keys: all failed ones), and the subtasks that they blocked.

        ``args`` replaces all arguments of one subtask; ``confirmed`` allows you to retry subtasks that made, or may
        have made, an irreversible call. You can retry while the run is driven, by this or another process, and after
        its end: the run then reopens and continues in the background of this process, unless another process drives
        it; :meth:`answer` returns the new answer. ``limits`` are other limits of the run, as for
        :meth:`Leadhand.resume`. A paused run retries when it is resumed. Raises UsageError for what cannot be retried,
        ConfigurationError if the run continues here and a tool is missing.
        """
        request = operator.retry(by=user(), subtasks=subtasks, args=args, confirmed=confirmed)
        await self._want(request, limits_given(limits))

    async def skip(self, subtask: str, reason: str = "") -> None:
        """Skip a subtask that is not running; it becomes a gap of the answer. As with :meth:`retry`, this works from
        any process, and after the end. Raises UsageError for a subtask that cannot be skipped."""
        await self._want(operator.skip(by=user(), subtask=subtask, reason=reason))

    async def supply(self, subtask: str, summary: str, raw: Json = None) -> None:
        """Enter the result of a subtask that failed or has not started: ``summary`` as text, ``raw`` as data.

        The log records it as supplied by a person. Subtasks that need it can start; a finished run reopens, as with
        :meth:`retry`. Raises UsageError for a subtask that is running or already has a result.
        """
        await self._want(operator.supply(by=user(), subtask=subtask, summary=summary, raw=raw))

    async def _want(self, request: ev.StepRequested, limits: Limits = operator.NONE) -> None:
        """Submit a person's request, and drive the run if no other process does."""
        with self._runtime.lending(self.run_id, self._deps):
            state = await operator.want(self._runtime, self.run_id, request, limits)
        if state is not None:
            self._state = state
            self._driving = self._driven(state)
        elif self._driving is not None and self._driving.done():
            self._driving = None  # another process drives it, or will do so
