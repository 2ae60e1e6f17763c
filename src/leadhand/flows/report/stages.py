"""The stages of a report, changed, added or switched off by the options of its flow, and their workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from leadhand.core.errors import UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import Value, unset
from leadhand.core.worker import LIMITS, OWN_TOOLS, ModelRole, Worker
from leadhand.flows.flow import instructions_in

from .shapes import DraftReview, Findings, Plan

if TYPE_CHECKING:
    from .agents import BoundAgent

PLANNER, RESEARCHER, WRITER, REVIEWER = "planner", "researcher", "writer", "reviewer"
TaskField = Literal["plan", "research", "draft", "feedback", "final_report"]
"""The fields of a report's task that stages write."""
GIVES: Mapping[str, TaskField] = {PLANNER: "plan", RESEARCHER: "research", WRITER: "draft", REVIEWER: "feedback"}
"""The built-in stages, in order, and what each adds to the task."""
STEPS: Mapping[str, str] = {PLANNER: "plan", RESEARCHER: "research", WRITER: "draft", REVIEWER: "review"}
"""The names of the steps of the built-in stages."""
DECLARED_GIVES: tuple[TaskField, ...] = ("feedback", "draft", "research")
"""What a stage without code can give: a verdict with findings, another draft, or more research."""
BUILT_IN: Mapping[str, tuple[str, Any, ModelRole]] = {
    PLANNER: ("Planning", Plan, "plan"),
    RESEARCHER: ("Researching", Findings, "work"),
    WRITER: ("Writing", None, "compose"),
    REVIEWER: ("Reviewing", DraftReview, "review"),
}
"""What the built-in stages are doing, what they answer, and which model of the run they use."""
SEARCHING = ("web_search", "web_fetch", OWN_TOOLS)
"""The tools of a stage that researches: those for sources, and those of users that only read."""
instructions = partial(instructions_in, "leadhand.flows.report")
"""Return the built-in instructions with this name."""


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

    def complete(self) -> Stage:
        """Return the stage with its place and what it gives filled in."""
        if self.is_built_in:
            return self.evolve(gives=self.gives or (GIVES[self.name],))
        return self.evolve(after=self.after or (None if self.before else WRITER), gives=self.gives or ("feedback",))

    def as_worker(self, output: Any, agent: BoundAgent | None) -> Worker:
        """Return the worker that carries the stage out; a class, the ``agent`` if it is here, returns ``output``."""
        doing, answer, model_role = BUILT_IN.get(self.name, ("", None, ""))
        researches, text = "research" in self.gives, self.instructions or ""
        if not self.agent and self.is_built_in:
            text = text or instructions(self.name)
        elif not self.agent:
            answer = DraftReview if self.judges else Findings if researches else None
            text = (
                f"{instructions('stage').replace('{instructions}', text)}\n\n{instructions(f'stage-{self.gives[0]}')}"
            )
        tools = SEARCHING if researches and not self.agent else ()
        return Worker(
            name=self.name,
            doing=doing,
            instructions=text,
            model_role=model_role,
            output=output if self.agent else answer,
            tools=tools if self.tools is None else self.tools,
            loop="code" if self.agent else "turns" if researches or self.tools else "reply",
            counts=researches,
            continues=not self.agent and answer is None,
            code=agent.source if agent is not None else "",
            fingerprint=agent.fingerprint if agent is not None else "",
            **self.model_dump(include={"model", *LIMITS}),
        )


class Options(Value):
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
    every = {name: Stage(name=name).complete() for name in GIVES}
    for each in changes:
        if (problem := _problem(each, [one.name for one in changes])) is not None:
            raise UsageError(*problem)
        every[each.name] = each.complete()

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
    if lost := next((each for each in every.values() if each not in stages), None):
        how = _known(lost.after or lost.before or "", (each.name for each in stages))
        raise UsageError(f"the stage {lost.name} is placed by {lost.after or lost.before!r}, which has no place", how)
    kept = tuple(each for each in stages if not each.off and (review or each.name != REVIEWER))
    given: set[TaskField] = set()
    for each in kept:
        for need in sorted({*each.needs} - given):
            giver = next((other.name for other in stages if need in other.gives and other is not each), None)
            how = f"Place it after {giver}, which has to be on." if giver else f"Add a stage that gives the {need}."
            raise UsageError(f"the stage {each.name} needs the {need}, which no stage before it gives", how)
        given.update(each.gives)
    return kept


def _problem(stage: Stage, names: Sequence[str]) -> tuple[str, str] | None:
    """Return what is wrong with a change, one of those with these ``names``, and what to do; None for nothing."""
    name, gives = stage.name, GIVES.get(stage.name)
    if names.count(name) > 1:
        return f"two stages are named {name}", "Give each stage a name of its own."
    if stage.agent and stage.worker:
        return f"the stage {name} names both an agent and a worker", "Give one of them."
    if stage.after and stage.before:
        return f"the stage {name} names both after and before", "Give one of them."
    if gives is not None:
        if stage.off and name != REVIEWER:
            how = f'Replace it with a class of your own: {{"name": "{name}", "agent": …}}'
            return f"the stage {name} cannot be switched off, since the stages after it need its {gives}", how
        if stage.after or stage.before:
            return f"the stage {name} has a fixed place, so it takes no after or before", "Leave them out."
        if stage.gives and gives not in stage.gives:
            given = f"{stage.agent or 'this one'} gives {', '.join(stage.gives)}"
            return f"the stage {name} has to give the {gives}, and {given}", f"Add it: gives = ({gives!r},)."
        return None
    if name in STEPS.values():
        return f"a stage cannot be named {name}", _known(name, GIVES)
    if not (stage.agent or stage.instructions or stage.worker):
        how = f"{_known(name, GIVES)} To add one, give it instructions, or the agent or the worker that does it."
        return f"there is no stage {name}", how
    if not stage.agent and (len(stage.gives) > 1 or not {*stage.gives} <= {*DECLARED_GIVES}):
        how = f"A stage with instructions gives one of: {', '.join(DECLARED_GIVES)}. A Python class can give more."
        return f"the stage {name} cannot give {', '.join(stage.gives)}", how
    return None


def _known(name: str, known: Iterable[str]) -> str:
    names = [*known]
    return f"The stages are: {', '.join(names)}.{did_you_mean(name, names)}"
