"""What a run of the report flow has so far: its plan, its research, and the rounds of its draft.

Everything is computed from the state of the run. A round is one draft with the stages that follow it, up to the
reviewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple

from pydantic import ValidationError

from leadhand.core.judgement import Claim
from leadhand.core.state import RunState, StepState
from leadhand.core.value import list_of, object_of, objects_of, text_of
from leadhand.flows.draft_judging import DraftJudging
from leadhand.flows.passages import Passage
from leadhand.flows.plan_gate import page_id, plan_number
from leadhand.flows.run_view import RunView
from leadhand.verify.claims import claims_of

from .options import PLANNER, RESEARCHER, REVIEWER, WRITER, Options, Stage
from .shapes import Evidence, Finding, Outline


class Item(NamedTuple):
    """What one step found: ``key`` is the step, ``heading`` the section that it is for."""

    key: str
    heading: str
    question: str
    summary: str
    findings: tuple[Finding, ...]
    passages: tuple[Passage, ...]


class Report:
    """A run of the report flow, read from its state."""

    def __init__(self, run: RunView[Options]) -> None:
        self.run = run
        self.state: RunState = run.state
        stages = run.options.stages
        names = [stage.name for stage in stages]
        start = names.index(WRITER)
        judging = [place for place, stage in enumerate(stages) if stage.judges]
        end = names.index(REVIEWER) if REVIEWER in names else max([start, *judging])
        self.before: Sequence[Stage] = stages[:start]
        self.rounds: Sequence[Stage] = stages[start + 1 : end + 1]
        """The stages that follow the writer in every round."""
        self.after: Sequence[Stage] = stages[end + 1 :]
        self.stages: Mapping[str, Stage] = {stage.name: stage for stage in stages}
        self._items: dict[tuple[str, ...], Sequence[Item]] = {}
        self._judgings: dict[int, DraftJudging] = {}

    def of(self, key: str) -> StepState | None:
        return self.state.steps.get(key)

    def done(self, key: str) -> StepState | None:
        """Return a completed step; None for one that is not."""
        found = self.of(key)
        return found if found is not None and found.ok else None

    # --- the plan and the research -----------------------------------------------------------------------------------

    @property
    def _plan_key(self) -> str:
        return page_id(1, plan_number(self.state))

    @property
    def planner(self) -> StepState:
        """The step that made the plan: that of the planner, or of the first stage that gives one."""
        keys = (
            self._plan_key if stage.name == PLANNER else stage.name for stage in self.before if "plan" in stage.gives
        )
        return self.state.steps[next(key for key in keys if self.done(key) is not None)]

    @cached_property
    def plan(self) -> Outline | None:
        """The plan: that of the planner, or of the latest stage after it that gave another."""
        plan = None
        for stage in self.before:
            found = self.done(self._plan_key if stage.name == PLANNER else stage.name)
            given = None if found is None else updates(found).get("plan") if stage.agent else found.value
            if "plan" in stage.gives and given is not None:
                plan = _outline(given) or plan
        return plan

    @property
    def questions(self) -> list[StepState]:
        """The steps of the researchers so far, in order."""
        return in_order(self.state, lambda number: f"research-{number}")

    @cached_property
    def research(self) -> tuple[str, ...]:
        """The completed steps that found something, in order."""
        keys: list[str] = []
        for stage in self.before:
            if "research" in stage.gives:
                parallel = stage.name == RESEARCHER and not stage.agent
                own = [each.key for each in self.questions] if parallel else [stage_key(stage)]
                keys += [key for key in own if self.done(key) is not None]
        return tuple(keys)

    def items(self, keys: Sequence[str]) -> Sequence[Item]:
        """Return what these steps found. What a stage of code gives replaces what was found before it."""
        if tuple(keys) not in self._items:
            self._items[tuple(keys)] = self._found(keys)
        return self._items[tuple(keys)]

    def _found(self, keys: Sequence[str]) -> Sequence[Item]:
        found: list[Item] = []
        for key in keys:
            step = self.state.steps[key]
            stage = self.stages.get(step.step.worker)
            if stage is not None and stage.agent:
                if "research" in (given := updates(step)):
                    found = [_item(key, object_of(each)) for each in list_of(given["research"])]
            else:
                found.append(_item(key, {**step.step.input, **_evidence(step)}))
        return found

    def passages(self, keys: Sequence[str]) -> dict[str, Passage]:
        """Return what a draft on this research can cite, as ``p1``, ``p2``, …; the same passage has one number."""
        by_id = {passage.id: passage for item in self.items(keys) for passage in item.passages}
        return {f"p{number}": passage for number, passage in enumerate(by_id.values(), start=1)}

    @property
    def unanswered(self) -> list[str]:
        """The questions for which there is no finding."""
        plan = self.plan
        found = {item.question for item in self.items(self.research) if item.findings}
        return [section.question for section in plan.sections if section.question not in found] if plan else []

    # --- the rounds --------------------------------------------------------------------------------------------------

    @property
    def drafts(self) -> list[StepState]:
        """The drafts so far, in order."""
        return in_order(self.state, draft_key)

    @property
    def revisions(self) -> int:
        """How often the current report was written again: drafts on other research begin a new report."""
        number = 0
        for draft in reversed(self.drafts):
            if not revises(draft):
                break
            number += 1
        return number

    @cached_property
    def last(self) -> int:
        """The number of the latest draft that has a text, 0 without one."""
        return next((number for number in range(len(self.drafts), 0, -1) if self.text(number)), 0)

    def text(self, number: int, before: str = "") -> str:
        """Return a draft as it is after its round; ``before`` names a stage: as that stage receives it."""
        draft = self.done(draft_key(number))
        if draft is None:
            return ""
        text = text_of(updates(draft).get("draft")) if self.stages[WRITER].agent else _text(draft)
        for stage in (*self.rounds, *self.after):
            if stage.name == before:
                break
            found = self.done(stage_key(stage, number)) if "draft" in stage.gives else None
            if found is not None:
                changed = text_of(updates(found).get("draft")) if stage.agent else _text(found)
                text = changed or text
        return text

    def citable(self, number: int) -> dict[str, Passage]:
        """Return the passages that a draft can cite."""
        draft = self.of(draft_key(number))
        return self.passages(used_research(draft)) if draft is not None else {}

    def claims(self, number: int, before: str = "") -> Sequence[Claim]:
        """Return the claims of a draft; ``before`` names a stage: as that stage receives it."""
        return _claims_of(self.text(number, before))

    def judging(self, number: int) -> DraftJudging:
        """Return what a judge says of the claims of a draft, and of those that it revises."""
        if number not in self._judgings:
            chain = [number]
            while (draft := self.of(draft_key(chain[-1]))) is not None and revises(draft):
                chain.append(draft_number(revises(draft)))
            texts = [(each, self.text(each)) for each in reversed(chain)]
            self._judgings[number] = DraftJudging(self.state, texts, self.citable(number))
        return self._judgings[number]


@lru_cache(maxsize=16)
def _claims_of(text: str) -> Sequence[Claim]:
    return tuple(claims_of(text))


def in_order(state: RunState, key: Callable[[int], str]) -> list[StepState]:
    """Return the steps with numbered keys, from 1 up to the first number that has none."""
    found = (state.steps.get(key(number)) for number in count(1))
    return list(iter(lambda: next(found), None))


# --- names of steps --------------------------------------------------------------------------------------------


def draft_key(number: int) -> str:
    return f"draft-{number}"


def draft_number(key: str) -> int:
    """Return the number of a draft, from its key."""
    return int(key.rpartition("-")[2])


def review_key(number: int) -> str:
    return f"review-{number}"


def stage_key(stage: Stage, number: int = 0) -> str:
    """Return the step of a stage that is carried out by one: of a round, with the number of its draft."""
    if stage.is_built_in:
        name = {PLANNER: "plan", RESEARCHER: "research", WRITER: "draft", REVIEWER: "review"}[stage.name]
        return f"{name}-{number}" if number else name
    return f"{stage.name}.{number}" if number else stage.name


def revises(draft: StepState) -> str:
    """Return the draft that a draft revises; "" for one that does not revise one."""
    return text_of(draft.step.input.get("revises"))


def used_research(draft: StepState) -> tuple[str, ...]:
    """Return the steps whose findings a draft uses."""
    return tuple(draft.step.input.get("research", ()))


# --- values ----------------------------------------------------------------------------------------------------------


def updates(step: StepState) -> dict[str, Any]:
    """Return the fields of the task that a stage of code gives."""
    return object_of(object_of(step.value).get("updates"))


def _text(step: StepState) -> str:
    return step.data.summary if step.data is not None else ""


def _outline(value: Any) -> Outline | None:
    try:
        return Outline.model_validate(value)
    except ValidationError:
        return None


def _evidence(step: StepState) -> dict[str, Any]:
    """Return what a researcher found; of a result that a person supplied, its text as the only passage."""
    if step.value is not None or not step.by:
        return object_of(step.value)
    text, by = _text(step), f"supplied by {step.by}"
    passage = {"id": f"{step.key}.1", "text": text, "title": by, "source": step.key}
    return {"summary": text, "findings": [{"statement": text, "passages": [passage["id"]]}], "passages": [passage]}


def _item(key: str, given: dict[str, Any]) -> Item:
    """Return one entry of the research; what does not have the shape of findings is left out."""
    heading, question = text_of(given.get("heading")), text_of(given.get("question"))
    findings = list(_valid(Finding, given.get("findings")))
    passages = list(_valid(Passage, given.get("passages")))
    found = Evidence(summary=text_of(given.get("summary")), findings=tuple(findings), passages=tuple(passages))
    return Item(key, heading or question or key, question, found.summary, found.findings, found.passages)


def _valid(shape: Any, values: Any) -> Iterator[Any]:
    for value in objects_of(list_of(values)):
        try:
            yield shape.model_validate(value)
        except ValidationError:
            continue
