"""Model calls: each is reserved before, settled after, and recorded in the log at both ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from leadhand.core.errors import AWAY, HOOK_FAILED, BudgetRefused, ConfigurationError, Failure, FailureClass
from leadhand.core.events import ModelCallBegan, ModelCallReturned
from leadhand.core.limits import Money, Usage
from leadhand.core.secret import OF_MODEL
from leadhand.core.value import Json, is_object, json_problem
from leadhand.engine.calls.limiter import Limiter
from leadhand.engine.calls.pace import Pace
from leadhand.engine.calls.permits import Notes, rest
from leadhand.engine.gate import malformed, without_nulls
from leadhand.engine.log import RunLog
from leadhand.engine.sent_requests import Packed
from leadhand.engine.work import kept_after
from leadhand.flows.facts import clarified_request
from leadhand.ports import Clock, ContextStore, FormRefused, ModelError, Models, Work
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest, input_bound

SLACK_S = 1.0
"""Seconds after a call's deadline before the call is cancelled although the adapter has not returned."""
SETTLING_S = 0.1
"""How often, in seconds, a call that does not fit the budget checks whether others have released a reservation."""
_OF_ONE_WORKER = frozenset({"no_rules", "flow_error", HOOK_FAILED})
"""Types of failures of a model for one worker. Other workers of the run can still use it."""
MOST_INTERRUPTED = 2
"""How often a call is made again after its connection was lost: the call itself may crash its server."""
HOW_PRICED = "use a model with a known price, set LEADHAND_PRICE, or start the run with allow_unknown_price"
CHECK = "check that the server runs"
"""What a person can do about a server that is away and says nothing else."""


class ModelCall(NamedTuple):
    """One model call of an attempt at ``work``. ``asked`` is recorded with the reply: what the code of a flow asked.
    ``check`` returns why a reply is not used."""

    work: Work
    call_id: str
    request: ModelRequest
    asked: Json = None
    check: Callable[[ModelReply], Awaitable[Failure | None]] | None = None

    @property
    def attempt(self) -> str:
        return self.work.attempt.attempt


class ModelCalls:
    """Makes the model calls of attempts, each within the run's allowance."""

    def __init__(self, models: Models, store: ContextStore, clock: Clock, limiter: Limiter | None = None) -> None:
        self._models = models
        self._limiter = limiter or Limiter(store, clock)
        self._store = store
        self._clock = clock
        self._paces: dict[tuple[str, int | None], Pace] = {}
        self._circuits: dict[tuple[str, str], Failure] = {}

    async def ask(self, log: RunLog, call: ModelCall, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Make the call, and return once the reply is committed. Raises :class:`ModelError` with a classed failure.

        First, an upper bound of the call's cost is reserved from the run's allowance. If it does not fit, the call
        waits until others, also of other processes, release a reservation; if that is not enough, it is ``exhausted``.

        A model that is ``unavailable`` (an invalid key, a used-up quota, an unknown name) is not called again in this
        run while this process drives it: the circuit is open after one refusal, unless that concerns only one worker.
        If its server is away, the call is made again once the server is back, and the circuit is open if the server is
        not back within ``patience_s``.
        """
        run, key = call.work.definition, (log.run_id, call.request.model)
        profile, limit = self.profile(call.request.model), run.concurrency.of_model(call.request.model)
        pace = self._pace(profile, call.request.model)
        notes = Notes(self._limiter.waits, log, call.request.patience_s)
        call = call._replace(request=profile.with_reasoning(call.request))
        since, until, interrupted, refused = None, None, 0, False
        try:
            while True:
                if (circuit := self._circuits.get(key)) is not None:
                    raise _unmade(circuit)
                queue = pace.queue
                if pace.failure is not None:
                    if since is None:
                        since = self._clock.now()
                        notes.begin(
                            key[1],
                            f"away, up to {notes.longest_s:g} s: {pace.failure.message} ({_advice(pace.failure)})",
                        )
                    until = self._patience(log, call, pace.failure, since)
                place = queue.permit(log.run_id)
                async with self._limiter.permit(limit, log.run_id), place:
                    if queue is not pace.queue or key in self._circuits:
                        continue  # meanwhile, the server went away, or is back, or the model was refused
                    await pace.rest(until)
                    round_ = pace.round
                    try:  # each request has a reservation and log entries
                        amount = _reservation(profile, call.request, needs_price=run.needs_prices)
                        await self.reserve(log, call, amount, log.requests.pack(call.request))
                        log.requests.written(call.call_id)
                        reply = await self._request(log, call, profile, on_text)
                    except ModelError as error:
                        failure = error.failure
                        if isinstance(error, FormRefused) and not refused:
                            refused = True
                            continue
                        interrupted += error.usage is None
                        if failure.is_away and interrupted <= MOST_INTERRUPTED:
                            pace.away(queue, failure)
                            if on_text is not None:
                                on_text("")  # a part of the answer may have arrived
                            continue
                        if failure.class_ is FailureClass.RATE_LIMITED:
                            await pace.refused(round_, failure.retry_after_s)
                        elif failure.class_ is FailureClass.UNAVAILABLE and failure.type not in _OF_ONE_WORKER:
                            self._circuits[key] = failure
                        if failure.class_ is not FailureClass.EXHAUSTED:  # else the server was not called
                            pace.back()
                        raise
                    pace.back()
                    pace.answered()
                    return reply
        finally:
            if since is not None:
                notes.end(key[1])

    def forget(self, run_id: str) -> None:
        """Close the circuits of a run that is no longer driven here, so that a resumed run tries its models again."""
        for key in [key for key in self._circuits if key[0] == run_id]:
            del self._circuits[key]

    def profile(self, model: str) -> ModelProfile:
        """Return what is known of a model. Raises ModelError for a name that no adapter takes."""
        try:
            return self._models.profile(model)
        except ConfigurationError as error:  # a flow or a tool named the model
            raise _unmade(Failure.of(error.what, "configuration", FailureClass.UNAVAILABLE, error.how)) from error

    def _pace(self, profile: ModelProfile, model: str) -> Pace:
        """Return the pace of a model: that of its server, if it is known how many calls the server answers at once."""
        name, slots = (profile.server if profile.slots else None) or model, profile.slots
        found = self._paces.get((name, slots))
        if found is None:
            found = self._paces[name, slots] = Pace(name, self._store, self._clock, slots)
        return found

    def _patience(self, log: RunLog, call: ModelCall, cause: Failure, since: datetime) -> datetime:
        """Return until when a call waits for a server that has been away for it ``since`` then.

        Raises ModelError after ``patience_s``: then the run does not call the model again.
        """
        model, patience_s, now = call.request.model, call.request.patience_s, self._clock.now()
        if now < (until := since + timedelta(seconds=patience_s)):
            return until
        message = f"{model} was away for {patience_s:g} s: {cause.message}"
        failure = Failure.of(message, AWAY, FailureClass.TRANSIENT, f"{_advice(cause)}; then retry the run")
        self._circuits[log.run_id, model] = failure
        raise _unmade(failure)

    async def reserve(self, log: RunLog, call: ModelCall, amount: Money, sent: Packed) -> None:
        """Record the start of a call with its reservation, as soon as it fits. Raises ModelError if it never will."""
        work, run = call.work, call.work.definition
        while True:
            now = self._clock.now()  # each day has its own budgets
            began = ModelCallBegan(
                attempt=call.attempt,
                call_id=call.call_id,
                model=call.request.model,
                reserved=amount,
                kept=kept_after(run, work.step, work.worker),
                within=work.scopes,
                shared=tuple(budget.at(now) for budget in run.shared_budgets),
                request=sent.parts,
                continues=sent.continues,
            )
            try:
                await log.append(began, blobs=sent.blobs)
                return
            except BudgetRefused as refused:
                if not refused.may_fit:
                    failure = Failure.of(refused.what, "allowance", FailureClass.EXHAUSTED, refused.how)
                    raise ModelError(failure.evolve(short_of=refused.short_of)) from refused
                await rest(self._clock, SETTLING_S)

    async def _request(
        self, log: RunLog, call: ModelCall, profile: ModelProfile, on_text: Callable[[str], None] | None
    ) -> ModelReply:
        """Make one request, and record its end."""
        request, began_at = call.request, time.monotonic()
        reply: ModelReply | None = None
        failed: ModelError | None = None
        try:
            # Adapters enforce the deadline themselves, with a better message; this is for those that do not.
            async with asyncio.timeout(request.deadline_s + min(SLACK_S, request.deadline_s / 10)):
                received = await self._models.ask(request, on_text)
            usage, checked = priced(profile, received.usage), await _checked(log, call, received)
            if isinstance(checked, Failure):
                failed = ModelError(checked, usage)
            else:
                reply = checked
        except TimeoutError:
            message = f"{request.model} did not answer within {request.deadline_s:g} s"
            failed, usage = ModelError(Failure.of(message, "timeout", FailureClass.TRANSIENT)), None
        except ModelError as error:
            failed, usage = error, error.usage
            if usage is not None and usage.input_tokens:  # an answer that cannot be used, such as one that was cut
                usage = priced(profile, usage, answered=False)
        asked, blobs = log.pack(call.asked)
        message = reply.message if reply is not None else None
        if message is not None and reply is not None and reply.value is not None and not message.tool_calls:
            message = message.model_copy(update={"text": ""})  # the value contains it
        await log.append(
            ModelCallReturned(
                attempt=call.attempt,
                call_id=call.call_id,
                model=request.model,
                message=message,
                value=reply.value if reply is not None else None,
                failure=failed.failure if failed is not None else None,
                usage=usage,
                finish_reason=reply.finish_reason if reply is not None else "",
                duration_ms=round((time.monotonic() - began_at) * 1_000),
                asked=asked,
            ),
            blobs=blobs,
        )
        if reply is None:
            assert failed is not None
            raise failed
        return reply


def _advice(cause: Failure) -> str:
    """Return what a person can do about a server that is away."""
    return CHECK if cause.next_action == cause.class_.action else cause.next_action


def _reservation(profile: ModelProfile, request: ModelRequest, *, needs_price: bool) -> Money:
    """The most that a call can use: its whole input, at one token per byte and written to the provider's cache if
    that costs more, and every token of its answer."""
    inputs = input_bound(request.messages, request.tools, request.output)
    cost = profile.highest_cost(inputs, request.max_tokens)
    if cost is None and needs_price and not profile.free:
        message = f"the price of {request.model} is not known, so the budget cannot limit it"
        raise _unmade(Failure.of(message, "configuration", FailureClass.UNAVAILABLE, HOW_PRICED))
    return Money(requests=1, tokens=inputs + request.max_tokens, nanousd=cost or 0)


def priced(profile: ModelProfile, usage: Usage, *, answered: bool = True) -> Usage | None:
    """The usage with its cost, where the model's price is known and the adapter did not say it.

    None, for unknown, if the adapter named no cost and counted no tokens, of the input or of a reply.
    """
    if usage.nanousd is not None:
        return usage
    if not (usage.input_tokens and (usage.output_tokens or not answered)):
        return None
    return usage.model_copy(update={"nanousd": 0 if profile.free else profile.cost(usage)})


async def _checked(log: RunLog, call: ModelCall, reply: ModelReply) -> ModelReply | Failure:
    """Return a reply as it is used, or why it is not used."""
    message = reply.message
    values = [reply.value, message.text, message.opaque.data if message.opaque is not None else None]
    values += [value for each in message.tool_calls for value in (each.arguments, each.raw)]
    if problem := next((problem for value in values if (problem := json_problem(value))), ""):
        return malformed(f"the answer of {call.request.model} cannot be stored as JSON: {problem}")
    opaque, message = message.opaque, message.model_copy(update={"opaque": None})  # what is opaque stays as it is
    said = clarified_request(call.work.state)
    clean = log.sealed(reply.model_copy(update={"message": message}), origin=OF_MODEL, said=said, foreign=False)
    reply = clean.model_copy(update={"message": clean.message.model_copy(update={"opaque": opaque})})
    if call.work.shape is not None and is_object(reply.value):
        reply = reply.model_copy(update={"value": without_nulls(call.work.shape, reply.value)})
    return (await call.check(reply) if call.check is not None else None) or reply


def _unmade(failure: Failure) -> ModelError:
    """Return the error of a call that made no request."""
    return ModelError(failure, Usage(requests=0, nanousd=0))
