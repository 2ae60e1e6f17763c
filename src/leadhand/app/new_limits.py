"""Other limits for a run that exists, and advice which one to raise."""

from __future__ import annotations

from typing import TypedDict

from leadhand.app.arguments import limits
from leadhand.app.settings import held_back, held_back_s
from leadhand.domain.decide.operator_requests import ran_out, turns_of
from leadhand.domain.errors import UsageError
from leadhand.domain.events import LimitsChanged
from leadhand.domain.limits import usd
from leadhand.domain.outcome import next_action
from leadhand.domain.state import RunState


class NewLimits(TypedDict, total=False):
    """Limits of a run that is continued: US dollars, seconds, model calls, tokens. Each is for the run as a whole.

    ``max_turns`` are the model calls of the lead of a research run, or of the worker that leads a run.
    """

    budget: float
    timeout: float
    max_requests: int
    max_tokens: int
    max_turns: int


def limits_changed(state: RunState, given: NewLimits, by: str) -> LimitsChanged:
    """Return the change of a run's limits to those that are given.

    Raises UsageError for a value out of range, and for a limit that is used up already.
    """
    usual, turns = state.definition.limits, dict[str, int]()
    changed = limits(usual, **given).evolve(max_turns=usual.max_turns)  # that one is for roles without their own
    if (most := given.get("max_turns")) is not None:
        role, made = _lead_turns(state)
        if most <= made:
            how = "Pass a larger max_turns: it is for all turns of the lead together."
            raise UsageError(f"the lead has made {made:,} {'turn' if made == 1 else 'turns'} already", how)
        turns = {role: most}
    spent, ceiling = state.spent, changed.ceiling
    used = [
        ("budget", ceiling.nanousd, spent.nanousd, f"${usd(spent.nanousd):g}"),
        ("max_requests", ceiling.requests, spent.requests, f"{spent.requests:,}"),
        ("max_tokens", ceiling.tokens, spent.tokens, f"{spent.tokens:,}"),
    ]
    for name, ceiling_of, so_far, shown in used:
        if name in given and ceiling_of is not None and so_far >= ceiling_of and so_far:
            raise UsageError(
                f"the run has used {shown} already", f"Pass a larger {name}: it is for the run as a whole."
            )
    kept = held_back(changed, shaped=state.definition.shape is not None)
    return LimitsChanged(by=by, limits=changed, held_back=kept, held_back_s=held_back_s(changed), turns=turns)


def _lead_turns(state: RunState) -> tuple[str, int]:
    """Return the role whose turns ``max_turns`` limits, and how many its assignment has made. Raises UsageError."""
    for each in state.assignments.values():
        role = state.role(each.assignment.role)
        if each.assignment.answers and role is not None and role.loop == "turns":
            return role.name, turns_of(each)
    leads = next((role.name for role in state.definition.roles if role.delegates), None)
    if leads is None:
        how = "Leave out max_turns: it is for research, and for runs that a worker leads."
        raise UsageError(f"run {state.run_id} has no lead with a limit of turns", how)
    return leads, 0


def advice_to_raise(state: RunState) -> str:
    """Return how a run that ended because of a limit is continued; "" for another one."""
    failures = (each.failure for each in ran_out(state))
    advice = next((next_action(state, each) for each in failures if each is not None), "")
    return f"To continue it, {advice}: leadhand runs resume {state.run_id}" if advice else ""
