"""What a report has so far: the values that its flow has received, for its workers, its answer and its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from leadhand.core.value import compact_json, is_list, list_of, object_of
from leadhand.flows.passages import Passage, unfenced
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.results import Result

from .draft import Draft
from .shapes import Finding, Plan, Research, Task
from .stages import WRITER, Stage


class Report:
    """The values of one pass of the flow."""

    def __init__(self, run: FlowContext, stages: Sequence[Stage], max_revisions: int) -> None:
        self.run, self.stages, self.max_revisions = run, stages, max_revisions
        self.plan: Any = None
        """A Plan, or what a class of the user gave instead."""
        self.results: dict[str, Result] = {}
        """What the stages before the writer gave, by step, and those that researched."""
        self.found: dict[str, Research] = {}
        """What was found so far: nothing for a question that is being researched, or whose research failed."""
        self.drafts: list[Draft] = []
        start = [stage.name for stage in stages].index(WRITER)
        end = 1 + max(at for at, each in enumerate(stages) if at == start or each.judges)
        self.before, self.writer = stages[:start], stages[start]
        self.rounds, self.after = stages[start + 1 : end], stages[end:]
        """Those that follow the writer in every round, the last of which judges; and those that follow once."""

    @property
    def title(self) -> str:
        return self.plan.title if isinstance(self.plan, Plan) else self.run.request

    @property
    def passages(self) -> dict[str, Passage]:
        """What a draft can cite, as ``p1``, ``p2``, …; the same passage has one number."""
        by_id = {passage.id: passage for item in self.found.values() for passage in item.passages}
        return {f"p{number}": passage for number, passage in enumerate(by_id.values(), start=1)}

    @property
    def missing(self) -> list[str]:
        """The questions for which there is no finding, with the reasons."""
        lacking = (each for each in self.found.values() if each.question and not each.findings)
        return [f"{each.question} ({each.summary or 'no source answers it'})" for each in lacking]

    @property
    def last(self) -> Draft | None:
        """The latest draft that has a text."""
        return next((each for each in reversed(self.drafts) if each.text), None)

    def take(self, stage: Stage, result: Result, draft: Draft | None = None) -> None:
        """Note what a stage gives; nothing if it failed. The research that a class gives replaces what was found
        before."""
        given: dict[str, Any] = (
            object_of(result.value) if stage.agent else {stage.gives[0]: result.value or result.text}
        )
        given = given if result.ok else {}
        if "plan" in given:
            self.plan = Task(plan=given["plan"]).plan
        if research := given.get("research"):
            known = {each.id: each for each in self.passages.values()}
            found = _researched(research, result.key, result.state.by or stage.name, known)
            self.found = found if stage.agent else self.found | found
        if draft is not None:
            draft.take_review(stage.name, result.key, given.get("feedback"))
            draft.text = unfenced(given.get("final_report") or given.get("draft") or draft.text)


def _researched(given: Any, key: str, by: str, known: Mapping[str, Passage]) -> dict[str, Research]:
    """Return what a step found, one entry or several. What has another shape is one passage, and its text the finding.

    A passage can be named by its id if it is ``known``.
    """
    found: dict[str, Research] = {}
    for number, each in enumerate(given if is_list(given) else [given], start=1):
        named = [
            known.get(one, one) if isinstance(one, str) else one for one in list_of(object_of(each).get("passages"))
        ]
        try:
            one = Research.model_validate({**object_of(each), "key": key, "passages": named})
        except ValidationError:
            text = each if isinstance(each, str) else compact_json(each)
            passage = Passage(id=f"{key}.{number}", text=text, title=by, source=key)
            finding = Finding(statement=text, passages=(passage.id,))
            one = Research(key=key, summary=text, findings=(finding,), passages=(passage,))
        found[key if number == 1 else f"{key}.{number}"] = one.evolve(heading=one.heading or one.question or key)
    return found
