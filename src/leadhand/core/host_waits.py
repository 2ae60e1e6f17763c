"""Why a run, or steps of it, wait for a host: computed from what the hosts say of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from datetime import datetime

from leadhand.core.hosts import HostLine
from leadhand.core.lifecycle import AttemptStatus
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState


def driver_wait(run: RunDefinition, tools: Set[str], hosts: Iterable[HostLine], refused: str = "") -> str:
    """Return why no process drives a run that needs these tools; ``refused`` is what a host said that refused it."""
    takers = [line for line in hosts if line.takes_work]
    if not takers:
        return "waiting for a host: start one with `leadhand work` or `leadhand serve`"
    knowing = [line for line in takers if line.knows(run.flow, run.flow_version)]
    if not knowing:
        return f"waiting for a host that knows the flow `{run.flow}`@{run.flow_version}"
    if any(tools <= {*line.tools} for line in knowing):
        return f"no host can drive it: {refused}" if refused else "waiting in the queue"
    nowhere = sorted(tools - {name for line in knowing for name in line.tools})
    if nowhere:
        return f"waiting for a host that has the tool{'s' * (len(nowhere) > 1)} {_quoted(nowhere)}"
    return f"waiting for a host that has all of the tools {_quoted(sorted(tools))}"


def orphan_wait(run_id: str, refused: str = "") -> str:
    """Return why no process of this machine drives a detached run; ``refused`` is what a server said that tried to."""
    if refused:
        return f"a server could not resume it: {refused}"
    return f"its process died: start `leadhand serve`, or resume it with `leadhand runs resume {run_id}`"


def steps_wait(state: RunState, owner: str, hosts: Sequence[HostLine], now: datetime) -> str:
    """Return why steps of a run that ``owner`` drives have not begun; "" if that is unknown."""
    attempts = [each for key in state.live if (each := state.steps[key].attempt) is not None]
    waiting = [
        each
        for each in attempts
        if each.status is AttemptStatus.SCHEDULED and (each.not_before is None or each.not_before <= now)
    ]
    if not waiting:
        return ""
    counted = f"{len(waiting):,} step{'s wait' if len(waiting) > 1 else ' waits'}"
    run, most = state.definition, state.definition.limits.max_workers
    if sum(each.status is AttemptStatus.RUNNING for each in attempts) >= most:
        return f"{counted}: the run allows {most:,} at once (--max-workers)"
    tools = frozenset(tool.name for tool in run.tools)
    able = [
        line
        for line in hosts
        if line.host == owner or (line.takes_work and line.has(run.flow, run.flow_version, tools))
    ]
    if not able or any(line.running < line.concurrency for line in able):
        return ""
    return f"{counted}: {f'all {len(able)} hosts are' if len(able) > 1 else 'the only host that can run it is'} busy"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
