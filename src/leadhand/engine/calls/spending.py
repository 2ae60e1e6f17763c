"""What tools spend on models that Leadhand does not call itself: reserved before, booked after, as a model call is."""

from __future__ import annotations

import time
from itertools import count

from leadhand.core.conversation import UserMessage
from leadhand.core.errors import Failure, FailureClass, ToolError
from leadhand.core.events import ModelCallReturned
from leadhand.core.limits import Money, Usage, nanousd
from leadhand.engine.calls.model_calls import HOW_PRICED, ModelCall, ModelCalls, priced
from leadhand.engine.log import RunLog
from leadhand.ports import ModelError, Work
from leadhand.ports.models import ModelProfile, ModelRequest


class Spending:
    """What one tool call spends, in the log of its run."""

    def __init__(self, calls: ModelCalls, log: RunLog, work: Work, call_id: str) -> None:
        self._calls, self._log = calls, log
        self._work, self._call_id = work, call_id
        self._numbers = count()
        self._open: dict[str, tuple[ModelProfile, float]] = {}

    async def reserve(self, model: str, prompt: str, requests: int, tokens: int, usd: float | None) -> str:
        """Reserve the most that requests to a model can use, and return the key of the reservation.

        Raises ToolError if it does not fit what the run has left (``exhausted``), and if a budget has to limit a model
        whose price is not known (``unavailable``).
        """
        key = f"{self._call_id}/m{next(self._numbers)}"
        request = ModelRequest(model=model, messages=(UserMessage(text=prompt),), key=key, max_tokens=tokens)
        try:
            profile = self._profile(model, required=usd is None and self._work.definition.needs_prices)
            cost = _highest_cost(profile, tokens) if usd is None else nanousd(usd)
            if cost is None and self._work.definition.needs_prices and not profile.free:
                message = f"the price of {model} is not known, so the budget cannot limit it"
                raise ModelError(Failure.of(message, "configuration", FailureClass.UNAVAILABLE, HOW_PRICED))
            call = ModelCall(self._work, key, request)
            amount = Money(requests, tokens, cost or 0)
            await self._calls.reserve(self._log, call, amount, self._log.packed(request))
        except ModelError as error:
            refused = ToolError(error.failure.message)
            refused.failure = error.failure
            raise refused from error
        self._open[key] = profile, time.monotonic()
        return key

    def _profile(self, model: str, *, required: bool) -> ModelProfile:
        """Return what is known of a model; nothing of one that this process cannot call, unless that is required."""
        try:
            return self._calls.profile(model)
        except ModelError:
            if required:
                raise
            return ModelProfile(name=model)

    async def settle(self, key: str, usage: Usage | None) -> None:
        """Record what was used of a reservation; None, for unknown, counts as all of it."""
        profile, began_at = self._open.pop(key)
        await self._log.append(
            ModelCallReturned(
                attempt=self._work.attempt.attempt,
                call_id=key,
                model=profile.name,
                usage=None if usage is None else priced(profile, usage, answered=False),
                duration_ms=round((time.monotonic() - began_at) * 1_000),
            )
        )


def _highest_cost(profile: ModelProfile, tokens: int) -> int | None:
    """Return the most that tokens can cost, of the input or of answers; None if the price is not known."""
    costs = (profile.highest_cost(tokens, 0), profile.highest_cost(0, tokens))
    return max((each for each in costs if each is not None), default=None)
