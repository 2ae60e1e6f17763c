"""The controller, one actor for each run: it folds the log, decides, appends, and acts after the commit.

The controller and workers never call each other: they communicate through the log and the dispatcher.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta
from typing import Any

from leadhand.core import decide as do
from leadhand.core.decide import due, run_out, when_idle
from leadhand.core.errors import INTERRUPTED, Failure, FailureClass, Fenced, FlowError, Refused
from leadhand.core.errors.advice import Advice
from leadhand.core.events import AnyEvent, AttemptScheduled, Entry, OrderIssued, StepIssued
from leadhand.core.evolve import apply_entry, draft, fold
from leadhand.core.ids import step_of
from leadhand.core.outcome import FlowAnswer
from leadhand.core.relations import dozes, ended_by
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import RunState
from leadhand.core.words.failures import out_of_time
from leadhand.engine.hooks import Hooks
from leadhand.engine.loading import Batches
from leadhand.engine.log import RunLog
from leadhand.engine.questions import due_questions
from leadhand.engine.work import work_of
from leadhand.flows.closing import policy_of
from leadhand.flows.flow import Fits
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.run import GIVEN_UP
from leadhand.ports import Clock, ContextStore, Dispatcher, Work
from leadhand.ports.heads import RunHead, head_of
from leadhand.verify.judge import Verifier

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
        self._to_start = dict.fromkeys(state.live)
        """Steps whose attempt may be scheduled and has not been submitted."""
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
        run_id = self._state.run_id
        batches = Batches(self._store.follow(run_id, self._state.seq), self._dispatcher.broken(run_id))
        async with contextlib.aclosing(batches):
            try:
                carried_out = await self._dispatcher.carried_out(self._state, taking_over=True)
                self._not_started += lost_attempts(self._state, carried_out, taking_over=True)
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
                # The run ended, is paused or has another owner: nothing of it may continue here.
                self._dispatcher.cancel(self._state)
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

    async def _decide(self, first: Iterable[do.Command], batches: Batches) -> bool:
        """Decide everything that follows from the state, append it, and read it back. Return False if nothing was
        decided.
        """
        await self._policy.prepare(self._state, self._log.unpack)
        state = self._state
        self._held = {key: None for key in self._held if key in state.live or key in state.unsettled}
        self._start()
        events, after = self._decisions(first)
        if not events:
            return False
        events = await self._hooks.guarded(self._state, events)
        self._head = head_of(after)
        entries = await self._log.append(*events, epoch=self._epoch, head=self._head)
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
        state, made = draft(self._state), list[AnyEvent]()
        self._carry_out(state, [*self._sleep(), *first], made)
        while True:
            before, commands = len(made), self._commands(state, committed=not made)
            refused = self._carry_out(state, commands, made)
            if refused and not made:
                # All that is wanted is refused. While others work it may yet be allowed; else this is the end.
                self._carry_out(state, when_idle(state, refused, len(self._held)), made)
            if len(made) == before:
                return made, state

    def _carry_out(self, state: RunState, commands: Iterable[do.Command], made: list[AnyEvent]) -> str:
        """Decide commands, each on the draft of a state after those before it, and add their events to those ``made``.
        Return why the last one that is refused is; it is dropped, since one before it may exclude it."""
        refused = ""
        for command in commands:
            now = self._clock.now()
            if isinstance(command, do.DecideRequest):
                command = do.DecideRequest(self._policy.changed_workers(state))
            try:
                events = self._policy.decide(state, command, now)
            except Refused as refusal:
                refused = str(refusal)
                continue
            for event in events:
                apply_entry(state, Entry(seq=state.seq + 1, at=now, epoch=state.epoch, event=event))
            made += events
        return refused

    def _commands(self, state: RunState, *, committed: bool) -> list[do.Command]:
        """Return what is due in a state, or what the flow wants next, which continues only from what is committed."""
        now, running = self._clock.now(), state.finished is None and state.status is RunStatus.RUNNING
        self._decided_at = now
        timed = running and not dozes(state)
        deadline, work_deadline = (state.deadline, state.work_deadline) if timed else (None, None)
        if deadline is not None and now >= deadline:
            message = f"the time limit of {state.definition.limits.timeout:g} s is used up"
            return [do.End(FlowAnswer(failure=out_of_time(message)))]
        commands: list[do.Command] = [*due(state), *due_questions(state, now)]
        if running:
            commands = [each for each in commands if not self._is_unwanted(state, each)]
        if work_deadline is not None and now >= work_deadline:
            commands = run_out(state) or commands  # what is due is decided on the state after it
        if commands or not running or not committed:
            return commands
        return list(self._policy.next(self._state)) or self._released(state) or when_idle(state, held=len(self._held))

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
                Advice("Watch it: {watch_run}", run=self._state.run_id),
            )
        self._dispatcher.note(self._state, entries)
        for event in (entry.event for entry in entries):
            match event:
                case OrderIssued():
                    self._to_start |= dict.fromkeys(event.order.subtask_keys)
                case AttemptScheduled() | StepIssued():
                    self._to_start[step_of(event.subject) or event.subject] = None
                case _:
                    pass
        self._start()
        if self._on_entries is not None:
            self._on_entries(self._state, entries)

    def _start(self) -> None:
        """Submit every scheduled attempt that has not been submitted, once."""
        state = self._state
        if state.finished is not None or state.status is not RunStatus.RUNNING:
            return
        works: list[Work] = []
        for key in tuple(self._to_start):
            current = state.steps[key].attempt
            if current is not None and current.status is AttemptStatus.SCHEDULED:
                if not self._policy.wants(state, key):
                    self._held[key] = None  # nothing of it begins before the flow asks for it again
                    continue
                self._held.pop(key, None)
                try:
                    works.append(work_of(state, self._policy, key))
                except FlowError as error:  # this fails only one attempt
                    LOGGER.error("%s of run %s cannot start: %s", key, state.run_id, error, exc_info=error)
                    self._not_started.append(do.Lose(attempt=current.attempt, failure=error.failure))
            del self._to_start[key]
        self._dispatcher.start(state.run_id, works)

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
