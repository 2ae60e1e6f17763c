"""The work of a step, built from the state of its run: in the process that drives it, or in another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from leadhand.core.artifact import FileVersion
from leadhand.core.limits import Ceiling, Money
from leadhand.core.relations import ancestors, parent_of, tools_of
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState
from leadhand.core.value import FrozenDict
from leadhand.core.work_order import Step
from leadhand.core.worker import Worker
from leadhand.flows.seam.run import FunctionRun
from leadhand.ports import Caller, Work


def work_of(state: RunState, policy: FunctionRun, key: str) -> Work:
    """Return the work for a step's worker, built from the state."""
    step = state.steps[key]
    given = step.step
    worker = state.worker(given.worker)
    if step.attempt is None or worker is None:
        raise ValueError(f"{key} has no current attempt or no worker")
    details = policy.details(state, key)
    needs = {needed: data for needed in given.needs if (data := state.steps[needed].data) is not None}
    return Work(
        run_id=state.run_id,
        state=state,
        details=details,
        definition=state.definition,
        worker=worker,
        step=given,
        attempt=step.attempt,
        brief=policy.brief(state, step),
        schema=details.schema,
        tools=own_tools(state, given),
        calls=step.calls,
        compacted=step.compacted,
        allowed=approved_tools(state, given),
        scopes=scopes_of(state, given),
        needs=needs,
        code=details.code if worker.loop == "code" else None,
        draft=details.draft,
        deadline=state.deadline,
        todos=state.todos,
        artifacts=_artifacts(state),
        caller=partial(caller_of, state, key),
    )


def caller_of(state: RunState, key: str) -> Caller:
    """Return the worker of a step as the tools that it calls see it."""
    run, step = state.definition, state.steps[key].step
    worker, mine = state.worker(step.worker), own_tools(state, step)
    line = {key, *(each.key for each in ancestors(state, step))}
    return Caller(
        key=key,
        name=step.name,
        tools=tuple(tool for tool in run.tools if tool.name in mine),
        workers={
            each.name: each.description for each in (*run.declared, *(state.workers[name] for name in state.makers))
        },
        made=frozenset(name for name, maker in state.makers.items() if maker in line),
        known_tools=frozenset(tool.name for tool in run.tools),
        reserved_names=frozenset(worker.name for worker in run.workers),
        inputs={worker.name: worker.input for worker in run.declared if worker.input is not None},
        limits={} if worker is None else worker.limits,
    )


def _artifacts(state: RunState) -> Mapping[str, FileVersion]:
    """Return the latest version of each file that the tools of a run can read: its own, and those of earlier runs."""
    own = (versions[-1] for versions in state.artifacts.values())
    return FrozenDict({each.path: each for each in (*state.definition.earlier, *own)})


# --- what a step may do and spend ------------------------------------------------------------------------------------


def own_tools(state: RunState, step: Step) -> frozenset[str]:
    """The tools that the worker of a step may call: of a subtask that names one, that tool alone."""
    allowed = tools_of(state, step)
    named = step.subtask.tool if step.subtask is not None else None
    return allowed if named is None else allowed & {named}


def approved_tools(state: RunState, step: Step) -> frozenset[str]:
    """The tools that a person approved for the whole run, as far as that holds for this step."""
    return frozenset() if state.allowed and is_by_hand(state, step) else frozenset(state.allowed)


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


def scopes_of(state: RunState, step: Step) -> tuple[Ceiling, ...]:
    """Return the ceilings that apply to each model call of a step: that of its worker, and those of its ancestors."""
    found: list[Ceiling] = []
    for each in (step, *(above.step for above in ancestors(state, step))):
        worker = state.worker(each.worker)
        if worker is not None and worker.ceiling is not None:
            found.append(replace(worker.ceiling, scope=each.step_id))
    return tuple(found)


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
