"""What a run of the research flow has so far: what its subagents found, its answers, and the checks of their citations.

Everything is computed from the state of the run. Answer 0 is the lead's; further ones are the writer's: an answer from
what was found where the lead gave none, or a revision of the answer before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import count

from pydantic import ValidationError

from leadhand.core.state import RunState, StepState
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.flows.draft_judging import DraftJudging
from leadhand.flows.passages import Passage, digest_of
from leadhand.flows.run_view import RunView
from leadhand.verify.claims import citations_in

from .options import LEAD, SUBAGENT, Options
from .shapes import Found, same_task

LISTED = -1
GAVE_UP = "gave_up"
"""The type of the failure of a worker that says that it cannot answer."""


class Research:
    """A run of the research flow, read from its state."""

    def __init__(self, run: RunView[Options]) -> None:
        self.run = run
        self.state: RunState = run.state

    def of(self, key: str) -> StepState | None:
        return self.state.steps.get(key)

    @property
    def lead(self) -> StepState | None:
        return self.of(LEAD)

    # --- what was found ----------------------------------------------------------------------------------------------

    @cached_property
    def subagents(self) -> Sequence[StepState]:
        """The subagents so far, in the order in which they were started."""
        return [each for each in self.state.steps.values() if each.step.worker == SUBAGENT]

    @cached_property
    def found(self) -> Mapping[str, Found]:
        """The results of the subagents, by step."""
        return {each.key: _found(each) for each in self.subagents if each.ok}

    @property
    def unanswered(self) -> list[StepState]:
        """The subagents that failed, and whose task no later one carried out."""
        return [
            each
            for at, each in enumerate(self.subagents)
            if each.closed
            and not each.ok
            and not any(_given_again(each, other) for other in self.subagents[at + 1 :] if other.ok)
        ]

    @cached_property
    def files(self) -> Mapping[str, Passage]:
        """The files of earlier runs that the answer of the lead cites, by path, as passages."""
        lead = self.lead
        given = objects_of(object_of(lead.value).get("files")) if lead is not None and lead.ok else []
        return {text_of(each.get("path")): file_passage(each) for each in given}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The numbers of everything that an answer can cite, ``p1``, ``p2``, …, by what the lead calls it.

        They are in the order in which the lead cites them.
        """
        lead = self.lead
        said = lead.data.summary if lead is not None and lead.ok and lead.data is not None else ""
        cited = (name for citation in citations_in(said) for name in citation.ids if name in self._by_name)
        return {name: f"p{n}" for n, name in enumerate(dict.fromkeys([*cited, *self._by_name]), start=1)}

    @cached_property
    def passages(self) -> Mapping[str, Passage]:
        """Everything that an answer can cite, by its number."""
        return {number: self._by_name[name] for name, number in self.names.items()}

    @cached_property
    def _by_name(self) -> Mapping[str, Passage]:
        return {passage.id: passage for each in self.found.values() for passage in each.passages} | dict(self.files)

    # --- answers -----------------------------------------------------------------------------------------------------

    @cached_property
    def written(self) -> Sequence[StepState]:
        """All answers of the writer so far, in order."""
        found = (self.state.steps.get(answer_key(number)) for number in count(1))
        return list(iter(lambda: next(found), None))

    @cached_property
    def answers(self) -> Mapping[int, StepState]:
        """The answers of the writer that count, by number.

        Left out are those that were written before the lead continued with higher limits, and those that failed before
        the run was reopened.
        """
        lead, reopened = self.lead, self.state.reopened
        since = 0 if lead is None else lead.scheduled
        return {
            number: each
            for number, each in enumerate(self.written, start=1)
            if each.scheduled > (max(since, reopened) if each.closed and not each.ok else since)
        }

    def text(self, number: int) -> str:
        """Return an answer with the numbers of its passages; "" for one that does not exist.

        :data:`LISTED` is what the subagents found, as a list: for a run in which no model could write an answer.
        """
        if number == LISTED:
            parts = [f"## {self.state.steps[key].step.name}\n\n{each.summary}" for key, each in self.found.items()]
            return renumbered("\n\n".join(parts), self.names)
        answer = self.of(answer_key(number))
        if answer is None or not answer.ok or answer.data is None:
            return ""
        return renumbered(answer.data.summary, self.names)

    @cached_property
    def last(self) -> int | None:
        """The number of the latest answer, None without one."""
        return next((number for number in (*sorted(self.answers, reverse=True), 0) if self.text(number)), None)

    @property
    def revisions(self) -> int:
        """How often an answer was written again."""
        return sum(1 for each in self.answers.values() if "revises" in each.step.input)

    @property
    def direct(self) -> bool:
        """Whether there is nothing that an answer could cite."""
        return not self.passages

    def judging(self, number: int) -> DraftJudging:
        """Return what a judge says of the claims of an answer, and of the one that it revises."""
        answer = self.of(answer_key(number))
        before = None if answer is None else answer.step.input.get("revises")
        texts = [(each, self.text(each)) for each in (before, number) if each is not None]
        return DraftJudging(self.state, texts, self.passages)


def found_nothing(subagent: StepState) -> bool:
    """Whether a subagent failed because it found no answer, and neither a limit nor an error stopped it."""
    return subagent.failure is not None and subagent.failure.type == GAVE_UP


def _given_again(failed: StepState, later: StepState) -> bool:
    """Whether a later subagent had the task of one that failed: its name or its prompt."""
    one, other = failed.step, later.step
    if one.title.strip().casefold() == other.title.strip().casefold():
        return True
    prompts = [same_task(text_of(each.input.get("prompt"))) for each in (one, other)]
    return prompts[0] == prompts[1]


def file_passage(given: Mapping[str, object]) -> Passage:
    """Return a file of an earlier run as a passage."""
    path, text = text_of(given.get("path")), text_of(given.get("text"))
    source = digest_of(text)
    return Passage(id=f"{source}.0", text=text, title=path, source=source)


def answer_key(number: int) -> str:
    return LEAD if number == 0 else f"answer-{number}"


def _found(subagent: StepState) -> Found:
    """Return the result of a subagent; of one that a person supplied, its text as the only passage."""
    try:
        return Found.model_validate(subagent.value)
    except ValidationError:
        text, by = subagent.data.summary if subagent.data is not None else "", f"supplied by {subagent.by}"
        source = digest_of(text)
        return Found(summary=text, passages=(Passage(id=f"{source}.1", text=text, title=by, source=source),))


def renumbered(text: str, names: Mapping[str, str]) -> str:
    """Return a text whose citations are the numbers that ``names`` has for passages and files. Others remain."""
    written, at = "", 0
    for citation in citations_in(text):
        if any(name in names for name in citation.ids):
            known = ", ".join(dict.fromkeys(names[name] for name in citation.ids if name in names))
            unknown = (f"[{name}]" for name in citation.ids if name not in names)
            written += text[at : citation.start] + " ".join([f"[{known}]", *unknown])
            at = citation.end
    return written + text[at:]
