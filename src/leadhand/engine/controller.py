"""The controller, one actor for each run: it folds the log, decides, appends, and acts after the commit.

The controller and workers never call each other: they communicate through the log and the dispatcher.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from leadhand.core import commands as do
from leadhand.core.commands import FlowError
from leadhand.core.decide import due, ending, run_out, when_idle
from leadhand.core.errors import INTERRUPTED, Failure, FailureClass, Fenced
from leadhand.core.events import AnyEvent, AttemptScheduled, Entry, RunStatusSet, StepIssued
from leadhand.core.evolve import fold, foreseen
from leadhand.core.ids import step_of
from leadhand.core.outcome import FlowAnswer
from leadhand.core.relations import dozes, ended_by
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import RunState
from leadhand.core.words.failures import out_of_time
from leadhand.engine.answer_guard import guarded
from leadhand.engine.hooks import Hooks
from leadhand.engine.log import RunLog
from leadhand.engine.questions import due_questions
from leadhand.engine.work import work_of
from leadhand.flows.closing import policy_of
from leadhand.flows.flow import Fits
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.run import GIVEN_UP
from leadhand.ports import Clock, ContextStore, Dispatcher
from leadhand.ports.heads import RunHead, head_of
from leadhand.verify.judge import Verifier

MAX_ROUNDS = 10_000
"""Maximum rounds of decisions between two reads of the log; a flow that exceeds it does not terminate."""

LOGGER = logging.getLogger("leadhand.engine")

OnState = Callable[[RunState], None]
"""Receives the state of a run."""
OnEntries = Callable[[RunState, list[Entry]], None]
"""Receives the state after every batch of committed entries, and the batch."""


class Controller:
    """Owns one run and makes all decisions about it."""

    def __init__(
        self,
        state: RunState,
        *,
        log: RunLog,
        store: ContextStore,
        flow: FunctionFlow,
        dispatcher: Dispatcher,
        clock: Clock,
        on_entries: OnEntries | None = None,
        asleep: Callable[[], float] = lambda: 0.0,
        fits: Fits | None = None,
        verifier: Verifier | None = None,
        hooks: Hooks | None = None,
        deps: Any = None,
    ) -> None:
        """``deps`` is what the program gives the flow."""
        self._state = state
        self._log = log
        self._store = store
        given = {"fits": fits, "verifier": verifier, "deps": deps, "clock": time.monotonic}
        self._policy = policy_of(flow, state.definition, **given)
        self._dispatcher = dispatcher
        self._clock = clock
        self._hooks = hooks or Hooks()
        self._on_entries = on_entries
        self._asleep = asleep
        self._asleep_s = asleep()
        self._epoch = state.epoch
        self._started: dict[str, str] = {}
        self._held: dict[str, None] = {}
        """Steps that do not begin, and are not settled, before the flow asks for them again."""
        self._check_at = 0.0
        self._decided_at = clock.now()
        self._not_started: list[do.Command] = []
        self._head: RunHead | None = None

    async def drive(self) -> RunState:
        """Drive the run until it ends, is paused or waits for people, and return its state.

        Raises :class:`~leadhand.core.errors.Fenced` if another process has taken over the run.
        """
        committed = self._store.follow(self._state.run_id, self._state.seq)
        async with contextlib.aclosing(committed):
            batches = _Batches(committed, self._dispatcher.broken(self._state.run_id))
            try:
                carried_out = await self._dispatcher.carried_out(self._state, taking_over=True)
                await self._decide(lost_attempts(self._state, carried_out, taking_over=True), batches)
                self._start(self._state.live)
                while True:
                    # Entries read back after a decision can include others, so decide until nothing is left to decide.
                    not_started, self._not_started = self._not_started, []
                    if await self._decide(not_started, batches):
                        continue
                    if self._at_rest():
                        await self._correct_head()
                        return self._state
                    await self._take(await batches.next(self._seconds_left()))
                    await self._check_others()
            finally:
                await batches.aclose()
                # The run ended, is paused or has another owner: nothing of it may continue here.
                self._dispatcher.cancel(self._state.run_id)
                self._policy.close()

    def _at_rest(self) -> bool:
        state = self._state
        if state.finished is not None:
            return True
        if state.status is RunStatus.PAUSED:
            return not state.unsettled and not state.resume_wanted
        if state.status is not RunStatus.WAITING or len(state.live) > len(self._held) or due(state):
            return False
        return all(state.questions[key].kind == "person" for key in state.unanswered)  # timers go on

    # --- deciding ----------------------------------------------------------------------------------------------------

    async def _decide(self, first: Iterable[do.Command], batches: _Batches) -> bool:
        """Decide everything that follows from the state, append it, and read it back. Return False if nothing was
        decided.
        """
        await self._policy.prepare(self._state, self._log.unpack)
        state = self._state
        self._held = {key: None for key in self._held if key in state.live or key in state.unsettled}
        self._start(key for key in tuple(self._held) if self._policy.wants(state, key))
        events, after = self._decisions(first)
        if not events:
            return False
        events = await guarded(self._hooks, self._state, events)
        jobs = self._dispatcher.jobs(self._state, events)
        self._head = head_of(after)
        entries = await self._log.append(*events, epoch=self._epoch, jobs=jobs, head=self._head)
        while self._state.seq < entries[-1].seq:
            await self._take(await batches.next(None))
        return True

    async def _correct_head(self) -> None:
        """Write the head of a run at rest if it is not the one of the last decisions: a person has answered since."""
        head = head_of(self._state)
        if self._head is None or head[1:] != self._head[1:]:
            await self._log.append(epoch=self._epoch, head=head)

    def _decisions(self, first: Iterable[do.Command]) -> tuple[list[AnyEvent], RunState]:
        """Return everything that follows from the state as it is, and the state after it: a copy, to be thrown away."""
        now, state = self._clock.now(), self._state
        made: list[AnyEvent] = []
        commands, postponed = [*self._sleep(), *first], False
        tried: list[do.Command] = []
        for _ in range(MAX_ROUNDS):
            if not commands:
                commands, postponed = self._commands(state), False
            if not commands:
                return made, state
            events, later, reason = self._round(state, commands, now, postponed=postponed)
            if events:
                made += events
                state = foreseen(state, events, now)
                commands, postponed = later, True
            elif postponed:  # nor does the state after the others allow it
                message = f"the flow {self._policy.name} returned an invalid step: {reason}"
                how = "fix the flow, then start the run again"
                commands, postponed = [ending(message, "flow_error", FailureClass.UNAVAILABLE, how)], False
            else:
                # What is wanted is refused, all of it. While others work it may yet be allowed; else this is the end.
                commands = when_idle(state, reason, len(self._held)) if not made else []
                if not commands or commands == tried:
                    return made, state
                tried = commands
        raise RuntimeError(f"the flow {self._policy.name} still wants more after {MAX_ROUNDS} rounds of decisions")

    def _round(
        self, state: RunState, commands: Iterable[do.Command], now: datetime, *, postponed: bool
    ) -> tuple[list[AnyEvent], list[do.Command], str]:
        """Decide commands on one state: the events, the commands to decide on the state after them, the last refusal.

        Two commands of one round may exclude each other, so most that are refused are dropped. A new step that
        is refused may need another one of its round, and the end of the run comes after what was wanted before it:
        these are ``postponed`` to the next round.
        """
        events: list[AnyEvent] = []
        later: list[do.Command] = []
        reason, issued = "", set[str]()
        for command in commands:
            name = command.step.step_id if isinstance(command, do.IssueStep) else ""
            if isinstance(command, do.DecideRequest):
                command = do.DecideRequest(self._policy.changed_workers(state))
            if isinstance(command, do.End) and events:
                later.append(command)
                break
            try:
                if name in issued:
                    raise do.Refused(f"{name} is assigned already")
                events += self._policy.decide(state, command, now)
                issued |= {name} - {""}
            except do.Refused as refusal:
                reason = str(refusal)
                if isinstance(command, do.IssueStep) and (postponed or name not in state.steps):
                    later.append(command)
        return events, later, reason

    def _commands(self, state: RunState) -> list[do.Command]:
        now, running = self._clock.now(), state.finished is None and state.status is RunStatus.RUNNING
        self._decided_at = now
        timed = running and not dozes(state)
        deadline, work_deadline = (state.deadline, state.work_deadline) if timed else (None, None)
        if deadline is not None and now >= deadline:
            message = f"the time limit of {state.definition.limits.timeout_s:g} s is used up"
            return [do.End(FlowAnswer(failure=out_of_time(message)))]
        commands: list[do.Command] = [*due(state), *due_questions(state, now)]
        if running:
            commands = [each for each in commands if not self._is_unwanted(state, each)]
        if work_deadline is not None and now >= work_deadline:
            commands = run_out(state) or commands  # what is due is decided on the state after it
        if commands or not running or state is not self._state:
            return commands  # a function continues only from what is committed
        return list(self._policy.next(state)) or self._released(state) or when_idle(state, held=len(self._held))

    def _released(self, state: RunState) -> list[do.Command]:
        """Give up the steps that the flow does not ask for again if they alone keep the next batch from its start."""
        if not state.ready or len(state.live) + len(state.unsettled) > len(self._held):
            return []
        return [do.Conclude(key, GIVEN_UP) for key in self._held]

    def _is_unwanted(self, state: RunState, command: do.Command) -> bool:
        """Whether a command would begin a step that the flow has not asked for since the run was taken over, or ask
        people about a call of one while they are asked whether the flow may go on without it."""
        if not isinstance(command, do.Start | do.Settle) or self._policy.wants(state, command.step):
            return False
        if isinstance(command, do.Start):
            return command.step in state.ready
        if not self._policy.diverges or not state.steps[command.step].indeterminate_calls:
            return False
        self._held[command.step] = None
        return True

    def _sleep(self) -> list[do.Command]:
        """The time in which this process was not running since the last decision, if there was any."""
        before, self._asleep_s = self._asleep_s, self._asleep()
        slept = self._asleep_s - before
        running = self._state.finished is None and self._state.status is RunStatus.RUNNING
        return [do.SetStatus(slept_s=slept)] if slept > 0 and running else []

    # --- acting ------------------------------------------------------------------------------------------------------

    async def _take(self, entries: list[Entry]) -> None:
        if not entries:
            return
        before = self._state
        self._state = fold(before, entries)
        for entry in entries:
            for attempt in ended_by(before, entry.event):
                self._dispatcher.withdraw(before.run_id, attempt)
        if self._state.epoch != self._epoch:
            raise Fenced(
                f"run {self._state.run_id} was taken over by {self._state.owner}",
                f"Watch it: leadhand runs watch {self._state.run_id}",
            )
        self._dispatcher.note(self._state, entries)
        if any(isinstance(entry.event, RunStatusSet) for entry in entries):
            self._start(self._state.live)  # what was scheduled while the run was paused
        else:
            self._start(
                step_of(entry.event.attempt) if isinstance(entry.event, AttemptScheduled) else entry.event.subject
                for entry in entries
                if isinstance(entry.event, AttemptScheduled | StepIssued)
            )
        if self._on_entries is not None:
            self._on_entries(self._state, entries)

    def _start(self, steps: Iterable[str]) -> None:
        """Submit every scheduled attempt that has not started yet, once."""
        if self._state.finished is not None or self._state.status is not RunStatus.RUNNING:
            return
        for key in steps:
            current = self._state.steps[key].attempt
            if current is None or current.status is not AttemptStatus.SCHEDULED:
                continue
            if not self._policy.wants(self._state, key):
                self._held[key] = None  # nothing of it begins before the flow asks for it again
                continue
            self._held.pop(key, None)
            if self._started.get(key) != current.attempt:
                self._started[key] = current.attempt
                try:
                    work = work_of(self._state, self._policy, key)
                except FlowError as error:  # this fails only one attempt
                    LOGGER.error("%s of run %s cannot start: %s", key, self._state.run_id, error, exc_info=error)
                    self._not_started.append(do.Lose(attempt=current.attempt, failure=error.failure))
                    continue
                self._dispatcher.start(work)

    def _seconds_left(self) -> float | None:
        """Return the seconds until the next deadline: that of the run, of an approval or of a question."""
        state, now = self._state, self._clock.now()
        ends = [each for each in (*state.asking.values(), *state.unanswered.values()) if each is not None]
        timed = state.status is RunStatus.RUNNING and not dozes(state)
        if state.deadline is not None and state.work_deadline is not None and timed:
            # One that passes between the last decision and this line is still to be decided on.
            ends.append(state.work_deadline if self._decided_at < state.work_deadline else state.deadline)
        left = max(0.0, (min(ends) - now) / timedelta(seconds=1)) if ends else None
        check_s = self._dispatcher.check_s
        return left if check_s is None or not state.live else min(check_s, check_s if left is None else left)

    async def _check_others(self) -> None:
        """From time to time, find the attempts whose process has died since: they are decided on next."""
        check_s, now = self._dispatcher.check_s, asyncio.get_running_loop().time()
        if check_s is not None and now >= self._check_at:
            self._check_at = now + check_s
            carried_out = await self._dispatcher.carried_out(self._state, taking_over=False)
            lost = list(lost_attempts(self._state, carried_out, taking_over=False))
            # What a process finished before it died may not have been read yet.
            if lost and not await self._store.read(self._state.run_id, self._state.seq, 1):
                self._not_started += lost


def lost_attempts(state: RunState, carried_out: Collection[str], *, taking_over: bool) -> Iterator[do.Command]:
    """Mark the running attempts as lost that no living process carries out.

    The usual rules apply: the work is retried, unless a ``once`` call had started. Scheduled attempts start as usual.
    ``taking_over``: the run was not driven until now; if it was forked or paused meanwhile, nothing of it runs.
    """
    forked = taking_over and state.epoch == 1 and state.definition.forked_from is not None
    stopped = forked or (taking_over and state.status is RunStatus.PAUSED)
    for key in state.live:
        attempt = state.steps[key].attempt
        if attempt is None or attempt.status is not AttemptStatus.RUNNING:
            continue
        if attempt.attempt in carried_out and not stopped:
            continue
        message, type_ = f"the process that ran it ({attempt.host}) is gone", "process_died"
        if stopped:
            message, type_ = f"the run was {'forked' if forked else 'paused'} while it was running", INTERRUPTED
        failure = Failure.of(message, type_, FailureClass.LOST)
        yield do.Lose(attempt=attempt.attempt, failure=failure)


class _Batches:
    """Reads a stream of committed entries with a timeout that does not break the stream.

    If ``broken`` is set, attempts can no longer be carried out in this process, and reading ends.
    """

    def __init__(self, committed: AsyncIterator[list[Entry]], broken: asyncio.Future[None]) -> None:
        self._committed = committed
        self._broken = broken
        self._reading: asyncio.Task[list[Entry]] | None = None

    async def next(self, seconds: float | None) -> list[Entry]:
        """Return the next batch, or nothing after a timeout. Raises the error of the dispatcher, if any."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(anext(self._committed))
        await asyncio.wait({self._reading, self._broken}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._broken.done():
            self._broken.result()
        if not self._reading.done():
            return []
        reading, self._reading = self._reading, None
        return reading.result()

    async def aclose(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
