"""Other limits for a run that exists, and advice which one to raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from decimal import ROUND_CEILING, Decimal
from math import ceil
from typing import Any

from leadhand.app.settings import HELD_BACK_SHARE, LONGEST_HELD_BACK_S, reserves
from leadhand.core.decide.requests import ran_out, repeated
from leadhand.core.errors import MAX_TURNS, UsageError
from leadhand.core.errors.advice import Advice
from leadhand.core.events import RunChanged
from leadhand.core.limits import NANO, Limits, Money, schema_of, usd
from leadhand.core.state import ModelTurn, RunState, StepState
from leadhand.core.words.failures import SETTINGS


def limits_changed(state: RunState, given: Limits, by: str) -> RunChanged:
    """Return the change of a run's limits to those that are given, each for the run as a whole.

    ``max_turns`` are those of the lead. Raises UsageError for a limit that is used up already.
    """
    usual, turns = state.definition.limits.changed, dict[str, int]()
    changed = usual.patched(given)
    if "max_turns" in given.model_fields_set:
        worker, made = _lead_turns(state)
        if given.max_turns <= made:
            how = "Pass a larger max_turns: it is for all turns of the lead together."
            raise UsageError(f"the lead has made {made:,} {'turn' if made == 1 else 'turns'} already", how)
        changed, turns = changed.model_copy(update={"max_turns": usual.max_turns}), {worker: given.max_turns}
    spent, ceiling = state.spent, changed.ceiling
    used = [
        ("budget", ceiling.nanousd, spent.nanousd, f"${usd(spent.nanousd):g}"),
        ("max_requests", ceiling.requests, spent.requests, f"{spent.requests:,}"),
        ("max_tokens", ceiling.tokens, spent.tokens, f"{spent.tokens:,}"),
    ]
    for name, ceiling_of, so_far, shown in used:
        if name in given.model_fields_set and ceiling_of is not None and so_far >= ceiling_of and so_far:
            raise UsageError(
                f"the run has used {shown} already", f"Pass a larger {name}: it is for the run as a whole."
            )
    kept = reserves(changed, state.definition.closing_stages)
    return RunChanged(by=by, limits=changed, turns=turns, **kept)


def _lead_turns(state: RunState) -> tuple[str, int]:
    """Return the worker whose turns ``max_turns`` limits, and how many its step has made. Raises UsageError."""
    for each in state.steps.values():
        worker = state.worker(each.step.worker)
        if each.step.final and worker is not None and worker.loop == "turns":
            return worker.name, sum(isinstance(call, ModelTurn) for call in each.calls)
    leads = next((worker.name for worker in state.definition.workers if worker.delegates), None)
    if leads is None:
        how = "Leave out max_turns: it is for research, and for runs that a worker leads."
        raise UsageError(f"run {state.run_id} has no lead with a limit of turns", how)
    return leads, 0


_KINDS = {limit: kind for kind, limit in SETTINGS.items()}
_LEAST_MORE = {"max_turns": 10, "max_requests": 10}
"""How many more are proposed at least: twice a small number is soon used up again."""
_UNPLANNED = 5
"""Steps that a run without any is expected to have."""


def proposed_limits(state: RunState) -> dict[str, float]:
    """Return higher limits, by name, with which a run that a limit ended can finish; {} for another run."""
    if state.finished is None:
        return {}
    ended = _ran_out(state)
    failures = [each.failure for each in ended if each.failure is not None]
    reached: dict[str, float | None] = {}
    for each in ended:
        reached |= _reached(state, each)
    short = Money()
    for each in (failure.short_of for failure in failures if failure.short_of is not None):
        short = Money(*map(max, short.row, each.row))
    wait_s = max((each.retry_after_s or 0 for each in failures), default=0)
    proposed: dict[str, float] = {}
    for name, before in reached.items():
        needed, schema = _needed(state, name, short, wait_s), schema_of(name)
        enough = max(needed, 2 * (before or 0), (before or 0) + _LEAST_MORE.get(name, 0)) or 1
        proposed[name] = min(_rounded_up(ceil(enough) if schema["type"] == "integer" else enough), schema["maximum"])
    return proposed


def _reached(state: RunState, step: StepState) -> dict[str, float | None]:
    """Return the limits of the run that a step reached, by name; None: one that is not set."""
    limits, failure = state.definition.limits, step.failure
    if failure is None:
        return {}
    if failure.type == MAX_TURNS:
        worker = state.worker(step.step.worker)
        return {} if worker is None else {MAX_TURNS: worker.max_turns or limits.max_turns}
    if failure.short_of is not None:
        return {
            SETTINGS[kind]: getattr(limits, SETTINGS[kind]) for kind, short in asdict(failure.short_of).items() if short
        }
    return {"timeout": limits.timeout} if failure.type == "time" else {}


def flags_of(limits: Mapping[str, Any]) -> tuple[str, ...]:
    """Return limits, such as those of :func:`proposed_limits`, as flags of the command line."""
    pairs = ((f"--{name.replace('_', '-')}", f"{most:.15g}") for name, most in limits.items())
    return tuple(word for pair in pairs for word in pair)


def _needed(state: RunState, name: str, short: Money, wait_s: float) -> float:
    """Return the limit that the rest of a run may need: as much for each step as those that are done needed, room
    for the largest calls of the review and the answer, what the limit holds back for them, and the wait asked for."""
    stages, done = state.definition.closing_stages, sum(each.ok for each in state.steps.values())
    counting = [each for each in state.steps.values() if each.counts and each.superseded_by is None]
    left = sum(not each.ok for each in counting) if counting else _UNPLANNED
    if name == "timeout":
        used = (state.last_at or state.created_at) - state.created_at - state.rested
        worked = sum(each.ok for each in counting) or done  # plans, reviews and answers take other times
        need = used.total_seconds() * (1 + left / max(worked, 1)) + wait_s
        return min(need / (1 - 1 / HELD_BACK_SHARE), need + LONGEST_HELD_BACK_S)
    if name not in _KINDS:
        return 0
    spent, call = getattr(state.spent, _KINDS[name]), getattr(short, _KINDS[name])
    need = spent + left * (-(-spent // done) if done else call) + (1 + stages) * call
    enough = (need + stages * (name == "max_requests")) / (1 - stages / (2 * HELD_BACK_SHARE))
    return enough / NANO if name == "budget" else enough


def _rounded_up(value: float) -> int | float:
    """Return the next number with three significant digits."""
    step = Decimal(10) ** (Decimal(str(value)).adjusted() - 2)
    rounded = (Decimal(str(value)) / step).to_integral_value(ROUND_CEILING) * step
    return int(rounded) if rounded == int(rounded) else float(rounded)


def _ran_out(state: RunState) -> list[StepState]:
    """Return what a retry repeats because a limit was used up."""
    return [each for each in (state.steps[key] for key in repeated(state)) if ran_out(each)]


def advice_to_raise(state: RunState) -> str:
    """Return how a run that ended because of a limit is continued; "" for another one."""
    advice = next((each.failure.next_action for each in _ran_out(state) if each.failure is not None), "")
    if not advice:
        return ""
    flags = " ".join(flags_of(proposed_limits(state)))
    what = advice.removesuffix(", and resume the run")
    return Advice("To continue it, {what}: {raise_limits}", what=what, run=state.run_id, flags=flags)


def what_to_raise(state: RunState, given: Limits) -> str:
    """Return how a run continues of which a retry would run out again: with limits other than those ``given``."""
    again = [state.steps[key] for key in repeated(state)]
    if state.definition.shared_budgets or any(each.counts or not ran_out(each) for each in again):
        return ""
    helpful = proposed_limits(state) or given.model_fields_set
    return "" if given.model_fields_set.intersection(helpful) else advice_to_raise(state)
