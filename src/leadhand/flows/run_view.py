"""A run as its flow sees it: the request, the options, and the steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Generic, TypeVar

from leadhand.core.errors import Failure
from leadhand.core.lifecycle import UNSUCCESSFUL
from leadhand.core.run import Follows
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import Source
from leadhand.core.value import Json
from leadhand.core.work_result import Verdict

OptionsT = TypeVar("OptionsT")
CORRECTS = "$corrects"
"""The input of a step that corrects an answer: the digest of what was judged."""


class StepView:
    """One step, as its flow sees it."""

    __slots__ = ("_of",)

    def __init__(self, of: StepState) -> None:
        self._of = of

    @property
    def id(self) -> str:
        return self._of.key

    @property
    def worker(self) -> str:
        return self._of.step.worker

    @property
    def title(self) -> str:
        """The title of the step, or its id without one."""
        return self._of.step.name

    @property
    def input(self) -> Mapping[str, Any]:
        return self._of.step.input

    @property
    def needs(self) -> tuple[str, ...]:
        return self._of.step.needs

    @property
    def open(self) -> bool:
        """Whether the step is not settled yet."""
        return not self._of.closed

    @property
    def ok(self) -> bool:
        """Whether the step is completed. A review can still have rejected its result: see ``verdict``."""
        return self._of.ok

    @property
    def failed(self) -> bool:
        """Whether the step failed, could not start, or was skipped by a person."""
        return self._of.status in UNSUCCESSFUL

    @property
    def text(self) -> str:
        """The result as text; "" before there is a result."""
        return self._of.data.summary if self._of.data is not None else ""

    @property
    def value(self) -> Json:
        """The structured answer for a role with an ``output``; else the data that its tools returned."""
        if self._of.value is not None:
            return self._of.value
        return self._of.data.raw if self._of.data is not None else None

    @property
    def written(self) -> Mapping[int, Json]:
        """The elements of an unfinished answer until now, by their index, for a role with ``elements``."""
        return dict(self._of.attempt.written) if self._of.attempt is not None else {}

    @property
    def error(self) -> Failure | None:
        """Why the step failed: class, message and next action."""
        return self._of.failure

    @property
    def sources(self) -> tuple[Source, ...]:
        return self._of.data.sources if self._of.data is not None else ()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the latest review on the result; None before a review."""
        return self._of.verdict

    def __repr__(self) -> str:
        return f"<StepView {self.id} {self._of.status.value}>"


class _Steps(Mapping[str, StepView]):
    """The steps of a run by id, each wrapped on access, without those of closing steps."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> StepView:
        return StepView(self._state.steps[key])

    def __iter__(self) -> Iterator[str]:
        closing = self._state.definition.closing
        return (key for key, each in self._state.steps.items() if not _closes(each, closing))

    def __len__(self) -> int:
        return sum(1 for _ in self) if self._state.definition.closing else len(self._state.steps)


def _closes(step: StepState, closing: Collection[str]) -> bool:
    given = step.step
    return bool(closing) and (given.worker in closing or CORRECTS in given.input)


class RunView(Generic[OptionsT]):
    """A run as its flow sees it: read-only, and computed from the log alone."""

    __slots__ = ("_options", "_state")

    def __init__(self, state: RunState, options: OptionsT) -> None:
        self._state = state
        self._options = options

    @property
    def state(self) -> RunState:
        """The full state, for built-in flows; its shape can change between releases."""
        return self._state

    @property
    def options(self) -> OptionsT:
        return self._options

    @property
    def request(self) -> str:
        return self.state.definition.request

    @property
    def earlier(self) -> Follows | None:
        """The run that this one follows up: its request, answer and sources. None for a run that follows none.

        What it answered was not checked in this run, so it proves nothing here: find evidence for what you repeat.
        """
        return self.state.definition.follows

    @property
    def steps(self) -> Mapping[str, StepView]:
        """Every step by id, in the order of creation."""
        return _Steps(self.state)

    def of(self, role: str) -> list[StepView]:
        """Return the steps of a role, in the order of creation."""
        return [each for each in self.steps.values() if each.worker == role]

    @property
    def open(self) -> list[StepView]:
        """The steps that are not settled: waiting for others, running, parked or due for a retry."""
        state = self.state
        maps = (state.awaited, state.ready, state.blocked, state.live, state.parked, state.unsettled)
        keys = dict.fromkeys(key for each in maps for key in each)
        closing = state.definition.closing
        found = (state.steps[key] for key in keys)
        return [StepView(each) for each in found if not _closes(each, closing)]

    @property
    def judged(self) -> list[StepView]:
        """The steps whose results a review has judged."""
        return [StepView(each) for each in self.state.steps.values() if each.verdict is not None]
