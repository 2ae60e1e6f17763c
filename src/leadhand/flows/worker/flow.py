"""The worker flow: one worker of the project carries the request out, alone or by calling other workers."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from leadhand.core.commands import Command, Finish, IssueStep, Outcome
from leadhand.core.value import compact_json
from leadhand.core.worker import Worker
from leadhand.flows.flow import Flow
from leadhand.flows.run_view import RunView

WORK = "work"
"""The id of the step that answers."""
MOST_SHOWN = 5


class WorkerFlow(Flow):
    """Have a worker of the project carry out the request."""

    name = "worker"
    version = 1
    description = "Have one worker of the project carry out the request; it can call others."

    class Options(Flow.Options):
        """The options of a run that a worker leads."""

        worker: str = Field(min_length=1, description="The name of a worker of the project.")

    def roles(self, options: Flow.Options) -> Sequence[Worker]:
        return []  # the run records the workers of the project

    def next(self, run: RunView[Options]) -> Sequence[Command]:
        if not run.steps:
            name = run.options.worker
            return [IssueStep(id=WORK, worker=name, title=name, input={"request": run.request}, final=True)]
        return [] if run.open else [Finish(failure=run.state.steps[WORK].failure)]

    def outcome(self, run: RunView[Options]) -> Outcome:
        work = run.steps.get(WORK)
        if work is None or not work.ok:
            return Outcome(answer="")
        value = run.state.steps[WORK].value
        return Outcome(answer=work.text if value is None else compact_json(value), uses=[WORK], value=value)
