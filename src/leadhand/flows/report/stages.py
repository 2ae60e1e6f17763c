"""The stages of a report, changed or added by the options of its flow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

from pydantic import Field

from leadhand.core.errors import UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import Value
from leadhand.core.worker import ModelRole
from leadhand.flows.flow import instructions_in

PLANNER, RESEARCHER, WRITER, REVIEWER = "planner", "researcher", "writer", "reviewer"
TaskField = Literal["plan", "research", "draft", "feedback", "final_report"]
"""The fields of a report's task that stages write."""
DECLARED_GIVES: tuple[TaskField, ...] = ("feedback", "draft", "research")
"""What an added stage without code can give: a verdict with findings, another draft, or more research."""


class BuiltIn(NamedTuple):
    """A built-in stage: the name of its steps, the field of the task that it gives, and its model."""

    step: str
    gives: TaskField
    model_role: ModelRole


BUILT_IN: Mapping[str, BuiltIn] = {
    PLANNER: BuiltIn("plan", "plan", "plan"),
    RESEARCHER: BuiltIn("research", "research", "work"),
    WRITER: BuiltIn("draft", "draft", "compose"),
    REVIEWER: BuiltIn("review", "feedback", "review"),
}
"""The built-in stages, in order."""
instructions = partial(instructions_in, "leadhand.flows.report")
"""Return the built-in instructions with this name."""


class Stage(Value):
    """One stage: a built-in one, or one that a user adds. Every field but ``name`` has a default.

    An added stage stands ``after`` another one, by default after the writer. ``agent`` is the name of the Python class
    that carries the stage out; without it, a model does, with ``instructions``, ``model`` and ``tools``. ``gives`` are
    fields of the task. An added stage gives "feedback", a verdict with findings, unless it says otherwise; one without
    a class gives one of :data:`DECLARED_GIVES`.
    """

    name: str = Field(min_length=1, max_length=60, pattern=r"^[a-z0-9][a-z0-9_\-]*$")
    after: str | None = None
    agent: str | None = None
    instructions: str | None = Field(default=None, min_length=1)
    model: str | None = None
    tools: tuple[str, ...] | None = None
    gives: tuple[TaskField, ...] = ()

    @property
    def built_in(self) -> BuiltIn | None:
        """The one of the four that the stage is, also if a class of the user carries it out."""
        return BUILT_IN.get(self.name)

    @property
    def judges(self) -> bool:
        """Whether the stage gives a verdict on the draft."""
        return "feedback" in self.gives

    def key(self, number: int = 0) -> str:
        """Return the name of the step of the stage: of a round, with the number of its draft."""
        name, mark = (self.name, ".") if self.built_in is None else (self.built_in.step, "-")
        return f"{name}{mark}{number}" if number else name


def stages_of(changes: Sequence[Stage], *, review: bool = True) -> tuple[Stage, ...]:
    """Return the stages that run, in order, with what they give filled in.

    Those before the writer run once; those from the writer to the last one that judges run in every round; those after
    it run once, when no further revision follows. Raises UsageError if they do not fit together.
    """
    every = {name: Stage(name=name, gives=(each.gives,)) for name, each in BUILT_IN.items()}
    steps = {each.step for each in BUILT_IN.values()}
    for each in changes:
        name, known = each.name, each.built_in
        each = each.evolve(gives=each.gives or ("feedback" if known is None else known.gives,))
        if [stage.name for stage in changes].count(name) > 1:
            raise UsageError(f"two stages are named {name}", "Give each stage a name of its own.")
        if known is not None and each.after:
            raise UsageError(f"the stage {name} has a fixed place, so it takes no after", "Leave it out.")
        if known is None and (name in steps or not (each.agent or each.instructions)):
            how = f"{_known(name, BUILT_IN)} To add one, give it instructions, or the agent that does it."
            raise UsageError(f"there is no stage {name}", how)
        can = DECLARED_GIVES if known is None else (known.gives,)
        is_free = known is None and each.agent
        if not is_free and each.gives not in [(field,) for field in can]:
            how = f"It can give {', '.join(can)}. Only an added one with a Python class gives more."
            raise UsageError(f"the stage {name} of {each.agent or 'a model'} cannot give {', '.join(each.gives)}", how)
        every[name] = each if known else each.evolve(after=each.after or WRITER)

    def placed(name: str) -> Iterator[Stage]:
        """Yield a stage with those that stand after it."""
        yield every[name]
        for each in every.values():
            if each.after == name:
                yield from placed(each.name)

    stages = [each for name in BUILT_IN for each in placed(name)]
    for lost in (each for each in every.values() if each not in stages):
        how = _known(lost.after or "", [each.name for each in stages])
        raise UsageError(f"the stage {lost.name} stands after {lost.after!r}, which has no place", how)
    return tuple(each for each in stages if review or each.name != REVIEWER)


def _known(name: str, known: Collection[str]) -> str:
    return f"The stages are: {', '.join(known)}.{did_you_mean(name, known)}"
