"""The work of a step, built from the state of its run: in the process that drives it, or in another one."""

from __future__ import annotations

from leadhand.core.limits import Money
from leadhand.core.relations import parent_of
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState
from leadhand.core.work_order import Step
from leadhand.core.worker import Worker
from leadhand.flows.seam.run import FunctionRun
from leadhand.ports import Work


def work_of(state: RunState, policy: FunctionRun, key: str) -> Work:
    """Return the work for a step's worker, built from the state. Raises FlowError."""
    step = state.steps[key]
    needs = {needed: data for needed in step.step.needs if (data := state.steps[needed].data) is not None}
    return Work(state=state, key=key, details=policy.details(state, key), brief=policy.brief(state, step), needs=needs)


def is_by_hand(state: RunState, step: Step) -> bool:
    """Whether a person chose what a step works on, so that no approval of the tool for the whole run covers it.

    That is so if its arguments, or those of a step above it, were given with a retry, or if a result that it
    needs was supplied, or rests on such.
    """
    found = [step.step_id]
    for key in found:  # it grows
        each = state.steps[key]
        if each.by_hand or (each.by and each.data is not None):
            return True
        parent = parent_of(each.step)
        before = each.step.needs if parent is None else (*each.step.needs, parent)
        found += [name for name in before if name not in found]
    return False


def kept_after(run: RunDefinition, given: Step, worker: Worker) -> Money:
    """Return what a step of a worker leaves for the closing stages of a run after it: their parts of what is held back,
    which are equal. All of it is left by other work."""
    stages, held_back = run.closing_stages, run.held_back
    if worker.name in run.judging:
        after = 0
    elif worker.name == run.shape:
        after = int(bool(run.judging))
    elif given.judges:
        after = stages - 1
    elif given.final and not worker.delegates:  # a lead leaves what is held back to the answer
        after = stages - 2
    else:
        return held_back
    parts = held_back.tokens * after // stages, held_back.nanousd * after // stages
    return Money(min(after, held_back.requests), *parts)
