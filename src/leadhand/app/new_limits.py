"""Other limits for a run that exists, and advice which one to raise."""

from __future__ import annotations

import re
from typing import TypedDict

from leadhand.app.arguments import RANGES, limits
from leadhand.app.settings import reserves
from leadhand.domain.decide.operator_requests import ran_out, retriable, turns_of
from leadhand.domain.errors import RAN_OUT, Failure, UsageError
from leadhand.domain.events import LimitsChanged
from leadhand.domain.limits import usd
from leadhand.domain.outcome import next_action
from leadhand.domain.state import RunState
from leadhand.domain.text import check_names


class NewLimits(TypedDict, total=False):
    """Limits of a run that is continued: US dollars, seconds, model calls, tokens. Each is for the run as a whole.

    ``max_turns`` are the model calls of the lead of a research run, or of the worker that leads a run.
    """

    budget: float
    timeout: float
    max_requests: int
    max_tokens: int
    max_turns: int


def known_limits(given: NewLimits) -> NewLimits:
    """Return ``given`` if it has only limits that a run can be given later; otherwise raise UsageError."""
    check_names("a run that continues", given, NewLimits.__annotations__)
    return given


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
    kept = reserves(changed, shaped=state.definition.shape is not None)
    return LimitsChanged(by=by, limits=changed, turns=turns, **kept)


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


_LEAST_MORE = {"max_turns": 10, "max_requests": 10}
"""How many more are advised at least: twice a small number is soon used up again."""
_RAISED = re.compile(r"(--[a-z-]+) \(it was ([\d,.]+)\)")


def flags_to_raise(state: RunState) -> tuple[str, ...]:
    """Return the flags, with higher values, that continue a run which ended because of a limit; () for another one."""
    if state.finished is None:
        return ()
    again = (state.assignments[key].failure for key in retriable(state))
    found: dict[str, str] = {}
    for failure in (*_ran_out(state), *(each for each in again if each is not None and each.type in RAN_OUT)):
        for flag, was in _RAISED.findall(next_action(state, failure)):
            name, before = flag.removeprefix("--").replace("-", "_"), float(was.replace(",", ""))
            if name in NewLimits.__annotations__:
                more = max(2 * before, before + _LEAST_MORE.get(name, 0)) or 1
                found[flag] = f"{min(more, RANGES[name][1]):.15g}"
    return tuple(word for pair in found.items() for word in pair)


def _ran_out(state: RunState) -> list[Failure]:
    return [each.failure for each in ran_out(state) if each.failure is not None]


def advice_to_raise(state: RunState) -> str:
    """Return how a run that ended because of a limit is continued; "" for another one."""
    advice = next((next_action(state, failure) for failure in _ran_out(state)), "")
    command = " ".join(("leadhand runs resume", state.run_id, *flags_to_raise(state)))
    return f"To continue it, {advice.removesuffix(', and resume the run')}: {command}" if advice else ""
