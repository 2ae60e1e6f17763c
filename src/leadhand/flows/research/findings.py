"""What a lead and its subagents found: everything that an answer can cite.

All of it is settled when the lead has ended, and is then read from the lead's step and those of its subagents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.relations import descendants
from leadhand.core.state import RunState, StepState
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.flows.passages import Passage, digest_of, unfenced
from leadhand.flows.report.rendering import renumbered
from leadhand.verify.claims import citations_in

from .options import LEAD, SUBAGENT
from .shapes import Found


def found_nothing(failure: Failure) -> bool:
    """Whether a worker said that it cannot answer, and neither a limit nor an error stopped it."""
    return failure.type == "gave_up" and failure.class_ is FailureClass.INVALID


class Findings:
    """What a run has found out. The passages have numbers, ``p1``, ``p2``, …, those that the lead cites first."""

    def __init__(self, state: RunState, lead: StepState) -> None:
        below = [state.steps[key] for key in descendants(state, lead.key)]
        self.lead = lead
        self.subagents = [each for each in below if each.step.worker == SUBAGENT]
        """In the order in which they were started."""
        self.answered = [each for each in self.subagents if each.ok]
        self.found = {each.key: Found.model_validate(each.value) for each in self.answered}
        read = objects_of(object_of(lead.value).get("files")) if lead.ok else []
        self.files = {passage.title: passage for passage in map(_file_passage, read)}
        """The files of earlier runs that the answer of the lead cites, by path."""
        passages = {passage.id: passage for each in self.found.values() for passage in each.passages} | self.files
        said = unfenced(lead.data.summary) if lead.ok and lead.data is not None else ""
        cited = (name for citation in citations_in(said) for name in citation.ids if name in passages)
        self.names: Mapping[str, str] = {
            name: f"p{n}" for n, name in enumerate(dict.fromkeys([*cited, *passages]), start=1)
        }
        """The numbers of the passages, by what the lead calls them."""
        self.passages: Mapping[str, Passage] = {number: passages[name] for name, number in self.names.items()}

    @property
    def unanswered(self) -> Iterator[StepState]:
        """The subagents that failed, and whose task no later one carried out."""
        for at, each in enumerate(self.subagents):
            later = (other for other in self.subagents[at + 1 :] if other.ok)
            if each.closed and not each.ok and not any(_tasks_of(each) & _tasks_of(other) for other in later):
                yield each

    def text(self, written: StepState | None) -> str:
        """Return an answer with the numbers of its passages; without one, what was found, as a list."""
        if written is not None and written.data is not None:
            return renumbered(unfenced(written.data.summary), self.names)
        parts = [f"## {each.step.name}\n\n{self.found[each.key].summary}" for each in self.answered]
        return renumbered("\n\n".join(parts), self.names)

    def finder(self, title: str, url: str) -> str:
        """Return the step that found a source."""
        found = (key for key, each in self.found.items() for at in each.passages if (at.title, at.url) == (title, url))
        return next(found, LEAD)


def _tasks_of(subagent: StepState) -> set[str]:
    """Return what identifies the task of a subagent: its name, and its prompt."""
    return {subagent.step.title.strip().casefold(), subagent.step.key}


def _file_passage(given: Mapping[str, object]) -> Passage:
    """Return a file of an earlier run as a passage."""
    path, text = text_of(given.get("path")), text_of(given.get("text"))
    source = digest_of(text)
    return Passage(id=f"{source}.0", text=text, title=path, source=source)
