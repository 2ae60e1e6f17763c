"""What a report has so far: the values that its flow has received, for its workers, its answer and its document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from leadhand.core.value import compact_json, is_list, object_of
from leadhand.flows.passages import Passage, unfenced
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.results import Result

from .draft import Draft
from .shapes import Finding, Plan, Research, ResearchedQuestion, Task
from .stages import WRITER, Stage


class Report:
    """The values of one pass of the flow."""

    def __init__(self, run: FlowContext, stages: Sequence[Stage], max_revisions: int) -> None:
        self.run, self.stages, self.max_revisions = run, stages, max_revisions
        self.plan: Any = None
        """A Plan, or what a class of the user gave instead."""
        self.results: dict[str, Result] = {}
        """What the stages before the writer gave, by step, and those that researched."""
        self.found: dict[str, ResearchedQuestion] = {}
        """What was found so far: nothing for a question that is being researched, or whose research failed."""
        self._known: dict[str, Passage] = {}
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
        ids = dict.fromkeys(id_ for item in self.found.values() for id_ in item.passages)
        return {f"p{number}": self._known[id_] for number, id_ in enumerate(ids, start=1)}

    def cited(self, finding: Finding) -> list[str]:
        """Return the names of the passages that a finding names."""
        names = {passage.id: name for name, passage in self.passages.items()}
        return [names[id_] for id_ in finding.passages if id_ in names]

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
            found = self._researched(research, result.key, result.state.by or stage.name)
            self.found = found if stage.agent else self.found | found
        if draft is not None:
            draft.take_review(stage.name, result.key, given.get("feedback"))
            draft.text = unfenced(given.get("final_report") or given.get("draft") or draft.text)

    def _researched(self, given: Any, key: str, by: str) -> dict[str, ResearchedQuestion]:
        """Return what a step found, one entry or several. What has another shape is one passage, and its text the
        finding."""
        found: dict[str, ResearchedQuestion] = {}
        for number, each in enumerate(given if is_list(given) else [given], start=1):
            try:
                one = Research.model_validate(each)
            except ValidationError:
                text = each if isinstance(each, str) else compact_json(each)
                passage = Passage(id=f"{key}.{number}", text=text, title=by, source=key)
                finding = Finding(statement=text, passages=(passage.id,))
                one = Research(summary=text, findings=(finding,), passages=(passage,))
            self._known |= {each.id: each for each in one.passages if isinstance(each, Passage)}
            named = (each if isinstance(each, str) else each.id for each in one.passages)
            about = {"key": key, "heading": one.heading or one.question or key}
            about |= {"passages": [id_ for id_ in named if id_ in self._known]}
            name = key if number == 1 else f"{key}.{number}"
            found[name] = ResearchedQuestion.model_validate({**dict(one), **about})
        return found
