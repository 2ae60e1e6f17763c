"""What people are advised to do about failures."""

import re
from typing import TYPE_CHECKING

from .errors import BudgetRefused, Failure
from .limits import NANO, NOTHING, Ceiling, Money
from .worker import Worker

if TYPE_CHECKING:
    from .events import ModelCallBegan

_FLAGS = {"plan": "--lead-model", "compose": "--lead-model", "review": "--review-model", "work": "--worker-model"}
_ANY_FLAG = re.compile(r"\(--(?:lead-|worker-)?model\)")


def advised(failure: Failure, worker: Worker) -> Failure:
    """Return the failure of a worker; where its advice is another model, it says how the worker gets one."""
    where = f"in a follow-up or a new run: {_FLAGS.get(worker.model_role, '--model')}"
    where = f"the worker {worker.name} uses {worker.model}" if worker.model else where
    return failure.evolve(next_action=_ANY_FLAG.sub(lambda _: f"({where})", failure.next_action))


_OPTIONS = ("--max-requests", "--max-tokens", "--budget")
"""The options that set the limits of a run, in the order of their amounts."""


def refused(
    event: "ModelCallBegan",
    scope: str,
    left: Ceiling,
    kept: Money = NOTHING,
    *,
    shared: bool = False,
    hopeless: bool = False,
) -> BudgetRefused:
    """Return the error of a reservation that exceeds what is left of a scope, or of the run if ``scope`` is ""."""
    needed = event.reserved.counted()
    over = [rest is not None and amount > rest for amount, rest in zip(needed.row, left.row, strict=True)]
    owner = f"the budget of {scope}" if shared else f"the step {scope}" if scope else "the run"
    lacking = " and ".join(words for words, lacks in zip(_lacking(needed, left, owner), over, strict=True) if lacks)
    if shared:
        how = "retry the run on the next day (UTC) if the budget is for a day; otherwise fork it under a higher one"
        return BudgetRefused(lacking, how, scope=scope, shared=True, hopeless=hopeless)
    if scope:
        return BudgetRefused(lacking, "raise the ceiling of that step or of its worker", scope=scope)
    steps = "reviews and the answer" if event.after >= event.stages else "the steps after it"
    beside = f", besides what is kept for {steps}" if any(kept.row) else ""
    how = " and ".join(option for option, lacks in zip(_OPTIONS, over, strict=True) if lacks)
    short_of = Money(*(amount if lacks else 0 for amount, lacks in zip(needed.row, over, strict=True)))
    return BudgetRefused(f"{lacking}{beside}", f"raise {how}, and resume the run", short_of=short_of)


def _lacking(needed: Money, left: Ceiling, owner: str) -> tuple[str, str, str]:
    """Say of each kind what is left, and what the next call may need of it."""
    tokens, nanousd = max(left.tokens or 0, 0), max(left.nanousd or 0, 0)
    return (
        f"{owner} has no model calls left",
        f"the next model call may need {needed.tokens:,} tokens, and {owner} has {tokens:,} left",
        f"the next model call may cost {_dollars(needed.nanousd)}, and {owner} has {_dollars(nanousd)} left",
    )


def _dollars(nanousd: int) -> str:
    return f"${nanousd / NANO:.6f}".rstrip("0").rstrip(".")
