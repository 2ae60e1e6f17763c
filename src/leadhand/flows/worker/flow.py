"""The worker flow: one worker of the project carries the request out, alone or by calling other workers."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from leadhand.domain.commands import Assign, Command, Finish, Outcome
from leadhand.domain.errors import FailureClass
from leadhand.domain.explaining import Evidence
from leadhand.domain.run import Gap, Role
from leadhand.domain.value import Json, compact_json, is_object, texts_of
from leadhand.flows.flow import Flow, Result
from leadhand.flows.run_view import AssignmentView, RunView

WORK = "work"
"""The id of the assignment that answers."""
MOST_SHOWN = 5


class WorkerFlow(Flow):
    """Have a worker of the project carry out the request."""

    name = "worker"
    version = 1
    description = "Have one worker of the project carry out the request; it can call others."

    class Options(Flow.Options):
        """The options of a run that a worker leads."""

        worker: str = Field(min_length=1, description="The name of a worker of the project.")

    def roles(self, options: Flow.Options) -> Sequence[Role]:
        return []  # the run records the workers of the project

    def next(self, run: RunView[Options]) -> Sequence[Command]:
        if not run.assignments:
            name = run.options.worker
            return [Assign(id=WORK, role=name, title=name, input={"request": run.request}, answers=True)]
        return [] if run.open else [Finish(failure=run.state.assignments[WORK].failure)]

    def accepted(self, run: RunView[Options], assignment: AssignmentView, result: Result) -> Json:
        """Return the answer with what no call of the worker explains, so that the outcome can name it."""
        if assignment.id != WORK or (is_object(result.value) and _is_recorded(result.value)):
            return result.value
        text = result.text if result.value is None else compact_json(result.value)
        calls = [[call.args, call.summary, call.raw, call.asks] for call in result.calls]
        evidence = Evidence([run.request, *calls], run.state.created_at.date())
        doubts = [*evidence.unexplained(text), *evidence.unknown_names(text)] if result.calls else []
        return {"value": result.value, "doubts": doubts[:MOST_SHOWN], "calls": len(result.calls)}

    def outcome(self, run: RunView[Options]) -> Outcome:
        work = run.assignments.get(WORK)
        if work is None or not work.ok:
            return Outcome(answer="")
        recorded = work.value if is_object(work.value) else {}
        value = recorded.get("value")
        gaps: list[Gap] = []
        if doubts := texts_of(recorded.get("doubts")):
            gaps.append(_gap(f"the answer states {', '.join(doubts)}, and no call of {work.title} returned that"))
        elif not recorded.get("calls"):
            gaps.append(_gap("the answer rests on no source: the worker called no tool"))
        answer = work.text if value is None else compact_json(value)
        return Outcome(answer=answer, uses=[WORK], gaps=gaps, value=value)


def _is_recorded(value: dict[str, Json]) -> bool:
    return value.keys() == {"value", "doubts", "calls"}


def _gap(reason: str) -> Gap:
    how = "check it against a source, or give the worker a tool that finds it"
    return Gap(name="the answer", class_=FailureClass.INSUFFICIENT, reason=reason, next_action=how)
