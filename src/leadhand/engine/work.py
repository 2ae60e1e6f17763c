"""The work of a step, built from the state of its run: in the process that drives it, or in another one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from leadhand.core.commands import Policy
from leadhand.core.frozen import FrozenDict
from leadhand.core.rights import approved_tools, own_tools, scopes_of
from leadhand.core.state import ArtifactVersion, RunState
from leadhand.ports import Caller, Work


def work_of(state: RunState, policy: Policy, key: str) -> Work:
    """Return the work for a step's worker, built from the state."""
    step = state.steps[key]
    given = step.step
    role = state.worker(given.worker)
    if step.attempt is None or role is None:
        raise ValueError(f"{key} has no current attempt or no role")
    needs = {needed: data for needed in given.needs if (data := state.steps[needed].data) is not None}
    return Work(
        run_id=state.run_id,
        state=state,
        policy=policy,
        definition=state.definition,
        worker=role,
        step=given,
        attempt=step.attempt,
        brief=policy.brief(state, step),
        schema=policy.schema(state, step),
        tools=own_tools(state, given),
        calls=step.calls,
        compacted=step.compacted,
        allowed=approved_tools(state, given),
        scopes=scopes_of(state, given),
        needs=needs,
        code=policy.code(state, step),
        draft=policy.draft(state, step),
        deadline=state.deadline,
        todos=state.todos,
        artifacts=_artifacts(state),
        caller=partial(caller_of, state, key),
    )


def caller_of(state: RunState, key: str) -> Caller:
    """Return the worker of a step as the tools that it calls see it."""
    run, step = state.definition, state.steps[key].step
    role, mine = state.worker(step.worker), own_tools(state, step)
    return Caller(
        name=step.name,
        tools=tuple(tool for tool in run.tools if tool.name in mine),
        workers={role.name: role.description for role in (*run.declared, *state.workers.values())},
        known_tools=frozenset(tool.name for tool in run.tools),
        reserved_names=frozenset(role.name for role in run.workers),
        inputs={role.name: role.input for role in run.declared if role.input is not None},
        nested_workers=run.nested_workers,
        limits={} if role is None else role.limits,
    )


def _artifacts(state: RunState) -> Mapping[str, ArtifactVersion]:
    """Return the latest version of each file that the tools of a run can read: its own, and those of earlier runs."""
    earlier = {
        each.path: ArtifactVersion(each.digest, each.size, each.media_type, "", each.at, each.run_id)
        for each in state.definition.earlier
    }
    return FrozenDict(earlier | {path: versions[-1] for path, versions in state.artifacts.items()})
