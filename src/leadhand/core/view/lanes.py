"""Steps in a view: their titles, their statuses, and their counts by status."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from leadhand.core import events as ev
from leadhand.core.ids import step_of
from leadhand.core.lifecycle import AttemptStatus
from leadhand.core.relations import early, parent_of
from leadhand.core.run import ENDED
from leadhand.core.state import StepState
from leadhand.core.work_order import Step

from .patches import Draft, differing
from .texts import arguments, cut, failure_part, label, line


def add_lane(draft: Draft, key: str) -> None:
    """Add a step to the view."""
    state = draft.state
    found = state.steps[key]
    given = found.step
    subtask, parent = given.subtask, parent_of(given)
    name, args = _name(given), args_of(given)
    shown = _label(name, args) if subtask is not None or parent else name
    tool = subtask.tool if subtask is not None else None
    retries = next((spec.retries for spec in state.definition.tools if spec.name == tool), None)
    lane = draft.lane(key)
    lane.update(
        {
            "name": cut(name),
            "label": f"{shown} (for {_name(state.steps[parent].step)})" if parent else shown,
            "worker": given.worker,
            "position": found.position,
            "counts": given.counts,
            "args": arguments(args),
            "needs": list(given.needs),
            "note": "",
            "tries": 1 + (state.definition.limits.max_retries if retries is None else retries),
            "seq": draft.seq,
            "attempts": {},
        }
    )
    order = found.order or given.input.get("work_order_id")
    repairs = subtask.repairs_subtask if subtask is not None else None
    optional = {"order": order if isinstance(order, str) else None, "tool": tool, "parent": parent, "repairs": repairs}
    lane.update({field: value for field, value in optional.items() if value})
    draft.touched[key] = None


def show_call(draft: Draft, key: str, tool: str, args: Mapping[str, Any]) -> None:
    """Name a subtask by the arguments with which its tool is called; its order has the planned ones."""
    lane: Any = draft.shown["steps"].get(key)
    if lane is not None and lane.get("tool") == tool and lane["label"] != (named := _label(lane["name"], args)):
        draft.lane(key)["label"] = named


def _label(name: str, args: Mapping[str, Any]) -> str:
    return label(name, {argument: value for argument, value in args.items() if value != name})  # it may be repeated


def args_of(given: Step) -> Mapping[str, Any]:
    """Return the input of work. The input of plans, reviews and compositions is omitted: the view has it elsewhere."""
    if given.subtask is not None:
        return given.subtask.args
    return given.input if given.counts or given.parent is not None else {}


_TITLES = {"plan": "Plan", "review": "Review", "compose": "Write the answer", "shape": "Shape the answer"}


def _name(given: Step) -> str:
    """Return a name for people: ``Review wo-001``, with the number of the part if the work was divided."""
    if given.subtask is not None:
        return given.subtask.name
    key, role = given.step_id, given.worker
    if given.title or role not in _TITLES:
        return given.name
    order = given.input.get("work_order_id")
    of = f" {order}" if isinstance(order, str) else ""
    part = key.removeprefix(f"{role}-{order}-") if of else key.removeprefix(role)
    whole = part.removeprefix("-") in ("", "0", "whole", key) or (not of and part.isdigit())
    return f"{_TITLES[role]}{of}" + ("" if whole else f" · part {part.removeprefix('-')}")


# --- statuses and counts ---------------------------------------------------------------------------------------------


class _Tally:
    """Count the steps that entered or left a status."""

    def __init__(self) -> None:
        self.statuses = Counter[str]()
        self.current = Counter[str]()
        self.orders = defaultdict[str, Counter[str]](Counter)

    def add(self, lane: dict[str, Any], by: int) -> None:
        """Add a step to the counts (1), or remove it (-1)."""
        status = lane["status"]
        self.statuses[status] += by
        if status in _FINAL and "order" in lane:
            self.orders[lane["order"]][status] += by
        if lane.get("superseded_by") is not None:
            return
        self.current["total"] += by
        if status in _FINAL:
            self.current[status] += by
            # A step that another's failure blocked is repeated with that one.
            failure = lane.get("failure")
            if status != "completed" and (failure is None or failure["type"] != "needs_failed"):
                self.current["retriable"] += by


_FINAL = frozenset({"completed", "failed", "dropped"})


def show_lanes(draft: Draft) -> None:
    """Update the changed steps from the state, and count them."""
    tally = _Tally()
    for key in draft.touched:
        shown: Any = draft.shown["steps"].get(key)
        before: dict[str, Any] = shown or {}
        found = draft.state.steps[key]
        verdict = found.verdict
        values: dict[str, Any] = {
            "status": _status(draft, key, found),
            "failure": failure_part(found.failure),
            "verdict": {"verdict": verdict.verdict.value, "reason": line(verdict.reason)} if verdict else None,
            "superseded_by": found.superseded_by,
            "by": found.by or None,
        }
        different = differing(before, values)
        if not different:
            continue
        draft.lane(key).update(different)
        static = before or draft.lane(key)
        after = {**values, "order": static["order"]} if "order" in static else values
        if static["counts"]:
            if before:
                tally.add(before, -1)
            tally.add(after, 1)
        elif "parent" not in static:
            _show_phase(draft, key, static["worker"], before.get("status"), values["status"])
    _show_counts(draft, tally)


def _status(draft: Draft, key: str, found: StepState) -> str:
    """Return the status of a step: from the state if it is settled, else from its latest attempt."""
    if found.closed:
        return found.status.value
    if draft.state.status in ENDED:
        return "dropped"
    number = draft.last(key)
    now = draft.attempt_now(key, number) if number is not None else None
    match now["outcome"] if now is not None else None:
        case "parked":
            return "waiting"
        case "running":
            return "running"
        case "scheduled":
            before = draft.attempt_now(key, str(int(number or 1) - 1))
            return "retrying" if before is not None and before["outcome"] in ("failed", "lost") else "pending"
        case "ok" | "failed" | "lost":
            if found.attempt is not None and found.attempt.status is AttemptStatus.RETURNED:
                return "running"  # it is not judged yet
            return "retrying" if found.failure is not None else "pending"
        case _:
            return "pending"


def _show_counts(draft: Draft, tally: _Tally) -> None:
    counts: Any = draft.shown["counts"]
    for name, by in tally.statuses.items():
        if by:
            draft.part("counts")[name] = counts[name] + by
    for name, by in tally.current.items():
        if by:
            draft.part("counts").setdefault("current", {})[name] = counts["current"][name] + by
    for order, finals in tally.orders.items():
        shown: Any = draft.shown["orders"].get(order)
        for name, by in finals.items():
            if by:
                draft.part("orders").setdefault(order, {})[name] = (shown[name] if shown is not None else 0) + by


_PHASES = {
    "plan": "Planning",
    "planner": "Planning",
    "lead": "Deciding what to do next",
    "researcher": "Researching",
    "review": "Reviewing",
    "reviewer": "Reviewing",
    "writer": "Writing",
    "compose": "Writing the answer",
    "shape": "Shaping the answer",
    "judge": "Judging the answer",
    "confirm": "Checking what is missing",
}


def _show_phase(draft: Draft, key: str, role: str, before: str | None, after: str) -> None:
    """Return what the lead is doing: the role of its running steps."""
    shown = _phase(draft)
    if before != "running" and after == "running":
        if shown is not None and shown["worker"] == role:
            draft.part("run")["phase"] = {**shown, "running": shown["running"] + 1}
        else:
            phase = {"step": key, "worker": role, "text": "", "since": draft.at, "running": 1}
            count = sum(1 for _ in early(draft.state)) if role == "plan" else 0
            _change_phase(draft, key, {**phase, "begun": count} if count else phase)
    elif before == "running" and after != "running" and shown is not None and shown["worker"] == role:
        left = shown["running"] - 1
        draft.part("run")["phase"] = {**shown, "running": left} if left else None


def _phase(draft: Draft) -> dict[str, Any] | None:
    run: dict[str, Any] = {**draft.shown["run"], **draft.patch.get("run", {})}
    return run.get("phase")


def phase_of(draft: Draft, event: ev.AnyEvent) -> None:
    """Show how far the lead has come with what it is doing, after an event of the log."""
    shown = _phase(draft)
    if shown is None:
        return
    key = step_of(event.subject)
    match event.type:
        case "element_written" if key == shown["step"]:
            first = draft.state.steps[key].step.input.get("first", 0)
            _change_phase(draft, key, {**shown, "written": first + event.index + 1})
        case "step_issued" if shown["worker"] == "plan" and event.step.subtask is not None:
            _change_phase(draft, shown["step"], {**shown, "begun": shown.get("begun", 0) + 1})
        case "note_emitted" if event.refused and key == shown["step"]:
            _change_phase(draft, key, {**shown, "again": line(event.message)})
        case _:
            pass


def _change_phase(draft: Draft, key: str, phase: dict[str, Any]) -> None:
    """Show another phase, with its words."""
    role: str = phase["worker"]
    text = _PHASES.get(role, role[:1].upper() + role[1:])
    if role == "review" and draft.state.steps[key].step.input.get("compose"):
        text += " and writing the answer"
    written, begun_ = phase.get("written", 0), phase.get("begun", 0)
    text += f" · {written:,} {'subtask' if written == 1 else 'subtasks'} written" if written else ""
    text += f" · {begun_:,} begun" if begun_ else ""
    text += f" · asked again: {phase['again']}" if "again" in phase else ""
    draft.part("run")["phase"] = {**phase, "text": text}
