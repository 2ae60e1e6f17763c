"""The options of the report flow: revisions, the review, and its stages, changed, added or switched off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from leadhand.core.errors import UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import Value, unset
from leadhand.flows.flow import Flow

PLANNER, RESEARCHER, WRITER, REVIEWER = "planner", "researcher", "writer", "reviewer"

TaskField = Literal["plan", "research", "draft", "feedback", "final_report"]
"""The fields of a report's task that stages write."""

GIVES: Mapping[str, TaskField] = {PLANNER: "plan", RESEARCHER: "research", WRITER: "draft", REVIEWER: "feedback"}
"""The built-in stages, in order, and what each adds to the task."""
STEPS: Mapping[str, str] = {PLANNER: "plan", RESEARCHER: "research", WRITER: "draft", REVIEWER: "review"}
"""The names of the steps of the built-in stages."""
DECLARED_GIVES: tuple[TaskField, ...] = ("feedback", "draft", "research")
"""What a stage without code can give: a verdict with findings, another draft, or more research."""


class Stage(Value):
    """One stage: a built-in one, or one that a user adds. Every field but ``name`` has a default.

    ``off`` leaves the stage out. An added stage stands ``after`` or ``before`` another one, by default after the
    writer. ``agent`` is the name of the Python class that carries the stage out; without it, a model does, with
    ``instructions``, ``model`` and ``tools``: those of a ``worker`` of the project, if one is named. ``needs`` and
    ``gives`` are fields of the task. An added stage gives "feedback", a verdict with findings, unless it says
    otherwise; one without a class gives one of :data:`DECLARED_GIVES`.
    ``max_turns``, ``max_requests``, ``max_tokens`` and ``budget`` limit each of its steps.
    """

    name: str = Field(min_length=1, max_length=60, pattern=r"^[a-z0-9][a-z0-9_\-]*$")
    off: bool = False
    after: str | None = None
    before: str | None = None
    agent: str | None = None
    worker: str | None = Field(default=None, exclude_if=unset)
    instructions: str | None = Field(default=None, min_length=1)
    model: str | None = None
    tools: tuple[str, ...] | None = None
    needs: tuple[TaskField, ...] = ()
    gives: tuple[TaskField, ...] = ()
    max_turns: int | None = Field(default=None, ge=1)
    max_requests: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    budget: float | None = Field(default=None, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given  # a stage that is known by its name

    @property
    def is_built_in(self) -> bool:
        """Whether the stage is one of the four, also if a class of the user carries it out."""
        return self.name in GIVES

    @property
    def judges(self) -> bool:
        """Whether the stage gives a verdict on the draft."""
        return "feedback" in self.gives

    def key(self, number: int = 0) -> str:
        """Return the name of the step of the stage: of a round, with the number of its draft."""
        name = STEPS.get(self.name, self.name)
        return f"{name}{'-' if self.is_built_in else '.'}{number}" if number else name


class Options(Flow.Options):
    """The options of a report run."""

    max_revisions: int = Field(default=1, ge=0, le=10)
    """How often a draft is written again because of a verdict."""
    review: bool = True
    agents: tuple[Stage, ...] = ()
    """Stages to change, to add, or to leave out (``{"name": "reviewer", "off": true}``)."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that run, in order, with everything that they need and give filled in.

        Those before the writer run once; those from the writer to the reviewer run in every round; those after the
        reviewer run once, when no further revision follows.
        """
        return ordered(self.agents, review=self.review)

    @model_validator(mode="after")
    def _check_stages(self) -> Options:
        _ = self.stages
        return self


def ordered(changes: Sequence[Stage], *, review: bool = True) -> tuple[Stage, ...]:
    """Return the built-in stages with these changes, in order. Raises UsageError if they do not fit together."""
    every = {name: _complete(Stage(name=name)) for name in GIVES}
    names = [each.name for each in changes]
    for each in changes:
        if names.count(each.name) > 1:
            raise UsageError(f"two stages are named {each.name}", "Give each stage a name of its own.")
        for problem in _problems(each):
            raise UsageError(*problem)
        every[each.name] = _complete(each)

    def placed(name: str) -> Iterator[Stage]:
        """Yield a stage with those that stand before and after it."""
        for each in every.values():
            if each.before == name:
                yield from placed(each.name)
        yield every[name]
        for each in every.values():
            if each.after == name:
                yield from placed(each.name)

    stages = [each for name in GIVES for each in placed(name)]
    for each in every.values():
        place = each.after or each.before or ""
        if each not in stages and place not in every:
            how = _known(place, (name for name in every if name != each.name))
            raise UsageError(f"the stage {each.name} names {place!r} as its place, and there is no such stage", how)
    if circle := [each.name for each in every.values() if each not in stages]:
        how = "Place one of them after a built-in stage."
        raise UsageError(f"the places of {' and '.join(circle)} depend on each other", how)
    kept = tuple(each for each in stages if not each.off and (review or each.name != REVIEWER))
    _check_needs(kept, stages)
    return kept


def _problems(stage: Stage) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a stage, and what to do."""
    name, gives, placed = stage.name, GIVES.get(stage.name), stage.after is not None or stage.before is not None
    if stage.agent is not None and stage.worker is not None:
        yield f"the stage {name} names both an agent and a worker", "Give one of them."
    if gives is not None:
        if stage.off and name != REVIEWER:
            how = f'Replace it with a class of your own: {{"name": "{name}", "agent": …}}'
            yield f"the stage {name} cannot be switched off, since the stages after it need its {gives}", how
        if placed:
            yield f"the stage {name} has a fixed place, so it takes no after or before", "Leave them out."
        if stage.gives and gives not in stage.gives:
            given = f"{stage.agent or 'this one'} gives {', '.join(stage.gives)}"
            yield f"the stage {name} has to give the {gives}, and {given}", f"Add it: gives = ({gives!r},)."
        return
    if name in STEPS.values():
        yield f"a stage cannot be named {name}", _known(name, GIVES)
    if stage.agent is None and stage.instructions is None and stage.worker is None:
        how = f"{_known(name, GIVES)} To add one, give it instructions, or the agent or the worker that does it."
        yield f"there is no stage {name}", how
    if stage.after is not None and stage.before is not None:
        yield f"the stage {name} names both after and before", "Give one of them."
    if stage.agent is None and (len(stage.gives) > 1 or not set(stage.gives) <= set(DECLARED_GIVES)):
        how = f"A stage with instructions gives one of: {', '.join(DECLARED_GIVES)}. A Python class can give more."
        yield f"the stage {name} cannot give {', '.join(stage.gives)}", how


def _complete(stage: Stage) -> Stage:
    if stage.is_built_in:
        return stage.evolve(gives=stage.gives or (GIVES[stage.name],))
    after = WRITER if stage.after is None and stage.before is None else stage.after
    return stage.evolve(after=after, gives=stage.gives or DECLARED_GIVES[:1])


def _check_needs(stages: Iterable[Stage], all_stages: Sequence[Stage]) -> None:
    """Raise UsageError for a stage that needs what no stage before it gives."""
    given: set[TaskField] = set()
    for each in stages:
        for need in set(each.needs) - given:
            giver = next((other.name for other in all_stages if need in other.gives and other is not each), None)
            how = f"Place it after {giver}, which has to be on." if giver else f"Add a stage that gives the {need}."
            raise UsageError(f"the stage {each.name} needs the {need}, which no stage before it gives", how)
        given.update(each.gives)


def _known(name: str, known: Iterable[str]) -> str:
    names = [*known]
    return f"The stages are: {', '.join(names)}.{did_you_mean(name, names)}"
