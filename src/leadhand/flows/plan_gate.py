"""Plans that a person may have to approve: their ids, and why a run ends whose plans were denied."""

from __future__ import annotations

from leadhand.core.errors import Failure, FailureClass

MOST_PLANS = 3
"""How many plans of one run a person is shown at most: each after the first because the one before was denied."""
PLAN_DENIED = "plan_denied"
"""The type of the failure of a run whose plan nobody approved."""
DENIED = """\
A person has denied the plans in `denied`, each for its `reason`. Make another plan, which respects every reason."""
"""Further instructions for a planner whose plan was denied."""


def page_id(number: int, plan: int = 1) -> str:
    """Return the id of the step that writes the ``number``-th page of the ``plan``-th plan, counted from 1."""
    first = "plan" if plan == 1 else f"plan-v{plan}"
    return first if number == 1 else f"{first}-{number}"


def denial(reason: str, by: str, number: int, *, late: bool) -> Failure | None:
    """Return why a run ends after the ``number``-th plan that a person denied; None if another plan is made."""
    if late:
        return _failure("nobody approved the plan in time", "run it again, and approve its plan")
    what, reason = f"{by or 'a person'} denied the plan", reason.strip()
    if not reason:
        return _failure(what, "ask for something else, or deny the plan with a reason to get another one")
    if number < MOST_PLANS:
        return None
    return _failure(f"{what}: {reason} ({number} plans were denied)", "say in the request how to do it")


def made_again() -> Failure:
    """Return why a run ends that has made a plan again which a person had denied."""
    message = "the lead made the plan again that a person had denied"
    return _failure(message, "say in the request what it should do instead")


def _failure(message: str, how: str) -> Failure:
    return Failure.of(message, PLAN_DENIED, FailureClass.REJECTED, how)
