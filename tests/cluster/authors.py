"""A flow with a single step, which writes the answer: only hosts that have this file can carry it out."""

from __future__ import annotations

from typing import Any

from leadhand.flows import Finish, Flow, IssueStep, Outcome, RunView, Worker


class Author(Flow):
    """Write one text."""

    name = "author"

    def roles(self, options: Flow.Options) -> list[Worker]:
        return [Worker(name="compose", instructions="Write.")]

    def next(self, run: RunView[Flow.Options]) -> list[Any]:
        if not run.steps:
            return [IssueStep(id="text", worker="compose", input={"request": run.request}, final=True)]
        return [] if run.open else [Finish()]

    def outcome(self, run: RunView[Flow.Options]) -> Outcome:
        (text,) = run.steps.values()
        return Outcome(answer=text.text or "", uses=["text"] if text.ok else [])
